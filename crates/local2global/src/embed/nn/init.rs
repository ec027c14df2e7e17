//! First weights: uniform between ±sqrt(6 / (inputs + outputs)).
//!
//! Source: Glorot, Bengio, "Understanding the difficulty of training deep feedforward
//! neural networks", AISTATS 2010.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::{Float, Matrix};

/// First weights of a layer.
pub fn glorot<F: Float>(num_inputs: usize, num_outputs: usize, random: &mut ChaCha8Rng) -> Matrix<F> {
    let limit = (6.0 / (num_inputs + num_outputs).max(1) as f64).sqrt();
    let values = (0..num_inputs * num_outputs).map(|_| F::of(random.random_range(-limit..limit))).collect();
    Matrix::from_values(num_inputs, num_outputs, values)
}

/// First weights of several layers with the same inputs, side by side.
pub fn glorot_heads<F: Float>(
    num_inputs: usize,
    num_outputs: usize,
    num_heads: usize,
    random: &mut ChaCha8Rng,
) -> Matrix<F> {
    let heads: Vec<Matrix<F>> = (0..num_heads).map(|_| glorot(num_inputs, num_outputs, random)).collect();
    let rows = (0..num_inputs).flat_map(|row| heads.iter().flat_map(move |head| head.row(row)));
    Matrix::from_values(num_inputs, num_heads * num_outputs, rows.copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, Stage};

    #[test]
    fn heads_are_scaled_by_their_own_size() {
        let weights: Matrix<f64> = glorot_heads(50, 10, 2, &mut Seed(1).stream(Stage::Embed, 0));
        assert_eq!((weights.num_rows(), weights.num_columns()), (50, 20));
        let largest = weights.values().iter().fold(0.0_f64, |largest, w| largest.max(w.abs()));
        let limit = (6.0_f64 / 60.0).sqrt();
        assert!(largest <= limit && largest > 0.95 * limit);
    }
}
