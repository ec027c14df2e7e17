//! What a trained model can be told.

use super::nn::decoder::Decoder;
use super::nn::edges::Unseen;
use super::nn::encoder::GcnEncoder;
use super::nn::init::{FirstWeights, glorot_heads};
use super::nn::input::Scaling;
use super::nn::layer::InputLayer;
use crate::graph::Graph;
use crate::linalg::real::Real;
use crate::seed::Seed;

/// The shape of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelSettings {
    /// The number of coordinates.
    pub dim: usize,
    /// The width of the hidden layer, as a multiple of `dim`.
    pub hidden: f64,
    /// How coordinates tell edges from non-edges.
    pub decoder: Decoder,
    /// How feature values enter training.
    pub scaling: Scaling,
    /// The shares of the edges that are held out and hidden.
    pub unseen: Unseen,
}

impl ModelSettings {
    /// The width of the hidden layer.
    pub fn hidden_width(&self) -> usize {
        ((self.hidden * self.dim as f64).round() as usize).max(1)
    }

    /// An encoder of a patch with `num_heads` outputs of `dim` columns side by side; `seed` chooses
    /// the edges that are held out.
    pub fn encoder<F: Real>(
        &self,
        graph: &Graph,
        start: FirstWeights<'_>,
        num_heads: usize,
        seed: Seed,
    ) -> GcnEncoder<F> {
        let hidden = self.hidden_width();
        let layer = InputLayer::new(graph, self.scaling, hidden, self.unseen, seed);
        let mut random = start.random();
        let first = start.of_input(&layer, hidden, &mut random);
        let second = glorot_heads(hidden, self.dim, num_heads, &mut random);
        GcnEncoder::new(layer, first, second)
    }
}
