//! The sizes that everything follows from: those of the graph, and those of its patches, as far as they
//! are known.
//!
//! Before there are patches, their number follows from the settings, and their size from what a cluster
//! has, borrows and covers. Once they are made, their report tells.

use super::PipelineError;
use crate::align::AlignSize;
use crate::config::Config;
use crate::embed::EmbedMethod;
use crate::embed::memory::PatchSize;
use crate::evaluate::EvaluateSize;
use crate::graph::{Graph, NodeIds};
use crate::partition::PartitionSize;
use crate::patch::{Landmarks, PatchReport};

/// About the share of edges between clusters.
const CUT_SHARE: f64 = 0.15;

/// The sizes of a graph and its patches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// The graph.
    pub(super) graph: PatchSize,
    pub(super) directed: bool,
    /// The graph as a partitioner sees it.
    pub(super) partition: PartitionSize,
    pub(super) weighted: bool,
    /// The bytes of the graph's files.
    pub(super) graph_bytes: u64,
    /// The bytes of text ids, which are in memory wherever the graph is opened.
    pub(super) id_bytes: u64,
    /// What the method of embedding stands for.
    pub(super) method: EmbedMethod,
    pub(super) dim: usize,
    pub(super) patches: usize,
    /// Nodes of a usual patch, and of the largest.
    pub(super) patch_nodes: usize,
    pub(super) largest_patch: usize,
    /// Nodes of all patches.
    pub(super) copies: usize,
    /// Pairs of patches that are aligned along.
    pub(super) links: usize,
    /// Nodes in several patches.
    pub(super) shared_nodes: usize,
    /// Nodes that two patches share, over all pairs.
    pub(super) shared_rows: usize,
    pub(super) evaluate: EvaluateSize,
}

impl Shape {
    /// The sizes for settings that are filled in; those of the patches from their report, if there is one.
    pub(super) fn of(
        config: &Config,
        graph: &Graph,
        report: Option<&PatchReport>,
    ) -> Result<Self, PipelineError> {
        let size = PatchSize::of_graph(graph);
        let (dim, method) = (config.embed.dim, config.embed.method.for_graph(graph));
        let untrained = config.embed.whole_untrained_bytes(&size, method);
        let mut shape = Self {
            graph: size,
            directed: !graph.is_symmetric(),
            partition: PartitionSize::of(graph),
            weighted: graph.weights().is_some(),
            graph_bytes: graph_bytes(graph, &size),
            id_bytes: id_bytes(graph),
            method,
            dim,
            patches: 1,
            patch_nodes: size.num_nodes,
            largest_patch: size.num_nodes,
            copies: size.num_nodes,
            links: 0,
            shared_nodes: 0,
            shared_rows: 0,
            evaluate: EvaluateSize::of(graph, dim, untrained),
        };
        match report {
            Some(report) => shape.take_patches(report),
            None => shape.guess_patches(config)?,
        }
        Ok(shape)
    }

    /// The patches that there are.
    fn take_patches(&mut self, report: &PatchReport) {
        let nodes = self.graph.num_nodes;
        self.patches = report.patches.max(1);
        self.copies = report.node_cover.copies.max(nodes);
        self.patch_nodes = self.copies / self.patches;
        self.largest_patch = report.sizes.iter().copied().max().unwrap_or(nodes);
        self.links = report.patch_edges;
        self.shared_rows = report.overlaps.iter().map(|overlap| overlap.2).sum();
        // Landmarks are shared by all patches.
        let by_landmarks = report.landmarks * self.patches;
        let others = self.copies.saturating_sub(nodes).saturating_sub(by_landmarks);
        self.shared_nodes = nodes.min(others + report.landmarks);
    }

    /// The patches as settings and graph suggest them.
    fn guess_patches(&mut self, config: &Config) -> Result<(), PipelineError> {
        let Config { partition, patch, .. } = config;
        let (nodes, dim) = (self.graph.num_nodes, self.dim);
        let bounds = patch.overlap_bounds(dim)?;
        let patches = partition.num_clusters(nodes, bounds.half_min())?;
        let bounds = patch.bounds_within(dim, nodes / patches)?;
        let landmarks = patch.landmarks.unwrap_or(Landmarks::NONE).count(nodes, patches);
        // A patch takes about (l + u) / 4 nodes from each of its neighbours.
        let neighbors = patch.degree.min(patches.saturating_sub(1) as f64);
        let borrowed = (neighbors * (bounds.min + bounds.max) as f64 / 4.0) as usize;
        // And where edges are covered, one for each edge between clusters that is in no overlap, as far
        // as the budget reaches.
        let guests = (CUT_SHARE * self.graph.num_edges as f64 / 2.0) as usize / patches;
        let guests = guests.min(patch.most_guests(nodes) / patches);
        let guests = if patches > 1 { guests } else { 0 };
        self.patches = patches;
        self.patch_nodes = (nodes / patches + borrowed + guests + landmarks).min(nodes);
        self.largest_patch = (self.patch_nodes + self.patch_nodes / 4).min(nodes);
        self.copies = patches * self.patch_nodes;
        self.links = (neighbors * patches as f64 / 2.0).ceil() as usize;
        let joined_by_landmarks = landmarks > dim;
        let star = if joined_by_landmarks { patches.saturating_sub(1) } else { 0 };
        let overlap = (bounds.min + bounds.max) / 2 + landmarks;
        self.shared_rows = self.links * (overlap + guests / 2) + star * landmarks;
        self.links += star;
        self.shared_nodes = nodes.min(patches * (borrowed + guests) + landmarks);
        Ok(())
    }

    /// The patches, as alignment sees them.
    pub(super) fn align_size(&self) -> AlignSize {
        AlignSize {
            nodes: self.graph.num_nodes,
            patches: self.patches,
            links: self.links,
            dim: self.dim,
            copies: self.copies,
            shared_nodes: self.shared_nodes,
            shared_rows: self.shared_rows,
        }
    }
}

/// The bytes of text ids. They are appended one by one, so that up to half as much is set aside besides.
pub(super) fn id_bytes(graph: &Graph) -> u64 {
    match graph.ids() {
        NodeIds::Strings(table) => 3 * table.memory_bytes() / 2,
        _ => 0,
    }
}

/// The bytes of the files of a graph.
fn graph_bytes(graph: &Graph, size: &PatchSize) -> u64 {
    let (nodes, entries) = (graph.num_nodes() as u64, graph.num_directed_edges() as u64);
    let weights = if graph.weights().is_some() { 4 * entries } else { 0 };
    let labels = graph.labels().map_or(0, |_| 4 * nodes);
    let held_out = graph.held_out().map_or(0, |held_out| 32 * held_out.edges().len() as u64);
    16 * nodes + 4 * entries + weights + size.feature_bytes() + labels + held_out
}
