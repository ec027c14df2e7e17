//! How much memory the stage takes, before it starts.
//!
//! ```text
//! clusters      4 n + w n                  cluster of each node, members of each cluster
//! patch graph   112 E + 128 p (4 + 6 t)    E pairs of clusters, p clusters, t threads
//! overlap       2 w b                      b nodes that patches take from joined clusters
//! cover         (w + 8) b + n / 5 + (4 + 2 w) g + 100 c t
//! weigh         w (b + g) + t (n / 8 + 16 patch nodes)
//! verify        w (b + g) + n / 5 + 8 (b + g)
//! ```
//!
//! with `w` 4 bytes, or 8 above 2³² nodes, `g` guests, and `c` edges that leave a cluster and lie in no
//! patch. Clusters are there all the time; of the rest the largest counts. Mapped files do not count,
//! the graph is one; a directed graph is copied, and its copy does.

use rayon::current_num_threads;

use super::{Landmarks, PatchConfig, PatchError};
use crate::graph::{Graph, NodeLists};
use crate::memory::{BASE_BYTES, ByteSize};
use crate::partition::ClusterGraph;

/// Bytes for an edge between clusters while it is covered.
const CUT_BYTES: u64 = 100;

/// Sizes that the memory of the stage follows from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatchSizes {
    /// Nodes of the graph.
    pub nodes: usize,
    /// Its stored edges; an undirected edge counts twice.
    pub entries: usize,
    /// Whether every edge stands in both rows; a directed graph is copied.
    pub symmetric: bool,
    /// Clusters.
    pub clusters: usize,
    /// Stored edges that leave the cluster with most of them.
    pub largest_cut: usize,
}

impl PatchSizes {
    /// The sizes of a graph whose clusters are not known yet: they are taken for even, with less than
    /// half of their edges leaving them.
    pub fn of(graph: &Graph, clusters: usize) -> Self {
        let entries = graph.num_directed_edges();
        let largest_cut = entries / clusters.max(1) / 2;
        Self { nodes: graph.num_nodes(), entries, symmetric: graph.is_symmetric(), clusters, largest_cut }
    }

    /// The sizes when it is known which clusters touch.
    pub(super) fn with_cuts(self, clusters: &ClusterGraph) -> Self {
        Self { largest_cut: clusters.largest_cut(), ..self }
    }
}

/// The bytes of memory that the stage takes at its peak, mapped files not counted.
///
/// # Errors
/// [`PatchError::Setting`] if the overlap is impossible.
pub fn memory_bytes(sizes: &PatchSizes, config: &PatchConfig, dim: usize) -> Result<u64, PatchError> {
    let threads = current_num_threads() as u64;
    let [nodes, entries, clusters] = [sizes.nodes, sizes.entries, sizes.clusters.max(1)].map(|n| n as u64);
    let width = NodeLists::entry_bytes(sizes.nodes);
    let mean = sizes.nodes / sizes.clusters.max(1);
    let each = config.bounds_within(dim, mean)?.half_max().min(mean) as f64;
    let degree = config.degree.min(sizes.clusters.saturating_sub(1) as f64);
    let borrowed = (degree * each * clusters as f64) as u64;
    let guests = (config.most_guests(sizes.nodes) as u64).min(entries);
    let landmarks = config.landmarks.unwrap_or(Landmarks::NONE).count(sizes.nodes, sizes.clusters) as u64;
    let pairs = ClusterGraph::most_pairs(sizes.clusters).min(entries / 2);
    let dense = if sizes.clusters <= super::resistance::EXACT_LIMIT { 16 * clusters * clusters } else { 0 };

    let rows = 16 * ClusterGraph::most_pairs(sizes.clusters).min(entries);
    let patch_graph = rows + (96 * pairs).max(dense) + 128 * clusters * (4 + 6 * threads);
    let overlap = 2 * width * borrowed;
    let held = width * (borrowed + guests);
    let memberships = nodes / 5 + 8 * borrowed;
    let cutting = CUT_BYTES * (sizes.largest_cut as u64).min(entries) * threads.min(clusters);
    let cover = match guests {
        0 => 0,
        _ => width * borrowed + memberships + (4 + 2 * width) * guests + cutting,
    };
    let patch_nodes = (nodes + borrowed + guests) / clusters + landmarks;
    let weigh = held + threads * (nodes / 8 + 16 * patch_nodes);
    let verify = held + memberships + 8 * guests + threads * 16 * patch_nodes;
    let copy = if sizes.symmetric { 0 } else { 3 * width * 2 * entries };
    let most = [patch_graph, overlap, cover, weigh, verify].into_iter().max().unwrap_or(0);
    Ok((4 + width) * nodes + 16 * landmarks + copy + most)
}

/// Refuses a limit that is too small, with one that would do.
pub(super) fn check(
    sizes: &PatchSizes,
    config: &PatchConfig,
    dim: usize,
    limit: u64,
) -> Result<(), PatchError> {
    let needed = BASE_BYTES + memory_bytes(sizes, config, dim)?;
    match needed <= limit {
        true => Ok(()),
        false => Err(PatchError::Limit {
            needed: ByteSize(needed.next_multiple_of(1 << 20)),
            // What is free is no round number.
            limit: ByteSize(if limit < 1 << 20 { limit } else { limit >> 20 << 20 }),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(nodes: usize, entries: usize, clusters: usize) -> PatchSizes {
        PatchSizes { nodes, entries, symmetric: true, clusters, largest_cut: entries / clusters / 2 }
    }

    #[test]
    fn a_billion_edges_take_less_than_two_gigabytes() {
        let billion = sizes(100_000_000, 2_000_000_000, 50_000);
        let bytes = memory_bytes(&billion, &PatchConfig::default(), 128).unwrap();
        assert!((1_000_000_000..2_000_000_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn more_of_anything_takes_more() {
        let bytes = |sizes: &PatchSizes, config: &PatchConfig| memory_bytes(sizes, config, 32).unwrap();
        let (small, usual) = (sizes(1_000_000, 20_000_000, 500), PatchConfig::default());
        let ample = PatchConfig { cover_budget: 8.0, ..usual.clone() };
        assert!(bytes(&small, &ample) > bytes(&small, &usual) + 8 * 7_000_000);
        assert!(bytes(&sizes(2_000_000, 20_000_000, 500), &usual) >= bytes(&small, &usual) + 8_000_000);
        let directed = PatchSizes { symmetric: false, ..small };
        assert!(bytes(&directed, &usual) > bytes(&small, &usual) + 8 * 20_000_000);
    }
}
