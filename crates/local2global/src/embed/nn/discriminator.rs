//! Telling true coordinates from shuffled ones, given a summary of all.
//!
//! ```text
//! c = σ(mean of the rows of H),   v = B c,   sᵢ = Hᵢ · v + β
//! loss = (sum of -ln σ(sᵢ) over true rows + sum of -ln σ(-sᵢ) over shuffled ones) / 2n
//! ```
//!
//! With `gᵢ` the derivative by `sᵢ`: the gradient by `v` is `u = sum of gᵢ Hᵢ` over both
//! kinds, by `B` it is `u cᵀ`, by `β` the sum of `gᵢ`; and by a true row `gᵢ v` plus, through
//! the summary, `(Bᵀ u) ∘ c ∘ (1 - c) / n`. Convention: rows come before the activation
//! `prelu(x) = max(x, 0) + α min(x, 0)`, which is applied on the fly; so are its gradients.
//! Cost: `O(n d + d²)`.

use super::Matrix;
use super::adam::Parameter;
use super::kernel::{for_blocks_of_two, rows_per_block, softplus, sums_of_terms, vectorized};
use super::reduce::ColumnSums;
use crate::linalg::real::Real;

/// The discriminator's buffers.
#[derive(Clone, Debug)]
pub struct Discriminator<F> {
    /// The derivatives by the scores of each node: true, shuffled.
    slopes: Vec<[F; 2]>,
    row_losses: Vec<f64>,
    sums: ColumnSums<F>,
    sums_and_one: ColumnSums<F>,
    /// Room for one row and one number.
    row: Vec<F>,
}

#[inline(always)]
fn prelu<F: Real>(x: F, alpha: F) -> F {
    if x > F::ZERO { x } else { alpha * x }
}

fn sigmoid<F: Real>(x: F) -> F {
    F::ONE / (F::ONE + (-x).exp())
}

impl<F: Real> Discriminator<F> {
    /// For `num_nodes` nodes with `dim` coordinates.
    pub fn new(num_nodes: usize, dim: usize) -> Self {
        Self {
            slopes: vec![[F::ZERO; 2]; num_nodes],
            row_losses: vec![0.0; num_nodes],
            sums: ColumnSums::new(num_nodes, dim),
            sums_and_one: ColumnSums::new(num_nodes, dim + 1),
            row: vec![F::ZERO; dim + 1],
        }
    }

    /// The loss; the gradients by the rows before the activation go to `gradients`, those
    /// by the parameters `[α, B, β]` into the parameters.
    pub fn loss_and_gradient(
        &mut self,
        before: &[Matrix<F>; 2],
        parameters: [&mut Parameter<F>; 3],
        gradients: &mut [Matrix<F>; 2],
    ) -> f64 {
        let [slope, bilinear, offset] = parameters;
        let (num_nodes, dim) = (before[0].num_rows(), before[0].num_columns());
        let alpha = slope.value.values()[0];
        let summary = self.summary(&before[0], alpha);
        let v: Vec<F> = (0..dim).map(|k| inner(bilinear.value.row(k), &summary)).collect();
        self.score(before, alpha, &v, offset.value.values()[0]);

        let u = self.gradient_by_v(before, alpha);
        offset.gradient.values_mut()[0] = u[dim];
        let mut by_mean = vec![F::ZERO; dim];
        for (k, &u) in u[..dim].iter().enumerate() {
            for j in 0..dim {
                bilinear.gradient.row_mut(k)[j] = u * summary[j];
                by_mean[j] += u * bilinear.value.row(k)[j];
            }
        }
        let scale = F::of(1.0 / num_nodes.max(1) as f64);
        (0..dim).for_each(|j| by_mean[j] *= summary[j] * (F::ONE - summary[j]) * scale);
        slope.gradient.values_mut()[0] = self.gradient_by_slope(before, &v, &by_mean);
        self.gradient_by_rows(before, alpha, &v, &by_mean, gradients);
        self.row_losses.iter().sum()
    }

    /// Sums the columns of both matrices: the gradient by the bias before the activation.
    pub fn column_sums(&mut self, gradients: &[Matrix<F>; 2], sums: &mut [F]) {
        let [first, second] = gradients;
        self.sums.sum_rows(first.num_rows(), sums, |row, sums| {
            let terms = first.row(row).iter().zip(second.row(row));
            sums.iter_mut().zip(terms).for_each(|(sum, (&a, &b))| *sum += a + b);
        });
    }

    fn summary(&mut self, before: &Matrix<F>, alpha: F) -> Vec<F> {
        let mut means = vec![F::ZERO; before.num_columns()];
        self.sums.sum_rows(before.num_rows(), &mut means, |row, sums| {
            sums.iter_mut().zip(before.row(row)).for_each(|(sum, &x)| *sum += prelu(x, alpha));
        });
        let scale = F::of(1.0 / before.num_rows().max(1) as f64);
        means.into_iter().map(|sum| sigmoid(sum * scale)).collect()
    }

