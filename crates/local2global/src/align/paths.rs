//! Where patches lie and where an alignment goes, and what can go wrong on the way.

use std::path::PathBuf;

use super::AlignError;
use crate::npy::NpyError;
use crate::run_dir::{AlignmentFolder, FileError, PatchFilesError, RunDir};

/// Where patches lie, and where the alignment goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlignPaths {
    /// The folder with a node list `NAME.npy`, and perhaps `NAME.weights.npy`, per patch.
    pub nodes: PathBuf,
    /// The folder with the coordinates `NAME.npy` of each patch.
    pub coords: PathBuf,
    /// The patch edges to use, pairs of positions in the sorted list of names; all
    /// overlaps that are large enough if there is none.
    pub edges: Option<PathBuf>,
    /// The folder for the results.
    pub out: PathBuf,
    /// What the rows of the embedding are.
    pub rows: EmbeddingRows,
}

/// What the rows of the embedding are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingRows {
    /// Row `k` is node `k`; the patches must cover all nodes from 0 on.
    EveryNode,
    /// One row per node that stands in a patch, ascending; `nodes.npy` says which.
    Listed,
}

/// Why files could not be aligned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum AlignFilesError {
    /// A file or folder could not be used.
    #[error(transparent)]
    File(#[from] FileError),

    /// An array could not be read.
    #[error("`{}`: {source}", path.display())]
    Array { path: PathBuf, source: NpyError },

    /// A patch has not been embedded.
    #[error("patch `{patch}` has no coordinates: `{}` does not exist", path.display())]
    MissingCoords { patch: String, path: PathBuf },

    /// There are no patches, or not those that the folder promises.
    #[error(transparent)]
    Patches(#[from] PatchFilesError),

    /// The patch to update is not there.
    #[error("no patch named `{patch}` in `{}`", path.display())]
    NoSuchPatch { patch: String, path: PathBuf },

    /// The finished frame belongs to other patches.
    #[error("`{}` has {found} transforms for {needed} patches", path.display())]
    OtherTransforms { path: PathBuf, found: usize, needed: usize },

    /// The files of an alignment do not belong together.
    #[error("`{}` has {rows} rows, but no_trans.npy, spread.npy or nodes.npy beside it has others", path.display())]
    OtherRows { path: PathBuf, rows: usize },

    /// The embedding and the transforms do not belong together.
    #[error("`{}` has {found} columns, but transforms.npz beside it {needed} dimensions", path.display())]
    OtherDimensions { path: PathBuf, found: usize, needed: usize },

    /// An update cannot change how copies are combined: that would move all nodes.
    #[error("align.centroid is {found}, but `{}` was made with {needed}", path.display())]
    OtherCentroid { path: PathBuf, found: String, needed: String },

    /// The finished frame has a patch that is gone.
    #[error("`{}` names patch `{patch}`, which is not there any more", path.display())]
    OtherPatches { path: PathBuf, patch: String },

    /// The patches cannot be aligned.
    #[error(transparent)]
    Align(#[from] AlignError),
}

impl AlignPaths {
    /// The places in a run folder.
    pub fn of_run(run: &RunDir) -> Self {
        let graph = run.patches().patch_graph();
        Self {
            nodes: run.patches().into(),
            coords: run.embeddings().into(),
            edges: graph.exists().then_some(graph),
            out: run.alignment().into(),
            rows: EmbeddingRows::EveryNode,
        }
    }

    /// The files of the results.
    pub fn results(&self) -> AlignmentFolder {
        AlignmentFolder::at(&self.out)
    }
}
