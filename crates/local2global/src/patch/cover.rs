//! Guests that bring edges which lie in no patch, within a budget.
//!
//! Patches cover all nodes, but an edge lies in a patch only with both its ends. Where the patch edge
//! between two clusters was sparsified away, or ends where the overlap does, no model would ever see
//! the edges between them. An edge `(a, b)` in no patch is covered if `b` becomes a guest of the home
//! patch of `a`, the one that grew from its cluster, or `a` of that of `b`: one side is enough.
//!
//! A candidate `(v, P)` gains as many uncovered edges as lead from `v` into the cluster of `P`. The
//! largest gain is taken first, so that a hub goes to its many neighbours and not they to it, until
//! every edge is covered or the budget of guests is spent. The order of equal candidates is as good as
//! random, but always the same. What is left of the budget when every edge is covered goes to the other side
//! of edges, those with most edges first: an edge in the patches of both its ends is seen by both models.
//! Without any limit, both ends of all edges are guests.
//!
//! **Nothing global is needed for that.** A guest changes gains only between its cluster and that of its
//! host, so greedy can run for every pair of clusters by itself (`pair_cover.rs`). Gains never
//! rise along the way; so the first guests of the greedy choice over all pairs are those with the largest
//! gains of the choices for each pair. Two passes give them:
//!
//! ```text
//! 1. for each cluster, the uncovered edges to later clusters; greedy for each pair; count picks by gain
//! 2. the gain at which the budget ends; the same again, and now what is above is kept
//! ```
//!
//! Cost: `O(m + u log u)` time for `u` uncovered edges, twice; memory for the uncovered edges of one
//! cluster and thread (some 100 bytes each) and for the guests, never for all candidates: on a graph that
//! cuts nine edges in ten there are twice as many of these as edges. Nothing depends on the memory that is
//! there, or on threads.
//!
//! Source: greedy maximum coverage, Nemhauser, Wolsey, Fisher, "An analysis of approximations for
//! maximizing submodular set functions", Math. Program. 14, 1978: at least `1 - 1/e` of what the best
//! choice of as many guests covers.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::lists::PatchLists;
use super::memberships::Memberships;
use super::pair_cover::{Cut, Gain, PairCover, Pick};
use crate::graph::{Graph, NodeId, NodeIndex, NodeLists};

/// So many clusters are looked at before their guests are put with the others.
const CLUSTERS_AT_ONCE: usize = 1 << 10;

/// The number of edges that lie in no patch.
pub(super) fn count_uncovered(graph: &Graph, memberships: &Memberships<'_>) -> usize {
    let of_row = |from: NodeId| {
        let below = graph.neighbors(from).take_while(move |&to| to < from);
        below.filter(|&to| !memberships.share_a_patch(from, to)).count()
    };
    (0..graph.num_nodes()).into_par_iter().with_min_len(1 << 10).map(NodeId::new).map(of_row).sum()
}

/// For each patch the nodes that become its guests, ascending; at most `budget` in all.
pub(super) fn guests(graph: &Graph, lists: &PatchLists<'_>, budget: usize) -> NodeLists {
    let memberships = Memberships::of(lists);
    let search = Search { graph, lists, memberships: &memberships };
    match u32::try_from(graph.num_nodes()) {
        Ok(_) => search.guests::<u32>(budget),
        Err(_) => search.guests::<u64>(budget),
    }
}

/// Which picks of greedy the budget allows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Limit {
    /// All that gain more are taken, and some that gain as much; none if all are taken.
    gain: Option<Gain>,
    /// How many that gain more there are.
    above: usize,
    /// How many that gain as much are taken, and how many there are.
    of_equal: [usize; 2],
}

impl Limit {
    /// The limit for the number of picks of each gain.
    fn of(counts: &BTreeMap<Gain, usize>, budget: usize) -> Self {
        let mut limit = Self { gain: None, above: 0, of_equal: [0, 0] };
        for (&gain, &count) in counts.iter().rev() {
            let taken = count.min(budget - limit.above);
            if taken < count {
                return Self { gain: Some(gain), of_equal: [taken, count], ..limit };
            }
            limit.above += count;
        }
        limit
    }

    /// The largest tie of the equal picks that are looked at: a few more than are needed, since
    /// ties are as good as evenly spread.
    fn largest_tie(&self) -> u64 {
        let [taken, count] = self.of_equal.map(|count| count as f64);
        let share = (taken + 8.0 * taken.sqrt() + 64.0) / count.max(1.0);
        // Saturates where all are looked at.
        (share * u64::MAX as f64) as u64
    }
}

struct Search<'a> {
    graph: &'a Graph,
    lists: &'a PatchLists<'a>,
    memberships: &'a Memberships<'a>,
}

