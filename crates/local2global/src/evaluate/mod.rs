//! Stage 6: how good is it.
//!
//! Up to four embeddings of the same graph are compared: trained on the whole graph
//! (`full`), stitched from patches (`l2g`), the patches averaged as they are (`no_trans`),
//! and the model before training (`untrained`). Beside them stand baselines that cost no
//! training: the product of `degrees`, the raw `features`, and features `smoothed` twice over the
//! graph; see [`Contender`]. Three tasks say how good each is: [reconstruction] of the edges it
//! was trained on, [prediction](link_prediction) of edges that were held out before the graph
//! was partitioned, and [classification] of nodes. Within a task all contenders meet the
//! same pairs and the same splits. [Findings](findings()) say in words what the comparison means.
//!
//! ```text
//! graph, embeddings -> pairs of nodes   -> scores -> AUC, average precision
//!       + baselines    splits of labels -> models -> accuracy, micro and macro F1
//! ```
//!
//! Nothing is scored on what it was tuned on: models and the scaling of their inputs see
//! training nodes alone, no setting is chosen by a score, and the best training run of a
//! patch is chosen on that patch alone (`embed::best_of`). Large graphs are sampled, and
//! split less often, and the scores say how many of how many were used. The same seed gives the
//! same scores on any number of threads.

mod config;

mod task;

mod error;

mod limits;

mod memory;

mod split;

mod scaling;

pub mod contender;

pub mod feature_rows;

pub mod smoothed;

pub mod entry;

pub mod reconstruction;

pub mod link_prediction;

pub mod design;

pub mod logistic;

pub mod quality;

pub mod classification;

pub mod findings;

pub mod files;

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use classification::ClassificationScores;
pub use config::EvaluateConfig;
pub use contender::{ByContender, Contender};
pub use entry::{Contest, Entry};
pub use error::EvaluateError;
pub use files::evaluate_run;
pub use findings::findings;
pub use limits::EvaluateLimits;
pub use link_prediction::LinkScores;
pub use memory::EvaluateSize;
pub use quality::{Quality, Spread};
pub use reconstruction::PairScores;
pub use scaling::Scale;
pub use split::Split;
pub use task::Task;

pub use crate::score::{Coordinates, Score, ranking};

use entry::Baselines;

use crate::graph::Graph;
use crate::progress::Progress;
use crate::seed::{Seed, Stage};

/// What came out: `6-evaluation/scores.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Nodes of the graph.
    pub nodes: usize,
    /// The seed that samples and splits were drawn with.
    pub seed: Seed,
    /// The reconstruction AUC, by the name that all records give it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub auc: ByContender<f64>,
    /// How well edges are told from non-edges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconstruction: Option<PairScores>,
    /// How well held-out edges are told from non-edges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_prediction: Option<LinkScores>,
    /// How well nodes are classified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classification: Option<ClassificationScores>,
    /// Tasks that nobody asked for by name and that are impossible here, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<Task, String>,
    /// What the comparison means, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// What was left out because it does not fit into the limit of memory, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Scores embeddings of a graph, and baselines, on every task that is asked for.
