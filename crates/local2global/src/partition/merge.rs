//! Merging clusters: small ones, until each has the size that overlaps need.
//!
//! The smallest cluster joins the neighbour `j` with the largest `cut(i, j) / vol(j)`,
//! the share of the neighbour's edges that lead here; then the next smallest, until
//! enough is merged. A cluster without neighbours is a component of its own. It is left
//! alone, unless it is too small: such crumbs are packed together to clusters of usual
//! size, and what is too little even then goes with the smallest other cluster.
//!
//! Cost: one pass over the edges to find who touches whom, then `O(log p)` for each pair
//! of touching clusters that a merge concerns.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::{ClusterGraph, Partition};
use crate::graph::Graph;
use crate::linalg::disjoint_sets::DisjointSets;

/// Merges clusters until each has `min_size` nodes, or all are one.
pub(super) fn merge_small(graph: &Graph, partition: Partition, min_size: usize) -> Partition {
    if partition.sizes().iter().all(|&size| size >= min_size) {
        return partition;
    }
    let mut merger = Merger::new(&ClusterGraph::of(graph, &partition), partition.sizes());
    let mut lone = merger.merge_while(|size, _| size < min_size);
    lone.retain(|&cluster| merger.sizes[cluster as usize] < min_size);
    let usual_size = partition.num_nodes() / partition.num_clusters();
    merger.pack(lone, min_size, min_size.max(usual_size));
    merger.finish(partition)
}

/// Merges the smallest clusters until `num_clusters` are left, or none has a neighbour.
pub(super) fn merge_down_to(graph: &Graph, partition: Partition, num_clusters: usize) -> Partition {
    if partition.num_clusters() <= num_clusters {
        return partition;
    }
    let mut merger = Merger::new(&ClusterGraph::of(graph, &partition), partition.sizes());
    merger.merge_while(|_, clusters_left| clusters_left > num_clusters);
    merger.finish(partition)
}

/// Clusters while they are merged.
struct Merger {
    /// Which clusters were merged; the one that stands for them has their sums.
    merged: DisjointSets,
    sizes: Vec<usize>,
    volumes: Vec<f64>,
    /// For each cluster the weight of edges to those that touch it.
    cuts: Vec<BTreeMap<u32, f64>>,
}

impl Merger {
    fn new(clusters: &ClusterGraph, sizes: &[usize]) -> Self {
        let mut cuts = vec![BTreeMap::new(); sizes.len()];
        for edge in clusters.edges() {
            cuts[edge.a as usize].insert(edge.b, edge.cut);
            cuts[edge.b as usize].insert(edge.a, edge.cut);
        }
        let merged = DisjointSets::new(sizes.len());
        Self { merged, sizes: sizes.to_vec(), volumes: clusters.volumes().to_vec(), cuts }
    }

    /// Merges the smallest cluster as long as `wanted(its size, clusters left)`; returns
    /// the clusters that were to be merged but had no neighbour.
    fn merge_while(&mut self, wanted: impl Fn(usize, usize) -> bool) -> Vec<u32> {
        let by_size = self.sizes.iter().zip(0_u32..).map(|(&size, cluster)| Reverse((size, cluster)));
        let mut queue: BinaryHeap<_> = by_size.collect();
        let mut left = self.sizes.len();
        let mut lone = Vec::new();
        while let Some(Reverse((size, cluster))) = queue.pop() {
            let outdated = !self.merged.is_root(cluster as usize) || self.sizes[cluster as usize] != size;
            if outdated {
                continue;
            }
            if !wanted(size, left) {
                break;
            }
            let Some(target) = self.closest(cluster) else {
                lone.push(cluster);
                continue;
            };
            self.merge(cluster, target);
            left -= 1;
            queue.push(Reverse((self.sizes[target as usize], target)));
        }
        lone
    }

