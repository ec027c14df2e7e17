//! Rows of raw features, each brought to length 1.
//!
//! Features are read where they lie, dense or sparse; only the lengths are kept. A row of
//! zeros stays one, and its cosine with any other is 0.
//! Cost: one pass for the lengths; a product of two rows is linear in what they store.

use rayon::prelude::*;

use crate::graph::features::SparseFeatures;
use crate::graph::sample::Pair;
use crate::graph::{Features, NodeId};
use crate::linalg::dense::{multiply, multiply_add, view, view_mut};
use crate::linalg::lanes::{dot, squared_norm, vectorized};
use crate::linalg::real::Real;

/// The features of a graph as rows of length 1.
#[derive(Clone, Debug)]
pub struct FeatureRows<'a> {
    features: &'a Features,
    inverse_lengths: Vec<f32>,
}

impl<'a> FeatureRows<'a> {
    /// Measures the rows.
    pub fn new(features: &'a Features) -> Self {
        let inverse = |row| match squared_norm(stored(features, NodeId::new(row))).sqrt() {
            length if length > 0.0 => (1.0 / length) as f32,
            _ => 0.0,
        };
        let rows = (0..features.num_rows()).into_par_iter().with_min_len(1024);
        Self { features, inverse_lengths: rows.map(inverse).collect() }
    }

    /// The features themselves.
    pub fn features(&self) -> &'a Features {
        self.features
    }

    /// The number of rows: one per node.
    pub fn num_rows(&self) -> usize {
        self.inverse_lengths.len()
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.features.width()
    }

    /// `X W` for the rows `X` of some nodes and a row-major `W` with `columns` columns.
    pub(super) fn multiply<F: Real>(&self, nodes: &[NodeId], weights: &[F], columns: usize) -> Vec<F> {
        let mut product = vec![F::default(); nodes.len() * columns];
        match self.features {
            Features::Dense(_) => {
                let (rows, width) = (self.dense(nodes), self.width());
                let target = view_mut(&mut product, nodes.len(), columns);
                multiply(target, view(&rows, nodes.len(), width), view(weights, width, columns));
            }
            Features::Sparse(sparse) => vectorized(
                #[inline(always)]
                || {
                    for (&node, target) in nodes.iter().zip(product.chunks_exact_mut(columns)) {
                        for (place, value) in self.entries(sparse, node) {
                            add_scaled(target, value, &weights[place * columns..][..columns]);
                        }
                    }
                },
            ),
        }
        product
    }

    /// `target ← target + Xᵀ R` for the rows `X` of some nodes and a row-major `R`.
    pub(super) fn add_transposed<F: Real>(
        &self,
        nodes: &[NodeId],
        right: &[F],
        columns: usize,
        target: &mut [F],
    ) {
        match self.features {
            Features::Dense(_) => {
                let (rows, width) = (self.dense(nodes), self.width());
                let rows = view(&rows, nodes.len(), width).transpose();
                let right = view(right, nodes.len(), columns);
                multiply_add(view_mut(target, width, columns), rows, right, F::of(1.0));
            }
            Features::Sparse(sparse) => vectorized(
                #[inline(always)]
                || {
                    for (&node, row) in nodes.iter().zip(right.chunks_exact(columns)) {
                        for (place, value) in self.entries(sparse, node) {
                            add_scaled(&mut target[place * columns..][..columns], value, row);
                        }
                    }
                },
            ),
        }
    }

    /// The columns and values of the stored entries of a row.
    #[inline(always)]
    fn entries<F: Real>(&self, sparse: &SparseFeatures, node: NodeId) -> impl Iterator<Item = (usize, F)> {
        let scale = self.inverse_lengths[node.index()];
        let (columns, values) = sparse.row(node);
        let value = move |value: f32| F::of(f64::from(scale * value));
        columns.iter().zip(values).map(move |(&column, &x)| (column as usize, value(x)))
    }

    /// The rows of some nodes, with all their zeros.
    pub(super) fn dense<F: Real>(&self, nodes: &[NodeId]) -> Vec<F> {
        let width = self.width();
        let mut rows = vec![F::default(); nodes.len() * width];
        for (&node, row) in nodes.iter().zip(rows.chunks_exact_mut(width)) {
            let scale = self.inverse_lengths[node.index()];
            let mut put = |column: usize, value: f32| row[column] = F::of(f64::from(scale * value));
            match self.features {
                Features::Dense(dense) => {
                    dense.row(node).iter().enumerate().for_each(|(column, &value)| put(column, value));
                }
                Features::Sparse(sparse) => {
                    let (columns, values) = sparse.row(node);
                    columns.iter().zip(values).for_each(|(&column, &value)| put(column as usize, value));
                }
            }
        }
        rows
    }

    /// The cosines of many pairs, in their order.
    pub fn cosines(&self, pairs: &[Pair]) -> Vec<f64> {
        pairs.par_iter().with_min_len(1024).map(|&pair| self.cosine(pair)).collect()
    }

    fn cosine(&self, [u, v]: Pair) -> f64 {
        let inner = match self.features {
            Features::Dense(dense) => dot(dense.row(u), dense.row(v)),
            Features::Sparse(sparse) => sparse_dot(sparse.row(u), sparse.row(v)),
        };
        let scale = |node: NodeId| f64::from(self.inverse_lengths[node.index()]);
        inner * scale(u) * scale(v)
    }
}

