//! Edges kept out of training, to tell when training has gone on for too long.
//!
//! A share of the edges is neither propagated over nor trained on. The score of some weights is
//! how well their coordinates tell these edges from as many non-edges of the patch: the area
//! under the ROC curve. A non-edge takes one end of a held-out edge, and the other end of any
//! edge of the patch, so that both ends have the degrees that ends of edges have: against uniform
//! pairs, degree alone would score.
//!
//! Convention: pairs are drawn once, from the seed. Cost of a score: `O(k d + k log k)` for `k`
//! held-out edges.

use crate::linalg::real::Real;
use rand::{Rng, RngExt};

use super::decoder::Decoder;
use super::kernel::{dot, squared_distance};
use super::noise::{Purpose, stream_index};
use super::propagation::Adjacency;
use crate::score::area_under_curve;
use crate::seed::{Seed, Stage};

/// How often the other end of a non-edge is drawn before the edge goes without.
const MAX_TRIES: usize = 64;

/// Held-out edges, and non-edges like them.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    edges: Vec<[u32; 2]>,
    non_edges: Vec<[u32; 2]>,
}

impl Validation {
    /// Draws non-edges for held-out edges; `all` are the edges of the patch, these included.
    pub fn new(all: &Adjacency, edges: Vec<[u32; 2]>, seed: Seed) -> Self {
        let mut random = seed.stream(Stage::Embed, stream_index(Purpose::Validation, 0, 1));
        let ends = edges.iter().enumerate().map(|(k, edge)| edge[k % 2]);
        let non_edges = ends.filter_map(|end| draw_non_edge(all, end, &mut random)).collect();
        Self { edges, non_edges }
    }

    /// The number of held-out edges.
    pub fn num_edges(&self) -> usize {
        self.edges.len()
    }

    /// The area under the ROC curve of the rows that `row` gives; none if there are no edges or
    /// no non-edges to compare.
    pub fn auc<'a, F: Real>(&self, decoder: Decoder, row: impl Fn(usize) -> &'a [F]) -> Option<f64> {
        let score = |&[a, b]: &[u32; 2]| {
            let (a, b) = (row(a as usize), row(b as usize));
            match decoder {
                Decoder::InnerProduct => dot(a, b).to_f64(),
                Decoder::Distance => -squared_distance(a, b).to_f64(),
            }
        };
        let scores = |pairs: &[[u32; 2]]| pairs.iter().map(score).collect();
        area_under_curve(scores(&self.edges), scores(&self.non_edges))
    }
}

/// A non-edge at a node, its other end in proportion to degree; none if the node has edges to
/// almost all others.
fn draw_non_edge(all: &Adjacency, end: u32, random: &mut impl Rng) -> Option<[u32; 2]> {
    let row = all.of(end as usize);
    let other = |_| all.nodes()[random.random_range(0..all.nodes().len())];
    let joined = |other: u32| other == end || row.binary_search(&other).is_ok();
    (0..MAX_TRIES).map(other).find(|&other| !joined(other)).map(|other| [end, other])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};

    fn neighbors(num_nodes: usize, pairs: Vec<[u32; 2]>) -> Adjacency {
        Adjacency::new(&build(EdgeList::from_pairs(pairs), num_nodes, &BuildOptions::default()).graph)
    }

    #[test]
    fn non_edges_are_no_edges_and_have_the_degrees_of_ends_of_edges() {
        // A hub with many leaves, and a ring: ends of edges are at the hub half of the time.
        let spokes = (1..101).map(|leaf| [0, leaf]);
        let ring = (101..201).map(|k| [k, if k == 200 { 101 } else { k + 1 }]);
        let pairs: Vec<[u32; 2]> = spokes.chain(ring).collect();
        let all = neighbors(201, pairs.clone());
        let validation = Validation::new(&all, pairs, Seed(1));
        assert!(validation.non_edges.len() > 190);
        for &[a, b] in &validation.non_edges {
            assert!(a != b && !all.of(a as usize).contains(&b));
        }
        let at_hub = validation.non_edges.iter().filter(|pair| pair.contains(&0)).count();
        // 50 spokes keep the hub; 50 keep a leaf, which has an edge to the hub; of the 100 edges
        // of the ring a quarter meets the hub.
        assert!((60..95).contains(&at_hub), "{at_hub}");
    }

    #[test]
    fn coordinates_that_separate_score_one() {
        let all = neighbors(4, vec![[0, 1], [2, 3]]);
        let validation = Validation::new(&all, vec![[0, 1], [2, 3]], Seed(1));
        let z = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]];
        for decoder in [Decoder::InnerProduct, Decoder::Distance] {
            assert_eq!(validation.auc(decoder, |node| &z[node][..]), Some(1.0));
        }
        let complete = neighbors(2, vec![[0, 1]]);
        let nothing = Validation::new(&complete, vec![[0, 1]], Seed(1));
        assert_eq!(nothing.auc(Decoder::InnerProduct, |node| &z[node][..]), None);
    }
}
