//! The nodes of all patches, in as little memory as they take.
//!
//! A patch is the nodes of its cluster, further nodes that it took from others, and the landmarks.
//! Each is kept once: the members of clusters and the further nodes in lists of 4 bytes a node, the
//! landmarks for all patches together. The nodes of one patch are put together when they are asked
//! for, and forgotten again.

use crate::graph::{NodeId, NodeLists};
use crate::partition::{Members, Partition};

/// The nodes of all patches.
pub(super) struct PatchLists<'a> {
    partition: &'a Partition,
    members: Members,
    further: NodeLists,
    landmarks: Vec<NodeId>,
}

impl<'a> PatchLists<'a> {
    /// Patches that grew from clusters; `further` are the nodes that each took from others, ascending.
    pub(super) fn new(partition: &'a Partition, members: Members, further: NodeLists) -> Self {
        Self { partition, members, further, landmarks: Vec::new() }
    }

    /// Puts nodes, ascending, into every patch.
    pub(super) fn set_landmarks(&mut self, landmarks: Vec<NodeId>) {
        self.landmarks = landmarks;
    }

    pub(super) fn num_patches(&self) -> usize {
        self.partition.num_clusters()
    }

    pub(super) fn partition(&self) -> &'a Partition {
        self.partition
    }

    /// The cluster of each node.
    pub(super) fn homes(&self) -> &'a [u32] {
        self.partition.clusters()
    }

    pub(super) fn members(&self) -> &Members {
        &self.members
    }

    /// The nodes of each patch that are not of its cluster, but for landmarks.
    pub(super) fn further(&self) -> &NodeLists {
        &self.further
    }

    pub(super) fn landmarks(&self) -> &[NodeId] {
        &self.landmarks
    }

    /// Adds nodes to patches: for each patch some that are not there yet, ascending.
    pub(super) fn add(&mut self, guests: &NodeLists) {
        let mut both = NodeLists::new(self.partition.num_nodes());
        both.reserve(self.further.num_entries() + guests.num_entries());
        for (nodes, guests) in self.further.iter().zip(guests.iter()) {
            let mut list: Vec<NodeId> = nodes.chain(guests).collect();
            // Two ascending runs, which the stable sort merges.
            list.sort();
            both.push(list);
        }
        self.further = both;
    }

    /// The nodes of one patch, ascending.
    pub(super) fn nodes_of(&self, patch: usize) -> Vec<NodeId> {
        let own = self.members.of(patch as u32);
        let mut nodes = Vec::with_capacity(own.len() + self.further.list(patch).len() + self.landmarks.len());
        nodes.extend(own.chain(self.further.list(patch)));
        nodes.extend_from_slice(&self.landmarks);
        // Ascending runs, which the stable sort merges. Landmarks may be there already.
        nodes.sort();
        nodes.dedup();
        nodes
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Lists of nodes of a graph with so many, as written down.
    pub(in crate::patch) fn node_lists(num_nodes: usize, lists: &[&[u64]]) -> NodeLists {
        let mut made = NodeLists::new(num_nodes);
        for list in lists {
            made.push(list.iter().copied().map(NodeId));
        }
        made
    }

    #[test]
    fn a_patch_is_its_cluster_with_guests_and_landmarks() {
        let partition = Partition::from_labels(vec![0, 1, 0, 1, 2]);
        let further = node_lists(5, &[&[4], &[], &[]]);
        let mut lists = PatchLists::new(&partition, partition.members(), further);
        lists.add(&node_lists(5, &[&[1], &[], &[0, 3]]));
        lists.set_landmarks(vec![NodeId(2), NodeId(3)]);
        let nodes = |patch| lists.nodes_of(patch).iter().map(|node| node.0).collect::<Vec<_>>();
        assert_eq!([nodes(0), nodes(1), nodes(2)], [vec![0, 1, 2, 3, 4], vec![1, 2, 3], vec![0, 2, 3, 4]]);
    }
}