///
/// # Errors
/// [`EvaluateError`] if a setting is out of range, an embedding does not fit the graph or
/// is not finite, or the graph lacks what a task needs.
///
/// # Examples
/// ```
/// use local2global::evaluate::{Contender, Coordinates, EvaluateConfig, evaluate};
/// use local2global::graph::{BuildOptions, EdgeList, build};
/// use local2global::progress::Silent;
/// use local2global::seed::Seed;
///
/// let graph = build(EdgeList::from_pairs(vec![[0_u32, 1], [2, 3]]), 4, &BuildOptions::default()).graph;
/// let stitched = [1.0, 1.0, -1.0, -1.0];
/// let embeddings = [(Contender::L2g, Coordinates::new(&stitched, 1))].into();
/// let scores = evaluate(&graph, &embeddings, &EvaluateConfig::default(), Seed(0), &Silent)?;
/// assert_eq!(scores.auc[&Contender::L2g], 1.0);
/// # Ok::<(), local2global::evaluate::EvaluateError>(())
/// ```
pub fn evaluate(
    graph: &Graph,
    embeddings: &ByContender<Coordinates<'_>>,
    config: &EvaluateConfig,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Scores, EvaluateError> {
    config.check()?;
    config.check_for(graph)?;
    check_embeddings(graph, embeddings)?;
    let tasks = config.tasks_for(graph);
    let baselines = baselines(graph, embeddings, &tasks, config, seed)?;
    let mut entries = baselines.entries();
    entries.extend(embeddings.iter().map(|(&contender, &rows)| (contender, Entry::Rows(rows))));
    let mut scores = Scores { nodes: graph.num_nodes(), seed, ..Default::default() };
    let contest = Contest { graph, entries: &entries, config, seed };
    for task in tasks {
        match score_task(task, &contest, progress, &mut scores) {
            Err(error) if config.tasks.is_none() && error.is_impossible() => {
                scores.left_out.insert(task, error.to_string());
            }
            scored => scored?,
        }
    }
    if config.tasks.is_none() && graph.held_out().is_none() {
        scores.left_out.insert(Task::LinkPrediction, EvaluateError::NothingHeldOut.to_string());
    }
    scores.findings = findings(&scores);
    scores.notes = notes(graph, config);
    Ok(scores)
}

/// What the limit of memory has left out.
fn notes(graph: &Graph, config: &EvaluateConfig) -> Vec<String> {
    let features = graph.features().is_some_and(|features| features.width() > 0);
    let left_out = [
        (!config.limits.smoothed && features, "features smoothed over the graph are"),
        (!config.limits.untrained, "the model before training is"),
    ];
    let told = left_out.iter().filter(|(is_left_out, _)| *is_left_out);
    told.map(|(_, what)| format!("{what} not scored: matrices of all nodes exceed the limit of memory"))
        .collect()
}

/// The baselines; those made of features only where a task tells more than memory.
fn baselines<'a>(
    graph: &'a Graph,
    embeddings: &ByContender<Coordinates<'_>>,
    tasks: &[Task],
    config: &EvaluateConfig,
    seed: Seed,
) -> Result<Baselines<'a>, EvaluateError> {
    let telling = tasks.iter().any(|&task| task != Task::Reconstruction);
    let stitched = embeddings.get(&Contender::L2g).or_else(|| embeddings.values().next());
    let dim = stitched.filter(|_| telling).map(|coordinates| coordinates.dim());
    let mut random = seed.stream(Stage::Evaluate, Stream::Baselines as u64);
    Baselines::new(graph, dim, config.limits.smoothed, &mut random)
}

/// Scores all contenders on one task.
fn score_task(
    task: Task,
    contest: &Contest<'_>,
    progress: &dyn Progress,
    scores: &mut Scores,
) -> Result<(), EvaluateError> {
    match task {
        Task::Reconstruction => {
            let pairs = reconstruction::reconstruction(contest, progress)?;
            scores.auc.clone_from(&pairs.auc);
            scores.reconstruction = Some(pairs);
        }
        Task::LinkPrediction => {
            let links = link_prediction::link_prediction(contest, progress)?;
            scores.link_prediction = Some(links);
        }
        Task::Classification => {
            let classes = classification::classification(contest, progress)?;
            scores.classification = Some(classes);
        }
    }
    Ok(())
}

/// Which stream of [`Stage::Evaluate`] a task draws from; 1 is that of
/// [`held_out`](crate::graph::held_out).
#[repr(u64)]
pub(crate) enum Stream {
    Reconstruction = 0,
    LinkPrediction = 2,
    LabelledNodes = 3,
    MatchedNonEdges = 4,
    Baselines = 5,
    GivenEdges = 6,
    /// The first of those for random splits, one each.
    Splits = 1 << 32,
    /// The first of those for the splits of an experiment, one each.
    EdgeSplits = 1 << 40,
}

fn check_embeddings(graph: &Graph, embeddings: &ByContender<Coordinates<'_>>) -> Result<(), EvaluateError> {
    for (&contender, coordinates) in embeddings {
        let (found, needed) = (coordinates.num_rows(), graph.num_nodes());
        if found != needed {
            return Err(EvaluateError::Rows { contender, found, needed });
        }
        if let Some(place) = coordinates.values().par_iter().position_first(|value| !value.is_finite()) {
            return Err(EvaluateError::NotFinite { contender, row: place / coordinates.dim() });
        }
    }
    Ok(())
}

