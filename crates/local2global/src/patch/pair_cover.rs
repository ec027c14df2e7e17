//! Greedy cover of the edges between two clusters.
//!
//! An edge between a node `a` of cluster `A` and a node `b` of cluster `B` comes to lie in a patch if
//! `b` joins the patch of `A`, or `a` that of `B`. So the edges between the two are a bipartite graph,
//! and guests that cover them all are a vertex cover of it. Greedy takes the node with the most
//! uncovered edges, and again, until none is left. What a node brings never grows, so a node is put
//! into a heap with what it brought once, and looked at again when it comes up. Then come the nodes
//! that are left, by all their edges: with them, edges lie in the patches of both their ends.
//!
//! Cost: `O(e log e)` time and some 60 bytes an edge, for `e` edges.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::graph::NodeId;

/// An edge between two clusters that lies in no patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cut {
    /// The cluster at the far end, the larger number of the two.
    pub(super) other: u32,
    pub(super) near: NodeId,
    pub(super) far: NodeId,
}

/// A node that becomes a guest of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pick {
    pub(super) gain: Gain,
    pub(super) patch: u32,
    pub(super) node: NodeId,
}

/// How much a guest brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gain {
    /// So many edges that lie in a patch already, but not in this one.
    Again(u32),
    /// So many edges that lie in no patch.
    New(u32),
}

impl Gain {
    /// The least that a guest can bring.
    pub(super) const LEAST: Self = Self::Again(1);
}

impl Pick {
    /// Picks that bring the same come in this order. It is as good as random, so that a budget that
    /// ends among them is spread over all patches: by number, the first patches would get it all.
    pub(super) fn tie(&self) -> u64 {
        tie(self.patch, self.node)
    }
}

