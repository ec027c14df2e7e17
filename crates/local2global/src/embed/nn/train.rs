//! The loop over the epochs.
//!
//! Every epoch draws its random numbers, computes the loss and its gradients, and
//! takes one step of Adam. With `patience`, training stops when the loss has not
//! fallen for so many epochs, and the weights with the lowest loss come back.
//!
//! With validation the score on held-out edges takes the place of the loss: it is computed every
//! few epochs, training stops when it has not risen for `patience` checks, and the weights with
//! the highest score come back.

use serde::Serialize;

use super::Matrix;
use super::adam::{Adam, Parameter};
use super::clock::{Clock, Part};
use crate::embed::EmbedError;
use crate::linalg::real::Real;
use crate::progress::Progress;
use crate::seed::Seed;

/// Something that is trained by following gradients.
///
/// To add one, write its file: the buffers, the forward pass, the backward pass.
pub trait Model<F> {
    /// Draws the random numbers of one epoch.
    fn draw(&mut self, seed: Seed, epoch: u32);

    /// Computes the loss with the numbers drawn last, and the gradients by all
    /// parameters.
    fn loss_and_gradients(&mut self) -> f64;

    /// The parameters, with their gradients.
    fn parameters(&mut self) -> &mut [Parameter<F>];

    /// The embedding at the present weights: one row per node.
    fn coordinates(&mut self) -> Matrix<F>;

    /// How well the present weights do on edges kept out of training, the higher the better;
    /// none if there are no such edges.
    fn validate(&mut self) -> Option<f64> {
        None
    }

    /// Where the time went.
    fn clock(&mut self) -> &mut Clock;
}

/// How long and how fast to train.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// The most epochs.
    pub epochs: u32,
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// How strongly weights are pulled towards zero.
    pub weight_decay: f64,
    /// Stop when the loss has not fallen for so many epochs, or the validation score has not
    /// risen for so many checks.
    pub patience: Option<u32>,
    /// Check the validation score after every so many epochs.
    pub check_every: Option<u32>,
}

/// What training did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// The loss of every epoch.
    pub losses: Vec<f64>,
    /// Which weights came back.
    pub kept: KeptWeights,
}

/// Which weights training gave back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct KeptWeights {
    /// The epoch whose loss belongs to them, counted from 1; none if they are the last ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_epoch: Option<u32>,
    /// Their score on edges kept out of training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
}

/// Why training ended without a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrainError {
    /// The loss, or a coordinate, became NaN or infinite.
    NotFinite {
        /// The epoch, counted from 1.
        epoch: u32,
        /// The loss of that epoch.
        loss: f64,
    },
    /// Somebody asked to stop.
    Cancelled,
}

impl TrainError {
    /// The same, told of a run of a patch.
    pub fn in_patch(self, patch: &str, run: u32, learning_rate: f64) -> EmbedError {
        match self {
            Self::Cancelled => EmbedError::Cancelled { done: 0, total: 1 },
            Self::NotFinite { epoch, loss } => {
                EmbedError::NotFinite { patch: patch.to_owned(), run, epoch, loss, learning_rate }
            }
        }
    }
}

/// The weights with the lowest cost so far: the loss, or the validation score with its sign
/// changed.
struct Best<F> {
    epoch: u32,
    cost: f64,
    values: Vec<Matrix<F>>,
}

