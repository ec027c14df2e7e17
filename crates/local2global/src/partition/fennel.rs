//! Streaming partitioning: one look at each node and its neighbours.
//!
//! FENNEL puts each node into the cluster that holds most of its neighbours, minus a
//! price that rises with the size of the cluster:
//!
//! ```text
//! argmax over i of  w(v, Cᵢ) - α γ |Cᵢ|^(γ-1),    α = m k^(γ-1) / n^γ,    |Cᵢ| < limit
//! ```
//!
//! where `w(v, Cᵢ)` is the weight of the edges from `v` into cluster `i`. No cluster
//! ever holds more than `limit = max(⌊load_limit n/k⌋, ⌈n/k⌉)` nodes.
//!
//! One pass knows only the neighbours that came before. Further passes (restreaming,
//! Nishimura and Ugander 2013) take each node out again and place it anew, now with all
//! its neighbours in view, until `passes` are done or a pass moves nothing. On a block
//! model, where one pass cuts most edges, ten find the blocks (`benches/patch.rs`). A
//! refinement by label propagation without the price was tried and helped less than
//! passes of the same time.
//!
//! Cost: `O(n + m)` time a pass, `O(n + k)` memory. The graph is only read, row after row
//! in natural order, so it may be larger than memory.
//!
//! Source: Tsourakakis, Gkantsidis, Radunovic, Vojnovic, "FENNEL: streaming graph
//! partitioning for massive scale graphs", WSDM 2014.

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::cluster_sums::ClusterSums;
use super::loads::Loads;
use super::rows::GraphRows;
use super::{Partition, PartitionError, PartitionTask, Partitioner};
use crate::graph::{Graph, NodeId, NodeIndex, Targets};
use crate::progress::Progress;
use crate::seed::{Seed, Stage};

/// The settings of FENNEL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fennel {
    /// How often all nodes are placed; above 1, again in view of the last placement.
    pub passes: usize,
    /// How steeply the price of a cluster rises with its size: above 1.
    pub gamma: f64,
    /// How much larger than the mean a cluster may become: 1.1 is 10 %.
    pub load_limit: f64,
    /// The order in which nodes come.
    pub order: Order,
}

/// The order in which nodes are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// As they lie in the graph.
    #[default]
    Natural,
    /// Shuffled.
    Random,
    /// Breadth first, from the first node of each component.
    BreadthFirst,
}

impl Default for Fennel {
    fn default() -> Self {
        Self { passes: 1, gamma: 1.5, load_limit: 1.1, order: Order::Natural }
    }
}

impl Partitioner for Fennel {
    fn partition(&self, graph: &Graph, task: &PartitionTask<'_>) -> Result<Partition, PartitionError> {
        let &PartitionTask { num_clusters, seed, progress } = task;
        self.check()?;
        let order = self.order.of(graph, seed);
        let clusters = match graph.targets() {
            Targets::Narrow(targets) => self.place_all(graph, targets, num_clusters, &order, progress)?,
            Targets::Wide(targets) => self.place_all(graph, targets, num_clusters, &order, progress)?,
        };
        Ok(Partition::from_labels(clusters))
    }
}

impl Fennel {
    fn check(&self) -> Result<(), PartitionError> {
        let wrong = |key, found: String, needed| Err(PartitionError::Setting { key, found, needed });
        match self {
            Self { passes: 0, .. } => wrong("passes", "0".into(), "at least 1"),
            Self { gamma, .. } if gamma.is_nan() || *gamma <= 1.0 => {
                wrong("gamma", gamma.to_string(), "above 1")
            }
            Self { load_limit, .. } if load_limit.is_nan() || *load_limit < 1.0 => {
                wrong("load_limit", load_limit.to_string(), "at least 1")
            }
            _ => Ok(()),
        }
    }

    /// The number of nodes that no cluster exceeds.
    pub fn limit(&self, num_nodes: usize, num_clusters: usize) -> usize {
        let soft = (self.load_limit * num_nodes as f64 / num_clusters as f64).floor() as usize;
        soft.max(num_nodes.div_ceil(num_clusters)).min(num_nodes)
    }

