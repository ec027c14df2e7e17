//! Groups of nodes that belong together, by label propagation under a limit of size.
//!
//! Every node starts alone. In each round, one node after the other joins the group that it has the
//! heaviest edges into among those with room; ties are broken by chance. Nodes that stay alone,
//! because all groups around them are full (the leaves of a hub), join those that are drawn to the
//! same group, and nodes without edges join each other.
//!
//! Cost: `O(m)` time a round; three numbers of 4 bytes a node, and a table of the largest degree.

use super::super::PartitionError;
use super::super::rows::{GraphRows, ReadAhead, Steps};
use super::tally::Tally;
use crate::graph::NodeIndex;

/// No group meets there yet.
const NOWHERE: u32 = u32::MAX;

/// Nodes in groups.
#[derive(Debug)]
pub(super) struct Groups {
    /// The group of each node.
    pub(super) of: Vec<u32>,
    /// The number of nodes of each group, none of them zero.
    pub(super) sizes: Vec<u32>,
}

impl Groups {
    /// Finds groups of at most `limit` nodes.
    pub(super) fn find<I: NodeIndex>(
        rows: &GraphRows<'_, I>,
        limit: u32,
        rounds: usize,
        seed: u64,
        steps: Steps<'_>,
    ) -> Result<Self, PartitionError> {
        let mut propagation = Propagation::new(rows.num_nodes(), limit, seed);
        if limit == 1 {
            return Ok(propagation.into_groups());
        }
        for round in 0..rounds {
            let (mut moved, mut ahead) = (0_usize, ReadAhead::new());
            steps.for_each(|node| {
                ahead.prepare(rows, node, |to| propagation.size_around(to));
                moved += usize::from(propagation.place(rows, node));
            })?;
            tracing::debug!(round, moved, "propagated labels");
            if moved <= rows.num_nodes() / 50 {
                break;
            }
        }
        propagation.join_leftovers(rows, steps)?;
        Ok(propagation.into_groups())
    }
}

/// Groups while nodes come and go, named by one of the nodes.
struct Propagation {
    labels: Vec<u32>,
    sizes: Vec<u32>,
    limit: u32,
    tally: Tally,
    /// The state of a small generator (xorshift); never zero.
    chance: u64,
}

impl Propagation {
    fn new(num_nodes: usize, limit: u32, seed: u64) -> Self {
        let (labels, sizes) = ((0..num_nodes as u32).collect(), vec![1; num_nodes]);
        Self { labels, sizes, limit, tally: Tally::default(), chance: seed | 1 }
    }

    /// Puts a node into the group that it has the heaviest edges into; tells whether that is another.
    #[inline]
    fn place<I: NodeIndex>(&mut self, rows: &GraphRows<'_, I>, node: usize) -> bool {
        self.count(rows, node);
        let coins = self.coins();
        let own = self.labels[node];
        let (mut best, mut most) = (own, 0.0);
        for (turn, (label, sum)) in self.tally.sums().enumerate() {
            let wins = sum > most || (sum == most && (coins >> (turn & 63)) & 1 == 1);
            if wins && (label == own || self.sizes[label as usize] < self.limit) {
                (best, most) = (label, sum);
            }
        }
        self.relabel(node, best);
        best != own
    }

    /// The size of a node's group.
    #[inline]
    fn size_around(&self, node: usize) -> u32 {
        self.sizes[self.labels[node] as usize]
    }

    /// Adds up the edges of a node by group.
    #[inline]
    fn count<I: NodeIndex>(&mut self, rows: &GraphRows<'_, I>, node: usize) {
        let Self { labels, tally, .. } = self;
        tally.start(rows.degree(node));
        rows.for_each_neighbor(node, |to, weight| tally.add(labels[to], weight));
    }

    #[inline]
    fn relabel(&mut self, node: usize, label: u32) {
        let before = std::mem::replace(&mut self.labels[node], label);
        self.sizes[before as usize] -= 1;
        self.sizes[label as usize] += 1;
    }

    /// 64 coins, thrown at once.
    #[inline]
    fn coins(&mut self) -> u64 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        self.chance
    }

    /// Brings together nodes that are alone and drawn to the same group.
    fn join_leftovers<I: NodeIndex>(
        &mut self,
        rows: &GraphRows<'_, I>,
        steps: Steps<'_>,
    ) -> Result<(), PartitionError> {
        // The group that meets for each label; the last place is for nodes without edges.
        let mut meeting = vec![NOWHERE; rows.num_nodes() + 1];
        steps.for_each(|node| {
            if self.sizes[self.labels[node] as usize] != 1 {
                return;
            }
            self.count(rows, node);
            let heavier = |a: (u32, f32), b: (u32, f32)| if b.1 > a.1 { b } else { a };
            let drawn =
                self.tally.sums().reduce(heavier).map_or(rows.num_nodes(), |(label, _)| label as usize);
            match meeting[drawn] {
                there if there != NOWHERE && self.sizes[there as usize] < self.limit => {
                    self.relabel(node, there);
                }
                _ => meeting[drawn] = self.labels[node],
            }
        })
    }

    /// Numbers the groups from 0, without gaps.
    fn into_groups(mut self) -> Groups {
        let mut sizes = Vec::new();
        for size in self.sizes.iter_mut().filter(|size| **size > 0) {
            sizes.push(*size);
            *size = sizes.len() as u32 - 1;
        }
        self.labels.iter_mut().for_each(|label| *label = self.sizes[*label as usize]);
        Groups { of: self.labels, sizes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, Graph, Targets, build};
    use crate::progress::Silent;

    fn find(graph: &Graph, limit: u32) -> Groups {
        let Targets::Narrow(targets) = graph.targets() else { panic!("a small graph has narrow targets") };
        let steps = Steps { num_nodes: graph.num_nodes(), progress: &Silent };
        Groups::find(&GraphRows::of(graph, targets), limit, 3, 7, steps).unwrap()
    }

    #[test]
    fn groups_keep_to_the_limit_and_are_numbered() {
        let star = (1..200_u32).map(|leaf| [0, leaf]);
        let graph = build(EdgeList::from_pairs(star.collect()), 230, &BuildOptions::default()).graph;
        for limit in [1, 2, 7, 300] {
            let Groups { of, sizes } = find(&graph, limit);
            let mut counted = vec![0; sizes.len()];
            of.iter().for_each(|&group| counted[group as usize] += 1);
            assert_eq!(counted, sizes);
            assert!(sizes.iter().all(|&size| (1..=limit).contains(&size)), "{limit}: {sizes:?}");
            // Leaves of a full hub and nodes without edges come together too.
            assert!(sizes.len() <= 230_usize.div_ceil(limit as usize) + 3, "{limit}: {}", sizes.len());
        }
    }

    #[test]
    fn two_cliques_become_two_groups() {
        let clique = |start: u32| (start..start + 6).flat_map(move |a| (start..a).map(move |b| [a, b]));
        let pairs = clique(0).chain(clique(6)).chain([[0, 6]]).collect();
        let Groups { of, sizes } =
            find(&build(EdgeList::from_pairs(pairs), 12, &BuildOptions::default()).graph, 6);
        assert_eq!(sizes, [6, 6]);
        assert!(of[..6].iter().all(|&group| group == of[0]));
    }
}
