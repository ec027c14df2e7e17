//! The leading eigenvectors of a block matrix, all at once and certified.
//!
//! The `d` largest eigenvalues of a synchronisation problem are nearly equal, so the
//! vectors are sought as one block. Locally optimal block preconditioned conjugate
//! gradients (Knyazev 2001): with Ritz pairs `(X, Θ)`, residuals `A X - X Θ`, a
//! preconditioner `K ≈ (λ - A)⁻¹` and the last step `P`, take
//!
//! ```text
//! W = K (A X - X Θ),    X ← the leading Ritz vectors in span [X, W, P]
//! ```
//!
//! until the residual `r`, the root mean square over the wanted columns, is at most
//! `tolerance` times the gap. The block carries a few guard vectors more than wanted.
//! The Ritz value of the first guard, plus its residual, bounds the next eigenvalue,
//! and with it `gap = λ_d - λ_{d+1}`; the angle between the computed and the true
//! subspace is at most about `r / gap` (Davis and Kahan 1970). Guards begin at random,
//! so a leading vector that the start misses shows up in them and takes its place.
//! `P` is left out after a step that cut the residual to a tenth: it makes a step twice as dear.
//!
//! Cost per step with `n` rows and `m` columns: one block product and some `20 n m²` to
//! `40 n m²` operations. Small problems are decomposed densely instead.
//!
//! Sources: A. Knyazev, "Toward the optimal preconditioned eigensolver", SIAM J. Sci.
//! Comput. 23, 2001; C. Davis, W. Kahan, "The rotation of eigenvectors by a
//! perturbation", SIAM J. Numer. Anal. 7, 1970.

use super::block_matrix::BlockMatrix;
use super::dense::{DenseError, identity, symmetric_eigen};
use super::polar::Precision;
use super::real::Real;
use super::ritz::rayleigh_ritz;
use super::tall;

/// Residuals below this are rounding errors.
const ROUNDING: f64 = 1e-13;

/// A step that cuts the residual to this fraction needs no conjugate direction.
const GOOD_STEP: f64 = 0.1;

/// A projection that leaves less than this of a vector is done twice: the rest is
/// largely rounding error, and would bring the projected part back in.
const MOSTLY_PROJECTED: f64 = 0.1;

/// What is sought.
#[derive(Clone, Copy, Debug)]
pub struct EigenOptions {
    /// The number of eigenvectors.
    pub wanted: usize,
    /// The largest angle between the computed and the true subspace.
    pub tolerance: f64,
    /// The largest number of steps.
    pub max_steps: usize,
    /// In double precision the vectors are sought to the tolerance even where a narrow gap leaves the
    /// subspace open; otherwise one that explains about as much as the best is enough.
    pub precision: Precision,
}

/// Leading eigenvectors, with what is known about their quality.
#[derive(Clone, Debug)]
pub struct LeadingEigen {
    /// The wanted eigenvalues, descending.
    pub values: Vec<f64>,
    /// The wanted eigenvectors as columns of a row-major matrix.
    pub vectors: Vec<f64>,
    /// How good they are.
    pub certificate: Certificate,
}

/// What is known about the quality of eigenvectors.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Certificate {
    /// Root mean square, over the vectors, of `‖A u - λ u‖`.
    pub residual: f64,
    /// The distance from the last wanted eigenvalue to the next one, at least.
    pub gap: f64,
    /// The angle between the computed and the true subspace, at most about this.
    pub angle: f64,
    /// About how much larger the mean of the true leading eigenvalues is than the mean of those found.
    pub deficit: f64,
    /// The steps taken; 0 if the matrix was decomposed densely.
    pub steps: usize,
}

/// Why eigenvectors were not found.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum EigenError {
    /// The residual stayed too large.
    #[error(
        "eigenvectors did not converge in {} steps (residual {:.1e}, gap to the next eigenvalue {:.1e}, tolerance {tolerance:.1e})",
        .certificate.steps, .certificate.residual, .certificate.gap
    )]
    NotConverged { certificate: Certificate, tolerance: f64 },

    /// An entry is NaN or infinite.
    #[error(transparent)]
    Dense(#[from] DenseError),
}

