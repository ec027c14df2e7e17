//! Small dense matrices: products and eigenvalues, in either precision.
//!
//! Matrices are row-major. Cost: that of the plain products, `O(d³)` for a decomposition. No
//! randomness.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::evd;
use faer::linalg::matmul::{matmul, triangular};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::real::Real;

/// Why a decomposition failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DenseError {
    /// The iteration did not converge, which happens only with NaN or infinite entries.
    #[error("matrix decomposition did not converge; the matrix is not finite")]
    NotFinite,
}

/// Sees a slice as a row-major matrix.
pub(crate) fn view<F: Real>(values: &[F], rows: usize, columns: usize) -> MatRef<'_, F> {
    MatRef::from_row_major_slice(values, rows, columns)
}

/// Sees a slice as a row-major matrix that can be written.
pub(crate) fn view_mut<F: Real>(values: &mut [F], rows: usize, columns: usize) -> MatMut<'_, F> {
    MatMut::from_row_major_slice_mut(values, rows, columns)
}

/// `target = a b`.
pub(crate) fn multiply<F: Real>(target: MatMut<'_, F>, a: MatRef<'_, F>, b: MatRef<'_, F>) {
    matmul(target, Accum::Replace, a, b, F::of(1.0), Par::Seq);
}

/// `target = target + factor a b`.
pub(crate) fn multiply_add<F: Real>(target: MatMut<'_, F>, a: MatRef<'_, F>, b: MatRef<'_, F>, factor: F) {
    matmul(target, Accum::Add, a, b, factor, Par::Seq);
}

/// In lower dimensions half a product takes as long as the whole.
const HALF_PRODUCT_DIM: usize = 48;

/// The lower triangle of `target = aᵀ b`; what is above it may be anything.
pub(crate) fn lower_product<F: Real>(target: MatMut<'_, F>, a: MatRef<'_, F>, b: MatRef<'_, F>) {
    if target.nrows() < HALF_PRODUCT_DIM {
        return multiply(target, a.transpose(), b);
    }
    let (lower, whole) =
        (triangular::BlockStructure::TriangularLower, triangular::BlockStructure::Rectangular);
    triangular::matmul(target, lower, Accum::Replace, a.transpose(), whole, b, whole, F::of(1.0), Par::Seq);
}

/// The identity matrix.
pub(crate) fn identity(dim: usize) -> Vec<f64> {
    let mut values = vec![0.0; dim * dim];
    values.iter_mut().step_by(dim + 1).for_each(|entry| *entry = 1.0);
    values
}

/// Eigenvalues and eigenvectors of a symmetric matrix, largest first.
#[derive(Clone, Debug)]
pub struct SymmetricEigen {
    /// The eigenvalues, descending.
    pub values: Vec<f64>,
    /// The eigenvectors as columns of a row-major matrix, in the same order.
    pub vectors: Vec<f64>,
}

/// Large decompositions are cut into this many parts. The number is fixed, since it decides
/// the order of sums; how many threads work on the parts does not.
const PARTS: Par = Par::Rayon(std::num::NonZeroUsize::new(2).expect("two parts"));

/// Smaller matrices are not worth a second thread.
const MIN_PARALLEL: usize = 256;

/// Decomposes a symmetric row-major matrix; only its lower triangle is read.
///
/// # Errors
/// [`DenseError::NotFinite`] if an entry is NaN or infinite.
pub fn symmetric_eigen(matrix: &[f64], dim: usize) -> Result<SymmetricEigen, DenseError> {
    let vectors_too = evd::ComputeEigenvectors::Yes;
    let parts = if dim < MIN_PARALLEL { Par::Seq } else { PARTS };
    let needed = evd::self_adjoint_evd_scratch::<f64>(dim, vectors_too, parts, faer::Spec::default());
    let mut ascending = Mat::<f64>::zeros(dim, 1);
    let mut vectors = Mat::<f64>::zeros(dim, dim);
    evd::self_adjoint_evd(
        view(matrix, dim, dim),
        ascending.as_mut().col_mut(0).as_diagonal_mut(),
        Some(vectors.as_mut()),
        parts,
        MemStack::new(&mut MemBuffer::new(needed)),
        faer::Spec::default(),
    )
    .map_err(|_| DenseError::NotFinite)?;
    let values = (0..dim).rev().map(|k| ascending[(k, 0)]).collect();
    let descending = (0..dim * dim).map(|at| vectors[(at / dim, dim - 1 - at % dim)]).collect();
    Ok(SymmetricEigen { values, vectors: descending })
}

