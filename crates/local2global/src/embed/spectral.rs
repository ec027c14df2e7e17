//! Leading singular vectors of the normalised adjacency, by random projection.
//!
//! ```text
//! N = D^-1/2 (A + I) D^-1/2 ≈ U Σ Vᵀ,    coordinates = U Σ^½
//! ```
//!
//! `N` is symmetric, so its singular vectors are eigenvectors: a random basis of a few
//! more than `dim` columns is multiplied by `N` several times and made orthonormal each
//! time; then `N` is restricted to it and solved exactly. Features are not used.
//!
//! Convention: columns by falling singular value, the sign such that the entry largest
//! in size is positive. A node without edges gets zeros, and so do columns beyond the
//! number of nodes. Basis vectors that vanish, because `N` has too low a rank, too.
//! Cost: `O(power iterations * (edges k + n k²))` for `k = dim + 10` columns.
//!
//! Source: Halko, Martinsson, Tropp, "Finding structure with randomness", SIAM Review
//! 53, 2011.

use std::time::Instant;

use super::memory::PatchSize;
use super::nn::dense::TransposedProduct;
use super::nn::propagation::propagation;
use super::nn::subspace::{OVERSAMPLING, Subspace};
use super::nn::{Matrix, SparseMatrix};
use super::{EmbedError, EmbedTask, Embedder, Embedding, PatchInput, Record, check_finite};
use crate::graph::Graph;

/// Embeds by singular vectors.
#[derive(Clone, Copy, Debug)]
pub struct Spectral {
    power_iterations: u32,
}

impl Spectral {
    /// With a number of multiplications of the basis.
    pub fn new(power_iterations: u32) -> Self {
        Self { power_iterations }
    }
}

impl Embedder for Spectral {
    fn embed(&self, patch: &PatchInput<'_>, task: &EmbedTask<'_>) -> Result<Embedding, EmbedError> {
        let &EmbedTask { dim, seed, progress, .. } = task;
        let start = Instant::now();
        let num_nodes = patch.graph.num_nodes();
        let matrix = Normalised::new(patch.graph);
        let mut subspace = Subspace::new(num_nodes, (dim + OVERSAMPLING).min(num_nodes), seed);
        for _ in 0..self.power_iterations.max(1) {
            if progress.is_cancelled() {
                return Err(EmbedError::Cancelled { done: 0, total: 1 });
            }
            subspace.step(|basis, product| matrix.multiply(basis, product));
        }
        let pairs = subspace.eigenpairs(|basis, product| matrix.multiply(basis, product));
        let coordinates = pairs.scaled(dim, f64::sqrt);
        check_finite(patch, &coordinates)?;
        progress.advance(1);
        let record = Record { seconds: start.elapsed().as_secs_f64(), ..Record::default() };
        Ok(Embedding { coordinates, record, encoder: None })
    }

    fn memory_bytes(&self, size: &PatchSize, dim: usize) -> u64 {
        let (nodes, edges) = (size.num_nodes as u64, size.num_edges as u64);
        let width = ((dim + OVERSAMPLING) as u64).min(nodes);
        let partial = TransposedProduct::<f64>::num_partial(size.num_nodes) as u64;
        let matrix = 16 * nodes + 4 * edges + 12 * (nodes + edges);
        let basis = 2 * 8 * nodes * width + (partial + 6) * 8 * width * width;
        size.graph_bytes() + matrix + basis + size.coordinate_bytes(dim)
    }
}

/// The matrix `N`, without the loops of nodes that have no edges.
struct Normalised {
    matrix: SparseMatrix<f64>,
    has_edges: Vec<bool>,
}

impl Normalised {
    fn new(graph: &Graph) -> Self {
        let (neighbors, matrix) = propagation(graph);
        let has_edges = (0..graph.num_nodes()).map(|node| !neighbors.of(node).is_empty()).collect();
        Self { matrix, has_edges }
    }

    /// Computes `product = N basis`; the rows of nodes without edges vanish.
    fn multiply(&self, basis: &Matrix<f64>, product: &mut Matrix<f64>) {
        self.matrix.multiply_then(basis, product, |row, sums| {
            if !self.has_edges[row] {
                sums.fill(0.0);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};
    use crate::seed::Seed;

    fn embed(edges: Vec<[u32; 2]>, num_nodes: usize, dim: usize) -> Matrix<f32> {
        let graph = build(EdgeList::from_pairs(edges), num_nodes, &BuildOptions::default()).graph;
        let nodes: Vec<_> = graph.nodes().collect();
        let patch = PatchInput {
            name: "patch-00000",
            graph: &graph,
            nodes: &nodes,
            rows: &nodes,
            whole: &graph,
            folder: std::path::Path::new("unused"),
            seed: Seed(1),
        };
        Spectral::new(20).embed(&patch, &EmbedTask::silent(dim, Seed(1))).unwrap().coordinates
    }

    #[test]
    fn full_rank_coordinates_give_the_matrix_back() {
        // The path of three has eigenvalues 1, 1/2 and -1/6; its product with itself is |N|.
        let coordinates = embed(vec![[0, 1], [1, 2]], 3, 3);
        let squares: f32 = coordinates.values().iter().map(|x| x * x).sum();
        assert!((squares - (1.0 + 0.5 + 1.0 / 6.0)).abs() < 1e-6);
        for (column, expected) in [1.0, 0.5, 1.0 / 6.0].into_iter().enumerate() {
            let value: f32 = (0..3).map(|row| coordinates.row(row)[column].powi(2)).sum();
            assert!((value - expected).abs() < 1e-6, "value {column} is {value}");
        }
    }

    #[test]
    fn two_parts_are_told_apart_by_the_second_column() {
        let triangles = vec![[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5], [2, 3]];
        let coordinates = embed(triangles, 7, 2);
        let side = |row: usize| coordinates.row(row)[1] > 0.0;
        assert!(side(0) == side(1) && side(4) == side(5) && side(0) != side(5));
        assert_eq!(coordinates.row(6), [0.0, 0.0], "a node alone gets zeros");
    }
}