/// Decomposes the whole matrix and takes the leading part.
///
/// If the next eigenvalue is as large as the last wanted one, the subspace is not unique: the
/// vectors are one of several equally good choices, and the certificate has a gap of zero and
/// an angle of 1.
///
/// # Errors
/// [`EigenError::Dense`] if an entry is not finite.
pub fn leading_dense(matrix: &BlockMatrix<'_>, options: &EigenOptions) -> Result<LeadingEigen, EigenError> {
    let size = matrix.num_rows() * matrix.dim();
    let wanted = options.wanted;
    let eigen = symmetric_eigen(&matrix.to_dense(), size)?;
    let vectors: Vec<f64> =
        eigen.vectors.chunks_exact(size).flat_map(|row| &row[..wanted]).copied().collect();
    let values = eigen.values[..wanted].to_vec();
    let mut product = vec![0.0; vectors.len()];
    matrix.multiply(&vectors, wanted, &mut product);
    let residual = rms(&tall::column_norms(&tall::residual(&product, &vectors, &values), wanted));
    let gap = if size > wanted { values[wanted - 1] - eigen.values[wanted] } else { 1.0 };
    let (gap, angle) = if gap > ROUNDING { (gap, residual / gap) } else { (0.0, 1.0) };
    let certificate = Certificate { residual, gap, angle, deficit: 0.0, steps: 0 };
    Ok(LeadingEigen { values, vectors, certificate })
}

/// Iterates from `start`, a row-major matrix of `columns` columns, more than wanted.
///
/// `precondition` replaces its argument by an approximation of `(λ - A)⁻¹` times it.
///
/// # Errors
/// [`EigenError::NotConverged`] with the residual if it stays too large.
pub fn leading(
    matrix: &BlockMatrix<'_>,
    start: Vec<f64>,
    columns: usize,
    precondition: impl Fn(&mut [f64]),
    options: &EigenOptions,
) -> Result<LeadingEigen, EigenError> {
    let mut iteration = Iteration::new(matrix, start, columns);
    let exact_start = iteration.exact_part(options.wanted);
    iteration.take_ritz_vectors()?;
    let mut last_residual = f64::INFINITY;
    let mut with_direction = false;
    for step in 0..=options.max_steps {
        let (residual, mut certificate) = iteration.certify(options.wanted, step);
        let mut residual = residual;
        if certificate.is_good(options) {
            // The products were carried along: compute them afresh for the certificate.
            iteration.refresh(matrix)?;
            (residual, certificate) = iteration.certify(options.wanted, step);
            if certificate.is_good(options) {
                let mut found = iteration.finish(options.wanted, certificate);
                found.vectors = exact_start.unwrap_or(found.vectors);
                return Ok(found);
            }
        }
        tracing::debug!(step, residual = certificate.residual, gap = certificate.gap, "eigenvectors");
        if step == options.max_steps {
            return Err(EigenError::NotConverged { certificate, tolerance: options.tolerance });
        }
        with_direction = with_direction || certificate.residual > GOOD_STEP * last_residual;
        last_residual = certificate.residual;
        leave_out_rounding(&mut residual, columns);
        precondition(&mut residual);
        iteration.advance(matrix, residual, with_direction && step > 0)?;
    }
    unreachable!("the last step returns")
}

impl Certificate {
    pub(super) fn is_good(&self, options: &EigenOptions) -> bool {
        self.gap > 0.0 && self.residual <= (options.tolerance * self.gap).max(ROUNDING)
    }
}

/// The state between steps: Ritz vectors, the last step, and their products.
pub(super) struct Iteration<F> {
    columns: usize,
    pub(super) values: Vec<f64>,
    pub(super) x: Vec<F>,
    pub(super) ax: Vec<F>,
    /// The last step and its product; empty before the first.
    p: Vec<F>,
    ap: Vec<F>,
}

impl<F: Real> Iteration<F> {
    /// The start and its products, before Ritz vectors are taken.
    pub(super) fn new(matrix: &BlockMatrix<'_, F>, start: Vec<F>, columns: usize) -> Self {
        let ax = vec![F::default(); start.len()];
        let values = vec![0.0; columns];
        let mut iteration = Self { columns, values, x: start, ax, p: Vec::new(), ap: Vec::new() };
        matrix.multiply(&iteration.x, columns, &mut iteration.ax);
        iteration
    }

    /// Computes the products afresh and takes the Ritz vectors of the block alone.
    pub(super) fn refresh(&mut self, matrix: &BlockMatrix<'_, F>) -> Result<(), EigenError> {
        matrix.multiply(&self.x, self.columns, &mut self.ax);
        self.take_ritz_vectors()
    }

    /// Takes the Ritz vectors of the block alone.
    pub(super) fn take_ritz_vectors(&mut self) -> Result<(), EigenError> {
        let m = self.columns;
        let overlaps = tall::symmetric_gram(&self.x, &self.x, m);
        let energies = tall::symmetric_gram(&self.x, &self.ax, m);
        let ritz = rayleigh_ritz(&overlaps, &energies, m, m)?;
        self.values = ritz.values;
        for tall_matrix in [&mut self.x, &mut self.ax] {
            tall::multiply_right(tall_matrix, &ritz.vectors, m);
        }
        Ok(())
    }

