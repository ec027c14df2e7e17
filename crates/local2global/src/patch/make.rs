//! The stage itself: from clusters to patches, and from these to files or to memory.
//!
//! Everything but the nodes and weights of single patches is made first, as compact lists
//! ([`PatchLists`]); then one patch after the other is put together, weighed, and given away. In memory and
//! on disk patches are the same, since both come this way.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::files::PatchesToBe;
use super::lists::PatchLists;
use super::memberships::Memberships;
use super::report::{AddedEdges, EdgeCounts};
use super::weigh::Scales;
use super::{
    Landmarks, OverlapBounds, Patch, PatchConfig, PatchError, PatchGraph, PatchReport, PatchSizes, Patches,
    cover, landmarks, memory, overlap, sparsify,
};
use crate::graph::Graph;
use crate::partition::{ClusterGraph, Partition, undirected};
use crate::progress::Progress;
use crate::run_dir::RunDir;
use crate::seed::{Seed, Stage};

/// What patches are made from, and how.
#[derive(Clone, Copy)]
pub struct PatchTask<'a> {
    /// The graph; direction is ignored.
    pub graph: &'a Graph,
    /// Its clusters.
    pub partition: &'a Partition,
    /// The settings.
    pub config: &'a PatchConfig,
    /// The embedding dimension, from which overlaps that are not set follow.
    pub dim: usize,
    /// The seed of chance.
    pub seed: Seed,
    /// The bytes of memory that the stage may take, mapped files not counted. What is made does not
    /// depend on it: the stage is done within the limit, or not at all.
    pub memory_limit: u64,
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
    let task = PatchTask { graph, partition, config, dim, seed, memory_limit: u64::MAX };
    let made = Made::of(&task, progress)?;
    let scales = Scales::new(&made.graph);
    let weighed = (0..made.lists.num_patches()).into_par_iter().map(|patch| scales.weigh(&made.lists, patch));
    let (patches, inside): (Vec<Patch>, Vec<usize>) = weighed.unzip();
    drop(scales);
    let (rest, report) = made.report(inside.into_iter().sum());
    progress.note(&report.copies_in_words());
    progress.end();
    Ok((Patches { patches, ..rest }, report))
}

/// The stage from graph and clusters to the run folder: patches are written as they are weighed, and
/// never all in memory. What was there before stays until all are written.
///
/// # Errors
/// [`PatchError`] as [`make_patches`], and if the folder cannot be written, or `progress` says to stop.
pub fn make_patch_files(
    run: &RunDir,
    task: &PatchTask<'_>,
    progress: &dyn Progress,
) -> Result<PatchReport, PatchError> {
    let made = Made::of(task, progress)?;
    let scales = Scales::new(&made.graph);
    progress.end();
    let inside = AtomicUsize::new(0);
    let files = PatchesToBe::write(run, made.lists.num_patches(), progress, |patch| {
        let (patch, edges_inside) = scales.weigh(&made.lists, patch);
        inside.fetch_add(edges_inside, Ordering::Relaxed);
        Cow::Owned(patch)
    })?;
    drop(scales);
    let (rest, report) = made.report(inside.into_inner());
    files.publish(rest.graph(), rest.landmarks(), &report)?;
    progress.note(&report.copies_in_words());
    progress.end();
    Ok(report)
}

/// Patches before they are weighed.
pub(super) struct Made<'a> {
    graph: Cow<'a, Graph>,
    lists: PatchLists<'a>,
    patch_graph: PatchGraph,
    /// The bounds of overlaps, over all patch edges.
    bounds: OverlapBounds,
    added: AddedEdges,
    cut_entries: usize,
    dropped_pairs: usize,
}

impl<'a> Made<'a> {
    fn of(task: &PatchTask<'a>, progress: &dyn Progress) -> Result<Self, PatchError> {
        let &PatchTask { graph, partition, config, dim, seed, memory_limit } = task;
        if partition.num_nodes() != graph.num_nodes() {
            return Err(PatchError::Length { found: partition.num_nodes(), needed: graph.num_nodes() });
        }
        config.check(dim)?;
        let of_cluster = |&size: &usize| config.bounds_within(dim, size);
        let bounds: Vec<OverlapBounds> =
            partition.sizes().iter().map(of_cluster).collect::<Result<_, _>>()?;
        let sizes = PatchSizes { largest_cut: 0, ..PatchSizes::of(graph, partition.num_clusters()) };
        memory::check(&sizes, config, dim, memory_limit)?;
        let num_landmarks =
            config.landmarks.unwrap_or(Landmarks::NONE).count(graph.num_nodes(), partition.num_clusters());
        let joined_by_landmarks = landmarks::can_join(num_landmarks, dim);
        progress.begin("patch", 5, "steps");
        let step = |name: &str| {
            progress.advance(1);
            progress.note(name);
            if progress.is_cancelled() { Err(PatchError::Cancelled) } else { Ok(()) }
        };

        let graph = undirected(graph);
        let clusters = ClusterGraph::of(&graph, partition);
        memory::check(&sizes.with_cuts(&clusters), config, dim, memory_limit)?;
        let dropped_pairs = clusters.num_dropped();
        step("sparsify")?;
        let mut random = seed.stream(Stage::Sparsify, 0);
        let mut patch_graph = sparsify::sparsify(&clusters, config.sparsify, config.degree, &mut random)?;
        let cut_entries = clusters.cut_entries();
        drop(clusters);
        let bridges = match config.bridge && !joined_by_landmarks {
            true => patch_graph.bridge(partition.sizes()),
            false => Vec::new(),
        };
        check_sizes(partition, &patch_graph, &bounds)?;
        step("overlap")?;
        let members = partition.members();
        let further = overlap::grow_all(&graph, partition, &members, &patch_graph, &bounds, seed);
        let mut lists = PatchLists::new(partition, members, further);
        step("landmarks")?;
        // Before edges are covered: those of landmarks lie in some patch then.
        lists.set_landmarks(landmarks::landmarks(&graph, num_landmarks, seed));
        let bounds = widest(&bounds, &patch_graph);
        let by_landmarks = match joined_by_landmarks {
            true => landmarks::landmark_edges(&patch_graph),
            false => Vec::new(),
        };
        patch_graph.add(&by_landmarks);
        step("cover")?;
        let budget = config.most_guests(graph.num_nodes());
        if budget > 0 {
            lists.add(&cover::guests(&graph, &lists, budget));
        }
        step("weigh")?;
        let added = AddedEdges { bridges, by_landmarks };
        Ok(Self { graph, lists, patch_graph, bounds, added, cut_entries, dropped_pairs })
    }

    /// Counts what the patches are like; `inside` are the stored edges in all of them.
    fn report(self, inside: usize) -> (Patches, PatchReport) {
        let edges = EdgeCounts {
            entries: self.graph.num_directed_edges(),
            inside,
            cut_entries: self.cut_entries,
            dropped_pairs: self.dropped_pairs,
            uncovered: cover::count_uncovered(&self.graph, &Memberships::of(&self.lists)),
        };
        let Self { lists, patch_graph, bounds, added, .. } = self;
        let report = PatchReport::of(&lists, &patch_graph, bounds, added, &edges);
        let landmarks = lists.landmarks().to_vec();
        (Patches { patches: Vec::new(), graph: patch_graph, landmarks }, report)
    }
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
