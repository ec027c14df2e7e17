//! Edges hidden at random, for training on what cannot be seen.
//!
//! Every epoch hides a share of the edges. Values are propagated over the edges that are left,
//! and the hidden ones are what the coordinates must predict.
//!
//! ```text
//! V = visible edges,    P = D^-1/2 (V + I) D^-1/2,    D = row sums of V + I
//! ```
//!
//! Whether an edge is hidden is decided by mixing its two nodes with a number drawn for the
//! epoch, lower node first: both rows of an edge come to the same answer without looking at each
//! other, so `P` is symmetric, and any thread can fill any row. Each edge is hidden by itself,
//! so the number of hidden edges varies a little around the share.
//!
//! Convention: rows are filled in the order of the neighbours, into the same memory every time.
//! Cost of an epoch: `O(nodes + edges)`.
//!
//! Source: Tan et al., "S2GAE: self-supervised graph autoencoders are generalizable learners
//! with graph masking", WSDM 2023; the mixing is that of Steele, Lea, Flood, "Fast splittable
//! pseudorandom number generators", OOPSLA 2014.

use crate::linalg::real::Real;
use rand::Rng;
use rayon::prelude::*;

use super::SparseMatrix;
use super::kernel::{for_blocks_of_two, rows_per_block};
use super::noise::{Purpose, stream_index};
use super::propagation::Adjacency;
use crate::seed::{Seed, Stage};

/// Tells which edges are hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask {
    key: u64,
    /// An edge is hidden if its number of 53 bits is below.
    limit: u64,
}

impl Mask {
    /// The mask of one epoch that hides a share of the edges.
    pub fn new(share: f64, purpose: Purpose, seed: Seed, epoch: u32) -> Self {
        let key = seed.stream(Stage::Embed, stream_index(purpose, epoch, 0)).next_u64();
        Self { key, limit: (share * (1_u64 << 53) as f64) as u64 }
    }

    /// Whether the edge between two nodes is hidden; their order does not matter.
    #[inline(always)]
    pub fn hides(self, a: u32, b: u32) -> bool {
        let pair = u64::from(a.min(b)) << 32 | u64::from(a.max(b));
        mix(mix(pair ^ self.key).wrapping_add(self.key)) >> 11 < self.limit
    }
}

#[cfg(test)]
impl Mask {
    /// The mask of the fixture `masked_step.npz`.
    pub(crate) fn of_fixture() -> Self {
        Self { key: 0x1234_5678_9abc_def0, limit: ((1_u64 << 53) as f64 / 3.0) as u64 }
    }
}

/// Turns a number into one that looks random, and distinct numbers into distinct ones.
#[inline(always)]
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// A graph of which some edges are hidden, others in every epoch.
#[derive(Clone, Debug)]
pub struct Masked<F> {
    share: f64,
    /// Of each node: 1, and the weights of its visible edges.
    degrees: Vec<f64>,
    /// `1 / sqrt(degree)` of each node.
    scales: Vec<f64>,
    visible: SparseMatrix<F>,
    hidden: Adjacency,
}

impl<F: Real> Masked<F> {
    /// Prepares to hide a share of the edges; nothing is visible or hidden before
    /// [`Masked::draw`].
    ///
    /// # Panics
    /// If the share is not between 0 and 1.
    pub fn new(neighbors: &Adjacency, share: f64) -> Self {
        assert!((0.0..=1.0).contains(&share), "a share is between 0 and 1");
        let (num_nodes, num_entries) = (neighbors.num_nodes(), neighbors.nodes().len());
        let room = |share: f64| {
            let deviation = (2.0 * num_entries as f64 * share * (1.0 - share)).sqrt();
            ((num_entries as f64 * share + 6.0 * deviation) as usize).min(num_entries)
        };
        let visible = num_nodes + room(1.0 - share);
        let (columns, values) = (Vec::with_capacity(visible), Vec::with_capacity(visible));
        Self {
            share,
            degrees: vec![1.0; num_nodes],
            scales: vec![1.0; num_nodes],
            visible: SparseMatrix::new(num_nodes, vec![0; num_nodes + 1], columns, values),
            hidden: Adjacency { offsets: vec![0; num_nodes + 1], nodes: Vec::with_capacity(room(share)) },
        }
    }