    /// The neighbour with the largest share of edges to this cluster; the first of several.
    fn closest(&self, cluster: u32) -> Option<u32> {
        let share = |(&other, &cut): (&u32, &f64)| (cut / self.volumes[other as usize], Reverse(other));
        let shares = self.cuts[cluster as usize].iter().map(share);
        shares.max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, Reverse(other))| other)
    }

    fn merge(&mut self, cluster: u32, target: u32) {
        self.merged.join_into(cluster as usize, target as usize);
        self.sizes[target as usize] += self.sizes[cluster as usize];
        self.volumes[target as usize] += self.volumes[cluster as usize];
        for (other, cut) in std::mem::take(&mut self.cuts[cluster as usize]) {
            self.cuts[other as usize].remove(&cluster);
            if other != target {
                *self.cuts[other as usize].entry(target).or_default() += cut;
                *self.cuts[target as usize].entry(other).or_default() += cut;
            }
        }
    }

    /// Joins clusters, in their order, to groups of at least `size` nodes; the last group may be
    /// smaller, but not below `min_size` as long as there is another cluster to go with.
    fn pack(&mut self, mut lone: Vec<u32>, min_size: usize, size: usize) {
        lone.sort_unstable();
        let (mut full, mut open) = (None, None);
        for cluster in lone {
            match open {
                None => open = Some(cluster),
                Some(target) => self.merge(cluster, target),
            }
            if let Some(target) = open.filter(|&target| self.sizes[target as usize] >= size) {
                (full, open) = (Some(target), None);
            }
        }
        let Some(rest) = open else { return };
        let is_small = self.sizes[rest as usize] < min_size;
        if let Some(target) = full.or_else(|| self.smallest_beside(rest).filter(|_| is_small)) {
            self.merge(rest, target);
        }
    }

    /// The smallest cluster but the given one; the first of several.
    fn smallest_beside(&self, cluster: u32) -> Option<u32> {
        let others = (0..self.sizes.len() as u32)
            .filter(|&other| other != cluster && self.merged.is_root(other as usize));
        others.min_by_key(|&other| self.sizes[other as usize])
    }

    fn finish(mut self, partition: Partition) -> Partition {
        let merged = |&old: &u32| self.merged.root(old as usize) as u32;
        Partition::from_labels(partition.clusters.iter().map(merged).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};

    fn graph(edges: &[[u32; 2]], num_nodes: usize) -> Graph {
        build(EdgeList::from_pairs(edges.to_vec()), num_nodes, &BuildOptions::default()).graph
    }

    #[test]
    fn a_small_cluster_joins_the_neighbour_with_the_largest_share() {
        // Node 0 has one edge to a triangle and two to a clique of five.
        let mut edges = vec![[0, 1], [1, 2], [2, 3], [3, 1], [0, 4], [0, 5]];
        edges.extend((4..9).flat_map(|a| (4..a).map(move |b| [a, b])));
        let labels = vec![0, 1, 1, 1, 2, 2, 2, 2, 2];
        let merged = merge_small(&graph(&edges, 9), Partition::from_labels(labels), 2);
        // 1 of the triangle's 7 edge ends, 2 of the clique's 22.
        assert_eq!(merged.clusters(), [0, 0, 0, 0, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn merging_goes_on_until_all_are_large_enough() {
        let path: Vec<[u32; 2]> = (1..20).map(|node| [node - 1, node]).collect();
        let merged = merge_small(&graph(&path, 20), Partition::from_labels((0..20).collect()), 6);
        assert!(merged.sizes().iter().all(|&size| size >= 6), "{:?}", merged.sizes());
        assert!(merged.num_clusters() > 1);
    }

    #[test]
    fn crumbs_are_packed_together_and_nothing_else_is_linked() {
        // A path of four and five isolated nodes.
        let graph = graph(&[[0, 1], [1, 2], [2, 3]], 9);
        let labels = vec![0, 0, 1, 1, 2, 3, 4, 5, 6];
        let merged = merge_small(&graph, Partition::from_labels(labels), 2);
        assert_eq!(merged.clusters(), [0, 0, 1, 1, 2, 2, 3, 3, 3]);
        let alone = merge_small(&graph, Partition::from_labels(vec![0, 0, 0, 0, 1, 1, 1, 1, 1]), 9);
        assert_eq!(alone.num_clusters(), 1);
    }

    #[test]
    fn crumbs_that_do_not_suffice_go_with_the_smallest_cluster() {
        // A path of three clusters, a component of two nodes and a lone one.
        let mut edges: Vec<[u32; 2]> = (1..12).map(|node| [node - 1, node]).collect();
        edges.push([12, 13]);
        let labels = vec![0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4];
        let merged = merge_small(&graph(&edges, 15), Partition::from_labels(labels), 3);
        // The lone node goes with the pair; three nodes are enough.
        assert_eq!(merged.clusters(), [0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3]);
        let labels = vec![0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3];
        let merged = merge_small(&graph(&edges, 14), Partition::from_labels(labels), 3);
        assert_eq!(merged.clusters(), [0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 1, 1]);
    }

    #[test]
    fn a_number_of_clusters_can_be_reached() {
        let path: Vec<[u32; 2]> = (1..20).map(|node| [node - 1, node]).collect();
        let merged = merge_down_to(&graph(&path, 20), Partition::from_labels((0..20).collect()), 4);
        assert_eq!(merged.num_clusters(), 4);
    }
}
