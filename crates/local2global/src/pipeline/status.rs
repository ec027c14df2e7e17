//! The state of a run folder: what [`Pipeline::run`] would keep, and why it would do the rest.

use serde::Serialize;

use super::gather::GRAPH_IN_MEMORY;
use super::{Pipeline, PipelineError, Reason, StageName, Stamp};
use crate::run_dir::{FileError, folder_bytes, stamp_path};

/// Where a stage stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It would be kept.
    Done,
    /// It was not done, or not finished.
    Missing,
    /// It would be done anew: it was made from other inputs or settings, or was damaged.
    Stale,
}

/// The state of one stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageStatus {
    /// The stage.
    pub stage: StageName,
    /// Where it stands.
    pub state: State,
    /// Why it would be done; none if it would be kept.
    pub reason: Option<String>,
    /// How long it took when it was done; none if it was not finished, or by another program.
    pub seconds: Option<f64>,
    /// What its folder takes of the disk.
    pub bytes: u64,
}

impl Pipeline<'_> {
    /// The state of every stage, without writing anything. All files that stages have left are read, as
    /// [`Pipeline::run`] reads them, so that damage is seen.
    ///
    /// # Errors
    /// [`PipelineError`] if a folder cannot be read, or a setting makes no sense.
    pub fn status(&mut self) -> Result<Vec<StageStatus>, PipelineError> {
        self.check_settings()?;
        let reasons = self.reasons(self.graph_reason())?;
        reasons.into_iter().map(|(stage, reason)| Ok(self.status_of(stage, reason)?)).collect()
    }

    /// Why the graph would be read again.
    fn graph_reason(&self) -> Option<Reason> {
        let stamp = Stamp::finished(&self.run.graph());
        // Without settings nobody knows what was asked for, as after `l2g graph` alone.
        let is_unknown = !self.run.settings().exists();
        let alone = stamp.filter(|stamp| is_unknown || stamp.inputs.files.contains_key(GRAPH_IN_MEMORY));
        let inputs = match alone {
            // What it was made from is not there any more to be compared.
            Some(stamp) => Ok(stamp.inputs),
            None => self.inputs(StageName::Graph),
        };
        match inputs {
            Ok(inputs) => self.check(StageName::Graph, &inputs).err(),
            // An input that is gone.
            Err(error) => Some(Reason::Changed(error.to_string())),
        }
    }

    fn status_of(&self, stage: StageName, reason: Option<Reason>) -> Result<StageStatus, FileError> {
        let folder = stage.folder(self.run);
        let is_begun = stamp_path(&folder).exists();
        let reason = reason.map(|reason| match reason {
            Reason::After(_) if !is_begun => Reason::Missing,
            reason => reason,
        });
        let state = match reason {
            None => State::Done,
            Some(Reason::Missing | Reason::Unfinished) => State::Missing,
            Some(_) => State::Stale,
        };
        Ok(StageStatus {
            stage,
            state,
            reason: reason.map(|reason| reason.to_string()),
            seconds: Stamp::finished(&folder).map(|stamp| stamp.seconds),
            bytes: folder_bytes(&folder)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::Config;
    use crate::graph::builtin;
    use crate::graph::load::GraphConfig;
    use crate::pipeline::GraphSource;
    use crate::progress::Silent;
    use crate::run_dir::RunDir;

    /// The settings of a short run.
    fn config(more: &[&str]) -> Config {
        let short = ["embed.method=spectral", "embed.dim=2", "evaluate.tasks=[\"reconstruction\"]"];
        Config::new("", &[&short, more].concat().iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
    }

    fn states(run: &RunDir, config: Config) -> Vec<(State, Option<String>)> {
        let status = Pipeline::new(run, config, GraphSource::Settings(&[])).status().unwrap();
        status.into_iter().map(|status| (status.state, status.reason)).collect()
    }

    #[test]
    fn states_are_those_that_a_run_goes_by() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path().join("run"));
        let missing = (State::Missing, Some("not done yet".to_owned()));
        assert_eq!(states(&run, config(&[])), vec![missing.clone(); 6]);
        assert!(!run.root().exists());

        let mut pipeline = Pipeline::new(&run, config(&[]), GraphSource::Settings(&[]));
        pipeline.run(&Silent, |_| {}).unwrap();
        let settled = pipeline.config;
        assert_eq!(states(&run, settled.clone()), vec![(State::Done, None); 6]);

        let mut other = settled.clone();
        other.align.scale = true;
        let found = states(&run, other);
        assert_eq!(found[3], (State::Done, None));
        assert_eq!(found[4], (State::Stale, Some("align.scale is true, was false".into())));
        assert_eq!(found[5], (State::Stale, Some("align is done anew".into())));

        fs::write(run.alignment().unaligned(), b"damaged").unwrap();
        fs::remove_dir_all(run.evaluation()).unwrap();
        let found = states(&run, settled);
        assert_eq!(found[4], (State::Stale, Some("`no_trans.npy` is damaged or missing".into())));
        assert_eq!(found[5], missing);
    }

    #[test]
    fn a_graph_that_was_in_memory_is_not_missed() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path());
        let cora = builtin::open("cora", &[], &GraphConfig::default(), &Silent).unwrap();
        let mut pipeline = Pipeline::new(&run, config(&[]), GraphSource::Memory(&cora));
        pipeline.run_stages(&[StageName::Graph, StageName::Partition], &Silent, |_| {}).unwrap();
        let settled = Config::new(&fs::read_to_string(run.settings()).unwrap(), &[]).unwrap();
        let found = states(&run, settled);
        assert_eq!(found[..2], [(State::Done, None), (State::Done, None)]);
        assert_eq!(found[2].0, State::Missing);
    }
}
