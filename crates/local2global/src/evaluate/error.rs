//! Why an embedding could not be evaluated.

use std::path::PathBuf;

use super::{Contender, Task};
use crate::graph::NodeId;
use crate::graph::io::ReadError;
use crate::graph::store::StoreError;
use crate::linalg::dense::DenseError;
use crate::npy::NpyError;
use crate::run_dir::FileError;

/// Why an embedding could not be evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum EvaluateError {
    /// A setting is out of range.
    #[error("setting `evaluate.{key}` is {found}; needed {needed}")]
    Setting { key: &'static str, found: String, needed: &'static str },

    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),

    /// The graph could not be opened.
    #[error(transparent)]
    Store(#[from] StoreError),

    /// An array could not be read.
    #[error("`{}`: {source}", path.display())]
    Array { path: PathBuf, source: NpyError },

    /// The patches have not been aligned.
    #[error("there is no embedding to evaluate: `{}` does not exist", path.display())]
    NoEmbedding { path: PathBuf },

    /// An embedding belongs to another graph.
    #[error("embedding `{contender}` has {found} rows, but the graph has {needed} nodes")]
    Rows { contender: Contender, found: usize, needed: usize },

    /// A coordinate is NaN or infinite.
    #[error("embedding `{contender}` has a coordinate that is not finite in row {row}")]
    NotFinite { contender: Contender, row: usize },

    /// Features could not be reduced to fewer columns.
    #[error("features could not be reduced: {0}")]
    Features(#[from] DenseError),

    /// There is nothing to tell apart.
    #[error("{} needs edges and non-edges, found {edges} and {non_edges}", task.name())]
    NoPairs { task: Task, edges: usize, non_edges: usize },

    /// The graph was made without held-out edges.
    #[error("link prediction needs held-out edges, and the graph has none")]
    NothingHeldOut,

    /// The held-out pairs belong to another graph.
    #[error("held-out pairs name node {node}, but there are {num_nodes} nodes")]
    HeldOutNode { node: NodeId, num_nodes: usize },

    /// The graph has no labels.
    #[error("classification needs labels, and the graph has none")]
    NoLabels,

    /// All labelled nodes have the same class, or there are none.
    #[error("classification needs nodes of two classes, found {found}")]
    Classes { found: usize },

    /// One part of the split has no labelled nodes.
    #[error("split has {train} labelled nodes to train on and {test} to test on, needed some of each")]
    EmptyPart { train: usize, test: usize },

    /// A split could not be read.
    #[error(transparent)]
    Split(#[from] ReadError),

    /// A part of a split has a name that is not known.
    #[error("{}:{line}: part `{found}` is none of train, test, validation", path.display())]
    SplitPart { path: PathBuf, line: u64, found: String },

    /// A split in order has too many or too few entries.
    #[error("{}: split has {found} entries, but the graph has {needed} nodes", path.display())]
    SplitLength { path: PathBuf, found: usize, needed: usize },

    /// The person asked to stop.
    #[error("evaluation was stopped")]
    Cancelled,
}

impl EvaluateError {
    /// Whether a graph cannot be scored on a task, whatever the settings.
    pub(crate) fn is_impossible(&self) -> bool {
        matches!(self, Self::NoPairs { .. } | Self::Classes { .. } | Self::EmptyPart { .. })
    }
}
