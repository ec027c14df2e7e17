//! The stages joined: from a graph to scores, doing only what has to be done.
//!
//! ```text
//! graph -> partition -> patch -> embed -> align -> evaluate
//! ```
//!
//! Each stage reads the files of earlier ones and leaves its own, with a [`Stamp`] of what it
//! was made from. Before a stage is done, its stamp is checked: the digest of its settings and
//! inputs, and every file it left. So a rerun does what is missing, stale or damaged, and says
//! which and why; changing the dimension trains again, changing an alignment option only aligns
//! again. A stage that is done anew but leaves the same arrays stops the wave: what follows is
//! kept. Embedding remembers each patch on its own, so an interrupted run loses at most the
//! patches that were under way.
//!
//! Settings are checked before anything is done: all that can be without the graph, and, when it
//! is known, what depends on it. A run that is refused leaves its folder as it was.
//!
//! A [`RunLock`] keeps two runs out of one folder. [`Pipeline::plan`] tells what would be done,
//! and about how much memory and disk it would take.

mod error;

mod estimate;

mod gather;

mod inputs;

mod limits;

mod lineage;

mod lock;

mod pace;

mod plan;

mod probe;

mod settings;

mod shape;

mod stamp;

mod status;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;

pub use error::PipelineError;
pub use estimate::{Estimate, StageEstimate};
pub use inputs::Inputs;
pub use limits::check_export;
pub use lineage::{check_lineage, check_sources, check_unchanged};
pub use lock::{RunLock, Sharing};
pub use plan::{Plan, PlannedStage};
pub use stamp::{Reason, Stamp, Unstamped};
pub use status::{StageStatus, State};

use crate::align::align_run;
use crate::align::files::read_transforms;
use crate::config::Config;
use crate::embed::{EmbedConfig, EmbedMethod, Frame, embed_framed, embed_late, embed_run};
use crate::evaluate::{Scores, evaluate_run};
use crate::graph::external::Workspace;
use crate::graph::load::Loaded;
use crate::graph::{Graph, NodeId, builtin, store};
use crate::npy;
use crate::partition::{PartitionReport, partition, read_partition, write_partition};
use crate::patch::{PatchError, PatchTask, make_patch_files, read_report};
use crate::progress::Progress;
use crate::run_dir::{
    FileError, PatchFiles, RunDir, patch_name, patch_number, remove_unfinished, remove_work_folders,
    write_array, write_json,
};

/// A stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the stages are the modules")]
pub enum StageName {
    Graph,
    Partition,
    Patch,
    Embed,
    Align,
    Evaluate,
}

impl StageName {
    /// All stages, in the order of the data.
    pub const ALL: [Self; 6] =
        [Self::Graph, Self::Partition, Self::Patch, Self::Embed, Self::Align, Self::Evaluate];

    /// The name, as in settings and commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Partition => "partition",
            Self::Patch => "patch",
            Self::Embed => "embed",
            Self::Align => "align",
            Self::Evaluate => "evaluate",
        }
    }

    /// Its folder in a run.
    pub fn folder(self, run: &RunDir) -> PathBuf {
        match self {
            Self::Graph => run.graph().into(),
            Self::Partition => run.partition().into(),
            Self::Patch => run.patches().into(),
            Self::Embed => run.embeddings().into(),
            Self::Align => run.alignment().into(),
            Self::Evaluate => run.evaluation().into(),
        }
    }

    /// The stages whose files it reads.
    fn reads(self) -> &'static [Self] {
        match self {
            Self::Graph => &[],
            Self::Partition => &[Self::Graph],
            Self::Patch => &[Self::Graph, Self::Partition],
            Self::Embed => &[Self::Graph, Self::Patch],
            Self::Align => &[Self::Patch, Self::Embed],
            Self::Evaluate => &[Self::Graph, Self::Align],
        }
    }
}

/// What became of one stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageReport {
    /// The stage.
    pub stage: StageName,
    /// Why it was done; none if what was there was kept.
    pub reason: Option<String>,
    /// How long it took now.
    pub seconds: f64,
    /// The method that was taken, where a stage may choose one by the size of the graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<&'static str>,
    /// What is worth knowing before the next stage: how often patches hold the same nodes and edges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Where the graph comes from.
