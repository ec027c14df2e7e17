//! The directions of largest variance: principal components.
//!
//! With `X` the rows about their mean, the covariance `Xᵀ X / n` is summed up in double precision, piece by
//! piece in a fixed order, and its leading eigenvectors are the axes. Each axis points to where its largest
//! entry is positive. The rows are only read, twice, and may be mapped.
//!
//! Cost: `O(n d²)` and `O(d³)` time, `8 d²` bytes a piece. No randomness.
//!
//! Source: Pearson, "On lines and planes of closest fit to systems of points in space", 1901.

use rayon::prelude::*;

use super::{LayoutError, Point, check_finite};
use crate::linalg::dense::{SymmetricEigen, symmetric_eigen};
use crate::linalg::lanes::dot;
use crate::linalg::tall::symmetric_gram;
use crate::progress::Progress;

/// Rows that are projected at a time.
const PIECE: usize = 4096;

/// The mean of rows, and the leading directions about it.
#[derive(Clone, Debug)]
pub struct Axes {
    mean: Vec<f32>,
    /// One axis after the other.
    axes: Vec<f32>,
    /// The variance along each direction there is, largest first.
    pub variances: Vec<f64>,
}

impl Axes {
    /// Finds up to `wanted` axes of rows of `dim` numbers.
    ///
    /// # Errors
    /// [`LayoutError::NotFinite`] if a number is not finite.
    pub fn of(rows: &[f32], dim: usize, wanted: usize) -> Result<Self, LayoutError> {
        check_finite(rows, dim)?;
        let count = (rows.len() / dim.max(1)).max(1) as f64;
        let mean = mean(rows, dim);
        let gram = symmetric_gram(rows, rows, dim);
        let entry = |at: usize| gram[at] / count - mean[at / dim] * mean[at % dim];
        let covariance: Vec<f64> = (0..dim * dim).map(entry).collect();
        let SymmetricEigen { values, vectors } = symmetric_eigen(&covariance, dim)?;
        let axes = (0..wanted.min(dim)).flat_map(|axis| {
            let axis: Vec<f64> = (0..dim).map(|row| vectors[row * dim + axis]).collect();
            let largest =
                axis.iter().fold(0.0_f64, |largest, x| if x.abs() > largest.abs() { *x } else { largest });
            let sign = if largest < 0.0 { -1.0 } else { 1.0 };
            axis.into_iter().map(move |x| (sign * x) as f32)
        });
        Ok(Self { axes: axes.collect(), mean: mean.iter().map(|&x| x as f32).collect(), variances: values })
    }

    /// Where every row lies along each axis.
    pub fn project(&self, rows: &[f32]) -> Vec<f32> {
        let dim = self.mean.len();
        let wanted = self.axes.len() / dim.max(1);
        let mut along = vec![0.0; rows.len() / dim.max(1) * wanted];
        if wanted == 0 {
            return along;
        }
        along.par_chunks_mut(PIECE * wanted).zip(rows.par_chunks(PIECE * dim)).for_each(|(along, rows)| {
            let mut about = vec![0.0_f32; dim];
            for (along, row) in along.chunks_exact_mut(wanted).zip(rows.chunks_exact(dim)) {
                about.iter_mut().zip(row).zip(&self.mean).for_each(|((about, x), mean)| *about = x - mean);
                for (along, axis) in along.iter_mut().zip(self.axes.chunks_exact(dim)) {
                    *along = dot(&about, axis) as f32;
                }
            }
        });
        along
    }
}

/// The mean of every column, summed up in pieces of a fixed size.
fn mean(rows: &[f32], dim: usize) -> Vec<f64> {
    let pieces: Vec<Vec<f64>> = rows
        .par_chunks(PIECE * dim)
        .map(|rows| {
            let mut sum = vec![0.0; dim];
            for row in rows.chunks_exact(dim) {
                sum.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
            }
            sum
        })
        .collect();
    let mut mean = vec![0.0; dim];
    pieces.iter().for_each(|piece| mean.iter_mut().zip(piece).for_each(|(mean, sum)| *mean += sum));
    let count = (rows.len() / dim.max(1)).max(1) as f64;
    mean.iter_mut().for_each(|mean| *mean /= count);
    mean
}

/// Puts every row where it lies along the two leading axes; a second axis that is not there is zero.
///
/// # Errors
/// [`LayoutError`] if a coordinate is not finite, or somebody asked to stop.
pub fn lay_out(rows: &[f32], dim: usize, progress: &dyn Progress) -> Result<Vec<Point>, LayoutError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    progress.begin("layout (pca)", 2, "passes");
    let axes = Axes::of(rows, dim, 2)?;
    progress.advance(1);
    if progress.is_cancelled() {
        return Err(LayoutError::Cancelled);
    }
    let along = axes.project(rows);
    progress.end();
    Ok(match dim {
        1 => along.iter().map(|&x| [x, 0.0]).collect(),
        _ => along.as_chunks().0.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    #[test]
    fn the_longest_directions_are_found_far_from_the_origin() {
        // Variances 25, 4 and 0.01 along turned axes, at a distance of 1000.
        let wave = |k: usize, step: f64| (k as f64 * step).sin() * std::f64::consts::SQRT_2;
        let rows: Vec<f32> = (0..20_000)
            .flat_map(|k| {
                let [a, b, c] = [5.0 * wave(k, 0.1), 2.0 * wave(k, 0.37), 0.1 * wave(k, 0.91)];
                [1000.0 + 0.6 * a - 0.8 * b, 0.8 * a + 0.6 * b, c].map(|x| x as f32)
            })
            .collect();
        let axes = Axes::of(&rows, 3, 2).unwrap();
        for (found, wanted) in axes.variances.iter().zip([25.0, 4.0, 0.01]) {
            assert!((found / wanted - 1.0).abs() < 0.02, "{:?}", axes.variances);
        }
        let points = lay_out(&rows, 3, &Silent).unwrap();
        for (k, point) in points.iter().enumerate().step_by(97) {
            assert!((f64::from(point[0]) - 5.0 * wave(k, 0.1)).abs() < 0.05, "{k}: {point:?}");
        }
    }
}
