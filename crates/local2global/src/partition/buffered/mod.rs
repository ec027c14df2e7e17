//! Clusters as good as METIS's in a tenth of its memory: passes over the graph, and a buffer.
//!
//! METIS holds the graph several times over. Here the graph is only read, row after row, and what
//! is partitioned in memory is a graph of groups of nodes, as small as the buffer demands:
//!
//! ```text
//! graph --label propagation--> groups --one pass--> graph of groups --METIS--> clusters --passes--> clusters
//!       (groups.rs)                   (sketch.rs)                                       (refine.rs)
//! ```
//!
//! 1. Groups of at most `n / 16k` nodes form by size-constrained label propagation: three times,
//!    every node joins the group around it that it has most edges into.
//! 2. The edges between groups are added up. If there are more pairs than fit into the buffer,
//!    light ones are sampled such that every cut keeps its weight in expectation.
//! 3. METIS splits the groups into `k` clusters of about equal numbers of nodes.
//! 4. In further passes every node goes to the cluster that holds most of its neighbours, as
//!    long as no cluster exceeds `limit = max(⌊load_limit n/k⌋, ⌈n/k⌉)` nodes. The limit is hard.
//!
//! Groups see the whole graph, so the order of nodes matters little; a method that partitions one
//! buffer of nodes after the other sees hardly an edge inside a buffer if nodes come in random order.
//!
//! Cost: `O(n + m)` time, 12 bytes a node and some 80 an edge of the buffer in memory; the graph may
//! be larger than memory. One thread; the answer depends on the seed alone, as METIS's does.
//! `benches/partition.rs` compares cut, time and memory with METIS's.
//!
//! Sources: Akhremtsev, Sanders, Schulz, "(Semi-)external algorithms for graph partitioning and
//! clustering", ALENEX 2015; Duffield, Lund, Thorup, "Priority sampling for estimation of
//! arbitrary subset sums", J. ACM 54, 2007, for sampling by a threshold.

mod groups;

mod refine;

mod sketch;

mod tally;

use rand::Rng;
use serde::{Deserialize, Serialize};

use self::groups::Groups;
use self::refine::Refinement;
use self::sketch::Sketch;
use super::metis::{MetisGraph, thousandths};
use super::rows::{GraphRows, Steps};
use super::{Partition, PartitionError, PartitionTask, Partitioner};
use crate::graph::{Graph, NodeIndex, Targets};
use crate::memory::Need;
use crate::seed::Stage;

/// Groups are so small that a cluster of mean size holds this many or more.
const GROUPS_PER_CLUSTER: usize = 16;

/// How often all nodes choose a group.
const ROUNDS: usize = 3;

/// How often all nodes choose a cluster, at most.
const PASSES: usize = 10;

/// The share of edges that fits into the buffer, unless it is set.
const USUAL_SHARE: usize = 8;

/// The bounds of the buffer in edges, unless it is set: METIS holds some 10 MB, or some 4 GB.
const USUAL_BUFFER: [usize; 2] = [1 << 16, 1 << 25];

/// About the bytes that an edge of the buffer takes at the peak, METIS included.
const BUFFER_EDGE_BYTES: u64 = 128;

/// The bytes that it usually takes.
const USUAL_EDGE_BYTES: u64 = 80;

/// The bytes that a node takes.
const NODE_BYTES: u64 = 12;

/// How unevenly METIS may split groups; the passes after it use what is left up to the limit.
const IMBALANCE: f64 = 0.03;

/// What METIS counts up to, with a margin for sums.
const MOST: usize = 1 << 30;

/// The settings of partitioning in passes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Buffered {
    /// How much larger than the mean a cluster may become: 1.1 is 10 %.
    pub load_limit: f64,
    /// How many edges between groups are held in memory; by default an eighth of all edges, but
    /// at least 65,536 and at most 33,554,432.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<usize>,
}

impl Default for Buffered {
    fn default() -> Self {
        Self { load_limit: 1.1, buffer: None }
    }
}

