//! Some nodes -> the graph they induce, renumbered.
//!
//! Node `k` of the subgraph is the `k`-th of the given nodes; edges between given
//! nodes stay, with weights, features, labels and names. Cost: one look-up for each
//! entry in the rows of the given nodes.

use rustc_hash::FxHashMap;

use super::{Graph, NodeId, NodeIndex};

/// Where each node of the whole graph went, if anywhere.
pub enum Renumbering {
    /// For large subgraphs: an entry for every node of the whole graph.
    Table(Vec<u32>),
    /// For small ones: an entry for the nodes that stay. Looked up, never iterated.
    Map(FxHashMap<u64, u32>),
}

/// Marks a node that is not in the subgraph.
const ABSENT: u32 = u32::MAX;

impl Renumbering {
    /// Numbers distinct nodes, fewer than 2³² of them, in their order.
    pub fn new(nodes: &[NodeId], num_nodes: usize) -> Self {
        let numbered = nodes.iter().zip(0_u32..);
        if nodes.len() < num_nodes / 16 {
            return Self::Map(numbered.map(|(node, number)| (node.0, number)).collect());
        }
        let mut table = vec![ABSENT; num_nodes];
        numbered.for_each(|(node, number)| table[node.index()] = number);
        Self::Table(table)
    }

    /// The number of a node, if it has one.
    #[inline]
    pub fn get(&self, node: NodeId) -> Option<u32> {
        match self {
            Self::Table(table) => Some(table[node.index()]).filter(|&number| number != ABSENT),
            Self::Map(map) => map.get(&node.0).copied(),
        }
    }
}

impl Graph {
    /// The graph that some nodes induce, renumbered in their order.
    ///
    /// # Panics
    /// If the nodes are not strictly ascending, do not exist, or are 2³² or more.
    ///
    /// # Examples
    /// ```
    /// use l2g_graph::graph::{BuildOptions, EdgeList, NodeId, build};
    ///
    /// let edges = EdgeList::from_pairs(vec![[0_u32, 1], [1, 2], [2, 3]]);
    /// let path = build(edges, 4, &BuildOptions::default()).graph;
    /// let part = path.subgraph(&[NodeId(0), NodeId(2), NodeId(3)]);
    /// assert_eq!(part.num_edges(), 1);
    /// assert!(part.has_edge(NodeId(1), NodeId(2)));
    /// assert_eq!(part.ids().get(NodeId(2)).to_string(), "3");
    /// ```
    pub fn subgraph(&self, nodes: &[NodeId]) -> Self {
        assert!(nodes.is_sorted_by(|a, b| a < b), "nodes of a subgraph must be strictly ascending");
        assert!(nodes.len() < ABSENT as usize, "a subgraph has fewer than 2^32 nodes");
        self.topology_of(nodes)
            .and_then(|part| part.with_ids(self.ids.select(nodes)))
            .and_then(|part| part.with_features(self.features.as_ref().map(|all| all.select(nodes))))
            .and_then(|part| part.with_labels(self.labels.as_ref().map(|all| all.select(nodes))))
            .expect("everything was selected for these nodes")
    }

    /// The edges and weights between some nodes, ascending, without names, features and labels.
    pub fn topology_of(&self, nodes: &[NodeId]) -> Result<Self, super::GraphError> {
        let renumbering = Renumbering::new(nodes, self.num_nodes());
        let mut offsets = Vec::with_capacity(nodes.len() + 1);
        offsets.push(0);
        let mut targets: Vec<u32> = Vec::new();
        let mut weights = self.weights.as_ref().map(|_| Vec::new());
        for &node in nodes {
            let kept = self.neighbors(node).map(|neighbor| renumbering.get(neighbor));
            // Given nodes ascend, so renumbered rows stay ascending.
            match (&mut weights, self.neighbor_weights(node)) {
                (Some(weights), Some(row)) => {
                    for (target, &weight) in kept.zip(row).filter_map(|(target, w)| Some((target?, w))) {
                        targets.push(target);
                        weights.push(weight);
                    }
                }
                _ => targets.extend(kept.flatten()),
            }
            offsets.push(targets.len() as u64);
        }
        targets.shrink_to_fit();
        Graph::from_rows_unchecked(offsets.into(), u32::into_targets(targets), self.symmetric)?
            .with_weights(weights.map(Into::into))
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::graph::edge_list::EdgeChunk;
    use crate::graph::features::DenseFeatures;
    use crate::graph::{BuildOptions, EdgeList, Features, Labels, build};
    use crate::seed::{Seed, Stage};

    fn random_graph(num_nodes: usize, num_edges: usize) -> Graph {
        let mut random = Seed(5).stream(Stage::Generate, 0);
        let mut node = || random.random_range(0..num_nodes as u32);
        let pairs: Vec<[u32; 2]> = (0..num_edges).map(|_| [node(), node()]).collect();
        let weights = pairs.iter().map(|pair| (pair[0] + pair[1]) as f32 + 0.5).collect();
        let mut list = EdgeList::new();
        list.push(EdgeChunk { pairs, weights });
        let ramp: Vec<f32> = (0..num_nodes).map(|node| node as f32).collect();
        build(list, num_nodes, &BuildOptions::default())
            .graph
            .with_features(Some(Features::Dense(DenseFeatures::new(num_nodes, 1, ramp.into()).unwrap())))
            .unwrap()
            .with_labels(Some(Labels::single((0..num_nodes as i32).collect::<Vec<_>>().into(), vec![])))
            .unwrap()
    }

    #[test]
    fn edges_weights_and_attachments_follow_their_nodes() {
        let graph = random_graph(300, 3000);
        // A small and a large part, to use the map and the table.
        for step in [40, 2] {
            let nodes: Vec<NodeId> = (0..300).step_by(step).map(NodeId::new).collect();
            let part = graph.subgraph(&nodes);
            part.check_rows().unwrap();
            for a in part.nodes() {
                for b in part.nodes() {
                    let (a_before, b_before) = (nodes[a.index()], nodes[b.index()]);
                    assert_eq!(part.has_edge(a, b), graph.has_edge(a_before, b_before));
                }
                assert_eq!(part.features().unwrap().values()[a.index()], nodes[a.index()].0 as f32);
                assert_eq!(part.ids().get(a).to_string(), nodes[a.index()].to_string());
            }
            let first = NodeId(0);
            let weights = part.neighbor_weights(first).unwrap();
            for (neighbor, &weight) in part.neighbors(first).zip(weights) {
                let kept = graph.neighbors(nodes[0]).position(|n| n == nodes[neighbor.index()]).unwrap();
                assert_eq!(weight, graph.neighbor_weights(nodes[0]).unwrap()[kept]);
            }
        }
    }

    #[test]
    fn all_nodes_give_the_same_graph() {
        let graph = random_graph(50, 200);
        let part = graph.subgraph(&graph.nodes().collect::<Vec<_>>());
        assert_eq!(part.targets(), graph.targets());
        assert_eq!(part.weights(), graph.weights());
    }

    #[test]
    #[should_panic(expected = "strictly ascending")]
    fn unsorted_nodes_are_refused() {
        random_graph(10, 20).subgraph(&[NodeId(3), NodeId(1)]);
    }
}
