//! Pairs of nodes: those with an edge, those without, and uniform samples of both.
//!
//! A pair counts once, whatever the direction of its edges, and a node makes no pair
//! with itself. Edges are drawn by their place in the rows, non-edges by their two ends;
//! what was drawn before is drawn again. Where that would take many turns, all pairs in
//! question are listed and shuffled instead.
//!
//! Uniform non-edges mostly join nodes of low degree, and edges those of high degree, so
//! that degrees alone tell them apart. Degree-matched non-edges take that away: their ends
//! are drawn from the ends of edges, so a node is in them in proportion to its degree.
//!
//! Cost: `O(k log n)` time and `O(k)` memory for a sample of `k` pairs, and one pass over
//! the graph to count its pairs.

use rand::{Rng, RngExt};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::{Graph, NodeId};

/// Two nodes.
pub type Pair = [NodeId; 2];

/// All pairs of nodes with an edge, each once, by row.
pub fn joined_pairs(graph: &Graph) -> impl Iterator<Item = Pair> {
    graph.nodes().flat_map(move |u| joined_pairs_of(graph, u))
}

/// The number of pairs of nodes with an edge.
///
/// # Examples
/// ```
/// use l2g_graph::graph::{BuildOptions, EdgeList, build, sample};
///
/// let directed = BuildOptions { symmetrise: false, ..Default::default() };
/// let edges = EdgeList::from_pairs(vec![[0_u32, 1], [1, 0], [2, 1]]);
/// assert_eq!(sample::num_joined_pairs(&build(edges, 3, &directed).graph), 2);
/// ```
pub fn num_joined_pairs(graph: &Graph) -> usize {
    if graph.is_symmetric() {
        return (graph.num_directed_edges() - graph.num_self_loops()) / 2;
    }
    let nodes = (0..graph.num_nodes()).into_par_iter().map(NodeId::new);
    nodes.map(|u| joined_pairs_of(graph, u).count()).sum()
}

/// The pairs that the row of `u` stands for.
fn joined_pairs_of(graph: &Graph, u: NodeId) -> impl Iterator<Item = Pair> {
    graph.neighbors(u).filter(move |&v| stands_for_its_pair(graph, u, v)).map(move |v| [u, v])
}

/// Whether the entry `v` in the row of `u` counts, and not the one the other way round.
fn stands_for_its_pair(graph: &Graph, u: NodeId, v: NodeId) -> bool {
    u < v || (u > v && !graph.is_symmetric() && !graph.has_edge(v, u))
}

/// Up to `count` distinct pairs of nodes with an edge; all, by row, if there are no more.
pub fn sample_edges(graph: &Graph, count: usize, random: &mut impl Rng) -> Vec<Pair> {
    let total = num_joined_pairs(graph);
    if total / 2 < count {
        let mut pairs: Vec<Pair> = joined_pairs(graph).collect();
        if count < total {
            keep_random(&mut pairs, count, random);
        }
        return pairs;
    }
    let mut drawn = FxHashSet::default();
    let mut pairs = Vec::with_capacity(count);
    while pairs.len() < count {
        let place = random.random_range(0..graph.num_directed_edges());
        let row = graph.offsets().partition_point(|&start| start as usize <= place) - 1;
        let (u, entry) = (NodeId::new(row), graph.targets().slice(place, place + 1).next());
        let v = entry.expect("the place is inside the rows");
        if stands_for_its_pair(graph, u, v) && drawn.insert(place) {
            pairs.push([u, v]);
        }
    }
    pairs
}

/// Up to `count` distinct pairs of nodes without an edge in either direction.
pub fn sample_non_edges(graph: &Graph, count: usize, random: &mut impl Rng) -> Vec<Pair> {
    let num_nodes = graph.num_nodes() as u64;
    let all_pairs = u128::from(num_nodes) * u128::from(num_nodes.saturating_sub(1)) / 2;
    let is_edge = |u: NodeId, v: NodeId| are_joined(graph, u, v);
    // Below this, most draws would hit an edge or a pair that was drawn before.
    if all_pairs < 4 * (count as u128 + graph.num_directed_edges() as u128) {
        let pairs = (0..num_nodes).flat_map(|v| (0..v).map(move |u| [NodeId(u), NodeId(v)]));
        let mut non_edges: Vec<Pair> = pairs.filter(|&[u, v]| !is_edge(u, v)).collect();
        keep_random(&mut non_edges, count, random);
        return non_edges;
    }
    let mut drawn = FxHashSet::default();
    let mut non_edges = Vec::with_capacity(count);
    while non_edges.len() < count {
        let (a, b) = (random.random_range(0..num_nodes), random.random_range(0..num_nodes));
        let pair @ [u, v] = [NodeId(a.min(b)), NodeId(a.max(b))];
        if u != v && !is_edge(u, v) && drawn.insert(pair) {
            non_edges.push(pair);
        }
    }
    non_edges
}

