//! What the stage leaves in the run folder: `2-partition/clusters.npy`, `partition.json`.

use serde::{Deserialize, Serialize};

use super::cluster_graph::cut_entries;
use super::{Partition, PartitionError, pieces, undirected};
use crate::graph::Graph;
use crate::graph::component::Components;
use crate::npy;
use crate::run_dir::{RunDir, write_array, write_json};

/// How good a partition is: the content of `2-partition/partition.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionReport {
    /// The number of clusters.
    pub clusters: usize,
    /// The number of nodes of each cluster.
    pub sizes: Vec<usize>,
    /// The number of edges between clusters.
    pub cut_edges: usize,
    /// Their share of all edges.
    pub cut_share: f64,
    /// The size of the largest cluster over the mean.
    pub balance: f64,
    /// Nodes that share a cluster with a larger piece which no path joins them with: those of
    /// components too small for a cluster of their own.
    #[serde(default)]
    pub packed_nodes: usize,
}

impl PartitionReport {
    /// Measures a partition of a graph.
    pub fn of(graph: &Graph, partition: &Partition) -> Self {
        let graph = undirected(graph);
        let entries = graph.num_directed_edges();
        let cut_entries = cut_entries(&graph, partition);
        Self {
            clusters: partition.num_clusters(),
            sizes: partition.sizes().to_vec(),
            cut_edges: cut_entries / 2,
            cut_share: cut_entries as f64 / entries.max(1) as f64,
            balance: partition.balance(),
            packed_nodes: packed_nodes(&graph, partition),
        }
    }
}

/// The nodes of each cluster beyond its largest piece, over all clusters.
fn packed_nodes(graph: &Graph, partition: &Partition) -> usize {
    let components = Components::of(graph);
    if components.len() == 1 {
        return 0;
    }
    let mut largest = vec![0; partition.num_clusters()];
    for piece in pieces(partition, &components) {
        let most: &mut usize = &mut largest[piece.cluster as usize];
        *most = (*most).max(piece.size);
    }
    graph.num_nodes() - largest.iter().sum::<usize>()
}

/// Writes the cluster of each node, and the report.
///
/// # Errors
/// [`PartitionError::File`] if the folder cannot be written.
pub fn write_partition(
    run: &RunDir,
    partition: &Partition,
    report: &PartitionReport,
) -> Result<(), PartitionError> {
    let folder = run.partition();
    write_array(&folder.clusters(), &[partition.num_nodes()], partition.clusters())?;
    Ok(write_json(&folder.report(), report)?)
}

/// Reads the cluster of each node of a graph with `num_nodes` nodes.
///
/// Any integers will do, so that the file may come from elsewhere.
///
/// # Errors
/// [`PartitionError`] if there is no such file, or it does not fit the graph.
pub fn read_partition(run: &RunDir, num_nodes: usize) -> Result<Partition, PartitionError> {
    let path = run.partition().clusters();
    let read = npy::open(&path).and_then(|reader| reader.integers::<u32>());
    let clusters = read.map_err(|source| PartitionError::Array { path, source })?;
    match clusters.len() == num_nodes {
        true => Ok(Partition::from_labels(clusters)),
        false => Err(PartitionError::Length { found: clusters.len(), needed: num_nodes }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};

    #[test]
    fn a_written_partition_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path());
        let edges = EdgeList::from_pairs(vec![[0_u32, 1], [1, 2], [2, 3]]);
        let graph = build(edges, 4, &BuildOptions::default()).graph;
        let partition = Partition::from_labels(vec![0, 1, 1, 1]);
        let report = PartitionReport::of(&graph, &partition);
        assert_eq!((report.cut_edges, report.balance), (1, 1.5));
        write_partition(&run, &partition, &report).unwrap();
        assert_eq!(read_partition(&run, 4).unwrap(), partition);
        assert!(matches!(read_partition(&run, 5), Err(PartitionError::Length { found: 4, needed: 5 })));
    }

    #[test]
    fn a_label_beyond_the_nodes_costs_no_memory() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path());
        write_array(&run.partition().clusters(), &[2], &[u32::MAX - 1, 0]).unwrap();
        assert_eq!(read_partition(&run, 2).unwrap().clusters(), [1, 0]);
    }
}
