//! Multilevel k-way partitioning by METIS.
//!
//! METIS contracts heavy edges until the graph is small, splits that, and refines the
//! split while it undoes the contraction. It minimises the weight of the cut edges
//! under a bound on the size of clusters. The original C code is compiled by Cargo, if the
//! feature `metis` is on; without it the method can be named, but not used.
//!
//! METIS weighs edges with integers; other weights are scaled, so that their sum uses
//! up to 30 bits and none becomes zero. It draws from the C library's generator, seeded
//! anew for each call. That generator and the signal handlers METIS installs belong to
//! the whole process, so calls wait for each other; the answer depends on the seed
//! alone, on one platform.
//!
//! Cost: `O(m)` time and memory: see [`metis_bytes`].
//!
//! Source: Karypis, Kumar, "A fast and high quality multilevel scheme for partitioning
//! irregular graphs", SIAM J. Sci. Comput. 20, 1998.

#[cfg_attr(not(feature = "metis"), path = "without.rs")]
mod call;

use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{Partition, PartitionError, PartitionTask, Partitioner};
use crate::graph::{Graph, NodeId};
use crate::seed::Stage;

/// The integers of METIS.
pub(super) type Idx = i32;

/// The settings of METIS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Metis {
    /// How much larger than the mean a cluster may become: 0.03 is 3 %.
    ///
    /// METIS treats it as a strong wish, not as a promise.
    pub imbalance: f64,
    /// How many partitions are made, of which the best is kept.
    pub attempts: usize,
}

impl Default for Metis {
    fn default() -> Self {
        Self { imbalance: 0.03, attempts: 1 }
    }
}

/// About the most memory that METIS takes beside the graph itself, in bytes.
///
/// Measured with 64 clusters (`benches/partition.rs`), in bytes an entry, nodes included: 30 on a web
/// graph with 7 entries a node, 54 on a block model and 84 on an R-MAT graph with 20 a node, where
/// contracted graphs have nearly as many edges. This is a tenth more than the worst.
pub fn metis_bytes(nodes: usize, directed_edges: usize) -> u64 {
    64 * nodes as u64 + 90 * directed_edges as u64
}

/// Whether METIS can number so many nodes and entries.
pub(super) fn can_count(nodes: usize, directed_edges: usize) -> bool {
    nodes.max(directed_edges) < Idx::MAX as usize
}

impl Partitioner for Metis {
    fn partition(&self, graph: &Graph, task: &PartitionTask<'_>) -> Result<Partition, PartitionError> {
        let &PartitionTask { num_clusters, seed, progress } = task;
        progress.begin("partition (metis)", 0, "");
        let seed = (seed.stream(Stage::Partition, 0).next_u32() >> 1) as Idx;
        let attempts = int("attempts", self.attempts.max(1))?;
        let clusters =
            MetisGraph::of(graph)?.split(num_clusters, seed, attempts, thousandths(self.imbalance)?)?;
        progress.end();
        Ok(Partition::from_labels(clusters.into_iter().map(|cluster| cluster as u32).collect()))
    }
}

/// An imbalance as METIS counts it.
pub(super) fn thousandths(imbalance: f64) -> Result<Idx, PartitionError> {
    let (key, needed) = ("imbalance", "between 0.001 and 1000");
    match imbalance {
        0.001..=1000.0 => Ok((imbalance * 1000.0).round() as Idx),
        found => Err(PartitionError::Setting { key, found: found.to_string(), needed }),
    }
}

fn int(key: &'static str, value: usize) -> Result<Idx, PartitionError> {
    let needed = "below 2147483648";
    Idx::try_from(value).map_err(|_| PartitionError::Setting { key, found: value.to_string(), needed })
}

/// A graph as METIS reads it: 32-bit rows without loops, integer weights.
#[cfg_attr(not(feature = "metis"), expect(dead_code, reason = "only METIS reads it"))]
pub(super) struct MetisGraph {
    pub(super) offsets: Vec<Idx>,
    pub(super) targets: Vec<Idx>,
    pub(super) weights: Option<Vec<Idx>>,
    /// What each node counts in the size of its cluster; none for one each.
    pub(super) node_weights: Option<Vec<Idx>>,
}

