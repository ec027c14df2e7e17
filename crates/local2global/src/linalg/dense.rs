//! Small dense matrices: products, singular values, eigenvalues, the nearest
//! orthogonal matrix.
//!
//! The nearest orthogonal matrix to `A = U Σ Vᵀ` in the Frobenius norm is `U Vᵀ`
//! (Schönemann 1966). From `A` divided by its largest singular value the iteration
//! `Y ← Y (3 - YᵀY) / 2` gets there by products alone (Björck and Bowie 1971), which is
//! faster than a decomposition as long as no singular value is much smaller than the others;
//! close to the end each step squares the distance. Where some are smaller, the first steps are
//!
//! ```text
//! Y ← a Y (3 - a² YᵀY) / 2,    a² = 3 / (1 + s + s²)
//! ```
//!
//! which takes singular values from `s` to 1 closest to each other, and small ones up 2.6 times
//! (Chen and Chow 2014). All matrices are row-major. Cost: `O(d³)`; a [`Workspace`] keeps the
//! memory from one matrix to the next. No randomness.
//!
//! Source: P. Schönemann, "A generalized solution of the orthogonal Procrustes
//! problem", Psychometrika 31, 1966; Å. Björck, C. Bowie, "An iterative algorithm for
//! computing the best estimate of an orthogonal matrix", SIAM J. Numer. Anal. 8, 1971;
//! J. Chen, E. Chow, "A stable scaling of Newton-Schulz for improving the sign function
//! computation of a Hermitian matrix", preprint ANL/MCS-P5059-0114, 2014.

use std::borrow::Cow;
use std::ops::{Add, Mul};

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::matmul::matmul;
use faer::linalg::{evd, svd};
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Why a decomposition failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DenseError {
    /// The iteration did not converge, which happens only with NaN or infinite entries.
    #[error("matrix decomposition did not converge; the matrix is not finite")]
    NotFinite,
}

/// The number types that products are computed in.
pub trait Real:
    faer::traits::ComplexField + Copy + Default + Send + Sync + Add<Output = Self> + Mul<Output = Self>
{
    /// The nearest number of this type.
    fn of(value: f64) -> Self;

    /// The same number in double precision.
    fn to_f64(self) -> f64;

    /// The nearest numbers of this type, or the numbers themselves.
    fn of_all(values: &[f64]) -> Cow<'_, [Self]>;
}

impl Real for f64 {
    fn of(value: f64) -> Self {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn of_all(values: &[f64]) -> Cow<'_, [Self]> {
        values.into()
    }
}

impl Real for f32 {
    fn of(value: f64) -> Self {
        value as Self
    }

    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn of_all(values: &[f64]) -> Cow<'_, [Self]> {
        values.par_iter().map(|&value| value as Self).collect::<Vec<Self>>().into()
    }
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

/// The identity matrix.
pub(crate) fn identity(dim: usize) -> Vec<f64> {
    let mut values = vec![0.0; dim * dim];
    values.iter_mut().step_by(dim + 1).for_each(|entry| *entry = 1.0);
    values
}

/// The sum of squares.
pub(crate) fn squared_norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

/// Memory for singular value decompositions of square matrices of one size.
pub struct Workspace {
    dim: usize,
    u: Mat<f64>,
    v: Mat<f64>,
    singular_values: Mat<f64>,
    memory: MemBuffer,
    gram: Vec<f64>,
    next: Vec<f64>,
}

/// One more step from this distance reaches rounding error.
const LAST_STEP: f64 = 1e-8;

/// The iteration may take so many steps. They are enough if the smallest singular value is some
/// hundred-thousandth of the largest.
const MAX_STEPS: usize = 24;

/// Singular values are much alike if the mean of their squares is at least this fraction of the
/// largest square; otherwise the smallest is taken to be `SMALLEST`.
const ALIKE: f64 = 0.25;
const SMALLEST: f64 = 1e-5;

/// From here on plain steps are as good as stretched ones.
const ALL_ALIKE: f64 = 0.99;

/// After this many steps, a distance above that means singular values that are still
/// small: the decomposition is faster then.
const EARLY_STEPS: usize = 10;
const STILL_FAR: f64 = 0.95;

