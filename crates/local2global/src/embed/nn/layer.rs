//! The first layer: features times weights, propagated between neighbours.
//!
//! ```text
//! out = finish(P (X W)),    gradient by W = Xᵀ (P gradient)
//! ```
//!
//! `P` is symmetric. Without features `X = a I`, and `a` is applied to each row as it leaves `P`.
//! Cost: `O((stored features + edges) * width)`.

use super::edges::{Edges, Unseen};
use super::input::{Input, Scaling};
use super::{Matrix, SparseMatrix};
use crate::graph::Graph;
use crate::linalg::real::Real;
use crate::seed::Seed;

/// A patch ready for training: who neighbours whom, and what is known of each node.
#[derive(Clone, Debug)]
pub struct InputLayer<F> {
    /// Who neighbours whom; which edges are in view is for the model to choose.
    pub edges: Edges<F>,
    input: Input<F>,
    /// `X W` forward, `P gradient` backward.
    product: Matrix<F>,
}

impl<F: Real> InputLayer<F> {
    /// The first layer, of `width` columns, on a graph; `seed` chooses the edges that are held
    /// out.
    pub fn new(graph: &Graph, scaling: Scaling, width: usize, unseen: Unseen, seed: Seed) -> Self {
        let edges = Edges::new(graph, unseen, seed);
        let input = Input::new(graph, scaling, width);
        let product = match input {
            Input::Identity { .. } => Matrix::default(),
            _ => Matrix::zeros(graph.num_nodes(), width),
        };
        Self { edges, input, product }
    }

    /// Puts other features in place, in full precision.
    #[cfg(test)]
    pub(crate) fn set_features(&mut self, values: Matrix<F>) {
        let shape = (values.num_columns(), self.product.num_columns());
        let gradient = super::dense::TransposedProduct::new(values.num_rows(), shape);
        self.input = Input::Dense { values, gradient };
    }

    /// The number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.input.num_rows()
    }

    /// The number of features: the rows of the weights.
    pub fn num_features(&self) -> usize {
        self.input.num_features()
    }

    /// Whether there are no features, so that each node has its own row of weights.
    pub fn is_look_up(&self) -> bool {
        matches!(self.input, Input::Identity { .. })
    }

    /// The matrix `P` of the edges in view.
    pub fn propagation(&self) -> &SparseMatrix<F> {
        self.edges.propagation()
    }

    /// Computes `out = P (X W)`, then calls `finish` on each row.
    pub fn forward(
        &mut self,
        weights: &Matrix<F>,
        out: &mut Matrix<F>,
        finish: impl Fn(usize, &mut [F]) + Sync,
    ) {
        let multiple = self.input.multiple();
        let product = self.input.multiply(weights, &mut self.product);
        self.edges.propagation().multiply_then(product, out, |row, sums| {
            scale(sums, multiple);
            finish(row, sums);
        });
    }

    /// As [`InputLayer::forward`] with the rows of `X` in another order: node `v` has
    /// the features of node `order[v]`. Uses the product of the last forward pass.
    pub fn forward_shuffled(
        &self,
        weights: &Matrix<F>,
        order: &[u32],
        out: &mut Matrix<F>,
        finish: impl Fn(usize, &mut [F]) + Sync,
    ) {
        let product = match self.input {
            Input::Identity { .. } => weights,
            _ => &self.product,
        };
        let source = |column: u32| order[column as usize] as usize;
        let multiple = self.input.multiple();
        self.edges.propagation().multiply_renumbered(product, source, out, |row, sums| {
            scale(sums, multiple);
            finish(row, sums);
        });
    }

    /// Computes the gradient by the weights from the gradient by `P (X W)`.
    pub fn backward(&mut self, gradient: &Matrix<F>, by_weights: &mut Matrix<F>) {
        if let Input::Identity { multiple, .. } = self.input {
            let finish = |_, sums: &mut [F]| scale(sums, multiple);
            return self.edges.propagation().multiply_then(gradient, by_weights, finish);
        }
        self.edges.propagation().multiply(gradient, &mut self.product);
        self.input.multiply_transposed(&self.product, by_weights);
    }

    /// As [`InputLayer::backward`] with the gradients by both passes, the second one
    /// shuffled by the inverse of `place`.
    pub fn backward_shuffled(
        &mut self,
        gradient: &Matrix<F>,
        shuffled: &Matrix<F>,
        place: &[u32],
        scratch: &mut Matrix<F>,
        by_weights: &mut Matrix<F>,
    ) {
        self.edges.propagation().multiply(shuffled, scratch);
        let add_shuffled = |row: usize, sums: &mut [F]| {
            let terms = scratch.row(place[row] as usize);
            sums.iter_mut().zip(terms).for_each(|(sum, &term)| *sum += term);
        };
        if let Input::Identity { multiple, .. } = self.input {
            return self.edges.propagation().multiply_then(gradient, by_weights, |row, sums| {
                add_shuffled(row, sums);
                scale(sums, multiple);
            });
        }
        self.edges.propagation().multiply_then(gradient, &mut self.product, add_shuffled);
        self.input.multiply_transposed(&self.product, by_weights);
    }
}

/// Multiplies a row; by 1, nothing happens.
#[inline(always)]
fn scale<F: Real>(row: &mut [F], multiple: F) {
    if multiple != F::ONE {
        row.iter_mut().for_each(|value| *value *= multiple);
    }
}

/// Adds the bias to a row, and cuts off what is negative.
#[inline(always)]
pub fn bias_relu<F: Real>(row: &mut [F], bias: &[F]) {
    row.iter_mut().zip(bias).for_each(|(value, &bias)| *value = (*value + bias).max(F::ZERO));
}

/// Adds the bias to a row.
#[inline(always)]
pub fn add_bias<F: Real>(row: &mut [F], bias: &[F]) {
    row.iter_mut().zip(bias).for_each(|(value, &bias)| *value += bias);
}

/// The gradient before [`bias_relu`] from that after it: zero where the output is.
#[inline(always)]
pub fn relu_backward<F: Real>(gradient: &mut [F], output: &[F]) {
    for (gradient, &output) in gradient.iter_mut().zip(output) {
        *gradient = if output > F::ZERO { *gradient } else { F::ZERO };
    }
}
