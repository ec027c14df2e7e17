//! The share of a node's edges that its patch holds.
//!
//! A node at the rim of a patch has lost neighbours there, and is a worse copy of itself. Each node of
//! each patch gets the share of its edges inside the patch; a node without edges has lost none and gets 1.
//!
//! Cost: the rows of a patch's nodes, and a bit for each node of the graph and thread.

use std::sync::Mutex;

use super::Patch;
use super::lists::PatchLists;
use crate::graph::{Graph, NodeId};

/// Weighs the nodes of patches, one patch after the other, on several threads.
pub(super) struct Scales<'a> {
    graph: &'a Graph,
    /// A bit for each node, all unset, for each patch that was weighed at the same time as others.
    free: Mutex<Vec<Vec<u64>>>,
}

impl<'a> Scales<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        Self { graph, free: Mutex::default() }
    }

    /// One patch with the weights of its nodes, and the number of stored edges inside.
    pub(super) fn weigh(&self, lists: &PatchLists<'_>, patch: usize) -> (Patch, usize) {
        let taken = self.free.lock().expect("nobody panics with the lock").pop();
        let mut present = taken.unwrap_or_else(|| vec![0; self.graph.num_nodes().div_ceil(64)]);
        let nodes = lists.nodes_of(patch);
        nodes.iter().for_each(|node| present[node.index() / 64] |= 1 << (node.index() % 64));
        let (weights, inside) = weigh(self.graph, &nodes, &present);
        nodes.iter().for_each(|node| present[node.index() / 64] = 0);
        self.free.lock().expect("nobody panics with the lock").push(present);
        (Patch { nodes, weights }, inside)
    }
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
    use crate::graph::{BuildOptions, EdgeList, NodeLists, build};
    use crate::partition::Partition;

    #[test]
    fn weights_are_the_shares_of_edges_inside() {
        let edges = EdgeList::from_pairs(vec![[0_u32, 1], [1, 2], [2, 3], [3, 0]]);
        let square = build(edges, 5, &BuildOptions::default()).graph;
        let partition = Partition::from_labels(vec![0, 0, 0, 1, 1]);
        let mut further = NodeLists::new(5);
        further.push([]);
        further.push([]);
        let (lists, scales) =
            (PatchLists::new(&partition, partition.members(), further), Scales::new(&square));
        let weighed = [0, 1].map(|patch| scales.weigh(&lists, patch));
        assert_eq!((&weighed[0].0.weights[..], weighed[0].1), (&[0.5, 1.0, 0.5][..], 4));
        assert_eq!((&weighed[1].0.weights[..], weighed[1].1), (&[0.0, 1.0][..], 0));
    }
}
