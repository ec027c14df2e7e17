//! Stage 4: one patch -> its local coordinates.
//!
//! Patches are embedded one by one, knowing nothing of each other, by any method that
//! gives every node of a patch `dim` numbers. An [`Embedder`] does one patch once;
//! [`best_of`] chooses among several runs; [`schedule`] does all patches, as many at a
//! time as threads and memory allow, and writes each to disk as soon as it is done;
//! [`embed_run`] does so in a run folder, and [`bundle`] on other machines.
//!
//! ```text
//! patch graph --Embedder--> Embedding --best_of--> Embedding --schedule--> 4-embeddings/NAME.npy
//! ```
//!
//! Convention: rows of an embedding are in the order of the patch's nodes. Chance
//! depends on the seed, the patch and the run alone.

pub mod nn;

mod error;

mod config;

mod method;

mod rates;

mod training;

pub mod settings;

pub mod trained;

pub mod vgae;

pub mod gae;

pub mod dgi;

pub mod hops;

pub mod walks;

pub mod both;

pub mod spectral;

pub mod choose;

pub mod frame;

mod watcher;

pub mod process;

pub mod command;

pub mod given;

pub mod best_of;

pub mod memory;

pub mod digest;

pub mod schedule;

mod node_lists;

mod stage;

pub mod bundle;

pub use config::{EmbedConfig, FrameKind, PatchOverrides, Select};
pub use error::EmbedError;
pub use frame::{Frame, FrameRecord};
pub use method::{EmbedMethod, Start};
pub use rates::Rates;
pub use schedule::{EmbedSummary, embed_framed, embed_patches};
pub use stage::{StitchedFolders, embed_late, embed_late_in, embed_run};
pub use training::Training;

use std::path::Path;

use serde::Serialize;

use crate::graph::{Graph, NodeId};
use crate::progress::{Progress, Silent};
use crate::seed::{Seed, Stage};
use hops::model::HopsEncoder;
use memory::PatchSize;
use nn::Matrix;
use nn::clock::Clock;
use nn::train::KeptWeights;

/// What an embedder is given: one patch.
#[derive(Clone, Copy, Debug)]
pub struct PatchInput<'a> {
    /// Its name, as in file names.
    pub name: &'a str,
    /// The graph its nodes induce, with their features.
    pub graph: &'a Graph,
    /// Its nodes in the whole graph; node `k` of the patch is `nodes[k]`.
    pub nodes: &'a [NodeId],
    /// Where their rows are in `whole`, ascending: `nodes` themselves, or less far apart where
    /// `whole` is what a bundle holds of it.
    pub rows: &'a [NodeId],
    /// The whole graph, of which an embedder may read these rows and nothing else.
    pub whole: &'a Graph,
    /// The folder that its coordinates go into; temporary files belong there too, in a folder made
    /// by [`make_work_folder`](crate::run_dir::make_work_folder).
    pub folder: &'a Path,
    /// The seed that all patches share; each run has its own, see [`PatchInput::common_seed`].
    pub seed: Seed,
}

impl PatchInput<'_> {
    /// The seed of what all patches share in one run, such as first weights.
    pub fn common_seed(&self, run: u32) -> Seed {
        // The children from 0 on are those of the patches.
        self.seed.child(Stage::Embed, u64::MAX - u64::from(run))
    }
}

/// The coordinates of a patch, and how they came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    /// One row per node of the patch.
    pub coordinates: Matrix<f32>,
    /// How they came about.
    pub record: Record,
    /// What was learned, for methods whose encoder can be applied to other nodes.
    pub encoder: Option<HopsEncoder<f32>>,
}

/// How an embedding came about.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Record {
    /// The loss of each epoch; empty for methods without.
    pub losses: Vec<f64>,
    /// Which weights were kept.
    #[serde(flatten)]
    pub kept: KeptWeights,
    /// The learning rate, for methods that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<f64>,
    /// How long it took.
    pub seconds: f64,
    /// Where the time of training went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_per_part: Option<Clock>,
}

/// What an embedder is asked for.
#[derive(Clone, Copy)]
pub struct EmbedTask<'a> {
    /// The number of coordinates.
    pub dim: usize,
    /// Counts the runs of one patch.
    pub run: u32,
    /// The seed of this run.
    pub seed: Seed,
    /// Who is told how far it is, and may cancel it; a step is an epoch, see
    /// [`Embedder::num_steps`].
    pub progress: &'a dyn Progress,
}

impl EmbedTask<'static> {
    /// The first run in so many dimensions, in silence.
    pub fn silent(dim: usize, seed: Seed) -> Self {
        Self { dim, run: 0, seed, progress: &Silent }
    }
}

/// Gives every node of a patch its coordinates.
pub trait Embedder: Send + Sync {
    /// Embeds a patch.
    ///
    /// # Errors
    /// [`EmbedError`] if there are no coordinates, or they are not finite.
    fn embed(&self, patch: &PatchInput<'_>, task: &EmbedTask<'_>) -> Result<Embedding, EmbedError>;

    /// How many steps of progress one run has.
    fn num_steps(&self) -> u64 {
        1
    }

    /// Whether another run with another seed gives other coordinates.
    fn is_random(&self) -> bool {
        true
    }

    /// About how many bytes a run needs at its peak, patch and result included.
    fn memory_bytes(&self, size: &PatchSize, dim: usize) -> u64;
}

/// Checks that every coordinate is a number.
fn check_finite(patch: &PatchInput<'_>, coordinates: &Matrix<f32>) -> Result<(), EmbedError> {
    let broken = |row: &usize| coordinates.row(*row).iter().any(|value| !value.is_finite());
    match (0..coordinates.num_rows()).find(broken) {
        None => Ok(()),
        Some(row) => Err(EmbedError::Coordinates { patch: patch.name.to_owned(), row }),
    }
}