/// A number from patch and node, all bits of which look random (Steele, Lea, Flood 2014).
fn tie(patch: u32, node: NodeId) -> u64 {
    let mut bits = (u64::from(patch) << 32 ^ node.0).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// Marks a node that was taken.
const TAKEN: u32 = u32::MAX;

fn range(starts: &[u32], place: u32) -> Range<usize> {
    starts[place as usize] as usize..starts[place as usize + 1] as usize
}

/// What the greedy cover works with, kept from pair to pair.
#[derive(Debug, Default)]
pub(super) struct PairCover {
    /// The nodes with edges, first those of the near cluster, each part ascending.
    nodes: Vec<NodeId>,
    /// The edges, by places in `nodes`.
    edges: Vec<[u32; 2]>,
    /// Where the neighbours of each node begin.
    starts: Vec<u32>,
    neighbors: Vec<u32>,
    /// How many uncovered edges each node has.
    gains: Vec<u32>,
    heap: BinaryHeap<(u32, Reverse<u64>, Reverse<u32>)>,
}

impl PairCover {
    /// Covers edges between the cluster `near` and another one, ascending, and tells the picks in
    /// their order, as long as they bring `least`.
    pub(super) fn pick(&mut self, near: u32, cuts: &[Cut], least: Gain, mut take: impl FnMut(Pick)) {
        let far = cuts[0].other;
        let mut take = |gain: Gain, patch: u32, node: NodeId| {
            if gain >= least {
                take(Pick { gain, patch, node });
            }
        };
        if let [cut] = cuts {
            let mut ends = [(far, cut.near), (near, cut.far)];
            ends.sort_unstable_by_key(|&(patch, node)| (tie(patch, node), node));
            take(Gain::New(1), ends[0].0, ends[0].1);
            return take(Gain::Again(1), ends[1].0, ends[1].1);
        }
        let num_near = self.connect(cuts);
        let patch_of = |place: u32| if (place as usize) < num_near { far } else { near };
        for (place, &gain) in (0..).zip(&self.gains) {
            let tie = tie(patch_of(place), self.nodes[place as usize]);
            self.heap.push((gain, Reverse(tie), Reverse(place)));
        }
        while let Some((gain, tie, Reverse(place))) = self.heap.pop() {
            if Gain::New(gain) < least {
                break;
            }
            let now = self.gains[place as usize];
            if now < gain {
                if now > 0 {
                    self.heap.push((now, tie, Reverse(place)));
                }
                continue;
            }
            take(Gain::New(gain), patch_of(place), self.nodes[place as usize]);
            self.gains[place as usize] = TAKEN;
            for &neighbor in &self.neighbors[range(&self.starts, place)] {
                let rest = &mut self.gains[neighbor as usize];
                *rest -= u32::from(*rest != TAKEN);
            }
        }
        self.heap.clear();
        if matches!(least, Gain::New(_)) {
            return;
        }
        for place in (0..self.nodes.len() as u32).filter(|&place| self.gains[place as usize] != TAKEN) {
            let edges = range(&self.starts, place).len() as u32;
            take(Gain::Again(edges), patch_of(place), self.nodes[place as usize]);
        }
    }

    /// Numbers the nodes and lists their neighbours; returns how many are of the near cluster.
    fn connect(&mut self, cuts: &[Cut]) -> usize {
        self.nodes.clear();
        self.nodes.extend(cuts.iter().map(|cut| cut.near));
        self.nodes.dedup();
        let num_near = self.nodes.len();
        let mut fars: Vec<NodeId> = cuts.iter().map(|cut| cut.far).collect();
        fars.sort_unstable();
        fars.dedup();
        self.nodes.append(&mut fars);
        let (near_nodes, far_nodes) = self.nodes.split_at(num_near);
        self.edges.clear();
        let mut near = 0;
        for cut in cuts {
            near += usize::from(near_nodes[near] != cut.near);
            let far = far_nodes.binary_search(&cut.far).expect("every far end is listed");
            self.edges.push([near as u32, (num_near + far) as u32]);
        }
        self.gains.clear();
        self.gains.resize(self.nodes.len(), 0);
        self.edges.iter().flatten().for_each(|&place| self.gains[place as usize] += 1);
        self.starts.clear();
        self.starts.push(0);
        let mut sum = 0;
        self.starts.extend(self.gains.iter().map(|gain| {
            sum += gain;
            sum
        }));
        self.neighbors.clear();
        self.neighbors.resize(2 * cuts.len(), 0);
        for &[a, b] in &self.edges {
            for (from, to) in [(a, b), (b, a)] {
                // Filled from the end; each start is then where it was.
                self.starts[from as usize + 1] -= 1;
                self.neighbors[self.starts[from as usize + 1] as usize] = to;
            }
        }
        self.starts.rotate_left(1);
        let last = self.starts.len() - 1;
        self.starts[last] = sum;
        num_near
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The picks that bring new edges, and the others.
    fn picks(edges: &[[u64; 2]]) -> [Vec<(u32, u32, u64)>; 2] {
        let mut cuts: Vec<Cut> =
            edges.iter().map(|&[near, far]| Cut { other: 7, near: NodeId(near), far: NodeId(far) }).collect();
        cuts.sort_unstable();
        let mut found = [Vec::new(), Vec::new()];
        PairCover::default().pick(3, &cuts, Gain::LEAST, |pick| match pick.gain {
            Gain::New(gain) => found[0].push((gain, pick.patch, pick.node.0)),
            Gain::Again(gain) => found[1].push((gain, pick.patch, pick.node.0)),
        });
        found
    }

    #[test]
    fn a_hub_covers_all_its_edges_at_once() {
        assert_eq!(picks(&[[0, 10], [0, 11], [0, 12], [1, 12]])[0][0], (3, 7, 0));
        let [new, again] = picks(&[[0, 10], [0, 11], [0, 12]]);
        assert_eq!(new, [(3, 7, 0)]);
        assert_eq!(again, [(1, 3, 10), (1, 3, 11), (1, 3, 12)]);
        assert_eq!(picks(&[[0, 10], [1, 10], [2, 10]])[0], [(3, 3, 10)]);
    }

    #[test]
    fn what_a_node_brings_is_looked_at_again() {
        // Two hubs on either side that share an edge: the second brings one less.
        let edges = [[0, 10], [0, 11], [0, 12], [0, 13], [1, 10], [2, 10]];
        let [new, again] = picks(&edges);
        assert_eq!(new, [(4, 7, 0), (2, 3, 10)]);
        assert_eq!(again.len(), 5);
    }

    #[test]
    fn one_side_of_a_single_edge_is_enough_and_either_may_be_it() {
        let sides: Vec<u32> = (0..40).map(|node| picks(&[[node, 100 + node]])[0][0].1).collect();
        assert!(sides.contains(&3) && sides.contains(&7));
    }
}
