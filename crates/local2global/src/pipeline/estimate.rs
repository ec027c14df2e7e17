//! About how much memory, disk and time each stage takes.
//!
//! Everything follows from the size of the graph, the settings and the limit of memory (`shape.rs`).
//! Each stage tells its own memory; what it leaves on disk is counted here.
//!
//! Memory is what the process allocates; mapped files do not count. A test compares it, and the
//! disk, with what a run really takes, and asks for a factor of 1.5.

use rayon::current_num_threads;
use serde::Serialize;

use super::shape::Shape;
use super::{PipelineError, StageName};
use crate::config::Config;
use crate::embed::{EmbedConfig, EmbedMethod};
use crate::evaluate::Task;
use crate::graph::Graph;
use crate::memory::{BASE_BYTES, Need};
use crate::patch::{self, PatchReport, PatchSizes};

/// The record of a file in `stage.json`.
const STAMPED_FILE_BYTES: u64 = 150;

/// About how much a stage takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StageEstimate {
    /// Memory at the peak, in bytes; mapped files do not count.
    pub memory_bytes: u64,
    /// Bytes of the files that it leaves.
    pub disk_bytes: u64,
    /// Bytes of the files that it needs meanwhile, besides.
    pub temporary_bytes: u64,
    /// Seconds that it would take now; 0 if it would be kept.
    pub seconds: f64,
}

/// About how much a run takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// Nodes of the graph.
    pub nodes: usize,
    /// Patches.
    pub patches: usize,
    /// Nodes of a usual patch.
    pub patch_nodes: usize,
    /// Memory at the peak, in bytes: that of the stage that takes most.
    pub memory_bytes: u64,
    /// Bytes of files that are mapped at the peak: they use free memory, and do without it.
    pub mapped_bytes: u64,
    /// Bytes of all files, as if every stage were done.
    pub written_bytes: u64,
    /// The most bytes of temporary files at a time.
    pub temporary_bytes: u64,
    /// Seconds of the stages that would be done.
    pub seconds: f64,
}

/// What all stages of a run take, settings filled in.
pub(super) struct Needs<'a> {
    pub(super) config: &'a Config,
    pub(super) shape: Shape,
    /// The limit that is set, without what the program itself takes.
    room: u64,
}

impl<'a> Needs<'a> {
    pub(super) fn of(
        config: &'a Config,
        graph: &Graph,
        report: Option<&PatchReport>,
    ) -> Result<Self, PipelineError> {
        let shape = Shape::of(config, graph, report)?;
        Ok(Self { config, shape, room: config.memory_room() })
    }

    /// The fewest bytes with which a stage can be done, by these settings.
    pub(super) fn smallest(&self, stage: StageName) -> u64 {
        let shape = &self.shape;
        BASE_BYTES
            + shape.id_bytes
            + match stage {
                // Whoever reads the graph tells what has to fit.
                StageName::Graph => 0,
                StageName::Partition => self.config.partition.method.memory_need(&shape.partition).most,
                StageName::Patch => self.patch_bytes(),
                StageName::Embed => self.embed_bytes(1),
                StageName::Align => {
                    let late = self.late_bytes().unwrap_or(0).max(self.frame_bytes());
                    shape.align_size().smallest_need(&self.config.align).max(late)
                }
                StageName::Evaluate => {
                    let tasks = self.tasks();
                    let least = shape.evaluate.smallest_need(&self.config.evaluate, &tasks);
                    least.max(self.whole_bytes()).max(self.frame_bytes())
                }
            }
    }

