//! Edges in no patch, and the share of a node's edges that its patch holds.
//!
//! Patches cover all nodes, but an edge lies in a patch only with both its ends. Where
//! the patch edge between two clusters was sparsified away, no model would ever see the
//! edges between them. [`cover_edges`] adds the far end of each such edge to the home
//! patches of both ends, the patches that grew from their clusters.
//!
//! A node at the rim of a patch has lost neighbours there, and is a worse copy of itself.
//! [`weigh_all`] gives each node of each patch the share of its edges inside the patch;
//! a node without edges has lost none and gets 1.
//!
//! Cost: one pass over the edges to find those in no patch, and one over the rows of all
//! patches' nodes for the shares; memory by the nodes in several patches, and a bit a
//! node and thread.

use rayon::prelude::*;

use super::Patch;
use crate::graph::{Graph, NodeId};
use crate::linalg::grouping::Grouped;
use crate::partition::Partition;

/// The patches of each node.
pub(super) struct Memberships(Grouped<u32>);

impl Memberships {
    /// Turns lists of nodes around.
    pub(super) fn of<'a>(num_nodes: usize, patches: impl Iterator<Item = &'a [NodeId]> + Clone) -> Self {
        let of_patch =
            |(nodes, patch): (&'a [NodeId], u32)| nodes.iter().map(move |node| (node.index(), patch));
        Self(Grouped::new(num_nodes, patches.zip(0..).flat_map(of_patch)))
    }

    /// The patches of one node, ascending.
    pub(super) fn of_node(&self, node: NodeId) -> &[u32] {
        self.0.group(node.index())
    }

    /// Whether some patch holds both nodes.
    fn share_a_patch(&self, a: NodeId, b: NodeId) -> bool {
        let (a, b) = (self.of_node(a), self.of_node(b));
        // Almost always one or two patches: a search would cost more.
        a.iter().any(|patch| b.contains(patch))
    }
}

/// The edges that lie in no patch, each once, in row order.
pub(super) fn uncovered_edges(
    graph: &Graph,
    partition: &Partition,
    memberships: &Memberships,
) -> Vec<[NodeId; 2]> {
    let clusters = partition.clusters();
    let of_row = |from: NodeId| {
        let below = graph.neighbors(from).take_while(move |&to| to < from);
        // Ends of one cluster share at least its patch.
        let apart = below.filter(move |to| clusters[to.index()] != clusters[from.index()]);
        apart.filter(move |&to| !memberships.share_a_patch(from, to)).map(move |to| [to, from])
    };
    (0..graph.num_nodes())
        .into_par_iter()
        .with_min_len(1 << 10)
        .map(NodeId::new)
        .flat_map_iter(of_row)
        .collect()
}

/// As [`cover_edges`] if patches then hold at most `growth` times the nodes, together; otherwise they
/// are left as they are.
pub fn cover_edges_within(
    graph: &Graph,
    partition: &Partition,
    patches: Vec<Vec<NodeId>>,
    growth: usize,
) -> Vec<Vec<NodeId>> {
    let count = |patches: &[Vec<NodeId>]| patches.iter().map(Vec::len).sum::<usize>();
    let covering = cover_edges(graph, partition, patches.clone());
    if count(&covering) > growth * count(&patches) { patches } else { covering }
}

/// Adds to the patches, given by their nodes, the far ends of edges that lie in none.
pub fn cover_edges(graph: &Graph, partition: &Partition, mut patches: Vec<Vec<NodeId>>) -> Vec<Vec<NodeId>> {
    let memberships = Memberships::of(graph.num_nodes(), patches.iter().map(Vec::as_slice));
    let mut added = vec![Vec::new(); patches.len()];
    for [a, b] in uncovered_edges(graph, partition, &memberships) {
        added[partition.cluster_of(a) as usize].push(b);
        added[partition.cluster_of(b) as usize].push(a);
    }
    patches.par_iter_mut().zip(added).for_each(|(nodes, added)| {
        if !added.is_empty() {
            nodes.extend(added);
            nodes.sort_unstable();
            nodes.dedup();
        }
    });
    patches
}

/// The patches with the weights of their nodes, and the number of stored edges inside
/// each.
pub fn weigh_all(graph: &Graph, patches: Vec<Vec<NodeId>>) -> (Vec<Patch>, Vec<usize>) {
    let words = graph.num_nodes().div_ceil(64);
    let weighed = patches.into_par_iter().map_init(
        || vec![0_u64; words],
        |present, nodes| {
            nodes.iter().for_each(|node| present[node.index() / 64] |= 1 << (node.index() % 64));
            let (weights, inside) = weigh(graph, &nodes, present);
            nodes.iter().for_each(|node| present[node.index() / 64] = 0);
            (Patch { nodes, weights }, inside)
        },
    );
    weighed.unzip()
}

/// The weights of one patch's nodes, and the number of stored edges inside; `present`
/// has a bit for each node of the graph.
fn weigh(graph: &Graph, nodes: &[NodeId], present: &[u64]) -> (Vec<f32>, usize) {
    let mut total = 0;
    let weigh = |&node: &NodeId| {
        let bit = |to: NodeId| (present[to.index() / 64] >> (to.index() % 64) & 1) as usize;
        let inside: usize = graph.neighbors(node).map(bit).sum();
        total += inside;
        match graph.degree(node) {
            0 => 1.0,
            degree => inside as f32 / degree as f32,
        }
    };
    (nodes.iter().map(weigh).collect(), total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};

    fn square() -> Graph {
        let edges = EdgeList::from_pairs(vec![[0_u32, 1], [1, 2], [2, 3], [3, 0]]);
        build(edges, 5, &BuildOptions::default()).graph
    }

    fn nodes(ids: &[u64]) -> Vec<NodeId> {
        ids.iter().copied().map(NodeId).collect()
    }

    #[test]
    fn far_ends_join_both_home_patches() {
        let partition = Partition::from_labels(vec![0, 0, 1, 1, 1]);
        let covered = cover_edges(&square(), &partition, vec![nodes(&[0, 1, 2]), nodes(&[2, 3, 4])]);
        // The edge 1 - 2 lies in patch 0 already, 0 - 3 in none.
        assert_eq!(covered, [nodes(&[0, 1, 2, 3]), nodes(&[0, 2, 3, 4])]);
    }

    #[test]
    fn an_edge_in_a_third_patch_is_covered() {
        let partition = Partition::from_labels(vec![0, 1, 2, 2, 2]);
        let memberships = [nodes(&[0]), nodes(&[1]), nodes(&[0, 1, 2, 3, 4])];
        let memberships = Memberships::of(5, memberships.iter().map(Vec::as_slice));
        assert!(uncovered_edges(&square(), &partition, &memberships).is_empty());
    }

    #[test]
    fn weights_are_the_shares_of_edges_inside() {
        let (patches, inside) = weigh_all(&square(), vec![nodes(&[0, 1, 2]), nodes(&[3, 4])]);
        assert_eq!(patches[0].weights, [0.5, 1.0, 0.5]);
        assert_eq!(patches[1].weights, [0.0, 1.0]);
        assert_eq!(inside, [4, 0]);
    }
}
