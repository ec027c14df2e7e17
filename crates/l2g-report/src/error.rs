//! Why a report could not be made.

use std::path::PathBuf;

use local2global::graph::store::StoreError;
use local2global::layout::LayoutError;
use local2global::npy::NpyError;
use local2global::partition::PartitionError;
use local2global::run_dir::FileError;

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum ReportError {
    /// The run has not come to its alignment.
    #[error("there is no embedding to show: `{}` does not exist", path.display())]
    NoEmbedding { path: PathBuf },

    /// An array could not be read.
    #[error("could not read `{}`: {source}", path.display())]
    Array { path: PathBuf, source: NpyError },

    /// An array belongs to another graph.
    #[error("`{}` has {found} rows, but the graph has {nodes} nodes", path.display())]
    Rows { path: PathBuf, found: usize, nodes: usize },

    /// The graph could not be read.
    #[error(transparent)]
    Graph(#[from] StoreError),

    /// The clusters could not be read, or communities not found.
    #[error(transparent)]
    Partition(#[from] PartitionError),

    /// An embedding has no layout.
    #[error("could not lay out `{}`: {source}", path.display())]
    Layout { path: PathBuf, source: LayoutError },

    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl ReportError {
    /// What the user can do about it, if there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoEmbedding { .. } => Some("stitch the patches first, with `l2g align` or `l2g run`"),
            Self::Rows { .. } => Some("rerun the stages from `l2g partition` on"),
            _ => None,
        }
    }
}
