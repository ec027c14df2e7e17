//! Stage 2: graph -> disjoint clusters.
//!
//! A [`Partitioner`] assigns every node to one of `p` clusters; [`partition`] is the
//! stage. It runs the partitioner that the configuration names, and then makes sure of
//! what the patches need: no cluster spans two connected components, none is empty,
//! and each has the size that overlaps take from it. `p` is given, or follows from a
//! target patch size; `p = 1` is always valid and means training on the whole graph.
//!
//! ```text
//! Graph --metis|buffered|fennel|louvain|given--> Partition --split by component--> --merge small--> Partition
//! ```
//!
//! Direction is ignored: a directed graph is partitioned as the undirected one.

#[cfg(test)]
mod synthetic;

pub mod metis;

pub mod fennel;

pub mod louvain;

pub mod buffered;

pub mod given;

pub mod cluster_graph;

mod config;

mod files;

mod cluster_sums;

mod loads;

mod memory;

mod size;

mod merge;

mod rows;

pub use buffered::Buffered;
pub use cluster_graph::{ClusterEdge, ClusterGraph};
pub use config::{NumClusters, PartitionConfig, PartitionMethod, USUAL_CLUSTERS, USUAL_PATCH_SIZE};
pub use fennel::Fennel;
pub use files::{PartitionReport, read_partition, write_partition};
pub use given::GivenClusters;
pub use louvain::Louvain;
pub use metis::{Metis, metis_bytes};
pub use size::PartitionSize;

use std::borrow::Cow;
use std::path::PathBuf;

use crate::graph::component::Components;
use crate::graph::edge_list::EdgeChunk;
use crate::graph::io::ReadError;
use crate::graph::{BuildOptions, EdgeList, Graph, Neighbors, NodeId, NodeIndex, NodeLists, Targets, build};
use crate::linalg::grouping::group_offsets;
use crate::npy::NpyError;
use crate::progress::{Progress, Silent};
use crate::run_dir::FileError;
use crate::seed::Seed;

/// What a partitioner is asked for.
#[derive(Clone, Copy)]
pub struct PartitionTask<'a> {
    /// The most clusters to make: two or more, and no more than there are nodes.
    pub num_clusters: usize,
    /// The seed of chance.
    pub seed: Seed,
    /// Who is told how far it is, and may cancel it.
    pub progress: &'a dyn Progress,
}

impl PartitionTask<'static> {
    /// So many clusters, in silence.
    pub fn silent(num_clusters: usize, seed: Seed) -> Self {
        Self { num_clusters, seed, progress: &Silent }
    }
}

/// Splits a graph into disjoint, non-empty clusters.
pub trait Partitioner {
    /// Assigns every node of `graph`, which is undirected, to a cluster.
    ///
    /// Clusters that stay empty are not counted.
    ///
    /// # Errors
    /// [`PartitionError`], by the method.
    fn partition(&self, graph: &Graph, task: &PartitionTask<'_>) -> Result<Partition, PartitionError>;
}

/// Why a graph could not be partitioned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum PartitionError {
    /// There is nothing to partition.
    #[error("graph has no nodes; a partition needs at least one")]
    NoNodes,

    /// More clusters than nodes.
    #[error("{clusters} clusters were asked for, but the graph has {nodes} nodes")]
    TooManyClusters { clusters: usize, nodes: usize },

    /// A setting has an impossible value.
    #[error("setting `partition.{key}` is {found}; needed {needed}")]
    Setting { key: &'static str, found: String, needed: &'static str },

    /// The method counts with 32 bits.
    #[error("graph has {found} {what}; {method} takes fewer than {limit}")]
    TooLarge { method: &'static str, what: &'static str, found: usize, limit: u32 },

    /// METIS gave up.
    #[error("METIS failed: {0}")]
    Metis(String),

    /// The feature `metis` was left out.
    #[error("this program was built without METIS; `fennel` partitions without it")]
    WithoutMetis,

    /// Clusters do not fit the graph.
    #[error("found clusters for {found} nodes, but the graph has {needed}")]
    Length { found: usize, needed: usize },

    /// A node has no cluster.
    #[error("node `{id}` has no cluster in {place}")]
    Unassigned { id: String, place: String },

    /// The graph has no labels that could be clusters.
    #[error(
        "clusters were to be taken from the labels, but the graph has {found}; it needs one class a node"
    )]
    Labels { found: &'static str },

    /// A file of clusters could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),

    /// An array could not be read.
    #[error("could not read `{}`: {source}", path.display())]
    Array { path: PathBuf, source: NpyError },

    /// A file could not be used.
    #[error(transparent)]
    File(#[from] FileError),

    /// Somebody asked to stop.
    #[error("partitioning was cancelled")]
    Cancelled,
}

/// Disjoint, non-empty clusters that cover all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    clusters: Vec<u32>,
    sizes: Vec<usize>,
}

