//! Stage 4: one patch -> its local coordinates.
//!
//! Patches are embedded one by one, knowing nothing of each other, by any method that
//! gives every node of a patch `dim` numbers. An [`Embedder`] does one patch once;
//! [`best_of`] chooses among several runs; [`schedule`] does all patches, as many at a
//! time as threads and memory allow, and writes each to disk as soon as it is done;
//! [`embed_run`] does so in a run folder.
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

mod rates;

pub mod settings;

pub mod trained;

pub mod vgae;

pub mod gae;

pub mod dgi;

pub mod spectral;

pub mod walks;

pub mod command;

pub mod given;

pub mod best_of;

pub mod memory;

pub mod digest;

pub mod schedule;

mod stage;

pub use config::{EmbedConfig, EmbedMethod, PatchConfig, Select};
pub use error::EmbedError;
pub use rates::Rates;
pub use schedule::{Summary, embed_patches};
pub use stage::embed_run;

use serde::Serialize;

use crate::graph::{Graph, NodeId};
use crate::progress::Progress;
use crate::seed::Seed;
use memory::PatchSize;
use nn::Matrix;
use nn::clock::Clock;

/// What an embedder is given: one patch.
#[derive(Clone, Copy, Debug)]
pub struct Patch<'a> {
    /// Its name, as in file names.
    pub name: &'a str,
    /// The graph its nodes induce, with their features.
    pub graph: &'a Graph,
    /// Its nodes in the whole graph; node `k` of the patch is `nodes[k]`.
    pub nodes: &'a [NodeId],
}

/// The coordinates of a patch, and how they came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    /// One row per node of the patch.
    pub coordinates: Matrix<f32>,
    /// How they came about.
    pub record: Record,
}

/// How an embedding came about.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Record {
    /// The loss of each epoch; empty for methods without.
    pub losses: Vec<f64>,
    /// The learning rate, for methods that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<f64>,
    /// How long it took.
    pub seconds: f64,
    /// Where the time of training went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_per_part: Option<Clock>,
}

/// Gives every node of a patch its coordinates.
pub trait Embedder: Send + Sync {
    /// Embeds a patch in `dim` dimensions.
    ///
    /// `run` counts the runs of one patch; `seed` is already the run's own. One step of
    /// `progress` is an epoch, see [`Embedder::num_steps`].
    ///
    /// # Errors
    /// [`EmbedError`] if there are no coordinates, or they are not finite.
    fn embed(
        &self,
        patch: &Patch<'_>,
        dim: usize,
        run: u32,
        seed: Seed,
        progress: &dyn Progress,
    ) -> Result<Embedding, EmbedError>;

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

impl EmbedConfig {
    /// The embedder that these settings describe.
    pub fn embedder(&self) -> Box<dyn Embedder> {
        match self.method {
            EmbedMethod::Vgae | EmbedMethod::Gae | EmbedMethod::Dgi => Box::new(trained::Trained::new(self)),
            EmbedMethod::Spectral => Box::new(spectral::Spectral::new(self.power_iterations)),
            EmbedMethod::Command => Box::new(command::Command::new(self.command.clone())),
            EmbedMethod::Given => Box::new(given::Given::new(self.coordinates.clone())),
        }
    }
}

/// Checks that every coordinate is a number.
fn check_finite(patch: &Patch<'_>, coordinates: &Matrix<f32>) -> Result<(), EmbedError> {
    let broken = |row: &usize| coordinates.row(*row).iter().any(|value| !value.is_finite());
    match (0..coordinates.num_rows()).find(broken) {
        None => Ok(()),
        Some(row) => Err(EmbedError::Coordinates { patch: patch.name.to_owned(), row }),
    }
}
