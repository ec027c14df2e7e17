//! The sizes of clusters while nodes come and go, and which cluster is the smallest.
//!
//! Clusters stand in an array ordered by size. A change by one node swaps a cluster
//! with the border of its run of equal sizes: `O(1)` a step, `O(p + cap)` memory.

/// The sizes of all clusters, none above a cap.
#[derive(Debug)]
pub(super) struct Loads {
    sizes: Vec<u32>,
    /// Clusters, ascending by size.
    order: Vec<u32>,
    /// Where each cluster stands in `order`.
    position: Vec<u32>,
    /// How many clusters are smaller than a size: where its run begins in `order`.
    run_start: Vec<u32>,
}

impl Loads {
    /// Empty clusters, to be filled with at most `cap` nodes each.
    pub(super) fn new(num_clusters: usize, cap: u32) -> Self {
        let clusters: Vec<u32> = (0..num_clusters as u32).collect();
        let mut run_start = vec![num_clusters as u32; cap as usize + 2];
        run_start[0] = 0;
        Self { sizes: vec![0; num_clusters], order: clusters.clone(), position: clusters, run_start }
    }

    /// The number of clusters.
    pub(super) fn num_clusters(&self) -> usize {
        self.sizes.len()
    }

    /// The number of nodes of a cluster.
    #[inline]
    pub(super) fn size(&self, cluster: u32) -> u32 {
        self.sizes[cluster as usize]
    }

    /// A cluster with the fewest nodes.
    #[inline]
    pub(super) fn smallest(&self) -> u32 {
        self.order[0]
    }

    /// A node joins a cluster that is below the cap.
    #[inline]
    pub(super) fn add(&mut self, cluster: u32) {
        let size = self.sizes[cluster as usize];
        // To the end of its run, which then is the beginning of the next.
        self.run_start[size as usize + 1] -= 1;
        self.swap_to(cluster, self.run_start[size as usize + 1]);
        self.sizes[cluster as usize] = size + 1;
    }

    /// A node leaves a cluster.
    #[inline]
    pub(super) fn remove(&mut self, cluster: u32) {
        let size = self.sizes[cluster as usize];
        self.swap_to(cluster, self.run_start[size as usize]);
        self.run_start[size as usize] += 1;
        self.sizes[cluster as usize] = size - 1;
    }

    fn swap_to(&mut self, cluster: u32, target: u32) {
        let source = self.position[cluster as usize];
        let other = self.order[target as usize];
        self.order.swap(source as usize, target as usize);
        self.position[cluster as usize] = target;
        self.position[other as usize] = source;
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::seed::{Seed, Stage};

    #[test]
    fn the_smallest_cluster_is_always_known() {
        let mut random = Seed(1).stream(Stage::Partition, 0);
        let (num_clusters, cap) = (7, 9);
        let mut loads = Loads::new(num_clusters, cap);
        for step in 0..5000 {
            let cluster = random.random_range(0..num_clusters as u32);
            match random.random_bool(0.55) {
                true if loads.size(cluster) < cap => loads.add(cluster),
                false if loads.size(cluster) > 0 => loads.remove(cluster),
                _ => {}
            }
            let least = (0..num_clusters as u32).map(|cluster| loads.size(cluster)).min().unwrap();
            assert_eq!(loads.size(loads.smallest()), least, "step {step}");
            assert!(loads.order.is_sorted_by_key(|&cluster| loads.size(cluster)), "step {step}");
        }
    }
}
