//! Edges in any order, as readers deliver them.
//!
//! The list is kept in chunks. It grows without ever being copied, several threads
//! can fill chunks of their own, and memory goes back as chunks are consumed.

use super::NodeIndex;

/// A list of edges, each a pair of node names or rows, optionally with weights.
#[derive(Clone, Debug, Default)]
pub struct EdgeList<I> {
    chunks: Vec<EdgeChunk<I>>,
    num_edges: usize,
}

/// A piece of an edge list.
#[derive(Clone, Debug, Default)]
pub struct EdgeChunk<I> {
    /// Source and target of each edge.
    pub pairs: Vec<[I; 2]>,
    /// The weight of each edge, or nothing if the edges are unweighted.
    pub weights: Vec<f32>,
}

impl<I: NodeIndex> EdgeList<I> {
    /// A list without edges.
    pub fn new() -> Self {
        Self { chunks: Vec::new(), num_edges: 0 }
    }

    /// A list of unweighted edges.
    pub fn from_pairs(pairs: Vec<[I; 2]>) -> Self {
        let mut list = Self::new();
        list.push(EdgeChunk { pairs, weights: Vec::new() });
        list
    }

    /// Appends a chunk.
    ///
    /// # Panics
    /// If the chunk has weights for only some of its edges, or has weights where
    /// earlier chunks have none, or the other way round.
    pub fn push(&mut self, chunk: EdgeChunk<I>) {
        if chunk.pairs.is_empty() {
            return;
        }
        assert!(chunk.weights.is_empty() || chunk.weights.len() == chunk.pairs.len(), "one weight per edge");
        if let Some(first) = self.chunks.first() {
            assert_eq!(first.weights.is_empty(), chunk.weights.is_empty(), "all edges weighted, or none");
        }
        self.num_edges += chunk.pairs.len();
        self.chunks.push(chunk);
    }

    /// The number of edges.
    pub fn len(&self) -> usize {
        self.num_edges
    }

    /// Whether there are no edges.
    pub fn is_empty(&self) -> bool {
        self.num_edges == 0
    }

    /// Whether the edges have weights.
    pub fn is_weighted(&self) -> bool {
        self.chunks.first().is_some_and(|chunk| !chunk.weights.is_empty())
    }

    /// The chunks in order.
    pub fn chunks(&self) -> &[EdgeChunk<I>] {
        &self.chunks
    }

    /// The chunks in order, to renumber nodes in place.
    pub fn chunks_mut(&mut self) -> &mut [EdgeChunk<I>] {
        &mut self.chunks
    }

    /// Gives the chunks away, so that each can be dropped once it is used.
    pub fn into_chunks(self) -> Vec<EdgeChunk<I>> {
        self.chunks
    }
}