    fn place_all<I: NodeIndex>(
        &self,
        graph: &Graph,
        targets: &[I],
        num_clusters: usize,
        order: &Sequence,
        progress: &dyn Progress,
    ) -> Result<Vec<u32>, PartitionError> {
        let rows = GraphRows::of(graph, targets);
        let limit = self.limit(graph.num_nodes(), num_clusters) as u32;
        let prices = self.prices(graph, num_clusters, limit);
        let mut stream = Stream::new(rows, num_clusters, limit);
        let total = (graph.num_nodes() * self.passes) as u64;
        progress.begin("partition (fennel)", total, "nodes");
        for pass in 0..self.passes {
            let mut moved = 0_usize;
            let again = pass > 0;
            order.for_each(graph.num_nodes(), progress, |node| {
                moved += usize::from(stream.place(node, &prices, again));
            })?;
            tracing::debug!(pass, moved, "placed all nodes");
            if moved == 0 {
                break;
            }
        }
        progress.end();
        Ok(stream.clusters)
    }

    /// The price of joining a cluster of each size up to the limit.
    fn prices(&self, graph: &Graph, num_clusters: usize, limit: u32) -> Vec<f64> {
        let nodes = graph.num_nodes() as f64;
        let entries = match graph.weights() {
            Some(weights) => weights.iter().copied().map(f64::from).sum(),
            None => graph.num_directed_edges() as f64,
        };
        let alpha = entries / 2.0 * (num_clusters as f64 / nodes).powf(self.gamma - 1.0) / nodes;
        let price = |size: u32| alpha * self.gamma * f64::from(size).powf(self.gamma - 1.0);
        (0..=limit).map(price).collect()
    }
}

/// The clusters while nodes are placed.
struct Stream<'a, I> {
    rows: GraphRows<'a, I>,
    /// The cluster of each node, or `num_clusters` as long as it has none.
    clusters: Vec<u32>,
    loads: Loads,
    limit: u32,
    /// The weight of the current node's edges into each cluster.
    sums: ClusterSums<f64>,
}

impl<'a, I: NodeIndex> Stream<'a, I> {
    fn new(rows: GraphRows<'a, I>, num_clusters: usize, limit: u32) -> Self {
        let num_nodes = rows.num_nodes();
        Self {
            rows,
            clusters: vec![num_clusters as u32; num_nodes],
            loads: Loads::new(num_clusters, limit),
            limit,
            sums: ClusterSums::new(num_clusters),
        }
    }

    /// Puts a node where the edges into the cluster minus its price are most; tells
    /// whether that is another cluster than before.
    #[inline]
    fn place(&mut self, node: usize, prices: &[f64], again: bool) -> bool {
        let before = self.clusters[node];
        if again {
            self.loads.remove(before);
        }
        self.collect(node);
        // Without neighbours there, only the smallest cluster can win.
        let mut best = self.loads.smallest();
        let mut best_score = self.sums.of(best) - prices[self.loads.size(best) as usize];
        for (cluster, sum) in self.sums.iter() {
            let size = self.loads.size(cluster);
            let score = sum - prices[size as usize];
            if score > best_score && size < self.limit {
                (best, best_score) = (cluster, score);
            }
        }
        self.sums.clear();
        self.loads.add(best);
        self.clusters[node] = best;
        best != before
    }

    /// Adds up the node's edges by cluster.
    #[inline]
    fn collect(&mut self, node: usize) {
        let no_cluster = self.loads.num_clusters() as u32;
        let Self { rows, clusters, sums, .. } = self;
        rows.for_each_neighbor(node, |neighbor, weight| {
            let cluster = clusters[neighbor];
            if cluster != no_cluster {
                sums.add(cluster, f64::from(weight));
            }
        });
    }
}

/// All nodes in the order in which they come.
enum Sequence {
    Natural,
    Listed(Vec<NodeId>),
}

