//! The small clusters in which walks end.
//!
//! The clusters of the partition stage are split further inside, each in proportion to its
//! size, so METIS need not see the whole graph again. Cost: `O(m)`.

use crate::graph::Graph;
use crate::partition::{Metis, Partition, PartitionError, Partitioner, undirected};
use crate::progress::{Progress, Silent};
use crate::seed::{Seed, Stage};

/// The most clusters that are made.
const MOST_CLUSTERS: usize = 1000;
/// The fewest nodes that a cluster has on average.
const MEAN_SIZE: usize = 5;

/// How many clusters suit a graph: 1000, or fewer if that leaves less than five nodes each.
pub fn usual_clusters(num_nodes: usize) -> usize {
    (num_nodes / MEAN_SIZE).clamp(2, MOST_CLUSTERS).min(num_nodes.max(1))
}

/// Splits a graph into about `num_clusters` clusters, each within one of the given clusters if
/// there are any. Given clusters are never joined: if there are more, they stay as they are.
///
/// # Errors
/// [`PartitionError`] if METIS fails, or somebody asks to stop.
pub fn fine_clusters(
    graph: &Graph,
    given: Option<&Partition>,
    num_clusters: usize,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Partition, PartitionError> {
    let num_nodes = graph.num_nodes();
    let whole = Partition::whole(num_nodes);
    let given = given.unwrap_or(&whole);
    if given.num_clusters() >= num_clusters {
        return Ok(given.clone());
    }
    let graph = &*undirected(graph);
    let members = given.members();
    let mut labels = vec![0; num_nodes];
    let mut next = 0;
    let share = num_clusters as f64 / num_nodes as f64;
    let mut nodes_before = 0;
    for cluster in 0..given.num_clusters() as u32 {
        if progress.is_cancelled() {
            return Err(PartitionError::Cancelled);
        }
        let nodes = members.of(cluster);
        // Shares are rounded along the way, so that the numbers add up to `num_clusters`.
        let rounded = |count: usize| (count as f64 * share).round() as usize;
        let wanted = rounded(nodes_before + nodes.len()) - rounded(nodes_before);
        nodes_before += nodes.len();
        let part = graph.topology_of(nodes).expect("the rows of a graph make a subgraph");
        let parts = split(&part, wanted.clamp(1, nodes.len()), seed.child(Stage::Partition, cluster.into()))?;
        for (&node, &label) in nodes.iter().zip(parts.clusters()) {
            labels[node.index()] = next + label;
        }
        next += parts.num_clusters() as u32;
    }
    Ok(Partition::from_labels(labels))
}

/// Splits a graph into at most `num_parts` clusters.
fn split(graph: &Graph, num_parts: usize, seed: Seed) -> Result<Partition, PartitionError> {
    let num_nodes = graph.num_nodes();
    if num_parts < 2 {
        return Ok(Partition::whole(num_nodes));
    }
    if graph.num_directed_edges() == 0 {
        return Ok(Partition::from_labels(
            (0..num_nodes).map(|node| (node * num_parts / num_nodes) as u32).collect(),
        ));
    }
    Metis::default().partition(graph, num_parts, seed, &Silent)
}
