//! The small clusters in which walks end.
//!
//! The clusters of the partition stage are split further inside, each in proportion to its
//! size, so METIS need not see the whole graph again. If there are about as many as wanted they
//! stay as they are, and if there are many more, neighbouring ones are joined. Cost: `O(m)`.

use crate::graph::edge_list::EdgeChunk;
use crate::graph::{BuildOptions, EdgeList, Graph, NodeId, build};
use crate::partition::{
    ClusterGraph, Metis, Partition, PartitionError, PartitionTask, Partitioner, undirected,
};
use crate::progress::Progress;
use crate::seed::{Seed, Stage};

/// The most clusters that are made.
const MOST_CLUSTERS: usize = 1000;
/// The fewest nodes that a cluster has on average.
const MEAN_SIZE: usize = 5;

/// How many clusters suit a graph: 1000, or fewer if that leaves less than five nodes each.
pub fn usual_clusters(num_nodes: usize) -> usize {
    (num_nodes / MEAN_SIZE).clamp(2, MOST_CLUSTERS).min(num_nodes.max(1))
}

/// Splits a graph into about `num_clusters` clusters, by way of given ones if there are any.
///
/// Between half and twice as many given clusters stay as they are. Fewer are split, more are joined.
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
    let graph = &*undirected(graph);
    let whole = Partition::whole(graph.num_nodes());
    let given = given.unwrap_or(&whole);
    match given.num_clusters() {
        many if many > 2 * num_clusters => join(graph, given, num_clusters, seed),
        enough if enough > 1 && 2 * enough >= num_clusters => Ok(given.clone()),
        _ => split_all(graph, given, num_clusters, seed, progress),
    }
}

/// Joins clusters that touch, so that few edges are between those that come out.
fn join(
    graph: &Graph,
    given: &Partition,
    num_clusters: usize,
    seed: Seed,
) -> Result<Partition, PartitionError> {
    let touching = ClusterGraph::of(graph, given);
    let pairs = touching.edges().iter().map(|edge| [edge.a, edge.b]).collect();
    let weights = touching.edges().iter().map(|edge| edge.cut as f32).collect();
    let mut list = EdgeList::new();
    list.push(EdgeChunk { pairs, weights });
    let clusters = build(list, given.num_clusters(), &BuildOptions::default()).graph;
    let groups = split(&clusters, num_clusters, seed)?;
    let group = |&cluster: &u32| groups.clusters()[cluster as usize];
    Ok(Partition::from_labels(given.clusters().iter().map(group).collect()))
}

/// Splits every cluster in proportion to its size.
fn split_all(
    graph: &Graph,
    given: &Partition,
    num_clusters: usize,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Partition, PartitionError> {
    let members = given.members();
    let mut labels = vec![0; graph.num_nodes()];
    // Shares are rounded along the way, so that the numbers add up to `num_clusters`.
    let share = num_clusters as f64 / graph.num_nodes() as f64;
    let rounded = |num_nodes: usize| (num_nodes as f64 * share).round() as usize;
    let (mut num_labels, mut num_nodes) = (0, 0);
    for cluster in 0..given.num_clusters() as u32 {
        if progress.is_cancelled() {
            return Err(PartitionError::Cancelled);
        }
        let nodes: Vec<NodeId> = members.of(cluster).collect();
        let wanted = rounded(num_nodes + nodes.len()) - rounded(num_nodes);
        num_nodes += nodes.len();
        let part = graph.topology_of(&nodes).expect("the rows of a graph make a subgraph");
        let parts = split(&part, wanted.clamp(1, nodes.len()), seed.child(Stage::Partition, cluster.into()))?;
        for (&node, &label) in nodes.iter().zip(parts.clusters()) {
            labels[node.index()] = num_labels + label;
        }
        num_labels += parts.num_clusters() as u32;
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
    Metis::default().partition(graph, &PartitionTask::silent(num_parts, seed))
}