impl Partition {
    /// Clusters from one label a node; labels that nobody has are closed up.
    ///
    /// # Examples
    /// ```
    /// use local2global::partition::Partition;
    ///
    /// let partition = Partition::from_labels(vec![4, 0, 4]);
    /// assert_eq!(partition.clusters(), [1, 0, 1]);
    /// assert_eq!(partition.sizes(), [1, 2]);
    /// ```
    pub fn from_labels(mut labels: Vec<u32>) -> Self {
        if labels.iter().any(|&label| label as usize >= labels.len()) {
            labels = ranks(&labels);
        }
        let num_labels = labels.iter().max().map_or(0, |&largest| largest as usize + 1);
        let mut counts = vec![0; num_labels];
        labels.iter().for_each(|&label| counts[label as usize] += 1);
        let mut renumbered = vec![0; num_labels];
        let mut sizes = Vec::new();
        for (label, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            renumbered[label] = sizes.len() as u32;
            sizes.push(count);
        }
        if sizes.len() < num_labels {
            labels.iter_mut().for_each(|label| *label = renumbered[*label as usize]);
        }
        Self { clusters: labels, sizes }
    }

    /// All nodes in one cluster.
    pub fn whole(num_nodes: usize) -> Self {
        Self::from_labels(vec![0; num_nodes])
    }

    /// The number of clusters.
    pub fn num_clusters(&self) -> usize {
        self.sizes.len()
    }

    /// The number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.clusters.len()
    }

    /// The cluster of each node.
    pub fn clusters(&self) -> &[u32] {
        &self.clusters
    }

    /// The cluster of one node.
    pub fn cluster_of(&self, node: NodeId) -> u32 {
        self.clusters[node.index()]
    }

    /// The number of nodes of each cluster.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The size of the largest cluster over the mean size; 1 is perfectly even.
    pub fn balance(&self) -> f64 {
        let largest = self.sizes.iter().max().copied().unwrap_or(0);
        (largest * self.num_clusters()) as f64 / self.num_nodes().max(1) as f64
    }

    /// The nodes of each cluster, ascending.
    pub fn members(&self) -> Members {
        Members(NodeLists::by_group(self.num_clusters(), &self.clusters))
    }
}

/// Each label's place among the distinct labels; takes memory by their number, not value.
fn ranks(labels: &[u32]) -> Vec<u32> {
    let mut distinct = labels.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let rank = |label| distinct.binary_search(label).expect("every label is among the distinct ones") as u32;
    labels.iter().map(rank).collect()
}

/// The nodes of all clusters, one cluster after the other.
#[derive(Clone, Debug)]
pub struct Members(NodeLists);

impl Members {
    /// The nodes of one cluster, ascending.
    pub fn of(&self, cluster: u32) -> Neighbors<'_> {
        self.0.list(cluster as usize)
    }
}

