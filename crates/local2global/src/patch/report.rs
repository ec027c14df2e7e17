//! What the patches are like, and whether they are what alignment needs: `patches.json`.
//!
//! Everything is counted on the finished patches, not taken over from their making.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::cover::{Memberships, uncovered_edges};
use super::{OverlapBounds, PatchId, Patches};
use crate::graph::Graph;
use crate::partition::{ClusterGraph, Partition};

/// The content of `3-patches/patches.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatchReport {
    /// The number of patches.
    pub patches: usize,
    /// The number of nodes of the graph.
    pub nodes: usize,
    /// The number of nodes of each patch.
    pub sizes: Vec<usize>,
    /// The number of edges inside all patches over the number of edges of the graph.
    pub oversampling: f64,
    /// The number of patch edges.
    pub patch_edges: usize,
    /// The mean number of patches a patch is joined with.
    pub mean_degree: f64,
    /// The patch edges, each with the number of shared nodes.
    pub overlaps: Vec<(PatchId, PatchId, usize)>,
    /// The least overlap of a patch edge, but for those through landmarks alone: what was needed,
    /// and what there is.
    pub overlap: OverlapReport,
    /// Whether the patches cover the nodes.
    pub node_cover: NodeCover,
    /// The edges that no patch holds.
    pub edges_in_no_patch: EdgeCover,
    /// Whether all patches are joined, directly or through others.
    pub connected: bool,
    /// The groups of joined patches; each is aligned for itself.
    pub groups: Vec<Vec<PatchId>>,
    /// The patch edges without an edge of the graph, made because a bridge was asked for.
    pub bridges: Vec<[PatchId; 2]>,
    /// The number of landmarks, nodes that every patch holds; left out if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub landmarks: usize,
    /// The patch edges made because patches share the landmarks; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub landmark_edges: Vec<[PatchId; 2]>,
    /// The share of the graph's edges that lie between clusters.
    pub cut: f64,
    /// The size of the largest cluster over the mean.
    pub balance: f64,
}

/// The least overlap over all patch edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverlapReport {
    /// What was needed, `l`; the least of all patch edges, if it depends on the clusters.
    pub needed: usize,
    /// What growing was to stop at, `u`; the largest.
    pub limit: usize,
    /// What there is; as needed if there are no patch edges.
    pub found: usize,
}

/// How many nodes lie in some patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeCover {
    /// Nodes in at least one patch.
    pub covered: usize,
    /// Nodes in none.
    pub uncovered: usize,
    /// Nodes in all patches together, each as often as it is in one.
    pub copies: usize,
}

/// How many edges lie in no patch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EdgeCover {
    /// How many.
    pub count: usize,
    /// Their share of all edges.
    pub share: f64,
}

/// Patch edges between clusters that need not touch.
pub(super) struct AddedEdges {
    pub(super) bridges: Vec<[PatchId; 2]>,
    /// Ascending.
    pub(super) by_landmarks: Vec<[PatchId; 2]>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl PatchReport {
    /// The mean number of patches that a node stands in.
    pub fn copies(&self) -> f64 {
        self.sizes.iter().sum::<usize>() as f64 / self.nodes.max(1) as f64
    }

    /// Counts what the patches of a graph are like; `inside` are the stored edges in
    /// each.
    pub(super) fn of(
        graph: &Graph,
        partition: &Partition,
        clusters: &ClusterGraph,
        patches: &Patches,
        inside: Vec<usize>,
        bounds: OverlapBounds,
        added: AddedEdges,
    ) -> Self {
        let entries = graph.num_directed_edges().max(1) as f64;
        let lists = patches.patches().iter().map(|patch| patch.nodes.as_slice());
        let memberships = Memberships::of(graph.num_nodes(), lists);
        let uncovered = graph.nodes().filter(|&node| memberships.of_node(node).is_empty()).count();
        let lost = uncovered_edges(graph, partition, &memberships).len();
        let sizes: Vec<usize> = patches.patches().iter().map(|patch| patch.nodes.len()).collect();
        let overlaps: Vec<_> =
            patches.graph().edges().par_iter().map(|&[a, b]| (a, b, patches.overlap(a, b))).collect();
        let groups = patches.graph().groups();
        // Landmarks alone join patches whose clusters need not touch, and owe no overlap.
        let owes =
            |edge: &&(PatchId, PatchId, usize)| added.by_landmarks.binary_search(&[edge.0, edge.1]).is_err();
        let least = overlaps.iter().filter(owes).map(|edge| edge.2).min();
        Self {
            patches: patches.num_patches(),
            nodes: graph.num_nodes(),
            oversampling: inside.iter().sum::<usize>() as f64 / entries,
            patch_edges: overlaps.len(),
            mean_degree: patches.graph().mean_degree(),
            overlap: OverlapReport {
                needed: bounds.min,
                limit: bounds.max,
                found: least.unwrap_or(bounds.min),
            },
            overlaps,
            node_cover: NodeCover {
                covered: graph.num_nodes() - uncovered,
                uncovered,
                copies: sizes.iter().sum(),
            },
            sizes,
            edges_in_no_patch: EdgeCover { count: lost, share: 2.0 * lost as f64 / entries },
            connected: groups.len() <= 1,
            groups,
            bridges: added.bridges,
            landmarks: patches.landmarks().len(),
            landmark_edges: added.by_landmarks,
            cut: clusters.cut_entries() as f64 / entries,
            balance: partition.balance(),
        }
    }

    /// Whether the patches are what alignment needs: all nodes covered, and overlaps as
    /// large as asked for.
    pub fn is_sound(&self) -> bool {
        self.node_cover.uncovered == 0 && self.overlap.found >= self.overlap.needed
    }
}