/// How often a degree-matched non-edge is drawn before it counts as hard to find.
const TRIES_PER_PAIR: usize = 20;

/// Up to `count` distinct pairs without an edge, each end drawn from the ends of `edges`.
///
/// The two ends come from two edges, drawn independently. A pair is drawn again if it is a
/// loop, was drawn before, has an edge in either direction in `graph`, or is one of `edges`
/// or `others`, whose pairs need not be in the graph (held-out edges, say). Fewer than
/// `count` come out where such pairs are rare: after 20 draws a pair, the search ends.
///
/// # Examples
/// ```
/// use l2g_graph::graph::{BuildOptions, EdgeList, NodeId, build, sample};
/// use l2g_graph::seed::{Seed, Stage};
///
/// // Two edges, and a node without one, which no edge ends in.
/// let graph = build(EdgeList::from_pairs(vec![[0_u32, 1], [2, 3]]), 5, &BuildOptions::default()).graph;
/// let edges: Vec<_> = sample::joined_pairs(&graph).collect();
/// let mut random = Seed(1).stream(Stage::Evaluate, 0);
/// let pairs = sample::sample_degree_matched_non_edges(&graph, &edges, &[], 10, &mut random);
/// assert_eq!(pairs.len(), 4);
/// assert!(pairs.iter().flatten().all(|&node| node != NodeId(4)));
/// ```
pub fn sample_degree_matched_non_edges(
    graph: &Graph,
    edges: &[Pair],
    others: &[Pair],
    count: usize,
    random: &mut impl Rng,
) -> Vec<Pair> {
    let ascending = |&[u, v]: &Pair| [u.min(v), u.max(v)];
    // Looked up, never iterated.
    let mut refused: FxHashSet<Pair> = edges.iter().chain(others).map(ascending).collect();
    let mut pairs = Vec::with_capacity(count);
    let tries = if edges.is_empty() { 0 } else { TRIES_PER_PAIR.saturating_mul(count) };
    for _ in 0..tries {
        if pairs.len() == count {
            break;
        }
        let mut end = || edges[random.random_range(0..edges.len())][random.random_range(0..2)];
        let pair @ [u, v] = ascending(&[end(), end()]);
        if u != v && !are_joined(graph, u, v) && refused.insert(pair) {
            pairs.push(pair);
        }
    }
    pairs
}

/// Whether two nodes have an edge, in either direction.
fn are_joined(graph: &Graph, u: NodeId, v: NodeId) -> bool {
    graph.has_edge(u, v) || (!graph.is_symmetric() && graph.has_edge(v, u))
}

