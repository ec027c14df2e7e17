//! Embedders that train a model: `vgae`, `gae` and `dgi`.

use std::time::Instant;

use super::dgi::Dgi;
use super::gae::Gae;
use super::memory::{PatchSize, model_bytes};
use super::nn::edges::Unseen;
use super::nn::init::FirstWeights;
use super::nn::train::{History, Model, Schedule, train};
use super::settings::ModelSettings;
use super::vgae::Vgae;
use super::{
    EmbedConfig, EmbedError, EmbedMethod, EmbedTask, Embedder, Embedding, PatchInput, Record, Start,
    Training, check_finite,
};
use crate::seed::Seed;

/// How many epochs lie between two checks of the validation score.
const CHECK_EVERY: u32 = 5;

/// Trains a model on a patch; the coordinates are what it encodes.
#[derive(Clone, Debug)]
pub struct Trained {
    method: EmbedMethod,
    settings: ModelSettings,
    training: Training,
    num_runs: u32,
}

impl Trained {
    /// The model and the training that some settings describe.
    pub fn new(config: &EmbedConfig) -> Self {
        let training = config.training();
        let EmbedConfig { dim, hidden, decoder, .. } = *config;
        let hide = if config.method == EmbedMethod::Dgi { 0.0 } else { training.hide };
        let unseen = Unseen { validation: training.validation, hide };
        Self {
            method: config.method,
            settings: ModelSettings { dim, hidden, decoder, scaling: training.normalise, unseen },
            training,
            num_runs: config.runs,
        }
    }

    /// The model, with its first weights.
    fn model(&self, patch: &PatchInput<'_>, dim: usize, run: u32, seed: Seed) -> Box<dyn Model<f32>> {
        let settings = ModelSettings { dim, ..self.settings };
        let start = match self.training.start {
            Start::Common => FirstWeights::Common(patch.common_seed(run), patch.nodes),
            Start::Own => FirstWeights::Own(seed),
        };
        match self.method {
            EmbedMethod::Gae => Box::new(Gae::new(patch.graph, &settings, start, seed)),
            EmbedMethod::Dgi => Box::new(Dgi::new(patch.graph, &settings, start, seed)),
            _ => Box::new(Vgae::new(patch.graph, &settings, start, seed)),
        }
    }

    /// Whether the best weights so far are kept beside the present ones.
    fn keeps_best(&self) -> bool {
        self.training.patience > 0 || self.training.validation > 0.0
    }

    /// The schedule of one run.
    fn schedule(&self, run: u32) -> Schedule {
        let Training { epochs, ref learning_rate, weight_decay, patience, validation, .. } = self.training;
        Schedule {
            epochs,
            learning_rate: learning_rate.of_run(run, self.num_runs),
            weight_decay,
            patience: (patience > 0).then_some(patience),
            check_every: (validation > 0.0).then_some(CHECK_EVERY),
        }
    }
}

impl Embedder for Trained {
    fn embed(&self, patch: &PatchInput<'_>, task: &EmbedTask<'_>) -> Result<Embedding, EmbedError> {
        let &EmbedTask { dim, run, seed, progress } = task;
        let start = Instant::now();
        let schedule = self.schedule(run);
        let learning_rate = schedule.learning_rate;
        let mut model = self.model(patch, dim, run, seed);
        let history = train(&mut *model, &schedule, seed, progress)
            .map_err(|error| error.in_patch(patch.name, run, learning_rate))?;
        let History { losses, kept } = history;
        // Training may have stopped early; the steps that were promised are over.
        progress.advance(u64::from(schedule.epochs) - losses.len() as u64);
        let coordinates = model.coordinates();
        check_finite(patch, &coordinates)?;
        let record = Record {
            losses,
            kept,
            learning_rate: Some(learning_rate),
            seconds: start.elapsed().as_secs_f64(),
            seconds_per_part: Some(*model.clock()),
        };
        Ok(Embedding { coordinates, record, encoder: None })
    }

    fn num_steps(&self) -> u64 {
        u64::from(self.training.epochs)
    }

    fn memory_bytes(&self, size: &PatchSize, dim: usize) -> u64 {
        let settings = ModelSettings { dim, ..self.settings };
        model_bytes(self.method, &settings, size, self.keeps_best())
    }
}
