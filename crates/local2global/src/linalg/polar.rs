//! The nearest orthogonal matrix.
//!
//! The nearest orthogonal matrix to `A = U Σ Vᵀ` in the Frobenius norm is `U Vᵀ` (Schönemann 1966). It
//! is found by an iteration of matrix products (`newton_schulz.rs`), which is faster than a
//! decomposition as long as no singular value is far smaller than the largest, and by decomposition
//! otherwise.
//!
//! *Precision.* If the caller allows it ([`Precision::Mixed`]), all steps but the last two are done in
//! single precision, at half the cost. The result is just as orthogonal, but belongs to a matrix that
//! differs from `A` by about a millionth of its norm; for a matrix with small singular values that
//! can be another matrix by far. Whether `A` is regular cannot be seen in single precision, so the
//! pivots of Gaussian elimination tell it beforehand.
//!
//! *Error.* At the nearest `R`, `H = RᵀA` is symmetric positive definite. A rotation `R` that is off by
//! a small skew matrix `K` makes the skew part of `H` as large as `(K H + H K) / 2`, up to the sign.
//! [`Workspace::error_of`] bounds `K` by this, in double precision.
//!
//! All matrices are row-major. Cost: `O(d³)`; a [`Workspace`] keeps the memory from one matrix to the
//! next. No randomness.
//!
//! Source: P. Schönemann, "A generalized solution of the orthogonal Procrustes problem",
//! Psychometrika 31, 1966.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::linalg::svd;
use faer::{Mat, Par};

use super::dense::{DenseError, inverse_cholesky, multiply, view, view_mut};
use super::lanes::{dot, squared_norm};
use super::newton_schulz::{EXACT, FROM_SINGLE, Iteration, SINGLE};

/// In lower dimensions single precision gains nothing.
const SINGLE_DIM: usize = 32;

/// Multiplications by the matrix and its transpose that estimate its largest singular
/// value. The iteration converges if that is not more than √3 times the estimate.
const NORM_STEPS: usize = 4;

/// Singular values below this fraction of the largest count as zero. Those of a covariance
/// are squares of lengths, so a direction a millionth as long as the longest is still seen.
const RANK_TOLERANCE: f64 = 1e-12;

/// A matrix whose pivots are all above this fraction of the largest has no singular value that
/// counts as zero: the smallest pivot is seldom far from it.
const PIVOT_TOLERANCE: f64 = 1e-10;

/// The arithmetic in which nearest orthogonal matrices are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Double precision throughout.
    #[default]
    Double,
    /// Single precision where the matrix is known to a few digits only, polished in double.
    Mixed,
}

/// What was found out about a matrix while the nearest orthogonal one was sought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// The sum of its singular values.
    pub trace: f64,
    /// The number of them that are not zero.
    pub rank: usize,
}

/// Memory for the nearest orthogonal matrices to square matrices of one size.
pub struct Workspace {
    dim: usize,
    precision: Precision,
    /// Whether callers that ask for nearest matrices should also ask for their errors.
    pub(crate) certifies: bool,
    u: Mat<f64>,
    v: Mat<f64>,
    singular_values: Mat<f64>,
    memory: MemBuffer,
    pivot_rows: [Vec<usize>; 2],
    double: Iteration<f64>,
    single: Iteration<f32>,
}

impl Workspace {
    /// Memory for `dim` x `dim` matrices, in double precision.
    pub fn new(dim: usize) -> Self {
        Self::with_precision(dim, Precision::Double)
    }

    /// Memory for `dim` x `dim` matrices, in the precision given.
    pub fn with_precision(dim: usize, precision: Precision) -> Self {
        let vectors = svd::ComputeSvdVectors::Full;
        let svd = svd::svd_scratch::<f64>(dim, dim, vectors, vectors, Par::Seq, faer::Spec::default());
        let lu = lu_in_place_scratch::<usize, f64>(dim, dim, Par::Seq, faer::Spec::default());
        Self {
            dim,
            precision,
            certifies: precision == Precision::Double,
            u: Mat::zeros(dim, dim),
            v: Mat::zeros(dim, dim),
            singular_values: Mat::zeros(dim, 1),
            memory: MemBuffer::new(svd.or(lu)),
            pivot_rows: [(); 2].map(|()| vec![0; dim]),
            double: Iteration::new(dim),
            single: Iteration::new(dim),
        }
    }

