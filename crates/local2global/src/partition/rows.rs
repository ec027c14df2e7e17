//! The rows of a graph for loops that look at every edge: the width of targets is known.

use std::ops::Range;

use super::PartitionError;
use crate::graph::{Graph, NodeIndex};
use crate::progress::Progress;

/// The rows of a graph, with the width of its targets known.
#[derive(Clone, Copy)]
pub(super) struct GraphRows<'a, I> {
    offsets: &'a [u64],
    targets: &'a [I],
    weights: Option<&'a [f32]>,
}

impl<'a, I: NodeIndex> GraphRows<'a, I> {
    /// The rows of `graph`, whose targets are `targets`.
    pub(super) fn of(graph: &'a Graph, targets: &'a [I]) -> Self {
        Self { offsets: graph.offsets(), targets, weights: graph.weights() }
    }

    pub(super) fn num_nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of stored edges.
    pub(super) fn num_entries(&self) -> usize {
        self.targets.len()
    }

    #[inline]
    fn range(&self, node: usize) -> Range<usize> {
        self.offsets[node] as usize..self.offsets[node + 1] as usize
    }

    #[inline]
    pub(super) fn degree(&self, node: usize) -> usize {
        self.range(node).len()
    }

    /// Calls `visit` with every neighbour but the node itself, and the weight of the edge to it.
    #[inline]
    pub(super) fn for_each_neighbor(&self, node: usize, mut visit: impl FnMut(usize, f32)) {
        let range = self.range(node);
        let row = self.targets[range.clone()].iter().map(|to| to.index());
        match self.weights {
            None => row.filter(|&to| to != node).for_each(|to| visit(to, 1.0)),
            Some(weights) => {
                let weighted = row.zip(&weights[range]);
                weighted.filter(|&(to, _)| to != node).for_each(|(to, &weight)| visit(to, weight));
            }
        }
    }
}

/// Loads what a loop over edges will look up, some nodes ahead.
///
/// In a graph whose arrays are larger than the cache, nearly every neighbour is a cache miss, and the
/// branches of the loop that needs it keep the processor from starting the next ones early. A plain loop that
/// only loads has no branches: its misses overlap. On 100 million edges `buffered` takes 65 s so, and 84 s
/// without.
pub(super) struct ReadAhead {
    /// The nodes up to here have been loaded.
    end: usize,
}

impl ReadAhead {
    /// So many nodes are loaded at a time: with their neighbours they fit into the first cache.
    const NODES: usize = 16;

    /// Nothing is loaded yet.
    pub(super) fn new() -> Self {
        Self { end: 0 }
    }

    /// Loads what `load` looks up for each neighbour of the next nodes, unless that of `node` is loaded.
    #[inline]
    pub(super) fn prepare<I: NodeIndex>(
        &mut self,
        rows: &GraphRows<'_, I>,
        node: usize,
        load: impl Fn(usize) -> u32,
    ) {
        if node < self.end && node + Self::NODES >= self.end {
            return;
        }
        self.end = (node + Self::NODES).min(rows.num_nodes());
        let range = rows.offsets[node] as usize..rows.offsets[self.end] as usize;
        let loaded = rows.targets[range].iter().map(|to| load(to.index())).fold(0, u32::wrapping_add);
        // Nobody wants the sum; without this the loads would be left out.
        std::hint::black_box(loaded);
    }
}

/// Visits all nodes in the order of the rows.
#[derive(Clone, Copy)]
pub(super) struct Steps<'a> {
    pub(super) num_nodes: usize,
    /// Who is told now and then, and may cancel.
    pub(super) progress: &'a dyn Progress,
}

impl Steps<'_> {
    pub(super) fn for_each(self, mut visit: impl FnMut(usize)) -> Result<(), PartitionError> {
        const BATCH: usize = 1 << 16;
        for start in (0..self.num_nodes).step_by(BATCH) {
            let batch = start..(start + BATCH).min(self.num_nodes);
            self.progress.advance(batch.len() as u64);
            batch.for_each(&mut visit);
            if self.progress.is_cancelled() {
                return Err(PartitionError::Cancelled);
            }
        }
        Ok(())
    }
}
