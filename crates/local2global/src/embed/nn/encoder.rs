//! Two graph convolutions, from features to coordinates.
//!
//! ```text
//! H = relu(P X W₁ + b₁),    out = P H W₂ + b₂
//! ```
//!
//! Convention: the parameters are `[W₁, b₁, W₂, b₂]`. The way back uses the same steps
//! in reverse order: `P` is symmetric, and products with `W` become products with `Wᵀ`.
//! Cost: `O(n h w + (edges + features) h + edges w)` for `h` hidden and `w` output
//! columns; the buffers hold three matrices of each width.

use super::Matrix;
use super::adam::Parameter;
use super::clock::{Clock, Part};
use super::dense::{self, TransposedProduct};
use super::layer::{InputLayer, add_bias, bias_relu, relu_backward};
use super::reduce::ColumnSums;
use crate::linalg::real::Real;

/// Two graph convolutions with their parameters and buffers.
#[derive(Clone, Debug)]
pub struct GcnEncoder<F> {
    /// The patch that is encoded.
    pub layer: InputLayer<F>,
    /// `[W₁, b₁, W₂, b₂]`.
    pub parameters: [Parameter<F>; 4],
    hidden: Matrix<F>,
    hidden_gradient: Matrix<F>,
    hidden_sums: ColumnSums<F>,
    /// `H W₂` forward, `P` times the gradient by the output backward.
    product: Matrix<F>,
    /// The output of the last forward pass.
    pub out: Matrix<F>,
    /// The gradient of the loss by the output, to be filled before the way back.
    pub out_gradient: Matrix<F>,
    out_sums: ColumnSums<F>,
    weights_gradient: TransposedProduct<F>,
}

impl<F: Real> GcnEncoder<F> {
    /// An encoder with the given first weights and zero biases.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn new(layer: InputLayer<F>, first: Matrix<F>, second: Matrix<F>) -> Self {
        assert_eq!(layer.num_features(), first.num_rows(), "one weight row per feature");
        assert_eq!(first.num_columns(), second.num_rows(), "layers must fit");
        let (num_nodes, hidden, width) = (layer.num_nodes(), first.num_columns(), second.num_columns());
        let zeros = |width| Matrix::zeros(num_nodes, width);
        Self {
            layer,
            parameters: [
                Parameter::new(first),
                Parameter::zeros(hidden),
                Parameter::new(second),
                Parameter::zeros(width),
            ],
            hidden: zeros(hidden),
            hidden_gradient: zeros(hidden),
            hidden_sums: ColumnSums::new(num_nodes, hidden),
            product: zeros(width),
            out: zeros(width),
            out_gradient: zeros(width),
            out_sums: ColumnSums::new(num_nodes, width),
            weights_gradient: TransposedProduct::new(num_nodes, (hidden, width)),
        }
    }

    /// Computes the output at the present weights.
    pub fn forward(&mut self, clock: &mut Clock) {
        let Self { layer, hidden, product, out, .. } = self;
        let [w1, b1, w2, b2] = &self.parameters;
        clock.time(Part::Sparse, || {
            layer.forward(&w1.value, hidden, |_, row| bias_relu(row, b1.value.values()));
        });
        clock.time(Part::Dense, || dense::multiply(hidden, &w2.value, product));
        clock.time(Part::Sparse, || {
            layer.propagation().multiply_then(product, out, |_, row| add_bias(row, b2.value.values()));
        });
    }

    /// Computes the gradients by all parameters from the gradient by the output.
    pub fn backward(&mut self, clock: &mut Clock) {
        let Self { layer, hidden, hidden_gradient, product, out_gradient, .. } = self;
        let [w1, b1, w2, b2] = &mut self.parameters;
        clock.time(Part::Elementwise, || self.out_sums.sum(out_gradient, b2.gradient.values_mut()));
        clock.time(Part::Sparse, || layer.propagation().multiply(out_gradient, product));
        clock.time(Part::Dense, || {
            self.weights_gradient.multiply(hidden, product, &mut w2.gradient);
            let width = hidden.num_columns();
            dense::multiply_transposed_then(product, &w2.value, hidden_gradient, |first_row, panel| {
                relu_backward(panel, &hidden.values()[first_row * width..][..panel.len()]);
            });
        });
        clock.time(Part::Elementwise, || self.hidden_sums.sum(hidden_gradient, b1.gradient.values_mut()));
        clock.time(Part::Sparse, || layer.backward(hidden_gradient, &mut w1.gradient));
    }
}
