//! Why neighbours could not be found.

use std::path::PathBuf;

use crate::graph::NodeId;
use crate::graph::store::StoreError;
use crate::npy::NpyError;

/// Why neighbours could not be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum NearError {
    /// The run has not come to that embedding.
    #[error("there is no embedding: `{}` does not exist", path.display())]
    NoEmbedding { path: PathBuf },

    /// The embedding could not be read.
    #[error("could not read `{}`: {source}", path.display())]
    Array { path: PathBuf, source: NpyError },

    /// The graph could not be read.
    #[error(transparent)]
    Graph(#[from] StoreError),

    /// The embedding belongs to another graph.
    #[error("embedding has {rows} rows, but the graph has {nodes} nodes")]
    Rows { rows: usize, nodes: usize },

    /// A coordinate is NaN or infinite.
    #[error("embedding has a coordinate that is not finite in row {row}")]
    NotFinite { row: usize },

    /// A number of a vector is NaN or infinite.
    #[error("vector {} has a number that is not finite", position + 1)]
    VectorNotFinite { position: usize },

    /// A vector of another dimension.
    #[error("vector {} has {found} numbers, but the embedding has {needed} coordinates", position + 1)]
    Dim { position: usize, found: usize, needed: usize },

    /// A vector could not be read.
    #[error("{problem}")]
    Vector { problem: String },

    /// A node that is not there.
    #[error("there is no row {node}: the embedding has {rows} rows")]
    NoRow { node: NodeId, rows: usize },

    /// No node has the name.
    #[error("no node is called `{name}`; {known}")]
    UnknownName { name: String, known: String },

    /// No neighbour is asked for.
    #[error("the number of neighbours is 0; needed at least 1")]
    NoNeighbors,

    /// Somebody asked to stop.
    #[error("the search was stopped")]
    Cancelled,
}

impl NearError {
    /// What the user can do about it, if there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoEmbedding { .. } => Some(
                "`l2g run` or `l2g align` makes the stitched and the unaligned embedding, `l2g run --full` that of the \
                 whole graph",
            ),
            Self::Rows { .. } => Some("rerun the stages from `l2g partition` on"),
            Self::UnknownName { .. } => Some(
                "nodes have the ids of the input; those outside the largest component are left out unless the graph is \
                 read with `--component all`",
            ),
            _ => None,
        }
    }
}