/// Multiplications by the matrix and its transpose that estimate its largest singular
/// value. The iteration converges if that is not more than √3 times the estimate.
const NORM_STEPS: usize = 4;

/// Singular values below this fraction of the largest count as zero. Those of a covariance
/// are squares of lengths, so a direction a millionth as long as the longest is still seen.
const RANK_TOLERANCE: f64 = 1e-12;

/// What was found out about a matrix while the nearest orthogonal one was sought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// The sum of its singular values.
    pub trace: f64,
    /// The number of them that are not zero.
    pub rank: usize,
}

impl Workspace {
    /// Memory for `dim` x `dim` matrices.
    pub fn new(dim: usize) -> Self {
        let vectors = svd::ComputeSvdVectors::Full;
        let needed = svd::svd_scratch::<f64>(dim, dim, vectors, vectors, Par::Seq, faer::Spec::default());
        Self {
            dim,
            u: Mat::zeros(dim, dim),
            v: Mat::zeros(dim, dim),
            singular_values: Mat::zeros(dim, 1),
            memory: MemBuffer::new(needed),
            gram: vec![0.0; dim * dim],
            next: vec![0.0; dim * dim],
        }
    }

    /// Writes the orthogonal matrix nearest to `matrix` into `nearest`; both row-major.
    ///
    /// # Errors
    /// [`DenseError::NotFinite`] if an entry is NaN or infinite.
    ///
    /// # Examples
    /// ```
    /// use local2global::linalg::dense::Workspace;
    ///
    /// let mut nearest = [0.0; 4];
    /// let stretch = Workspace::new(2).nearest_orthogonal(&[0.0, -3.0, 2.0, 0.0], &mut nearest)?;
    /// assert!((nearest[1] + 1.0).abs() < 1e-15 && (nearest[2] - 1.0).abs() < 1e-15);
    /// assert!((stretch.trace - 5.0).abs() < 1e-14 && stretch.rank == 2);
    /// # Ok::<(), local2global::linalg::dense::DenseError>(())
    /// ```
    pub fn nearest_orthogonal(&mut self, matrix: &[f64], nearest: &mut [f64]) -> Result<Stretch, DenseError> {
        if self.iterate(matrix, nearest) {
            let trace = matrix.iter().zip(&*nearest).map(|(a, b)| a * b).sum();
            return Ok(Stretch { trace, rank: self.dim });
        }
        self.nearest_by_decomposition(matrix, nearest)
    }

    /// As [`Workspace::nearest_orthogonal`], always by singular values.
    ///
    /// # Errors
    /// [`DenseError::NotFinite`] if an entry is NaN or infinite.
    pub fn nearest_by_decomposition(
        &mut self,
        matrix: &[f64],
        nearest: &mut [f64],
    ) -> Result<Stretch, DenseError> {
        let dim = self.dim;
        self.decompose(matrix)?;
        multiply(view_mut(nearest, dim, dim), self.u.as_ref(), self.v.transpose());
        let smallest = RANK_TOLERANCE * self.singular_values().next().unwrap_or(0.0);
        let rank = self.singular_values().filter(|&value| value > smallest).count();
        Ok(Stretch { trace: self.singular_values().sum(), rank })
    }

    /// Iterates towards the nearest orthogonal matrix; whether it got there.
    fn iterate(&mut self, matrix: &[f64], y: &mut [f64]) -> bool {
        let norm = estimated_norm(matrix, self.dim);
        if !(norm.is_normal() && norm < f64::MAX.sqrt()) {
            return false;
        }
        y.iter_mut().zip(matrix).for_each(|(target, entry)| *target = entry / norm);
        // Singular values are taken to lie from here to 1; and at 1, if they are much alike.
        let mut smallest = 1.0;
        for step in 0..MAX_STEPS {
            let mut stretch = 1.0;
            let distance = self.measure(y);
            if step == 0 && self.mean_square() < ALIKE {
                // Here none may be larger than 1: it would be turned round.
                let bound = squared_norm(&self.gram).sqrt().sqrt();
                (stretch, smallest) = (1.0 / bound, SMALLEST);
            }
            if distance < LAST_STEP {
                self.advance(y, 1.0);
                return true;
            }
            if distance.is_nan() || (step >= EARLY_STEPS && smallest > ALL_ALIKE && distance > STILL_FAR) {
                return false;
            }
            if smallest < ALL_ALIKE {
                let best = (3.0_f64 / (1.0 + smallest + smallest * smallest)).sqrt();
                stretch *= best;
                smallest *= best * (3.0 - (best * smallest).powi(2)) / 2.0;
            }
            self.advance(y, stretch);
        }
        false
    }

