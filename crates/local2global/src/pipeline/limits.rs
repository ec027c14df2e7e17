//! The limit of memory: what settings follow from it, and what is refused because of it.
//!
//! A limit that the user has set is kept by every stage, or the run is refused before anything is
//! written, in one sentence with the smallest limit that would do. Some choices follow from the limit:
//! the partitioner, the levels of alignment, what is scored. They are settled here, enter `run.toml` or
//! the stamp of their stage, and so are repeated by a rerun. Without a limit nothing depends on the
//! machine but `partition.method = "auto"`, and a run is refused only if the machine has less than half
//! of what it is estimated to take.

use super::estimate::Needs;
use super::shape::id_bytes;
use super::{Pipeline, PipelineError, StageName};
use crate::config::Config;
use crate::evaluate::EvaluateLimits;
use crate::export::ExportFormat;
use crate::graph::{Graph, store};
use crate::memory::{self, BASE_BYTES, ByteSize, TooSmall};
use crate::partition::PartitionMethod;
use crate::patch::{PatchReport, read_report};
use crate::run_dir::RunDir;

impl Pipeline<'_> {
    /// Settles what follows from the limit for one stage that is done on its own, and checks that it can
    /// be done within it.
    ///
    /// # Errors
    /// [`PipelineError::Limit`] if the limit is too small, [`PipelineError::Memory`] if the machine is;
    /// or if the graph of the run cannot be opened.
    pub fn prepare_stage(&mut self, stage: StageName) -> Result<(), PipelineError> {
        let graph = store::open(&self.run.graph())?.0;
        self.config.settle_for_limit(&graph)?;
        self.config.check_limit(&graph, self.patch_report().as_ref(), &[stage])
    }

    /// The report on the patches of the run, if they are there.
    pub(super) fn patch_report(&self) -> Option<PatchReport> {
        read_report(self.run).ok()
    }
}

/// Checks that the embedding of a run can be exported within a limit: text ids are in memory, and a table
/// is written in groups of rows.
///
/// # Errors
/// [`PipelineError::Limit`] if the limit is too small, and if the graph of the run cannot be opened.
pub fn check_export(run: &RunDir, format: ExportFormat, limit: ByteSize) -> Result<(), PipelineError> {
    let graph = store::open(&run.graph())?.0;
    let embedding = run.alignment().embedding().metadata().map_or(0, |file| file.len());
    let needed = BASE_BYTES + id_bytes(&graph) + format.memory_bytes(embedding);
    match needed > limit.0 {
        true => {
            let help = if format == ExportFormat::Parquet { "`--format csv`" } else { "" };
            Err(PipelineError::Limit { stage: "export", needed: ByteSize(needed), limit, help })
        }
        false => Ok(()),
    }
}

impl Config {
    /// Fills in what follows from the limit of memory.
    pub(super) fn settle_for_limit(&mut self, graph: &Graph) -> Result<(), PipelineError> {
        self.partition.method = match self.memory {
            Some(_) => self.partition.method.within(graph, self.memory_room()),
            None => self.partition.method.for_graph(graph),
        };
        self.evaluate.limits = EvaluateLimits::default();
        if self.memory.is_none() {
            return Ok(());
        }
        let room = self.memory_room();
        let shape = Needs::of(self, graph, None)?.shape;
        let (size, usual) = (shape.align_size(), shape.align_size().levels_within(&self.align, u64::MAX));
        let levels = size.levels_within(&self.align, room);
        if self.align.levels == 0 && levels != usual {
            self.align.levels = levels;
        }
        let tasks = self.evaluate.tasks_for(graph);
        self.evaluate.limits = shape.evaluate.within(&self.evaluate, &tasks, room);
        Ok(())
    }

    /// Checks that some stages can be done within the limit that is set, to the letter. Without one, the
    /// machine must have half of what they are estimated to take: estimates are rough. The graph is
    /// mapped, and may be larger.
    pub(super) fn check_limit(
        &self,
        graph: &Graph,
        report: Option<&PatchReport>,
        stages: &[StageName],
    ) -> Result<(), PipelineError> {
        let needs = Needs::of(self, graph, report)?;
        let later = stages.iter().copied().filter(|&stage| stage != StageName::Graph);
        let needed = later.map(|stage| (needs.smallest(stage), stage)).max();
        let Some((bytes, stage)) = needed else { return Ok(()) };
        if let Some(limit) = self.memory.filter(|limit| bytes > limit.0) {
            let help = self.help(stage, &needs, limit.0);
            return Err(PipelineError::Limit { stage: stage.name(), needed: ByteSize(bytes), limit, help });
        }
        match memory::machine_too_small_for(bytes - BASE_BYTES).filter(|_| self.memory.is_none()) {
            Some(TooSmall { needed, there }) => {
                let help = self.help(stage, &needs, there);
                Err(PipelineError::Memory { stage: stage.name(), needed, there, help })
            }
            None => Ok(()),
        }
    }

    /// Which setting would make a stage take less.
    fn help(&self, stage: StageName, needs: &Needs<'_>, limit: u64) -> &'static str {
        match stage {
            StageName::Graph => "",
            StageName::Partition => match self.partition.method {
                PartitionMethod::Metis(_) | PartitionMethod::Louvain(_) => "`partition.method=buffered`",
                PartitionMethod::Buffered(_) => "`partition.method=fennel`",
                _ => "",
            },
            StageName::Patch => "`patch.cover=nodes`",
            StageName::Embed => "smaller patches, as in `partition.patch_size=1000`, or fewer dimensions",
            StageName::Align if needs.late_bytes().is_some_and(|late| late + BASE_BYTES > limit) => {
                "`embed.late=off`"
            }
            StageName::Align => "fewer dimensions, larger patches, or `align.judge=false`",
            StageName::Evaluate if needs.whole_bytes() + BASE_BYTES > limit => "`evaluate.full=false`",
            StageName::Evaluate => "`evaluate.tasks=[\"reconstruction\"]`",
        }
    }
}
