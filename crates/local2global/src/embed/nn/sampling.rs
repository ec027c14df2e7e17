//! Pairs of nodes without an edge, drawn anew in every epoch.
//!
//! The result is uniform over non-edges; a pair may come twice. Nodes are cut into blocks
//! ([`Pairs`]), and pairs are drawn block by block, so that each draw looks at memory that is
//! in the cache: first how many pairs fall to each pair of blocks, by binomial numbers in
//! proportion to their non-edges; then the pairs, edges and loops being drawn again. A
//! signature per node, in which each neighbour sets one bit, answers most questions "is
//! there an edge?" without looking at the row. Where more than half of all pairs are edges,
//! the non-edges are listed once instead, and drawn from the list.
//! Cost: `O(pairs)` an epoch.

use rand::{Rng, RngExt};
use rand_distr::Binomial;
use rayon::prelude::*;

use super::noise::{Purpose, stream_index};
use super::pairs::{BlockPairs, Blocks, Pairs, Partners};
use super::propagation::Adjacency;
use crate::seed::{Seed, Stage};

/// The stream that tells how many pairs each block gets; blocks have the ones from 0 on.
const TOTALS_STREAM: usize = 0x00ff_ffff;
/// The longest signature of a node.
const MAX_SIGNATURE_WORDS: usize = 16;

/// Draws non-edges.
#[derive(Clone, Debug)]
pub struct NonEdges {
    num_pairs: u64,
    signatures: Signatures,
    /// All non-edges, where there are few.
    listed: Option<Vec<[u32; 2]>>,
    /// For each block the non-edges of its groups: with itself, with the next block, ...
    counts: Vec<Vec<u64>>,
    pairs: Pairs,
    partners: Partners,
}

/// One bit for each neighbour of each node: no bit, no edge.
#[derive(Clone, Debug)]
struct Signatures {
    words: Vec<u64>,
    /// The words of a signature, as a power of two.
    log_words: u32,
}

impl Signatures {
    /// Signatures with at least some eight bits for each neighbour of a usual node.
    fn new(neighbors: &Adjacency) -> Self {
        let num_nodes = neighbors.num_nodes();
        let mean_degree = neighbors.nodes().len() / num_nodes.max(1);
        let log_words = (mean_degree / 8).next_power_of_two().min(MAX_SIGNATURE_WORDS).ilog2();
        let mut signatures = Self { words: vec![0; num_nodes << log_words], log_words };
        for node in 0..num_nodes {
            for &other in neighbors.of(node) {
                let (word, bit) = signatures.place(node, other);
                signatures.words[word] |= bit;
            }
        }
        signatures
    }

    /// The word and the bit that tell of an edge from `node` to `other`.
    fn place(&self, node: usize, other: u32) -> (usize, u64) {
        let position = other.wrapping_mul(0x9e37_79b9) >> (26 - self.log_words);
        ((node << self.log_words) + (position >> 6) as usize, 1 << (position & 63))
    }

    /// Whether there may be an edge.
    fn may_join(&self, node: usize, other: u32) -> bool {
        let (word, bit) = self.place(node, other);
        self.words[word] & bit != 0
    }
}

impl NonEdges {
    /// Prepares to draw as many pairs as there are edges, both directions counted.
    ///
    /// If every pair of nodes is an edge, none will be drawn.
    pub fn new(neighbors: &Adjacency) -> Self {
        Self::with_pairs(neighbors, neighbors.nodes().len())
    }

    /// Prepares to draw `num_pairs` pairs; none if every pair of nodes is an edge.
    pub fn with_pairs(neighbors: &Adjacency, num_pairs: usize) -> Self {
        let num_nodes = neighbors.num_nodes();
        let all_pairs = num_nodes as u128 * num_nodes.saturating_sub(1) as u128;
        let dense = neighbors.nodes().len() as u128 * 2 > all_pairs;
        let listed = dense.then(|| list_non_edges(neighbors));
        let num_pairs = match &listed {
            Some(listed) if listed.is_empty() => 0,
            _ => num_pairs,
        };
        let pairs = Pairs::new(num_nodes, num_pairs);
        let counts = if dense { Vec::new() } else { count_non_edges(neighbors, pairs.blocks()) };
        let signatures = Signatures::new(neighbors);
        let partners = Partners::default();
        Self { num_pairs: num_pairs as u64, signatures, listed, counts, pairs, partners }
    }

    /// Draws the pairs of one epoch.
    pub fn draw(&mut self, neighbors: &Adjacency, seed: Seed, epoch: u32) -> &Partners {
        self.draw_pairs(neighbors, seed, epoch);
        self.partners.sort(&self.pairs);
        &self.partners
    }

    fn draw_pairs(&mut self, neighbors: &Adjacency, seed: Seed, epoch: u32) {
        let stream = |block| seed.stream(Stage::Embed, stream_index(Purpose::Pairs, epoch, block));
        let mut random = stream(TOTALS_STREAM);
        if let Some(listed) = &self.listed {
            let drawn = (0..self.num_pairs).map(|_| listed[random.random_range(0..listed.len())]);
            return self.pairs.set(&drawn.collect::<Vec<_>>());
        }
        let (blocks, signatures) = (self.pairs.blocks(), &self.signatures);
        let totals = self.counts.iter().map(|groups| groups.iter().sum());
        let totals = Shares::new(self.num_pairs, self.counts.iter().flatten().sum(), totals);
        let tasks: Vec<(u64, &mut BlockPairs)> = totals.draw(&mut random).zip(self.pairs.fill()).collect();
        let counts = &self.counts;
        tasks.into_par_iter().enumerate().for_each(|(block, (total, pairs))| {
            let mut random = stream(block);
            let mut random_counts = stream(block + blocks.len());
            let groups = &counts[block];
            let shares = Shares::new(total, groups.iter().sum(), groups.iter().copied());
            pairs.clear();
            for (other, count) in (block..).zip(shares.draw(&mut random_counts)) {
                let sides = [block, other].map(|block| (blocks.first(block), blocks.size(block)));
                (0..count).for_each(|_| pairs.push(draw_pair(&mut random, sides, neighbors, signatures)));
                pairs.end_group();
            }
        });
    }

