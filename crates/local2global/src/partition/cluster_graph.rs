//! Which clusters touch, how many edges join them, and how many begin in each.
//!
//! ```text
//! cut(i, j) = weight of the edges between clusters i and j
//! vol(i)    = weight of the edges that begin in cluster i, both ends counted
//! ```
//!
//! Without weights every edge weighs 1. One pass over the edges: each thread takes a
//! cluster, adds up its nodes' rows by the cluster at the other end, and keeps the pairs
//! with a larger number. Sums go in node order, so they do not depend on threads.
//!
//! Where a share of the edges is random, nearly all of many clusters touch: 50 000 make 1.2 billion
//! pairs, most of them by an edge or two. So above 2²² pairs only the heaviest of each cluster are kept,
//! by conductance, as many as make about 2²² and at least 64; and with them what keeps clusters joined
//! that were (the heaviest edges of Borůvka's spanning forest). Volumes and the number of cut edges stay
//! exact. This depends on the clusters alone, not on the memory that is there.
//!
//! Cost: `O(n + m)` time, twice where pairs are dropped; 16 bytes a pair that is kept, and 8 bytes a
//! cluster and thread; never `p x p`. Rows are read cluster by cluster, which is in the order of the
//! disk as far as nodes of a cluster lie together.

use rayon::prelude::*;

use super::{Members, Partition};
use crate::graph::{Graph, NodeId};
use crate::linalg::disjoint_sets::DisjointSets;

/// Two clusters that touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterEdge {
    /// The cluster with the smaller number.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// The weight of the edges that join them.
    pub cut: f64,
}

impl ClusterEdge {
    /// The share of the edges of the smaller of both that join them.
    fn conductance(&self, volumes: &[f64]) -> f64 {
        self.cut / volumes[self.a as usize].min(volumes[self.b as usize])
    }
}

/// The graph of clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterGraph {
    volumes: Vec<f64>,
    edges: Vec<ClusterEdge>,
    cut_entries: usize,
    largest_cut: usize,
    num_touching: usize,
}

/// How many pairs are kept.
#[derive(Clone, Copy, Debug)]
struct Pairs {
    /// All, if there are no more than this.
    most: usize,
    /// Otherwise this many of each cluster at least.
    least_each: usize,
}

/// What is kept of any graph.
const PAIRS: Pairs = Pairs { most: 1 << 22, least_each: 64 };

/// The edges of one cluster's nodes, added up.
struct Row {
    volume: f64,
    /// To all other clusters, ascending.
    cuts: Vec<ClusterEdge>,
    cut_entries: usize,
}

/// What rows are added up from.
struct Rows<'a> {
    graph: &'a Graph,
    partition: &'a Partition,
    members: Members,
}

/// What a thread needs to add up rows.
struct Scratch {
    sums: Vec<f64>,
    touched: Vec<u32>,
}

/// The number of stored edges of an undirected graph that lead to another cluster; twice the cut edges.
pub fn cut_entries(graph: &Graph, partition: &Partition) -> usize {
    let clusters = partition.clusters();
    let of_row = |from: NodeId| {
        graph.neighbors(from).filter(|to| clusters[to.index()] != clusters[from.index()]).count()
    };
    (0..graph.num_nodes()).into_par_iter().with_min_len(1 << 10).map(NodeId::new).map(of_row).sum()
}

impl ClusterGraph {
    /// Finds the clusters of an undirected graph that touch.
    ///
    /// # Examples
    /// ```
    /// use local2global::graph::{BuildOptions, EdgeList, build};
    /// use local2global::partition::{ClusterGraph, Partition};
    ///
    /// let path = EdgeList::from_pairs(vec![[0_u32, 1], [1, 2], [2, 3]]);
    /// let graph = build(path, 4, &BuildOptions::default()).graph;
    /// let halves = ClusterGraph::of(&graph, &Partition::from_labels(vec![0, 0, 1, 1]));
    /// assert_eq!(halves.edges()[0].cut, 1.0);
    /// assert_eq!(halves.volumes(), [3.0, 3.0]);
    /// ```
    pub fn of(graph: &Graph, partition: &Partition) -> Self {
        Self::keeping(graph, partition, PAIRS)
    }

