//! Pairs of nodes without an edge, drawn anew in every epoch.
//!
//! Pairs are drawn uniformly and edges and loops are drawn again, so the result is
//! uniform over ordered non-edges; a pair may come twice. A 64-bit signature per node,
//! in which each neighbour sets one bit, answers most questions "is there an edge?"
//! without looking at the row. Where more than half of all pairs are edges, the
//! non-edges are listed once instead, and drawn from the list.
//!
//! The decoder wants to know the partners of each node, so the pairs are sorted into
//! rows, each pair into two.
//! Cost: `O(pairs)` an epoch; no allocation after the first.

use rand::{Rng, RngExt};
use rayon::prelude::*;

use super::noise::{Purpose, stream_index};
use super::propagation::Neighbors;
use crate::seed::{Seed, Stage};

/// Pairs that share one stream of random numbers.
const BLOCK: usize = 4096;

/// For each node the nodes it was paired with.
#[derive(Clone, Debug, Default)]
pub struct Partners {
    offsets: Vec<usize>,
    nodes: Vec<u32>,
}

impl Partners {
    /// Sorts pairs into rows: each pair stands in the rows of both its nodes.
    pub fn sort(&mut self, pairs: &[[u32; 2]], num_nodes: usize) {
        self.offsets.clear();
        self.offsets.resize(num_nodes + 1, 0);
        self.nodes.resize(2 * pairs.len(), 0);
        // Offsets are shifted by one row while they count, and while rows fill up.
        for &[a, b] in pairs {
            self.offsets[a as usize + 1] += 1;
            self.offsets[b as usize + 1] += 1;
        }
        let mut start = 0;
        for offset in &mut self.offsets[1..] {
            start += std::mem::replace(offset, start);
        }
        for &[a, b] in pairs {
            for (node, partner) in [(a, b), (b, a)] {
                let slot = &mut self.offsets[node as usize + 1];
                self.nodes[*slot] = partner;
                *slot += 1;
            }
        }
    }

    /// Where the partners of each node begin in [`Partners::nodes`].
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The partners of all nodes, one after the other.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// The number of pairs.
    pub fn num_pairs(&self) -> usize {
        self.nodes.len() / 2
    }
}

/// Draws non-edges.
#[derive(Clone, Debug)]
pub struct NonEdges {
    signatures: Vec<u64>,
    /// All non-edges, where there are few.
    listed: Option<Vec<[u32; 2]>>,
    pairs: Vec<[u32; 2]>,
    partners: Partners,
}

impl NonEdges {
    /// Prepares to draw as many pairs as there are edges, both directions counted.
    ///
    /// If every pair of nodes is an edge, none will be drawn.
    pub fn new(neighbors: &Neighbors) -> Self {
        let num_nodes = neighbors.num_nodes();
        let signature = |node| neighbors.of(node).iter().fold(0, |bits, &other| bits | bit(other));
        let all_pairs = num_nodes as u128 * num_nodes.saturating_sub(1) as u128;
        let dense = neighbors.nodes().len() as u128 * 2 > all_pairs;
        let listed = dense.then(|| list_non_edges(neighbors));
        let num_pairs = match &listed {
            Some(listed) if listed.is_empty() => 0,
            _ => neighbors.nodes().len(),
        };
        Self {
            signatures: (0..num_nodes).map(signature).collect(),
            listed,
            pairs: vec![[0; 2]; num_pairs],
            partners: Partners::default(),
        }
    }

    /// Draws the pairs of one epoch.
    pub fn draw(&mut self, neighbors: &Neighbors, seed: Seed, epoch: u32) -> &Partners {
        let Self { signatures, listed, pairs, partners } = self;
        let (signatures, listed) = (&*signatures, &*listed);
        let draw_block = |(block, pairs): (usize, &mut [[u32; 2]])| {
            let mut random = seed.stream(Stage::Embed, stream_index(Purpose::Pairs, epoch, block));
            for pair in pairs {
                *pair = match listed {
                    Some(listed) => listed[random.random_range(0..listed.len())],
                    None => draw_pair(&mut random, neighbors, signatures),
                };
            }
        };
        match rayon::current_num_threads() {
            1 => pairs.chunks_mut(BLOCK).enumerate().for_each(draw_block),
            _ => pairs.par_chunks_mut(BLOCK).enumerate().for_each(draw_block),
        }
        partners.sort(pairs, neighbors.num_nodes());
        partners
    }