impl Partitioner for Buffered {
    fn partition(&self, graph: &Graph, task: &PartitionTask<'_>) -> Result<Partition, PartitionError> {
        self.check()?;
        fits("nodes", graph.num_nodes(), u32::MAX)?;
        let clusters = match graph.targets() {
            Targets::Narrow(targets) => self.clusters(&GraphRows::of(graph, targets), task)?,
            Targets::Wide(targets) => self.clusters(&GraphRows::of(graph, targets), task)?,
        };
        Ok(Partition::from_labels(clusters))
    }
}

impl Buffered {
    /// The usual settings for a graph with so many nodes and edges, where `limit` bytes of memory may
    /// be used: a smaller buffer if the usual one does not fit, but never below its lower bound.
    pub fn within(num_nodes: usize, num_edges: usize, limit: u64) -> Self {
        let usual = Self::default();
        let room = limit.saturating_sub(NODE_BYTES * num_nodes as u64) / BUFFER_EDGE_BYTES;
        let most = usize::try_from(room).unwrap_or(usize::MAX).max(USUAL_BUFFER[0]);
        match usual.capacity(num_edges) <= most {
            true => usual,
            false => Self { buffer: Some(most), ..usual },
        }
    }

    /// About how many bytes a graph with so many nodes and edges takes, and at most.
    pub(super) fn memory_need(&self, num_nodes: usize, num_edges: usize) -> Need {
        let edges = self.capacity(num_edges).min(num_edges) as u64;
        let need = Need { about: USUAL_EDGE_BYTES * edges, most: BUFFER_EDGE_BYTES * edges };
        need.plus(NODE_BYTES * num_nodes as u64)
    }

    fn check(&self) -> Result<(), PartitionError> {
        let wrong = |key, found: String, needed| Err(PartitionError::Setting { key, found, needed });
        match *self {
            Self { load_limit, .. } if load_limit.is_nan() || load_limit < 1.0 => {
                wrong("load_limit", load_limit.to_string(), "at least 1")
            }
            Self { buffer: Some(edges), .. } if !(1..=MOST / 2).contains(&edges) => {
                wrong("buffer", edges.to_string(), "between 1 and 536870912")
            }
            _ => Ok(()),
        }
    }

    /// The number of nodes that no cluster exceeds.
    pub fn limit(&self, num_nodes: usize, num_clusters: usize) -> usize {
        let soft = (self.load_limit * num_nodes as f64 / num_clusters as f64).floor() as usize;
        soft.max(num_nodes.div_ceil(num_clusters)).min(num_nodes)
    }

    /// The number of edges between groups that are held for a graph with so many edges.
    fn capacity(&self, num_edges: usize) -> usize {
        let [least, most] = USUAL_BUFFER;
        self.buffer.unwrap_or((num_edges / USUAL_SHARE).clamp(least, most))
    }

    fn clusters<I: NodeIndex>(
        &self,
        rows: &GraphRows<'_, I>,
        task: &PartitionTask<'_>,
    ) -> Result<Vec<u32>, PartitionError> {
        let &PartitionTask { num_clusters, seed, progress } = task;
        let num_nodes = rows.num_nodes();
        let mut random = seed.stream(Stage::Partition, 0);
        progress.begin("partition (buffered): groups", (ROUNDS * num_nodes) as u64, "nodes");
        let steps = Steps { num_nodes, progress };
        let group_limit = num_nodes.div_ceil(GROUPS_PER_CLUSTER * num_clusters) as u32;
        let groups = Groups::find(rows, group_limit, ROUNDS, random.next_u64(), steps)?;
        fits("groups of nodes", groups.sizes.len(), MOST as u32)?;
        progress.end();

        progress.begin("partition (buffered): graph of groups", num_nodes as u64, "nodes");
        let capacity = self.capacity(rows.num_entries() / 2);
        let sketch = Sketch::of(rows, &groups.of, capacity, random.next_u64(), steps)?;
        progress.end();

        progress.begin("partition (buffered): clusters", 0, "");
        let parts = split(sketch, &groups, num_clusters, random.next_u32() >> 1)?;
        let mut clusters = groups.of;
        clusters.iter_mut().for_each(|cluster| *cluster = parts[*cluster as usize]);
        progress.end();

        progress.begin("partition (buffered): refinement", (PASSES * num_nodes) as u64, "nodes");
        let limit = self.limit(num_nodes, num_clusters) as u32;
        let mut refinement = Refinement::new(*rows, clusters, num_clusters, limit);
        refinement.fill_empty();
        for pass in 0..PASSES {
            let moved = refinement.pass(steps)?;
            tracing::debug!(pass, moved, "refined");
            if moved <= num_nodes / 1000 {
                break;
            }
        }
        progress.end();
        Ok(refinement.into_clusters())
    }
}

