//! What the commands of single stages have in common: the run folder is locked, the settings
//! are those of the run, and the finished stage is noted, so that `l2g run` keeps it.

use std::path::{Path, PathBuf};

use local2global::config::Config;
use local2global::pipeline::{
    GraphSource, Pipeline, RunLock, Sharing, StageName, Stamp, Unstamped, check_sources,
};
use local2global::run_dir::RunDir;

use crate::context::Context;
use crate::trust::{self, SettingsFile};

/// A stage of a run, at work.
pub(crate) struct StageWork {
    pub(crate) run: RunDir,
    /// The settings of the run; flags of the command are put in by the command.
    pub(crate) config: Config,
    /// The file that the settings were read from.
    file: Option<SettingsFile>,
    stage: StageName,
    work: Unstamped,
    _lock: RunLock,
}

impl StageWork {
    /// Takes a run folder into use for one stage.
    pub(crate) fn begin(
        run: &Path,
        stage: StageName,
        sharing: Sharing,
        context: &Context,
    ) -> anyhow::Result<Self> {
        let run = RunDir::new(run);
        let lock = RunLock::take(&run, sharing)?;
        Self::begin_locked(run, lock, stage, context)
    }

    /// As [`StageWork::begin`], in a run folder that is locked already.
    pub(crate) fn begin_locked(
        run: RunDir,
        lock: RunLock,
        stage: StageName,
        context: &Context,
    ) -> anyhow::Result<Self> {
        let (config, file) = context.config_of(&run)?;
        check_sources(&run, stage)?;
        let work = Stamp::take_off(&stage.folder(&run))?;
        Ok(Self { run, config, file, stage, work, _lock: lock })
    }

    /// Settles what follows from the limit of memory, and checks that the stage can be done within it.
    pub(crate) fn prepare(&mut self) -> anyhow::Result<()> {
        let mut pipeline = Pipeline::new(&self.run, self.config.clone(), GraphSource::Settings(&[]));
        pipeline.prepare_stage(self.stage)?;
        self.config = pipeline.config;
        Ok(())
    }

    /// Shows the commands that the settings would run, and checks that they may be run.
    pub(crate) fn check_commands(&self, context: &Context) -> anyhow::Result<()> {
        trust::check(&self.config, self.file.as_ref(), context)
    }

    /// Notes that the stage is done with these settings; data sets known by name lie in
    /// `data_folders`.
    pub(crate) fn finish(self, data_folders: &[PathBuf], context: &Context) -> anyhow::Result<()> {
        let Self { run, config, stage, work, file: _, _lock } = self;
        let mut pipeline = Pipeline::new(&run, config, GraphSource::Settings(data_folders));
        Ok(pipeline.note_done(stage, work, context.started.elapsed().as_secs_f64())?)
    }
}
