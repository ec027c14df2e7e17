//! Steps of a walk from the nodes of a patch, a block of columns at a time.
//!
//! ```text
//! out[i] = (Σ_j A[i, j] nodes[j] + Σ_c A[i, c] clusters[c]) / degree[i]
//! ```
//!
//! where `j` runs over the neighbours in the patch and `c` over the clusters of those outside. A block
//! is [`WIDTH`] columns wide, so its rows are two cache lines, and the block of a patch of a few
//! thousand nodes stays in the cache through all steps.

use rayon::prelude::*;

use super::links::for_each_neighbor;
use crate::embed::nn::Matrix;
use crate::graph::subgraph::Renumbering;
use crate::graph::{Graph, NodeId};
use crate::linalg::lanes::vectorized;

/// Columns of a block.
pub(super) const WIDTH: usize = 32;
/// One row of a block.
pub(super) type Strip = [f32; WIDTH];
/// Rows that one thread does at a time; fewer are not worth another thread.
const ROWS_PER_PIECE: usize = 4096;

/// A matrix in blocks of columns: all rows of the first block, then of the next.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Blocks {
    num_rows: usize,
    strips: Vec<Strip>,
}

impl Blocks {
    pub(super) fn of(matrix: &Matrix<f32>) -> Self {
        let num_rows = matrix.num_rows();
        let num_blocks = matrix.num_columns().div_ceil(WIDTH);
        let mut strips = vec![[0.0; WIDTH]; num_rows * num_blocks];
        for (place, strip) in strips.iter_mut().enumerate() {
            let values = matrix.row(place % num_rows)[place / num_rows * WIDTH..].iter();
            strip.iter_mut().zip(values).for_each(|(entry, &value)| *entry = value);
        }
        Self { num_rows, strips }
    }

    /// The rows of one block.
    pub(super) fn block(&self, index: usize) -> &[Strip] {
        &self.strips[index * self.num_rows..][..self.num_rows]
    }
}

/// Some entries of each row of a sparse matrix.
#[derive(Debug)]
struct Entries {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    /// None if all are 1.
    weights: Option<Vec<f32>>,
}

impl Entries {
    fn new(is_weighted: bool) -> Self {
        Self { offsets: vec![0], columns: Vec::new(), weights: is_weighted.then(Vec::new) }
    }

    fn push(&mut self, column: u32, weight: f32) {
        self.columns.push(column);
        if let Some(weights) = &mut self.weights {
            weights.push(weight);
        }
    }

    fn end_row(&mut self) {
        self.offsets.push(self.columns.len());
    }

    /// Adds the strips that the entries of a row name, by weight.
    #[inline(always)]
    fn add_to(&self, sums: &mut Strip, row: usize, strips: &[Strip]) {
        let entries = self.offsets[row]..self.offsets[row + 1];
        let columns = &self.columns[entries.clone()];
        // Plain loops: what iterators are handed would not be compiled for vector instructions.
        match &self.weights {
            None => {
                for &column in columns {
                    let terms = &strips[column as usize];
                    for lane in 0..WIDTH {
                        sums[lane] += terms[lane];
                    }
                }
            }
            Some(weights) => {
                for (&column, &weight) in columns.iter().zip(&weights[entries]) {
                    let terms = &strips[column as usize];
                    for lane in 0..WIDTH {
                        sums[lane] += weight * terms[lane];
                    }
                }
            }
        }
    }
}

/// The edges of the nodes of a patch.
#[derive(Debug)]
pub(super) struct PatchRows {
    /// To nodes of the patch.
    inside: Entries,
    /// To clusters of nodes outside.
    outside: Entries,
    /// One over the degree of each node; zero for nodes without edges.
    scales: Vec<f32>,
    /// The column that each node is at home in.
    homes: Vec<u32>,
}

