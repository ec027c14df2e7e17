//! Connected components.
//!
//! Direction is ignored, so a directed graph is split into its weakly connected components. Cost:
//! nearly `O(m)` time, 4 or 8 bytes a node, by union-find.

use super::id_set::{IdSet, Ranks};
use super::{Graph, NodeId};
use crate::disjoint_sets::{DisjointSets, SetIndex};

/// The components of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Components {
    /// The component of each node, numbered by first appearance.
    labels: Vec<u32>,
    /// The number of nodes of each component.
    sizes: Vec<usize>,
}

impl Components {
    /// Finds the connected components of a graph.
    ///
    /// # Panics
    /// If there are more than 2³² components.
    ///
    /// # Examples
    /// ```
    /// use l2g_graph::graph::{BuildOptions, EdgeList, build, component::Components};
    ///
    /// let edges = EdgeList::from_pairs(vec![[0_u32, 1], [2, 3], [3, 4]]);
    /// let graph = build(edges, 6, &BuildOptions::default()).graph;
    /// let components = Components::of(&graph);
    /// assert_eq!(components.sizes(), [2, 3, 1]);
    /// assert_eq!(components.largest(), 1);
    /// ```
    pub fn of(graph: &Graph) -> Self {
        match u32::try_from(graph.num_nodes()) {
            Ok(_) => Self::find::<u32>(graph),
            Err(_) => Self::find::<u64>(graph),
        }
    }

    fn find<I: SetIndex>(graph: &Graph) -> Self {
        let mut sets = DisjointSets::<I>::new(graph.num_nodes());
        for node in graph.nodes() {
            for neighbor in graph.neighbors(node) {
                // In a symmetric graph the other half of the rows adds nothing.
                if neighbor < node || !graph.is_symmetric() {
                    sets.join(node.index(), neighbor.index());
                }
            }
        }
        let (labels, sizes) = sets.into_labels();
        Self { labels, sizes }
    }

    /// The number of components.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether there are no nodes at all.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// The number of nodes of each component.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The component of each node.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// The component with the most nodes; the first of several.
    ///
    /// # Panics
    /// If there are no nodes.
    pub fn largest(&self) -> u32 {
        let largest = *self.sizes.iter().max().expect("a graph with nodes has a component");
        self.sizes.iter().position(|&size| size == largest).expect("the largest is among them") as u32
    }

    /// The nodes of the largest component, as a set.
    pub(crate) fn into_largest(self) -> Ranks {
        let largest = self.largest();
        let mut nodes = IdSet::default();
        let labels = self.labels.iter().enumerate();
        labels.filter(|&(_, &label)| label == largest).for_each(|(node, _)| nodes.insert(node));
        drop(self.labels);
        nodes.into_ranks()
    }

    /// The nodes of one component, ascending.
    pub fn nodes_of(&self, component: u32) -> Vec<NodeId> {
        let nodes = self.labels.iter().enumerate();
        nodes.filter(|&(_, &label)| label == component).map(|(node, _)| NodeId::new(node)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::builder::graph_of as graph;

    #[test]
    fn isolated_nodes_are_components() {
        let components = Components::of(&graph(&[[1, 3]], 4, true));
        assert_eq!(components.labels(), [0, 1, 2, 1]);
        assert_eq!(components.nodes_of(components.largest()), [NodeId(1), NodeId(3)]);
    }

    #[test]
    fn direction_is_ignored() {
        assert_eq!(Components::of(&graph(&[[2, 0], [2, 1]], 3, false)).len(), 1);
        assert_eq!(Components::of(&graph(&[[0, 2], [1, 2]], 3, false)).len(), 1);
    }

    #[test]
    fn the_first_of_equal_components_is_the_largest() {
        assert_eq!(Components::of(&graph(&[[0, 3], [1, 2]], 4, true)).largest(), 0);
    }

    #[test]
    fn wide_rows_give_the_same_components() {
        let graph = graph(&[[1, 3], [0, 4], [4, 1]], 6, true);
        assert_eq!(Components::find::<u64>(&graph), Components::find::<u32>(&graph));
    }

    #[test]
    fn a_long_path_is_one_component() {
        let edges: Vec<[u32; 2]> = (1..100_000).rev().map(|node| [node - 1, node]).collect();
        assert_eq!(Components::of(&graph(&edges, 100_000, true)).len(), 1);
    }
}
