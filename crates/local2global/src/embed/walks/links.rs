//! The weight of the edges between clusters, `C = SᵀAS`, as a full matrix.
//!
//! Cost: that of [`ClusterGraph`], and `8 K²` bytes.

use crate::graph::{Graph, NodeId};
use crate::partition::{ClusterGraph, Partition, undirected};

/// How much weight joins each two clusters; an edge inside a cluster counts twice, a loop once.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterLinks {
    num_clusters: usize,
    weights: Vec<f64>,
}

impl ClusterLinks {
    /// Adds up the edges of a graph; direction is ignored.
    ///
    /// # Panics
    /// If the clusters are those of another graph.
    pub fn of(graph: &Graph, clusters: &Partition) -> Self {
        assert_eq!(graph.num_nodes(), clusters.num_nodes(), "every node has a cluster");
        let touching = ClusterGraph::of(&undirected(graph), clusters);
        let num_clusters = touching.num_clusters();
        let mut inside = touching.volumes().to_vec();
        let mut weights = vec![0.0; num_clusters * num_clusters];
        for edge in touching.edges() {
            for (from, to) in [(edge.a as usize, edge.b as usize), (edge.b as usize, edge.a as usize)] {
                weights[from * num_clusters + to] = edge.cut;
                inside[from] -= edge.cut;
            }
        }
        for (cluster, inside) in inside.into_iter().enumerate() {
            // Rounding may leave less than nothing where all edges lead outside.
            weights[cluster * (num_clusters + 1)] = inside.max(0.0);
        }
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
            let entry = &mut self.weights[from as usize * self.num_clusters + to as usize];
            *entry = (*entry - weight).max(0.0);
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