impl PatchRows {
    /// The rows of some nodes, ascending, of an undirected graph, with the column that each is at
    /// home in; `hidden` edges do not count.
    pub(super) fn new(
        graph: &Graph,
        nodes: &[NodeId],
        homes: Vec<u32>,
        cluster_of: impl Fn(NodeId) -> u32,
        hidden: impl Fn(NodeId, NodeId) -> bool,
    ) -> Self {
        let numbers = Renumbering::new(nodes, graph.num_nodes());
        let is_weighted = graph.weights().is_some();
        let (mut inside, mut outside) = (Entries::new(is_weighted), Entries::new(is_weighted));
        let mut scales = Vec::with_capacity(nodes.len());
        for &node in nodes {
            let mut degree = 0.0;
            for_each_neighbor(graph, node, |neighbor, weight| {
                if hidden(node, neighbor) {
                    return;
                }
                degree += f64::from(weight);
                match numbers.get(neighbor) {
                    Some(number) => inside.push(number, weight),
                    None => outside.push(cluster_of(neighbor), weight),
                }
            });
            inside.end_row();
            outside.end_row();
            scales.push(if degree > 0.0 { (1.0 / degree) as f32 } else { 0.0 });
        }
        Self { inside, outside, scales, homes }
    }

    /// The clusters that edges out of the patch lead to, ascending.
    pub(super) fn clusters_outside(&self) -> Vec<u32> {
        let mut clusters = self.outside.columns.clone();
        clusters.sort_unstable();
        clusters.dedup();
        clusters
    }

    fn num_nodes(&self) -> usize {
        self.scales.len()
    }

    /// The column that each node is at home in.
    pub(super) fn homes(&self) -> &[u32] {
        &self.homes
    }

    /// Sums walks of 1 to `window` steps to the columns of a block into the strips `now`:
    /// `Σ_{r=1..window} Q_r`. `outside` gives, for a step, the sums of walks from all clusters.
    pub(super) fn walk<'a>(
        &self,
        window: usize,
        block: usize,
        strips: &mut Strips,
        outside: impl Fn(usize) -> &'a [Strip],
    ) {
        for (row, strip) in strips.now.iter_mut().enumerate() {
            *strip = [0.0; WIDTH];
            self.add_home(row, block, strip);
        }
        for step in 0..window {
            let is_last = step + 1 == window;
            self.step(&strips.now, outside(step), &mut strips.next, (!is_last).then_some(block));
            std::mem::swap(&mut strips.now, &mut strips.next);
        }
    }

    /// Adds 1 to the column that a node is at home in, if it is in the block.
    #[inline(always)]
    fn add_home(&self, row: usize, block: usize, strip: &mut Strip) {
        let home = self.homes[row] as usize;
        if home / WIDTH == block {
            strip[home % WIDTH] += 1.0;
        }
    }

    /// Computes one step for a block of columns, and adds the homes in `home_block`, if given.
    fn step(&self, nodes: &[Strip], clusters: &[Strip], out: &mut [Strip], home_block: Option<usize>) {
        let piece = |first: usize, out: &mut [Strip]| {
            vectorized(
                #[inline(always)]
                || self.step_piece(nodes, clusters, first, out, home_block),
            );
        };
        if self.num_nodes() <= ROWS_PER_PIECE {
            return piece(0, out);
        }
        let pieces = out.par_chunks_mut(ROWS_PER_PIECE).enumerate();
        pieces.for_each(|(index, out)| piece(index * ROWS_PER_PIECE, out));
    }

    #[inline(always)]
    fn step_piece(
        &self,
        nodes: &[Strip],
        clusters: &[Strip],
        first: usize,
        out: &mut [Strip],
        home_block: Option<usize>,
    ) {
        for (row, out) in (first..).zip(out) {
            let mut sums = [0.0; WIDTH];
            self.inside.add_to(&mut sums, row, nodes);
            self.outside.add_to(&mut sums, row, clusters);
            let scale = self.scales[row];
            for lane in 0..WIDTH {
                out[lane] = scale * sums[lane];
            }
            if let Some(block) = home_block {
                self.add_home(row, block, out);
            }
        }
    }
}

/// A block of columns before and after a step, a row for each node of a patch.
#[derive(Debug)]
pub(super) struct Strips {
    pub(super) now: Vec<Strip>,
    next: Vec<Strip>,
}

impl Strips {
    pub(super) fn new(num_nodes: usize) -> Self {
        let strips = vec![[0.0; WIDTH]; num_nodes];
        Self { now: strips.clone(), next: strips }
    }
}
