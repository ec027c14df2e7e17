//! How well a simple classifier tells the classes of nodes from their coordinates.
//!
//! [Logistic regression](super::logistic) is trained on some labelled nodes and tested on
//! the others, on random splits or one that is given. The better an embedding, the more
//! of its structure such a simple model finds. [`Quality`] says how well it does.
//!
//! Convention: nodes without a class are left out.
//! The spread over splits is the standard deviation of a sample; splits overlap, so it is
//! not a standard error. Nothing is tuned: the penalty is a setting.
//! Where there are many nodes, there are fewer splits, and the scores say how many.
//! Cost: a fit per split and contender. Chance: one stream per split, the same for all
//! contenders.

use rand::seq::index;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::design::ClassifierInput;
use super::logistic::LogisticProblem;
use super::quality::{Quality, Spread};
use super::scaling::Scale;
use super::split::is_labelled;
use super::{ByContender, Contender, Contest, EvaluateConfig, EvaluateError, Split, Stream, Task};
use crate::graph::labels::LabelKind;
use crate::graph::{Labels, NodeId};
use crate::progress::Progress;
use crate::seed::{Seed, Stage};

/// How well nodes are classified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassificationScores {
    /// Labelled nodes that were used.
    pub nodes: usize,
    /// Labelled nodes that there are; more than `nodes` if they were sampled.
    pub of_nodes: usize,
    /// Classes that labelled nodes can have.
    pub classes: usize,
    /// Whether a node can have several of them.
    #[serde(default)]
    pub multi_label: bool,
    /// Nodes a classifier is trained on.
    pub train_nodes: usize,
    /// Nodes it is tested on.
    pub test_nodes: usize,
    /// Whether the split was given, instead of random ones.
    pub given_split: bool,
    /// How many splits there were; 1 if it was given.
    pub repeats: usize,
    /// The penalty on squared weights.
    pub l2: f64,
    /// How coordinates were scaled; before there was a choice, by column.
    #[serde(default = "by_column")]
    pub scale: Scale,
    /// Fits that ended before the gradient was small; 0 if all is well.
    pub unfinished_fits: usize,
    /// The share of test nodes that were classified right.
    pub accuracy: ByContender<Spread>,
    /// F1 of all decisions together.
    pub micro_f1: ByContender<Spread>,
    /// The mean of the F1 of each class.
    pub macro_f1: ByContender<Spread>,
}

fn by_column() -> Scale {
    Scale::Columns
}

/// Classifies the nodes of a graph by what each contender has of them.
///
/// # Errors
/// [`EvaluateError`] if there are no labels, fewer than two classes or no nodes to train or
/// test on, if a given split cannot be read, or if `progress` says so.
pub fn classification(
    contest: &Contest<'_>,
    progress: &dyn Progress,
) -> Result<ClassificationScores, EvaluateError> {
    let &Contest { graph, entries, config, seed } = contest;
    let labels = graph.labels().ok_or(EvaluateError::NoLabels)?;
    let mut nodes: Vec<NodeId> = graph.nodes().filter(|&node| is_labelled(labels, node)).collect();
    let of_nodes = nodes.len();
    let splits = match &config.split {
        Some(path) => vec![Split::read(path, graph)?.labelled(labels)],
        None => {
            nodes = sampled(nodes, config.num_labelled(), seed);
            random_splits(labels, &nodes, config, seed)
        }
    };
    check_splits(labels, &nodes, &splits)?;
    let mut sources = ByContender::new();
    for (&contender, entry) in entries {
        let source = entry.classifier_source(labels.num_classes(), config.scale);
        sources.extend(source.map(|source| (contender, source)));
    }
    let outcomes = train_all(labels, &sources, &splits, config.l2, progress)?;
    let spread = |value: fn(&Quality) -> f64| {
        let of_contender = |&contender: &Contender| {
            let same = outcomes.iter().filter(|outcome| outcome.contender == contender);
            (contender, Spread::of(&same.map(|outcome| value(&outcome.quality)).collect::<Vec<_>>()))
        };
        sources.keys().map(of_contender).collect()
    };
    let (train_nodes, test_nodes) = (splits[0].train.len(), splits[0].test.len());
    Ok(ClassificationScores {
        nodes: train_nodes + test_nodes,
        of_nodes,
        classes: labels.num_classes(),
        multi_label: matches!(labels.kind(), LabelKind::Multi(_)),
        train_nodes,
        test_nodes,
        given_split: config.split.is_some(),
        repeats: splits.len(),
        l2: config.l2,
        scale: config.scale,
        unfinished_fits: outcomes.iter().filter(|outcome| !outcome.converged).count(),
        accuracy: spread(|quality| quality.accuracy),
        micro_f1: spread(|quality| quality.micro_f1),
        macro_f1: spread(|quality| quality.macro_f1),
    })
}

