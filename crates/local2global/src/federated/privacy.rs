//! Clipped rows and Gaussian noise, and the privacy that a share spends.
//!
//! Every shared row is pulled back to length `clip` if it is longer. Replacing the row of one node by
//! any other then moves the share by at most `2 clip`, its sensitivity. With noise of standard
//! deviation `sigma` on every coordinate, two shares that differ in one row can hardly be told apart:
//! for every set of outcomes the probabilities satisfy `P <= e^epsilon P' + delta`. The analytic
//! Gaussian mechanism takes the smallest `sigma` for which this holds,
//!
//! ```text
//! Φ(s/2σ - εσ/s) - e^ε Φ(-s/2σ - εσ/s) <= δ,    s = 2 clip
//! ```
//!
//! The promise is about the row of one node in one share. It says nothing about which nodes are
//! shared, and every further share of changed rows spends as much again.
//!
//! Source: Balle and Wang, "Improving the Gaussian Mechanism for Differential Privacy: Analytical
//! Calibration and Optimal Denoising", ICML 2018.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use super::FederatedError;
use crate::linalg::lanes::squared_norm;

/// Smaller `delta` is lost in rounding.
const LEAST_DELTA: f64 = 1e-12;

/// Above this `epsilon` promises nothing.
const LARGEST_EPSILON: f64 = 100.0;

/// What one share may spend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Privacy {
    /// How much likelier an outcome may become, as a power of e.
    pub epsilon: f64,
    /// The probability with which that may fail.
    pub delta: f64,
    /// The greatest length of a row.
    pub clip: f64,
}

/// The privacy that a share has spent, as it stands in `share.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrivacySpent {
    /// How the noise was calibrated.
    pub mechanism: String,
    /// How much likelier an outcome may become, as a power of e.
    pub epsilon: f64,
    /// The probability with which that may fail.
    pub delta: f64,
    /// The greatest length of a row before noise.
    pub clip: f64,
    /// How far the share moves if one row is replaced.
    pub sensitivity: f64,
    /// The standard deviation of the noise on every coordinate.
    pub sigma: f64,
}

impl Privacy {
    /// The noise that this takes.
    ///
    /// # Errors
    /// [`FederatedError::Privacy`] if a part is out of range.
    ///
    /// # Examples
    /// ```
    /// use local2global::federated::Privacy;
    ///
    /// let spent = Privacy { epsilon: 1.0, delta: 1e-5, clip: 0.5 }.spent()?;
    /// // The classical calibration would take 4.84.
    /// assert!((spent.sigma - 3.73).abs() < 0.01);
    /// # Ok::<(), local2global::federated::FederatedError>(())
    /// ```
    pub fn spent(&self) -> Result<PrivacySpent, FederatedError> {
        let Self { epsilon, delta, clip } = *self;
        let wrong = |name, found, needed| Err(FederatedError::Privacy { name, found, needed });
        if !(epsilon > 0.0 && epsilon <= LARGEST_EPSILON) {
            return wrong("epsilon", epsilon, "above 0 and at most 100");
        }
        if !(LEAST_DELTA..0.5).contains(&delta) {
            return wrong("delta", delta, "1e-12 or more, and below 0.5");
        }
        if !(clip > 0.0 && clip.is_finite()) {
            return wrong("clip", clip, "a length above 0");
        }
        let sensitivity = 2.0 * clip;
        let sigma = sensitivity * noise_multiplier(epsilon, delta);
        let mechanism = "analytic Gaussian mechanism (Balle and Wang 2018), for one row of one share".into();
        Ok(PrivacySpent { mechanism, epsilon, delta, clip, sensitivity, sigma })
    }
}

impl PrivacySpent {
    /// Adds noise; the same seed gives the same noise.
    pub(super) fn add_noise(&self, seed: [u8; 32], coords: &mut [f64]) {
        let mut random = ChaCha20Rng::from_seed(seed);
        coords.iter_mut().for_each(|value| *value += self.sigma * random.sample::<f64, _>(StandardNormal));
    }
}

