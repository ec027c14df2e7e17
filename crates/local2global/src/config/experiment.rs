//! The settings of `l2g experiment`.

use serde::{Deserialize, Serialize};

/// The settings of the experiment: the table `[experiment]`.
///
/// They take the place of `embed.dim` and `embed.runs`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExperimentConfig {
    /// The dimensions to embed in.
    pub dims: Vec<usize>,
    /// How often the graph and each patch are embedded; the best is kept.
    pub runs: u32,
    /// How many splits of the edges links and classes are predicted on; 0 leaves reconstruction
    /// alone, as in the paper.
    pub splits: u32,
}

impl Default for ExperimentConfig {
    fn default() -> Self {
        Self { dims: vec![2, 4, 8, 16, 32, 64, 128], runs: 10, splits: 3 }
    }
}
