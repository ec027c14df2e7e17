//! The weight of one node's edges into each cluster.
//!
//! A vector as long as there are clusters, and a list of those that are not zero: clearing it costs
//! what filling it did, however many clusters there are.

use std::ops::AddAssign;

/// Sums by cluster, for one node at a time.
#[derive(Debug)]
pub(super) struct ClusterSums<T> {
    /// Zero between nodes.
    sums: Vec<T>,
    /// The clusters whose sum is not zero, in the order in which they were met.
    touched: Vec<u32>,
}

impl<T: Copy + Default + PartialEq + AddAssign> ClusterSums<T> {
    pub(super) fn new(num_clusters: usize) -> Self {
        Self { sums: vec![T::default(); num_clusters], touched: Vec::new() }
    }

    #[inline]
    pub(super) fn add(&mut self, cluster: u32, weight: T) {
        let sum = &mut self.sums[cluster as usize];
        if *sum == T::default() {
            self.touched.push(cluster);
        }
        *sum += weight;
    }

    #[inline]
    pub(super) fn of(&self, cluster: u32) -> T {
        self.sums[cluster as usize]
    }

    /// The clusters that something was added to, with their sums.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, T)> {
        self.touched.iter().map(|&cluster| (cluster, self.of(cluster)))
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        let Self { sums, touched } = self;
        touched.drain(..).for_each(|cluster| sums[cluster as usize] = T::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_listed_once_and_cleared() {
        let mut sums = ClusterSums::new(4);
        for (cluster, weight) in [(2, 1.0), (0, 0.5), (2, 2.0)] {
            sums.add(cluster, weight);
        }
        assert_eq!(sums.iter().collect::<Vec<_>>(), [(2, 3.0), (0, 0.5)]);
        sums.clear();
        assert_eq!((sums.iter().count(), sums.of(2)), (0, 0.0));
    }
}
