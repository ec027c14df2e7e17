//! Which patches may be aligned with each other, and how strongly clusters touch.
//!
//! Clusters are adjacent if an edge joins them. An edge of the patch graph weighs by its
//! conductance,
//!
//! ```text
//! c(i, j) = cut(i, j) / min(vol(i), vol(j)).
//! ```
//!
//! Cost: `O(1)` for each pair of touching clusters.

use super::PatchId;
use crate::linalg::disjoint_sets::DisjointSets;
use crate::partition::ClusterGraph;

/// The patches that are joined, and may be aligned with each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchGraph {
    num_patches: usize,
    edges: Vec<[PatchId; 2]>,
}

impl PatchGraph {
    /// A patch graph from its edges, in any order.
    ///
    /// # Panics
    /// If an edge joins a patch with itself or names one that does not exist.
    pub fn new(num_patches: usize, edges: impl IntoIterator<Item = [PatchId; 2]>) -> Self {
        let ordered = |[a, b]: [PatchId; 2]| {
            assert!(a != b && a.index().max(b.index()) < num_patches, "patch edges join two patches");
            [a.min(b), a.max(b)]
        };
        let mut edges: Vec<_> = edges.into_iter().map(ordered).collect();
        edges.sort_unstable();
        edges.dedup();
        Self { num_patches, edges }
    }

    /// The number of patches.
    pub fn num_patches(&self) -> usize {
        self.num_patches
    }

    /// The pairs of joined patches, each once, ascending.
    pub fn edges(&self) -> &[[PatchId; 2]] {
        &self.edges
    }

    /// The mean number of patches a patch is joined with.
    pub fn mean_degree(&self) -> f64 {
        2.0 * self.edges.len() as f64 / self.num_patches.max(1) as f64
    }

    /// The number of patches each patch is joined with.
    pub fn degrees(&self) -> Vec<usize> {
        let mut degrees = vec![0; self.num_patches];
        self.edges.iter().flatten().for_each(|patch| degrees[patch.index()] += 1);
        degrees
    }

    /// The patches each patch is joined with, ascending.
    pub fn neighbors(&self) -> Vec<Vec<PatchId>> {
        let mut neighbors = vec![Vec::new(); self.num_patches];
        for &[a, b] in &self.edges {
            neighbors[a.index()].push(b);
            neighbors[b.index()].push(a);
        }
        neighbors.iter_mut().for_each(|list| list.sort_unstable());
        neighbors
    }

    /// The groups of patches that are joined directly or through others, each
    /// ascending, by their first patch.
    ///
    /// # Examples
    /// ```
    /// use local2global::patch::{PatchGraph, PatchId};
    ///
    /// let graph = PatchGraph::new(4, [[PatchId(0), PatchId(2)], [PatchId(3), PatchId(1)]]);
    /// assert_eq!(graph.groups(), [[PatchId(0), PatchId(2)], [PatchId(1), PatchId(3)]]);
    /// ```
    pub fn groups(&self) -> Vec<Vec<PatchId>> {
        let mut sets = DisjointSets::<u32>::new(self.num_patches);
        self.edges.iter().for_each(|&[a, b]| _ = sets.join(a.0 as usize, b.0 as usize));
        let (labels, sizes) = sets.into_labels();
        let mut groups = vec![Vec::new(); sizes.len()];
        for (patch, &group) in (0..).zip(&labels) {
            groups[group as usize].push(PatchId(patch));
        }
        groups
    }

    /// Joins the largest patch of the largest group with the largest patch of every
    /// other group, by the given sizes; returns the new edges.
    pub(super) fn bridge(&mut self, sizes: &[usize]) -> Vec<[PatchId; 2]> {
        let groups = self.groups();
        let largest_patch = |group: &Vec<PatchId>| {
            let by_size = |patch: &&PatchId| (sizes[patch.index()], std::cmp::Reverse(**patch));
            *group.iter().max_by_key(by_size).expect("a group has a patch")
        };
        let group_size = |group: &Vec<PatchId>| group.iter().map(|patch| sizes[patch.index()]).sum::<usize>();
        let Some(hub) = groups.iter().rev().max_by_key(|group| group_size(group)).map(largest_patch) else {
            return Vec::new();
        };
        let apart = groups.iter().filter(|group| !group.contains(&hub));
        let bridges: Vec<_> = apart.map(|group| [hub, largest_patch(group)]).collect();
        self.add(&bridges);
        bridges
    }

    /// Adds edges.
    pub(super) fn add(&mut self, edges: &[[PatchId; 2]]) {
        *self = Self::new(self.num_patches, self.edges.iter().chain(edges).copied());
    }
}

/// The conductance of each edge of the cluster graph, in its order.
///
/// # Examples
/// ```
/// use local2global::graph::{BuildOptions, EdgeList, build};
/// use local2global::partition::{ClusterGraph, Partition};
/// use local2global::patch::patch_graph::conductances;
///
/// let path = EdgeList::from_pairs(vec![[0_u32, 1], [1, 2], [2, 3], [3, 4]]);
/// let graph = build(path, 5, &BuildOptions::default()).graph;
/// let clusters = ClusterGraph::of(&graph, &Partition::from_labels(vec![0, 0, 1, 1, 1]));
/// assert_eq!(conductances(&clusters), [1.0 / 3.0]);
/// ```
pub fn conductances(clusters: &ClusterGraph) -> Vec<f64> {
    let volumes = clusters.volumes();
    let smaller = |a: u32, b: u32| volumes[a as usize].min(volumes[b as usize]);
    clusters.edges().iter().map(|edge| edge.cut / smaller(edge.a, edge.b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(pairs: &[[u32; 2]]) -> Vec<[PatchId; 2]> {
        pairs.iter().map(|pair| pair.map(PatchId)).collect()
    }

    #[test]
    fn edges_are_ordered_and_count_once() {
        let graph = PatchGraph::new(3, edges(&[[2, 0], [0, 1], [0, 2]]));
        assert_eq!(graph.edges(), edges(&[[0, 1], [0, 2]]));
        assert_eq!(graph.degrees(), [2, 1, 1]);
        assert_eq!(graph.neighbors()[0], [PatchId(1), PatchId(2)]);
    }

    #[test]
    fn bridges_join_the_largest_patches_of_all_groups() {
        let mut graph = PatchGraph::new(5, edges(&[[0, 1], [2, 3]]));
        let bridges = graph.bridge(&[1, 2, 9, 3, 1]);
        assert_eq!(bridges, edges(&[[2, 1], [2, 4]]));
        assert_eq!(graph.groups().len(), 1);
    }
}
