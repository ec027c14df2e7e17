//! One patch that is to be embedded: where it lies, its settings, how much memory it needs, and its
//! digest.

use std::borrow::Cow;

use super::super::memory::PatchSize;
use super::super::{EmbedConfig, Embedder, Frame, digest};
use crate::graph::{Graph, NodeId};
use crate::run_dir::patch_name;
use crate::seed::Seed;

/// Where a patch lies: in a whole graph, or in the part of it that a bundle holds.
#[derive(Clone, Copy, Debug)]
pub(in crate::embed) struct Place<'a> {
    /// Its nodes in the whole graph.
    pub(in crate::embed) nodes: &'a [NodeId],
    /// Where their rows are in `whole`.
    pub(in crate::embed) rows: &'a [NodeId],
    /// The whole graph, or what there is of it.
    pub(in crate::embed) whole: &'a Graph,
    /// The graph that the nodes induce, if it has been made already.
    pub(in crate::embed) part: Option<&'a Graph>,
}

impl<'a> Place<'a> {
    /// A patch of a whole graph.
    pub(in crate::embed) fn in_graph(graph: &'a Graph, nodes: &'a [NodeId]) -> Self {
        Self { nodes, rows: nodes, whole: graph, part: None }
    }

    /// The graph that the nodes induce.
    pub(super) fn graph(&self) -> Cow<'a, Graph> {
        match self.part {
            Some(part) => Cow::Borrowed(part),
            None => Cow::Owned(self.whole.subgraph(self.rows)),
        }
    }

    /// The number of edges inside the patch.
    pub(super) fn num_edges(&self) -> usize {
        let inside = |node: &NodeId| self.rows.binary_search(node).is_ok();
        let directed = self.rows.iter().map(|&row| self.whole.neighbors(row).filter(inside).count()).sum();
        if self.whole.is_symmetric() { directed / 2 } else { directed }
    }
}

/// One patch that is to be embedded.
pub(in crate::embed) struct Job<'a> {
    pub(in crate::embed) index: usize,
    pub(super) name: String,
    pub(super) place: Place<'a>,
    /// The settings of this patch.
    pub(super) config: EmbedConfig,
    pub(super) embedder: Box<dyn Embedder>,
    pub(super) num_runs: u32,
    /// The memory that one run needs.
    pub(in crate::embed) bytes: u64,
    /// The digest of everything that the coordinates are made from.
    pub(in crate::embed) digest: String,
}

impl<'a> Job<'a> {
    /// A patch of a whole graph.
    pub(in crate::embed) fn new(
        graph: &'a Graph,
        index: usize,
        nodes: &'a [NodeId],
        (config, frame): (&EmbedConfig, &Frame),
        seed: Seed,
    ) -> Self {
        let job = Self::known(index, Place::in_graph(graph, nodes), (config, frame), (0, String::new()));
        let bytes = job.embedder.memory_bytes(&PatchSize::new(graph, nodes), config.dim);
        let digest = digest::of_patch(graph, nodes.iter().copied(), &job.config, frame.digest(), seed);
        Self { bytes, digest, ..job }
    }

    /// A patch whose memory and digest were found out where the whole graph is.
    pub(in crate::embed) fn known(
        index: usize,
        place: Place<'a>,
        (config, frame): (&EmbedConfig, &Frame),
        (bytes, digest): (u64, String),
    ) -> Self {
        let name = patch_name(index);
        let config = config.of_patch(&name).settled();
        let embedder = frame.embedder(&config);
        let num_runs = if embedder.is_random() { config.runs } else { 1 };
        Self { index, name, place, config, embedder, num_runs, bytes, digest }
    }

    /// How much work there is, in no particular unit: steps of training times the memory that each goes
    /// through, which grows with nodes, edges and dimensions.
    pub(in crate::embed) fn work(&self) -> u64 {
        let steps = self.embedder.num_steps() * u64::from(self.num_runs);
        self.bytes.saturating_mul(steps)
    }
}
