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

    /// The disk has no room for temporary files.
    #[error(
        "making the graph on disk needs about {} of temporary space in `{}`, which has {} free",
        in_words(*needed), path.display(), in_words(*free)
    )]
    Space { path: PathBuf, needed: u64, free: u64 },

    /// The user has stopped it.
    #[error("reading was stopped")]
    Cancelled,
}

/// Bytes as people say them: `7.2 GB`.
pub(super) fn in_words(bytes: u64) -> String {
    let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6)];
    let bytes = bytes as f64;
    let (unit, size) = units.into_iter().find(|&(_, size)| bytes >= size).unwrap_or(("kB", 1e3));
    format!("{:.1} {unit}", bytes / size)
}
