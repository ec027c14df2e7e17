//! Why a run failed.

use std::path::PathBuf;

use crate::align::AlignFilesError;
use crate::embed::EmbedError;
use crate::evaluate::EvaluateError;
use crate::graph::held_out::HoldOutError;
use crate::graph::io::ReadError;
use crate::graph::store::StoreError;
use crate::memory::ByteSize;
use crate::npy::NpyError;
use crate::partition::PartitionError;
use crate::patch::PatchError;
use crate::run_dir::FileError;

/// Why a run failed: the stage, with its own error as the source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum PipelineError {
    /// Somebody else works in the folder.
    #[error(
        "run folder `{}` is in use{}",
        run.display(),
        holder.map_or(String::new(), |id| format!(" by process {id}"))
    )]
    Locked { run: PathBuf, holder: Option<u32> },

    /// Somebody asked to stop.
    #[error("cancelled before stage `{stage}`; finished stages are kept")]
    Cancelled { stage: &'static str },

    /// A stage was made from something that is not there any more.
    #[error("`{}` was made from other files: `{}` has changed since", folder.display(), earlier.display())]
    Outdated { folder: PathBuf, earlier: PathBuf },

    /// A file is not what a stage left.
    #[error("`{}` is not what its stage left: it is damaged, or somebody replaced it", path.display())]
    Damaged { path: PathBuf },

    /// The machine, the container or the limit of the process is too small.
    #[error("`{stage}` needs about {:.1} GiB of memory, and this process may use {:.1}", gib(*needed), gib(*there))]
    Memory { stage: &'static str, needed: u64, there: u64, help: &'static str },

    /// The limit that the user has set is too small.
    #[error(
        "`{stage}` needs about {needed} of memory, but the limit is {limit}; `--memory {needed}` would do",
        needed = needed.rounded_up()
    )]
    Limit { stage: &'static str, needed: ByteSize, limit: ByteSize, help: &'static str },

    /// Parts of the graph cannot be aligned with each other.
    #[error("graph falls into parts: {groups} groups of patches share no nodes, and cannot be aligned")]
    Parts { groups: usize },

    /// The graph could not be read.
    #[error("could not read the graph")]
    Graph(#[from] ReadError),

    /// Edges could not be held out.
    #[error("could not hold out edges")]
    HoldOut(#[from] HoldOutError),

    /// The graph could not be stored, or opened again.
    #[error("could not store the graph")]
    Store(#[from] StoreError),

    /// The graph could not be split.
    #[error("could not split the graph into clusters")]
    Partition(#[from] PartitionError),

    /// The patches could not be made.
    #[error("could not make patches")]
    Patch(#[from] PatchError),

    /// The patches could not be embedded.
    #[error("could not embed the patches")]
    Embed(#[from] EmbedError),

    /// The patches could not be aligned.
    #[error("could not align the patches")]
    Align(#[from] AlignFilesError),

    /// The embedding could not be scored.
    #[error("could not score the embedding")]
    Evaluate(#[from] EvaluateError),

    /// A file of the run could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),

    /// An array of the run could not be read.
    #[error("`{}`: {source}", path.display())]
    Array { path: PathBuf, source: NpyError },
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}
