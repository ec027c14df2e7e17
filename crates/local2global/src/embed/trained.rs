//! Embedders that train a model: `vgae`, `gae` and `dgi`.

use std::time::Instant;

use super::dgi::Dgi;
use super::gae::Gae;
use super::memory::{PatchSize, model_bytes};
use super::nn::train::{Model, Schedule, TrainError, train};
use super::settings::ModelSettings;
use super::vgae::Vgae;
use super::{EmbedConfig, EmbedError, EmbedMethod, Embedder, Embedding, Patch, Rates, Record, check_finite};
use crate::graph::Graph;
use crate::progress::Progress;
use crate::seed::Seed;

/// Trains a model on a patch; the coordinates are what it encodes.
#[derive(Clone, Debug)]
pub struct Trained {
    method: EmbedMethod,
    settings: ModelSettings,
    epochs: u32,
    learning_rate: Rates,
    num_runs: u32,
    weight_decay: f64,
    patience: u32,
}

impl Trained {
    /// The model and the training that some settings describe.
    pub fn new(config: &EmbedConfig) -> Self {
        let EmbedConfig { dim, hidden, decoder, normalise: scaling, .. } = *config;
        Self {
            method: config.method,
            settings: ModelSettings { dim, hidden, decoder, scaling },
            epochs: config.epochs,
            learning_rate: config.learning_rate.clone(),
            num_runs: config.runs,
            weight_decay: config.weight_decay,
            patience: config.patience,
        }
    }

    /// The model, with its first weights.
    fn model(&self, graph: &Graph, dim: usize, seed: Seed) -> Box<dyn Model<f32>> {
        let settings = ModelSettings { dim, ..self.settings };
        match self.method {
            EmbedMethod::Gae => Box::new(Gae::new(graph, &settings, seed)),
            EmbedMethod::Dgi => Box::new(Dgi::new(graph, &settings, seed)),
            _ => Box::new(Vgae::new(graph, &settings, seed)),
        }
    }
}

impl Embedder for Trained {
    fn embed(
        &self,
        patch: &Patch<'_>,
        dim: usize,
        run: u32,
        seed: Seed,
        progress: &dyn Progress,
    ) -> Result<Embedding, EmbedError> {
        let start = Instant::now();
        let learning_rate = self.learning_rate.of_run(run, self.num_runs);
        let schedule = Schedule {
            epochs: self.epochs,
            learning_rate,
            weight_decay: self.weight_decay,
            patience: (self.patience > 0).then_some(self.patience),
        };
        let mut model = self.model(patch.graph, dim, seed);
        let losses = train(&mut *model, &schedule, seed, progress).map_err(|error| match error {
            TrainError::Cancelled => EmbedError::Cancelled { done: 0, total: 1 },
            TrainError::NotFinite { epoch, loss } => {
                EmbedError::NotFinite { patch: patch.name.to_owned(), run, epoch, loss, learning_rate }
            }
        })?;
        // Training may have stopped early; the steps that were promised are over.
        progress.advance(u64::from(self.epochs) - losses.len() as u64);
        let coordinates = model.coordinates();
        check_finite(patch, &coordinates)?;
        let record = Record {
            losses,
            learning_rate: Some(learning_rate),
            seconds: start.elapsed().as_secs_f64(),
            seconds_per_part: Some(*model.clock()),
        };
        Ok(Embedding { coordinates, record })
    }

    fn num_steps(&self) -> u64 {
        u64::from(self.epochs)
    }

    fn memory_bytes(&self, size: &PatchSize, dim: usize) -> u64 {
        let settings = ModelSettings { dim, ..self.settings };
        model_bytes(self.method, &settings, size, self.patience > 0)
    }
}