    /// Writes the orthogonal matrix nearest to `matrix` into `nearest`; both row-major.
    ///
    /// # Errors
    /// [`DenseError::NotFinite`] if an entry is NaN or infinite.
    ///
    /// # Examples
    /// ```
    /// use local2global::linalg::polar::Workspace;
    ///
    /// let mut nearest = [0.0; 4];
    /// let stretch = Workspace::new(2).nearest_orthogonal(&[0.0, -3.0, 2.0, 0.0], &mut nearest)?;
    /// assert!((nearest[1] + 1.0).abs() < 1e-15 && (nearest[2] - 1.0).abs() < 1e-15);
    /// assert!((stretch.trace - 5.0).abs() < 1e-14 && stretch.rank == 2);
    /// # Ok::<(), local2global::linalg::dense::DenseError>(())
    /// ```
    pub fn nearest_orthogonal(&mut self, matrix: &[f64], nearest: &mut [f64]) -> Result<Stretch, DenseError> {
        let Some(norm) = usable_norm(matrix, self.dim) else {
            return self.nearest_by_decomposition(matrix, nearest);
        };
        self.double.start(matrix.iter().map(|entry| entry / norm));
        match self.double.run(&EXACT) {
            true => Ok(self.found(matrix, nearest)),
            false => self.nearest_by_decomposition(matrix, nearest),
        }
    }

    /// As [`Workspace::nearest_orthogonal`], for a matrix that is known to a few digits only: in single
    /// precision if the workspace allows it.
    ///
    /// What comes out is just as orthogonal, up to 1e-12, but it is then the nearest to a matrix that
    /// differs from this one by about a millionth of its norm.
    ///
    /// # Errors
    /// [`DenseError::NotFinite`] if an entry is NaN or infinite.
    pub fn nearest_roughly(&mut self, matrix: &[f64], nearest: &mut [f64]) -> Result<Stretch, DenseError> {
        if self.precision == Precision::Mixed
            && self.dim >= SINGLE_DIM
            && let Some(norm) = usable_norm(matrix, self.dim)
            && self.is_regular(matrix)
        {
            self.single.start(matrix.iter().map(|entry| (entry / norm) as f32));
            if self.single.run(&SINGLE) {
                self.double.start(self.single.y.iter().map(|&entry| f64::from(entry)));
                if self.double.run(&FROM_SINGLE) {
                    return Ok(self.found(matrix, nearest));
                }
            }
        }
        self.nearest_orthogonal(matrix, nearest)
    }

    /// How far an orthogonal matrix is from the nearest one to `matrix`: the Frobenius norm of the
    /// difference is at most about this; 1 if `matrix` is singular, and the nearest one not unique.
    pub fn error_of(&self, matrix: &[f64], nearest: &[f64]) -> f64 {
        let dim = self.dim;
        let mut stretch = vec![0.0; dim * dim];
        let turned_back = view(nearest, dim, dim).transpose();
        multiply(view_mut(&mut stretch, dim, dim), turned_back, view(matrix, dim, dim));
        let transposed = |at: usize| stretch[at % dim * dim + at / dim];
        let skew: Vec<f64> = (0..dim * dim).map(|at| (stretch[at] - transposed(at)) / 2.0).collect();
        let symmetric: Vec<f64> = (0..dim * dim).map(|at| (stretch[at] + transposed(at)) / 2.0).collect();
        // In the eigenvectors of H, Kᵢⱼ = 2 Sᵢⱼ / (σᵢ + σⱼ) for the skew part S, which is at most
        // Sᵢⱼ / √(σᵢ σⱼ). With H⁻¹ = T Tᵀ these are the entries of Tᵀ S T, up to a rotation.
        let Some(inverse) = inverse_cholesky(&symmetric, dim, 0.0) else { return 1.0 };
        let t = view(&inverse, dim, dim);
        let mut half = vec![0.0; dim * dim];
        multiply(view_mut(&mut half, dim, dim), t.transpose(), view(&skew, dim, dim));
        multiply(view_mut(&mut stretch, dim, dim), view(&half, dim, dim), t);
        let error = squared_norm(&stretch).sqrt();
        if error < 1.0 { error } else { 1.0 }
    }