impl Search<'_> {
    fn guests<I: NodeIndex>(&self, budget: usize) -> NodeLists {
        let counts = self.count_picks();
        let limit = Limit::of(&counts, budget);
        let mut guests: Vec<(u32, I)> = Vec::with_capacity(limit.above + limit.of_equal[0]);
        let mut equal: Vec<(u64, u32, I)> = Vec::new();
        let largest_tie = limit.largest_tie();
        let num_patches = self.lists.num_patches();
        for start in (0..num_patches).step_by(CLUSTERS_AT_ONCE) {
            let clusters = start..(start + CLUSTERS_AT_ONCE).min(num_patches);
            let found: Vec<Vec<Pick>> = clusters
                .into_par_iter()
                .map_init(Default::default, |scratch, cluster| {
                    let mut kept = Vec::new();
                    let least = limit.gain.unwrap_or(Gain::LEAST);
                    self.each_pick(scratch, cluster as u32, least, |pick| {
                        if Some(pick.gain) > limit.gain || limit.of_equal[0] > 0 && pick.tie() <= largest_tie
                        {
                            kept.push(pick);
                        }
                    });
                    kept
                })
                .collect();
            for pick in found.into_iter().flatten() {
                let node = I::from_index(pick.node.index());
                match Some(pick.gain) > limit.gain {
                    true => guests.push((pick.patch, node)),
                    false => equal.push((pick.tie(), pick.patch, node)),
                }
            }
        }
        equal.sort_unstable();
        equal.truncate(limit.of_equal[0]);
        guests.extend(equal.into_iter().map(|(_, patch, node)| (patch, node)));
        listed(self.graph.num_nodes(), num_patches, guests)
    }

    /// How many picks of each gain greedy would take if it had no budget.
    fn count_picks(&self) -> BTreeMap<Gain, usize> {
        let count = |scratch: &mut (Vec<Cut>, PairCover), cluster: usize| {
            let mut counts = BTreeMap::new();
            self.each_pick(scratch, cluster as u32, Gain::LEAST, |pick| {
                *counts.entry(pick.gain).or_default() += 1
            });
            counts
        };
        let sum = |mut sum: BTreeMap<Gain, usize>, counts: BTreeMap<Gain, usize>| {
            counts.iter().for_each(|(&gain, &count)| *sum.entry(gain).or_default() += count);
            sum
        };
        (0..self.lists.num_patches())
            .into_par_iter()
            .map_init(Default::default, count)
            .reduce(BTreeMap::new, sum)
    }

    /// What greedy picks between a cluster and all later ones.
    fn each_pick(
        &self,
        (cuts, cover): &mut (Vec<Cut>, PairCover),
        cluster: u32,
        least: Gain,
        mut take: impl FnMut(Pick),
    ) {
        cuts.clear();
        for near in self.lists.members().of(cluster) {
            let row =
                self.graph.neighbors(near).map(|far| Cut { other: self.memberships.home(far), near, far });
            let later = row.filter(|cut| cut.other > cluster);
            cuts.extend(later.filter(|cut| !self.memberships.share_a_patch(near, cut.far)));
        }
        cuts.sort_unstable();
        for pair in cuts.chunk_by(|a, b| a.other == b.other) {
            cover.pick(cluster, pair, least, &mut take);
        }
    }
}

