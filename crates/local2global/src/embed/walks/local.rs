//! Coordinates of a patch that is sent nothing: eigenvectors of its own log matrix.
//!
//! ```text
//! M = log max(1, vol / (b T) · Σ_{r=1..T} P^r D^-1) ≈ V L Vᵀ,    X = V |L|^1/2
//! ```
//!
//! with the degrees `D` and steps `P` inside the patch. Where the patches come out is up to
//! alignment. `M` has a row and a column for each node; patches of more than [`MOST_NODES`] nodes
//! make a frame of their own instead, with clusters for columns, as if they were the whole graph.
//!
//! Cost: `O(T n m + n² d)` time and `4 n²` bytes.

use super::chain::chance_scales;
use super::factor::{EXACT_RATIO, mixed, scaled_eigenvectors, take_logs};
use super::rows::{PatchRows, Strips, WIDTH};
use super::{WalkFrame, WalkSettings, check_cancelled, fine_clusters, usual_clusters, walk_coordinates};
use crate::embed::EmbedError;
use crate::embed::memory::PatchSize;
use crate::embed::nn::Matrix;
use crate::graph::{Graph, NodeId};
use crate::linalg::lanes::vectorized;
use crate::partition::undirected;
use crate::progress::Progress;
use crate::seed::Seed;

/// The most nodes for which the whole matrix is made.
const MOST_NODES: usize = 8192;

/// The coordinates of all nodes of a graph, by the graph alone; direction is ignored.
///
/// # Errors
/// [`EmbedError::Cancelled`] if somebody asks to stop; [`EmbedError::Setting`] if the window is
/// zero or the shift not positive.
pub fn local_walk_coordinates(
    graph: &Graph,
    settings: &WalkSettings,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Matrix<f32>, EmbedError> {
    settings.check()?;
    let graph = &*undirected(graph);
    let nodes: Vec<NodeId> = graph.nodes().collect();
    if nodes.len() > MOST_NODES {
        let clusters = fine_clusters(graph, None, usual_clusters(nodes.len()), seed, progress)?;
        let frame = WalkFrame::new(graph, &clusters, settings, seed, progress)?;
        return walk_coordinates(graph, &nodes, &frame, progress);
    }
    let logs = log_matrix(graph, &nodes, settings, progress)?;
    Ok(mixed(&scaled_eigenvectors(&logs, settings.dim, 0.5, seed, progress)?, seed))
}

/// About how many bytes [`local_walk_coordinates`] needs for a patch, its result included, without
/// the graph.
pub fn local_memory_bytes(size: &PatchSize, dim: usize) -> u64 {
    let (nodes, dim) = (size.num_nodes as u64, dim as u64);
    if size.num_nodes > MOST_NODES {
        let clusters = usual_clusters(size.num_nodes);
        let frame = WalkFrame::memory_bytes(size.num_nodes, clusters, &WalkSettings::new(10, dim as usize));
        return frame + super::walk_memory_bytes(size, clusters, dim as usize);
    }
    let rows = 20 * nodes + 8 * size.num_edges as u64;
    let basis = (2 * 8 + 3 * 4) * nodes * (dim + 10) + 4 * nodes * dim;
    // Small matrices are solved exactly, in double precision.
    let is_exact = nodes <= EXACT_RATIO as u64 * (dim + 10);
    let exact = if is_exact { 3 * 8 * nodes * nodes } else { 0 };
    4 * nodes * nodes + rows + 8 * nodes * WIDTH as u64 + basis + exact
}

/// The log matrix of a graph, a block of columns at a time.
fn log_matrix(
    graph: &Graph,
    nodes: &[NodeId],
    settings: &WalkSettings,
    progress: &dyn Progress,
) -> Result<Matrix<f32>, EmbedError> {
    let rows = PatchRows::new(graph, nodes, (0..nodes.len() as u32).collect(), |_| 0, |_, _| false);
    let degree = |&node: &NodeId| match graph.neighbor_weights(node) {
        None => graph.degree(node) as f64,
        Some(weights) => weights.iter().copied().map(f64::from).sum(),
    };
    let degrees: Vec<f64> = nodes.iter().map(degree).collect();
    let scales = chance_scales(&degrees, settings.window, settings.shift);
    let mut strips = Strips::new(nodes.len());
    let mut logs = Matrix::zeros(nodes.len(), nodes.len());
    for (block, scales) in scales.chunks(WIDTH).enumerate() {
        check_cancelled(progress)?;
        rows.walk(settings.window, block, &mut strips, |_| &[]);
        let (first, width) = (block * WIDTH, scales.len());
        vectorized(
            #[inline(always)]
            || {
                for (row, strip) in strips.now.iter_mut().enumerate() {
                    take_logs(&mut strip[..width], scales);
                    logs.row_mut(row)[first..][..width].copy_from_slice(&strip[..width]);
                }
            },
        );
    }
    Ok(logs)
}
