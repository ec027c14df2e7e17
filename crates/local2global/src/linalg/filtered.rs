//! The leading eigenvectors of a block matrix, by filtered subspace iteration.
//!
//! A polynomial of the matrix is applied to a block of vectors: the Chebyshev polynomial that
//! is small on the unwanted part of the spectrum, from -1 to the smallest Ritz value `β` of
//! the block, and grows fast above it. Then Ritz vectors are taken, and so on until the wanted
//! ones are good (Zhou, Saad, Tiago and Chelikowsky 2006).
//!
//! ```text
//! X ← T_k((A - c) / e) X,    c = (β - 1) / 2,    e = (β + 1) / 2
//! ```
//!
//! Beside the conjugate gradients of [`eigen`](super::eigen) this needs many products with the
//! matrix and few between tall matrices, and no preconditioner. So it is the better one where
//! there is none, the leading eigenvalues spread out and the gap after them is narrow, as
//! with noisy measurements; with many guard vectors the narrow gap does not matter, since what
//! counts is the distance from the last wanted eigenvalue to `β`.
//!
//! The degree is the largest that keeps the block well conditioned: the first vector may be
//! amplified `MAX_AMPLIFICATION` times as much as the last. As long as the residual is far from
//! rounding errors, everything but sums over all rows is computed in single precision.
//! Cost per round: `k` block products and some `8 n m²` operations. No randomness.
//!
//! *When to stop.* With measurements that contradict each other, `ν = 1 - mean of the wanted
//! eigenvalues` is what even the best solution leaves unexplained. Where the gap after the
//! wanted eigenvalues is far below `ν`, the measurements do not determine the subspace: slightly
//! different ones have another, and this one's vectors to seven digits tell nothing. What
//! is sought then is a subspace that explains as much as the best ([`Certificate::deficit`]): to
//! half a percent of `ν` in a problem of moderate size, to a quarter in a large one; the
//! certificate has an angle of 1. If double precision is asked for ([`EigenOptions::precision`]), the
//! vectors themselves are sought as long as that takes no more than `EXACT_FLOPS` operations.
//!
//! Source: Y. Zhou, Y. Saad, M. Tiago, J. Chelikowsky, "Self-consistent-field calculations
//! using Chebyshev-filtered subspace iteration", J. Comput. Phys. 219, 2006.

use rayon::prelude::*;

use super::block_matrix::BlockMatrix;
use super::eigen::{Certificate, EigenError, EigenOptions, Iteration, LeadingEigen};
use super::polar::Precision;
use super::real::Real;
use super::tall;

/// How much more the first vector may be amplified than the last. Vectors are orthonormal
/// before, so afterwards each keeps a part of at least its inverse that the others have not.
const MAX_AMPLIFICATION: f64 = 1e4;

/// The degree of the polynomial.
const DEGREES: std::ops::RangeInclusive<f64> = 2.0..=40.0;

/// Single precision is used down to this residual.
const SINGLE_RESIDUAL: f64 = 3e-5;

/// A round that leaves more than this share of the residual has reached the rounding errors.
const STALLED: f64 = 0.9;

/// A gap below this share of what is unexplained leaves the subspace open.
const OPEN_GAP: f64 = 0.01;

/// Residuals are made smaller than they need be by this factor.
const MARGIN: f64 = 1.5;

/// Where the subspace is open, the largest deficit we accept, as a share of the unexplained variance:
/// `CLOSE_DEFICIT` until `CHEAP_FLOPS` operations were spent on products, `OPEN_DEFICIT` afterwards.
const CLOSE_DEFICIT: f64 = 0.005;
const OPEN_DEFICIT: f64 = 0.25;
const CHEAP_FLOPS: f64 = 6e10;

/// Where double precision is asked for, an open subspace is accepted only after so many operations.
const EXACT_FLOPS: f64 = 4e11;

/// Values that a thread takes at a time where vectors are combined.
const CHUNK: usize = 1 << 14;

/// Iterates from `start`, a row-major matrix of `columns` columns, more than wanted. The
/// spectrum of `matrix` must lie between -1 and 1. Steps are products with the matrix.
///
/// # Errors
/// [`EigenError::NotConverged`] with the residual if it stays too large.
pub fn leading_filtered(
    matrix: &BlockMatrix<'_>,
    start: Vec<f64>,
    columns: usize,
    options: &EigenOptions,
) -> Result<LeadingEigen, EigenError> {
    let single = matrix.to_single();
    let start: Vec<f32> = start.into_par_iter().map(|value| value as f32).collect();
    let mut rough = Iteration::new(&single, start, columns);
    let mut steps = 1;
    if let Some(certificate) = iterate(&single, &mut rough, SINGLE_RESIDUAL, &mut steps, options)? {
        return Ok(rough.finish(options.wanted, certificate));
    }
    let start = rough.x.par_iter().map(|&value| f64::from(value)).collect();
    drop((rough, single));
    let mut iteration = Iteration::new(matrix, start, columns);
    steps += 1;
    match iterate(matrix, &mut iteration, 0.0, &mut steps, options)? {
        Some(certificate) => Ok(iteration.finish(options.wanted, certificate)),
        None => unreachable!("no residual is below zero"),
    }
}