impl MetisGraph {
    fn of(graph: &Graph) -> Result<Self, PartitionError> {
        let entries = graph.num_directed_edges();
        for (what, found) in [("stored edges", entries), ("nodes", graph.num_nodes())] {
            if found >= Idx::MAX as usize {
                return Err(PartitionError::TooLarge {
                    method: "metis",
                    what,
                    found,
                    limit: Idx::MAX as u32,
                });
            }
        }
        let mut offsets = Vec::with_capacity(graph.num_nodes() + 1);
        let mut targets = Vec::with_capacity(entries);
        offsets.push(0);
        for node in graph.nodes() {
            targets.extend(graph.neighbors(node).filter(|&to| to != node).map(|to| to.0 as Idx));
            offsets.push(targets.len() as Idx);
        }
        let weights = graph.weights().map(|_| integer_weights(graph));
        Ok(Self { offsets, targets, weights, node_weights: None })
    }
}

/// The weights of all edges but loops, as integers of at least one.
fn integer_weights(graph: &Graph) -> Vec<Idx> {
    let row = |node: NodeId| {
        let weights = graph.neighbor_weights(node).unwrap_or_default();
        graph.neighbors(node).zip(weights).filter(move |&(to, _)| to != node).map(|(_, &weight)| weight)
    };
    whole_weights(graph.nodes().flat_map(row), LARGEST_SUM)
}

/// The largest sum of weights that METIS is given: it counts with 32 bits.
pub(super) const LARGEST_SUM: f64 = (1 << 30) as f64;

/// Weights as integers of at least one, scaled to a sum of `limit` unless they are small whole numbers
/// already.
pub(super) fn whole_weights(weights: impl Iterator<Item = f32>, limit: f64) -> Vec<Idx> {
    let weights: Vec<f32> = weights.collect();
    let total: f64 = weights.iter().copied().map(f64::from).sum();
    let whole = weights.iter().all(|weight| weight.fract() == 0.0);
    let scale = if whole && total <= limit { 1.0 } else { (limit - weights.len() as f64).max(1.0) / total };
    weights.iter().map(|&weight| ((f64::from(weight) * scale).round() as Idx).max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::edge_list::EdgeChunk;
    use crate::graph::{BuildOptions, EdgeList, build};
    use crate::seed::Seed;

    fn weighted(edges: &[(u32, u32, f32)], num_nodes: usize) -> Graph {
        let mut list = EdgeList::new();
        let pairs = edges.iter().map(|&(a, b, _)| [a, b]).collect();
        list.push(EdgeChunk { pairs, weights: edges.iter().map(|edge| edge.2).collect() });
        build(list, num_nodes, &BuildOptions { self_loops: true, ..Default::default() }).graph
    }

    #[cfg(feature = "metis")]
    #[test]
    fn heavy_edges_are_not_cut() {
        // A ring of eight nodes in which every second edge is heavy.
        let edges: Vec<_> =
            (0..8_u32).map(|i| (i, (i + 1) % 8, if i % 2 == 0 { 50.5 } else { 0.5 })).collect();
        let partition =
            Metis::default().partition(&weighted(&edges, 8), &PartitionTask::silent(4, Seed(3))).unwrap();
        assert_eq!(partition.num_clusters(), 4);
        for pair in 0..4 {
            assert_eq!(partition.clusters()[2 * pair], partition.clusters()[2 * pair + 1]);
        }
    }

    #[test]
    fn weights_become_integers_without_zeros() {
        let whole = weighted(&[(0, 1, 3.0), (1, 2, 700.0), (2, 2, 9.0)], 3);
        assert_eq!(integer_weights(&whole), [3, 3, 700, 700]);
        let mixed = integer_weights(&weighted(&[(0, 1, 1e-20), (1, 2, 1.5), (0, 2, 3.0)], 3));
        assert!(mixed.contains(&1) && mixed.iter().map(|&w| i64::from(w)).sum::<i64>() <= 1 << 30);
    }

    #[test]
    fn an_impossible_imbalance_is_refused() {
        let metis = Metis { imbalance: -1.0, ..Default::default() };
        let error =
            metis.partition(&weighted(&[(0, 1, 1.0)], 2), &PartitionTask::silent(2, Seed(1))).unwrap_err();
        assert_eq!(error.to_string(), "setting `partition.imbalance` is -1; needed between 0.001 and 1000");
    }
}
