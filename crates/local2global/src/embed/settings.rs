//! What a trained model can be told.

use super::nn::decoder::Decoder;
use super::nn::edges::Unseen;
use super::nn::input::Scaling;

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
}