/// Takes Ritz vectors and filters, until the vectors are good, and then there is a certificate, or
/// until the residual is below `down_to`, or, if that is above zero, becomes no smaller.
fn iterate<F: Real>(
    matrix: &BlockMatrix<'_, F>,
    iteration: &mut Iteration<F>,
    down_to: f64,
    steps: &mut usize,
    options: &EigenOptions,
) -> Result<Option<Certificate>, EigenError> {
    let columns = iteration.values.len();
    let mut last_residual = f64::INFINITY;
    loop {
        iteration.take_ritz_vectors()?;
        let norms = tall::residual_norms(&iteration.ax, &iteration.x, &iteration.values);
        let certificate = iteration.certificate(&norms, options.wanted, *steps);
        if certificate.is_good(options) {
            return Ok(Some(certificate));
        }
        let spent = *steps as f64 * matrix.product_flops(columns);
        let deficit = if spent < CHEAP_FLOPS { CLOSE_DEFICIT } else { OPEN_DEFICIT };
        let may_be_open = options.precision == Precision::Mixed || spent > EXACT_FLOPS;
        let excess = match may_be_open {
            true => open_excess(&iteration.values, &certificate, options.wanted, deficit),
            false => None,
        };
        if excess.is_some_and(|excess| excess <= 1.0) {
            return Ok(Some(Certificate { gap: certificate.gap.max(0.0), angle: 1.0, ..certificate }));
        }
        tracing::debug!(steps, residual = certificate.residual, gap = certificate.gap, "eigenvectors");
        let stalled = down_to > 0.0 && certificate.residual > STALLED * last_residual;
        if certificate.residual < down_to || stalled {
            return Ok(None);
        }
        last_residual = certificate.residual;
        if *steps >= options.max_steps {
            return Err(EigenError::NotConverged { certificate, tolerance: options.tolerance });
        }
        let mut filter = Filter::new(iteration.values[0], iteration.values[columns - 1]);
        // The estimate of the deficit means something once it is below the unexplained variance.
        if let Some(excess) = excess.filter(|excess| excess * deficit < 1.0) {
            filter.limit_to(excess.sqrt(), iteration.values[options.wanted - 1]);
        }
        filter.apply(matrix, columns, &mut iteration.x, &mut iteration.ax);
        matrix.multiply(&iteration.x, columns, &mut iteration.ax);
        *steps += filter.degree + 1;
    }
}

/// How far the subspace found is from good enough: its deficit divided by the largest deficit we
/// accept, a `share` of the unexplained variance. `None` if the spectral gap is wide enough to fix
/// the subspace.
fn open_excess(values: &[f64], certificate: &Certificate, wanted: usize, share: f64) -> Option<f64> {
    let unexplained = 1.0 - values[..wanted].iter().sum::<f64>() / wanted as f64;
    let gap = values[wanted - 1] - values[wanted];
    (gap < OPEN_GAP * unexplained).then_some(certificate.deficit / (share * unexplained))
}

/// A Chebyshev polynomial, scaled to be 1 at the largest Ritz value.
struct Filter {
    degree: usize,
    centre: f64,
    half_width: f64,
    largest: f64,
}

impl Filter {
    /// The filter for Ritz values from `smallest` to `largest`.
    fn new(largest: f64, smallest: f64) -> Self {
        let (centre, half_width) = ((smallest - 1.0) / 2.0, (smallest + 1.0) / 2.0);
        let place = ((largest - centre) / half_width).max(1.0 + 1e-12);
        let degree = MAX_AMPLIFICATION.acosh() / place.acosh();
        Self { degree: degree.clamp(*DEGREES.start(), *DEGREES.end()) as usize, centre, half_width, largest }
    }

    /// Limits the degree to what makes a residual at `value` smaller by `factor`.
    fn limit_to(&mut self, factor: f64, value: f64) {
        let place = ((value - self.centre) / self.half_width).max(1.0 + 1e-12);
        let degree = (factor.max(1.0) * MARGIN).acosh() / place.acosh();
        self.degree = self.degree.min(degree.clamp(*DEGREES.start(), *DEGREES.end()) as usize);
    }

    /// Replaces the vectors `x` by the polynomial of the matrix times them, by the three-term
    /// recurrence, scaled at each step so that nothing overflows. `ax` must hold the product with
    /// the vectors, and is overwritten.
    fn apply<F: Real>(&self, matrix: &BlockMatrix<'_, F>, columns: usize, x: &mut Vec<F>, ax: &mut [F]) {
        let first = self.half_width / (self.largest - self.centre);
        let mut current = ax.to_vec();
        let factor = first / self.half_width;
        combine(&mut current, x, [factor, -self.centre * factor]);
        let mut scale = first;
        for _ in 2..=self.degree {
            let next_scale = 1.0 / (2.0 / first - scale);
            matrix.multiply(&current, columns, ax);
            let factor = 2.0 * next_scale / self.half_width;
            // previous ← factor (A - c) current - scale next_scale previous
            recur(x, &current, ax, [factor, -self.centre * factor, -scale * next_scale]);
            std::mem::swap(x, &mut current);
            scale = next_scale;
        }
        std::mem::swap(x, &mut current);
    }
}