    /// Takes the rounding errors out of a matrix that is orthogonal but for them, in one step.
    pub fn straighten(&mut self, matrix: &mut [f64]) {
        self.double.start(matrix.iter().copied());
        self.double.measure();
        self.double.advance(1.0);
        matrix.copy_from_slice(&self.double.y);
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

    /// Whether no singular value counts as zero, by the pivots of Gaussian elimination, in some
    /// `2 d³ / 3` operations. A matrix for which it says no may still be regular.
    fn is_regular(&mut self, matrix: &[f64]) -> bool {
        // The transpose has the same singular values, and lies as the elimination likes it.
        self.u.copy_from(view(matrix, self.dim, self.dim).transpose());
        let [rows, places] = &mut self.pivot_rows;
        let memory = MemStack::new(&mut self.memory);
        lu_in_place(self.u.as_mut(), rows, places, Par::Seq, memory, faer::Spec::default());
        let pivots = (0..self.dim).map(|k| self.u[(k, k)].abs());
        let (least, most) = pivots.fold((f64::INFINITY, 0.0), |(least, most), pivot| {
            (f64::min(least, pivot), f64::max(most, pivot))
        });
        least > PIVOT_TOLERANCE * most
    }

    /// Copies what the iteration has found.
    fn found(&self, matrix: &[f64], nearest: &mut [f64]) -> Stretch {
        nearest.copy_from_slice(&self.double.y);
        Stretch { trace: dot(matrix, nearest), rank: self.dim }
    }

    /// The singular values of the last matrix that was decomposed, descending.
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

/// About the largest singular value, if the matrix can be divided by it.
fn usable_norm(matrix: &[f64], dim: usize) -> Option<f64> {
    let norm = estimated_norm(matrix, dim);
    (norm.is_normal() && norm < f64::MAX.sqrt()).then_some(norm)
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
            let along = dot(row, &vector) / length;
            squared += along * along;
            next.iter_mut().zip(row).for_each(|(sum, entry)| *sum += along * entry);
        }
        norm = squared.sqrt();
        vector = next;
    }
    norm
}

