//! What each contender scores pairs by, and the baselines among them.

use rand::Rng;

use super::design::ClassifierInput;
use super::feature_rows::FeatureRows;
use super::scaling::Scale;
use super::smoothed::smoothed;
use super::{ByContender, Contender, Coordinates, EvaluateConfig, EvaluateError};
use crate::embed::nn::Matrix;
use crate::graph::Graph;
use crate::graph::sample::Pair;
use crate::score::Score;
use crate::seed::Seed;

/// Classifiers with more weights than this are left out: ten steps of a fit, and as many
/// changes of the gradient, have to be kept.
const MAX_WEIGHTS: usize = 2_000_000;

/// What a contender scores pairs and classifies nodes by.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// Rows of coordinates.
    Rows(Coordinates<'a>),
    /// Features with rows of length 1, so that all scores rank pairs alike.
    Features(&'a FeatureRows<'a>),
    /// The degrees of nodes, in one column.
    Degrees(Coordinates<'a>),
}

/// Who is scored, on which graph and how: what every task is given.
#[derive(Clone, Copy, Debug)]
pub struct Contest<'a> {
    /// The graph, with its labels and the edges held out of it.
    pub graph: &'a Graph,
    /// What each contender has to show.
    pub entries: &'a ByContender<Entry<'a>>,
    /// The settings.
    pub config: &'a EvaluateConfig,
    /// Where samples and splits are drawn from: the same for all contenders.
    pub seed: Seed,
}

impl<'a> Entry<'a> {
    /// The scores of many pairs, in their order; none if there is no such score.
    pub fn score_pairs(self, score: Score, pairs: &[Pair]) -> Option<Vec<f64>> {
        match self {
            Self::Rows(coordinates) => Some(score.of_pairs(coordinates, pairs)),
            Self::Features(rows) => Some(rows.cosines(pairs)),
            Self::Degrees(degrees) => match score {
                // All cosines of one column are 1.
                Score::Cosine => None,
                _ => Some(Score::InnerProduct.of_pairs(degrees, pairs)),
            },
        }
    }

    /// What nodes are classified by; none if it cannot tell classes, or has too many weights.
    pub fn classifier_source(self, num_classes: usize, scale: Scale) -> Option<ClassifierInput<'a>> {
        let source = match self {
            Self::Rows(coordinates) => ClassifierInput::Dense(coordinates, scale),
            Self::Features(rows) => ClassifierInput::of_features(rows),
            Self::Degrees(_) => return None,
        };
        (source.width().saturating_mul(num_classes) <= MAX_WEIGHTS).then_some(source)
    }
}

/// What one would have without an embedding.
#[derive(Debug)]
pub(super) struct Baselines<'a> {
    degrees: Vec<f32>,
    features: Option<FeatureRows<'a>>,
    smoothed: Option<Matrix<f32>>,
}

impl<'a> Baselines<'a> {
    /// The baselines of a graph; those made of features if `dim`, the columns that smoothed
    /// features may have, is given and there are features. Smoothed ones only if there is room.
    pub(super) fn new(
        graph: &'a Graph,
        dim: Option<usize>,
        smooths: bool,
        random: &mut impl Rng,
    ) -> Result<Self, EvaluateError> {
        let features = graph.features().filter(|features| dim.is_some() && features.width() > 0);
        let features = features.map(FeatureRows::new);
        let smoothed = match (&features, dim) {
            (Some(rows), Some(dim)) if smooths => Some(smoothed(graph, rows, dim, random)?),
            _ => None,
        };
        Ok(Self { degrees: degrees(graph), features, smoothed })
    }

    /// What each baseline brings.
    pub(super) fn entries(&self) -> ByContender<Entry<'_>> {
        let degrees = Entry::Degrees(Coordinates::new(&self.degrees, 1));
        let mut entries: ByContender<Entry<'_>> = [(Contender::Degrees, degrees)].into();
        entries.extend(self.features.as_ref().map(|rows| (Contender::Features, Entry::Features(rows))));
        entries.extend(self.smoothed.as_ref().map(|rows| {
            let coordinates = Coordinates::new(rows.values(), rows.num_columns());
            (Contender::Smoothed, Entry::Rows(coordinates))
        }));
        entries
    }
}

/// How many edges each node has, those of both directions together.
fn degrees(graph: &Graph) -> Vec<f32> {
    let mut degrees: Vec<f32> = graph.nodes().map(|node| graph.degree(node) as f32).collect();
    if !graph.is_symmetric() {
        graph.nodes().flat_map(|node| graph.neighbors(node)).for_each(|node| degrees[node.index()] += 1.0);
    }
    degrees
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::features::DenseFeatures;
    use crate::graph::{BuildOptions, EdgeList, Features, NodeId, build};
    use crate::seed::{Seed, Stage};

    fn star(symmetrise: bool) -> Graph {
        let edges = EdgeList::from_pairs(vec![[0_u32, 1], [0, 2], [3, 0]]);
        build(edges, 5, &BuildOptions { symmetrise, ..Default::default() }).graph
    }

    #[test]
    fn degrees_count_both_directions_and_have_no_cosine() {
        for symmetrise in [true, false] {
            let graph = star(symmetrise);
            let mut random = Seed(1).stream(Stage::Evaluate, 0);
            let baselines = Baselines::new(&graph, Some(2), true, &mut random).unwrap();
            let entries = baselines.entries();
            assert!(entries.keys().eq(&[Contender::Degrees]));
            let pairs = [[0, 1], [1, 2], [0, 4]].map(|pair| pair.map(NodeId));
            let entry = entries[&Contender::Degrees];
            assert_eq!(entry.score_pairs(Score::Distance, &pairs), Some(vec![3.0, 1.0, 0.0]));
            assert_eq!(entry.score_pairs(Score::Cosine, &pairs), None);
            assert!(entry.classifier_source(2, Scale::Common).is_none());
        }
    }

    #[test]
    fn features_are_a_baseline_raw_and_smoothed() {
        let features = DenseFeatures::new(5, 1, vec![1.0, 2.0, 0.0, -1.0, 0.0].into()).unwrap();
        let graph = star(true).with_features(Some(Features::Dense(features))).unwrap();
        let mut random = Seed(1).stream(Stage::Evaluate, 0);
        let baselines = Baselines::new(&graph, Some(2), true, &mut random).unwrap();
        let entries = baselines.entries();
        assert_eq!(entries.len(), 3);
        let pairs = [[0, 1], [0, 3], [0, 4]].map(|pair| pair.map(NodeId));
        let raw = entries[&Contender::Features].score_pairs(Score::InnerProduct, &pairs);
        assert_eq!(raw, Some(vec![1.0, -1.0, 0.0]));
        assert!(entries[&Contender::Features].classifier_source(2_000_001, Scale::Common).is_none());
        assert!(Baselines::new(&graph, None, true, &mut random).unwrap().features.is_none());
    }
}