    /// About how many bytes a stage takes within the limit.
    pub(super) fn memory(&self, stage: StageName) -> u64 {
        let shape = &self.shape;
        BASE_BYTES
            + shape.id_bytes
            + match stage {
                StageName::Graph => self.graph_memory(),
                StageName::Partition => {
                    let Need { about, .. } = self.config.partition.method.memory_need(&shape.partition);
                    about
                }
                StageName::Patch => self.patch_bytes(),
                StageName::Embed => self.embed_bytes(self.in_flight()),
                StageName::Align => {
                    let aligning = shape.align_size().memory_bytes(&self.config.align, self.room);
                    aligning.max(self.late_bytes().unwrap_or(0)).max(self.frame_bytes())
                }
                StageName::Evaluate => {
                    let scoring = shape.evaluate.memory_bytes(&self.config.evaluate, &self.tasks());
                    scoring.max(self.whole_bytes()).max(self.frame_bytes())
                }
            }
    }

    pub(super) fn tasks(&self) -> Vec<Task> {
        let size = &self.shape.evaluate;
        let possible = [
            (Task::Reconstruction, true),
            (Task::LinkPrediction, size.held_out > 0),
            (Task::Classification, size.classes > 0),
        ];
        let possible = possible.iter().filter(|(_, is)| *is).map(|&(task, _)| task);
        self.config.evaluate.tasks.clone().unwrap_or_else(|| possible.collect())
    }

    /// Reading holds edges as they come and as rows; above the limit, edges go to disk.
    fn graph_memory(&self) -> u64 {
        let in_memory = 5 * self.shape.graph_bytes / 2;
        in_memory.min(self.config.memory_limit().max(16 * self.shape.graph.num_nodes as u64))
    }

    /// The edges do not fit into memory, and are sorted on disk.
    fn spills(&self) -> bool {
        3 * self.shape.graph_bytes > self.config.memory_limit()
    }

    /// Patches while they are made.
    fn patch_bytes(&self) -> u64 {
        let Shape { graph, directed, patches, dim, .. } = self.shape;
        let sizes = PatchSizes {
            nodes: graph.num_nodes,
            entries: graph.num_edges,
            symmetric: !directed,
            clusters: patches,
            largest_cut: graph.num_edges / patches.max(1) / 2,
        };
        // Overlaps that are impossible are told before anything is estimated.
        patch::memory_bytes(&sizes, &self.config.patch, dim).unwrap_or(0)
    }

    /// What training holds: the frame, and the patches in flight.
    fn embed_bytes(&self, in_flight: u64) -> u64 {
        let [held, making] = self.config.embed.frame_need(&self.shape.graph, self.shape.method);
        let lists = 1200 * self.shape.patches as u64;
        let training = held.most + lists + in_flight * self.training_bytes(self.shape.patch_nodes);
        let training = training.max(held.most + lists + self.training_bytes(self.shape.largest_patch));
        let rows = if self.config.embed.reads_whole_rows() { self.undirected_bytes() } else { 0 };
        making.most.max(training) + rows
    }

    /// A directed graph is held once more, with every edge in both directions.
    fn undirected_bytes(&self) -> u64 {
        let size = &self.shape.graph;
        if self.shape.directed { 8 * size.num_nodes as u64 + 12 * size.num_edges as u64 } else { 0 }
    }

    /// What training a part of so many nodes takes.
    fn training_bytes(&self, nodes: usize) -> u64 {
        let embed = &self.config.embed;
        let method = if embed.method == EmbedMethod::Auto { self.shape.method } else { embed.method };
        let embedder = EmbedConfig { method, ..embed.clone() }.embedder();
        let size = self.shape.graph.part(nodes);
        if embed.has_common_frame(method) {
            return embed.framed_bytes(&size, method, self.shape.graph.num_nodes);
        }
        embedder.memory_bytes(&size, embed.dim)
    }

    /// How many patches are trained at a time.
    fn in_flight(&self) -> u64 {
        let most = (self.shape.patches as u64 * u64::from(self.config.embed.runs))
            .min(current_num_threads() as u64)
            .max(1);
        let [held, _] = self.config.embed.frame_need(&self.shape.graph, self.shape.method);
        let limit = match self.config.embed.memory_bytes {
            0 => self.room,
            own => own.min(self.room),
        };
        let room = limit.saturating_sub(held.most);
        most.min(room / self.training_bytes(self.shape.patch_nodes).max(1)).max(1)
    }

