//! Why an embedding could not be exported.

use std::path::PathBuf;

use crate::graph::store::StoreError;
use crate::layout::LayoutError;
use crate::npy::NpyError;
use crate::run_dir::FileError;

/// Why an embedding could not be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum ExportError {
    /// The run has not come to its last stage.
    #[error("there is no embedding: `{}` does not exist", path.display())]
    NoEmbedding { path: PathBuf },

    /// The embedding could not be read.
    #[error("could not read `{}`: {source}", path.display())]
    Array { path: PathBuf, source: NpyError },

    /// The graph could not be read.
    #[error(transparent)]
    Graph(#[from] StoreError),

    /// The embedding belongs to another graph.
    #[error("embedding has {rows} rows of {dim} numbers, but the graph has {nodes} nodes")]
    Rows { rows: usize, dim: usize, nodes: usize },

    /// The name of the file does not tell the format.
    #[error(
        "cannot tell the format of `{}` from its name; known are .parquet .csv .tsv .vec", path.display()
    )]
    UnknownFormat { path: PathBuf },

    /// The format cannot hold a name.
    #[error("{what} {name} {problem}; {format} cannot hold it")]
    Name { what: &'static str, name: String, problem: &'static str, format: &'static str },

    /// The format has no place for two more columns.
    #[error("{format} has no columns for a layout; parquet, csv and tsv have")]
    NoLayout { format: &'static str },

    /// The nodes could not be put into the plane.
    #[error(transparent)]
    Layout(#[from] LayoutError),

    /// A file could not be written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl ExportError {
    /// The format cannot hold the name of a node.
    pub(super) fn name(name: &str, problem: &'static str, format: &'static str) -> Self {
        Self::Name { what: "node id", name: format!("{name:?}"), problem, format }
    }

    /// What the user can do about it, if there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoEmbedding { .. } => Some("stitch the patches first, with `l2g align` or `l2g run`"),
            Self::Rows { .. } => Some("rerun the stages from `l2g partition` on"),
            Self::UnknownFormat { .. } => Some("say it with `--format`, or change the name"),
            Self::Name { .. } => Some("export as csv, which holds every name"),
            _ => None,
        }
    }
}
