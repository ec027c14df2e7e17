//! Several runs of one patch: keep the best.
//!
//! Runs differ in their seed and perhaps their learning rate. The best has the highest
//! reconstruction AUC on the patch, over the same non-edges for all, or the lowest
//! loss; of equals, the first run. So the order in which runs end does not matter.
//! Where the AUC does not exist, because the patch has no edges or no non-edges, or
//! the loss does not, because the method has none, all runs are equal.

use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::nn::decoder::Decoder;
use super::nn::train::KeptWeights;
use super::{EmbedConfig, Embedding, PatchInput, Record, Select};
use crate::score::{Score, reconstruction_auc};

/// One run that has ended.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Which run.
    pub run: u32,
    /// What came out.
    pub embedding: Embedding,
    /// The reconstruction AUC on the patch.
    pub auc: Option<f64>,
}

/// What is remembered of every run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunRecord {
    /// Which run.
    pub run: u32,
    /// Its learning rate, for methods that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<f64>,
    /// Its reconstruction AUC on the patch.
    pub auc: Option<f64>,
    /// The loss of the weights that were kept.
    pub loss: Option<f64>,
    /// Which weights were kept.
    #[serde(flatten)]
    pub kept: KeptWeights,
    /// How long it took.
    pub seconds: f64,
}

/// The best of the runs so far.
#[derive(Clone, Debug)]
pub struct Contest {
    select: Select,
    best: Option<Candidate>,
    runs: Vec<RunRecord>,
}

impl Candidate {
    /// A finished run with its score; `random` must be the same for all runs.
    pub fn new(
        run: u32,
        embedding: Embedding,
        patch: &PatchInput<'_>,
        config: &EmbedConfig,
        mut random: ChaCha8Rng,
    ) -> Self {
        let score = match config.decoder {
            Decoder::InnerProduct => Score::InnerProduct,
            Decoder::Distance => Score::Distance,
        };
        let (values, dim) = (embedding.coordinates.values(), config.dim);
        let auc = reconstruction_auc(patch.graph, values, dim, score, &mut random);
        Self { run, embedding, auc }
    }

    /// The loss of the weights that were kept.
    pub fn loss(&self) -> Option<f64> {
        let Record { losses, kept, .. } = &self.embedding.record;
        match kept.best_epoch {
            Some(epoch) => losses.get(epoch as usize - 1).copied(),
            None => losses.last().copied(),
        }
    }
}

impl Contest {
    /// A contest without runs.
    pub fn new(select: Select) -> Self {
        Self { select, best: None, runs: Vec::new() }
    }

    /// Enters a run.
    pub fn enter(&mut self, candidate: Candidate) {
        let record = &candidate.embedding.record;
        self.runs.push(RunRecord {
            run: candidate.run,
            learning_rate: record.learning_rate,
            auc: candidate.auc,
            loss: candidate.loss(),
            kept: record.kept,
            seconds: record.seconds,
        });
        self.runs.sort_by_key(|record| record.run);
        let wins = |best: &Candidate| {
            let merit = |run: &Candidate| match self.select {
                Select::Auc => run.auc,
                Select::Loss => run.loss().map(|loss| -loss),
            };
            let (new, old) = (merit(&candidate), merit(best));
            new > old || (new == old && candidate.run < best.run)
        };
        if self.best.as_ref().is_none_or(wins) {
            self.best = Some(candidate);
        }
    }

    /// How many runs have been entered.
    pub fn num_runs(&self) -> u32 {
        self.runs.len() as u32
    }

    /// The best run, and what is remembered of all, in order.
    pub fn finish(self) -> Option<(Candidate, Vec<RunRecord>)> {
        self.best.map(|best| (best, self.runs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::nn::Matrix;

    fn candidate(run: u32, auc: Option<f64>, losses: &[f64], best_epoch: Option<u32>) -> Candidate {
        let kept = KeptWeights { best_epoch, validation: None };
        let record = Record { losses: losses.to_vec(), kept, ..Record::default() };
        Candidate {
            run,
            auc,
            embedding: Embedding { coordinates: Matrix::zeros(1, 1), record, encoder: None },
        }
    }

    fn winner(select: Select, candidates: Vec<Candidate>) -> u32 {
        let mut contest = Contest::new(select);
        candidates.into_iter().for_each(|candidate| contest.enter(candidate));
        contest.finish().unwrap().0.run
    }

    #[test]
    fn the_best_wins_in_any_order() {
        let runs = |kept: Option<u32>| {
            vec![
                candidate(0, Some(0.8), &[3.0, 1.0], None),
                candidate(1, Some(0.9), &[0.5, 2.0], kept),
                candidate(2, Some(0.9), &[1.5], None),
            ]
        };
        for rotation in 0..3 {
            let rotated = |kept| {
                let mut runs = runs(kept);
                runs.rotate_left(rotation);
                runs
            };
            assert_eq!(winner(Select::Auc, rotated(None)), 1);
            assert_eq!(winner(Select::Loss, rotated(None)), 0);
            assert_eq!(winner(Select::Loss, rotated(Some(1))), 1);
        }
    }

    #[test]
    fn without_scores_the_first_run_wins() {
        let without_scores = || vec![candidate(1, None, &[], None), candidate(0, None, &[], None)];
        assert_eq!(winner(Select::Auc, without_scores()), 0);
        assert_eq!(winner(Select::Loss, without_scores()), 0);
    }
}