    /// Computes the loss of each node, and the derivatives by its scores.
    fn score(&mut self, before: &[Matrix<F>; 2], alpha: F, v: &[F], offset: F) {
        let num_nodes = self.slopes.len();
        let scale = F::of(0.5 / num_nodes.max(1) as f64);
        let block_rows = rows_per_block(num_nodes, v.len());
        let losses = (&mut self.row_losses[..], 1);
        for_blocks_of_two((&mut self.slopes, 1), losses, block_rows, |first, slopes, losses| {
            vectorized(
                #[inline(always)]
                || {
                    for (k, (slopes, loss)) in slopes.iter_mut().zip(losses).enumerate() {
                        let score = |matrix: &Matrix<F>| score_row(matrix.row(first + k), alpha, v) + offset;
                        let (true_loss, true_slope) = softplus(-score(&before[0]));
                        let (shuffled_loss, shuffled_slope) = softplus(score(&before[1]));
                        *slopes = [-true_slope * scale, shuffled_slope * scale];
                        *loss = ((true_loss + shuffled_loss) * scale).to_f64();
                    }
                },
            );
        });
    }

    /// The gradient by `v` and, last, by the offset.
    fn gradient_by_v(&mut self, before: &[Matrix<F>; 2], alpha: F) -> Vec<F> {
        let slopes = &self.slopes;
        self.sums_and_one.sum_rows(slopes.len(), &mut self.row, |row, sums| {
            let [true_slope, shuffled_slope] = slopes[row];
            let rows = before[0].row(row).iter().zip(before[1].row(row));
            for (sum, (&a, &b)) in sums.iter_mut().zip(rows) {
                *sum += true_slope * prelu(a, alpha) + shuffled_slope * prelu(b, alpha);
            }
            sums[sums.len() - 1] += true_slope + shuffled_slope;
        });
        self.row.clone()
    }

    /// The gradient by the slope of the activation below zero.
    fn gradient_by_slope(&mut self, before: &[Matrix<F>; 2], v: &[F], by_mean: &[F]) -> F {
        let (slopes, dim) = (&self.slopes, v.len());
        let mut columns = vec![F::ZERO; dim];
        self.sums.sum_rows(slopes.len(), &mut columns, |row, sums| {
            let [true_slope, shuffled_slope] = slopes[row];
            let (true_row, shuffled_row) = (before[0].row(row), before[1].row(row));
            for k in 0..dim {
                sums[k] += (true_slope * v[k] + by_mean[k]) * true_row[k].min(F::ZERO)
                    + shuffled_slope * v[k] * shuffled_row[k].min(F::ZERO);
            }
        });
        columns.into_iter().sum()
    }

    fn gradient_by_rows(
        &self,
        before: &[Matrix<F>; 2],
        alpha: F,
        v: &[F],
        by_mean: &[F],
        gradients: &mut [Matrix<F>; 2],
    ) {
        let dim = v.len();
        let [true_gradient, shuffled_gradient] = gradients;
        let outputs = ((true_gradient.values_mut(), dim), (shuffled_gradient.values_mut(), dim));
        let block_rows = rows_per_block(self.slopes.len(), dim);
        for_blocks_of_two(outputs.0, outputs.1, block_rows, |first, true_block, shuffled_block| {
            vectorized(
                #[inline(always)]
                || {
                    let rows = true_block.chunks_exact_mut(dim).zip(shuffled_block.chunks_exact_mut(dim));
                    for (row, (by_true, by_shuffled)) in (first..).zip(rows) {
                        let [true_slope, shuffled_slope] = self.slopes[row];
                        let (true_row, shuffled_row) = (before[0].row(row), before[1].row(row));
                        let through = |x: F| if x > F::ZERO { F::ONE } else { alpha };
                        for k in 0..dim {
                            by_true[k] = (true_slope * v[k] + by_mean[k]) * through(true_row[k]);
                            by_shuffled[k] = shuffled_slope * v[k] * through(shuffled_row[k]);
                        }
                    }
                },
            );
        });
    }
}

fn inner<F: Real>(a: &[F], b: &[F]) -> F {
    a.iter().zip(b).map(|(&a, &b)| a * b).sum()
}

#[inline(always)]
fn score_row<F: Real>(row: &[F], alpha: F, v: &[F]) -> F {
    let (lanes, rest) = sums_of_terms::<F, 8>(row, v, |x, v| prelu(x, alpha) * v);
    lanes.into_iter().sum::<F>() + rest
}