/// A random orthogonal matrix: the nearest to a Gaussian one.
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
    use crate::linalg::dense::identity;
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

    /// A matrix with these singular values.
    fn stretched(values: &[f64], seed: u64) -> Vec<f64> {
        let dim = values.len();
        let mut random = Seed(seed).stream(Stage::Align, 0);
        let (u, v) = (random_orthogonal(dim, &mut random), random_orthogonal(dim, &mut random));
        let stretched: Vec<f64> = u.iter().enumerate().map(|(at, entry)| entry * values[at % dim]).collect();
        let mut matrix = vec![0.0; dim * dim];
        multiply(view_mut(&mut matrix, dim, dim), view(&stretched, dim, dim), view(&v, dim, dim));
        matrix
    }

    fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    /// The iteration gives what the decomposition gives for a matrix with these singular values.
    fn check_iteration(values: &[f64], rank: usize, seed: u64) {
        let dim = values.len();
        let matrix = stretched(values, seed);
        let (mut fast, mut exact) = (vec![0.0; dim * dim], vec![0.0; dim * dim]);
        let mut workspace = Workspace::new(dim);
        let found = workspace.nearest_orthogonal(&matrix, &mut fast).unwrap();
        let expected = workspace.nearest_by_decomposition(&matrix, &mut exact).unwrap();
        assert!(largest_difference(&fast, &exact) < 1e-10, "{values:?}");
        assert!((found.trace - expected.trace).abs() < 1e-12 * expected.trace);
        assert_eq!((found.rank, expected.rank), (rank, rank));
    }

    /// Singular values evenly from 7 down to 7 times the smallest.
    fn evenly_to(smallest: f64, dim: usize) -> Vec<f64> {
        let fraction = |k: usize| 1.0 - (1.0 - smallest) * k as f64 / (dim - 1).max(1) as f64;
        (0..dim).map(|k| 7.0 * fraction(k)).collect()
    }

    /// Singular values from 3 down to 3 times the smallest by equal factors: most are small.
    fn by_factors_to(smallest: f64, dim: u32) -> Vec<f64> {
        (0..dim).map(|k| 3.0 * f64::powf(smallest, f64::from(k) / f64::from(dim - 1))).collect()
    }

    #[test]
    fn iteration_and_decomposition_agree_however_stretched_the_matrix_is() {
        for (dim, smallest) in [(1, 1.0), (6, 1.0), (6, 0.3), (6, 1e-2), (17, 1e-3), (17, 1e-6), (6, 0.0)] {
            check_iteration(&evenly_to(smallest, dim), if smallest == 0.0 { dim - 1 } else { dim }, 2);
        }
        for smallest in [1e-1, 1e-3, 1e-5, 1e-7] {
            check_iteration(&by_factors_to(smallest, 20), 20, 3);
        }
    }

    fn distance_from_orthogonal(matrix: &[f64]) -> f64 {
        let dim = matrix.len().isqrt();
        let mut gram = vec![0.0; dim * dim];
        multiply(view_mut(&mut gram, dim, dim), view(matrix, dim, dim).transpose(), view(matrix, dim, dim));
        largest_difference(&gram, &identity(dim))
    }

    #[test]
    fn in_single_precision_it_is_as_orthogonal_and_nearly_the_same() {
        let dim = 40;
        let mut workspace = Workspace::with_precision(dim, Precision::Mixed);
        let (mut rough, mut exact) = (vec![0.0; dim * dim], vec![0.0; dim * dim]);
        let cases = [evenly_to(0.5, dim), evenly_to(1e-2, dim), by_factors_to(1e-2, 40)];
        for values in cases {
            let matrix = stretched(&values, 4);
            let found = workspace.nearest_roughly(&matrix, &mut rough).unwrap();
            let expected = workspace.nearest_by_decomposition(&matrix, &mut exact).unwrap();
            let difference = largest_difference(&rough, &exact);
            assert!(difference > 1e-10 && difference < 1e-4, "{difference} {values:?}");
            assert!((found.trace / expected.trace - 1.0).abs() < 1e-8 && found.rank == dim);
            assert!(distance_from_orthogonal(&rough) < 1e-12);
            let told = workspace.error_of(&matrix, &rough);
            assert!(told > difference && told < 1e-1, "{told} {difference}");
            assert!(workspace.error_of(&matrix, &exact) < 1e-9);
        }
        // Singular values that single precision cannot tell from zero: the nearest to a matrix nearby.
        let matrix = stretched(&by_factors_to(1e-8, 40), 5);
        let found = workspace.nearest_roughly(&matrix, &mut rough).unwrap();
        let expected = workspace.nearest_by_decomposition(&matrix, &mut exact).unwrap();
        assert_eq!((found.rank, expected.rank), (dim, dim));
        assert!((found.trace / expected.trace - 1.0).abs() < 1e-6);
        assert!(distance_from_orthogonal(&rough) < 1e-12);
        // Those that are zero are not taken for any.
        let matrix = stretched(&evenly_to(0.0, dim), 5);
        let found = workspace.nearest_roughly(&matrix, &mut rough).unwrap();
        let expected = workspace.nearest_by_decomposition(&matrix, &mut exact).unwrap();
        assert_eq!((found.rank, expected.rank), (dim - 1, dim - 1));
    }

    #[test]
    fn a_matrix_with_nan_is_refused() {
        let mut nearest = [0.0; 1];
        let mut workspace = Workspace::new(1);
        assert_eq!(workspace.nearest_orthogonal(&[f64::NAN], &mut nearest), Err(DenseError::NotFinite));
        let (matrix, mut nearest) = (vec![f64::INFINITY; 1600], vec![0.0; 1600]);
        let mut workspace = Workspace::with_precision(40, Precision::Mixed);
        assert!(workspace.nearest_roughly(&matrix, &mut nearest).is_err());
    }
}
