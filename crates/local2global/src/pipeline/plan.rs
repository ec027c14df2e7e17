//! What a run would do, told beforehand.

use std::io;

use serde::Serialize;

use super::estimate::Needs;
use super::{Estimate, GraphSource, Pipeline, PipelineError, Reason, StageEstimate, StageName};
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
    /// What the run would take as a whole.
    pub estimate: Estimate,
    /// Why the run would be refused, if it would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// What a run would do about one stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedStage {
    /// The stage.
    pub stage: StageName,
    /// Why it would be done; none if what is there would be kept.
    pub reason: Option<String>,
    /// What it would take.
    #[serde(flatten)]
    pub estimate: StageEstimate,
}

impl Estimate {
    /// The stages together.
    fn of(needs: &Needs<'_>, stages: &[PlannedStage]) -> Self {
        let shape = &needs.shape;
        let over = |value: fn(&StageEstimate) -> u64| stages.iter().map(move |stage| value(&stage.estimate));
        Self {
            nodes: shape.graph.num_nodes,
            patches: shape.patches,
            patch_nodes: shape.patch_nodes,
            memory_bytes: over(|stage| stage.memory_bytes).max().unwrap_or(0),
            mapped_bytes: shape.graph_bytes.max(shape.copies as u64 * (12 + 4 * shape.dim as u64)),
            written_bytes: over(|stage| stage.disk_bytes).sum(),
            temporary_bytes: over(|stage| stage.temporary_bytes).max().unwrap_or(0),
            seconds: stages.iter().map(|stage| stage.estimate.seconds).sum(),
        }
    }
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
        let first = self.check(StageName::Graph, &self.inputs(StageName::Graph)?).err();
        let opened;
        let graph: &Graph = match self.source {
            _ if first.is_none() => {
                opened = store::open(&self.run.graph())?.0;
                &opened
            }
            GraphSource::Memory(loaded) => &loaded.graph,
            GraphSource::Settings(folders) => {
                let config = &self.config.graph;
                let input = config.graph_input();
                let workspace = Workspace { limit: self.config.memory_limit(), ..Workspace::default() };
                let loaded = builtin::open_within(input.names(), folders, config, &workspace, progress)?;
                opened = loaded.hold_out(config.hold_out, self.config.seed)?.graph;
                &opened
            }
        };
        self.config.settle_for(graph)?;
        let reasons = self.reasons(first)?;
        self.plan_for(graph, &reasons)
    }

    /// Why each stage would be done.
    pub(super) fn reasons(
        &self,
        first: Option<Reason>,
    ) -> Result<Vec<(StageName, Option<Reason>)>, PipelineError> {
        let mut reasons = vec![(StageName::Graph, first)];
        for stage in StageName::ALL.into_iter().skip(1) {
            let is_redone =
                |earlier: &&StageName| reasons.iter().any(|(done, why)| done == *earlier && why.is_some());
            let reason = match stage.reads().iter().find(is_redone) {
                Some(earlier) => Some(Reason::After(earlier.name())),
                None => self.check(stage, &self.inputs(stage)?).err(),
            };
            reasons.push((stage, reason));
        }
        Ok(reasons)
    }

    fn plan_for(
        &self,
        graph: &Graph,
        reasons: &[(StageName, Option<Reason>)],
    ) -> Result<Plan, PipelineError> {
        let has_patches = reasons.iter().any(|(stage, why)| *stage == StageName::Patch && why.is_none());
        let report = if has_patches { self.patch_report() } else { None };
        let needs = Needs::of(&self.config, graph, report.as_ref())?;
        let seconds = self.seconds(&needs, reasons);
        let planned = |((stage, reason), seconds): (&(StageName, Option<Reason>), f64)| {
            let [disk_bytes, temporary_bytes] = needs.disk(*stage);
            let memory_bytes = needs.memory(*stage);
            let estimate = StageEstimate { memory_bytes, disk_bytes, temporary_bytes, seconds };
            PlannedStage { stage: *stage, reason: reason.as_ref().map(ToString::to_string), estimate }
        };
        let stages: Vec<PlannedStage> = reasons.iter().zip(seconds).map(planned).collect();
        let done: Vec<StageName> =
            reasons.iter().filter(|(_, why)| why.is_some()).map(|&(stage, _)| stage).collect();
        let refused = self.config.check_limit(graph, report.as_ref(), &done).err();
        Ok(Plan {
            estimate: Estimate::of(&needs, &stages),
            stages,
            partitioner: self.config.partition.method.name(),
            refused: refused.map(|error| error.to_string()),
        })
    }
}