/// Guests by patch.
fn listed<I: NodeIndex>(num_nodes: usize, num_patches: usize, mut guests: Vec<(u32, I)>) -> NodeLists {
    guests.par_sort_unstable();
    let mut lists = NodeLists::new(num_nodes);
    lists.reserve(guests.len());
    let mut rest = &guests[..];
    for patch in 0..num_patches as u32 {
        let (own, others) = rest.split_at(rest.partition_point(|&(host, _)| host <= patch));
        lists.push(own.iter().map(|&(_, node)| NodeId::new(node.index())));
        rest = others;
    }
    lists
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};
    use crate::partition::Partition;
    use crate::seed::{Seed, Stage};

    fn graph_of(edges: Vec<[u32; 2]>, num_nodes: usize) -> Graph {
        build(EdgeList::from_pairs(edges), num_nodes, &BuildOptions::default()).graph
    }

    /// Patches with further nodes.
    fn lists<'a>(partition: &'a Partition, further: &[&[u64]]) -> PatchLists<'a> {
        let mut lists = NodeLists::new(partition.num_nodes());
        further.iter().for_each(|nodes| lists.push(nodes.iter().copied().map(NodeId)));
        PatchLists::new(partition, partition.members(), lists)
    }

    fn pairs(guests: &NodeLists) -> Vec<(u32, u64)> {
        (0..).zip(guests.iter()).flat_map(|(patch, nodes)| nodes.map(move |node| (patch, node.0))).collect()
    }

    #[test]
    fn one_end_of_an_edge_in_no_patch_becomes_a_guest() {
        let square = graph_of(vec![[0, 1], [1, 2], [2, 3], [3, 0]], 5);
        let partition = Partition::from_labels(vec![0, 0, 1, 1, 1]);
        // The edge 1 - 2 lies in patch 0 already, 0 - 3 in none.
        let lists = lists(&partition, &[&[2], &[]]);
        let found = pairs(&guests(&square, &lists, 1));
        assert!(found == [(0, 3)] || found == [(1, 0)], "{found:?}");
        assert!(pairs(&guests(&square, &lists, 0)).is_empty());
        // The other side comes when there is nothing left to cover.
        assert_eq!(pairs(&guests(&square, &lists, 9)), [(0, 3), (1, 0)]);
    }

    #[test]
    fn an_edge_in_a_third_patch_is_covered() {
        let square = graph_of(vec![[0, 1], [1, 2], [2, 3], [3, 0]], 5);
        let partition = Partition::from_labels(vec![0, 1, 2, 2, 2]);
        let lists = lists(&partition, &[&[], &[], &[0, 1]]);
        assert!(pairs(&guests(&square, &lists, 9)).is_empty());
        assert_eq!(count_uncovered(&square, &Memberships::of(&lists)), 0);
    }

    /// By the definition: all candidates are tried at each step.
    fn brute_force(graph: &Graph, partition: &Partition) -> Vec<Pick> {
        let home = |node: NodeId| partition.cluster_of(node);
        let edges = graph.nodes().flat_map(|a| graph.neighbors(a).map(move |b| [a, b]));
        let cut: Vec<[NodeId; 2]> = edges.filter(|&[a, b]| a < b && home(a) != home(b)).collect();
        let covers = |&[a, b]: &[NodeId; 2], node: NodeId, patch: u32| {
            a == node && home(b) == patch || b == node && home(a) == patch
        };
        let mut left: Vec<(u32, NodeId)> =
            cut.iter().flat_map(|&[a, b]| [(home(b), a), (home(a), b)]).collect();
        left.sort_unstable();
        left.dedup();
        let (mut open, mut picks) = (cut.clone(), Vec::new());
        while !left.is_empty() {
            let gain = |&(patch, node): &(u32, NodeId)| {
                let count = |edges: &[[NodeId; 2]]| {
                    edges.iter().filter(|edge| covers(edge, node, patch)).count() as u32
                };
                let gain = if open.is_empty() { Gain::Again(count(&cut)) } else { Gain::New(count(&open)) };
                Pick { gain, patch, node }
            };
            let order = |pick: &Pick| (pick.gain, std::cmp::Reverse(pick.tie()));
            let best = left.iter().map(gain).max_by_key(order).unwrap();
            open.retain(|edge| !covers(edge, best.node, best.patch));
            left.retain(|&candidate| candidate != (best.patch, best.node));
            picks.push(best);
        }
        picks
    }

    #[test]
    fn guests_are_those_of_greedy_over_all_candidates_for_any_budget() {
        for case in 0..12_u64 {
            let mut random = Seed(case).stream(Stage::Overlap, 0);
            let num_nodes = 30 + case as u32;
            // Some nodes have many edges.
            let end = |random: &mut rand_chacha::ChaCha8Rng| {
                let within = if random.random_bool(0.3) { 4 } else { num_nodes };
                random.random_range(0..within)
            };
            let edges: Vec<[u32; 2]> =
                (0..90).map(|_| [end(&mut random), end(&mut random)]).filter(|[a, b]| a != b).collect();
            let graph = graph_of(edges, num_nodes as usize);
            let num_clusters = 2 + case as u32 % 5;
            let labels = (0..num_nodes).map(|_| random.random_range(0..num_clusters)).collect();
            let partition = Partition::from_labels(labels);
            let none: Vec<&[u64]> = vec![&[]; partition.num_clusters()];
            let mut lists = lists(&partition, &none);
            let all = brute_force(&graph, &partition);
            assert!(all.is_sorted_by(|a, b| a.gain >= b.gain));
            let enough = all.iter().filter(|pick| matches!(pick.gain, Gain::New(_))).count();
            for budget in [0, 1, 2, 5, 11, enough - 1, enough, enough + 3, all.len() - 1, usize::MAX] {
                let mut expected: Vec<(u32, u64)> =
                    all.iter().take(budget).map(|pick| (pick.patch, pick.node.0)).collect();
                expected.sort_unstable();
                assert_eq!(pairs(&guests(&graph, &lists, budget)), expected, "case {case}, {budget}");
            }
            lists.add(&guests(&graph, &lists, enough));
            assert_eq!(count_uncovered(&graph, &Memberships::of(&lists)), 0, "case {case}");
        }
    }

    #[test]
    fn a_budget_that_ends_among_equals_is_spread_over_all_patches() {
        // A matching between 20 clusters: every candidate gains one.
        let edges = (0..2000_u32).map(|node| [node, 2000 + (node + 100) % 2000]).collect();
        let graph = graph_of(edges, 4000);
        let partition = Partition::from_labels((0..4000).map(|node| node % 2000 / 100).collect());
        let none: Vec<&[u64]> = vec![&[]; 20];
        let found = guests(&graph, &lists(&partition, &none), 500);
        assert_eq!(found.num_entries(), 500);
        let sizes: Vec<usize> = found.iter().map(|guests| guests.len()).collect();
        assert!(sizes.iter().all(|size| (8..=50).contains(size)), "{sizes:?}");
    }
}