#[derive(Debug)]
pub enum GraphSource<'a> {
    /// What the settings name; data sets known by name are looked for in these folders.
    Settings(&'a [PathBuf]),
    /// A graph in memory.
    Memory(&'a Loaded),
}

/// A run: its folder, its settings, and where its graph comes from.
#[derive(Debug)]
pub struct Pipeline<'a> {
    /// The run folder.
    pub run: &'a RunDir,
    /// All settings.
    pub config: Config,
    /// Where the graph comes from.
    pub source: GraphSource<'a>,
}

impl<'a> Pipeline<'a> {
    /// A run of the given settings.
    pub fn new(run: &'a RunDir, config: Config, source: GraphSource<'a>) -> Self {
        Self { run, config, source }
    }

    /// Goes the whole way, keeping what is there; `told` hears of each stage when it is over.
    ///
    /// Settings that follow from the graph are filled in, and all are written to `run.toml`.
    ///
    /// # Errors
    /// [`PipelineError`] of the stage that failed, or if another run uses the folder. What
    /// earlier stages left stays.
    pub fn run(
        &mut self,
        progress: &dyn Progress,
        told: impl FnMut(&StageReport),
    ) -> Result<Vec<StageReport>, PipelineError> {
        self.run_stages(&StageName::ALL, progress, told)
    }

    /// As [`Pipeline::run`], for some stages in the order of the data, so that somebody else's
    /// program can come between them. The first call must include [`StageName::Graph`].
    ///
    /// # Errors
    /// As [`Pipeline::run`].
    pub fn run_stages(
        &mut self,
        stages: &[StageName],
        progress: &dyn Progress,
        mut told: impl FnMut(&StageReport),
    ) -> Result<Vec<StageReport>, PipelineError> {
        self.check_settings()?;
        let _lock = RunLock::take(self.run, Sharing::Alone)?;
        let others = [self.run.root().into(), self.run.evaluation().full().into()];
        for folder in StageName::ALL.map(|stage| stage.folder(self.run)).iter().chain(&others) {
            remove_unfinished(folder)?;
            remove_work_folders(folder)?;
        }
        let mut reports = Vec::new();
        for &stage in stages {
            let report = self.bring_up_to_date(stage, progress)?;
            match stage {
                StageName::Graph => {
                    let graph = self.graph()?;
                    self.config.settle_for(&graph)?;
                    self.config.check_limit(&graph, None, &StageName::ALL)?;
                    self.config.write(&self.run.settings(), "run")?;
                }
                StageName::Patch => {
                    self.check_joined()?;
                    let later = [StageName::Embed, StageName::Align, StageName::Evaluate];
                    self.config.check_limit(&self.graph()?, self.patch_report().as_ref(), &later)?;
                }
                _ => {}
            }
            told(&report);
            reports.push(report);
        }
        Ok(reports)
    }

    /// Does one stage unless what it left is current.
    fn bring_up_to_date(
        &self,
        stage: StageName,
        progress: &dyn Progress,
    ) -> Result<StageReport, PipelineError> {
        let started = Instant::now();
        if progress.is_cancelled() {
            return Err(PipelineError::Cancelled { stage: stage.name() });
        }
        let inputs = self.inputs(stage)?;
        let reason = match self.check(stage, &inputs) {
            Ok(_) => None,
            Err(reason) => {
                let work = Stamp::take_off(&stage.folder(self.run))?;
                let note = self.execute(stage, progress)?;
                work.finish(inputs, started.elapsed().as_secs_f64())?;
                Some(reason.to_string() + &note)
            }
        };
        let seconds = started.elapsed().as_secs_f64();
        let method = (stage == StageName::Partition).then(|| self.config.partition.method.name());
        let note = match stage {
            StageName::Patch => Some(read_report(self.run)?.copies_in_words()),
            _ => None,
        };
        Ok(StageReport { stage, reason, seconds, method, note })
    }