/// `a ← f a + g b`.
fn combine<F: Real>(a: &mut [F], b: &[F], factors: [f64; 2]) {
    let [f, g] = factors.map(F::of);
    a.par_chunks_mut(CHUNK).zip(b.par_chunks(CHUNK)).for_each(|(a, b)| {
        a.iter_mut().zip(b).for_each(|(a, &b)| *a = f * *a + g * b);
    });
}

/// `previous ← f product + g current + h previous`.
fn recur<F: Real>(previous: &mut [F], current: &[F], product: &[F], factors: [f64; 3]) {
    let [f, g, h] = factors.map(F::of);
    let others = current.par_chunks(CHUNK).zip(product.par_chunks(CHUNK));
    previous.par_chunks_mut(CHUNK).zip(others).for_each(|(previous, (current, product))| {
        for ((previous, &current), &product) in previous.iter_mut().zip(current).zip(product) {
            *previous = f * product + g * current + h * *previous;
        }
    });
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::linalg::eigen::leading_dense;
    use crate::linalg::polar::random_orthogonal;
    use crate::seed::{Seed, Stage};

    /// The leading vectors, filtered and by decomposition, of a matrix in which every patch is
    /// joined with four others by rotations that do not fit together at all.
    fn filtered_and_dense(num_rows: u32, dim: usize, seed: u64, precision: Precision) -> [LeadingEigen; 2] {
        let mut random = Seed(seed).stream(Stage::Align, 0);
        let edges: Vec<_> =
            (0..num_rows).flat_map(|i| [1, 7].map(|step| (i, (i + step) % num_rows))).collect();
        let blocks: Vec<f64> = edges.iter().flat_map(|_| random_orthogonal(dim, &mut random)).collect();
        let matrix = BlockMatrix::new(num_rows as usize, dim, &edges, &blocks, vec![0.25; edges.len()]);
        let options = EigenOptions { wanted: dim, tolerance: 1e-8, max_steps: 3000, precision };
        let (size, columns) = (num_rows as usize * dim, 2 * dim);
        let start: Vec<f64> = (0..size * columns).map(|_| random.random::<f64>() - 0.5).collect();
        let found = leading_filtered(&matrix, start, columns, &options).unwrap();
        [found, leading_dense(&matrix, &options).unwrap()]
    }

    #[test]
    fn filtering_agrees_with_the_dense_decomposition() {
        let dim = 4;
        let [found, dense] = filtered_and_dense(60, dim, 2, Precision::Mixed);
        for (a, b) in found.values.iter().zip(&dense.values) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
        let overlaps = tall::gram(&found.vectors, dim, &dense.vectors, dim);
        assert!((overlaps.iter().map(|v| v * v).sum::<f64>() - dim as f64).abs() < 1e-12);
        assert!(found.certificate.angle <= 1e-8 && found.certificate.steps > 1);
    }

    #[test]
    fn where_measurements_leave_the_subspace_open_one_as_good_as_the_best_is_found() {
        // With many patches the leading eigenvalues lie close together.
        let dim = 8;
        let [found, dense] = filtered_and_dense(150, dim, 5, Precision::Mixed);
        let sum = |values: &[f64]| values.iter().sum::<f64>();
        let (best, lacking) = (sum(&dense.values), sum(&dense.values) - sum(&found.values));
        assert!(dense.certificate.gap < OPEN_GAP * (1.0 - best / dim as f64));
        assert_eq!(found.certificate.angle, 1.0);
        assert!(lacking > 0.0 && lacking < CLOSE_DEFICIT * (dim as f64 - best), "{lacking}");
    }

    #[test]
    fn in_double_precision_the_vectors_themselves_are_found_however_narrow_the_gap() {
        let dim = 8;
        let [found, dense] = filtered_and_dense(150, dim, 5, Precision::Double);
        let overlaps = tall::gram(&found.vectors, dim, &dense.vectors, dim);
        let apart = dim as f64 - overlaps.iter().map(|v| v * v).sum::<f64>();
        assert!(apart.abs() < 1e-12 && found.certificate.angle < 1e-7, "{apart} {:?}", found.certificate);
    }

    #[test]
    fn the_filter_is_one_at_the_top_and_small_below() {
        // On a matrix of 1 x 1 blocks without edges, A = 0, the filter is its value at 0.
        let matrix = BlockMatrix::new(1, 1, &[], &[], vec![]);
        let filter = Filter::new(0.9, -0.4);
        let mut x = vec![1.0];
        filter.apply(&matrix, 1, &mut x, &mut [0.0]);
        let chebyshev = |t: f64| (filter.degree as f64 * t.acosh()).cosh();
        let place = |value: f64| (value - filter.centre) / filter.half_width;
        let expected = chebyshev(place(0.0)) / chebyshev(place(0.9));
        assert!((x[0] / expected - 1.0).abs() < 1e-9, "{x:?} {expected}");
    }
}