    /// The pairs drawn last, sorted by node.
    pub fn partners(&self) -> &Partners {
        &self.partners
    }

    /// Uses the given pairs as if they had been drawn.
    pub fn set(&mut self, pairs: Vec<[u32; 2]>, num_nodes: usize) {
        self.pairs = pairs;
        self.partners.sort(&self.pairs, num_nodes);
    }
}

/// The bit of a node in the signatures of its neighbours.
fn bit(node: u32) -> u64 {
    1 << (node.wrapping_mul(0x9e37_79b9) >> 26)
}

fn draw_pair(random: &mut impl Rng, neighbors: &Neighbors, signatures: &[u64]) -> [u32; 2] {
    let num_nodes = signatures.len() as u64;
    loop {
        let word = random.next_u64();
        let below = |bits: u64| ((bits * num_nodes) >> 32) as u32;
        let (a, b) = (below(word >> 32), below(word & 0xffff_ffff));
        let maybe_edge = signatures[a as usize] & bit(b) != 0;
        if a != b && !(maybe_edge && neighbors.of(a as usize).binary_search(&b).is_ok()) {
            return [a, b];
        }
    }
}

fn list_non_edges(neighbors: &Neighbors) -> Vec<[u32; 2]> {
    let num_nodes = neighbors.num_nodes() as u32;
    let others = |node: u32| {
        let row = neighbors.of(node as usize);
        (0..num_nodes).filter(move |other| *other != node && row.binary_search(other).is_err())
    };
    (0..num_nodes).flat_map(|node| others(node).map(move |other| [node, other])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};

    fn neighbors(num_nodes: usize, pairs: Vec<[u32; 2]>) -> Neighbors {
        Neighbors::new(&build(EdgeList::from_pairs(pairs), num_nodes, &BuildOptions::default()).graph)
    }

    /// How often each ordered pair was drawn.
    fn counts(neighbors: &Neighbors, epochs: u32) -> Vec<Vec<u32>> {
        let mut sampler = NonEdges::new(neighbors);
        let mut counts = vec![vec![0; neighbors.num_nodes()]; neighbors.num_nodes()];
        for epoch in 0..epochs {
            sampler.draw(neighbors, Seed(1), epoch);
            sampler.pairs.iter().for_each(|&[a, b]| counts[a as usize][b as usize] += 1);
        }
        counts
    }

    #[test]
    fn non_edges_are_drawn_uniformly_and_nothing_else() {
        // A path is sparse; a complete graph without two edges is dense.
        let path = neighbors(6, (0..5).map(|k| [k, k + 1]).collect());
        let complete = (0..6_u32).flat_map(|a| (0..a).map(move |b| [a, b]));
        let dense = neighbors(6, complete.filter(|&pair| pair != [1, 0] && pair != [5, 2]).collect());
        for graph in [path, dense] {
            let counts = counts(&graph, 3000);
            let num_non_edges = 30 - graph.nodes().len();
            let expected = 3000.0 * graph.nodes().len() as f64 / num_non_edges as f64;
            for (a, counts) in counts.iter().enumerate() {
                for (b, &count) in counts.iter().enumerate() {
                    let allowed = a != b && !graph.of(a).contains(&(b as u32));
                    let deviation = f64::from(count) - if allowed { expected } else { 0.0 };
                    assert!(deviation.abs() <= 5.0 * expected.sqrt() * f64::from(allowed), "{a} {b}");
                }
            }
        }
    }

    #[test]
    fn a_complete_graph_has_none() {
        let mut sampler = NonEdges::new(&neighbors(3, vec![[0, 1], [1, 2], [0, 2]]));
        let graph = neighbors(3, vec![[0, 1], [1, 2], [0, 2]]);
        assert_eq!(sampler.draw(&graph, Seed(1), 0).num_pairs(), 0);
    }

    #[test]
    fn pairs_stand_in_both_rows() {
        let mut partners = Partners::default();
        partners.sort(&[[0, 2], [2, 1], [0, 2]], 3);
        assert_eq!(partners.offsets(), [0, 2, 3, 6]);
        assert_eq!(partners.nodes(), [2, 2, 2, 0, 1, 0]);
        assert_eq!(partners.num_pairs(), 3);
    }
}
