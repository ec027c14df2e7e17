//! Why patches could not be embedded.

use std::path::PathBuf;

use crate::graph::store::StoreError;
use crate::npy::NpyError;
use crate::partition::PartitionError;
use crate::patch::PatchError;
use crate::run_dir::FileError;

/// Why a patch, or the stage, could not be embedded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum EmbedError {
    /// A setting makes no sense.
    #[error("setting `embed.{key}` is {found}; needed {needed}")]
    Setting { key: &'static str, found: String, needed: &'static str },

    /// The settings name a patch that is not there.
    #[error("settings for `{name}` in `embed.patches`, but there is no such patch among {num_patches}")]
    NoSuchPatch { name: String, num_patches: usize },

    /// A patch was asked for that is not there.
    #[error("there is no patch {index}; there are {num_patches}")]
    NoSuchIndex { index: usize, num_patches: usize },

    /// The patches could not be read, or are not all there.
    #[error(transparent)]
    Patches(#[from] PatchError),

    /// Patches share too few nodes to be aligned.
    #[error("some patches share only {found} nodes, too few to align them in {dim} dimensions")]
    SmallOverlaps { found: usize, dim: usize },

    /// The nodes of a patch are not those of the graph.
    #[error("patch `{}` is unusable: {problem}", path.display())]
    Patch { path: PathBuf, problem: String },

    /// The clusters of a common frame could not be made.
    #[error(transparent)]
    Partition(#[from] PartitionError),

    /// The graph could not be read.
    #[error(transparent)]
    Graph(#[from] StoreError),

    /// The method needs features.
    #[error("method `hops` needs node features, and the graph has none")]
    NoFeatures,

    /// The graph could not be split into small clusters.
    #[error("could not split the graph into clusters for walks: {0}")]
    Clusters(String),

    /// Training blew up.
    #[error("loss of {patch} became {loss} in epoch {epoch} of run {run} (learning rate {learning_rate})")]
    NotFinite { patch: String, run: u32, epoch: u32, loss: f64, learning_rate: f64 },

    /// Coordinates came out NaN or infinite although the loss was finite.
    #[error("row {row} of the embedding of {patch} is not finite")]
    Coordinates { patch: String, row: usize },

    /// Somebody else's coordinates have the wrong shape.
    #[error("embedding of {patch} has shape {rows} x {columns}, but the patch needs {num_nodes} x {dim}")]
    Shape { patch: String, rows: usize, columns: usize, num_nodes: usize, dim: usize },

    /// Somebody else's coordinates could not be read.
    #[error("embedding of {patch} in `{}` is unusable: {source}", path.display())]
    Unreadable { patch: String, path: PathBuf, source: NpyError },

    /// The external program could not be started, or failed.
    #[error("command for {patch} {problem}")]
    Command { patch: String, problem: String },

    /// The external program took too long.
    #[error("command for {patch} took longer than {seconds} s, the limit of `embed.command_timeout`")]
    CommandTimeout { patch: String, seconds: f64 },

    /// A patch needs more memory than there may be used.
    #[error("{patch} needs about {needed} MiB to embed, but the memory limit is {limit} MiB")]
    Memory { patch: String, needed: u64, limit: u64 },

    /// Coordinates of another program would be overwritten.
    #[error("`{}` was made by another program, and would be overwritten", path.display())]
    Foreign { path: PathBuf },

    /// The system gave no threads.
    #[error("could not start threads: {0}")]
    Threads(String),

    /// The program itself is at fault.
    #[error("training of {patch} panicked in run {run}: {message}")]
    Panic { patch: String, run: u32, message: String },

    /// A file could not be written.
    #[error(transparent)]
    File(#[from] FileError),

    /// Somebody asked to stop.
    #[error("cancelled after {done} of {total} patches; finished patches are kept")]
    Cancelled { done: usize, total: usize },
}

impl EmbedError {
    /// What the user can do about it, if there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotFinite { .. } => {
                Some("lower `embed.learning_rate`, or set `embed.normalise = \"row\"` if features are large")
            }
            Self::NoFeatures => {
                Some("give features with `--features FILE`, or use `embed.method = \"walks\"`")
            }
            Self::Patches(PatchError::Files(_)) => Some("make patches first, with `l2g patch`"),
            Self::SmallOverlaps { .. } => {
                Some("make patches for as many dimensions, with `l2g patch --dim`, or set `embed.dim`")
            }
            Self::Memory { .. } => Some("raise the limit, or make smaller patches"),
            Self::CommandTimeout { .. } => Some("raise `embed.command_timeout`, or set it to 0 for no limit"),
            Self::Foreign { .. } => Some(
                "move the files, and set `embed.method = \"given\"` and `embed.coordinates` to their \
                 folder; or remove them",
            ),
            Self::Panic { .. } => {
                Some("this is a defect of local2global: please report it with the settings of the run")
            }
            Self::Cancelled { .. } => Some("run the same command again to do the rest"),
            Self::Shape { .. } | Self::Unreadable { .. } => {
                Some("coordinates are a .npy file of numbers, one row per node in the order of the patch")
            }
            _ => None,
        }
    }
}
