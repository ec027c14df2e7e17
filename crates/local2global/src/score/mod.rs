//! How well coordinates tell edges from non-edges.
//!
//! A pair of nodes has a [`Score`], and [`Ranking`] says how well the scores of some edges
//! separate from those of some non-edges. The [embed](crate::embed) stage chooses runs and
//! settings by it, on edges of the graph that it may see; the [evaluate](crate::evaluate)
//! stage reports it, on edges that nothing before has seen. So it lies below both.
//!
//! What is compared with matters as much as the score: uniform non-edges join nodes of low
//! degree, so on many graphs the product of degrees alone tells them from edges; see
//! [`sample_degree_matched_non_edges`](crate::graph::sample::sample_degree_matched_non_edges).
//!
//! Cost: `O(k d + k log k)` time, `O(k)` memory for `k` pairs in `d` dimensions.

pub mod ranking;

use rand::Rng;

pub use ranking::{Ranking, Score, area_under_curve};

use crate::graph::sample::{Pair, sample_edges, sample_non_edges};
use crate::graph::{Graph, NodeId};

/// Rows of coordinates, one per node, somewhere in memory or mapped.
#[derive(Clone, Copy, Debug)]
pub struct Coordinates<'a> {
    values: &'a [f32],
    dim: usize,
}

impl<'a> Coordinates<'a> {
    /// Rows of `dim` values.
    ///
    /// # Panics
    /// If there are no columns, or the values are not whole rows.
    pub fn new(values: &'a [f32], dim: usize) -> Self {
        assert!(dim > 0 && values.len().is_multiple_of(dim), "whole rows are needed");
        Self { values, dim }
    }

    /// The number of rows.
    pub fn num_rows(self) -> usize {
        self.values.len() / self.dim
    }

    /// The number of columns.
    pub fn dim(self) -> usize {
        self.dim
    }

    /// All values, row after row.
    pub fn values(self) -> &'a [f32] {
        self.values
    }

    /// The coordinates of one node.
    pub fn row(self, node: NodeId) -> &'a [f32] {
        &self.values[node.index() * self.dim..][..self.dim]
    }
}

/// The AUC of `coordinates` on some edges against some non-edges.
///
/// None if there are no edges, or no non-edges.
///
/// # Panics
/// If a node has no row.
///
/// # Examples
/// ```
/// use local2global::graph::NodeId;
/// use local2global::score::{Coordinates, Score, link_auc};
///
/// let coordinates = Coordinates::new(&[1.0, 0.1, 5.0, 0.0, 0.0, 1.0], 2);
/// let [a, b, c] = [0, 1, 2].map(NodeId);
/// assert_eq!(link_auc(coordinates, Score::Cosine, &[[a, b]], &[[a, c], [b, c]]), Some(1.0));
/// assert_eq!(link_auc(coordinates, Score::Cosine, &[], &[[a, c]]), None);
/// ```
pub fn link_auc(
    coordinates: Coordinates<'_>,
    score: Score,
    edges: &[Pair],
    non_edges: &[Pair],
) -> Option<f64> {
    area_under_curve(score.of_pairs(coordinates, edges), score.of_pairs(coordinates, non_edges))
}

/// The reconstruction AUC of `coordinates`, rows of `dim` numbers in node order, over all
/// edges.
///
/// None if there are no edges, or no non-edges.
///
/// # Panics
/// If there is not one row per node.
///
/// # Examples
/// ```
/// use local2global::score::{Score, reconstruction_auc};
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
    let coordinates = Coordinates::new(coordinates, dim);
    let edges = sample_edges(graph, usize::MAX, random);
    let non_edges = sample_non_edges(graph, edges.len(), random);
    link_auc(coordinates, score, &edges, &non_edges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};
    use crate::seed::{Seed, Stage};

    #[test]
    fn distance_scores_prefer_close_nodes() {
        let graph = build(EdgeList::from_pairs(vec![[0_u32, 1]]), 3, &BuildOptions::default()).graph;
        let mut random = Seed(1).stream(Stage::Evaluate, 0);
        let auc = reconstruction_auc(&graph, &[5.0, 5.1, 0.0], 1, Score::Distance, &mut random);
        assert_eq!(auc, Some(1.0));
    }
}