/// Up to `count` of the nodes, ascending.
fn sampled(nodes: Vec<NodeId>, count: usize, seed: Seed) -> Vec<NodeId> {
    if nodes.len() <= count {
        return nodes;
    }
    let mut random = seed.stream(Stage::Evaluate, Stream::LabelledNodes as u64);
    let mut drawn: Vec<_> =
        index::sample(&mut random, nodes.len(), count).into_iter().map(|k| nodes[k]).collect();
    drawn.sort_unstable();
    drawn
}

fn random_splits(labels: &Labels, nodes: &[NodeId], config: &EvaluateConfig, seed: Seed) -> Vec<Split> {
    let stream = |repeat| seed.stream(Stage::Evaluate, Stream::Splits as u64 + repeat);
    let split = |repeat| Split::random(labels, nodes, config.train_share, &mut stream(repeat));
    (0..config.num_splits(nodes.len()) as u64).map(split).collect()
}

/// Checks that there are two classes, and nodes in both parts of every split.
fn check_splits(labels: &Labels, nodes: &[NodeId], splits: &[Split]) -> Result<(), EvaluateError> {
    let mut used = vec![false; labels.num_classes()];
    let truth = nodes.chunks(1024).map(|nodes| truth(labels, nodes));
    truth.for_each(|rows| {
        for row in rows.chunks_exact(used.len()) {
            used.iter_mut().zip(row).for_each(|(used, &has)| *used |= has);
        }
    });
    let found = used.iter().filter(|&&used| used).count();
    if found < 2 {
        return Err(EvaluateError::Classes { found });
    }
    match splits.iter().find(|split| split.train.is_empty() || split.test.is_empty()) {
        Some(Split { train, test }) => Err(EvaluateError::EmptyPart { train: train.len(), test: test.len() }),
        None => Ok(()),
    }
}

/// What became of one classifier.
struct Outcome {
    contender: Contender,
    quality: Quality,
    converged: bool,
    weights: Vec<f64>,
}

/// A classifier for every contender and split. Those for the first split come first; the
/// others start from their weights.
fn train_all(
    labels: &Labels,
    sources: &ByContender<ClassifierInput<'_>>,
    splits: &[Split],
    l2: f64,
    progress: &dyn Progress,
) -> Result<Vec<Outcome>, EvaluateError> {
    let train = |contender: Contender, split: &Split, start: Option<&[f64]>| {
        super::check_not_cancelled(progress)?;
        let model = LogisticProblem::new(sources[&contender], labels, &split.train, l2).fit(start);
        let found = model.classify(&split.test);
        let quality = Quality::of(&truth(labels, &split.test), &found, labels.num_classes());
        progress.advance(1);
        Ok(Outcome { contender, quality, converged: model.fit.converged, weights: model.fit.point })
    };
    progress.begin(Task::Classification.name(), (sources.len() * splits.len()) as u64, "classifiers");
    let contenders: Vec<Contender> = sources.keys().copied().collect();
    let first = contenders.par_iter().map(|&contender| train(contender, &splits[0], None));
    let mut outcomes = first.collect::<Result<Vec<_>, EvaluateError>>()?;
    let jobs: Vec<(&Outcome, &Split)> =
        outcomes.iter().flat_map(|first| splits[1..].iter().map(move |split| (first, split))).collect();
    let others = jobs.par_iter().map(|(first, split)| {
        let outcome = train(first.contender, split, Some(&first.weights))?;
        Ok(Outcome { weights: Vec::new(), ..outcome })
    });
    let others = others.collect::<Result<Vec<_>, EvaluateError>>()?;
    outcomes.extend(others);
    progress.end();
    Ok(outcomes)
}

