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

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Mat, Par};

use super::memory::PatchSize;
use super::nn::dense::{self, TransposedProduct};
use super::nn::noise::fill_normal;
use super::nn::propagation::propagation;
use super::nn::{Matrix, SparseMatrix};
use super::{EmbedError, Embedder, Embedding, Patch, Record, check_finite};
use crate::graph::Graph;
use crate::progress::Progress;
use crate::seed::Seed;

/// Columns of the basis beyond those that are wanted.
const OVERSAMPLING: usize = 10;
/// Directions that are shorter than this, relative to the longest, are left out.
const RANK_TOLERANCE: f64 = 1e-12;

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
    fn embed(
        &self,
        patch: &Patch<'_>,
        dim: usize,
        _: u32,
        seed: Seed,
        progress: &dyn Progress,
    ) -> Result<Embedding, EmbedError> {
        let start = Instant::now();
        let num_nodes = patch.graph.num_nodes();
        let mut subspace = Subspace::new(patch.graph, (dim + OVERSAMPLING).min(num_nodes), seed);
        for _ in 0..self.power_iterations.max(1) {
            if progress.is_cancelled() {
                return Err(EmbedError::Cancelled { done: 0, total: 1 });
            }
            subspace.multiply();
            subspace.orthonormalise();
        }
        let coordinates = subspace.coordinates(dim);
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

/// A basis that turns towards the leading singular vectors of a matrix.
struct Subspace {
    matrix: SparseMatrix<f64>,
    has_edges: Vec<bool>,
    basis: Matrix<f64>,
    product: Matrix<f64>,
    gram: TransposedProduct<f64>,
}

impl Subspace {
    fn new(graph: &Graph, width: usize, seed: Seed) -> Self {
        let (neighbors, matrix) = propagation(graph);
        let num_nodes = graph.num_nodes();
        let mut basis = Matrix::zeros(num_nodes, width);
        fill_normal(basis.values_mut(), seed, 0);
        Self {
            matrix,
            has_edges: (0..num_nodes).map(|node| !neighbors.of(node).is_empty()).collect(),
            basis,
            product: Matrix::zeros(num_nodes, width),
            gram: TransposedProduct::new(num_nodes, (width, width)),
        }
    }

    /// Computes `product = N basis`; the rows of nodes without edges vanish.
    fn multiply(&mut self) {
        let has_edges = &self.has_edges;
        self.matrix.multiply_then(&self.basis, &mut self.product, |row, sums| {
            if !has_edges[row] {
                sums.fill(0.0);
            }
        });
    }

    /// Makes the columns of `product` orthonormal, and the new basis: with
    /// `productᵀ product = W Λ Wᵀ`, the new basis is `product W Λ^-½`. Twice, since the
    /// first time loses digits where columns are nearly parallel.
    fn orthonormalise(&mut self) {
        for _ in 0..2 {
            let width = self.product.num_columns();
            let mut gram = Matrix::zeros(width, width);
            self.gram.multiply(&self.product, &self.product, &mut gram);
            let (values, mut vectors) = eigenvectors(&gram);
            let longest = values.iter().copied().fold(0.0, f64::max);
            for (k, &value) in values.iter().enumerate() {
                let scale = if value > RANK_TOLERANCE * longest { 1.0 / value.sqrt() } else { 0.0 };
                (0..width).for_each(|row| vectors.row_mut(row)[k] *= scale);
            }
            dense::multiply(&self.product, &vectors, &mut self.basis);
            std::mem::swap(&mut self.product, &mut self.basis);
        }
        std::mem::swap(&mut self.product, &mut self.basis);
    }

    /// The leading vectors within the basis, scaled by the root of their value.
    fn coordinates(&mut self, dim: usize) -> Matrix<f32> {
        self.multiply();
        let (num_nodes, width) = (self.basis.num_rows(), self.basis.num_columns());
        let mut restricted = Matrix::zeros(width, width);
        self.gram.multiply(&self.basis, &self.product, &mut restricted);
        let (values, vectors) = eigenvectors(&restricted);
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by(|&a, &b| values[b].abs().total_cmp(&values[a].abs()).then(a.cmp(&b)));
        order.truncate(dim);
        dense::multiply(&self.basis, &vectors, &mut self.product);
        let mut coordinates = Matrix::zeros(num_nodes, dim);
        for (column, &k) in order.iter().enumerate() {
            let entry = |row: usize| self.product.row(row)[k];
            let largest = (0..num_nodes)
                .map(entry)
                .fold(0.0_f64, |largest, value| if value.abs() > largest.abs() { value } else { largest });
            let scale = values[k].abs().sqrt() * if largest < 0.0 { -1.0 } else { 1.0 };
            (0..num_nodes).for_each(|row| coordinates.row_mut(row)[column] = (entry(row) * scale) as f32);
        }
        coordinates
    }
}

/// The eigenvalues of a symmetric matrix, ascending, and its eigenvectors as columns;
/// on one thread, so that the bytes do not depend on their number.
fn eigenvectors(matrix: &Matrix<f64>) -> (Vec<f64>, Matrix<f64>) {
    let width = matrix.num_columns();
    let mut values = faer::Col::zeros(width);
    let mut vectors = Mat::zeros(width, width);
    let scratch =
        self_adjoint_evd_scratch::<f64>(width, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    self_adjoint_evd(
        matrix.as_faer(),
        values.as_diagonal_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .expect("a finite symmetric matrix has eigenvectors");
    let rows = (0..width).flat_map(|row| (0..width).map(move |column| (row, column)));
    let vectors = rows.map(|(row, column)| vectors[(row, column)]).collect();
    (values.iter().copied().collect(), Matrix::from_values(width, width, vectors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};
    use crate::progress::Silent;

    fn embed(edges: Vec<[u32; 2]>, num_nodes: usize, dim: usize) -> Matrix<f32> {
        let graph = build(EdgeList::from_pairs(edges), num_nodes, &BuildOptions::default()).graph;
        let nodes: Vec<_> = graph.nodes().collect();
        let patch = Patch { name: "patch-00000", graph: &graph, nodes: &nodes, whole: &graph, seed: Seed(1) };
        Spectral::new(20).embed(&patch, dim, 0, Seed(1), &Silent).unwrap().coordinates
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