    /// The common frame, which later stages look into: as it is, and as it is read.
    fn frame_bytes(&self) -> u64 {
        3 * self.config.embed.frame_need(&self.shape.graph, self.shape.method)[0].about / 2
    }

    /// What patches learned, applied to the whole graph; it is part of the stage `align`.
    pub(super) fn late_bytes(&self) -> Option<u64> {
        self.config.embed.late_bytes(&self.shape.graph, self.shape.method, self.shape.patches)
    }

    /// Training on the whole graph, for comparison; it is part of the stage `evaluate`.
    pub(super) fn whole_bytes(&self) -> u64 {
        if self.config.evaluate.full { self.training_bytes(self.shape.graph.num_nodes) } else { 0 }
    }

    /// What a stage leaves on disk, and what it needs there meanwhile.
    pub(super) fn disk(&self, stage: StageName) -> [u64; 2] {
        let shape = &self.shape;
        let (nodes, dim, patches) = (shape.graph.num_nodes as u64, shape.dim as u64, shape.patches as u64);
        let (copies, links) = (shape.copies as u64, shape.links as u64);
        match stage {
            StageName::Graph => {
                let edges = shape.graph.num_edges as u64 / 2;
                let temporary =
                    if self.spills() { (16 + if shape.weighted { 8 } else { 0 }) * edges } else { 0 };
                [shape.graph_bytes + 1500, temporary]
            }
            StageName::Partition => [4 * nodes + 8 * patches + 800, 0],
            StageName::Patch => {
                let files = patches * (2 * (128 + STAMPED_FILE_BYTES) + 12);
                [12 * copies + files + 40 * links + 2000, 0]
            }
            StageName::Embed => {
                let epochs = u64::from(self.config.embed.training().epochs);
                let trains = matches!(shape.method, EmbedMethod::Walks | EmbedMethod::Spectral);
                let losses = if trains { 0 } else { 24 * epochs };
                let files = patches * (128 + 3 * STAMPED_FILE_BYTES + 2200 + losses);
                [4 * dim * copies + files + self.encoder_bytes() + self.frame_file_bytes() + 2000, 0]
            }
            StageName::Align => {
                let motions = 8 * patches * dim * (dim + 1);
                let record = 330 * links + 260 * patches + 25 * dim;
                let size = shape.align_size();
                [
                    8 * dim * nodes + 4 * nodes + motions + record + 3000,
                    size.temporary_bytes(&self.config.align, self.room),
                ]
            }
            StageName::Evaluate => {
                let untrained =
                    shape.evaluate.untrained_bytes.filter(|_| self.config.evaluate.limits.untrained);
                let untrained = untrained.map_or(0, |_| 4 * dim * nodes);
                let full = if self.config.evaluate.full { 8 * dim * nodes } else { 0 };
                [untrained + full + 700 + 650 * self.tasks().len() as u64, 0]
            }
        }
    }

    /// What patches keep of what they learned.
    fn encoder_bytes(&self) -> u64 {
        let learns = matches!(self.shape.method, EmbedMethod::Hops | EmbedMethod::Both);
        let width = self.config.embed.basis.min(self.shape.graph.num_features.unwrap_or(0)) as u64;
        let [dim, _] = self.shape.method.dims(self.shape.dim).map(|dim| dim as u64);
        if learns { self.shape.patches as u64 * (4 * width * dim + 800) } else { 0 }
    }

    /// The file that all patches are sent.
    fn frame_file_bytes(&self) -> u64 {
        let [held, _] = self.config.embed.frame_need(&self.shape.graph, self.shape.method);
        // The sums of steps of walks are made again from one of them.
        match self.shape.method {
            EmbedMethod::Walks | EmbedMethod::Both => 4 * self.shape.graph.num_nodes as u64 + held.about / 10,
            _ => held.about,
        }
    }
}
