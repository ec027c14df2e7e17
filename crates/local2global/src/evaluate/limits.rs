//! What of the stage fits into memory.

use serde::Serialize;

/// What of the stage fits into memory. The usual numbers apply where these are larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EvaluateLimits {
    /// The most edges to score.
    pub pairs: usize,
    /// The most labelled nodes to classify.
    pub labelled: usize,
    /// Whether features are smoothed over the graph, as a baseline.
    pub smoothed: bool,
    /// Whether the model before training is scored.
    pub untrained: bool,
}

impl Default for EvaluateLimits {
    /// No limit.
    fn default() -> Self {
        Self { pairs: usize::MAX, labelled: usize::MAX, smoothed: true, untrained: true }
    }
}
