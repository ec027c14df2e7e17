//! Calls into METIS.

use std::sync::{Mutex, PoisonError};

use ::metis::{Idx, option};
use rand::Rng;

use super::Metis;
use crate::graph::{Graph, NodeId};
use crate::partition::{Partition, PartitionError, PartitionTask, Partitioner};
use crate::seed::Stage;

/// Held while METIS runs: see the notes on shared state in the module above.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl Partitioner for Metis {
    fn partition(&self, graph: &Graph, task: &PartitionTask<'_>) -> Result<Partition, PartitionError> {
        let &PartitionTask { num_clusters, seed, progress } = task;
        progress.begin("partition (metis)", 0, "");
        let rows = MetisGraph::of(graph)?;
        let mut clusters: Vec<Idx> = vec![0; graph.num_nodes()];
        let mut problem =
            ::metis::Graph::new(1, int("clusters", num_clusters)?, &rows.offsets, &rows.targets)
                .map_err(|error| PartitionError::Metis(::metis::Error::from(error).to_string()))?
                .set_option(option::Seed((seed.stream(Stage::Partition, 0).next_u32() >> 1) as Idx))
                .set_option(option::NCuts(int("attempts", self.attempts.max(1))?))
                .set_option(option::UFactor(self.thousandths()?));
        if let Some(weights) = &rows.weights {
            problem = problem.set_adjwgt(weights);
        }
        let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let handlers = SignalHandlers::now();
        let outcome = problem.part_kway(&mut clusters);
        handlers.restore();
        drop(guard);
        outcome.map_err(|error| PartitionError::Metis(error.to_string()))?;
        progress.end();
        Ok(Partition::from_labels(clusters.into_iter().map(|cluster| cluster as u32).collect()))
    }
}

/// What the process does at the two signals that METIS handles itself while it runs. It puts the old
/// handlers back by `signal`, and so forgets their flags: they would be called once, and never again.
#[cfg(unix)]
struct SignalHandlers([(libc::c_int, libc::sigaction); 2]);

#[cfg(unix)]
#[expect(unsafe_code, reason = "no safe function reads a handler and puts it back as it was")]
impl SignalHandlers {
    fn now() -> Self {
        Self([libc::SIGTERM, libc::SIGABRT].map(|signal| {
            // SAFETY: a zeroed `sigaction` is valid, and with no new action it is only written to.
            let old = unsafe {
                let mut old = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &mut old);
                old
            };
            (signal, old)
        }))
    }

    fn restore(&self) {
        for (signal, action) in &self.0 {
            // SAFETY: the action was in force before, and nothing is written to.
            unsafe { libc::sigaction(*signal, action, std::ptr::null_mut()) };
        }
    }
}

/// Where there are no such handlers, nothing is to be kept.
#[cfg(not(unix))]
struct SignalHandlers;

#[cfg(not(unix))]
impl SignalHandlers {
    fn now() -> Self {
        Self
    }

    fn restore(&self) {}
}

impl Metis {
    /// The imbalance as METIS counts it.
    fn thousandths(&self) -> Result<Idx, PartitionError> {
        let key = "imbalance";
        let needed = "between 0.001 and 1000";
        match self.imbalance {
            0.001..=1000.0 => Ok((self.imbalance * 1000.0).round() as Idx),
            found => Err(PartitionError::Setting { key, found: found.to_string(), needed }),
        }
    }
}

fn int(key: &'static str, value: usize) -> Result<Idx, PartitionError> {
    let needed = "below 2147483648";
    Idx::try_from(value).map_err(|_| PartitionError::Setting { key, found: value.to_string(), needed })
}

/// A graph as METIS reads it: 32-bit rows without loops, integer weights.
struct MetisGraph {
    offsets: Vec<Idx>,
    targets: Vec<Idx>,
    weights: Option<Vec<Idx>>,
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
        Ok(Self { offsets, targets, weights: graph.weights().map(|_| integer_weights(graph)) })
    }
}

/// The weights of all edges but loops, as integers of at least one.
fn integer_weights(graph: &Graph) -> Vec<Idx> {
    let row = |node: NodeId| {
        let weights = graph.neighbor_weights(node).unwrap_or_default();
        graph.neighbors(node).zip(weights).filter(move |&(to, _)| to != node).map(|(_, &weight)| weight)
    };
    let weights: Vec<f32> = graph.nodes().flat_map(row).collect();
    let total: f64 = weights.iter().copied().map(f64::from).sum();
    let limit = f64::from(1 << 30);
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
