//! What a run would do, told beforehand.

use std::io;

use rayon::current_num_threads;
use serde::Serialize;

use super::{GraphSource, Pipeline, PipelineError, Reason, StageName};
use crate::align::{AlignMethod, centroid};
use crate::config::Config;
use crate::embed::memory::PatchSize;
use crate::graph::{Features, Graph, builtin, store};
use crate::patch::{Cover, Landmarks};
use crate::progress::Progress;
use crate::run_dir::FileError;

/// Up to about so many rows, alignment may decompose its matrix as a whole.
const DENSE_ROWS: u64 = 3500;

/// About the share of edges between clusters.
const CUT_SHARE: f64 = 0.15;

/// The program itself, and what it reads and writes through.
const BASE_BYTES: u64 = 24 << 20;

/// What a run would do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Every stage, in order.
    pub stages: Vec<PlannedStage>,
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

/// About how much a run takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Nodes of the graph.
    pub nodes: usize,
    /// Patches.
    pub patches: usize,
    /// Nodes of a usual patch.
    pub patch_nodes: usize,
    /// Memory at the peak, in bytes.
    pub memory_bytes: u64,
    /// The part of it that embedding and alignment take, besides the graph.
    #[serde(skip)]
    pub working_bytes: u64,
    /// Bytes of files that are mapped at the peak: they use free memory, and do without it.
    pub mapped_bytes: u64,
    /// Bytes of all files, as if every stage were done.
    pub written_bytes: u64,
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
        Ok(Plan { stages, estimate })
    }

    fn estimate(&mut self, stored: bool, progress: &dyn Progress) -> Result<Estimate, PipelineError> {
        if stored {
            return self.settle_and_estimate(&store::open(&self.run.graph())?.0);
        }
        match self.source {
            GraphSource::Memory(loaded) => self.settle_and_estimate(&loaded.graph),
            GraphSource::Settings(folders) => {
                let config = &self.config.graph;
                let name = config.input.as_deref().unwrap_or("cora");
                let loaded = builtin::open(name, folders, config, progress)?;
                let loaded = loaded.hold_out(config.hold_out, self.config.seed)?;
                self.settle_and_estimate(&loaded.graph)
            }
        }
    }

    fn settle_and_estimate(&mut self, graph: &Graph) -> Result<Estimate, PipelineError> {
        self.settle_for(graph)?;
        self.estimate_for(graph)
    }

    /// What a run takes, all settings filled in.
    pub(super) fn estimate_for(&self, graph: &Graph) -> Result<Estimate, PipelineError> {
        let Config { partition, patch, embed, align, evaluate, .. } = &self.config;
        let bounds = patch.overlap_bounds(embed.dim)?;
        let (nodes, dim) = (graph.num_nodes(), embed.dim);
        let patches = partition.num_clusters(nodes, bounds.half_min())?;
        let bounds = patch.bounds_within(dim, nodes / patches)?;
        let landmarks = patch.landmarks.unwrap_or(Landmarks::NONE).count(nodes, patches);
        // A patch takes about (l + u) / 4 nodes from each of its neighbours.
        let neighbors = patch.degree.min(patches.saturating_sub(1) as f64);
        let borrowed = (neighbors * (bounds.min + bounds.max) as f64 / 4.0) as usize;
        // And where edges are covered, one for each edge between clusters that is in no overlap.
        let guests = (CUT_SHARE * graph.num_edges() as f64) as usize / patches;
        let guests = match patch.cover.unwrap_or_default() {
            Cover::Edges => guests,
            Cover::Nodes => 0,
            Cover::Auto => guests.min((Cover::MOST_GROWTH - 1) * (nodes / patches + borrowed)),
        };
        let patch_nodes = (nodes / patches + borrowed + guests + landmarks).min(nodes);
        let size = |patch_nodes: usize| scaled_size(graph, patch_nodes);
        let embedder = embed.embedder();
        let in_flight = patches.min(current_num_threads()) as u64;
        let mut training = in_flight * embedder.memory_bytes(&size(patch_nodes), dim);
        if embed.memory_bytes > 0 {
            training = training.min(embed.memory_bytes);
        }
        if evaluate.full {
            training = training.max(embedder.memory_bytes(&size(nodes), dim));
        }
        let graph_bytes = size(nodes).graph_bytes();
        let patch_edges = (patch.degree * patches as f64 / 2.0).ceil() as u64;
        let (nodes_u64, dim_u64, patches_u64) = (nodes as u64, dim as u64, patches as u64);
        let rotations = 8 * dim_u64 * dim_u64;
        // Relative rotations, and some six tall matrices of the eigen-solver; a problem that is
        // not large is decomposed as a whole.
        let rows = patches_u64 * dim_u64;
        let dense = if rows <= DENSE_ROWS { 32 * rows * rows } else { 0 };
        let rotating = ((patch_edges + 6 * patches_u64) * rotations).max(dense);
        let total_patch_nodes = patches_u64 * patch_nodes as u64;
        // The transforms, in both precisions, and what the embeddings are streamed through.
        let streaming =
            3 * patches_u64 * rotations / 2 + centroid::streaming_bytes(patches * patch_nodes, nodes, dim);
        // Generalised Procrustes has a centre for each shared node, and the copies of some patches.
        let refining = match align.method {
            Some(AlignMethod::Procrustes | AlignMethod::Straighten) => {
                let shared = nodes.min(patches * (patch_nodes - nodes / patches)) as u64;
                8 * dim_u64 * (shared + 16 * patch_nodes as u64)
            }
            _ => 0,
        };
        let aligning = rotating.max(streaming).max(refining);
        let patch_bytes = total_patch_nodes * (12 + 4 * dim_u64);
        let written_bytes = graph_bytes
            + 4 * nodes_u64
            + patch_bytes
            + 8 * dim_u64 * nodes_u64
            + 4 * nodes_u64
            + patches_u64 * rotations
            // The whole graph at once, as it is trained and as it is scored.
            + if evaluate.full { 8 * dim_u64 * nodes_u64 } else { 0 };
        // Reading a graph takes some 2.4 times its size.
        let working_bytes = training.max(aligning);
        let memory_bytes = BASE_BYTES + (5 * graph_bytes / 2).max(graph_bytes + working_bytes);
        let mapped_bytes = patch_bytes.max(graph_bytes);
        Ok(Estimate { nodes, patches, patch_nodes, memory_bytes, working_bytes, mapped_bytes, written_bytes })
    }
}

/// The size of a patch of so many nodes, if it is like the whole graph.
fn scaled_size(graph: &Graph, patch_nodes: usize) -> PatchSize {
    let share = patch_nodes as f64 / graph.num_nodes().max(1) as f64;
    let scale = |count: usize| (count as f64 * share).ceil() as usize;
    let entries = match graph.features() {
        Some(Features::Sparse(sparse)) => Some(scale(sparse.values().len())),
        _ => None,
    };
    PatchSize {
        num_nodes: patch_nodes,
        num_edges: scale(graph.num_directed_edges()),
        num_features: graph.features().map(Features::width),
        num_entries: entries,
    }
}
