//! One patch cut out of the graph, with all that its training may read.
//!
//! A method that reads whole rows sees edges that lead out of the patch. Nodes at their other ends
//! have no rows here; they are there to be counted, and for their clusters. All nodes keep their order, so
//! rows stay ascending and every sum is made in the order in which it is made in the whole graph.

use crate::embed::memory::PatchSize;
use crate::embed::schedule::Place;
use crate::graph::subgraph::Renumbering;
use crate::graph::{Features, Graph, GraphError, NodeId};

/// One patch cut out of the graph.
#[derive(Debug)]
pub(super) struct Part {
    /// Its nodes in the whole graph.
    pub(super) nodes: Vec<NodeId>,
    /// The graph that they induce, with features.
    pub(super) graph: Graph,
    /// For methods that read whole rows.
    pub(super) surroundings: Option<Surroundings>,
}

/// The rows of a patch with the edges that lead out of it.
#[derive(Debug)]
pub(super) struct Surroundings {
    /// The nodes of the patch and those that its rows name, renumbered; without features.
    pub(super) rows: Graph,
    /// Where the rows of the patch are.
    pub(super) places: Vec<NodeId>,
    /// For walks: the cluster of each node.
    pub(super) clusters: Vec<u32>,
}

impl Part {
    /// A patch without edges that lead out of it.
    pub(super) fn alone(graph: &Graph, nodes: &[NodeId]) -> Result<Self, GraphError> {
        let part = graph.topology_of(nodes)?.with_features(features_of(graph, nodes))?;
        Ok(Self { nodes: nodes.to_vec(), graph: part, surroundings: None })
    }

    /// A patch with whole rows; `clusters` are those of all nodes of the graph, if it has been sent some.
    pub(super) fn surrounded(
        graph: &Graph,
        nodes: &[NodeId],
        clusters: Option<&[u32]>,
    ) -> Result<Self, GraphError> {
        let mut named: Vec<NodeId> = nodes.to_vec();
        nodes.iter().for_each(|&node| named.extend(graph.neighbors(node)));
        named.sort_unstable();
        named.dedup();
        let numbers = Renumbering::new(&named, graph.num_nodes());
        let places = nodes.iter().filter_map(|&node| numbers.get(node)).map(|place| NodeId(place.into()));
        let clusters = clusters.map(|all| named.iter().map(|node| all[node.index()]).collect());
        let surroundings = Surroundings {
            places: places.collect(),
            rows: whole_rows(graph, nodes, &named, &numbers)?,
            clusters: clusters.unwrap_or_default(),
        };
        Self::of_surroundings(nodes.to_vec(), surroundings, features_of(graph, nodes))
    }

    /// A patch whose surroundings and features are there.
    pub(super) fn of_surroundings(
        nodes: Vec<NodeId>,
        surroundings: Surroundings,
        features: Option<Features>,
    ) -> Result<Self, GraphError> {
        let graph = surroundings.rows.topology_of(&surroundings.places)?.with_features(features)?;
        Ok(Self { nodes, graph, surroundings: Some(surroundings) })
    }

    /// Where the patch lies, for training.
    pub(super) fn place<'a>(&'a self, all: &'a [NodeId]) -> Place<'a> {
        let (rows, whole) = match &self.surroundings {
            Some(around) => (&around.places[..], &around.rows),
            None => (&all[..self.nodes.len()], &self.graph),
        };
        Place { nodes: &self.nodes, rows, whole, part: Some(&self.graph) }
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> u64 {
        let rows = |graph: &Graph| 8 * graph.num_nodes() as u64 + 8 * graph.num_directed_edges() as u64;
        let around = self.surroundings.as_ref().map_or(0, |around| {
            rows(&around.rows) + 8 * around.places.len() as u64 + 4 * around.clusters.len() as u64
        });
        PatchSize::of_graph(&self.graph).graph_bytes() + rows(&self.graph) + around
    }

    /// The clusters of the nodes that its rows name; none if no walks were sent.
    pub(super) fn clusters(&self) -> &[u32] {
        self.surroundings.as_ref().map_or(&[], |around| &around.clusters)
    }
}

fn features_of(graph: &Graph, nodes: &[NodeId]) -> Option<Features> {
    graph.features().map(|all| all.select(nodes))
}

/// The rows of `nodes` over the nodes that they name; rows of the others are empty.
fn whole_rows(
    graph: &Graph,
    nodes: &[NodeId],
    named: &[NodeId],
    numbers: &Renumbering,
) -> Result<Graph, GraphError> {
    let mut offsets: Vec<u64> = Vec::with_capacity(named.len() + 1);
    offsets.push(0);
    let mut targets: Vec<u32> = Vec::new();
    let mut weights = graph.weights().map(|_| Vec::new());
    let mut own = nodes.iter().peekable();
    for node in named {
        if own.next_if_eq(&node).is_some() {
            targets.extend(graph.neighbors(*node).filter_map(|neighbor| numbers.get(neighbor)));
            if let (Some(weights), Some(row)) = (&mut weights, graph.neighbor_weights(*node)) {
                weights.extend_from_slice(row);
            }
        }
        offsets.push(targets.len() as u64);
    }
    Graph::from_rows(offsets.into(), targets.into(), graph.is_symmetric())?
        .with_weights(weights.map(Into::into))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path 0 - 1 - 2 - 3 - 4 - 5 with weights that tell edges apart.
    fn path() -> Graph {
        let offsets = vec![0, 1, 3, 5, 7, 9, 10];
        let targets = vec![1_u32, 0, 2, 1, 3, 2, 4, 3, 5, 4];
        let weights = vec![1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0];
        Graph::from_rows(offsets.into(), targets.into(), true)
            .and_then(|graph| graph.with_weights(Some(weights.into())))
            .unwrap()
    }

    #[test]
    fn rows_name_the_same_nodes_by_smaller_numbers() {
        let nodes = [NodeId(3), NodeId(4)];
        let part = Part::surrounded(&path(), &nodes, Some(&[7, 7, 8, 8, 9, 9])).unwrap();
        let around = part.surroundings.as_ref().unwrap();
        assert_eq!(around.places, [NodeId(1), NodeId(2)]);
        assert_eq!(around.clusters, [8, 8, 9, 9]);
        assert!(around.rows.neighbors(NodeId(1)).eq([NodeId(0), NodeId(2)]));
        assert_eq!(around.rows.neighbor_weights(NodeId(2)), Some(&[4.0, 5.0][..]));
        assert_eq!(around.rows.degree(NodeId(0)), 0);
        assert_eq!((part.graph.num_nodes(), part.graph.num_edges()), (2, 1));
    }

    #[test]
    fn a_patch_alone_is_the_graph_that_its_nodes_induce() {
        let nodes = [NodeId(0), NodeId(1), NodeId(3)];
        let part = Part::alone(&path(), &nodes).unwrap();
        assert_eq!(part.graph, path().subgraph(&nodes).with_ids(part.graph.ids().clone()).unwrap());
        let all: Vec<NodeId> = (0..3).map(NodeId::new).collect();
        assert_eq!(part.place(&all).rows, &all[..]);
    }
}
