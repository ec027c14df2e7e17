//! Coordinates of the nodes of one patch, in the frame of all.
//!
//! With `P_in` the probabilities of steps within the patch and `P_out` those of steps to the
//! clusters of neighbours outside, both by degrees in the whole graph, and `S` the clusters of
//! the nodes, walks that go on outside as the frame says are
//!
//! ```text
//! Q_0 = S,    Q_{r+1} = P_in Q_r + P_out P^r,    X = log max(1, vol / (b T) · Σ_{r=1..T} Q_r D_C^-1) H
//! ```
//!
//! The sum is made without its terms, from the sums `W_t = P^0 + .. + P^t` of the frame:
//!
//! ```text
//! Z_0 = S,    Z_{t+1} = S + P_in Z_t + P_out W_t,    Σ_{r=1..T} Q_r = P_in Z_{T-1} + P_out W_{T-1}
//! ```
//!
//! Columns are independent of each other, so they are done in blocks that fit the cache. A
//! column that no node of the patch is at home in is at most the largest `W_{T-1}` of the
//! clusters outside; blocks where that is no more than chance are all zeros and left out.
//!
//! Cost: `2 K T` operations an entry in the rows of the patch and `2 K d` a node; memory for a
//! few blocks of columns, never nodes x clusters at once. No randomness.

use super::factor::take_logs;
use super::rows::{PatchRows, Strip, Strips, WIDTH};
use super::{WalkFrame, check_cancelled};
use crate::embed::EmbedError;
use crate::embed::memory::PatchSize;
use crate::embed::nn::{Matrix, dense};
use crate::graph::{Graph, NodeId};
use crate::linalg::lanes::vectorized;
use crate::linalg::real::Real;
use crate::progress::Progress;

/// As many blocks are multiplied with the factor at a time as have this many values.
const PANEL_VALUES: usize = 1 << 20;
/// The most blocks that are multiplied with the factor at a time.
const MOST_BLOCKS: usize = 8;

/// The coordinates of some nodes of a graph, ascending; one row for each.
///
/// Only the rows of these nodes are read. All nodes at once are a patch too.
///
/// # Errors
/// [`EmbedError::Cancelled`] if somebody asks to stop.
///
/// # Panics
/// If the graph is directed (make it [undirected](crate::partition) first, once for all patches),
/// is not the one of the frame, or the nodes are not ascending.
pub fn walk_coordinates(
    graph: &Graph,
    nodes: &[NodeId],
    frame: &WalkFrame,
    progress: &dyn Progress,
) -> Result<Matrix<f32>, EmbedError> {
    coordinates_without(graph, nodes, frame, |_, _| false, progress)
}

/// As [`walk_coordinates`], as if `hidden` edges were not there.
pub(super) fn coordinates_without(
    graph: &Graph,
    nodes: &[NodeId],
    frame: &WalkFrame,
    hidden: impl Fn(NodeId, NodeId) -> bool,
    progress: &dyn Progress,
) -> Result<Matrix<f32>, EmbedError> {
    assert!(graph.is_symmetric(), "walks need an undirected graph");
    assert_eq!(graph.num_nodes(), frame.clusters().len(), "every node of the graph has a cluster");
    assert!(nodes.is_sorted_by(|a, b| a < b), "nodes of a patch must be strictly ascending");
    let homes = nodes.iter().map(|&node| frame.cluster_of(node)).collect();
    let rows = PatchRows::new(graph, nodes, homes, |node| frame.cluster_of(node), hidden);
    Walks { frame, rows, scales: frame.scales() }.coordinates(progress)
}

/// About how many bytes [`walk_coordinates`] needs for a patch, its result included, without
/// the graph and the frame.
pub fn walk_memory_bytes(size: &PatchSize, num_clusters: usize, dim: usize) -> u64 {
    let (nodes, clusters) = (size.num_nodes as u64, num_clusters as u64);
    let rows = 20 * nodes + 8 * size.num_edges as u64;
    let strips = 2 * 4 * nodes * WIDTH as u64;
    let logs = 4 * nodes * (WIDTH * blocks_per_panel(size.num_nodes)) as u64;
    rows + strips + logs + 20 * nodes + 4 * clusters * dim as u64 + size.coordinate_bytes(dim)
}