fn check_not_cancelled(progress: &dyn Progress) -> Result<(), EvaluateError> {
    if progress.is_cancelled() { Err(EvaluateError::Cancelled) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::graph::features::SparseFeatures;
    use crate::graph::held_out::hold_out;
    use crate::graph::{BuildOptions, EdgeList, Features, Labels, build};
    use crate::progress::Silent;

    const NODES: u32 = 600;

    /// Four classes of nodes, most edges within one, features that hardly follow them, a tenth of
    /// the edges held out, and a node without edges or features.
    fn planted() -> Graph {
        let mut random = Seed(1).stream(Stage::Evaluate, 50);
        let pairs = (0..3000).map(|_| {
            let from = random.random_range(0..NODES - 1);
            let within = from % 4 + 4 * random.random_range(0..(NODES - 4) / 4);
            [from, if random.random_bool(0.9) { within } else { random.random_range(0..NODES - 1) }]
        });
        let graph =
            build(EdgeList::from_pairs(pairs.collect()), NODES as usize, &BuildOptions::default()).graph;
        let features = SparseFeatures::of_words(40, NODES as usize, |node| {
            let word = |_| match random.random_bool(0.3) {
                true => node as u32 % 4 * 10 + random.random_range(0..10),
                false => random.random_range(0..40),
            };
            (0..if node + 1 < NODES as usize { 4 } else { 0 }).map(word).collect()
        });
        let classes =
            Labels::single((0..NODES as i32).map(|node| node % 4).collect::<Vec<_>>().into(), vec![]);
        let graph = graph.with_features(Some(Features::Sparse(features))).unwrap();
        hold_out(graph.with_labels(Some(classes)).unwrap(), 0.1, Seed(2)).unwrap()
    }

    fn score(graph: &Graph) -> Scores {
        let values: Vec<f32> = (0..NODES).flat_map(|node| [1.0 + (node % 4) as f32, 1.0]).collect();
        let zeros = vec![0.0; values.len()];
        let embeddings = [
            (Contender::L2g, Coordinates::new(&values, 2)),
            (Contender::Untrained, Coordinates::new(&zeros, 2)),
        ];
        evaluate(graph, &embeddings.into(), &EvaluateConfig::default(), Seed(3), &Silent).unwrap()
    }

    #[test]
    fn smoothed_features_beat_raw_ones_where_neighbours_are_alike() {
        let scores = score(&planted());
        let accuracy = &scores.classification.as_ref().unwrap().accuracy;
        assert!(accuracy.keys().all(|&contender| contender != Contender::Degrees));
        let of = |contender| accuracy[&contender].mean;
        assert!(of(Contender::Smoothed) > of(Contender::Features) + 0.1, "{accuracy:?}");
        assert!(of(Contender::L2g) > 0.95 && of(Contender::Untrained) < 0.4, "{accuracy:?}");
        let links = scores.link_prediction.as_ref().unwrap();
        let best = |contender| links.uniform.best[&contender].auc;
        assert!(best(Contender::Smoothed) > best(Contender::Features) + 0.05, "{links:?}");
        assert_eq!(best(Contender::Untrained), 0.5);
        assert_eq!(links.uniform.cosine.auc.get(&Contender::Degrees), None);
        let matched = links.matched.as_ref().unwrap();
        assert!(matched.by_score.auc.values().chain(matched.cosine.auc.values()).all(|auc| auc.is_finite()));
        assert!(
            scores.findings.iter().any(|text| text.starts_with("against smoothed features, training adds"))
        );
    }

    #[test]
    fn threads_do_not_change_a_bit_of_any_score() {
        let graph = planted();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| score(&graph))
        };
        assert_eq!(on(1), on(3));
    }

    #[test]
    fn graphs_without_features_labels_or_held_out_edges_meet_degrees_alone() {
        let bare = planted().with_features(None).unwrap().with_labels(None).unwrap().with_held_out(None);
        let scores = score(&bare);
        assert!(scores.auc.keys().eq(&[Contender::L2g, Contender::Untrained, Contender::Degrees]));
        assert!(scores.left_out[&Task::LinkPrediction].contains("held-out edges"));
        assert!(scores.findings.is_empty() && scores.classification.is_none());
    }
}
