//! Choosing in proportion to weights, also among a range of the choices only.
//!
//! With the running sums `S₀ = 0, S₁ = w₀, S₂ = w₀ + w₁, ...`, a number drawn evenly
//! from `S_a` to `S_b` falls on choice `i` (into `[Sᵢ, Sᵢ₊₁)`) with probability
//! `wᵢ / (S_b - S_a)`, for all `a ≤ i < b`. A guide table says where the search for a
//! number begins: the total is cut into as many equal parts as there are choices, and
//! the table has the first choice of each part.
//!
//! Cost: 12 bytes a choice; `O(n)` to build, then `O(1)` expected steps per draw.
//!
//! Source: Chen, Asau, "On generating random variates from an empirical distribution",
//! AIIE Transactions 6, 1974.

/// Running sums of weights, and a guide to search them.
#[derive(Debug)]
pub(super) struct Cumulative {
    sums: Vec<f64>,
    guide: Vec<u32>,
    parts_per_unit: f64,
}

impl Cumulative {
    /// The running sums of positive weights, at most 2³² of them.
    pub(super) fn new(weights: impl ExactSizeIterator<Item = f64>) -> Self {
        let mut sums = Vec::with_capacity(weights.len() + 1);
        sums.push(0.0);
        let mut total = 0.0;
        sums.extend(weights.map(|weight| {
            total += weight;
            total
        }));
        let num_choices = sums.len() - 1;
        let mut choice = 0;
        let guide = (0..num_choices).map(|part| {
            let value = total * part as f64 / num_choices as f64;
            while choice + 1 < num_choices && sums[choice + 1] <= value {
                choice += 1;
            }
            choice as u32
        });
        let guide = guide.collect();
        Self { sums, guide, parts_per_unit: num_choices as f64 / total }
    }

    /// The weight of one choice.
    pub(super) fn weight(&self, choice: usize) -> f64 {
        self.sums[choice + 1] - self.sums[choice]
    }

    /// The weight of all choices from `start` to before `end`.
    pub(super) fn weight_between(&self, start: usize, end: usize) -> f64 {
        self.sums[end] - self.sums[start]
    }

    /// The choice among `start..end` on which the share `at` of their weight falls,
    /// for `at` from 0 to 1. There must be at least one choice.
    pub(super) fn choose(&self, start: usize, end: usize, at: f64) -> usize {
        let value = self.sums[start] + at * self.weight_between(start, end);
        let part = ((value * self.parts_per_unit) as usize).min(self.guide.len() - 1);
        let mut choice = self.guide[part] as usize;
        // Rounding can put the value one part too far.
        while choice > start && self.sums[choice] > value {
            choice -= 1;
        }
        while choice + 1 < end && self.sums[choice + 1] <= value {
            choice += 1;
        }
        choice.clamp(start, end - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fall_on_their_choices() {
        let choices = Cumulative::new([1.0, 5.0, 0.5, 0.5, 3.0].into_iter());
        let choose_all = |at| choices.choose(0, 5, at);
        assert_eq!([0.0, 0.05, 0.11, 0.59, 0.62, 0.69, 0.71, 1.0].map(choose_all), [0, 0, 1, 1, 2, 3, 4, 4]);
        let choose_some = |at| choices.choose(1, 4, at);
        assert_eq!([0.0, 0.8, 0.85, 0.95, 1.0].map(choose_some), [1, 1, 2, 3, 3]);
        assert_eq!(choices.choose(2, 3, 0.999), 2);
        assert_eq!((choices.weight(1), choices.weight_between(1, 4)), (5.0, 6.0));
    }

    #[test]
    fn uneven_weights_are_searched_exactly() {
        let weights: Vec<f64> = (1..1000).map(|i| 1.0 / f64::from(i * i)).collect();
        let choices = Cumulative::new(weights.iter().copied());
        for step in 0..10_000 {
            let at = f64::from(step) / 10_000.0;
            let value = at * choices.weight_between(0, 999);
            let expected = choices.sums.partition_point(|&sum| sum <= value) - 1;
            assert_eq!(choices.choose(0, 999, at), expected, "at {at}");
        }
    }
}
