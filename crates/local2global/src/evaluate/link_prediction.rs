//! How well coordinates foretell edges that nothing before this stage has seen.
//!
//! [`hold_out`] takes edges out of the graph before it is partitioned, and draws as many
//! non-edges; here both are scored as in [reconstruction](super::reconstruction). Since
//! partition, patches, training and the choice of the best run only know the training
//! graph, nothing is scored on what it was fitted to.
//!
//! Convention: the negatives are non-edges of the whole graph, so a held-out edge is never
//! among them. More held-out pairs than asked for are sampled.
//! Cost: `O(k d + k log k)` time for `k` pairs in `d` dimensions.
//!
//! Source: D. Liben-Nowell, J. Kleinberg, "The link prediction problem for social
//! networks", J. Am. Soc. Inf. Sci. 58, 2007.

use rand::Rng;
use rand::seq::index;

pub use crate::graph::held_out::{HeldOut, HoldOutError, hold_out};

use super::reconstruction::{PairScores, Pairs};
use super::{ByScenario, Coordinates, EvaluateConfig, EvaluateError, Task};
use crate::graph::sample::Pair;
use crate::progress::Progress;

/// Scores embeddings on held-out edges and non-edges, or a sample of them.
///
/// # Errors
/// [`EvaluateError::NoPairs`] if there are none, [`EvaluateError::HeldOutNode`] if they
/// name a node without coordinates, [`EvaluateError::Cancelled`] if `progress` says so.
pub fn link_prediction(
    held_out: &HeldOut,
    embeddings: &ByScenario<Coordinates<'_>>,
    config: &EvaluateConfig,
    random: &mut impl Rng,
    progress: &dyn Progress,
) -> Result<PairScores, EvaluateError> {
    let edges = sampled(held_out.edges(), config.samples, random);
    let non_edges = sampled(held_out.non_edges(), config.samples, random);
    let num_nodes = embeddings.values().map(|coordinates| coordinates.num_rows()).min().unwrap_or(0);
    let largest = edges.iter().chain(&non_edges).flatten().max();
    if let Some(&node) = largest.filter(|node| node.index() >= num_nodes) {
        return Err(EvaluateError::HeldOutNode { node, num_nodes });
    }
    let of_edges = held_out.edges().len();
    let pairs = Pairs { task: Task::LinkPrediction, edges: &edges, of_edges, non_edges: &non_edges };
    pairs.score(embeddings, config.score, progress)
}

/// Up to `count` of the pairs, drawn uniformly.
fn sampled(pairs: &[Pair], count: usize, random: &mut impl Rng) -> Vec<Pair> {
    match pairs.len() <= count {
        true => pairs.to_vec(),
        false => index::sample(random, pairs.len(), count).into_iter().map(|place| pairs[place]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::Scenario;
    use crate::graph::NodeId;
    use crate::progress::Silent;
    use crate::seed::{Seed, Stage};

    fn held_out() -> HeldOut {
        HeldOut::new(vec![0, 1, 2, 3].into(), vec![0, 2, 1, 3].into()).unwrap()
    }

    fn score(values: &[f32], samples: usize) -> Result<PairScores, EvaluateError> {
        let embeddings = [(Scenario::L2g, Coordinates::new(values, 1))].into();
        let config = EvaluateConfig { samples, ..Default::default() };
        let mut random = Seed(0).stream(Stage::Evaluate, 0);
        link_prediction(&held_out(), &embeddings, &config, &mut random, &Silent)
    }

    #[test]
    fn held_out_edges_between_nodes_on_one_side_are_foretold() {
        let scores = score(&[1.0, 1.0, -1.0, -1.0], 10).unwrap();
        assert_eq!((scores.edges, scores.of_edges, scores.non_edges), (2, 2, 2));
        assert_eq!((scores.auc[&Scenario::L2g], scores.average_precision[&Scenario::L2g]), (1.0, 1.0));
        assert_eq!(score(&[1.0, -1.0, 1.0, -1.0], 10).unwrap().auc[&Scenario::L2g], 0.0);
    }

    #[test]
    fn many_pairs_are_sampled() {
        let scores = score(&[1.0, 1.0, -1.0, -1.0], 1).unwrap();
        assert_eq!((scores.edges, scores.of_edges, scores.non_edges), (1, 2, 1));
    }

    #[test]
    fn a_pair_outside_the_graph_is_named() {
        let error = score(&[1.0, 1.0, -1.0], 10).unwrap_err();
        assert!(matches!(error, EvaluateError::HeldOutNode { node: NodeId(3), num_nodes: 3 }));
    }
}
