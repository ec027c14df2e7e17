//! What each stage reads and writes on disk.
//!
//! ```text
//! run.toml  1-graph/  2-partition/  3-patches/  4-embeddings/  5-alignment/  6-evaluation/  report.html
//! ```
//!
//! A file appears complete or not at all: it is written under a temporary name in the same folder,
//! fsynced, and renamed. So whoever finds a file may use it, however the program that wrote it
//! ended. No other module spells the name of a file in a run folder.

mod archive;

mod atomic;

mod batch;

mod destination;

mod folders;

mod patch_files;

mod record;

mod seal;

mod work;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::npy::{self, Element};

pub use archive::{ArrayArchive, ArrayFile, write_arrays, write_private_arrays};
pub use atomic::{AtomicSink, UnfinishedFolder, move_file, remove_unfinished, write_atomically};
pub use batch::{BatchError, FileBatch};
pub use destination::is_standard_output;
pub use folders::{
    AlignmentFolder, BundleFolder, EmbeddingFolder, EvaluationFolder, ExperimentFolder, ExportFolder,
    FrameFolder, GraphFolder, JoinedFolder, PartitionFolder, PatchFolder, ShareFolder, patch_name,
    patch_number, stamp_path,
};
pub use patch_files::{PatchFiles, PatchFilesError, remove_patches};
pub use record::{SCHEMA, SchemaError, read_json, write_json};
pub use seal::{read_sealed_json, write_sealed_json};
pub use work::{make_work_folder, remove_work_folders};

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

/// Gives a run its folders, each by its name.
macro_rules! folders_of_run {
    ($($(#[$doc:meta])* $method:ident: $folder:ident = $name:literal,)*) => {
        impl RunDir {
            $($(#[$doc])*
            pub fn $method(&self) -> $folder {
                $folder::at(self.root.join($name))
            })*
        }
    };
}

folders_of_run! {
    /// The cleaned graph.
    graph: GraphFolder = "1-graph",
    /// The cluster of each node.
    partition: PartitionFolder = "2-partition",
    /// The overlapping patches.
    patches: PatchFolder = "3-patches",
    /// The coordinates of each patch.
    embeddings: EmbeddingFolder = "4-embeddings",
    /// The stitched embedding.
    alignment: AlignmentFolder = "5-alignment",
    /// The scores.
    evaluation: EvaluationFolder = "6-evaluation",
    /// The embedding in the formats of other programs.
    export: ExportFolder = "export",
    /// The coordinates that an embedder in Python makes, for the embed stage to take.
    given_coordinates: EmbeddingFolder = "embedder",
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

    /// What undoes the secret motion of a federated site's share.
    pub fn secret(&self) -> PathBuf {
        self.root.join("secret.npz")
    }

    /// The run as a page for a browser.
    pub fn report(&self) -> PathBuf {
        self.root.join("report.html")
    }

    /// Who works in the folder.
    pub fn lock(&self) -> PathBuf {
        self.root.join(".lock")
    }

    /// Clusters that a caller in Python gives, for the partition stage to take. Other clusters are
    /// another file, so that a run notices.
    pub fn given_clusters(&self, digest: &str) -> PathBuf {
        self.root.join(format!("clusters-{digest}.npy"))
    }
}

/// The bytes of all files in a folder and the folders in it; 0 if it is not there.
///
/// # Errors
/// [`FileError`] if a folder cannot be read.
pub fn folder_bytes(folder: &Path) -> Result<u64, FileError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries.map_err(FileError::at("read", folder))?,
    };
    let mut bytes = 0;
    for entry in entries {
        let path = entry.map_err(FileError::at("read", folder))?.path();
        // A file may be replaced meanwhile; links are not followed.
        bytes += match fs::symlink_metadata(&path) {
            Ok(data) if data.is_dir() => folder_bytes(&path)?,
            data => data.map_or(0, |data| data.len()),
        };
    }
    Ok(bytes)
}

/// Writes an array as a `.npy` file.
///
/// # Errors
/// As [`write_atomically`].
pub fn write_array<T: Element>(path: &Path, shape: &[usize], values: &[T]) -> Result<(), FileError> {
    write_atomically(path, |sink| npy::write(sink, shape, values))
}