    /// Computes `YᵀY`; its distance from the identity.
    fn measure(&mut self, y: &[f64]) -> f64 {
        let y = view(y, self.dim, self.dim);
        multiply(view_mut(&mut self.gram, self.dim, self.dim), y.transpose(), y);
        let squares = self.gram.chunks_exact(self.dim).enumerate().map(|(k, row)| {
            let (before, after) = row.split_at(k);
            squared_norm(before) + (after[0] - 1.0).powi(2) + squared_norm(&after[1..])
        });
        squares.sum::<f64>().sqrt()
    }

    /// The mean of the squares of the singular values of the measured `Y`.
    fn mean_square(&self) -> f64 {
        self.gram.iter().step_by(self.dim + 1).sum::<f64>() / self.dim as f64
    }

    /// `Y ← a Y (3 - a² YᵀY) / 2` for the measured `Y`.
    fn advance(&mut self, y: &mut [f64], a: f64) {
        let dim = self.dim;
        self.next.iter_mut().zip(&*y).for_each(|(next, entry)| *next = 1.5 * a * entry);
        let (old, gram) = (view(y, dim, dim), view(&self.gram, dim, dim));
        multiply_add(view_mut(&mut self.next, dim, dim), old, gram, -0.5 * a * a * a);
        y.copy_from_slice(&self.next);
    }

    /// The singular values of the last matrix, descending.
    pub fn singular_values(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        (0..self.dim).map(|k| self.singular_values[(k, 0)])
    }

    fn decompose(&mut self, matrix: &[f64]) -> Result<(), DenseError> {
        if !matrix.iter().all(|entry| entry.is_finite()) {
            return Err(DenseError::NotFinite);
        }
        svd::svd(
            view(matrix, self.dim, self.dim),
            self.singular_values.as_mut().col_mut(0).as_diagonal_mut(),
            Some(self.u.as_mut()),
            Some(self.v.as_mut()),
            Par::Seq,
            MemStack::new(&mut self.memory),
            faer::Spec::default(),
        )
        .map_err(|_| DenseError::NotFinite)
    }
}

