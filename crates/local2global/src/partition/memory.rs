//! How much memory a partitioner takes, told beforehand.

use super::{PartitionMethod, PartitionSize, metis_bytes};
use crate::memory::Need;

impl PartitionMethod {
    /// About how many bytes the stage takes beside the mapped graph, and at most.
    pub fn memory_need(&self, size: &PartitionSize) -> Need {
        let (nodes, entries) = (size.nodes as u64, size.entries as u64);
        let of_method = match self {
            Self::Auto(_) | Self::Metis(_) => {
                Need { about: metis_about(size), most: metis_bytes(size.nodes, size.entries) }
            }
            Self::Buffered(buffered) => buffered.memory_need(size.nodes, size.entries / 2),
            // Clusters, and an order of nodes where it is not the natural one.
            Self::Fennel(_) => Need::of(16 * nodes),
            // The graph as a level, the next level, and labels.
            Self::Louvain(_) => Need { about: 14 * entries + 40 * nodes, most: 26 * entries + 60 * nodes },
            Self::Given(_) => Need::of(40 * nodes),
        };
        // Afterwards, clusters are split by component, merged and measured: clusters, their members,
        // and a component for each node.
        let measured = 28 * nodes;
        let undirected = if size.directed { 8 * nodes + 16 * entries } else { 0 };
        of_method.at_least(measured).plus(undirected)
    }
}

/// What METIS usually takes. The more edges a node has, the less contracting the graph saves, unless
/// neighbours are neighbours of each other: 17 bytes an entry of points in a plane, 46 to 54 of a block model
/// with 10 entries a node, 54 to 84 with 20 (`benches/partition.rs`, `benchmarks/dry_run.py`).
fn metis_about(size: &PartitionSize) -> u64 {
    let degree = size.entries as f64 / size.nodes.max(1) as f64;
    let random = (18.0 + 3.0 * degree).clamp(25.0, 65.0);
    let near = (size.clustering / 0.4).min(1.0);
    let bytes = random + near * (15.0 - random);
    (size.entries as f64 * bytes) as u64 + 8 * size.nodes as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::{Buffered, Fennel, Metis};

    #[test]
    fn methods_that_stream_need_less() {
        let size = PartitionSize { nodes: 1_000_000, entries: 20_000_000, directed: false, clustering: 0.0 };
        let need = |method: PartitionMethod| method.memory_need(&size);
        let metis = need(PartitionMethod::Metis(Metis::default()));
        let buffered = need(PartitionMethod::Buffered(Buffered::default()));
        let fennel = need(PartitionMethod::Fennel(Fennel::default()));
        assert!(metis.about < metis.most);
        assert!(buffered.most < metis.about / 4 && fennel.most < buffered.most);
    }
}
