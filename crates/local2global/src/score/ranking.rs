//! How well scores tell edges from non-edges.
//!
//! The area under the ROC curve is the probability that an edge scores higher than a
//! non-edge, ties counting half. Average precision is the mean, over all edges, of the
//! share of edges among the pairs that score at least as high.
//!
//! ```text
//! AUC = (pairs of pairs with s(edge) > s(non-edge) + ½ those with equal scores) / all of them
//! AP  = Σ (t(s) - t(s⁺)) / edges · t(s) / (t(s) + f(s))
//! ```
//!
//! where `t(s)` and `f(s)` count the edges and non-edges with a score of at least `s`, the
//! sum goes over all distinct scores, and `s⁺` is the next higher one. Both are exact: equal
//! scores are one threshold, so their order does not matter. A perfect ranking has 1 in
//! both; a random one has AUC ½, and as AP the share of edges among all pairs.
//! Cost: `O(k log k)` time, `O(k)` memory for `k` pairs. No randomness.
//!
//! Source: T. Fawcett, "An introduction to ROC analysis", Pattern Recognition Letters 27, 2006.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Coordinates;
use crate::graph::sample::Pair;
use crate::linalg::lanes::{dot, squared_norm};

/// The score of a pair of nodes: what is larger for likelier edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Score {
    /// `z_u · z_v`.
    #[default]
    InnerProduct,
    /// `-‖z_u - z_v‖²`.
    Distance,
    /// `z_u · z_v / (‖z_u‖ ‖z_v‖)`, and 0 where one of them is zero: direction without length,
    /// which often carries little but the degree of a node.
    Cosine,
}

impl Score {
    /// The score of two rows.
    pub fn of(self, a: &[f32], b: &[f32]) -> f64 {
        let pairs = a.iter().zip(b).map(|(&a, &b)| (f64::from(a), f64::from(b)));
        match self {
            Self::InnerProduct => pairs.map(|(a, b)| a * b).sum(),
            Self::Distance => -pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>(),
            Self::Cosine => match (squared_norm(a) * squared_norm(b)).sqrt() {
                lengths if lengths > 0.0 => dot(a, b) / lengths,
                _ => 0.0,
            },
        }
    }

    /// The scores of many pairs, in their order.
    pub fn of_pairs(self, coordinates: Coordinates<'_>, pairs: &[Pair]) -> Vec<f64> {
        let of_pair = |&[u, v]: &Pair| self.of(coordinates.row(u), coordinates.row(v));
        pairs.par_iter().with_min_len(1024).map(of_pair).collect()
    }
}

/// How well scores tell edges from non-edges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranking {
    /// The area under the ROC curve.
    pub auc: f64,
    /// The average precision.
    pub average_precision: f64,
}

impl Ranking {
    /// Ranks scores of edges and non-edges; none if either is missing.
    ///
    /// # Examples
    /// ```
    /// use local2global::score::Ranking;
    ///
    /// let ranking = Ranking::of(vec![3.0, 1.0], vec![2.0, 0.0]).unwrap();
    /// assert_eq!(ranking.auc, 0.75);
    /// // The first edge is all above it, the second two of three.
    /// assert_eq!(ranking.average_precision, (1.0 + 2.0 / 3.0) / 2.0);
    /// ```
    pub fn of(mut edges: Vec<f64>, mut non_edges: Vec<f64>) -> Option<Self> {
        if edges.is_empty() || non_edges.is_empty() {
            return None;
        }
        sort(&mut edges);
        sort(&mut non_edges);
        Some(Self {
            auc: sorted_area(&edges, &non_edges),
            average_precision: sorted_precision(&edges, &non_edges),
        })
    }
}

/// The probability that a positive score exceeds a negative one, ties counting half.
///
/// None if there are no positives or no negatives.
///
/// # Examples
/// ```
/// use local2global::score::area_under_curve;
///
/// assert_eq!(area_under_curve(vec![2.0, 1.0], vec![1.0, 0.0]), Some(0.875));
/// ```
pub fn area_under_curve(positives: Vec<f64>, negatives: Vec<f64>) -> Option<f64> {
    Ranking::of(positives, negatives).map(|ranking| ranking.auc)
}

/// Sorts ascending, zeros of either sign being equal.
fn sort(scores: &mut [f64]) {
    // Adding zero turns -0 into 0, so that they are equal in the total order too.
    scores.iter_mut().for_each(|score| *score += 0.0);
    scores.par_sort_unstable_by(f64::total_cmp);
}

