//! How well coordinates tell edges from non-edges.
//!
//! Every edge gets a score, and so do as many non-edges, drawn uniformly without
//! repetition. The result is the probability that an edge scores higher than a
//! non-edge, ties counting half: the area under the ROC curve, exactly.
//!
//! ```text
//! AUC = (pairs with s(edge) > s(non-edge) + ½ pairs with equal scores) / all pairs
//! ```
//!
//! Convention: edges count once, whatever their direction; loops are left out. Where
//! there are fewer non-edges than edges, all of them are used.
//! Cost: `O(m d + m log m)` time, `O(m)` memory for `m` edges.

use rand::{Rng, RngExt};
use rustc_hash::FxHashSet;

use crate::graph::{Graph, NodeId};

/// The score of a pair of nodes: what is larger for likelier edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Score {
    /// `z_u · z_v`.
    #[default]
    InnerProduct,
    /// `-‖z_u - z_v‖²`.
    Distance,
}

impl Score {
    fn of(self, a: &[f32], b: &[f32]) -> f64 {
        let pairs = a.iter().zip(b).map(|(&a, &b)| (f64::from(a), f64::from(b)));
        match self {
            Self::InnerProduct => pairs.map(|(a, b)| a * b).sum(),
            Self::Distance => -pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>(),
        }
    }
}

/// The reconstruction AUC of `coordinates`, rows of `dim` numbers in node order.
///
/// None if there are no edges, or no non-edges.
///
/// # Panics
/// If there is not one row per node.
///
/// # Examples
/// ```
/// use local2global::evaluate::reconstruction::{Score, reconstruction_auc};
/// use local2global::graph::{BuildOptions, EdgeList, build};
/// use local2global::seed::{Seed, Stage};
///
/// // Two edges, each between nodes that point the same way.
/// let graph = build(EdgeList::from_pairs(vec![[0_u32, 1], [2, 3]]), 4, &BuildOptions::default()).graph;
/// let coordinates = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0];
/// let mut random = Seed(1).stream(Stage::Evaluate, 0);
/// let auc = reconstruction_auc(&graph, &coordinates, 2, Score::InnerProduct, &mut random);
/// assert_eq!(auc, Some(1.0));
/// ```
pub fn reconstruction_auc(
    graph: &Graph,
    coordinates: &[f32],
    dim: usize,
    score: Score,
    random: &mut impl Rng,
) -> Option<f64> {
    assert_eq!(coordinates.len(), graph.num_nodes() * dim, "one row of coordinates per node");
    let row = |node: NodeId| &coordinates[node.index() * dim..][..dim];
    let edges = graph.nodes().flat_map(|u| graph.neighbors(u).map(move |v| (u, v)));
    let positives: Vec<f64> = edges
        .filter(|&(u, v)| u < v || (u > v && !graph.has_edge(v, u)))
        .map(|(u, v)| score.of(row(u), row(v)))
        .collect();
    let negatives: Vec<f64> = sample_non_edges(graph, positives.len(), random)
        .into_iter()
        .map(|(u, v)| score.of(row(u), row(v)))
        .collect();
    area_under_curve(positives, negatives)
}

/// Up to `count` distinct pairs of nodes without an edge in either direction.
///
/// # Panics
/// If the graph has 2³² nodes or more.
pub fn sample_non_edges(graph: &Graph, count: usize, random: &mut impl Rng) -> Vec<(NodeId, NodeId)> {
    let num_nodes = graph.num_nodes() as u64;
    assert!(num_nodes <= u64::from(u32::MAX), "pairs of nodes must fit 64 bits");
    let all_pairs = num_nodes * num_nodes.saturating_sub(1) / 2;
    let is_edge = |u: NodeId, v: NodeId| graph.has_edge(u, v) || graph.has_edge(v, u);
    // Below this, most draws would hit an edge or a pair that was drawn before.
    if all_pairs < 4 * (count as u64 + graph.num_directed_edges() as u64) {
        let pairs = (0..num_nodes).flat_map(|v| (0..v).map(move |u| (NodeId(u), NodeId(v))));
        let mut non_edges: Vec<_> = pairs.filter(|&(u, v)| !is_edge(u, v)).collect();
        for drawn in 0..count.min(non_edges.len()) {
            let other = random.random_range(drawn..non_edges.len());
            non_edges.swap(drawn, other);
        }
        non_edges.truncate(count);
        return non_edges;
    }
    let mut drawn = FxHashSet::default();
    let mut non_edges = Vec::with_capacity(count);
    while non_edges.len() < count {
        let (a, b) = (random.random_range(0..num_nodes), random.random_range(0..num_nodes));
        let (u, v) = (NodeId(a.min(b)), NodeId(a.max(b)));
        if u != v && !is_edge(u, v) && drawn.insert(u.0 << 32 | v.0) {
            non_edges.push((u, v));
        }
    }
    non_edges
}