fn fits(what: &'static str, found: usize, limit: u32) -> Result<(), PartitionError> {
    match found < limit as usize {
        true => Ok(()),
        false => Err(PartitionError::TooLarge { method: "buffered", what, found, limit }),
    }
}

/// The cluster of each group, by METIS.
fn split(
    sketch: Sketch,
    groups: &Groups,
    num_clusters: usize,
    seed: u32,
) -> Result<Vec<u32>, PartitionError> {
    let (offsets, targets, weights) = sketch.into_rows(groups.sizes.len());
    // Sizes add up to the number of nodes, which METIS must be able to count.
    let unit = groups.of.len().div_ceil(MOST) as u32;
    let sizes = groups.sizes.iter().map(|size| size.div_ceil(unit) as _).collect();
    let graph = MetisGraph { offsets, targets, weights: Some(weights), node_weights: Some(sizes) };
    let parts = graph.split(num_clusters, seed as _, 1, thousandths(IMBALANCE)?)?;
    Ok(parts.into_iter().map(|part| part as u32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};
    use crate::partition::ClusterGraph;
    use crate::partition::synthetic::ring_of_cliques;
    use crate::seed::Seed;

    fn run(buffered: &Buffered, graph: &Graph, num_clusters: usize) -> Partition {
        buffered.partition(graph, &PartitionTask::silent(num_clusters, Seed(1))).unwrap()
    }

    #[test]
    fn a_small_limit_makes_the_buffer_small() {
        assert_eq!(Buffered::within(1 << 20, 1 << 30, u64::MAX), Buffered::default());
        assert_eq!(Buffered::within(1 << 20, 1 << 30, (1 << 30) + (12 << 20)).buffer, Some(1 << 23));
        assert_eq!(Buffered::within(1000, 1000, 0), Buffered::default());
    }

    #[test]
    fn cliques_are_found_within_any_buffer() {
        let graph = ring_of_cliques(64, 20);
        for buffer in [None, Some(100_000), Some(500)] {
            let found = run(&Buffered { buffer, ..Default::default() }, &graph, 8);
            let cut = ClusterGraph::of(&graph, &found).cut_entries() / 2;
            // Eight edges of the ring are enough; a clique that is split costs 19 or more.
            assert!(cut <= 32, "{buffer:?}: {cut}");
        }
    }

    #[test]
    fn the_limit_holds_and_no_cluster_is_empty_for_any_settings() {
        let graph = ring_of_cliques(5, 20);
        for num_clusters in [2, 3, 7, 64, 99, 100] {
            for load_limit in [1.0, 1.03, 2.0] {
                for buffer in [1, 40, 10_000] {
                    let buffered = Buffered { load_limit, buffer: Some(buffer) };
                    let found = run(&buffered, &graph, num_clusters);
                    let largest = *found.sizes().iter().max().unwrap();
                    assert!(largest <= buffered.limit(100, num_clusters), "{num_clusters} {load_limit}");
                    assert_eq!(found.num_clusters(), num_clusters, "{load_limit} {buffer}");
                }
            }
        }
    }

    #[test]
    fn nodes_without_edges_are_spread_evenly() {
        let graph = build(EdgeList::from_pairs(vec![[0_u32, 1]]), 1000, &BuildOptions::default()).graph;
        let found = run(&Buffered::default(), &graph, 10);
        assert_eq!(found.num_clusters(), 10);
        assert!(found.balance() <= 1.1);
    }

    #[test]
    fn impossible_settings_are_refused() {
        let graph = ring_of_cliques(2, 3);
        for buffered in [
            Buffered { load_limit: f64::NAN, ..Default::default() },
            Buffered { load_limit: 0.9, ..Default::default() },
            Buffered { buffer: Some(0), ..Default::default() },
        ] {
            let error = buffered.partition(&graph, &PartitionTask::silent(2, Seed(1))).unwrap_err();
            assert!(matches!(error, PartitionError::Setting { .. }), "{error}");
        }
    }
}
