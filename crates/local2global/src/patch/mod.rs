//! Stage 3: clusters -> patch graph -> overlapping patches.
//!
//! ```text
//! Partition --patch_graph--> weighted patch graph --sparsify--> patch graph
//!           --overlap--> patches that share nodes --cover--> patches that hold every edge
//!           --landmarks--> patches that share some nodes with all others
//! ```
//!
//! [`make_patches`] is the stage. What it gives satisfies the conditions of section 3 of
//! the paper, and [`PatchReport`] has them verified: the patches cover all nodes, every
//! two patches joined by a patch edge share at least `l` nodes, and the patch graph is
//! connected as far as the graph is. With `cover = "edges"` every edge lies in a patch.
//!
//! If the graph has several components, no edge joins patches of different ones. The largest
//! clusters of such groups are joined through nodes drawn at random, which both patches embed and
//! alignment places the smaller group by; with enough landmarks all patches are joined through
//! them. With `bridge = false` groups stay apart.
//!
//! Direction is ignored: patches of a directed graph are those of the undirected one.

pub mod patch_graph;

pub mod resistance;

pub mod sparsify;

pub mod overlap;

pub mod cover;

pub mod landmarks;

mod bounds;

mod config;

mod direct;

mod files;

mod report;

pub use bounds::OverlapBounds;
pub use config::{Cover, PatchConfig};
pub use files::{
    read_landmarks, read_node_lists, read_node_weights, read_patches, read_report, write_patches,
};
pub use landmarks::Landmarks;
pub use patch_graph::PatchGraph;
pub use report::{EdgeCover, NodeCover, OverlapReport, PatchReport};
pub use sparsify::Sparsify;

use std::fmt;
use std::path::PathBuf;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use report::AddedEdges;

use crate::graph::{Graph, NodeId};
use crate::linalg::conjugate_gradient::NotConverged;
use crate::npy::NpyError;
use crate::partition::{ClusterGraph, Partition, undirected};
use crate::progress::Progress;
use crate::run_dir::{FileError, PatchFilesError};
use crate::seed::{Seed, Stage};

/// A patch, by its number: `0..num_patches`. It grew from the cluster of that number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PatchId(pub u32);

impl PatchId {
    /// The number of the patch, to index arrays with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for PatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why patches could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum PatchError {
    /// A setting has an impossible value.
    #[error("setting `patch.{key}` is {found}; needed {needed}")]
    Setting { key: &'static str, found: String, needed: String },

    /// Overlaps need more nodes than a cluster has.
    #[error(
        "cluster {cluster} has {size} nodes; an overlap of {min_overlap} needs {needed} \
         ({count} clusters are too small)"
    )]
    ClusterTooSmall { cluster: u32, size: usize, min_overlap: usize, needed: usize, count: usize },

    /// Clusters do not fit the graph.
    #[error("found clusters for {found} nodes, but the graph has {needed}")]
    Length { found: usize, needed: usize },

    /// The solver for effective resistances did not converge.
    #[error("could not compute effective resistances: {0}")]
    NotConverged(#[from] NotConverged),

    /// An array could not be read.
    #[error("could not read `{}`: {source}", path.display())]
    Array { path: PathBuf, source: NpyError },

    /// An array of the run folder does not say what it should.
    #[error("`{}` {problem}", path.display())]
    Content { path: PathBuf, problem: String },

    /// A file could not be used.
    #[error(transparent)]
    File(#[from] FileError),

    /// The folder does not hold the patches that it should.
    #[error(transparent)]
    Files(#[from] PatchFilesError),

    /// Somebody asked to stop.
    #[error("making patches was cancelled")]
    Cancelled,
}

/// One patch: some nodes of the graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    /// Its nodes, ascending.
    pub nodes: Vec<NodeId>,
    /// For each node the share of its edges that lie inside the patch.
    pub weights: Vec<f32>,
}

/// Overlapping patches, and which of them may be aligned with each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Patches {
    patches: Vec<Patch>,
    graph: PatchGraph,
    landmarks: Vec<NodeId>,
}

