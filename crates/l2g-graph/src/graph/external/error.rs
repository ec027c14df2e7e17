//! Why a graph could not be made on disk.

use std::io;
use std::path::PathBuf;

use crate::run_dir::FileError;

/// Why a graph could not be made on disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum ExternalError {
    /// There is no room for temporary files.
    #[error("temporary files beside the graph: {0}")]
    Folder(#[from] FileError),

    /// A temporary file could not be written or read.
    #[error("temporary file in `{}`: {error}", path.display())]
    File { path: PathBuf, error: io::Error },

    /// Something that has to be in memory does not fit.
    #[error("{what} takes {needed} bytes of memory, but the limit is {limit}")]
    Memory { what: String, needed: u64, limit: u64 },

    /// The user has stopped it.
    #[error("reading was stopped")]
    Cancelled,
}
