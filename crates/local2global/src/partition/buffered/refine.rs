//! Passes over the graph that move single nodes to where more of their neighbours are.
//!
//! A node moves if that makes the cut lighter, or leaves it as it is and sizes more even, and if
//! there is room. A cluster above the limit sends its nodes away until it is not: one pass is enough.
//!
//! Cost: `O(n + m)` time a pass; 4 bytes a node, some 16 a cluster.

use super::super::PartitionError;
use super::super::cluster_sums::ClusterSums;
use super::super::loads::Loads;
use super::super::rows::{GraphRows, ReadAhead, Steps};
use crate::graph::NodeIndex;

/// Clusters while nodes move between them.
pub(super) struct Refinement<'a, I> {
    rows: GraphRows<'a, I>,
    /// The cluster of each node.
    clusters: Vec<u32>,
    loads: Loads,
    /// The most nodes of a cluster.
    limit: u32,
    /// The weight of the current node's edges into each cluster.
    sums: ClusterSums<f32>,
}

impl<'a, I: NodeIndex> Refinement<'a, I> {
    /// Begins with these clusters, of any size.
    pub(super) fn new(rows: GraphRows<'a, I>, clusters: Vec<u32>, num_clusters: usize, limit: u32) -> Self {
        let mut sizes = vec![0_u32; num_clusters];
        clusters.iter().for_each(|&cluster| sizes[cluster as usize] += 1);
        let largest = sizes.iter().max().copied().unwrap_or(0);
        let mut loads = Loads::new(num_clusters, largest.max(limit));
        clusters.iter().for_each(|&cluster| loads.add(cluster));
        Self { rows, clusters, loads, limit, sums: ClusterSums::new(num_clusters) }
    }

    /// Gives every empty cluster a node of one that is larger than the mean.
    pub(super) fn fill_empty(&mut self) {
        let mean = self.clusters.len() / self.loads.num_clusters();
        for node in 0..self.clusters.len() {
            let empty = self.loads.smallest();
            if self.loads.size(empty) > 0 {
                break;
            }
            if self.loads.size(self.clusters[node]) as usize > mean {
                self.move_to(node, empty);
            }
        }
    }

    /// Looks at every node once; gives how many have moved.
    pub(super) fn pass(&mut self, steps: Steps<'_>) -> Result<usize, PartitionError> {
        let (mut moved, mut ahead) = (0, ReadAhead::new());
        steps.for_each(|node| {
            ahead.prepare(&self.rows, node, |to| self.clusters[to]);
            let best = self.best_for(node);
            if best != self.clusters[node] {
                self.move_to(node, best);
                moved += 1;
            }
        })?;
        Ok(moved)
    }

    /// The cluster of each node.
    pub(super) fn into_clusters(self) -> Vec<u32> {
        self.clusters
    }

    fn move_to(&mut self, node: usize, cluster: u32) {
        self.loads.remove(self.clusters[node]);
        self.loads.add(cluster);
        self.clusters[node] = cluster;
    }

    /// The cluster that a node should be in.
    #[inline]
    fn best_for(&mut self, node: usize) -> u32 {
        let own = self.clusters[node];
        let own_size = self.loads.size(own);
        self.collect(node);
        let must_leave = own_size > self.limit;
        // Another cluster wins against none, or against the smallest, where the node cannot stay.
        let mut best = if must_leave { self.loads.smallest() } else { own };
        let mut most = self.sums.of(best);
        if own_size > 1 {
            for (cluster, sum) in self.sums.iter().filter(|&(cluster, _)| cluster != own) {
                let size = self.loads.size(cluster);
                let evener = sum == most && size + 1 < self.loads.size(best);
                if size < self.limit && (sum > most || evener) {
                    (best, most) = (cluster, sum);
                }
            }
        }
        self.sums.clear();
        best
    }

    /// Adds up the node's edges by cluster.
    #[inline]
    fn collect(&mut self, node: usize) {
        let Self { rows, clusters, sums, .. } = self;
        rows.for_each_neighbor(node, |to, weight| sums.add(clusters[to], weight));
    }
}