/// The classes of some nodes, a row of truth values for each.
fn truth(labels: &Labels, nodes: &[NodeId]) -> Vec<bool> {
    let width = labels.num_classes();
    let mut rows = vec![false; nodes.len() * width];
    for (row, node) in rows.chunks_exact_mut(width).zip(nodes) {
        match labels.kind() {
            LabelKind::Single(classes) => row[classes[node.index()] as usize] = true,
            LabelKind::Multi(indicators) => {
                let indicators = &indicators[node.index() * width..][..width];
                row.iter_mut().zip(indicators).for_each(|(has, &indicator)| *has = indicator != 0);
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::evaluate::{Coordinates, Entry};
    use crate::graph::labels::UNKNOWN;
    use crate::graph::{BuildOptions, EdgeList, Graph, build};
    use crate::progress::Silent;
    use crate::scratch::scratch;

    /// A ring whose nodes have classes 0, 1, 2 in turn, every fifth node none; and
    /// coordinates that follow the class, and ones that do not.
    fn data() -> (Graph, Vec<f32>, Vec<f32>) {
        let edges = EdgeList::from_pairs((0..300_u32).map(|k| [k, (k + 1) % 300]).collect());
        let classes: Vec<i32> = (0..300).map(|k| if k % 5 == 0 { UNKNOWN } else { k % 3 }).collect();
        let graph = build(edges, 300, &BuildOptions::default()).graph;
        let graph = graph.with_labels(Some(Labels::single(classes.into(), vec![]))).unwrap();
        let mut random = Seed(1).stream(Stage::Evaluate, 77);
        let mut noise = || random.random::<f32>();
        let informative =
            (0..300).flat_map(|k| [(k % 3) as f32 + noise(), noise(), (k % 3 % 2) as f32]).collect();
        (graph, informative, (0..900).map(|_| noise()).collect())
    }

    fn scores(
        graph: &Graph,
        values: [&[f32]; 2],
        config: &EvaluateConfig,
    ) -> Result<ClassificationScores, EvaluateError> {
        let [l2g, no_trans] = values.map(|values| Entry::Rows(Coordinates::new(values, 3)));
        let entries = [(Contender::L2g, l2g), (Contender::NoTrans, no_trans)].into();
        classification(&Contest { graph, entries: &entries, config, seed: Seed(3) }, &Silent)
    }

    #[test]
    fn coordinates_that_know_the_class_win() {
        let (graph, good, bad) = data();
        let found = scores(&graph, [&good, &bad], &EvaluateConfig::default()).unwrap();
        assert_eq!((found.nodes, found.of_nodes, found.classes, found.repeats), (240, 240, 3, 10));
        assert_eq!((found.train_nodes, found.test_nodes, found.unfinished_fits), (24, 216, 0));
        let accuracy = |contender| found.accuracy[&contender].mean;
        assert!(accuracy(Contender::L2g) > 0.9 && accuracy(Contender::NoTrans) < 0.5, "{found:?}");
        assert!(found.accuracy[&Contender::NoTrans].std.unwrap() > 0.0);
        assert!((found.micro_f1[&Contender::L2g].mean - accuracy(Contender::L2g)).abs() < 1e-12);
        assert!(found.macro_f1[&Contender::L2g].mean > 0.9);
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let (graph, good, bad) = data();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| scores(&graph, [&good, &bad], &EvaluateConfig::default()).unwrap())
        };
        assert_eq!(on(1), on(3));
    }

    #[test]
    fn many_labelled_nodes_are_sampled() {
        let (graph, good, bad) = data();
        let config =
            EvaluateConfig { samples: Some(100), repeats: Some(2), train_share: 0.5, ..Default::default() };
        let found = scores(&graph, [&good, &bad], &config).unwrap();
        assert_eq!((found.nodes, found.of_nodes, found.repeats), (100, 240, 2));
    }

    #[test]
    fn a_given_split_is_used_once() {
        let (graph, good, bad) = data();
        let path = scratch("split.txt");
        let lines = (0..300).map(|k| format!("{k} {}\n", if k < 150 { "train" } else { "test" }));
        std::fs::write(&path, lines.collect::<String>()).unwrap();
        let config = EvaluateConfig { split: Some(path.to_path_buf()), ..Default::default() };
        let found = scores(&graph, [&good, &bad], &config).unwrap();
        assert_eq!((found.train_nodes, found.test_nodes, found.repeats), (120, 120, 1));
        assert_eq!(found.accuracy[&Contender::L2g].std, None);
        std::fs::write(&path, "1 train\n").unwrap();
        let error = scores(&graph, [&good, &bad], &config).unwrap_err();
        assert!(matches!(error, EvaluateError::EmptyPart { train: 1, test: 0 }));
    }

    #[test]
    fn labels_that_cannot_be_learnt_are_refused() {
        let (graph, good, bad) = data();
        let refused = |labels| {
            let graph = graph.clone().with_labels(labels).unwrap();
            scores(&graph, [&good, &bad], &EvaluateConfig::default()).unwrap_err().to_string()
        };
        assert_eq!(refused(None), "classification needs labels, and the graph has none");
        let one = Labels::single(vec![1; 300].into(), vec![]);
        assert_eq!(refused(Some(one)), "classification needs nodes of two classes, found 1");
    }

    #[test]
    fn nodes_of_several_classes_are_classified() {
        let (graph, good, bad) = data();
        let rows = (0..300).flat_map(|k| [u8::from(k % 3 > 0), u8::from(k % 3 < 2)]).collect::<Vec<u8>>();
        let graph = graph.with_labels(Some(Labels::multi(rows.into(), 2, vec![]))).unwrap();
        let found = scores(&graph, [&good, &bad], &EvaluateConfig::default()).unwrap();
        assert!(found.accuracy[&Contender::L2g].mean > found.accuracy[&Contender::NoTrans].mean + 0.2);
        assert!(found.micro_f1[&Contender::L2g].mean > 0.9, "{found:?}");
    }
}