impl Patches {
    /// All patches, by number.
    pub fn patches(&self) -> &[Patch] {
        &self.patches
    }

    /// The number of patches.
    pub fn num_patches(&self) -> usize {
        self.patches.len()
    }

    /// The patch graph.
    pub fn graph(&self) -> &PatchGraph {
        &self.graph
    }

    /// The nodes that every patch holds because they are landmarks, ascending.
    pub fn landmarks(&self) -> &[NodeId] {
        &self.landmarks
    }

    /// The number of nodes two patches share.
    pub fn overlap(&self, a: PatchId, b: PatchId) -> usize {
        num_shared(&self.patches[a.index()].nodes, &self.patches[b.index()].nodes)
    }
}

/// The number of nodes in both of two ascending lists.
fn num_shared(a: &[NodeId], b: &[NodeId]) -> usize {
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        shared += usize::from(x == y);
        (i, j) = (i + usize::from(x <= y), j + usize::from(y <= x));
    }
    shared
}

/// The stage: grows clusters into overlapping patches, and reports on them.
///
/// `dim` is the embedding dimension, from which overlaps that are not set follow.
///
/// # Errors
/// [`PatchError`] if settings contradict each other, or a cluster is too small for the
/// overlap it owes.
///
/// # Examples
/// ```
/// use local2global::graph::{BuildOptions, EdgeList, build};
/// use local2global::partition::{PartitionConfig, partition};
/// use local2global::patch::{PatchConfig, make_patches};
/// use local2global::{progress::Silent, seed::Seed};
///
/// // A ring of 60 nodes in four arcs.
/// let ring = EdgeList::from_pairs((0..60_u32).map(|node| [node, (node + 1) % 60]).collect());
/// let graph = build(ring, 60, &BuildOptions::default()).graph;
/// let config = PatchConfig { min_overlap: Some(4), ..Default::default() };
/// let arcs = partition(&graph, &PartitionConfig::with_clusters(4), 2, Seed(1), &Silent)?;
/// let (patches, report) = make_patches(&graph, &arcs, &config, 2, Seed(1), &Silent)?;
/// assert_eq!(patches.num_patches(), 4);
/// assert!(report.overlap.found >= 4);
/// assert_eq!(report.edges_in_no_patch.count, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn make_patches(
    graph: &Graph,
    partition: &Partition,
    config: &PatchConfig,
    dim: usize,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<(Patches, PatchReport), PatchError> {
    if partition.num_nodes() != graph.num_nodes() {
        return Err(PatchError::Length { found: partition.num_nodes(), needed: graph.num_nodes() });
    }
    config.check(dim)?;
    let of_cluster = |&size: &usize| config.bounds_within(dim, size);
    let bounds: Vec<OverlapBounds> = partition.sizes().iter().map(of_cluster).collect::<Result<_, _>>()?;
    let graph = &*undirected(graph);
    let num_landmarks =
        config.landmarks.unwrap_or(Landmarks::NONE).count(graph.num_nodes(), partition.num_clusters());
    let joined_by_landmarks = landmarks::can_join(num_landmarks, dim);
    let steps = 6;
    progress.begin("patch", steps, "steps");
    let step = |name: &str| {
        progress.advance(1);
        progress.note(name);
        if progress.is_cancelled() { Err(PatchError::Cancelled) } else { Ok(()) }
    };

    let clusters = ClusterGraph::of(graph, partition);
    step("sparsify")?;
    let mut random = seed.stream(Stage::Sparsify, 0);
    let mut patch_graph = sparsify::sparsify(&clusters, config.sparsify, config.degree, &mut random)?;
    let bridges = match config.bridge && !joined_by_landmarks {
        true => patch_graph.bridge(partition.sizes()),
        false => Vec::new(),
    };
    check_sizes(partition, &patch_graph, &bounds)?;
    step("overlap")?;
    let members = partition.members();
    let mut nodes = overlap::grow_all(graph, partition, &members, &patch_graph, &bounds, seed);
    step("cover")?;
    nodes = match config.cover.unwrap_or_default() {
        Cover::Edges => cover::cover_edges(graph, partition, nodes),
        Cover::Nodes => nodes,
        Cover::Auto => cover::cover_edges_within(graph, partition, nodes, Cover::MOST_GROWTH),
    };
    step("landmarks")?;
    let bounds = widest(&bounds, &patch_graph);
    let landmarks = landmarks::landmarks(graph, num_landmarks, seed);
    nodes.par_iter_mut().for_each(|nodes| landmarks::add_to(nodes, &landmarks));
    let by_landmarks = match joined_by_landmarks {
        true => landmarks::landmark_edges(&patch_graph),
        false => Vec::new(),
    };
    patch_graph.add(&by_landmarks);
    let added = AddedEdges { bridges, by_landmarks };
    step("weigh")?;
    let (patches, inside) = cover::weigh_all(graph, nodes);
    let patches = Patches { patches, graph: patch_graph, landmarks };
    step("verify")?;
    let report = PatchReport::of(graph, partition, &clusters, &patches, inside, bounds, added);
    progress.end();
    Ok((patches, report))
}

