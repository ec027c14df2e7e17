//! How large the graph is that is partitioned.

/// The counts on which the memory of a partitioner depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionSize {
    /// The number of nodes.
    pub nodes: usize,
    /// The number of entries of all rows, every edge in both directions.
    pub entries: usize,
    /// Whether the graph has to be made undirected first.
    pub directed: bool,
}
