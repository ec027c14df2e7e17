//! How much memory a common frame takes, and what is made of it for the whole graph.

use super::{CENTRE_NODES, Frame, FrameKind, WalkFrame, WalkSettings, walk_settings};
use crate::embed::choose::MAX_NODES;
use crate::embed::hops::late::{COLUMNS_AT_ONCE, Late};
use crate::embed::hops::{BASIS_ROWS, basis, training_bytes};
use crate::embed::memory::PatchSize;
use crate::embed::walks::{usual_clusters, walk_memory_bytes};
use crate::embed::{EmbedConfig, EmbedMethod};
use crate::memory::Need;

impl Frame {
    /// About how many bytes the frame takes while patches train.
    pub fn memory_bytes(&self) -> u64 {
        let hops = self.hops.as_ref().map_or(0, |hops| {
            let dim = hops.centre.len() as u64;
            4 * (hops.map.basis.values().len() as u64 + dim * dim)
        });
        let walks = self.walks.as_ref().map_or(0, |walks| {
            let settings = WalkSettings::new(walks.window(), walks.dim());
            WalkFrame::memory_bytes(walks.clusters().len(), walks.num_clusters(), &settings)
        });
        hops + walks
    }
}

impl EmbedConfig {
    /// What is held of the frame of a graph while patches train, and at its making.
    pub fn frame_need(&self, graph: &PatchSize, method: EmbedMethod) -> [Need; 2] {
        if !self.has_common_frame(method) {
            return [Need::default(); 2];
        }
        let [hops, walks] = [method != EmbedMethod::Walks, method != EmbedMethod::Hops];
        let (mut held, mut making) = (0, 4 * graph.num_nodes as u64);
        if hops {
            let (rows, width) = (graph.num_nodes.min(BASIS_ROWS), graph.num_features.unwrap_or(0));
            let sampled = graph.part(rows).feature_bytes();
            let basis_bytes = 2 * sampled + basis::memory_bytes(rows, width, self.basis.min(width));
            held += 4 * (width * self.basis.min(width) + self.dim * self.dim) as u64;
            let open = self.method == EmbedMethod::Auto || self.scaling.is_none();
            making += basis_bytes.max(if open { self.trial_bytes(graph) } else { 0 });
        }
        if walks || self.method == EmbedMethod::Auto {
            let clusters = self.walk_clusters.unwrap_or_else(|| usual_clusters(graph.num_nodes));
            let settings = walk_settings(self, self.dim);
            let frame = WalkFrame::memory_bytes(graph.num_nodes, clusters, &settings);
            held += if walks { frame } else { 0 };
            // Several lengths of walks are tried, each with sums of its own; one, where walks are tried
            // beside hops.
            let tried = if walks { 3 } else { 1 };
            making += tried * frame + 8 * (clusters * clusters) as u64 + 12 * graph.num_nodes as u64;
        }
        [Need::of(held), Need::of(making)]
    }

    /// What a patch takes that was sent a frame, in a graph of so many nodes.
    pub fn framed_bytes(&self, size: &PatchSize, method: EmbedMethod, num_nodes: usize) -> u64 {
        let clusters = self.walk_clusters.unwrap_or_else(|| usual_clusters(num_nodes));
        let [of_hops, of_walks] = method.dims(self.dim);
        let hops = || training_bytes(size, self.basis, of_hops);
        let walks = || walk_memory_bytes(size, clusters, of_walks);
        let training = match method {
            EmbedMethod::Walks => walks(),
            EmbedMethod::Both => hops().max(walks()) + size.coordinate_bytes(2 * self.dim),
            _ => hops(),
        };
        size.graph_bytes() + training
    }

    /// A trial: a part of the graph, once more without some edges, embedded before training.
    fn trial_bytes(&self, graph: &PatchSize) -> u64 {
        let part = graph.part(graph.num_nodes.min(MAX_NODES));
        let sample = graph.part(graph.num_nodes.min(CENTRE_NODES)).graph_bytes();
        2 * part.graph_bytes()
            + sample
            + self.untrained_bytes(&part, self.dim.min(part.num_features.unwrap_or(0)))
    }

    /// All nodes of a graph before training, with a basis of so many directions.
    fn untrained_bytes(&self, graph: &PatchSize, basis: usize) -> u64 {
        let (nodes, entries) = (graph.num_nodes as u64, graph.num_edges as u64);
        let propagation = 40 * nodes + 12 * entries;
        propagation + 4 * nodes * (basis + 7 * self.dim) as u64
    }

    /// The bytes of the embedding of the whole graph before training; none if there is none.
    pub fn whole_untrained_bytes(&self, graph: &PatchSize, method: EmbedMethod) -> Option<u64> {
        let is_hops = method == EmbedMethod::Hops && self.has_common_frame(method);
        is_hops.then(|| self.untrained_bytes(graph, self.basis.min(graph.num_features.unwrap_or(0))))
    }

    /// The bytes that applying what patches learned to the whole graph takes; none if it is not done.
    pub fn late_bytes(&self, graph: &PatchSize, method: EmbedMethod, patches: usize) -> Option<u64> {
        let learns = matches!(method, EmbedMethod::Hops | EmbedMethod::Both);
        if !learns || self.frame != FrameKind::Common || self.late == Late::Off {
            return None;
        }
        let (nodes, entries) = (graph.num_nodes as u64, graph.num_edges as u64);
        let [dim, _] = method.dims(self.dim).map(|dim| dim as u64);
        let width = self.basis.min(graph.num_features.unwrap_or(0)) as u64;
        let encoders = 4 * patches as u64 * width * dim;
        let matrices = nodes * (8 * dim + 8 * dim.min(COLUMNS_AT_ONCE as u64) + 48) + 12 * entries;
        Some(encoders + matrices)
    }
}