/// A lower bound of the largest singular value, not far below it: by the power method, from
/// the longest row.
fn estimated_norm(matrix: &[f64], dim: usize) -> f64 {
    let longest = matrix.chunks_exact(dim).max_by(|a, b| squared_norm(a).total_cmp(&squared_norm(b)));
    let mut vector = longest.map_or_else(Vec::new, <[f64]>::to_vec);
    let mut norm = 0.0;
    for _ in 0..NORM_STEPS {
        let length = squared_norm(&vector).sqrt();
        let mut next = vec![0.0; dim];
        let mut squared = 0.0;
        for row in matrix.chunks_exact(dim) {
            let along = row.iter().zip(&vector).map(|(a, b)| a * b).sum::<f64>() / length;
            squared += along * along;
            next.iter_mut().zip(row).for_each(|(sum, entry)| *sum += along * entry);
        }
        norm = squared.sqrt();
        vector = next;
    }
    norm
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

/// A random orthogonal matrix, for tests and benchmarks: the nearest to a Gaussian one.
#[doc(hidden)]
pub fn random_orthogonal(dim: usize, random: &mut impl rand::Rng) -> Vec<f64> {
    use rand::RngExt;
    let gaussian: Vec<f64> = (0..dim * dim).map(|_| random.sample(rand_distr::StandardNormal)).collect();
    let mut orthogonal = vec![0.0; dim * dim];
    Workspace::new(dim).nearest_orthogonal(&gaussian, &mut orthogonal).expect("Gaussian numbers are finite");
    orthogonal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, Stage};

    #[test]
    fn the_nearest_orthogonal_matrix_is_orthogonal_and_undoes_stretching() {
        let rotation = random_orthogonal(5, &mut Seed(1).stream(Stage::Align, 0));
        // Stretch the columns: U Σ with Σ diagonal, so the nearest matrix is U.
        let stretched: Vec<f64> =
            rotation.iter().enumerate().map(|(at, entry)| entry * (1.0 + (at % 5) as f64)).collect();
        let mut nearest = vec![0.0; 25];
        let mut workspace = Workspace::new(5);
        let stretch = workspace.nearest_by_decomposition(&stretched, &mut nearest).unwrap();
        assert!(nearest.iter().zip(&rotation).all(|(a, b)| (a - b).abs() < 1e-14));
        assert!((stretch.trace - 15.0).abs() < 1e-13 && stretch.rank == 5);
        let values: Vec<f64> = workspace.singular_values().collect();
        assert!(values.iter().zip([5.0, 4.0, 3.0, 2.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-13));
    }

    /// The iteration gives what the decomposition gives for a matrix with these singular values.
    fn check_iteration(values: &[f64], rank: usize, seed: u64) {
        let dim = values.len();
        let mut random = Seed(seed).stream(Stage::Align, 0);
        let (u, v) = (random_orthogonal(dim, &mut random), random_orthogonal(dim, &mut random));
        let stretched: Vec<f64> = u.iter().enumerate().map(|(at, entry)| entry * values[at % dim]).collect();
        let mut matrix = vec![0.0; dim * dim];
        multiply(view_mut(&mut matrix, dim, dim), view(&stretched, dim, dim), view(&v, dim, dim));
        let (mut fast, mut exact) = (vec![0.0; dim * dim], vec![0.0; dim * dim]);
        let mut workspace = Workspace::new(dim);
        let found = workspace.nearest_orthogonal(&matrix, &mut fast).unwrap();
        let expected = workspace.nearest_by_decomposition(&matrix, &mut exact).unwrap();
        assert!(fast.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-10), "{values:?}");
        assert!((found.trace - expected.trace).abs() < 1e-12 * expected.trace);
        assert_eq!((found.rank, expected.rank), (rank, rank));
    }

    #[test]
    fn iteration_and_decomposition_agree_however_stretched_the_matrix_is() {
        for (dim, smallest) in [(1, 1.0), (6, 1.0), (6, 0.3), (6, 1e-2), (17, 1e-3), (17, 1e-6), (6, 0.0)] {
            // Singular values evenly from 7 down to 7 times the smallest.
            let fraction = |k: usize| 1.0 - (1.0 - smallest) * k as f64 / (dim - 1).max(1) as f64;
            let values: Vec<f64> = (0..dim).map(|k| 7.0 * fraction(k)).collect();
            check_iteration(&values, if smallest == 0.0 { dim - 1 } else { dim }, 2);
        }
        for smallest in [1e-1, 1e-3, 1e-5, 1e-7] {
            // Most of them small: by equal factors.
            let values: Vec<f64> = (0..20).map(|k| 3.0 * f64::powf(smallest, f64::from(k) / 19.0)).collect();
            check_iteration(&values, 20, 3);
        }
    }

    #[test]
    fn a_matrix_with_nan_is_refused() {
        let mut nearest = [0.0; 1];
        assert_eq!(
            Workspace::new(1).nearest_orthogonal(&[f64::NAN], &mut nearest),
            Err(DenseError::NotFinite)
        );
    }

    #[test]
    fn eigenvalues_come_largest_first_with_their_vectors() {
        let matrix = [2.0, 1.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 9.0];
        let eigen = symmetric_eigen(&matrix, 3).unwrap();
        assert!(eigen.values.iter().zip([9.0, 3.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-14));
        assert!((eigen.vectors[6].abs() - 1.0).abs() < 1e-14);
        assert!((eigen.vectors[1] - eigen.vectors[4]).abs() < 1e-14);
    }
}
