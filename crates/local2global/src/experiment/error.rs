//! Why the experiment could not be done.

use std::path::PathBuf;

use super::Setting;
use crate::align::AlignFilesError;
use crate::embed::EmbedError;
use crate::evaluate::EvaluateError;
use crate::graph::held_out::HoldOutError;
use crate::npy::NpyError;
use crate::partition::PartitionError;
use crate::patch::PatchError;
use crate::run_dir::FileError;

/// Why the experiment could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum ExperimentError {
    /// The machine is too small.
    #[error("{dim} dimensions would take about {needed} GiB of memory, and this process may use {there}")]
    Memory { dim: usize, needed: u64, there: u64 },

    /// A setting makes no sense.
    #[error("setting `{key}` is {found}; needed {needed}")]
    Setting { key: &'static str, found: String, needed: &'static str },

    /// There is nothing to tell apart.
    #[error("graph has no edges, or no two nodes without an edge; reconstruction needs both")]
    NoScore,

    /// The graph could not be split.
    #[error(transparent)]
    Partition(#[from] PartitionError),

    /// Patches could not be made.
    #[error(transparent)]
    Patch(#[from] PatchError),

    /// The patches cannot be stitched into one.
    #[error("patch graph has {groups} connected components; the experiment needs one")]
    Disconnected { groups: usize },

    /// Edges could not be held out.
    #[error("could not make a split of the edges: {0}")]
    Split(#[from] HoldOutError),

    /// The settings of scores make no sense for the graph.
    #[error(transparent)]
    Scores(#[from] EvaluateError),

    /// A dimension does not suit the method, or its common frame could not be made.
    #[error("could not prepare embedding in {dim} dimensions")]
    Prepare { dim: usize, source: Box<EmbedError> },

    /// The whole graph could not be embedded.
    #[error("could not embed the whole graph in {dim} dimensions")]
    Full { dim: usize, source: Box<EmbedError> },

    /// Some patches could not be embedded.
    #[error("could not embed the patches (setting: {setting}) in {dim} dimensions")]
    Embed { dim: usize, setting: Setting, source: Box<EmbedError> },

    /// Patches could not be stitched.
    #[error("could not align the patches (setting: {setting}) in {dim} dimensions")]
    Align { dim: usize, setting: Setting, source: Box<AlignFilesError> },

    /// What patches learned could not be applied to the whole graph.
    #[error("could not apply what patches learned in {dim} dimensions to the whole graph")]
    Late { dim: usize, source: Box<EmbedError> },

    /// An embedding could not be scored.
    #[error("could not score the embeddings in {dim} dimensions")]
    Evaluate { dim: usize, source: Box<EvaluateError> },

    /// An embedding could not be read back.
    #[error("could not read `{}`: {source}", path.display())]
    Array { path: PathBuf, source: NpyError },

    /// A file could not be used.
    #[error(transparent)]
    File(#[from] FileError),
}

impl ExperimentError {
    /// What the user can do about it, if there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Disconnected { .. } => {
                Some("keep the largest component, or join the patches with `--set patch.bridge=true`")
            }
            Self::Split(_) => Some("compare reconstruction alone with `--splits 0`"),
            Self::Prepare { source, .. }
            | Self::Full { source, .. }
            | Self::Embed { source, .. }
            | Self::Late { source, .. } => source.hint(),
            _ => None,
        }
    }
}