/// The stage: splits a graph into clusters of at least `min_size` nodes.
///
/// Clusters below `min_size`, which overlaps need, are merged into the neighbour they
/// share most edges with, relative to its degree. Components that are smaller themselves
/// have no neighbour to be merged into: they are packed together to clusters of mean size, or,
/// if they are too few for one, go with the smallest other cluster.
///
/// # Errors
/// [`PartitionError`] if a setting is impossible for this graph, or the method fails.
///
/// # Examples
/// ```
/// use local2global::graph::{BuildOptions, EdgeList, build};
/// use local2global::partition::{PartitionConfig, partition};
/// use local2global::{progress::Silent, seed::Seed};
///
/// // A ring of 60 nodes in three arcs.
/// let ring = EdgeList::from_pairs((0..60_u32).map(|node| [node, (node + 1) % 60]).collect());
/// let graph = build(ring, 60, &BuildOptions::default()).graph;
/// let arcs = partition(&graph, &PartitionConfig::with_clusters(3), 5, Seed(1), &Silent)?;
/// assert_eq!(arcs.num_clusters(), 3);
/// assert!(arcs.sizes().iter().all(|&size| size >= 5));
/// # Ok::<(), local2global::partition::PartitionError>(())
/// ```
pub fn partition(
    graph: &Graph,
    config: &PartitionConfig,
    min_size: usize,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Partition, PartitionError> {
    if graph.num_nodes() == 0 {
        return Err(PartitionError::NoNodes);
    }
    let num_clusters = config.num_clusters(graph.num_nodes(), min_size)?;
    let given = matches!(config.method, PartitionMethod::Given(_));
    if num_clusters == 1 && !given {
        return Ok(Partition::whole(graph.num_nodes()));
    }
    let graph = undirected(graph);
    let mut clusters = config.method.partition(&graph, &PartitionTask { num_clusters, seed, progress })?;
    if !given {
        clusters = split_by_component(&graph, clusters);
    }
    Ok(merge::merge_small(&graph, clusters, min_size))
}

/// Cuts clusters apart where no path inside the graph joins their nodes.
fn split_by_component(graph: &Graph, partition: Partition) -> Partition {
    let components = Components::of(graph);
    if components.len() == 1 {
        return partition;
    }
    let pieces = pieces(&partition, &components);
    // Pieces come by cluster, so that one of a cluster is found among few.
    let firsts = group_offsets(partition.num_clusters(), pieces.iter().map(|piece| piece.cluster as usize));
    let mut labels = partition.clusters;
    for (label, &component) in labels.iter_mut().zip(components.labels()) {
        let own = firsts[*label as usize]..firsts[*label as usize + 1];
        let place = pieces[own.clone()].binary_search_by_key(&component, |piece| piece.component);
        *label = (own.start + place.expect("every node lies in a piece")) as u32;
    }
    Partition::from_labels(labels)
}

/// The nodes of one cluster in one component.
struct Piece {
    cluster: u32,
    component: u32,
    size: usize,
}

/// The pieces of all clusters, by cluster and component; memory by their number, and that of the
/// members of clusters.
fn pieces(partition: &Partition, components: &Components) -> Vec<Piece> {
    let members = partition.members();
    let mut pieces = Vec::new();
    for cluster in 0..partition.num_clusters() as u32 {
        let mut found: Vec<u32> = members.of(cluster).map(|node| components.labels()[node.index()]).collect();
        found.sort_unstable();
        let alike = found.chunk_by(|a, b| a == b);
        pieces.extend(alike.map(|part| Piece { cluster, component: part[0], size: part.len() }));
    }
    pieces
}

/// The graph itself, or, if it is directed, the undirected graph with the same edges and features.
pub(crate) fn undirected(graph: &Graph) -> Cow<'_, Graph> {
    if graph.is_symmetric() {
        return Cow::Borrowed(graph);
    }
    let options = BuildOptions { self_loops: true, ..Default::default() };
    let num_nodes = graph.num_nodes();
    let built = match graph.targets() {
        Targets::Narrow(_) => build(listed_edges::<u32>(graph), num_nodes, &options),
        Targets::Wide(_) => build(listed_edges::<u64>(graph), num_nodes, &options),
    };
    let features = graph.features().cloned();
    Cow::Owned(built.graph.with_features(features).expect("the nodes are the same"))
}

fn listed_edges<I: NodeIndex>(graph: &Graph) -> EdgeList<I> {
    let row = |node: NodeId| {
        graph.neighbors(node).map(move |to| [I::from_index(node.index()), I::from_index(to.index())])
    };
    let mut list = EdgeList::new();
    let weights = graph.weights().map_or(Vec::new(), <[f32]>::to_vec);
    list.push(EdgeChunk { pairs: graph.nodes().flat_map(row).collect(), weights });
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::builder::graph_of as graph;
    use crate::progress::Silent;

    #[test]
    fn members_are_listed_by_cluster() {
        let members = Partition::from_labels(vec![1, 0, 1]).members();
        assert!(members.of(0).eq([NodeId(1)]));
        assert!(members.of(1).eq([NodeId(0), NodeId(2)]));
    }

    #[test]
    fn balance_is_largest_over_mean() {
        assert_eq!(Partition::from_labels(vec![0, 0, 0, 1]).balance(), 1.5);
    }

    #[test]
    fn clusters_never_span_components() {
        let two_paths = graph(&[[0, 1], [1, 2], [3, 4], [4, 5]], 6, true);
        let split = split_by_component(&two_paths, Partition::from_labels(vec![0, 0, 0, 0, 1, 1]));
        assert_eq!(split.clusters(), [0, 0, 0, 1, 2, 2]);
    }

    #[test]
    fn a_directed_graph_is_partitioned_as_undirected() {
        let arrows = [[0, 1], [2, 1], [2, 3], [3, 0]];
        let directed = graph(&arrows, 4, false);
        assert_eq!(undirected(&directed).targets(), graph(&arrows, 4, true).targets());
        let config = PartitionConfig::with_clusters(2);
        assert_eq!(partition(&directed, &config, 1, Seed(1), &Silent).unwrap().num_clusters(), 2);
    }

    #[test]
    fn impossible_numbers_of_clusters_are_refused() {
        let pair = graph(&[[0, 1]], 2, true);
        let message = |clusters| {
            let config = PartitionConfig::with_clusters(clusters);
            partition(&pair, &config, 1, Seed(1), &Silent).unwrap_err().to_string()
        };
        assert_eq!(message(3), "3 clusters were asked for, but the graph has 2 nodes");
        assert_eq!(message(0), "setting `partition.clusters` is 0; needed at least 1");
    }

    #[test]
    fn one_cluster_is_the_whole_graph() {
        let scattered = graph(&[[0, 1]], 5, true);
        let config = PartitionConfig::with_clusters(1);
        assert_eq!(partition(&scattered, &config, 3, Seed(1), &Silent).unwrap(), Partition::whole(5));
    }
}
