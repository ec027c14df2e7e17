//! Graphs that tests of partitioners know the answer of.

use crate::graph::{BuildOptions, EdgeList, Graph, build};

/// Cliques in a ring, their members interleaved.
pub(super) fn ring_of_cliques(num_cliques: u32, size: u32) -> Graph {
    let mut pairs = Vec::new();
    for clique in 0..num_cliques {
        let member = |index: u32| index * num_cliques + clique;
        pairs.extend((0..size).flat_map(|a| (0..a).map(move |b| [member(a), member(b)])));
        pairs.push([member(0), (clique + 1) % num_cliques]);
    }
    build(EdgeList::from_pairs(pairs), (num_cliques * size) as usize, &BuildOptions::default()).graph
}
