//! The iteration to the nearest orthogonal matrix.
//!
//! `Y ← Y (3 - YᵀY) / 2` takes every singular value of `Y` that is not zero to 1, by products alone
//! (Björck and Bowie 1971); close to the end each step squares the distance. Small singular values
//! grow 1.5 times a step. Where some are much smaller than others, some steps are
//!
//! ```text
//! Y ← a Y (3 - a² YᵀY) / 2,    a² = 3 / (1 + s + s²)
//! ```
//!
//! which brings singular values between `s` and 1 closest to each other, and lets small ones grow 2.5
//! times (Chen and Chow 2014). `a` has an upper limit, so that no singular value falls to the size of
//! rounding errors. Cost: `O(d³)` a step. No randomness.
//!
//! Source: Å. Björck, C. Bowie, "An iterative algorithm for computing the best estimate of an
//! orthogonal matrix", SIAM J. Numer. Anal. 8, 1971; J. Chen, E. Chow, "A stable scaling of
//! Newton-Schulz for improving the sign function computation of a Hermitian matrix", preprint
//! ANL/MCS-P5059-0114, 2014.

use super::dense::{lower_product, multiply, view, view_mut};
use super::lanes::squared_norm;
use super::real::Real;

/// How the iteration goes on, and how long.
pub(super) struct Plan {
    /// Below this distance from orthogonal, one more step is the last.
    last_step: f64,
    /// The largest number of steps.
    max_steps: usize,
    /// Singular values are much alike if the mean of their squares is at least this fraction of
    /// the largest square, and plain steps are tried.
    alike: f64,
}

/// To rounding error. The steps are enough if the smallest singular value is some
/// hundred-millionth of the largest.
pub(super) const EXACT: Plan = Plan { last_step: 1e-8, max_steps: 28, alike: 0.25 };

/// In single precision: the steps are enough for singular values that are rounding errors.
pub(super) const SINGLE: Plan = Plan { last_step: 0.02, max_steps: 32, alike: 0.9 };

/// From there on, in double precision.
pub(super) const FROM_SINGLE: Plan = Plan { last_step: 1e-6, max_steps: 4, alike: 0.0 };

/// A distance above `STILL_FAR` after `PLAIN_STEPS` plain steps means that some singular values are
/// still small, and steps are stretched from there on.
const PLAIN_STEPS: usize = 6;
const STILL_FAR: f64 = 0.95;

/// Stretched steps take singular values from here to `ALL_ALIKE`; from there on plain steps are
/// as good. If some were smaller still, and now are not alike, stretching goes on from there.
const SMALLEST: f64 = 1e-5;
const STILL_SMALL: f64 = 1e-2;
const ALL_ALIKE: f64 = 0.99;

/// Steps are not stretched by more: the largest singular values, which become the smallest,
/// stay above 0.1, and rounding errors small beside them.
const MAX_STRETCH: f64 = 1.697_702;

/// The state of the iteration.
pub(super) struct Iteration<F> {
    dim: usize,
    /// The matrix that becomes orthogonal.
    pub(super) y: Vec<F>,
    /// `YᵀY`, of which the lower triangle counts.
    gram: Vec<F>,
    /// The next `Y`.
    next: Vec<F>,
}

impl<F: Real> Iteration<F> {
    pub(super) fn new(dim: usize) -> Self {
        let [y, gram, next] = [(); 3].map(|()| vec![F::default(); dim * dim]);
        Self { dim, y, gram, next }
    }

    /// Begins with a matrix whose largest singular value is about 1.
    pub(super) fn start(&mut self, matrix: impl Iterator<Item = F>) {
        self.y.iter_mut().zip(matrix).for_each(|(target, entry)| *target = entry);
    }

    /// Iterates as planned; whether it got there.
    pub(super) fn run(&mut self, plan: &Plan) -> bool {
        // Singular values are taken to lie from here to 1.
        let mut smallest = 1.0;
        let mut stretched = false;
        for step in 0..plan.max_steps {
            let distance = self.measure();
            if distance < plan.last_step {
                self.advance(1.0);
                return true;
            }
            if distance.is_nan() {
                return false;
            }
            let mut stretch = 1.0;
            if step == 0 && self.mean_square() < plan.alike {
                // A stretched step changes the sign of a singular value above √3 / a, so all must be
                // at most 1 before: they are divided by an upper bound, the fourth root of the sum of
                // their fourth powers.
                let bound = self.distance_from(0.0).sqrt();
                (stretch, smallest) = (1.0 / bound, SMALLEST);
            }
            if smallest >= ALL_ALIKE && distance > STILL_FAR && (stretched || step >= PLAIN_STEPS) {
                smallest = if stretched { STILL_SMALL } else { SMALLEST };
            }
            if smallest < ALL_ALIKE {
                stretched = true;
                let best = (3.0_f64 / (1.0 + smallest + smallest * smallest)).sqrt().min(MAX_STRETCH);
                stretch *= best;
                smallest *= best * (3.0 - (best * smallest).powi(2)) / 2.0;
            }
            self.advance(stretch);
        }
        false
    }

    /// Computes `YᵀY`; its distance from the identity.
    pub(super) fn measure(&mut self) -> f64 {
        let y = view(&self.y, self.dim, self.dim);
        lower_product(view_mut(&mut self.gram, self.dim, self.dim), y, y);
        self.distance_from(1.0)
    }

    /// The distance of the measured `YᵀY` from so many times the identity.
    fn distance_from(&self, multiple: f64) -> f64 {
        let squares = self
            .gram
            .chunks_exact(self.dim)
            .enumerate()
            .map(|(k, row)| 2.0 * squared_norm(&row[..k]) + (row[k].to_f64() - multiple).powi(2));
        squares.sum::<f64>().sqrt()
    }

    /// The mean of the squares of the singular values of the measured `Y`.
    fn mean_square(&self) -> f64 {
        self.gram.iter().step_by(self.dim + 1).map(|entry| entry.to_f64()).sum::<f64>() / self.dim as f64
    }

    /// `Y ← a Y (3 - a² YᵀY) / 2` for the measured `Y`.
    pub(super) fn advance(&mut self, a: f64) {
        let dim = self.dim;
        let (of_identity, of_gram) = (F::of(1.5 * a), F::of(-0.5 * a * a * a));
        for row in 0..dim {
            for column in 0..row {
                let entry = of_gram * self.gram[row * dim + column];
                self.gram[row * dim + column] = entry;
                self.gram[column * dim + row] = entry;
            }
            let diagonal = &mut self.gram[row * dim + row];
            *diagonal = of_gram * *diagonal + of_identity;
        }
        let (y, factor) = (view(&self.y, dim, dim), view(&self.gram, dim, dim));
        multiply(view_mut(&mut self.next, dim, dim), y, factor);
        std::mem::swap(&mut self.y, &mut self.next);
    }
}
