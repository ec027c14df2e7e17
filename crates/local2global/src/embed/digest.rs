//! A number that changes when a patch, its settings or its seed change.
//!
//! A finished patch keeps it beside its coordinates; a rerun embeds again only where
//! it differs. Two multiplicative hashes of 64 bits over the words of all inputs: good
//! against accidents, not against malice.

use std::fmt;

use super::EmbedConfig;
use crate::graph::{Features, Graph, NodeId};
use crate::seed::Seed;

/// The digest of what an embedding was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest([u64; 2]);

impl Default for Digest {
    fn default() -> Self {
        Self([0xcbf2_9ce4_8422_2325, 0x9e37_79b9_7f4a_7c15])
    }
}

impl Digest {
    /// The digest of a patch: nodes, their rows and features, settings and seed.
    ///
    /// `config` are the settings of this patch; the memory limit does not count, since
    /// it does not change the result.
    pub fn new(graph: &Graph, nodes: &[NodeId], config: &EmbedConfig, seed: Seed) -> Self {
        let mut digest = Self::default();
        let settings = EmbedConfig { memory_bytes: 0, ..config.clone() };
        digest.add_bytes(format!("{settings:?}").as_bytes());
        digest.add_bytes(env!("CARGO_PKG_VERSION").as_bytes());
        digest.add(seed.0);
        digest.add(nodes.len() as u64);
        for &node in nodes {
            digest.add(node.0);
            digest.add(graph.degree(node) as u64);
            graph.neighbors(node).for_each(|neighbor| digest.add(neighbor.0));
            digest.add_floats(graph.neighbor_weights(node).unwrap_or_default());
            digest.add_features(graph.features(), node);
        }
        digest
    }

    fn add(&mut self, word: u64) {
        let Self([a, b]) = self;
        *a = (*a ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        *a ^= *a >> 31;
        *b = (b.rotate_left(23) ^ word).wrapping_mul(0xd6e8_feb8_6659_fd93);
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.add(u64::from(byte)));
    }

    fn add_floats(&mut self, values: &[f32]) {
        values.iter().for_each(|value| self.add(u64::from(value.to_bits())));
    }

    fn add_features(&mut self, features: Option<&Features>, node: NodeId) {
        match features {
            None => {}
            Some(Features::Dense(dense)) => self.add_floats(dense.row(node)),
            Some(Features::Sparse(sparse)) => {
                let (columns, values) = sparse.row(node);
                columns.iter().for_each(|&column| self.add(u64::from(column)));
                self.add_floats(values);
            }
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.0[0], self.0[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_settings_and_seed_change_the_digest_and_the_memory_limit_does_not() {
        let graph = Graph::from_rows(vec![0, 1, 3, 4].into(), vec![1_u32, 0, 2, 1].into(), true).unwrap();
        let config = EmbedConfig::default();
        let all: Vec<NodeId> = graph.nodes().collect();
        let digest = |nodes: &[NodeId], config: &EmbedConfig, seed| Digest::new(&graph, nodes, config, seed);
        let reference = digest(&all, &config, Seed(1));
        assert_eq!(reference, digest(&all, &EmbedConfig { memory_bytes: 9, ..config.clone() }, Seed(1)));
        assert_ne!(reference, digest(&all[1..], &config, Seed(1)));
        assert_ne!(reference, digest(&all, &EmbedConfig { epochs: 7, ..config.clone() }, Seed(1)));
        assert_ne!(reference, digest(&all, &config, Seed(2)));
        assert_eq!(reference.to_string().len(), 32);
    }
}