/// The least `l` and the largest `u` of the clusters that are joined, or of all if none is.
fn widest(bounds: &[OverlapBounds], graph: &PatchGraph) -> OverlapBounds {
    let joined: Vec<OverlapBounds> =
        graph.edges().iter().flatten().map(|patch| bounds[patch.index()]).collect();
    let considered = if joined.is_empty() { bounds } else { &joined };
    let min = considered.iter().map(|bounds| bounds.min).min().unwrap_or_default();
    OverlapBounds { min, max: considered.iter().map(|bounds| bounds.max).max().unwrap_or(min) }
}

/// Refuses clusters that cannot give half of the smallest overlap.
fn check_sizes(
    partition: &Partition,
    graph: &PatchGraph,
    bounds: &[OverlapBounds],
) -> Result<(), PatchError> {
    let degrees = graph.degrees();
    let too_small =
        |cluster: &usize| degrees[*cluster] > 0 && partition.sizes()[*cluster] < bounds[*cluster].half_min();
    let small: Vec<usize> = (0..partition.num_clusters()).filter(too_small).collect();
    match small.iter().min_by_key(|&&cluster| partition.sizes()[cluster]) {
        None => Ok(()),
        Some(&cluster) => Err(PatchError::ClusterTooSmall {
            cluster: cluster as u32,
            size: partition.sizes()[cluster],
            min_overlap: bounds[cluster].min,
            needed: bounds[cluster].half_min(),
            count: small.len(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};
    use crate::progress::Silent;

    #[test]
    fn shared_nodes_are_counted() {
        let nodes = |ids: &[u64]| ids.iter().copied().map(NodeId).collect::<Vec<_>>();
        assert_eq!(num_shared(&nodes(&[1, 3, 5, 9]), &nodes(&[0, 3, 4, 9, 10])), 2);
        assert_eq!(num_shared(&nodes(&[]), &nodes(&[1])), 0);
    }

    #[test]
    fn a_cluster_too_small_for_the_overlap_is_named() {
        let path = EdgeList::from_pairs((1..10_u32).map(|node| [node - 1, node]).collect());
        let graph = build(path, 10, &BuildOptions::default()).graph;
        let partition = Partition::from_labels(vec![0, 0, 0, 0, 0, 0, 0, 1, 1, 2]);
        let config = PatchConfig { min_overlap: Some(5), ..Default::default() };
        let error = make_patches(&graph, &partition, &config, 2, Seed(1), &Silent).unwrap_err();
        let expected = "cluster 2 has 1 nodes; an overlap of 5 needs 3 (2 clusters are too small)";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn clusters_of_another_graph_are_refused() {
        let graph = build(EdgeList::from_pairs(vec![[0_u32, 1]]), 2, &BuildOptions::default()).graph;
        let config = PatchConfig::default();
        let error = make_patches(&graph, &Partition::whole(3), &config, 2, Seed(1), &Silent).unwrap_err();
        assert_eq!(error.to_string(), "found clusters for 3 nodes, but the graph has 2");
    }
}