/// Trains a model; every epoch is a step of `progress`.
///
/// # Errors
/// [`TrainError::NotFinite`] if the loss is not a number or infinite, and
/// [`TrainError::Cancelled`] if `progress` says so.
pub fn train<F: Real>(
    model: &mut dyn Model<F>,
    schedule: &Schedule,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<History, TrainError> {
    let mut adam = Adam::new(model.parameters(), schedule.learning_rate, schedule.weight_decay);
    let mut losses = Vec::with_capacity(schedule.epochs as usize);
    let mut best: Option<Best<F>> = None;
    for epoch in 1..=schedule.epochs {
        if progress.is_cancelled() {
            return Err(TrainError::Cancelled);
        }
        model.draw(seed, epoch);
        let loss = model.loss_and_gradients();
        if !loss.is_finite() {
            return Err(TrainError::NotFinite { epoch, loss });
        }
        losses.push(loss);
        progress.advance(1);
        if let (Some(patience), None) = (schedule.patience, schedule.check_every) {
            keep_best(&mut best, epoch, loss, model.parameters());
            if best.as_ref().is_some_and(|best| epoch - best.epoch >= patience) {
                break;
            }
        }
        let mut clock = *model.clock();
        clock.time(Part::Adam, || adam.step(model.parameters()));
        *model.clock() = clock;
        if let Some(every) = schedule.check_every.filter(|every| epoch % every == 0) {
            let Some(score) = model.validate() else { continue };
            keep_best(&mut best, epoch, -score, model.parameters());
            let is_over = |best: &Best<F>, patience: u32| (epoch - best.epoch) / every >= patience;
            if best.as_ref().zip(schedule.patience).is_some_and(|(best, patience)| is_over(best, patience)) {
                break;
            }
        }
    }
    let validation = best.as_ref().filter(|_| schedule.check_every.is_some()).map(|best| -best.cost);
    let best_epoch = best.as_ref().map(|best| best.epoch);
    if let Some(best) = best {
        restore(best, model.parameters());
    }
    Ok(History { losses, kept: KeptWeights { best_epoch, validation } })
}

fn keep_best<F: Real>(best: &mut Option<Best<F>>, epoch: u32, cost: f64, parameters: &[Parameter<F>]) {
    match best {
        Some(best) => {
            // A cost that is NaN is never lower.
            if cost.partial_cmp(&best.cost) != Some(std::cmp::Ordering::Less) {
                return;
            }
            (best.epoch, best.cost) = (epoch, cost);
            for (kept, parameter) in best.values.iter_mut().zip(parameters) {
                kept.values_mut().copy_from_slice(parameter.value.values());
            }
        }
        None => {
            let values = parameters.iter().map(|parameter| parameter.value.clone()).collect();
            *best = Some(Best { epoch, cost, values });
        }
    }
}

fn restore<F: Real>(best: Best<F>, parameters: &mut [Parameter<F>]) {
    for (parameter, value) in parameters.iter_mut().zip(best.values) {
        parameter.value = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    /// The loss `w²`, which Adam overshoots, or a loss that breaks at some epoch.
    struct Parabola {
        parameters: [Parameter<f64>; 1],
        clock: Clock,
        epoch: u32,
        breaks_at: u32,
    }

    impl Parabola {
        fn new(breaks_at: u32) -> Self {
            let parameters = [Parameter::new(Matrix::from_values(1, 1, vec![1.0]))];
            Self { parameters, clock: Clock::default(), epoch: 0, breaks_at }
        }
    }

    impl Model<f64> for Parabola {
        fn draw(&mut self, _: Seed, epoch: u32) {
            self.epoch = epoch;
        }

        fn loss_and_gradients(&mut self) -> f64 {
            let w = self.parameters[0].value.values()[0];
            self.parameters[0].gradient.values_mut()[0] = 2.0 * w;
            if self.epoch == self.breaks_at { f64::NAN } else { w * w }
        }

        fn parameters(&mut self) -> &mut [Parameter<f64>] {
            &mut self.parameters
        }

        fn coordinates(&mut self) -> Matrix<f64> {
            self.parameters[0].value.clone()
        }

        fn validate(&mut self) -> Option<f64> {
            let w = self.parameters[0].value.values()[0];
            Some(-(w - 0.5).abs())
        }

        fn clock(&mut self) -> &mut Clock {
            &mut self.clock
        }
    }

    fn schedule(patience: Option<u32>) -> Schedule {
        Schedule { epochs: 200, learning_rate: 0.3, weight_decay: 0.0, patience, check_every: None }
    }

    #[test]
    fn patience_stops_early_and_brings_the_best_weights_back() {
        let mut model = Parabola::new(0);
        let History { losses, kept: KeptWeights { best_epoch, .. } } =
            train(&mut model, &schedule(Some(5)), Seed(0), &Silent).unwrap();
        let lowest = losses.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(losses.len() < 200);
        assert_eq!((losses[losses.len() - 6], best_epoch), (lowest, Some(losses.len() as u32 - 5)));
        assert_eq!(model.coordinates().values()[0].powi(2), lowest);
    }

    #[test]
    fn with_validation_the_weights_with_the_best_score_come_back() {
        for (patience, num_epochs) in [(Some(3), 60), (None, 200)] {
            let mut model = Parabola::new(0);
            let mut schedule = schedule(patience);
            (schedule.check_every, schedule.learning_rate) = (Some(2), 0.05);
            let history = train(&mut model, &schedule, Seed(0), &Silent).unwrap();
            assert!(history.losses.len() <= num_epochs, "{} epochs", history.losses.len());
            assert_eq!(history.kept.validation, model.validate());
            assert!(
                history.kept.validation.unwrap() > -0.05
                    && history.kept.best_epoch.unwrap().is_multiple_of(2)
            );
        }
    }

    #[test]
    fn a_loss_that_is_not_a_number_stops_training() {
        let error = train(&mut Parabola::new(7), &schedule(None), Seed(0), &Silent).unwrap_err();
        assert!(matches!(error, TrainError::NotFinite { epoch: 7, .. }));
    }

    #[test]
    fn training_can_be_cancelled() {
        struct Stop;
        impl Progress for Stop {
            fn is_cancelled(&self) -> bool {
                true
            }
        }
        assert_eq!(train(&mut Parabola::new(0), &schedule(None), Seed(0), &Stop), Err(TrainError::Cancelled));
    }
}
