//! What each stage reads and writes on disk.
//!
//! ```text
//! run.toml  1-graph/  2-partition/  3-patches/  4-embeddings/  5-alignment/  6-evaluation/  report.html
//! ```
//!
//! A file appears complete or not at all: it is written under a temporary name in
//! the same folder, flushed to disk, and renamed. So whoever finds a file may use it,
//! however the program that wrote it ended.

mod archive;

mod atomic;

mod patch_files;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::npy::{self, Element};

pub use archive::{ArrayArchive, ArrayFile, write_arrays};
pub use atomic::{AtomicSink, write_atomically};
pub use patch_files::{
    LANDMARKS, PATCH_GRAPH, PATCH_REPORT, PatchFiles, PatchFilesError, nodes_path, patch_name, patch_number,
    remove_patches, weights_path,
};

/// A run folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    root: PathBuf,
}

/// A file or folder that could not be used.
#[derive(Debug, thiserror::Error)]
#[error("could not {action} `{}`: {source}", path.display())]
pub struct FileError {
    /// What was tried, such as "write".
    pub action: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl FileError {
    /// Adds the place to an error of the system; to be used with `map_err`.
    pub fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { action, path, source }
    }
}

impl RunDir {
    /// The run folder at `root`, whether it exists or not.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Every setting of the run.
    pub fn settings(&self) -> PathBuf {
        self.root.join("run.toml")
    }

    /// The cleaned graph.
    pub fn graph(&self) -> PathBuf {
        self.root.join("1-graph")
    }

    /// The cluster of each node.
    pub fn partition(&self) -> PathBuf {
        self.root.join("2-partition")
    }

    /// The overlapping patches.
    pub fn patches(&self) -> PathBuf {
        self.root.join("3-patches")
    }

    /// The coordinates of each patch.
    pub fn embeddings(&self) -> PathBuf {
        self.root.join("4-embeddings")
    }

    /// The stitched embedding.
    pub fn alignment(&self) -> PathBuf {
        self.root.join("5-alignment")
    }

    /// The scores.
    pub fn evaluation(&self) -> PathBuf {
        self.root.join("6-evaluation")
    }

    /// The embedding in the formats of other programs.
    pub fn export(&self) -> PathBuf {
        self.root.join("export")
    }
}

/// Writes an array as a `.npy` file.
///
/// # Errors
/// As [`write_atomically`].
pub fn write_array<T: Element>(path: &Path, shape: &[usize], values: &[T]) -> Result<(), FileError> {
    write_atomically(path, |sink| npy::write(sink, shape, values))
}

/// Writes a record as indented JSON.
///
/// # Errors
/// As [`write_atomically`].
pub fn write_json(path: &Path, record: &impl Serialize) -> Result<(), FileError> {
    write_atomically(path, |sink| {
        serde_json::to_writer_pretty(&mut *sink, record)?;
        sink.write_all(b"\n")
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write_json(&path, &[1, 2, 3]).unwrap();
        write_json(&path, &"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "\"new\"\n");
    }

    #[test]
    fn patches_sort_by_name() {
        assert_eq!(patch_name(7), "patch-00007");
    }
}