    /// Hides the edges of one epoch.
    ///
    /// `weights` are those of the entries of [`Adjacency::nodes`], all 1 if there are none.
    ///
    /// # Panics
    /// If this was made for another number of nodes, or the weights do not fit.
    pub fn draw(&mut self, neighbors: &Adjacency, weights: Option<&[f32]>, seed: Seed, epoch: u32) {
        self.hide(neighbors, weights, Mask::new(self.share, Purpose::Hidden, seed, epoch));
    }

    /// Hides the edges that a mask says.
    pub(crate) fn hide(&mut self, neighbors: &Adjacency, weights: Option<&[f32]>, mask: Mask) {
        let num_nodes = neighbors.num_nodes();
        assert_eq!(num_nodes, self.degrees.len(), "the same nodes in every epoch");
        assert!(weights.is_none_or(|all| all.len() == neighbors.nodes().len()), "one weight per entry");
        let Self { degrees, scales, visible, hidden, .. } = self;
        let rows_per_task = rows_per_block(num_nodes, neighbors.nodes().len() / num_nodes.max(1) + 1);
        let rows = MaskedRows { neighbors, weights, mask };
        visible.refill(|offsets, columns, values| {
            rows.count(rows_per_task, offsets, &mut hidden.offsets, degrees);
            scales.iter_mut().zip(&*degrees).for_each(|(scale, degree)| *scale = 1.0 / degree.sqrt());
            columns.resize(offsets[num_nodes], 0);
            values.resize(offsets[num_nodes], F::ZERO);
            hidden.nodes.resize(hidden.offsets[num_nodes], 0);
            let firsts = (0..num_nodes).step_by(rows_per_task);
            let columns = cut(columns, offsets, rows_per_task);
            let values = cut(values, offsets, rows_per_task);
            let hidden = cut(&mut hidden.nodes, &hidden.offsets, rows_per_task);
            let tasks: Vec<_> = firsts.zip(columns.zip(values).zip(hidden)).collect();
            tasks.into_par_iter().for_each(|(first, ((columns, values), hidden))| {
                let nodes = first..(first + rows_per_task).min(num_nodes);
                rows.fill(nodes, scales, (columns, values), hidden);
            });
        });
    }

    /// The matrix `P` of the visible edges.
    pub fn propagation(&self) -> &SparseMatrix<F> {
        &self.visible
    }

    /// The hidden edges: both directions, each once.
    pub fn hidden(&self) -> &Adjacency {
        &self.hidden
    }

    /// The weight of the visible edges of each node, and 1: the row sums of `V + I`.
    pub fn degrees(&self) -> &[f64] {
        &self.degrees
    }
}

/// Cuts entries into the pieces that blocks of rows have.
fn cut<'a, T>(
    mut entries: &'a mut [T],
    offsets: &'a [usize],
    rows_per_task: usize,
) -> impl Iterator<Item = &'a mut [T]> {
    let num_rows = offsets.len() - 1;
    (0..num_rows).step_by(rows_per_task).map(move |first| {
        let last = (first + rows_per_task).min(num_rows);
        let (piece, rest) = std::mem::take(&mut entries).split_at_mut(offsets[last] - offsets[first]);
        entries = rest;
        piece
    })
}

/// What rows are filled from.
#[derive(Clone, Copy)]
struct MaskedRows<'a> {
    neighbors: &'a Adjacency,
    weights: Option<&'a [f32]>,
    mask: Mask,
}