    /// What the lengths of the residuals say about the wanted vectors.
    pub(super) fn certificate(&self, norms: &[f64], wanted: usize, steps: usize) -> Certificate {
        let next = self.values[wanted] + norms[wanted];
        let gap = self.values[wanted - 1] - next;
        let rms = rms(&norms[..wanted]);
        // Residuals are orthogonal to the block, and what is there has eigenvalues up to about
        // the last Ritz value: to second order each Ritz value lacks the square over the distance.
        let last = self.values[self.columns - 1];
        let lacking = norms.iter().zip(&self.values).take(wanted);
        let lacking = lacking.map(|(norm, value)| norm * norm / (value - last).max(ROUNDING)).sum::<f64>();
        let deficit = lacking / wanted as f64;
        Certificate { residual: rms, gap, angle: rms / gap, deficit, steps }
    }

    pub(super) fn finish(self, wanted: usize, certificate: Certificate) -> LeadingEigen {
        let vectors = tall::first_columns(&self.x, self.columns, wanted);
        LeadingEigen { values: self.values[..wanted].to_vec(), vectors, certificate }
    }
}

impl Iteration<f64> {
    /// The first columns, if they are orthonormal and span an invariant subspace up to
    /// rounding. Then they are better than what the iteration makes of them: where the gap
    /// is narrow, mixing in the guards magnifies rounding errors by its inverse.
    fn exact_part(&self, wanted: usize) -> Option<Vec<f64>> {
        let [x, mut rest] = [&self.x, &self.ax].map(|tall| tall::first_columns(tall, self.columns, wanted));
        let overlaps = tall::gram(&x, wanted, &x, wanted);
        let skewed = overlaps.iter().zip(identity(wanted)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let energies = tall::gram(&x, wanted, &rest, wanted);
        tall::subtract_product(&mut rest, &x, &energies, wanted);
        (skewed.max(rms(&tall::column_norms(&rest, wanted))) <= ROUNDING).then_some(x)
    }

    /// The residuals, and what they say about the wanted vectors.
    pub(super) fn certify(&self, wanted: usize, steps: usize) -> (Vec<f64>, Certificate) {
        let residual = tall::residual(&self.ax, &self.x, &self.values);
        let certificate = self.certificate(&tall::column_norms(&residual, self.columns), wanted, steps);
        (residual, certificate)
    }

    /// Takes the leading Ritz vectors in the span of `X`, `W` and, if asked, `P`.
    fn advance(
        &mut self,
        matrix: &BlockMatrix<'_>,
        mut w: Vec<f64>,
        with_direction: bool,
    ) -> Result<(), EigenError> {
        let m = self.columns;
        for last in [&mut self.p, &mut self.ap] {
            last.resize(w.len(), 0.0);
        }
        normalise(&mut w, m);
        if self.project(&mut w) < MOSTLY_PROJECTED {
            self.project(&mut w);
        }
        let mut aw = vec![0.0; w.len()];
        matrix.multiply(&w, m, &mut aw);

        let parts = if with_direction { 3 } else { 2 };
        let basis = &[&self.x, &w, &self.p][..parts];
        let products = &[&self.ax, &aw, &self.ap][..parts];
        let overlaps = gram_of_parts(basis, basis, m);
        let energies = gram_of_parts(basis, products, m);
        let ritz = rayleigh_ritz(&overlaps, &energies, parts * m, m)?;
        let part = |index: usize| &ritz.vectors[index * m * m..][..m * m];
        let direction = with_direction.then(|| part(2));
        tall::recombine([&mut self.x, &mut w, &mut self.p], [part(0), part(1)], direction, m);
        tall::recombine([&mut self.ax, &mut aw, &mut self.ap], [part(0), part(1)], direction, m);
        self.values = ritz.values;
        Ok(())
    }

    /// Takes the part along `X` out of `w`, and scales its columns to length one again;
    /// the smallest length that was left.
    fn project(&self, w: &mut [f64]) -> f64 {
        let m = self.columns;
        let overlap = tall::gram(&self.x, m, w, m);
        tall::subtract_product(w, &self.x, &overlap, m);
        normalise(w, m)
    }
}

/// Sets residuals that are rounding errors to zero: a preconditioner would blow them up,
/// and vectors that are exact already stay so.
fn leave_out_rounding(residual: &mut [f64], columns: usize) {
    let norms = tall::column_norms(residual, columns);
    let factors: Vec<f64> = norms.iter().map(|&norm| if norm > ROUNDING { 1.0 } else { 0.0 }).collect();
    tall::scale_columns(residual, &factors);
}

/// Scales columns to length one; the smallest length before, of those that have any.
fn normalise(w: &mut [f64], columns: usize) -> f64 {
    let norms = tall::column_norms(w, columns);
    let inverse: Vec<f64> = norms.iter().map(|norm| 1.0 / norm.max(f64::MIN_POSITIVE)).collect();
    tall::scale_columns(w, &inverse);
    norms.into_iter().filter(|&norm| norm > 0.0).fold(f64::INFINITY, f64::min)
}

fn rms(values: &[f64]) -> f64 {
    (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt()
}

/// The symmetric matrix of inner products between parts of `m` columns each.
fn gram_of_parts(left: &[&Vec<f64>], right: &[&Vec<f64>], m: usize) -> Vec<f64> {
    let size = left.len() * m;
    let mut whole = vec![0.0; size * size];
    for (i, a) in left.iter().enumerate() {
        for (j, b) in right.iter().enumerate().take(i + 1) {
            let block = tall::gram(a, m, b, m);
            for r in 0..m {
                for c in 0..m {
                    whole[(i * m + r) * size + j * m + c] = block[r * m + c];
                    whole[(j * m + c) * size + i * m + r] = block[r * m + c];
                }
            }
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::seed::{Seed, Stage};

    /// A ring of blocks close to the identity, with a known two-fold leading pair.
    fn ring(num_rows: u32, dim: usize, noise: f64) -> (Vec<(u32, u32)>, Vec<f64>) {
        let mut random = Seed(2).stream(Stage::Align, 0);
        let edges: Vec<_> = (0..num_rows).map(|row| (row, (row + 1) % num_rows)).collect();
        let mut block = || {
            let mut block = identity(dim);
            block.iter_mut().for_each(|entry| *entry += noise * random.random::<f64>());
            block
        };
        let blocks = edges.iter().flat_map(|_| block()).collect();
        (edges, blocks)
    }

    #[test]
    fn iteration_agrees_with_the_dense_decomposition() {
        let (edges, blocks) = ring(40, 3, 0.05);
        let matrix = BlockMatrix::new(40, 3, &edges, &blocks, vec![0.5; 40]);
        let options =
            EigenOptions { wanted: 3, tolerance: 1e-9, max_steps: 500, precision: Precision::Mixed };
        let dense = leading_dense(&matrix, &options).unwrap();
        let mut random = Seed(3).stream(Stage::Align, 0);
        let start: Vec<f64> = (0..120 * 5).map(|_| random.random::<f64>() - 0.5).collect();
        let found = leading(&matrix, start, 5, |_| {}, &options).unwrap();
        for (a, b) in found.values.iter().zip(&dense.values) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
        // The subspaces agree if the vectors of one, projected on the other, keep their length.
        let overlaps = tall::gram(&found.vectors, 3, &dense.vectors, 3);
        assert!((overlaps.iter().map(|v| v * v).sum::<f64>() - 3.0).abs() < 1e-12);
        assert!(found.certificate.angle <= 1e-9);
    }

    #[test]
    fn a_tie_is_told_by_the_certificate() {
        // A cycle of four with one sign turned round: 1/√2 is an eigenvalue twice.
        let edges = [(0, 1), (1, 2), (2, 3), (3, 0)];
        let matrix = BlockMatrix::new(4, 1, &edges, &[1.0, 1.0, 1.0, -1.0], vec![0.5; 4]);
        let options = EigenOptions { wanted: 1, tolerance: 1e-9, max_steps: 10, precision: Precision::Mixed };
        let found = leading_dense(&matrix, &options).unwrap();
        assert!((found.values[0] - 0.5_f64.sqrt()).abs() < 1e-15);
        assert_eq!((found.certificate.gap, found.certificate.angle), (0.0, 1.0));
        assert!(found.certificate.residual < 1e-15);
    }

    #[test]
    fn too_few_steps_are_an_error_with_the_residual() {
        let (edges, blocks) = ring(200, 3, 0.05);
        let matrix = BlockMatrix::new(200, 3, &edges, &blocks, vec![0.5; 200]);
        let mut random = Seed(3).stream(Stage::Align, 0);
        let start: Vec<f64> = (0..600 * 5).map(|_| random.random::<f64>() - 0.5).collect();
        let options = EigenOptions { wanted: 3, tolerance: 1e-9, max_steps: 2, precision: Precision::Mixed };
        let error = leading(&matrix, start, 5, |_| {}, &options).unwrap_err();
        assert!(error.to_string().starts_with("eigenvectors did not converge in 2 steps"), "{error}");
    }
}