fn sorted_area(positives: &[f64], negatives: &[f64]) -> f64 {
    let (mut below, mut not_above) = (0, 0);
    let mut half_wins: u128 = 0;
    for positive in positives {
        below += negatives[below..].iter().take_while(|negative| *negative < positive).count();
        not_above = not_above.max(below);
        not_above += negatives[not_above..].iter().take_while(|negative| *negative <= positive).count();
        half_wins += (below + not_above) as u128;
    }
    half_wins as f64 / (2.0 * positives.len() as f64 * negatives.len() as f64)
}

fn sorted_precision(positives: &[f64], negatives: &[f64]) -> f64 {
    let (mut above, mut wrong, mut sum) = (0, 0, 0.0);
    // From the highest score down; equal scores come at once.
    for level in positives.chunk_by(|a, b| a == b).rev() {
        above += level.len();
        let lower = &negatives[..negatives.len() - wrong];
        wrong += lower.iter().rev().take_while(|&&negative| negative >= level[0]).count();
        sum += level.len() as f64 * above as f64 / (above + wrong) as f64;
    }
    sum / positives.len() as f64
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::seed::{Seed, Stage};

    /// Scores with many ties, and some without.
    fn cases() -> impl Iterator<Item = (Vec<f64>, Vec<f64>)> {
        (0..200).map(|seed| {
            let mut random = Seed(seed).stream(Stage::Evaluate, 0);
            let levels = [3_i32, 8, 100_000][seed as usize % 3];
            let (num_edges, num_non_edges) = (random.random_range(1..20), random.random_range(1..20));
            let mut scores = |count: usize| {
                (0..count).map(|_| f64::from(random.random_range(-levels..levels))).collect::<Vec<_>>()
            };
            (scores(num_edges), scores(num_non_edges))
        })
    }

    #[test]
    fn the_area_is_that_of_all_pairs_compared() {
        for (edges, non_edges) in cases() {
            let of_pair = |p: &f64, n: &f64| f64::from(p > n) + 0.5 * f64::from(p == n);
            let wins: f64 = edges.iter().flat_map(|p| non_edges.iter().map(move |n| of_pair(p, n))).sum();
            let all = (edges.len() * non_edges.len()) as f64;
            assert_eq!(area_under_curve(edges, non_edges), Some(wins / all));
        }
    }

    #[test]
    fn average_precision_is_that_of_every_threshold_tried() {
        for (edges, non_edges) in cases() {
            let at_least = |scores: &[f64], threshold: f64| {
                scores.iter().filter(|&&score| score >= threshold).count() as f64
            };
            // Each edge counts the precision at its own score.
            let precisions = edges.iter().map(|&score| {
                let (right, wrong) = (at_least(&edges, score), at_least(&non_edges, score));
                right / (right + wrong)
            });
            let expected = precisions.sum::<f64>() / edges.len() as f64;
            let found = Ranking::of(edges.clone(), non_edges.clone()).unwrap().average_precision;
            assert!((found - expected).abs() < 1e-12, "{edges:?} {non_edges:?}");
        }
    }

    #[test]
    fn cosines_do_not_see_lengths_and_are_0_beside_a_zero_row() {
        let (a, b) = ([3.0, 4.0], [8.0, 6.0]);
        assert!((Score::Cosine.of(&a, &b) - 0.96).abs() < 1e-12);
        assert!((Score::Cosine.of(&a.map(|x| 1000.0 * x), &b) - 0.96).abs() < 1e-12);
        assert_eq!(Score::Cosine.of(&a, &[0.0; 2]), 0.0);
        assert_eq!(Score::InnerProduct.of(&a, &b), 48.0);
    }

    #[test]
    fn equal_scores_know_nothing() {
        let ranking = Ranking::of(vec![1.0; 3], vec![1.0; 9]).unwrap();
        assert_eq!((ranking.auc, ranking.average_precision), (0.5, 0.25));
    }

    #[test]
    fn zeros_of_either_sign_tie() {
        assert_eq!(area_under_curve(vec![-0.0], vec![0.0]), Some(0.5));
        assert_eq!(area_under_curve(vec![], vec![0.0]), None);
        assert_eq!(area_under_curve(vec![0.0], vec![]), None);
    }
}