/// Keeps `count` of the items, drawn uniformly, in random order.
fn keep_random<T>(items: &mut Vec<T>, count: usize, random: &mut impl Rng) {
    for drawn in 0..count.min(items.len()) {
        let other = random.random_range(drawn..items.len());
        items.swap(drawn, other);
    }
    items.truncate(count);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};
    use crate::seed::{Seed, Stage};

    fn ring(num_nodes: u32) -> Graph {
        let edges = EdgeList::from_pairs((0..num_nodes).map(|k| [k, (k + 1) % num_nodes]).collect());
        build(edges, num_nodes as usize, &BuildOptions::default()).graph
    }

    fn directed(pairs: Vec<[u32; 2]>, num_nodes: usize) -> Graph {
        let options = BuildOptions { symmetrise: false, self_loops: true, ..Default::default() };
        build(EdgeList::from_pairs(pairs), num_nodes, &options).graph
    }

    fn distinct(mut pairs: Vec<Pair>) -> usize {
        pairs.iter_mut().for_each(|pair| pair.sort_unstable());
        pairs.sort_unstable();
        pairs.dedup();
        pairs.len()
    }

    #[test]
    fn non_edges_are_distinct_and_really_none() {
        // A small ring lists its non-edges, a large one draws them.
        for (num_nodes, count, expected) in [(5, 9, 5), (6, 4, 4), (1000, 1000, 1000)] {
            let graph = ring(num_nodes);
            let pairs = sample_non_edges(&graph, count, &mut Seed(1).stream(Stage::Evaluate, 0));
            assert!(pairs.iter().all(|&[u, v]| u < v && !graph.has_edge(u, v)));
            assert_eq!((pairs.len(), distinct(pairs)), (expected, expected));
        }
    }

    #[test]
    fn edges_are_distinct_and_really_there() {
        // All, most of them, a few.
        for (count, expected) in [(200, 100), (100, 100), (80, 80), (7, 7)] {
            let graph = ring(100);
            let pairs = sample_edges(&graph, count, &mut Seed(1).stream(Stage::Evaluate, 0));
            assert!(pairs.iter().all(|&[u, v]| graph.has_edge(u, v)));
            assert_eq!((pairs.len(), distinct(pairs)), (expected, expected));
        }
    }

    /// Ten hubs, each joined to a tenth of the other nodes, and those in a ring.
    fn hubs(num_nodes: u32) -> Graph {
        let spokes = (10..num_nodes).map(|k| [k % 10, k]);
        let ring = (10..num_nodes).map(|k| [k, if k + 1 < num_nodes { k + 1 } else { 10 }]);
        let edges = EdgeList::from_pairs(spokes.chain(ring).collect());
        build(edges, num_nodes as usize, &BuildOptions::default()).graph
    }

    #[test]
    fn matched_non_edges_have_the_degrees_of_edges() {
        let graph = hubs(4000);
        let edges = sample_edges(&graph, 2000, &mut Seed(1).stream(Stage::Evaluate, 0));
        let mut random = Seed(2).stream(Stage::Evaluate, 0);
        let matched = sample_degree_matched_non_edges(&graph, &edges, &[], 2000, &mut random);
        let uniform = sample_non_edges(&graph, 2000, &mut random);
        // A node of the ring has three edges, a hub 399: a quarter of all ends are hubs.
        let share = |pairs: &[Pair]| {
            let hubs = pairs.iter().flatten().filter(|node| node.0 < 10).count();
            hubs as f64 / (2 * pairs.len()) as f64
        };
        // Pairs of hubs are few and soon all drawn, so a little below.
        assert!((share(&edges) - 0.25).abs() < 0.02, "{}", share(&edges));
        assert!((share(&matched) - share(&edges)).abs() < 0.06, "{}", share(&matched));
        assert!(share(&uniform) < 0.02);
    }

    #[test]
    fn matched_non_edges_are_no_edges_nor_those_that_were_held_out() {
        let graph = hubs(200);
        let edges: Vec<Pair> = joined_pairs(&graph).collect();
        let held_out = sample_non_edges(&graph, 150, &mut Seed(3).stream(Stage::Evaluate, 0));
        let mut random = Seed(4).stream(Stage::Evaluate, 0);
        let pairs = sample_degree_matched_non_edges(&graph, &edges, &held_out, 300, &mut random);
        assert_eq!((pairs.len(), distinct(pairs.clone())), (300, 300));
        assert!(pairs.iter().all(|&[u, v]| u < v && !graph.has_edge(u, v)));
        assert!(pairs.iter().all(|pair| !held_out.contains(pair)));
        let one_way = directed(vec![[1, 0], [2, 1], [0, 3]], 4);
        let edges: Vec<Pair> = joined_pairs(&one_way).collect();
        let pairs = sample_degree_matched_non_edges(&one_way, &edges, &[], 50, &mut random);
        assert_eq!(distinct(pairs), 3);
        assert!(sample_degree_matched_non_edges(&graph, &[], &held_out, 9, &mut random).is_empty());
    }

    #[test]
    fn loops_make_no_pair_and_directions_no_second_one() {
        let mut pairs: Vec<[u32; 2]> = (0..50).map(|k| [k, k]).collect();
        pairs.extend([[0, 1], [1, 0], [9, 3], [4, 5], [7, 6]]);
        let graph = directed(pairs, 50);
        assert_eq!(num_joined_pairs(&graph), 4);
        for count in [1, 2, 4, 10] {
            let drawn = sample_edges(&graph, count, &mut Seed(3).stream(Stage::Evaluate, 0));
            assert!(drawn.iter().all(|[u, v]| u != v));
            assert_eq!(distinct(drawn), count.min(4));
        }
        let non_edges = sample_non_edges(&graph, 5000, &mut Seed(3).stream(Stage::Evaluate, 0));
        assert_eq!(non_edges.len(), 50 * 49 / 2 - 4);
    }

    #[test]
    fn every_edge_is_drawn_equally_often() {
        let graph = ring(20);
        let mut times = [0; 20];
        for seed in 0..2000 {
            for [u, v] in sample_edges(&graph, 2, &mut Seed(seed).stream(Stage::Evaluate, 0)) {
                times[if u.0 + 1 == v.0 { u.index() } else { 19 }] += 1;
            }
        }
        // 200 expected, standard deviation 13.
        assert!(times.iter().all(|&times| (140..260).contains(&times)), "{times:?}");
    }
}
