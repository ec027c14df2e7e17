//! The weight of the edges between clusters, `C = SᵀAS`.
//!
//! Each row is summed by one thread in the order of the nodes, so the bytes do not depend on
//! the number of threads. Cost: `O(m + K²)` time, `8 K²` bytes.

use rayon::prelude::*;

use crate::graph::{Graph, NodeId};
use crate::partition::{Partition, undirected};

/// How much weight joins each two clusters; an edge inside a cluster counts twice.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterLinks {
    num_clusters: usize,
    weights: Vec<f64>,
}

impl ClusterLinks {
    /// Counts the edges of a graph; direction is ignored.
    ///
    /// # Panics
    /// If the clusters are those of another graph.
    pub fn of(graph: &Graph, clusters: &Partition) -> Self {
        assert_eq!(graph.num_nodes(), clusters.num_nodes(), "every node has a cluster");
        let graph = &*undirected(graph);
        let num_clusters = clusters.num_clusters();
        let members = clusters.members();
        let mut weights = vec![0.0; num_clusters * num_clusters];
        weights.par_chunks_mut(num_clusters.max(1)).enumerate().for_each(|(cluster, row)| {
            for &node in members.of(cluster as u32) {
                for_each_neighbor(graph, node, |neighbor, weight| {
                    row[clusters.cluster_of(neighbor) as usize] += f64::from(weight);
                });
            }
        });
        Self { num_clusters, weights }
    }

    /// The number of clusters.
    pub fn num_clusters(&self) -> usize {
        self.num_clusters
    }

    /// The weights between one cluster and all others.
    pub fn row(&self, cluster: usize) -> &[f64] {
        &self.weights[cluster * self.num_clusters..][..self.num_clusters]
    }

    /// Takes an edge between nodes of two clusters away.
    pub(super) fn remove(&mut self, a: u32, b: u32, weight: f64) {
        for (from, to) in [(a, b), (b, a)] {
            self.weights[from as usize * self.num_clusters + to as usize] -= weight;
        }
    }
}

/// Calls `body` with each neighbour of a node and the weight of the edge.
#[inline(always)]
pub(super) fn for_each_neighbor(graph: &Graph, node: NodeId, mut body: impl FnMut(NodeId, f32)) {
    match graph.neighbor_weights(node) {
        None => graph.neighbors(node).for_each(|neighbor| body(neighbor, 1.0)),
        Some(weights) => {
            graph.neighbors(node).zip(weights).for_each(|(neighbor, &weight)| body(neighbor, weight));
        }
    }
}
