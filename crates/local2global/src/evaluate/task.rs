//! What embeddings are scored on.

use serde::{Deserialize, Serialize};

/// What an embedding can be scored on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Edges it was trained on.
    Reconstruction,
    /// Edges that were held out.
    LinkPrediction,
    /// Classes of nodes.
    Classification,
}

impl Task {
    /// The task as people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reconstruction => "reconstruction",
            Self::LinkPrediction => "link prediction",
            Self::Classification => "classification",
        }
    }
}