    fn keeping(graph: &Graph, partition: &Partition, pairs: Pairs) -> Self {
        let num_clusters = partition.num_clusters();
        let rows = Rows { graph, partition, members: partition.members() };
        let mut found = Self {
            volumes: Vec::with_capacity(num_clusters),
            edges: Vec::new(),
            cut_entries: 0,
            largest_cut: 0,
            num_touching: 0,
        };
        let mut joined = DisjointSets::<u32>::new(num_clusters);
        rows.for_each(|cluster, row| {
            found.volumes.push(row.volume);
            found.cut_entries += row.cut_entries;
            found.largest_cut = found.largest_cut.max(row.cut_entries);
            let later = &row.cuts[row.cuts.partition_point(|edge| edge.a < cluster)..];
            later.iter().for_each(|edge| _ = joined.join(edge.a as usize, edge.b as usize));
            found.num_touching += later.len();
            match found.num_touching <= pairs.most {
                true => found.edges.extend_from_slice(later),
                false => found.edges = Vec::new(),
            }
        });
        if found.num_touching > pairs.most {
            let each = (pairs.most / num_clusters).max(pairs.least_each);
            found.keep_heaviest(&rows, each, joined.into_labels().1.len());
        }
        found
    }

    /// Finds the heaviest pairs of each cluster, and those that join clusters to no more than
    /// `num_groups` groups.
    fn keep_heaviest(&mut self, rows: &Rows<'_>, each: usize, num_groups: usize) {
        let Self { volumes, edges, .. } = self;
        let heavier = |a: &ClusterEdge, b: &ClusterEdge| {
            let by_weight = b.conductance(volumes).total_cmp(&a.conductance(volumes));
            by_weight.then((a.a, a.b).cmp(&(b.a, b.b)))
        };
        rows.for_each(|_, mut row| {
            if row.cuts.len() > each {
                row.cuts.select_nth_unstable_by(each, heavier);
                row.cuts.truncate(each);
            }
            edges.extend_from_slice(&row.cuts);
        });
        let mut groups = DisjointSets::<u32>::new(volumes.len());
        edges.iter().for_each(|edge| _ = groups.join(edge.a as usize, edge.b as usize));
        loop {
            let roots: Vec<usize> = (0..volumes.len()).map(|cluster| groups.root(cluster)).collect();
            if roots.iter().enumerate().filter(|&(cluster, &root)| cluster == root).count() <= num_groups {
                break;
            }
            let mut leaving: Vec<Option<ClusterEdge>> = vec![None; volumes.len()];
            rows.for_each(|cluster, row| {
                let best = &mut leaving[roots[cluster as usize]];
                let outward = row.cuts.into_iter().filter(|e| roots[e.a as usize] != roots[e.b as usize]);
                *best = best.take().into_iter().chain(outward).min_by(heavier);
            });
            let new = leaving.into_iter().flatten();
            edges.extend(new.filter(|edge| groups.join(edge.a as usize, edge.b as usize)));
        }
        // Stable, so that of the two sums of a pair that of the first cluster comes first.
        edges.sort_by_key(|edge| (edge.a, edge.b));
        edges.dedup_by_key(|edge| (edge.a, edge.b));
    }

    /// The number of clusters.
    pub fn num_clusters(&self) -> usize {
        self.volumes.len()
    }

    /// The weight of the edges that begin in each cluster.
    pub fn volumes(&self) -> &[f64] {
        &self.volumes
    }

    /// The pairs of clusters that touch, ascending; of very many the heaviest.
    pub fn edges(&self) -> &[ClusterEdge] {
        &self.edges
    }

    /// The number of stored edges that lead to another cluster; twice the cut edges.
    pub fn cut_entries(&self) -> usize {
        self.cut_entries
    }

    /// The number of stored edges that leave the cluster with most of them.
    pub(crate) fn largest_cut(&self) -> usize {
        self.largest_cut
    }

    /// The most pairs that are kept of so many clusters.
    pub(crate) fn most_pairs(num_clusters: usize) -> u64 {
        let clusters = num_clusters as u64;
        (PAIRS.most as u64).max(PAIRS.least_each as u64 * clusters).min(clusters * clusters / 2)
    }

    /// The number of pairs of clusters that touch but were too many to keep.
    pub fn num_dropped(&self) -> usize {
        self.num_touching - self.edges.len()
    }
}

impl Rows<'_> {
    /// Adds up all rows, in parallel, and hands them over in their order.
    fn for_each(&self, mut take: impl FnMut(u32, Row)) {
        let num_clusters = self.partition.num_clusters();
        // As many as have some millions of sums.
        let at_once = (PAIRS.most / num_clusters.max(1)).clamp(64, 1 << 10);
        for start in (0..num_clusters).step_by(at_once) {
            let clusters = start as u32..(start + at_once).min(num_clusters) as u32;
            let scratch = || Scratch { sums: vec![0.0; num_clusters], touched: Vec::new() };
            let rows: Vec<Row> = clusters
                .clone()
                .into_par_iter()
                .map_init(scratch, |scratch, cluster| scratch.row(self, cluster))
                .collect();
            clusters.zip(rows).for_each(|(cluster, row)| take(cluster, row));
        }
    }
}