impl Order {
    fn of(self, graph: &Graph, seed: Seed) -> Sequence {
        match self {
            Self::Natural => Sequence::Natural,
            Self::Random => {
                let mut nodes: Vec<NodeId> = graph.nodes().collect();
                nodes.shuffle(&mut seed.stream(Stage::Partition, 0));
                Sequence::Listed(nodes)
            }
            Self::BreadthFirst => Sequence::Listed(breadth_first(graph)),
        }
    }
}

impl Sequence {
    /// Visits all nodes, telling `progress` now and then.
    fn for_each(
        &self,
        num_nodes: usize,
        progress: &dyn Progress,
        mut visit: impl FnMut(usize),
    ) -> Result<(), PartitionError> {
        const BATCH: usize = 1 << 16;
        for start in (0..num_nodes).step_by(BATCH) {
            let batch = start..(start + BATCH).min(num_nodes);
            progress.advance(batch.len() as u64);
            match self {
                Self::Natural => batch.for_each(&mut visit),
                Self::Listed(nodes) => nodes[batch].iter().for_each(|node| visit(node.index())),
            }
            if progress.is_cancelled() {
                return Err(PartitionError::Cancelled);
            }
        }
        Ok(())
    }
}

/// All nodes, breadth first from the first node not yet seen.
fn breadth_first(graph: &Graph) -> Vec<NodeId> {
    let mut seen = vec![false; graph.num_nodes()];
    let mut nodes: Vec<NodeId> = Vec::with_capacity(graph.num_nodes());
    for root in graph.nodes() {
        if std::mem::replace(&mut seen[root.index()], true) {
            continue;
        }
        let mut next = nodes.len();
        nodes.push(root);
        while let Some(&node) = nodes.get(next) {
            next += 1;
            nodes.extend(graph.neighbors(node).filter(|to| !std::mem::replace(&mut seen[to.index()], true)));
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};
    use crate::partition::synthetic::ring_of_cliques;

    fn cut(graph: &Graph, partition: &Partition) -> usize {
        super::super::ClusterGraph::of(graph, partition).cut_entries() / 2
    }

    #[test]
    fn the_limit_holds_for_any_settings() {
        let graph = ring_of_cliques(5, 20);
        for num_clusters in [2, 3, 7, 99, 100] {
            for load_limit in [1.0, 1.03, 2.0] {
                for passes in [1, 4] {
                    let fennel = Fennel { passes, load_limit, ..Default::default() };
                    let partition =
                        fennel.partition(&graph, &PartitionTask::silent(num_clusters, Seed(1))).unwrap();
                    let largest = *partition.sizes().iter().max().unwrap();
                    assert!(largest <= fennel.limit(100, num_clusters), "{num_clusters} {load_limit}");
                }
            }
        }
    }

    #[test]
    fn restreaming_finds_the_cliques() {
        let graph = ring_of_cliques(8, 12);
        for order in [Order::Natural, Order::Random, Order::BreadthFirst] {
            let fennel = Fennel { passes: 10, load_limit: 1.5, order, ..Default::default() };
            let partition = fennel.partition(&graph, &PartitionTask::silent(8, Seed(1))).unwrap();
            assert!(cut(&graph, &partition) <= 100, "{order:?} {}", cut(&graph, &partition));
        }
    }

    #[test]
    fn breadth_first_visits_all_components() {
        let edges = EdgeList::from_pairs(vec![[0_u32, 3], [3, 1], [2, 4]]);
        let graph = build(edges, 6, &BuildOptions::default()).graph;
        assert_eq!(breadth_first(&graph), [0, 3, 1, 2, 4, 5].map(NodeId));
    }

    #[test]
    fn impossible_settings_are_refused() {
        let graph = ring_of_cliques(2, 3);
        for fennel in [
            Fennel { passes: 0, ..Default::default() },
            Fennel { gamma: f64::NAN, ..Default::default() },
            Fennel { load_limit: 0.9, ..Default::default() },
        ] {
            let error = fennel.partition(&graph, &PartitionTask::silent(2, Seed(1))).unwrap_err();
            assert!(matches!(error, PartitionError::Setting { .. }), "{error}");
        }
    }
}