    /// The pairs drawn last, sorted by node.
    pub fn partners(&self) -> &Partners {
        &self.partners
    }

    /// Uses the given pairs as if they had been drawn.
    pub fn set(&mut self, pairs: &[[u32; 2]]) {
        self.pairs.set(pairs);
        self.partners.sort(&self.pairs);
    }
}

/// Divides things at random: each goes to a place with probability proportional to the
/// weight of the place.
struct Shares<W> {
    things: u64,
    weight: u64,
    weights: W,
}

impl<W: Iterator<Item = u64>> Shares<W> {
    fn new(things: u64, weight: u64, weights: W) -> Self {
        Self { things, weight, weights }
    }

    /// How many things each place gets: one binomial number after the other.
    fn draw(self, random: &mut impl Rng) -> impl Iterator<Item = u64> {
        let Self { mut things, weight: mut left, weights } = self;
        weights.map(move |weight| {
            let share = if weight == left { 1.0 } else { weight as f64 / left as f64 };
            left -= weight;
            let count = match things {
                0 => 0,
                _ if weight == 0 => 0,
                _ => random.sample(Binomial::new(things, share).expect("a share is at most 1")),
            };
            things -= count;
            count
        })
    }
}

/// The non-edges between each block and itself, and each later block.
fn count_non_edges(neighbors: &Adjacency, blocks: Blocks) -> Vec<Vec<u64>> {
    let count = |block: usize| {
        let size = blocks.size(block) as u64;
        let mut counts: Vec<u64> =
            (block..blocks.len()).map(|other| size * blocks.size(other) as u64).collect();
        counts[0] = size * size.saturating_sub(1) / 2;
        for node in blocks.first(block)..blocks.first(block) + blocks.size(block) {
            let later = neighbors.of(node).iter().filter(|&&other| other as usize > node);
            later.for_each(|&other| counts[blocks.of(other) - block] -= 1);
        }
        counts
    };
    (0..blocks.len()).into_par_iter().map(count).collect()
}

/// A non-edge between two blocks, each given by its first node and its size.
fn draw_pair(
    random: &mut impl Rng,
    sides: [(usize, usize); 2],
    neighbors: &Adjacency,
    signatures: &Signatures,
) -> [u32; 2] {
    loop {
        let word = random.next_u64();
        let node =
            |(first, size): (usize, usize), bits: u64| (first + ((bits * size as u64) >> 32) as usize) as u32;
        let (a, b) = (node(sides[0], word >> 32), node(sides[1], word & 0xffff_ffff));
        let is_edge =
            signatures.may_join(a as usize, b) && neighbors.of(a as usize).binary_search(&b).is_ok();
        if a != b && !is_edge {
            return [a, b];
        }
    }
}

fn list_non_edges(neighbors: &Adjacency) -> Vec<[u32; 2]> {
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

    fn neighbors(num_nodes: usize, pairs: Vec<[u32; 2]>) -> Adjacency {
        Adjacency::new(&build(EdgeList::from_pairs(pairs), num_nodes, &BuildOptions::default()).graph)
    }

    /// How often each pair was drawn, in either order.
    fn counts(neighbors: &Adjacency, epochs: u32) -> Vec<Vec<u32>> {
        let mut sampler = NonEdges::new(neighbors);
        let mut counts = vec![vec![0; neighbors.num_nodes()]; neighbors.num_nodes()];
        for epoch in 0..epochs {
            let partners = sampler.draw(neighbors, Seed(1), epoch);
            assert_eq!(partners.num_pairs(), neighbors.nodes().len());
            for (node, row) in partners.offsets().windows(2).enumerate() {
                let smaller =
                    partners.nodes()[row[0]..row[1]].iter().filter(|&&other| (other as usize) < node);
                smaller.for_each(|&other| counts[node][other as usize] += 1);
            }
        }
        counts
    }

    #[test]
    fn non_edges_are_drawn_uniformly_and_nothing_else() {
        // A path is sparse; a complete graph without two edges is dense; a ring of chords is
        // cut into several blocks, of which the last is smaller.
        let path = neighbors(6, (0..5).map(|k| [k, k + 1]).collect());
        let complete = (0..6_u32).flat_map(|a| (0..a).map(move |b| [a, b]));
        let dense = neighbors(6, complete.filter(|&pair| pair != [1, 0] && pair != [5, 2]).collect());
        let chords = (0..50).flat_map(|k| (1..7).map(move |step| [k, (k + step) % 50])).collect();
        let chords = neighbors(50, chords);
        assert_eq!(NonEdges::new(&chords).pairs.blocks().len(), 4);
        for graph in [path, dense, chords] {
            let counts = counts(&graph, 3000);
            let num_nodes = graph.num_nodes();
            let num_non_edges = num_nodes * (num_nodes - 1) / 2 - graph.num_edges();
            let expected = 3000.0 * graph.nodes().len() as f64 / num_non_edges as f64;
            for (a, counts) in counts.iter().enumerate() {
                for (b, &count) in counts.iter().enumerate() {
                    let allowed = b < a && !graph.of(a).contains(&(b as u32));
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
}
