//! Coordinates drawn from their means and deviations.
//!
//! ```text
//! Z = M + E ∘ exp(L)
//! KL / n = -½ / n² sum of (1 + 2 L - M² - exp(2 L))
//! ∂/∂M = G + M / n²,    ∂/∂L = G ∘ E ∘ exp(L) + (exp(2 L) - 1) / n²
//! ```
//!
//! where `G` is the gradient by `Z`. `L` is capped at 10, beyond which its gradient is
//! zero. Convention: a row of the heads is `[M | L]`; drawing replaces `L` by `exp(L)`,
//! which is what the way back needs.

use super::Matrix;
use super::kernel::{for_blocks, for_blocks_of_three, rows_per_block, vectorized};
use crate::linalg::real::Real;

/// The largest logarithm of a deviation.
const MAX_LOG_DEVIATION: f64 = 10.0;

/// Draws coordinates `z` and returns the divergence from the standard normal
/// distribution, averaged over the nodes and divided by their number.
pub fn draw_coordinates<F: Real>(
    heads: &mut Matrix<F>,
    noise: &Matrix<F>,
    z: &mut Matrix<F>,
    row_divergence: &mut [f64],
) -> f64 {
    let (num_nodes, dim) = (z.num_rows(), z.num_columns());
    let block_rows = rows_per_block(num_nodes, 4 * dim);
    for_blocks_of_three(
        (heads.values_mut(), 2 * dim),
        (z.values_mut(), dim),
        (row_divergence, 1),
        block_rows,
        |first_row, heads, z, divergence| {
            vectorized(
                #[inline(always)]
                || {
                    let rows = heads.chunks_exact_mut(2 * dim).zip(z.chunks_exact_mut(dim)).zip(divergence);
                    for (k, ((heads, z), divergence)) in rows.enumerate() {
                        *divergence = draw_row(heads, noise.row(first_row + k), z);
                    }
                },
            );
        },
    );
    row_divergence.iter().sum::<f64>() / (num_nodes * num_nodes).max(1) as f64
}

#[inline(always)]
fn draw_row<F: Real>(heads: &mut [F], noise: &[F], z: &mut [F]) -> f64 {
    let (means, logs) = heads.split_at_mut(z.len());
    let divergence = F::of(2.0) * sum(logs, |log| log.min(F::of(MAX_LOG_DEVIATION)));
    for (((log, &mean), &noise), z) in logs.iter_mut().zip(&*means).zip(noise).zip(&mut *z) {
        let deviation = log.min(F::of(MAX_LOG_DEVIATION)).exp();
        *z = mean + noise * deviation;
        *log = deviation;
    }
    let squares = sum(means, |mean| mean * mean) + sum(logs, |deviation| deviation * deviation);
    -0.5 * (F::of(z.len() as f64) + divergence - squares).to_f64()
}

/// The sum of a function of each value, in eight lanes.
#[inline(always)]
fn sum<F: Real>(values: &[F], term: impl Fn(F) -> F) -> F {
    const LANES: usize = 8;
    let mut lanes = [F::ZERO; LANES];
    let (blocks, rest) = values.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            lanes[lane] += term(block[lane]);
        }
    }
    let rest: F = rest.iter().map(|&value| term(value)).sum();
    lanes.into_iter().sum::<F>() + rest
}

/// The gradient by mean and logarithm of the deviation, from that by the coordinates.
///
/// `heads` holds means and deviations, as [`draw_coordinates`] leaves them.
pub fn heads_backward<F: Real>(
    heads: &Matrix<F>,
    noise: &Matrix<F>,
    z_gradient: &Matrix<F>,
    gradient: &mut Matrix<F>,
) {
    let (num_nodes, dim) = (noise.num_rows(), noise.num_columns());
    let scale = F::of(1.0 / (num_nodes * num_nodes).max(1) as f64);
    let cap = F::of(MAX_LOG_DEVIATION).exp();
    let block_rows = rows_per_block(num_nodes, 4 * dim);
    for_blocks(gradient.values_mut(), 2 * dim, block_rows, |first_row, block| {
        vectorized(
            #[inline(always)]
            || {
                for (k, gradient) in block.chunks_exact_mut(2 * dim).enumerate() {
                    let row = first_row + k;
                    let (means, deviations) = heads.row(row).split_at(dim);
                    let (by_means, by_logs) = gradient.split_at_mut(dim);
                    let (noise, by_z) = (noise.row(row), z_gradient.row(row));
                    for j in 0..dim {
                        by_means[j] = by_z[j] + scale * means[j];
                        let deviation = deviations[j];
                        let slope = by_z[j] * noise[j] * deviation + scale * (deviation * deviation - F::ONE);
                        by_logs[j] = if deviation < cap { slope } else { F::ZERO };
                    }
                }
            },
        );
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: usize = 3;
    const DIM: usize = 11;

    fn wave(width: usize, phase: f64) -> Matrix<f64> {
        let values = (0..NODES * width).map(|k| (k as f64 * 0.9 + phase).sin()).collect();
        Matrix::from_values(NODES, width, values)
    }

    /// A loss of the coordinates with the gradient `slopes`, plus the divergence.
    fn loss(heads: &Matrix<f64>, slopes: &Matrix<f64>) -> (f64, Matrix<f64>) {
        let (mut heads, mut z) = (heads.clone(), Matrix::zeros(NODES, DIM));
        let divergence = draw_coordinates(&mut heads, &wave(DIM, 2.0), &mut z, &mut [0.0; NODES]);
        let linear: f64 = z.values().iter().zip(slopes.values()).map(|(z, slope)| z * slope).sum();
        (linear + divergence, heads)
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let (mut heads, slopes) = (wave(2 * DIM, 0.0), wave(DIM, 1.0));
        // One deviation beyond the cap: its gradient is zero.
        heads.row_mut(1)[DIM + 3] = 10.5;
        let mut gradient = heads.clone();
        heads_backward(&loss(&heads, &slopes).1, &wave(DIM, 2.0), &slopes, &mut gradient);
        for k in 0..heads.values().len() {
            let loss_at = |step: f64| {
                let mut moved = heads.clone();
                moved.values_mut()[k] += step;
                loss(&moved, &slopes).0
            };
            let difference = (loss_at(1e-6) - loss_at(-1e-6)) / 2e-6;
            // The capped deviation makes the loss large, and differences coarse.
            let tolerance = 1e-8 * loss_at(0.0).abs().max(1.0);
            assert!((difference - gradient.values()[k]).abs() < tolerance, "value {k}");
        }
    }

    #[test]
    fn a_standard_normal_does_not_diverge() {
        let mut heads = Matrix::<f32>::zeros(NODES, 2 * DIM);
        let noise = wave(DIM, 0.0).cast();
        let mut z = noise.clone();
        assert_eq!(draw_coordinates(&mut heads, &noise, &mut z, &mut [0.0; NODES]), 0.0);
        assert_eq!(z, noise);
    }
}
