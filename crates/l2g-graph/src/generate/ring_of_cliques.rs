//! Complete graphs in a ring: communities nobody can miss.
//!
//! Clique `i` has the nodes `i·k .. (i+1)·k`, all joined to each other. Its last node
//! is joined to the first node of the next clique, and, from three cliques on, the
//! last clique to the first. So there are exactly `c·k(k-1)/2 + c` edges. Nothing is
//! random but the features.
//!
//! Cost: `O(m)` time, `O(n)` memory for the labels.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    ClassFeatures, EdgeSource, FeatureSource, GenerateError, Generator, SyntheticGraph, check, check_nodes,
    rows_per_chunk,
};
use crate::graph::Labels;
use crate::seed::Seed;

/// Settings of a ring of cliques. Labels are the cliques.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RingOfCliques {
    /// The number of cliques.
    pub cliques: usize,
    /// The number of nodes of each clique.
    pub clique_size: usize,
    /// Features that tell the clique, if any.
    pub features: Option<ClassFeatures>,
}

impl Default for RingOfCliques {
    fn default() -> Self {
        Self { cliques: 10, clique_size: 20, features: None }
    }
}

impl Generator for RingOfCliques {
    fn prepare(&self, seed: Seed) -> Result<SyntheticGraph, GenerateError> {
        let cliques_fit = (1..=i32::MAX as usize).contains(&self.cliques);
        check(cliques_fit, "cliques", self.cliques, "a number from 1 to 2^31 - 1")?;
        check(self.clique_size > 0, "clique_size", self.clique_size, "at least 1")?;
        let num_nodes = self.cliques.saturating_mul(self.clique_size);
        check_nodes(num_nodes)?;
        let features = match &self.features {
            Some(settings) => {
                let classes: Arc<[u32]> = self.classes(num_nodes).map(|class| class as u32).collect();
                Some(settings.prepare(classes, self.cliques, seed)?)
            }
            None => None,
        };
        let labels: Vec<i32> = self.classes(num_nodes).collect();
        Ok(SyntheticGraph {
            num_nodes,
            labels: Some(Labels::single(labels.into(), Vec::new())),
            edges: Box::new(RingEdges { cliques: self.cliques, clique_size: self.clique_size }),
            features: features.map(|words| Box::new(words) as Box<dyn FeatureSource>),
        })
    }
}

impl RingOfCliques {
    fn classes(&self, num_nodes: usize) -> impl Iterator<Item = i32> {
        (0..num_nodes).map(|node| (node / self.clique_size) as i32)
    }
}

/// The edges of a ring of cliques.
struct RingEdges {
    cliques: usize,
    clique_size: usize,
}

impl RingEdges {
    fn num_nodes(&self) -> usize {
        self.cliques * self.clique_size
    }

    fn rows_per_chunk(&self) -> usize {
        rows_per_chunk(self.clique_size as f64 / 2.0)
    }

    /// The larger neighbours of one node, ascending.
    fn row(&self, node: usize) -> impl Iterator<Item = usize> {
        let next_clique = (node / self.clique_size + 1) * self.clique_size;
        let is_last = node + 1 == next_clique;
        let link = (is_last && next_clique < self.num_nodes()).then_some(next_clique);
        let closing = (node == 0 && self.cliques > 2).then(|| self.num_nodes() - 1);
        (node + 1..next_clique).chain(link).chain(closing)
    }
}

impl EdgeSource for RingEdges {
    fn num_chunks(&self) -> usize {
        self.num_nodes().div_ceil(self.rows_per_chunk())
    }

    fn chunk(&self, index: usize) -> Vec<[u64; 2]> {
        let first = index * self.rows_per_chunk();
        let last = self.num_nodes().min(first + self.rows_per_chunk());
        let row = |node| self.row(node).map(move |target| [node as u64, target as u64]);
        (first..last).flat_map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::graph::NodeId;

    fn ring(cliques: usize, clique_size: usize) -> RingOfCliques {
        RingOfCliques { cliques, clique_size, features: None }
    }

    #[test]
    fn every_edge_is_counted() {
        for (cliques, clique_size, num_edges) in
            [(1, 1, 0), (1, 4, 6), (2, 1, 1), (2, 3, 7), (3, 1, 3), (3, 2, 6), (10, 20, 1910)]
        {
            let graph = generate(&ring(cliques, clique_size), Seed(0)).unwrap();
            assert_eq!(graph.num_edges(), num_edges, "{cliques} cliques of {clique_size}");
            assert_eq!(graph.labels().unwrap().num_classes(), cliques);
        }
    }

    #[test]
    fn neighbouring_cliques_are_linked() {
        let graph = generate(&ring(3, 4), Seed(0)).unwrap();
        let neighbors = |node| graph.neighbors(NodeId(node)).map(|other| other.0).collect::<Vec<_>>();
        assert_eq!(neighbors(0), [1, 2, 3, 11]);
        assert_eq!(neighbors(1), [0, 2, 3]);
        assert_eq!(neighbors(3), [0, 1, 2, 4]);
    }

    #[test]
    fn impossible_settings_are_refused() {
        let refused = |settings: RingOfCliques| settings.prepare(Seed(0)).unwrap_err().to_string();
        assert!(refused(ring(0, 3)).starts_with("cliques is 0"));
        assert!(refused(ring(3, 0)).starts_with("clique_size is 0"));
        assert!(refused(ring(1 << 30, 1 << 40)).starts_with("nodes is 18446744073709551615"));
    }
}
