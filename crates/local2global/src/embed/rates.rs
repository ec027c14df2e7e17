//! Learning rates, one for each of several runs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The learning rates of the runs of a patch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "needed a number, a list of numbers, or a range such as { from = 0.1, to = 0.001 }"
)]
pub enum Rates {
    /// The same for all runs.
    One(f64),
    /// One after the other, and from the beginning again.
    List(Vec<f64>),
    /// From one to the other in equal ratios.
    Range {
        /// The rate of the first run.
        from: f64,
        /// The rate of the last run.
        to: f64,
    },
}

impl Rates {
    /// The rate of run `run` of `num_runs`.
    ///
    /// # Panics
    /// If the list is empty; settings are checked for that.
    pub fn of_run(&self, run: u32, num_runs: u32) -> f64 {
        match self {
            Self::One(rate) => *rate,
            Self::List(rates) => rates[run as usize % rates.len()],
            Self::Range { from, .. } if num_runs < 2 => *from,
            Self::Range { from, to } => from * (to / from).powf(f64::from(run) / f64::from(num_runs - 1)),
        }
    }

    /// Whether there are rates, and all are positive numbers.
    pub fn are_positive(&self) -> bool {
        let positive = |rate: &f64| rate.is_finite() && *rate > 0.0;
        match self {
            Self::One(rate) => positive(rate),
            Self::List(rates) => !rates.is_empty() && rates.iter().all(positive),
            Self::Range { from, to } => positive(from) && positive(to),
        }
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(rate) => write!(f, "{rate}"),
            Self::List(rates) => write!(f, "{rates:?}"),
            Self::Range { from, to } => write!(f, "{from} to {to}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_go_through_lists_and_ranges() {
        let list = Rates::List(vec![0.1, 0.2]);
        assert_eq!([0, 1, 2].map(|run| list.of_run(run, 3)), [0.1, 0.2, 0.1]);
        let range = Rates::Range { from: 0.001, to: 0.1 };
        for (run, expected) in [0.001, 0.01, 0.1].into_iter().enumerate() {
            assert!((range.of_run(run as u32, 3) - expected).abs() < 1e-15);
        }
        assert_eq!(range.of_run(0, 1), 0.001);
    }
}