    /// Notes that a stage was done with the settings of this pipeline, so that a later run
    /// keeps it; does nothing if the stages before it are not noted, or their files are others.
    ///
    /// # Errors
    /// [`PipelineError`] if a file cannot be read or written.
    pub fn note_done(
        &mut self,
        stage: StageName,
        work: Unstamped,
        seconds: f64,
    ) -> Result<(), PipelineError> {
        self.make_paths_absolute()?;
        // What was read must be what the stages before it have left, and not somebody else's.
        let noted = stage.reads().iter().all(|earlier| {
            let folder = earlier.folder(self.run);
            Stamp::finished(&folder).is_some_and(|stamp| stamp.damaged(&folder).is_none())
        });
        if noted {
            work.finish(self.inputs(stage)?, seconds)?;
        }
        Ok(())
    }

    fn check(&self, stage: StageName, inputs: &Inputs) -> Result<Stamp, Reason> {
        let is_given = |config: EmbedConfig| config.method == EmbedMethod::Given;
        if stage == StageName::Embed && self.config.embed.each().any(is_given) {
            return Err(Reason::Given);
        }
        Stamp::check(&stage.folder(self.run), inputs)
    }

    /// Does one stage, from files to files; what else there is to tell about it.
    fn execute(&self, stage: StageName, progress: &dyn Progress) -> Result<String, PipelineError> {
        let Config { seed, partition: clustering, patch, embed, .. } = &self.config;
        let run = self.run;
        match stage {
            StageName::Graph => self.read_graph(progress)?,
            StageName::Partition => {
                let graph = self.graph()?;
                let smallest = patch.overlap_bounds(embed.dim)?.half_min();
                let clusters = partition(&graph, clustering, smallest, *seed, progress)?;
                write_partition(run, &clusters, &PartitionReport::of(&graph, &clusters))?;
            }
            StageName::Patch => {
                let graph = self.graph()?;
                let clusters = read_partition(run, graph.num_nodes())?;
                let task = PatchTask {
                    graph: &graph,
                    partition: &clusters,
                    config: patch,
                    dim: embed.dim,
                    seed: *seed,
                    memory_limit: self.config.memory_limit(),
                };
                make_patch_files(run, &task, progress)?;
            }
            StageName::Embed => {
                self.remove_unrecorded_embeddings()?;
                let summary = embed_run(run, &self.config.embed_within_memory(), None, *seed, progress)?;
                self.remove_other_embeddings()?;
                let (kept, new) = (summary.kept.len(), summary.embedded.len());
                if kept > 0 {
                    return Ok(format!("; {kept} of {} patches were there", kept + new));
                }
            }
            StageName::Align => {
                align_run(run, &self.config.align_within_memory(run.root()), *seed, progress)?;
                self.finish_alignment()?;
            }
            StageName::Evaluate => drop(self.evaluate(progress)?),
        }
        Ok(String::new())
    }

    /// What comes after the patches of a run have been aligned: where the method allows, what they
    /// learned is applied once more to the whole graph, in place of the mean of their coordinates.
    /// Says whether it was.
    ///
    /// # Errors
    /// [`PipelineError`] if a file cannot be read or written.
    pub fn finish_alignment(&self) -> Result<bool, PipelineError> {
        let transforms = read_transforms(&self.run.alignment().transforms())?;
        Ok(embed_late(self.run, &self.config.embed, &transforms.rotations)?)
    }

    /// Scores the embedding, and one of the whole graph if the settings ask for it.
    ///
    /// # Errors
    /// [`PipelineError`] if the whole graph cannot be embedded, or nothing scored.
    pub fn evaluate(&self, progress: &dyn Progress) -> Result<Scores, PipelineError> {
        self.embed_whole(progress)?;
        Ok(evaluate_run(self.run, &self.config.evaluate, self.config.seed, progress)?)
    }

    fn graph(&self) -> Result<Graph, PipelineError> {
        Ok(store::open(&self.run.graph())?.0)
    }

    fn read_graph(&self, progress: &dyn Progress) -> Result<(), PipelineError> {
        let read;
        let loaded = match self.source {
            GraphSource::Memory(loaded) => loaded,
            GraphSource::Settings(folders) => {
                let config = &self.config.graph;
                let input = config.graph_input();
                let workspace =
                    Workspace { limit: self.config.memory_limit(), folder: self.run.root().to_owned() };
                let whole = builtin::open_within(input.names(), folders, config, &workspace, progress)?;
                read = whole.hold_out(config.hold_out, self.config.seed)?;
                &read
            }
        };
        // Refused before anything is written, if a later stage cannot be done.
        let mut config = self.config.clone();
        config.settle_for(&loaded.graph)?;
        config.check_limit(&loaded.graph, None, &StageName::ALL)?;
        Ok(store::write_loaded(&self.run.graph(), loaded)?)
    }