/// The probability that a positive score exceeds a negative one, ties counting half.
///
/// None if there are no positives or no negatives.
///
/// # Examples
/// ```
/// use local2global::evaluate::reconstruction::area_under_curve;
///
/// assert_eq!(area_under_curve(vec![2.0, 1.0], vec![1.0, 0.0]), Some(0.875));
/// ```
pub fn area_under_curve(mut positives: Vec<f64>, mut negatives: Vec<f64>) -> Option<f64> {
    if positives.is_empty() || negatives.is_empty() {
        return None;
    }
    // Adding zero turns -0 into 0, so that they are equal in the total order too.
    for scores in [&mut positives, &mut negatives] {
        scores.iter_mut().for_each(|score| *score += 0.0);
        scores.sort_unstable_by(f64::total_cmp);
    }
    let (mut below, mut not_above) = (0, 0);
    let mut half_wins: u128 = 0;
    for positive in &positives {
        below += negatives[below..].iter().take_while(|negative| *negative < positive).count();
        not_above = not_above.max(below);
        not_above += negatives[not_above..].iter().take_while(|negative| *negative <= positive).count();
        half_wins += (below + not_above) as u128;
    }
    Some(half_wins as f64 / (2.0 * positives.len() as f64 * negatives.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};
    use crate::seed::{Seed, Stage};

    #[test]
    fn the_area_is_that_of_all_pairs_compared() {
        let mut random = Seed(2).stream(Stage::Evaluate, 0);
        for _ in 0..100 {
            let mut scores =
                |len| (0..len).map(|_| f64::from(random.random_range(-4_i32..4))).collect::<Vec<_>>();
            let (positives, negatives) = (scores(13), scores(17));
            let wins: f64 = positives
                .iter()
                .flat_map(|p| negatives.iter().map(move |n| f64::from(p > n) + 0.5 * f64::from(p == n)))
                .sum();
            assert_eq!(area_under_curve(positives, negatives), Some(wins / (13.0 * 17.0)));
        }
    }

    #[test]
    fn zeros_of_either_sign_tie() {
        assert_eq!(area_under_curve(vec![-0.0], vec![0.0]), Some(0.5));
        assert_eq!(area_under_curve(vec![], vec![0.0]), None);
    }

    #[test]
    fn non_edges_are_distinct_and_really_none() {
        let ring = |n: u32| {
            let edges = EdgeList::from_pairs((0..n).map(|k| [k, (k + 1) % n]).collect());
            build(edges, n as usize, &BuildOptions::default()).graph
        };
        // A small ring lists its non-edges, a large one draws them.
        for (num_nodes, count, expected) in [(5, 9, 5), (6, 4, 4), (1000, 1000, 1000)] {
            let graph = ring(num_nodes);
            let mut pairs = sample_non_edges(&graph, count, &mut Seed(1).stream(Stage::Evaluate, 0));
            assert_eq!(pairs.len(), expected);
            assert!(pairs.iter().all(|&(u, v)| u < v && !graph.has_edge(u, v)));
            pairs.sort_unstable();
            pairs.dedup();
            assert_eq!(pairs.len(), expected);
        }
    }

    #[test]
    fn distance_scores_prefer_close_nodes() {
        let graph = build(EdgeList::from_pairs(vec![[0_u32, 1]]), 3, &BuildOptions::default()).graph;
        let mut random = Seed(1).stream(Stage::Evaluate, 0);
        let auc = reconstruction_auc(&graph, &[5.0, 5.1, 0.0], 1, Score::Distance, &mut random);
        assert_eq!(auc, Some(1.0));
    }
}
