//! The leading eigenvectors of a log matrix, and the common frame made of them.
//!
//! ```text
//! M = log max(1, vol / (b T) · Σ_{r=1..T} P^r D_C^-1) ≈ V L Vᵀ,    H = V |L|^-1/4
//! ```
//!
//! Rows of `M` times `H` are `V |L|^3/4`: eigenvectors scaled between the usual root, `|L|^1/2`,
//! and the principal components, `|L|`. At the end the columns are [mixed] by a random rotation, which
//! keeps every angle and distance, and gives all columns about the same spread. Who brings columns to
//! spread 1, as is usual before classifying, would otherwise blow up the last eigenvectors, which are
//! mostly noise (Cora: accuracy .73 with eigenvectors as columns, .78 mixed).
//!
//! Convention: columns by falling size of the eigenvalue, the sign such that the entry largest
//! in size is positive. Columns beyond the size of the matrix, and those of vanishing
//! eigenvalues, are zero.

use crate::linalg::real::Real;
use rayon::prelude::*;

use super::check_cancelled;
use crate::embed::EmbedError;
use crate::embed::nn::subspace::{Eigenpairs, OVERSAMPLING, Subspace};
use crate::embed::nn::{Matrix, dense};
use crate::linalg::dense::symmetric_eigen;
use crate::linalg::lanes::vectorized;
use crate::linalg::polar::random_orthogonal;
use crate::progress::Progress;
use crate::seed::{Seed, Stage};

/// Eigenvalues below this share of the largest are taken for zero.
const RANK_TOLERANCE: f64 = 1e-6;
/// Products with the matrix, from a random basis on; more change no score by more than .001.
const ITERATIONS: usize = 3;
/// The index of the stream that the rotation is drawn from.
const ROTATION_STREAM: u64 = 2 << 48;
/// Matrices up to this many times as large as the basis are solved exactly.
pub(super) const EXACT_RATIO: usize = 2;

/// Turns sums of probabilities, one column for each scale, into the logs of their ratios to chance.
#[inline(always)]
pub(super) fn take_logs(sums: &mut [f32], scales: &[f32]) {
    for (value, &scale) in sums.iter_mut().zip(scales) {
        *value = Real::ln(Real::max(*value * scale, 1.0));
    }
}

/// The log matrix of a chain, from `walks = P^1 + .. + P^window` and the scales of chance.
pub(super) fn log_matrix(mut walks: Matrix<f32>, scales: &[f32]) -> Matrix<f32> {
    walks.values_mut().par_chunks_mut(scales.len().max(1)).for_each(|row| {
        vectorized(
            #[inline(always)]
            || take_logs(row, scales),
        );
    });
    symmetrise(&mut walks);
    walks
}

/// Replaces each entry by its mean with the mirrored one. Reversible chains have equal ones, but
/// for rounding.
fn symmetrise(matrix: &mut Matrix<f32>) {
    for row in 0..matrix.num_rows() {
        for column in 0..row {
            let mean = 0.5 * (matrix.row(row)[column] + matrix.row(column)[row]);
            matrix.row_mut(row)[column] = mean;
            matrix.row_mut(column)[row] = mean;
        }
    }
}

/// The leading eigenvectors of a symmetric matrix as columns, each multiplied by its value, in
/// size, to some power.
///
/// # Errors
/// [`EmbedError::Cancelled`] if somebody asks to stop.
pub(super) fn scaled_eigenvectors(
    matrix: &Matrix<f32>,
    dim: usize,
    power: f64,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Matrix<f32>, EmbedError> {
    let pairs = leading(matrix, dim, seed, progress)?;
    let least = RANK_TOLERANCE * pairs.largest();
    Ok(pairs.scaled(dim, |value| if value > least { value.powf(power) } else { 0.0 }))
}

fn leading(
    matrix: &Matrix<f32>,
    dim: usize,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Eigenpairs, EmbedError> {
    let (size, width) = (matrix.num_rows(), dim + OVERSAMPLING);
    if size <= EXACT_RATIO * width {
        let eigen = symmetric_eigen(matrix.cast::<f64>().values(), size)
            .expect("the logs of finite probabilities are finite");
        return Ok(Eigenpairs::new(eigen.values, Matrix::from_values(size, size, eigen.vectors)));
    }
    let multiply = |basis: &Matrix<f64>, product: &mut Matrix<f64>| {
        let mut single = Matrix::zeros(size, width);
        dense::multiply(matrix, &basis.cast(), &mut single);
        *product = single.cast();
    };
    let mut subspace = Subspace::new(size, width, seed);
    for _ in 0..ITERATIONS {
        check_cancelled(progress)?;
        subspace.step(multiply);
    }
    Ok(subspace.eigenpairs(multiply))
}

/// The columns turned by a random rotation; those beyond the number of rows, which are zero, stay.
pub(super) fn mixed(columns: &Matrix<f32>, seed: Seed) -> Matrix<f32> {
    let (num_rows, dim) = (columns.num_rows(), columns.num_columns());
    let width = dim.min(num_rows);
    let turned = random_orthogonal(width, &mut seed.stream(Stage::Embed, ROTATION_STREAM));
    let mut rotation = Matrix::zeros(dim, dim);
    for (row, entries) in turned.chunks_exact(width.max(1)).enumerate() {
        rotation.row_mut(row)[..width].iter_mut().zip(entries).for_each(|(to, &entry)| *to = entry as f32);
    }
    let mut mixed = Matrix::zeros(num_rows, dim);
    dense::multiply(columns, &rotation, &mut mixed);
    mixed
}