/// `L⁻ᵀ` of the Cholesky factor `L` of a symmetric row-major matrix; none if the matrix is not
/// positive definite, or a squared pivot is below `smallest_pivot`.
pub(crate) fn inverse_cholesky(matrix: &[f64], size: usize, smallest_pivot: f64) -> Option<Vec<f64>> {
    let mut factor = matrix.to_vec();
    let needed = cholesky_in_place_scratch::<f64>(size, Par::Seq, faer::Spec::default());
    cholesky_in_place(
        view_mut(&mut factor, size, size),
        Default::default(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(needed)),
        faer::Spec::default(),
    )
    .ok()?;
    if (0..size).any(|k| factor[k * size + k].powi(2) < smallest_pivot) {
        return None;
    }
    // Row-major L⁻¹ is column-major L⁻ᵀ: solve into the transposed view.
    let mut inverse = identity(size);
    let transposed = view_mut(&mut inverse, size, size).transpose_mut();
    solve_lower_triangular_in_place(view(&factor, size, size), transposed, Par::Seq);
    Some(inverse)
}

/// The rank of a symmetric positive semidefinite row-major matrix: the steps of a Cholesky
/// factorisation with the largest pivot first, until that is below `tolerance` times the first one.
pub(crate) fn semidefinite_rank(matrix: &[f64], size: usize, tolerance: f64) -> usize {
    let mut rest = matrix.to_vec();
    let mut first = 0.0;
    for step in 0..size {
        let (k, pivot) = (0..size)
            .map(|k| (k, rest[k * size + k]))
            .fold((0, 0.0), |best, other| if other.1 > best.1 { other } else { best });
        first = f64::max(first, pivot);
        if pivot <= tolerance * first {
            return step;
        }
        let column: Vec<f64> = (0..size).map(|row| rest[row * size + k]).collect();
        for (row, values) in rest.chunks_exact_mut(size).enumerate().filter(|(row, _)| column[*row] != 0.0) {
            let factor = column[row] / pivot;
            values.iter_mut().zip(&column).for_each(|(value, entry)| *value -= factor * entry);
        }
        // Rounding must not bring the pivot back.
        rest[k * size + k] = 0.0;
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_come_largest_first_with_their_vectors() {
        let matrix = [2.0, 1.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 9.0];
        let eigen = symmetric_eigen(&matrix, 3).unwrap();
        assert!(eigen.values.iter().zip([9.0, 3.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-14));
        assert!((eigen.vectors[6].abs() - 1.0).abs() < 1e-14);
        assert!((eigen.vectors[1] - eigen.vectors[4]).abs() < 1e-14);
    }

    #[test]
    fn the_rank_is_the_number_of_directions() {
        // Two directions in three dimensions, of very different length.
        let (a, b) = ([1.0, 2.0, -1.0], [1e-4, 0.0, 1e-4]);
        let matrix: Vec<f64> = (0..9).map(|at| a[at / 3] * a[at % 3] + b[at / 3] * b[at % 3]).collect();
        assert_eq!(semidefinite_rank(&matrix, 3, 1e-12), 2);
        assert_eq!(semidefinite_rank(&matrix, 3, 1e-6), 1);
        assert_eq!(semidefinite_rank(&identity(4), 4, 1e-12), 4);
        assert_eq!(semidefinite_rank(&[0.0; 9], 3, 1e-12), 0);
    }
}