    /// Removes coordinates whose record is gone, if the stamp tells that they were made here: they are
    /// made again, to the same bytes. What another program has put there stays.
    fn remove_unrecorded_embeddings(&self) -> Result<(), PipelineError> {
        let folder = self.run.embeddings();
        let Some(stamp) = Stamp::read(&folder) else { return Ok(()) };
        for name in PatchFiles::numbered(&self.run.patches()).map_err(PatchError::from)?.names() {
            let coordinates = folder.coordinates(name);
            if !folder.record(name).exists() && stamp.vouches_for(&coordinates) {
                remove_if_there(&coordinates)?;
            }
        }
        Ok(())
    }

    /// Removes coordinates of patches that are no more, but for those of other programs, which have
    /// no record.
    fn remove_other_embeddings(&self) -> Result<(), PipelineError> {
        let count = PatchFiles::numbered(&self.run.patches()).map_err(PatchError::from)?.len();
        let folder = self.run.embeddings();
        let is_over = |name: &String| patch_number(name).is_some_and(|number| number >= count);
        for name in folder.recorded()?.into_iter().filter(is_over) {
            // The record last: coordinates without one would be taken for another program's.
            folder.files_of(&name).iter().rev().try_for_each(|path| remove_if_there(path))?;
        }
        Ok(())
    }

    /// What the stitched embedding is compared with: the whole graph before training, and, if the
    /// settings ask for it, trained on the whole graph at once. What was made here before and is
    /// not asked for any more is removed; an embedding that somebody else put there stays.
    fn embed_whole(&self, progress: &dyn Progress) -> Result<(), PipelineError> {
        let folder = self.run.evaluation();
        let (target, work) = (folder.embedding("full"), folder.full());
        let frame = Frame::stored(&self.run.embeddings())?;
        self.embed_untrained(&frame)?;
        if !self.config.evaluate.full {
            if work.exists() {
                remove_if_there(&target)?;
                fs::remove_dir_all(&work).map_err(FileError::at("remove", &work))?;
            }
            return Ok(());
        }
        let graph = self.graph()?;
        let whole: Vec<NodeId> = graph.nodes().collect();
        let Config { seed, embed, .. } = &self.config;
        let embed = EmbedConfig { patches: Default::default(), ..embed.clone() };
        embed_framed(&graph, &[whole], None, (&embed, &frame), *seed, &work, progress)?;
        let path = work.coordinates(&patch_name(0));
        let array = npy::read::<f32>(&path).map_err(|source| PipelineError::Array { path, source })?;
        Ok(write_array(&target, &array.shape, &array.values)?)
    }

    /// The whole graph before training, if the method has a common frame to make it from. The mark
    /// beside it says that it was made here, and may be removed.
    fn embed_untrained(&self, frame: &Frame) -> Result<(), PipelineError> {
        let path = self.run.evaluation().embedding("untrained");
        let mark = self.run.evaluation().untrained_mark();
        let wanted = frame.is_common() && self.config.evaluate.limits.untrained;
        let untrained = if wanted { frame.untrained(&self.graph()?) } else { None };
        match untrained {
            Some(coordinates) => {
                write_json(&mark, &serde_json::json!({ "made_by": env!("CARGO_PKG_VERSION") }))?;
                let shape = [coordinates.num_rows(), coordinates.num_columns()];
                Ok(write_array(&path, &shape, coordinates.values())?)
            }
            None if mark.exists() => {
                remove_if_there(&path)?;
                remove_if_there(&mark)
            }
            None => Ok(()),
        }
    }
}

fn remove_if_there(path: &Path) -> Result<(), PipelineError> {
    match fs::remove_file(path) {
        Err(error) if path.exists() => Err(FileError::at("remove", path)(error).into()),
        _ => Ok(()),
    }
}
