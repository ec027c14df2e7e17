//! The settings of the stage: the table `[evaluate]`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::scaling::Scale;
use super::{EvaluateError, EvaluateLimits, Score, Split, Task};
use crate::graph::Graph;

/// The settings of the stage, as in the table `[evaluate]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EvaluateConfig {
    /// What to score on; if not given, reconstruction, and what the graph allows: link
    /// prediction if edges were held out, classification if there are labels.
    pub tasks: Option<Vec<Task>>,
    /// Whether to train on the whole graph too, for comparison.
    pub full: bool,
    /// The score of a pair of nodes.
    pub score: Score,
    /// The most edges, and the most labelled nodes, to use; more are sampled. If not given,
    /// 500 000 edges and 50 000 labelled nodes.
    pub samples: Option<usize>,
    /// How many random splits nodes are classified on. If not given, ten, and three where
    /// more than 20 000 nodes are used.
    pub repeats: Option<usize>,
    /// The share of labelled nodes that a classifier is trained on.
    pub train_share: f64,
    /// A file that says which nodes to train and test on, instead of random splits.
    pub split: Option<PathBuf>,
    /// The penalty on the squared weights of a classifier.
    pub l2: f64,
    /// How coordinates are scaled for a classifier.
    pub scale: Scale,
    /// What of the stage fits into memory. No setting of the table: it follows from the limit of memory.
    #[serde(skip)]
    pub limits: EvaluateLimits,
}

impl Default for EvaluateConfig {
    fn default() -> Self {
        Self {
            tasks: None,
            full: false,
            score: Score::default(),
            samples: None,
            repeats: None,
            train_share: 0.1,
            split: None,
            l2: 1.0,
            scale: Scale::default(),
            limits: EvaluateLimits::default(),
        }
    }
}

impl EvaluateConfig {
    /// Checks the settings that have a range.
    ///
    /// # Errors
    /// [`EvaluateError::Setting`] with the setting that is out of range.
    pub fn check(&self) -> Result<(), EvaluateError> {
        let setting = |key, found: String, needed| Err(EvaluateError::Setting { key, found, needed });
        for (key, value) in [("samples", self.samples), ("repeats", self.repeats)] {
            if value == Some(0) {
                return setting(key, "0".into(), "at least 1");
            }
        }
        if !(self.train_share > 0.0 && self.train_share < 1.0) {
            return setting("train_share", self.train_share.to_string(), "above 0 and below 1");
        }
        if !(self.l2 > 0.0 && self.l2.is_finite()) {
            return setting("l2", self.l2.to_string(), "a number above 0");
        }
        Ok(())
    }

    /// Checks that the graph has what the settings ask for, and that a given split can be read.
    ///
    /// # Errors
    /// [`EvaluateError`] if edges or labels are missing, or as [`Split::read`].
    pub fn check_for(&self, graph: &Graph) -> Result<(), EvaluateError> {
        let asked = |task| self.tasks.as_ref().is_some_and(|tasks| tasks.contains(&task));
        if asked(Task::LinkPrediction) && graph.held_out().is_none() {
            return Err(EvaluateError::NothingHeldOut);
        }
        // Whoever gives a split asks for classification, unless tasks say otherwise.
        let split = self.split.as_deref().filter(|_| self.tasks.is_none() || asked(Task::Classification));
        if (asked(Task::Classification) || split.is_some()) && graph.labels().is_none() {
            return Err(EvaluateError::NoLabels);
        }
        split.map_or(Ok(()), |path| Split::read(path, graph).map(|_| ()))
    }

    /// The most edges to use.
    pub(crate) fn num_pairs(&self) -> usize {
        self.samples.unwrap_or(500_000).min(self.limits.pairs)
    }

    /// The most labelled nodes to use.
    pub(crate) fn num_labelled(&self) -> usize {
        self.samples.unwrap_or(50_000).min(self.limits.labelled)
    }

    /// How many random splits to make of so many labelled nodes.
    pub(crate) fn num_splits(&self, nodes: usize) -> usize {
        self.repeats.unwrap_or(if nodes > 20_000 { 3 } else { 10 })
    }

    /// The tasks: those asked for, or those the graph allows.
    pub(crate) fn tasks_for(&self, graph: &Graph) -> Vec<Task> {
        let allowed = [
            (Task::Reconstruction, true),
            (Task::LinkPrediction, graph.held_out().is_some()),
            (Task::Classification, graph.labels().is_some()),
        ];
        let possible = || allowed.iter().filter(|(_, allowed)| *allowed).map(|&(task, _)| task).collect();
        self.tasks.clone().unwrap_or_else(possible)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_named() {
        let error = |config: EvaluateConfig| config.check().unwrap_err().to_string();
        let usual = EvaluateConfig::default;
        usual().check().unwrap();
        assert_eq!(
            error(EvaluateConfig { train_share: 1.0, ..usual() }),
            "setting `evaluate.train_share` is 1; needed above 0 and below 1"
        );
        assert!(error(EvaluateConfig { samples: Some(0), ..usual() }).contains("`evaluate.samples` is 0"));
        assert!(error(EvaluateConfig { repeats: Some(0), ..usual() }).contains("`evaluate.repeats` is 0"));
        assert_eq!((usual().num_splits(20_000), usual().num_splits(20_001)), (10, 3));
        assert!(error(EvaluateConfig { l2: f64::NAN, ..usual() }).contains("`evaluate.l2` is NaN"));
    }
}
