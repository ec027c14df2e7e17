//! Stage 6: how good is it.
//!
//! Up to three embeddings of the same graph are compared: trained on the whole graph
//! (`full`), stitched from patches (`l2g`), and the patches averaged as they are
//! (`no_trans`). Three tasks say how good each is: [reconstruction] of the edges it was
//! trained on, [prediction](link_prediction) of edges that were held out before the graph
//! was partitioned, and [classification] of nodes. Within a task all embeddings meet the
//! same pairs and the same splits.
//!
//! ```text
//! graph, embeddings -> pairs of nodes   -> scores -> AUC, average precision
//!                      splits of labels -> models -> accuracy, micro and macro F1
//! ```
//!
//! Nothing is scored on what it was tuned on: models and the scaling of their inputs see
//! training nodes alone, no setting is chosen by a score, and the best training run of a
//! patch is chosen on that patch alone (`embed::best_of`). Large graphs are sampled, and
//! the scores say how many of how many were used. The same seed gives the same scores on
//! any number of threads.

mod config;

mod error;

mod split;

mod scaling;

pub mod reconstruction;

pub mod link_prediction;

pub mod logistic;

pub mod quality;

pub mod classification;

pub mod files;

use std::collections::BTreeMap;
use std::fmt;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use classification::ClassificationScores;
pub use config::{EvaluateConfig, Task};
pub use error::EvaluateError;
pub use files::evaluate_run;
pub use quality::{Quality, Spread};
pub use reconstruction::PairScores;
pub use split::Split;

pub use crate::score::{Coordinates, Score, ranking};

use crate::graph::Graph;
use crate::progress::Progress;
use crate::seed::{Seed, Stage};

/// How an embedding came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scenario {
    /// Trained on the whole graph.
    Full,
    /// Stitched from patches.
    L2g,
    /// The mean over patches without transforms.
    NoTrans,
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full",
            Self::L2g => "l2g",
            Self::NoTrans => "no-trans",
        })
    }
}

/// One value for each embedding that is there.
pub type ByScenario<T> = BTreeMap<Scenario, T>;

/// What came out: `6-evaluation/scores.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Nodes of the graph.
    pub nodes: usize,
    /// The seed that samples and splits were drawn with.
    pub seed: Seed,
    /// The reconstruction AUC, by the name that all records give it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub auc: ByScenario<f64>,
    /// How well edges are told from non-edges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconstruction: Option<PairScores>,
    /// How well held-out edges are told from non-edges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_prediction: Option<PairScores>,
    /// How well nodes are classified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classification: Option<ClassificationScores>,
    /// Tasks that nobody asked for by name and that are impossible here, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<Task, String>,
}

/// Scores embeddings of a graph on every task that is asked for.
///
/// # Errors
/// [`EvaluateError`] if a setting is out of range, an embedding does not fit the graph or
/// is not finite, or the graph lacks what a task needs.
///
/// # Examples
/// ```
/// use local2global::evaluate::{Coordinates, EvaluateConfig, Scenario, evaluate};
/// use local2global::graph::{BuildOptions, EdgeList, build};
/// use local2global::progress::Silent;
/// use local2global::seed::Seed;
///
/// let graph = build(EdgeList::from_pairs(vec![[0_u32, 1], [2, 3]]), 4, &BuildOptions::default()).graph;
/// let stitched = [1.0, 1.0, -1.0, -1.0];
/// let embeddings = [(Scenario::L2g, Coordinates::new(&stitched, 1))].into();
/// let scores = evaluate(&graph, &embeddings, &EvaluateConfig::default(), Seed(0), &Silent)?;
/// assert_eq!(scores.auc[&Scenario::L2g], 1.0);
/// # Ok::<(), local2global::evaluate::EvaluateError>(())
/// ```
pub fn evaluate(
    graph: &Graph,
    embeddings: &ByScenario<Coordinates<'_>>,
    config: &EvaluateConfig,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Scores, EvaluateError> {
    config.check()?;
    config.check_for(graph)?;
    check_embeddings(graph, embeddings)?;
    let mut scores = Scores { nodes: graph.num_nodes(), seed, ..Default::default() };
    for task in config.tasks_for(graph) {
        let scored = match task {
            Task::Reconstruction => {
                let mut random = seed.stream(Stage::Evaluate, Stream::Reconstruction as u64);
                reconstruction::reconstruction(graph, embeddings, config, &mut random, progress).map(
                    |pairs| {
                        scores.auc.clone_from(&pairs.auc);
                        scores.reconstruction = Some(pairs);
                    },
                )
            }
            Task::LinkPrediction => {
                let held_out = graph.held_out().ok_or(EvaluateError::NothingHeldOut)?;
                let mut random = seed.stream(Stage::Evaluate, Stream::LinkPrediction as u64);
                link_prediction::link_prediction(held_out, embeddings, config, &mut random, progress)
                    .map(|pairs| scores.link_prediction = Some(pairs))
            }
            Task::Classification => classification::classification(graph, embeddings, config, seed, progress)
                .map(|classes| scores.classification = Some(classes)),
        };
        match scored {
            Err(error) if config.tasks.is_none() && error.is_impossible() => {
                scores.left_out.insert(task, error.to_string());
            }
            scored => scored?,
        }
    }
    Ok(scores)
}

/// Which stream of [`Stage::Evaluate`] a task draws from; 1 is that of
/// [`held_out`](crate::graph::held_out).
#[repr(u64)]
enum Stream {
    Reconstruction = 0,
    LinkPrediction = 2,
    LabelledNodes = 3,
    /// The first of those for random splits, one each.
    Splits = 1 << 32,
}

fn check_embeddings(graph: &Graph, embeddings: &ByScenario<Coordinates<'_>>) -> Result<(), EvaluateError> {
    for (&scenario, coordinates) in embeddings {
        let (found, needed) = (coordinates.num_rows(), graph.num_nodes());
        if found != needed {
            return Err(EvaluateError::Rows { scenario, found, needed });
        }
        if let Some(place) = coordinates.values().par_iter().position_first(|value| !value.is_finite()) {
            return Err(EvaluateError::NotFinite { scenario, row: place / coordinates.dim() });
        }
    }
    Ok(())
}

fn check_not_cancelled(progress: &dyn Progress) -> Result<(), EvaluateError> {
    if progress.is_cancelled() { Err(EvaluateError::Cancelled) } else { Ok(()) }
}
