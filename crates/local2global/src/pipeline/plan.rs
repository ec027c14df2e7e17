//! What a run would do, told beforehand.

use std::io;

use serde::Serialize;

use super::{Estimate, GraphSource, Pipeline, PipelineError, Reason, StageName};
use crate::graph::external::Workspace;
use crate::graph::{Graph, builtin, store};
use crate::progress::Progress;
use crate::run_dir::FileError;

/// What a run would do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Every stage, in order.
    pub stages: Vec<PlannedStage>,
    /// The method that splits the graph into clusters.
    pub partitioner: &'static str,
    /// What it would take.
    pub estimate: Estimate,
}

/// What a run would do about one stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedStage {
    /// The stage.
    pub stage: StageName,
    /// Why it would be done; none if what is there would be kept.
    pub reason: Option<String>,
}

impl Pipeline<'_> {
    /// Tells what [`Pipeline::run`] would do, without writing anything. A graph that is not
    /// stored yet is read, since everything depends on its size.
    ///
    /// # Errors
    /// [`PipelineError`] if the graph cannot be read, or a setting makes no sense.
    pub fn plan(&mut self, progress: &dyn Progress) -> Result<Plan, PipelineError> {
        self.check_settings()?;
        let root = self.run.root();
        if root.exists() && !root.is_dir() {
            return Err(FileError::at("create", root)(io::ErrorKind::NotADirectory.into()).into());
        }
        let mut stages: Vec<PlannedStage> = Vec::new();
        let mut estimate = Estimate::default();
        for stage in StageName::ALL {
            let redone = stage.reads().iter().find(|earlier| {
                stages.iter().any(|planned| planned.stage == **earlier && planned.reason.is_some())
            });
            let reason = match redone {
                Some(earlier) => Some(Reason::After(earlier.name())),
                None => self.check(stage, &self.inputs(stage)?).err(),
            };
            if stage == StageName::Graph {
                estimate = self.estimate(reason.is_none(), progress)?;
            }
            stages.push(PlannedStage { stage, reason: reason.map(|reason| reason.to_string()) });
        }
        Ok(Plan { stages, partitioner: self.config.partition.method.name(), estimate })
    }

    fn estimate(&mut self, stored: bool, progress: &dyn Progress) -> Result<Estimate, PipelineError> {
        if stored {
            return self.settle_and_estimate(&store::open(&self.run.graph())?.0);
        }
        match self.source {
            GraphSource::Memory(loaded) => self.settle_and_estimate(&loaded.graph),
            GraphSource::Settings(folders) => {
                let config = &self.config.graph;
                let input = config.graph_input();
                let workspace = Workspace { limit: self.config.memory_limit(), ..Workspace::default() };
                let loaded = builtin::open_within(input.names(), folders, config, &workspace, progress)?;
                let loaded = loaded.hold_out(config.hold_out, self.config.seed)?;
                self.settle_and_estimate(&loaded.graph)
            }
        }
    }

    fn settle_and_estimate(&mut self, graph: &Graph) -> Result<Estimate, PipelineError> {
        self.settle_for(graph)?;
        Estimate::of(&self.config, graph)
    }
}
