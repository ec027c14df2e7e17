//! The leading eigenvectors of a positive semi-definite matrix that is known by its products.
//!
//! Randomised subspace iteration: a random block is multiplied by the matrix and made
//! orthonormal, a few times over, with a few columns more than are wanted; the
//! eigenvectors of the matrix seen in that block (Rayleigh and Ritz) are the answer.
//!
//! ```text
//! Q ← orth(A Q)  four times;   Qᵀ A Q = V Λ Vᵀ;   answer: the first columns of Q V
//! ```
//!
//! With `A = Xᵀ X` these are the leading right singular vectors of `X`. Where the spectrum
//! falls slowly the block is not exact, but explains about as much.
//! The embed stage has two of its own, whose bytes are part of its results: `embed::nn::subspace` begins
//! with normal numbers and multiplies with the kernels of training, `embed::hops::basis` works in single
//! precision and with Cholesky factors.
//! Convention: matrices are row-major; where the rank is lower than what is wanted, the columns
//! that are left over are zero.
//! Cost: five products and `O(n k²)` for `n` rows and `k` columns.
//!
//! Source: N. Halko, P. Martinsson, J. Tropp, "Finding structure with randomness", SIAM
//! Review 53, 2011.

use rand::{Rng, RngExt};

use super::dense::{DenseError, multiply, symmetric_eigen, view, view_mut};
use super::tall::{gram, multiply_right};

/// Columns beyond those that are wanted.
const OVERSAMPLING: usize = 10;

/// How often the block is multiplied before it is decomposed.
const ITERATIONS: usize = 4;

/// Directions with less than this share of the largest eigenvalue are not told from zero.
const RANK_TOLERANCE: f64 = 1e-10;

/// The `wanted` leading eigenvectors, as columns, of a matrix with `rows` rows.
///
/// `apply` multiplies the matrix by a block of columns.
///
/// # Errors
/// [`DenseError::NotFinite`] if a product is not finite.
///
/// # Examples
/// ```
/// use local2global::linalg::subspace::leading_subspace;
/// use local2global::seed::{Seed, Stage};
///
/// let diagonal = [1.0, 9.0, 4.0];
/// let apply = |block: &[f64], columns: usize| {
///     block.iter().enumerate().map(|(at, x)| diagonal[at / columns] * x).collect()
/// };
/// let found = leading_subspace(3, 1, &mut Seed(1).stream(Stage::Embed, 0), apply)?;
/// assert!((found[1].abs() - 1.0).abs() < 1e-6);
/// # Ok::<(), local2global::linalg::dense::DenseError>(())
/// ```
pub fn leading_subspace(
    rows: usize,
    wanted: usize,
    random: &mut impl Rng,
    mut apply: impl FnMut(&[f64], usize) -> Vec<f64>,
) -> Result<Vec<f64>, DenseError> {
    let columns = (wanted + OVERSAMPLING).min(rows);
    let mut block: Vec<f64> = (0..rows * columns).map(|_| random.random::<f64>() - 0.5).collect();
    orthonormalise(&mut block, columns)?;
    for _ in 0..ITERATIONS {
        block = apply(&block, columns);
        orthonormalise(&mut block, columns)?;
    }
    let product = apply(&block, columns);
    let seen = symmetric_eigen(&gram(&block, columns, &product, columns), columns)?;
    let mut leading = vec![0.0; rows * wanted];
    let first = view(&seen.vectors, columns, columns).subcols(0, wanted.min(columns));
    let target = view_mut(&mut leading, rows, wanted).subcols_mut(0, wanted.min(columns));
    multiply(target, view(&block, rows, columns), first);
    Ok(leading)
}

/// Makes columns orthonormal; those beyond the rank become zero.
///
/// By the eigenvectors of the Gram matrix, twice, because once leaves the square of the
/// condition number as error.
fn orthonormalise(block: &mut [f64], columns: usize) -> Result<(), DenseError> {
    for _ in 0..2 {
        let eigen = symmetric_eigen(&gram(block, columns, block, columns), columns)?;
        let least = RANK_TOLERANCE * eigen.values[0];
        let scale = |value: f64| if value > least { 1.0 / value.sqrt() } else { 0.0 };
        let scales: Vec<f64> = eigen.values.iter().map(|&value| scale(value)).collect();
        let turned = eigen.vectors.iter().enumerate().map(|(at, x)| x * scales[at % columns]);
        multiply_right(block, &turned.collect::<Vec<_>>(), columns);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::polar::random_orthogonal;
    use crate::seed::{Seed, Stage};

    /// `V Λ Vᵀ` with the given eigenvalues, as a function, and `V`.
    fn matrix(values: &[f64]) -> (Vec<f64>, impl Fn(&[f64], usize) -> Vec<f64>) {
        let n = values.len();
        let vectors = random_orthogonal(n, &mut Seed(1).stream(Stage::Embed, 0));
        let entry = |i: usize, j: usize| -> f64 {
            (0..n).map(|k| vectors[i * n + k] * values[k] * vectors[j * n + k]).sum()
        };
        let full: Vec<f64> = (0..n * n).map(|at| entry(at / n, at % n)).collect();
        let apply = move |block: &[f64], columns: usize| {
            let mut product = vec![0.0; n * columns];
            multiply(view_mut(&mut product, n, columns), view(&full, n, n), view(block, n, columns));
            product
        };
        (vectors, apply)
    }

    #[test]
    fn leading_eigenvectors_are_found() {
        let values: Vec<f64> = (0..60).map(|k| 0.7_f64.powi(k)).collect();
        let (vectors, apply) = matrix(&values);
        let found = leading_subspace(60, 5, &mut Seed(2).stream(Stage::Embed, 0), apply).unwrap();
        for k in 0..5 {
            let along: f64 = (0..60).map(|i| found[i * 5 + k] * vectors[i * 60 + k]).sum();
            assert!((along.abs() - 1.0).abs() < 1e-6, "vector {k}: {along}");
        }
    }

    #[test]
    fn columns_beyond_the_rank_are_zero_and_none_is_nan() {
        let mut values = vec![0.0; 30];
        values[..3].copy_from_slice(&[3.0, 2.0, 1.0]);
        for (values, rank) in [(values, 3), (vec![0.0; 30], 0)] {
            let (_, apply) = matrix(&values);
            let found = leading_subspace(30, 6, &mut Seed(2).stream(Stage::Embed, 0), apply).unwrap();
            assert!(found.iter().all(|x| x.is_finite()));
            let norm = |k: usize| (0..30).map(|i| found[i * 6 + k].powi(2)).sum::<f64>();
            assert!((0..6).all(|k| (norm(k) - f64::from(u8::from(k < rank))).abs() < 1e-9), "rank {rank}");
        }
    }

    #[test]
    fn more_columns_than_rows_are_filled_with_zeros() {
        let (_, apply) = matrix(&[2.0, 1.0]);
        let found = leading_subspace(2, 4, &mut Seed(2).stream(Stage::Embed, 0), apply).unwrap();
        assert_eq!(found.len(), 8);
        assert!(found.chunks_exact(4).all(|row| row[2] == 0.0 && row[3] == 0.0));
    }
}