#[inline(always)]
fn add_scaled<F: Real>(target: &mut [F], factor: F, values: &[F]) {
    for (entry, &value) in target.iter_mut().zip(values) {
        *entry += factor * value;
    }
}

/// The values that are stored for a node.
fn stored(features: &Features, node: NodeId) -> &[f32] {
    match features {
        Features::Dense(dense) => dense.row(node),
        Features::Sparse(sparse) => sparse.row(node).1,
    }
}

/// The inner product of two rows with ascending columns.
fn sparse_dot(a: (&[u32], &[f32]), b: (&[u32], &[f32])) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.0.len() && j < b.0.len() {
        let (left, right) = (a.0[i], b.0[j]);
        if left == right {
            sum += f64::from(a.1[i]) * f64::from(b.1[j]);
        }
        i += usize::from(left <= right);
        j += usize::from(right <= left);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::features::{DenseFeatures, SparseFeatures};

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6)
    }

    #[test]
    fn dense_and_sparse_rows_have_the_same_products_and_zero_rows_none() {
        let dense = [3.0, 0.0, 4.0, 0.0, 0.0, 0.0, 4.0, 9.0, 3.0].to_vec();
        let dense = Features::Dense(DenseFeatures::new(3, 3, dense.into()).unwrap());
        let sparse = SparseFeatures::new(
            3,
            vec![0, 2, 2, 5].into(),
            vec![0, 2, 0, 1, 2].into(),
            vec![3.0, 4.0, 4.0, 9.0, 3.0].into(),
        );
        let sparse = Features::Sparse(sparse.unwrap());
        let pairs = [[0, 2], [0, 1], [1, 1], [0, 0]].map(|pair| pair.map(NodeId));
        let expected = [24.0 / (5.0 * 106.0_f64.sqrt()), 0.0, 0.0, 1.0];
        for features in [&dense, &sparse] {
            let found = FeatureRows::new(features).cosines(&pairs);
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
        }
        let nodes = [2, 0].map(NodeId);
        let (dense, sparse) = (FeatureRows::new(&dense), FeatureRows::new(&sparse));
        let weights = [1.0, -2.0, 0.5, 3.0, 7.0, 1.0];
        let product = dense.multiply::<f64>(&nodes, &weights, 2);
        assert!(close(&product, &sparse.multiply(&nodes, &weights, 2)));
        assert!((product[2] - (3.0 + 28.0) / 5.0).abs() < 1e-6);
        let (mut of_dense, mut of_sparse) = (weights, weights);
        dense.add_transposed(&nodes, &product, 2, &mut of_dense);
        sparse.add_transposed(&nodes, &product, 2, &mut of_sparse);
        assert!(close(&of_dense, &of_sparse) && of_dense != weights);
    }
}
