//! How large the graph is that is partitioned.

use crate::graph::{Graph, NodeId};

/// The counts on which the memory of a partitioner depends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartitionSize {
    /// The number of nodes.
    pub nodes: usize,
    /// The number of entries of all rows, every edge in both directions.
    pub entries: usize,
    /// Whether the graph has to be made undirected first.
    pub directed: bool,
    /// The share of pairs of neighbours that are neighbours of each other, of some nodes.
    pub clustering: f64,
}

/// So many nodes are looked at, and so many pairs of neighbours of each.
const SAMPLED_NODES: usize = 500;
const SAMPLED_PAIRS: usize = 8;

impl PartitionSize {
    /// The size of a graph.
    pub fn of(graph: &Graph) -> Self {
        let both_ways = if graph.is_symmetric() { 1 } else { 2 };
        Self {
            nodes: graph.num_nodes(),
            entries: both_ways * graph.num_directed_edges(),
            directed: !graph.is_symmetric(),
            clustering: clustering(graph),
        }
    }
}

/// Looks at nodes that are evenly spaced, and at pairs that follow each other in their rows.
fn clustering(graph: &Graph) -> f64 {
    let (mut closed, mut pairs) = (0, 0);
    for node in (0..graph.num_nodes()).step_by(graph.num_nodes().div_ceil(SAMPLED_NODES).max(1)) {
        let neighbors: Vec<NodeId> = graph.neighbors(NodeId::new(node)).take(SAMPLED_PAIRS + 1).collect();
        for pair in neighbors.windows(2) {
            closed += usize::from(graph.has_edge(pair[0], pair[1]));
            pairs += 1;
        }
    }
    closed as f64 / pairs.max(1) as f64
}