impl Scratch {
    fn row(&mut self, rows: &Rows<'_>, cluster: u32) -> Row {
        let (graph, clusters) = (rows.graph, rows.partition.clusters());
        let mut cut_entries = 0;
        for node in rows.members.of(cluster) {
            let weights = graph.neighbor_weights(node);
            for (position, to) in graph.neighbors(node).enumerate() {
                let other = clusters[to.index()];
                cut_entries += usize::from(other != cluster);
                let sum = &mut self.sums[other as usize];
                if *sum == 0.0 {
                    self.touched.push(other);
                }
                *sum += weights.map_or(1.0, |weights| f64::from(weights[position]));
            }
        }
        self.touched.sort_unstable();
        let volume = self.touched.iter().map(|&other| self.sums[other as usize]).sum();
        let others = self.touched.iter().filter(|&&other| other != cluster);
        let cut_to = |&other: &u32| ClusterEdge {
            a: cluster.min(other),
            b: cluster.max(other),
            cut: self.sums[other as usize],
        };
        let cuts = others.map(cut_to).collect();
        self.touched.drain(..).for_each(|other| self.sums[other as usize] = 0.0);
        Row { volume, cuts, cut_entries }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::edge_list::EdgeChunk;
    use crate::graph::{BuildOptions, EdgeList, build};

    #[test]
    fn cuts_and_volumes_add_up_weights() {
        let mut list = EdgeList::new();
        let pairs = vec![[0_u32, 1], [0, 2], [1, 2], [2, 3]];
        list.push(EdgeChunk { pairs, weights: vec![1.0, 2.0, 4.0, 8.0] });
        let graph = build(list, 5, &BuildOptions::default()).graph;
        let clusters = ClusterGraph::of(&graph, &Partition::from_labels(vec![0, 0, 1, 2, 3]));
        let found: Vec<_> = clusters.edges().iter().map(|edge| (edge.a, edge.b, edge.cut)).collect();
        assert_eq!(found, [(0, 1, 6.0), (1, 2, 8.0)]);
        assert_eq!(clusters.volumes(), [8.0, 14.0, 8.0, 0.0]);
        assert_eq!((clusters.cut_entries(), clusters.num_dropped()), (6, 0));
    }

    #[test]
    fn of_too_many_pairs_the_heaviest_of_each_cluster_are_kept_and_all_stay_joined() {
        // Clusters of four nodes: two rings of 20 clusters with heavy edges, all pairs within each
        // touching lightly, and one light edge between the rings.
        let mut list = EdgeList::new();
        let mut add = |a: u32, b: u32, weight: f32| {
            list.push(EdgeChunk { pairs: vec![[4 * a + b % 4, 4 * b + a % 4]], weights: vec![weight] });
        };
        for ring in [0, 20] {
            for a in 0..20 {
                (a + 1..20).for_each(|b| add(ring + a, ring + b, 0.01 + 0.001 * b as f32));
                add(ring + a, ring + (a + 1) % 20, 5.0);
            }
        }
        add(3, 33, 0.001);
        let graph = build(list, 160, &BuildOptions::default()).graph;
        let partition = Partition::from_labels((0..160).map(|node| node / 4).collect());
        let all = ClusterGraph::of(&graph, &partition);
        assert_eq!(all.edges().len(), 381);
        let some = ClusterGraph::keeping(&graph, &partition, Pairs { most: 100, least_each: 2 });
        assert_eq!((some.volumes(), some.cut_entries()), (all.volumes(), all.cut_entries()));
        assert_eq!(some.num_dropped(), 381 - some.edges().len());
        assert!((41..=81).contains(&some.edges().len()));
        assert!(some.edges().is_sorted_by_key(|edge| (edge.a, edge.b)));
        let is_kept = |a, b| some.edges().iter().any(|edge| (edge.a, edge.b) == (a, b));
        assert!((0..19).all(|a| is_kept(a, a + 1) && is_kept(20 + a, 21 + a)) && is_kept(3, 33));
        assert!(some.edges().iter().all(|edge| all.edges().contains(edge)));
    }
}
