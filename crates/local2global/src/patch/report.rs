//! What the patches are like, and whether they are what alignment needs: `patches.json`.
//!
//! Everything is counted on the finished patches, not taken over from their making.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::lists::PatchLists;
use super::{OverlapBounds, PatchGraph, PatchId, num_shared};

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
    /// The pairs of touching clusters that were too many to be weighed as patch edges; left out if all
    /// were weighed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped_pairs: usize,
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

/// What is counted on the graph.
pub(super) struct EdgeCounts {
    /// Stored edges of the graph.
    pub(super) entries: usize,
    /// Stored edges inside patches, each as often as it is in one.
    pub(super) inside: usize,
    /// Stored edges between clusters.
    pub(super) cut_entries: usize,
    /// Edges in no patch.
    pub(super) uncovered: usize,
    /// Pairs of touching clusters that were too many to look at.
    pub(super) dropped_pairs: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl PatchReport {
    /// The mean number of patches that a node stands in.
    pub fn copies(&self) -> f64 {
        self.sizes.iter().sum::<usize>() as f64 / self.nodes.max(1) as f64
    }

    /// How often patches hold the same, and what they do not hold: `a node is in 1.6 patches on
    /// average, an edge in 1.4; 3.1 % of the edges are in no patch`.
    pub fn copies_in_words(&self) -> String {
        let lost = match self.edges_in_no_patch.share {
            0.0 => String::new(),
            share => format!("; {:.1} % of the edges are in no patch", 100.0 * share),
        };
        let (nodes, edges) = (self.copies(), self.oversampling);
        format!("a node is in {nodes:.1} patches on average, an edge in {edges:.1}{lost}")
    }

    /// Counts what the patches of a graph are like.
    pub(super) fn of(
        lists: &PatchLists<'_>,
        patch_graph: &PatchGraph,
        bounds: OverlapBounds,
        added: AddedEdges,
        edges: &EdgeCounts,
    ) -> Self {
        let entries = edges.entries.max(1) as f64;
        let patches = (0..lists.num_patches()).into_par_iter();
        let sizes: Vec<usize> = patches.map(|patch| lists.nodes_of(patch).len()).collect();
        let shared =
            |a: PatchId, b: PatchId| num_shared(&lists.nodes_of(a.index()), &lists.nodes_of(b.index()));
        let overlaps: Vec<_> = patch_graph.edges().par_iter().map(|&[a, b]| (a, b, shared(a, b))).collect();
        let groups = patch_graph.groups();
        // Landmarks alone join patches whose clusters need not touch, and owe no overlap.
        let owes =
            |edge: &&(PatchId, PatchId, usize)| added.by_landmarks.binary_search(&[edge.0, edge.1]).is_err();
        let least = overlaps.iter().filter(owes).map(|edge| edge.2).min();
        let partition = lists.partition();
        // Clusters are disjoint, and every patch holds its own.
        let covered = (0..lists.num_patches()).map(|patch| lists.members().of(patch as u32).len()).sum();
        Self {
            patches: lists.num_patches(),
            nodes: partition.num_nodes(),
            oversampling: edges.inside as f64 / entries,
            patch_edges: overlaps.len(),
            mean_degree: patch_graph.mean_degree(),
            overlap: OverlapReport {
                needed: bounds.min,
                limit: bounds.max,
                found: least.unwrap_or(bounds.min),
            },
            overlaps,
            node_cover: NodeCover {
                covered,
                uncovered: partition.num_nodes() - covered,
                copies: sizes.iter().sum(),
            },
            sizes,
            edges_in_no_patch: EdgeCover {
                count: edges.uncovered,
                share: 2.0 * edges.uncovered as f64 / entries,
            },
            connected: groups.len() <= 1,
            groups,
            bridges: added.bridges,
            landmarks: lists.landmarks().len(),
            landmark_edges: added.by_landmarks,
            dropped_pairs: edges.dropped_pairs,
            cut: edges.cut_entries as f64 / entries,
            balance: partition.balance(),
        }
    }

    /// Whether the patches are what alignment needs: all nodes covered, and overlaps as
    /// large as asked for.
    pub fn is_sound(&self) -> bool {
        self.node_cover.uncovered == 0 && self.overlap.found >= self.overlap.needed
    }
}
