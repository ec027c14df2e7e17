//! About how much memory and disk a run takes.
//!
//! Everything follows from the size of the graph and the settings, before a patch is made: how
//! many nodes a patch has, what training holds for the patches in flight, and what alignment
//! holds for all of them.

use rayon::current_num_threads;
use serde::Serialize;

use super::PipelineError;
use crate::align::{AlignMethod, centroid};
use crate::config::Config;
use crate::embed::memory::PatchSize;
use crate::graph::{Features, Graph};
use crate::patch::Landmarks;

/// Up to about so many rows, alignment may decompose its matrix as a whole.
const DENSE_ROWS: u64 = 3500;

/// About the share of edges between clusters.
const CUT_SHARE: f64 = 0.15;

/// The program itself, and what it reads and writes through.
const BASE_BYTES: u64 = 24 << 20;

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

impl Estimate {
    /// What a run takes, all settings filled in.
    pub(super) fn of(config: &Config, graph: &Graph) -> Result<Self, PipelineError> {
        let shape = Shape::of(config, graph)?;
        let Shape { nodes, patches, patch_nodes, .. } = shape;
        let graph_bytes = scaled_size(graph, nodes).graph_bytes();
        let working_bytes = shape.training_bytes(config, graph).max(shape.aligning_bytes(config));
        Ok(Self {
            nodes,
            patches,
            patch_nodes,
            // Reading a graph takes some 2.4 times its size.
            memory_bytes: BASE_BYTES + (5 * graph_bytes / 2).max(graph_bytes + working_bytes),
            working_bytes,
            mapped_bytes: shape.patch_bytes().max(graph_bytes),
            written_bytes: graph_bytes + shape.written_bytes(config.evaluate.full),
        })
    }
}

/// The sizes that everything follows from.
#[derive(Clone, Copy, Debug)]
struct Shape {
    nodes: usize,
    dim: usize,
    patches: usize,
    patch_nodes: usize,
    /// Pairs of patches that are aligned along.
    patch_edges: u64,
}

impl Shape {
    fn of(config: &Config, graph: &Graph) -> Result<Self, PipelineError> {
        let Config { partition, patch, embed, .. } = config;
        let bounds = patch.overlap_bounds(embed.dim)?;
        let (nodes, dim) = (graph.num_nodes(), embed.dim);
        let patches = partition.num_clusters(nodes, bounds.half_min())?;
        let bounds = patch.bounds_within(dim, nodes / patches)?;
        let landmarks = patch.landmarks.unwrap_or(Landmarks::NONE).count(nodes, patches);
        // A patch takes about (l + u) / 4 nodes from each of its neighbours.
        let neighbors = patch.degree.min(patches.saturating_sub(1) as f64);
        let borrowed = (neighbors * (bounds.min + bounds.max) as f64 / 4.0) as usize;
        // And where edges are covered, one for each edge between clusters that is in no overlap, as
        // far as the budget reaches.
        let guests = (CUT_SHARE * graph.num_edges() as f64) as usize / patches;
        let guests = guests.min(patch.most_guests(nodes) / patches);
        let patch_nodes = (nodes / patches + borrowed + guests + landmarks).min(nodes);
        let patch_edges = (patch.degree * patches as f64 / 2.0).ceil() as u64;
        Ok(Self { nodes, dim, patches, patch_nodes, patch_edges })
    }

    /// What training holds for the patches in flight, or for the whole graph.
    fn training_bytes(&self, config: &Config, graph: &Graph) -> u64 {
        let embedder = config.embed.embedder();
        let bytes_for = |nodes: usize| embedder.memory_bytes(&scaled_size(graph, nodes), self.dim);
        let in_flight = self.patches.min(current_num_threads()) as u64;
        let mut training = in_flight * bytes_for(self.patch_nodes);
        if config.embed.memory_bytes > 0 {
            training = training.min(config.embed.memory_bytes);
        }
        match config.evaluate.full {
            true => training.max(bytes_for(self.nodes)),
            false => training,
        }
    }

    /// The bytes of one rotation.
    fn rotation_bytes(&self) -> u64 {
        8 * self.dim as u64 * self.dim as u64
    }

    /// What alignment holds: the most of rotating, streaming the embedding, and refining.
    fn aligning_bytes(&self, config: &Config) -> u64 {
        let patches = self.patches as u64;
        // Relative rotations, and some six tall matrices of the eigen-solver; a problem that is
        // not large is decomposed as a whole.
        let rows = patches * self.dim as u64;
        let dense = if rows <= DENSE_ROWS { 32 * rows * rows } else { 0 };
        let rotating = ((self.patch_edges + 6 * patches) * self.rotation_bytes()).max(dense);
        // The transforms, in both precisions, and what the embeddings are streamed through.
        let copies = self.patches * self.patch_nodes;
        let streaming =
            3 * patches * self.rotation_bytes() / 2 + centroid::streaming_bytes(copies, self.nodes, self.dim);
        let refining = match config.align.method {
            Some(AlignMethod::Procrustes | AlignMethod::Straighten) => self.refining_bytes(),
            _ => 0,
        };
        rotating.max(streaming).max(refining)
    }

    /// Generalised Procrustes has a centre for each shared node, and the copies of some patches.
    fn refining_bytes(&self) -> u64 {
        let own_nodes = self.nodes / self.patches;
        let shared = self.nodes.min(self.patches * (self.patch_nodes - own_nodes)) as u64;
        8 * self.dim as u64 * (shared + 16 * self.patch_nodes as u64)
    }

    /// The files of all patches: nodes, weights and coordinates.
    fn patch_bytes(&self) -> u64 {
        self.patches as u64 * self.patch_nodes as u64 * (12 + 4 * self.dim as u64)
    }

    /// All files but those of the graph.
    fn written_bytes(&self, full: bool) -> u64 {
        let (nodes, dim) = (self.nodes as u64, self.dim as u64);
        let clusters = 4 * nodes;
        let embeddings = 8 * dim * nodes + 4 * nodes;
        // The whole graph at once, as it is trained and as it is scored.
        let whole_graph = if full { 8 * dim * nodes } else { 0 };
        clusters + self.patch_bytes() + embeddings + self.patches as u64 * self.rotation_bytes() + whole_graph
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
