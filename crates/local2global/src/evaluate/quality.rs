//! How well classes are told: accuracy and F1.
//!
//! ```text
//! accuracy = share of test nodes whose classes are exactly right
//! F1       = 2 TP / (2 TP + FP + FN);  micro: of the sums over classes, macro: mean over classes
//! ```
//!
//! Convention: classes that no test node has and none is given do not count in macro F1. Of
//! one class per node, micro F1 is the accuracy. Cost: one pass. No randomness.
//!
//! Source: D. Lewis, "Evaluating text categorization", Speech and Natural Language, 1991.

use serde::{Deserialize, Serialize};

/// A mean over splits, and how far they lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the sample; none of a single split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub std: Option<f64>,
}

impl Spread {
    /// Of some values, at least one.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, std: (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt()) }
    }
}

/// How well one classifier did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// The share of nodes whose classes are exactly right.
    pub accuracy: f64,
    /// F1 of all decisions together.
    pub micro_f1: f64,
    /// The mean of the F1 of each class.
    pub macro_f1: f64,
}

impl Quality {
    /// Compares rows of truth values, one per node, with a column for each class.
    ///
    /// # Panics
    /// If the rows are not equally many, or there are none.
    ///
    /// # Examples
    /// ```
    /// use local2global::evaluate::quality::Quality;
    ///
    /// // Nodes of classes 0, 0, 1, 2; the last is taken for a 1.
    /// let truth = [[true, false, false], [true, false, false], [false, true, false], [false, false, true]];
    /// let found = [[true, false, false], [true, false, false], [false, true, false], [false, true, false]];
    /// let quality = Quality::of(truth.as_flattened(), found.as_flattened(), 3);
    /// assert_eq!((quality.accuracy, quality.micro_f1), (0.75, 0.75));
    /// assert_eq!(quality.macro_f1, (1.0 + 2.0 / 3.0 + 0.0) / 3.0);
    /// ```
    pub fn of(truth: &[bool], found: &[bool], num_classes: usize) -> Self {
        assert!(truth.len() == found.len() && !truth.is_empty(), "as many rows, and at least one");
        let (mut right, mut hits, mut misses) = (0, vec![0; num_classes], vec![0; num_classes]);
        for (truth, found) in truth.chunks_exact(num_classes).zip(found.chunks_exact(num_classes)) {
            right += usize::from(truth == found);
            for class in 0..num_classes {
                hits[class] += usize::from(truth[class] && found[class]);
                misses[class] += usize::from(truth[class] != found[class]);
            }
        }
        let f1 = |hits: usize, misses: usize| 2.0 * hits as f64 / (2 * hits + misses).max(1) as f64;
        let counted = hits.iter().zip(&misses).filter(|&(&hits, &misses)| hits + misses > 0);
        let of_classes: Vec<f64> = counted.map(|(&hits, &misses)| f1(hits, misses)).collect();
        Self {
            accuracy: right as f64 / (truth.len() / num_classes) as f64,
            micro_f1: f1(hits.iter().sum(), misses.iter().sum()),
            macro_f1: of_classes.iter().sum::<f64>() / of_classes.len().max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_that_of_a_sample() {
        let spread = Spread::of(&[1.0, 2.0, 3.0]);
        assert_eq!((spread.mean, spread.std), (2.0, Some(1.0)));
        assert_eq!(Spread::of(&[0.5]), Spread { mean: 0.5, std: None });
    }

    #[test]
    fn classes_that_nobody_has_do_not_count() {
        let quality = Quality::of(
            &[true, false, false, true, false, false],
            &[true, false, false, false, true, false],
            3,
        );
        // Class 0: one hit, one missed; class 1: one wrong; class 2: nothing.
        assert_eq!((quality.accuracy, quality.micro_f1), (0.5, 0.5));
        assert_eq!(quality.macro_f1, (2.0 / 3.0 + 0.0) / 2.0);
    }

    #[test]
    fn several_classes_must_all_be_right() {
        let quality = Quality::of(&[true, true, true, false], &[true, false, true, false], 2);
        assert_eq!((quality.accuracy, quality.micro_f1), (0.5, 0.8));
        assert_eq!(quality.macro_f1, 0.5);
    }
}