impl MaskedRows<'_> {
    /// The entries of a row: the other node, the weight, whether it is hidden.
    fn of(self, node: usize) -> impl Iterator<Item = (u32, f64, bool)> {
        let Self { neighbors, weights, mask } = self;
        let entries = neighbors.offsets[node]..neighbors.offsets[node + 1];
        entries.map(move |k| {
            let other = neighbors.nodes[k];
            let weight = weights.map_or(1.0, |weights| f64::from(weights[k]));
            (other, weight, mask.hides(node as u32, other))
        })
    }

    /// Where rows begin when they have been filled, and the degrees of the nodes.
    fn count(self, rows_per_task: usize, visible: &mut [usize], hidden: &mut [usize], degrees: &mut [f64]) {
        let counts = (&mut visible[1..], 1);
        for_blocks_of_two(counts, (&mut *degrees, 1), rows_per_task, |first, counts, degrees| {
            for (node, (count, degree)) in (first..).zip(counts.iter_mut().zip(degrees)) {
                (*count, *degree) = (1, 1.0);
                for (_, weight, _) in self.of(node).filter(|&(_, _, is_hidden)| !is_hidden) {
                    *count += 1;
                    *degree += weight;
                }
            }
        });
        for node in 0..degrees.len() {
            // The entry of the node itself is in no row of neighbours.
            let num_hidden = self.neighbors.of(node).len() + 1 - visible[node + 1];
            hidden[node + 1] = hidden[node] + num_hidden;
            visible[node + 1] += visible[node];
        }
    }

    /// Fills the rows of some nodes; each slice is just as long as they are together.
    fn fill<F: Real>(
        self,
        nodes: std::ops::Range<usize>,
        scales: &[f64],
        (columns, values): (&mut [u32], &mut [F]),
        hidden: &mut [u32],
    ) {
        let mut visible = columns.iter_mut().zip(values);
        let mut hidden = hidden.iter_mut();
        for node in nodes {
            let mut show = |other: u32, weight: f64| {
                let (column, value) = visible.next().expect("visible entries were counted");
                *column = other;
                *value = F::of(weight * scales[node] * scales[other as usize]);
            };
            let mut own_is_due = true;
            for (other, weight, is_hidden) in self.of(node) {
                if own_is_due && other as usize > node {
                    show(node as u32, 1.0);
                    own_is_due = false;
                }
                match is_hidden {
                    true => *hidden.next().expect("hidden entries were counted") = other,
                    false => show(other, weight),
                }
            }
            if own_is_due {
                show(node as u32, 1.0);
            }
        }
    }
}

/// Edges in two parts: what a mask leaves, and what it hides.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeSplit {
    /// The edges that are left.
    pub kept: Adjacency,
    /// The weights of their entries, if there are weights.
    pub kept_weights: Option<Vec<f32>>,
    /// The edges that are hidden, each once, lower node first.
    pub held_out: Vec<[u32; 2]>,
}

impl EdgeSplit {
    /// Divides edges by a mask.
    pub fn new(neighbors: &Adjacency, weights: Option<&[f32]>, mask: Mask) -> Self {
        let mut kept = Adjacency { offsets: vec![0], nodes: Vec::with_capacity(neighbors.nodes.len()) };
        let mut kept_weights = weights.map(|weights| Vec::with_capacity(weights.len()));
        let mut held_out = Vec::new();
        for node in 0..neighbors.num_nodes() {
            for k in neighbors.offsets[node]..neighbors.offsets[node + 1] {
                let other = neighbors.nodes[k];
                if mask.hides(node as u32, other) {
                    held_out.extend((other as usize > node).then_some([node as u32, other]));
                    continue;
                }
                kept.nodes.push(other);
                if let (Some(kept), Some(weights)) = (&mut kept_weights, weights) {
                    kept.push(weights[k]);
                }
            }
            kept.offsets.push(kept.nodes.len());
        }
        Self { kept, kept_weights, held_out }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::super::propagation::matrix_between;
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, Graph, build};

    fn graph(num_nodes: u32, num_edges: usize) -> Graph {
        let mut random = Seed(5).stream(Stage::Generate, 0);
        let mut node = || random.random_range(0..num_nodes);
        let pairs = (0..num_edges).map(|_| [node(), node()]).collect();
        build(EdgeList::from_pairs(pairs), num_nodes as usize, &BuildOptions::default()).graph
    }