/// How many blocks of columns are multiplied with the factor at a time.
fn blocks_per_panel(num_nodes: usize) -> usize {
    (PANEL_VALUES / (num_nodes * WIDTH).max(1)).clamp(1, MOST_BLOCKS)
}

/// The walks from the nodes of one patch.
struct Walks<'a> {
    frame: &'a WalkFrame,
    rows: PatchRows,
    /// `vol / (b T D_C)` of each cluster.
    scales: Vec<f32>,
}

impl Walks<'_> {
    /// The blocks of columns that are not all zeros, ascending.
    fn active_blocks(&self) -> Vec<usize> {
        let num_clusters = self.frame.num_clusters();
        let outside = self.rows.clusters_outside();
        let last = self.frame.sum(self.frame.window() - 1);
        let mut is_home = vec![false; num_clusters.div_ceil(WIDTH)];
        self.rows.homes().iter().for_each(|&home| is_home[home as usize / WIDTH] = true);
        let is_active = |&block: &usize| {
            let bounds = vectorized(
                #[inline(always)]
                || largest(last.block(block), &outside),
            );
            let scales = &self.scales[block * WIDTH..];
            is_home[block] || bounds.iter().zip(scales).any(|(bound, scale)| bound * scale > 1.0)
        };
        (0..is_home.len()).filter(is_active).collect()
    }

    fn coordinates(&self, progress: &dyn Progress) -> Result<Matrix<f32>, EmbedError> {
        let (num_nodes, dim) = (self.rows.homes().len(), self.frame.dim());
        let mut strips = Strips::new(num_nodes);
        let mut coordinates = Matrix::zeros(num_nodes, dim);
        for blocks in self.active_blocks().chunks(blocks_per_panel(num_nodes)) {
            let mut logs = Matrix::zeros(num_nodes, blocks.len() * WIDTH);
            for (place, &block) in blocks.iter().enumerate() {
                check_cancelled(progress)?;
                let outside = |step: usize| self.frame.sum(step).block(block);
                self.rows.walk(self.frame.window(), block, &mut strips, outside);
                self.write_logs(block, &mut strips.now, &mut logs, place * WIDTH);
            }
            dense::multiply_add(&logs, &self.factor_of(blocks), &mut coordinates);
        }
        Ok(coordinates)
    }

    /// The rows of the factor for the columns of some blocks; zeros beyond the last column.
    fn factor_of(&self, blocks: &[usize]) -> Matrix<f32> {
        let mut factor = Matrix::zeros(blocks.len() * WIDTH, self.frame.dim());
        for (place, &block) in blocks.iter().enumerate() {
            for lane in 0..WIDTH.min(self.frame.num_clusters() - block * WIDTH) {
                let row = self.frame.factor().row(block * WIDTH + lane);
                factor.row_mut(place * WIDTH + lane).copy_from_slice(row);
            }
        }
        factor
    }

    /// Writes the logs of the strips of a block into columns of `logs`, from `first` on.
    fn write_logs(&self, block: usize, strips: &mut [Strip], logs: &mut Matrix<f32>, first: usize) {
        let mut scales = [0.0; WIDTH];
        scales.iter_mut().zip(&self.scales[block * WIDTH..]).for_each(|(scale, &given)| *scale = given);
        let width = logs.num_columns();
        vectorized(
            #[inline(always)]
            || {
                for (strip, row) in strips.iter_mut().zip(logs.values_mut().chunks_exact_mut(width)) {
                    take_logs(strip, &scales);
                    row[first..][..WIDTH].copy_from_slice(strip);
                }
            },
        );
    }
}

/// The largest of some strips, lane by lane; zero if there are none.
#[inline(always)]
fn largest(strips: &[Strip], places: &[u32]) -> Strip {
    let mut largest = [0.0; WIDTH];
    for &place in places {
        let strip = &strips[place as usize];
        for lane in 0..WIDTH {
            largest[lane] = Real::max(strip[lane], largest[lane]);
        }
    }
    largest
}
