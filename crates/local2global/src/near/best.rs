//! The best of many scores, in one order for everybody.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::graph::NodeId;

/// A node, and how near it is.
///
/// The better one is the smaller one: the higher score, and among equal scores the smaller index.
#[derive(Clone, Copy, Debug)]
pub struct Neighbor {
    /// The node.
    pub node: NodeId,
    /// The score; higher is nearer.
    pub score: f64,
}

impl Ord for Neighbor {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.node.cmp(&other.node))
    }
}

impl PartialOrd for Neighbor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Neighbor {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Neighbor {}

/// The best so far, `capacity` of them at most; the worst of them lies on top.
#[derive(Clone, Debug)]
pub(super) struct Best {
    capacity: usize,
    heap: BinaryHeap<Neighbor>,
}

impl Best {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, heap: BinaryHeap::new() }
    }

    pub(super) fn offer(&mut self, candidate: Neighbor) {
        if self.heap.len() < self.capacity {
            self.heap.push(candidate);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && candidate < *worst
        {
            *worst = candidate;
        }
    }

    /// A score that a further node must reach at least.
    pub(super) fn threshold(&self) -> f64 {
        match self.heap.peek() {
            Some(worst) if self.heap.len() == self.capacity => worst.score,
            _ => f64::NEG_INFINITY,
        }
    }

    /// The best first.
    pub(super) fn into_sorted(self) -> Vec<Neighbor> {
        self.heap.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_kept_whatever_the_order_and_ties_go_to_the_smaller_index() {
        let scores = [0.5, 2.0, -1.0, 2.0, 0.5, 0.5, 9.0];
        let all: Vec<Neighbor> =
            (0..7).map(|index| Neighbor { node: NodeId::new(index), score: scores[index] }).collect();
        for turn in 0..7 {
            let mut best = Best::new(4);
            assert_eq!(best.threshold(), f64::NEG_INFINITY);
            all.iter().cycle().skip(turn).take(7).for_each(|&neighbor| best.offer(neighbor));
            assert_eq!(best.threshold(), 0.5);
            let nodes: Vec<u64> = best.into_sorted().iter().map(|neighbor| neighbor.node.0).collect();
            assert_eq!(nodes, [6, 1, 3, 0], "turn {turn}");
        }
    }
}
