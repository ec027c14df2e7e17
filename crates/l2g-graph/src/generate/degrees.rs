//! The expected degree of each node of a synthetic graph.
//!
//! A power law has density `∝ θ^-γ` between a smallest and a largest degree. Given
//! the largest, the smallest is chosen so that the mean is as wanted:
//!
//! ```text
//! mean = (1-γ)/(2-γ) · (max^(2-γ) - min^(2-γ)) / (max^(1-γ) - min^(1-γ)),
//! ```
//!
//! which grows with `min`, so that halving an interval finds it. Degrees are drawn by
//! inverting the distribution function.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::{GenerateError, check};

/// How expected degrees are spread over the nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "law", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Degrees {
    /// All nodes expect the same degree.
    #[default]
    Uniform,
    /// A node expects degree `θ` with density `∝ θ^-exponent`.
    PowerLaw {
        /// How fast large degrees become rare; real graphs have 2 to 3.
        exponent: f64,
        /// The largest expected degree. By default the square root of a community's
        /// total degree: beyond it, hubs of a community would share several edges,
        /// which count as one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_degree: Option<f64>,
    },
}

impl Degrees {
    /// Expected degrees of `num_nodes` nodes with the given mean.
    ///
    /// `usual_max` is the largest degree where the settings do not name one.
    pub(super) fn draw(
        &self,
        num_nodes: usize,
        mean_degree: f64,
        usual_max: f64,
        random: &mut impl Rng,
    ) -> Result<Vec<f64>, GenerateError> {
        let fits = mean_degree > 0.0 && mean_degree <= (num_nodes as f64 - 1.0).max(1.0);
        let needed = || format!("a number above 0 and below the number of nodes, {num_nodes}");
        check(fits, "mean_degree", mean_degree, needed())?;
        let Self::PowerLaw { exponent, max_degree } = *self else {
            return Ok(vec![mean_degree; num_nodes]);
        };
        check(exponent > 1.0 && exponent <= 100.0, "exponent", exponent, "a number above 1, up to 100")?;
        let max = max_degree.unwrap_or(usual_max.max(2.0 * mean_degree));
        let needed = || format!("a finite number above the mean degree, {mean_degree}");
        check(max > mean_degree && max.is_finite(), "max_degree", max, needed())?;
        let law = PowerLaw::with_mean(mean_degree, max, exponent);
        Ok((0..num_nodes).map(|_| law.at(random.random())).collect())
    }
}

/// A power law between two bounds.
#[derive(Clone, Copy, Debug)]
struct PowerLaw {
    min: f64,
    max: f64,
    exponent: f64,
}

impl PowerLaw {
    /// The law with this largest value and mean.
    fn with_mean(mean: f64, max: f64, exponent: f64) -> Self {
        // The mean lies above the smallest value, and both go to 0 together.
        let (mut low, mut high) = (0.0, mean);
        for _ in 0..200 {
            let min = f64::midpoint(low, high);
            match (Self { min, max, exponent }).mean() < mean {
                true => low = min,
                false => high = min,
            }
        }
        Self { min: high, max, exponent }
    }

    fn mean(&self) -> f64 {
        self.integral(2.0 - self.exponent) / self.integral(1.0 - self.exponent)
    }

    /// The integral of `x^(power - 1)` from the smallest to the largest value.
    ///
    /// Both bounds are divided by the largest, which leaves out a common factor.
    fn integral(&self, power: f64) -> f64 {
        let ratio = self.min / self.max;
        let scale = self.max.powf(power);
        match power.abs() < 1e-9 {
            true => -ratio.ln(),
            false => scale * (1.0 - ratio.powf(power)) / power,
        }
    }

    /// The value below which the share `at` of all draws lies.
    fn at(&self, at: f64) -> f64 {
        let power = 1.0 - self.exponent;
        let ratio = (self.max / self.min).powf(power);
        self.min * (1.0 - at * (1.0 - ratio)).powf(1.0 / power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, Stage};

    #[test]
    fn power_laws_have_the_mean_and_the_bounds_asked_for() {
        for exponent in [1.5, 2.0, 2.5, 3.0, 6.0] {
            let mut random = Seed(1).stream(Stage::Generate, 0);
            let degrees = Degrees::PowerLaw { exponent, max_degree: Some(200.0) };
            let drawn = degrees.draw(100_000, 10.0, 0.0, &mut random).unwrap();
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            assert!((mean - 10.0).abs() < 0.5, "exponent {exponent}: mean {mean}");
            assert!(drawn.iter().all(|&degree| degree > 0.0 && degree < 200.0 + 1e-9));
        }
    }

    #[test]
    fn the_exponent_shows_in_the_tail() {
        let mut random = Seed(2).stream(Stage::Generate, 0);
        let degrees = Degrees::PowerLaw { exponent: 2.5, max_degree: Some(1e6) };
        let drawn = degrees.draw(200_000, 10.0, 0.0, &mut random).unwrap();
        let beyond = |limit: f64| drawn.iter().filter(|&&degree| degree > limit).count() as f64;
        // P(θ > x) ∝ x^-1.5.
        let slope = (beyond(20.0) / beyond(80.0)).ln() / 4_f64.ln();
        assert!((slope - 1.5).abs() < 0.1, "slope {slope}");
    }

    #[test]
    fn impossible_degrees_are_refused() {
        let refused = |degrees: Degrees, mean| {
            let mut random = Seed(0).stream(Stage::Generate, 0);
            degrees.draw(100, mean, 30.0, &mut random).unwrap_err().to_string()
        };
        assert_eq!(
            refused(Degrees::Uniform, 0.0),
            "mean_degree is 0, needed a number above 0 and below the number of nodes, 100"
        );
        assert!(refused(Degrees::Uniform, f64::NAN).starts_with("mean_degree is NaN"));
        let law = |exponent, max_degree| Degrees::PowerLaw { exponent, max_degree };
        assert!(refused(law(1.0, None), 5.0).starts_with("exponent is 1"));
        assert!(refused(law(2.5, Some(5.0)), 5.0).starts_with("max_degree is 5"));
    }
}
