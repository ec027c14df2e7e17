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
use super::{EmbedConfig, Embedding, Patch, Select};
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
    /// Its loss at the end.
    pub loss: Option<f64>,
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
        patch: &Patch<'_>,
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
    pub fn loss(&self, config: &EmbedConfig) -> Option<f64> {
        let losses = &self.embedding.record.losses;
        match config.patience {
            0 => losses.last().copied(),
            _ => losses.iter().copied().reduce(f64::min),
        }
    }
}

impl Contest {
    /// A contest without runs.
    pub fn new(select: Select) -> Self {
        Self { select, best: None, runs: Vec::new() }
    }

    /// Enters a run.
    pub fn enter(&mut self, candidate: Candidate, config: &EmbedConfig) {
        let record = &candidate.embedding.record;
        self.runs.push(RunRecord {
            run: candidate.run,
            learning_rate: record.learning_rate,
            auc: candidate.auc,
            loss: candidate.loss(config),
            seconds: record.seconds,
        });
        self.runs.sort_by_key(|record| record.run);
        let wins = |best: &Candidate| {
            let merit = |run: &Candidate| match self.select {
                Select::Auc => run.auc,
                Select::Loss => run.loss(config).map(|loss| -loss),
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
    use crate::embed::Record;
    use crate::embed::nn::Matrix;

    fn candidate(run: u32, auc: Option<f64>, losses: &[f64]) -> Candidate {
        let record = Record { losses: losses.to_vec(), ..Record::default() };
        Candidate { run, auc, embedding: Embedding { coordinates: Matrix::zeros(1, 1), record } }
    }

    fn winner(select: Select, patience: u32, candidates: Vec<Candidate>) -> u32 {
        let config = EmbedConfig { patience, ..EmbedConfig::default() };
        let mut contest = Contest::new(select);
        candidates.into_iter().for_each(|candidate| contest.enter(candidate, &config));
        contest.finish().unwrap().0.run
    }

    #[test]
    fn the_best_wins_in_any_order() {
        let runs = || {
            vec![
                candidate(0, Some(0.8), &[3.0, 1.0]),
                candidate(1, Some(0.9), &[0.5, 2.0]),
                candidate(2, Some(0.9), &[1.5]),
            ]
        };
        for rotation in 0..3 {
            let mut rotated = runs();
            rotated.rotate_left(rotation);
            assert_eq!(winner(Select::Auc, 0, rotated.clone()), 1);
            assert_eq!(winner(Select::Loss, 0, rotated.clone()), 0);
            assert_eq!(winner(Select::Loss, 5, rotated), 1);
        }
    }

    #[test]
    fn without_scores_the_first_run_wins() {
        assert_eq!(winner(Select::Auc, 0, vec![candidate(1, None, &[]), candidate(0, None, &[])]), 0);
        assert_eq!(winner(Select::Loss, 0, vec![candidate(1, None, &[]), candidate(0, None, &[])]), 0);
    }
}