    /// A graph of some size, and the same with a weight for each edge.
    fn settings() -> [(Adjacency, Option<Vec<f32>>); 2] {
        let neighbors = Adjacency::new(&graph(500, 3000));
        let rows = (0..500).flat_map(|a| neighbors.of(a).iter().map(move |&b| (a as u32, b)));
        let weights = rows.map(|(a, b)| 0.5 + (a.min(b) * 7 % 5 + a.max(b) % 3) as f32).collect();
        [(neighbors.clone(), None), (neighbors, Some(weights))]
    }

    #[test]
    fn every_edge_is_visible_or_hidden_and_the_matrix_is_that_of_the_visible_ones() {
        for (neighbors, weights) in settings() {
            let weights = weights.as_deref();
            let mut masked = Masked::<f64>::new(&neighbors, 0.3);
            for epoch in 1..4 {
                masked.draw(&neighbors, weights, Seed(1), epoch);
                let split =
                    EdgeSplit::new(&neighbors, weights, Mask::new(0.3, Purpose::Hidden, Seed(1), epoch));
                let expected = matrix_between(&split.kept, split.kept_weights.as_deref());
                assert_eq!(masked.propagation(), &expected);
                let hidden = masked.hidden();
                assert_eq!(hidden.num_edges() + split.kept.num_edges(), neighbors.num_edges());
                assert_eq!(hidden.num_edges(), split.held_out.len());
                for &[a, b] in &split.held_out {
                    assert!(hidden.of(a as usize).contains(&b) && hidden.of(b as usize).contains(&a));
                }
            }
        }
    }

    #[test]
    fn the_share_is_kept_and_epochs_and_seeds_differ() {
        let neighbors = Adjacency::new(&graph(500, 5000));
        let num_edges = neighbors.num_edges() as f64;
        let mut times_hidden = vec![0; neighbors.nodes().len()];
        for epoch in 0..200 {
            let mask = Mask::new(0.5, Purpose::Hidden, Seed(3), epoch);
            let rows = (0..500).flat_map(|a| neighbors.of(a).iter().map(move |&b| (a as u32, b)));
            rows.zip(&mut times_hidden).for_each(|((a, b), times)| *times += u32::from(mask.hides(a, b)));
        }
        let mean = f64::from(times_hidden.iter().sum::<u32>()) / (2.0 * num_edges * 200.0);
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
        // Each edge is hidden about every second time: 100 of 200, deviation 7.
        assert!(times_hidden.iter().all(|times| (60..140).contains(times)));
        let hides = |seed, epoch| Mask::new(0.5, Purpose::Hidden, Seed(seed), epoch).hides(3, 4);
        let answers: Vec<bool> = (0..20).map(|epoch| hides(1, epoch)).collect();
        assert_ne!(answers, (0..20).map(|epoch| hides(2, epoch)).collect::<Vec<_>>());
    }

    #[test]
    fn threads_do_not_change_the_rows() {
        let neighbors = Adjacency::new(&graph(5000, 40_000));
        let on = |num_threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap();
            let mut masked = Masked::<f32>::new(&neighbors, 0.5);
            pool.install(|| masked.draw(&neighbors, None, Seed(1), 1));
            (masked.visible, masked.hidden, masked.degrees)
        };
        assert!([2, 3, 8].into_iter().all(|num_threads| on(num_threads) == on(1)));
    }

    #[test]
    fn all_or_nothing_can_be_hidden_and_a_graph_may_have_no_edges() {
        let neighbors = Adjacency::new(&graph(50, 100));
        for share in [0.0, 1.0] {
            let mut masked = Masked::<f64>::new(&neighbors, share);
            masked.draw(&neighbors, None, Seed(1), 1);
            assert_eq!(masked.hidden().num_edges() as f64, share * neighbors.num_edges() as f64);
        }
        let empty = Adjacency::new(&graph(3, 0));
        let mut masked = Masked::<f64>::new(&empty, 0.5);
        masked.draw(&empty, None, Seed(1), 1);
        assert_eq!(masked.propagation().row(2), (&[2][..], &[1.0][..]));
    }
}