/// Pulls longer rows back to length `clip`, and counts them.
pub(super) fn clip_rows(coords: &mut [f64], dim: usize, clip: f64) -> usize {
    let mut clipped = 0;
    for row in coords.chunks_exact_mut(dim) {
        let length = squared_norm(row).sqrt();
        if length > clip {
            row.iter_mut().for_each(|value| *value *= clip / length);
            clipped += 1;
        }
    }
    clipped
}

/// The smallest standard deviation for sensitivity 1, found by bisection, from above.
fn noise_multiplier(epsilon: f64, delta: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while spent_delta(high, epsilon) > delta {
        (low, high) = (high, 2.0 * high);
    }
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return high;
        }
        if spent_delta(middle, epsilon) > delta { low = middle } else { high = middle }
    }
}

/// The `delta` that noise of standard deviation `sigma` spends beside `epsilon`, for sensitivity 1.
fn spent_delta(sigma: f64, epsilon: f64) -> f64 {
    let (half, slope) = (0.5 / sigma, epsilon * sigma);
    normal_below(half - slope) - epsilon.exp() * normal_below(-half - slope)
}

/// The probability that a standard normal number is below `x`.
fn normal_below(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_the_least_that_keeps_the_promise() {
        for epsilon in [0.01, 0.1, 1.0, 4.0, 30.0, 100.0] {
            for delta in [1e-12, 1e-6, 1e-3, 0.3] {
                let sigma = noise_multiplier(epsilon, delta);
                assert!(spent_delta(sigma, epsilon) <= delta, "{epsilon} {delta}");
                assert!(spent_delta(0.999 * sigma, epsilon) > delta, "{epsilon} {delta}: {sigma}");
            }
        }
    }

    #[test]
    fn noise_is_less_than_by_the_classical_formula() {
        for epsilon in [0.1, 0.5, 1.0] {
            let classical = (2.0 * (1.25e5_f64).ln()).sqrt() / epsilon;
            let sigma = noise_multiplier(epsilon, 1e-5);
            assert!(sigma < classical && sigma > 0.6 * classical, "{epsilon}: {sigma} {classical}");
        }
    }

    #[test]
    fn long_rows_are_pulled_back_and_short_ones_stay() {
        let mut rows = [3.0, 4.0, 0.3, -0.4];
        assert_eq!(clip_rows(&mut rows, 2, 1.0), 1);
        assert!((rows[0] - 0.6).abs() < 1e-15 && (rows[1] - 0.8).abs() < 1e-15, "{rows:?}");
        assert_eq!(rows[2..], [0.3, -0.4]);
    }

    #[test]
    fn noise_has_the_deviation_that_was_promised() {
        let spent = Privacy { epsilon: 2.0, delta: 1e-6, clip: 3.0 }.spent().unwrap();
        let mut noise = vec![0.0; 100_000];
        spent.add_noise([5; 32], &mut noise);
        let deviation = (squared_norm(&noise) / 1e5).sqrt();
        assert!((deviation / spent.sigma - 1.0).abs() < 0.01, "{deviation} {}", spent.sigma);
    }

    #[test]
    fn budgets_out_of_range_are_refused() {
        let good = Privacy { epsilon: 1.0, delta: 1e-5, clip: 1.0 };
        let told = |privacy: Privacy| privacy.spent().unwrap_err().to_string();
        assert_eq!(told(Privacy { epsilon: 0.0, ..good }), "epsilon is 0; needed above 0 and at most 100");
        assert_eq!(told(Privacy { delta: 1.0, ..good }), "delta is 1; needed 1e-12 or more, and below 0.5");
        assert_eq!(told(Privacy { clip: f64::NAN, ..good }), "clip is NaN; needed a length above 0");
    }
}
