//! Many lists of nodes in one piece: 4 bytes a node, or 8 where there are more than 2³² nodes.
//!
//! A vector of vectors would take 8 bytes a node and 24 a list, and a visit to the allocator for
//! each. Cost: 8 bytes a list besides its nodes.

use super::{Neighbors, NodeId, NodeIndex};
use crate::grouping::group_offsets;

/// Lists of nodes, one after the other.
///
/// # Examples
/// ```
/// use l2g_graph::graph::{NodeId, NodeLists};
///
/// let mut lists = NodeLists::new(10);
/// lists.push([NodeId(3), NodeId(9)]);
/// lists.push([]);
/// assert!(lists.list(0).eq([NodeId(3), NodeId(9)]));
/// assert_eq!((lists.len(), lists.num_entries(), lists.list(1).len()), (2, 2, 0));
/// ```
#[derive(Clone, Debug)]
pub struct NodeLists {
    offsets: Vec<usize>,
    nodes: Packed,
}

/// Nodes in as many bytes as they need.
#[derive(Clone, Debug)]
enum Packed {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl NodeLists {
    /// No lists yet, of the nodes of a graph that has `num_nodes`.
    pub fn new(num_nodes: usize) -> Self {
        let nodes = match is_narrow(num_nodes) {
            true => Packed::Narrow(Vec::new()),
            false => Packed::Wide(Vec::new()),
        };
        Self { offsets: vec![0], nodes }
    }

    /// Keeps memory for so many more nodes.
    pub fn reserve(&mut self, num_entries: usize) {
        match &mut self.nodes {
            Packed::Narrow(nodes) => nodes.reserve_exact(num_entries),
            Packed::Wide(nodes) => nodes.reserve_exact(num_entries),
        }
    }

    /// The nodes of each group, ascending; `groups` has the group of every node.
    ///
    /// # Panics
    /// If a group is not below `num_groups`.
    pub fn by_group(num_groups: usize, groups: &[u32]) -> Self {
        let offsets = group_offsets(num_groups, groups.iter().map(|&group| group as usize));
        let nodes = match is_narrow(groups.len()) {
            true => Packed::Narrow(sorted_by_group(&offsets, groups)),
            false => Packed::Wide(sorted_by_group(&offsets, groups)),
        };
        Self { offsets, nodes }
    }

    /// Adds a list behind the others.
    pub fn push(&mut self, list: impl IntoIterator<Item = NodeId>) {
        match &mut self.nodes {
            Packed::Narrow(nodes) => nodes.extend(list.into_iter().map(|node| node.0 as u32)),
            Packed::Wide(nodes) => nodes.extend(list.into_iter().map(|node| node.0)),
        }
        self.offsets.push(self.num_entries());
    }

    /// Gives back memory that was kept for more lists.
    pub fn shrink(&mut self) {
        match &mut self.nodes {
            Packed::Narrow(nodes) => nodes.shrink_to_fit(),
            Packed::Wide(nodes) => nodes.shrink_to_fit(),
        }
    }

    /// The nodes of one list.
    pub fn list(&self, index: usize) -> Neighbors<'_> {
        let range = self.offsets[index]..self.offsets[index + 1];
        match &self.nodes {
            Packed::Narrow(nodes) => Neighbors::Narrow(nodes[range].iter()),
            Packed::Wide(nodes) => Neighbors::Wide(nodes[range].iter()),
        }
    }

    /// All lists.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Neighbors<'_>> {
        (0..self.len()).map(|index| self.list(index))
    }

    /// The number of lists.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no lists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of nodes in all lists together.
    pub fn num_entries(&self) -> usize {
        match &self.nodes {
            Packed::Narrow(nodes) => nodes.len(),
            Packed::Wide(nodes) => nodes.len(),
        }
    }

    /// The bytes that an entry takes in lists of the nodes of a graph that has `num_nodes`.
    pub fn entry_bytes(num_nodes: usize) -> u64 {
        if is_narrow(num_nodes) { 4 } else { 8 }
    }
}

fn is_narrow(num_nodes: usize) -> bool {
    u32::try_from(num_nodes).is_ok()
}

fn sorted_by_group<I: NodeIndex>(offsets: &[usize], groups: &[u32]) -> Vec<I> {
    let mut next = offsets.to_vec();
    let mut nodes = vec![I::default(); groups.len()];
    for (node, &group) in groups.iter().enumerate() {
        nodes[next[group as usize]] = I::from_index(node);
        next[group as usize] += 1;
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_listed_by_group() {
        let lists = NodeLists::by_group(3, &[2, 0, 2, 0]);
        let found: Vec<Vec<u64>> = lists.iter().map(|list| list.map(|node| node.0).collect()).collect();
        assert_eq!(found, [vec![1, 3], vec![], vec![0, 2]]);
    }

    #[test]
    fn a_graph_of_many_nodes_has_wide_lists() {
        let mut lists = NodeLists::new(1 << 33);
        lists.push([NodeId(1 << 32)]);
        assert!(lists.list(0).eq([NodeId(1 << 32)]));
        assert_eq!([1 << 20, 1 << 33].map(NodeLists::entry_bytes), [4, 8]);
    }
}
