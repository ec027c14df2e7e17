//! One patch that is to be embedded: its settings, how much memory it needs, and its digest.

use super::super::memory::PatchSize;
use super::super::{EmbedConfig, Embedder, Frame, digest};
use crate::graph::{Graph, NodeId};
use crate::run_dir::patch_name;
use crate::seed::Seed;

/// One patch that is to be embedded.
pub(super) struct Job<'a> {
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) nodes: &'a [NodeId],
    /// The settings of this patch.
    pub(super) config: EmbedConfig,
    pub(super) embedder: Box<dyn Embedder>,
    pub(super) num_runs: u32,
    /// The memory that one run needs.
    pub(super) bytes: u64,
    /// The digest of everything that the coordinates are made from.
    pub(super) digest: String,
}

impl<'a> Job<'a> {
    pub(super) fn new(
        graph: &Graph,
        index: usize,
        nodes: &'a [NodeId],
        (config, frame): (&EmbedConfig, &Frame),
        seed: Seed,
    ) -> Self {
        let name = patch_name(index);
        let config = config.of_patch(&name).settled();
        let embedder = frame.embedder(&config);
        Self {
            index,
            nodes,
            num_runs: if embedder.is_random() { config.runs } else { 1 },
            bytes: embedder.memory_bytes(&PatchSize::new(graph, nodes), config.dim),
            digest: digest::of_patch(graph, nodes.iter().copied(), &config, frame.digest(), seed),
            name,
            config,
            embedder,
        }
    }

    /// The number of edges inside the patch.
    pub(super) fn num_edges(&self, graph: &Graph) -> usize {
        let inside = |node: &NodeId| self.nodes.binary_search(node).is_ok();
        let directed = self.nodes.iter().map(|&node| graph.neighbors(node).filter(inside).count()).sum();
        if graph.is_symmetric() { directed / 2 } else { directed }
    }
}
