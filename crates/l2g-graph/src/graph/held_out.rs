//! Edges taken out of a graph, to see later whether an embedding predicts them.
//!
//! A share of the edges is drawn uniformly and removed, in both directions, from all
//! that follows: partition, patches and training never see them. As many pairs without an
//! edge in the whole graph are drawn beside them. No component falls apart: the edges are
//! shuffled, those that join two parts in that order make a random spanning forest
//! (Kruskal 1956) and stay, and what is held out comes from the others.
//!
//! Convention: an edge counts once, whatever its direction; loops stay and do not count.
//! Both lists are ascending, without duplicates and without loops. The same seed gives
//! the same split.
//! Cost: `O(n + m α(n))` time, 8 bytes an edge and 1 byte a stored edge while it lasts.

use rand::Rng;
use rand::seq::SliceRandom;

use super::sample::{Pair, joined_pairs, num_joined_pairs, sample_non_edges};
use super::{Graph, GraphError, NodeIndex, Targets};
use crate::buffer::Buffer;
use crate::disjoint_sets::{DisjointSets, SetIndex};
use crate::seed::{Seed, Stage};

/// The index of the stream that splits are drawn from.
const STREAM: u64 = 1;

/// Edges that were taken out of a graph, and pairs that never were edges.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    edges: Buffer<u64>,
    non_edges: Buffer<u64>,
}

/// Why edges could not be held out.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum HoldOutError {
    /// The share is not between 0 and 1.
    #[error("the share of edges to hold out is {found}, needed at least 0 and below 1")]
    Share { found: f64 },

    /// The share is less than one edge.
    #[error("a share of {share} of {edges} edges is less than one edge")]
    Nothing { share: f64, edges: usize },

    /// Too many edges are needed to keep components connected.
    #[error("cannot hold out {wanted} of {edges} edges: {spare} can be spared, the others keep it connected")]
    Connected { wanted: usize, edges: usize, spare: usize },

    /// Every pair of nodes has an edge.
    #[error("every two nodes have an edge; held-out edges need pairs without one to compare with")]
    Complete,
}

impl HeldOut {
    /// Held-out pairs from flat lists of nodes, two for each pair.
    ///
    /// # Errors
    /// [`GraphError::Length`] if a list ends within a pair.
    pub fn new(edges: Buffer<u64>, non_edges: Buffer<u64>) -> Result<Self, GraphError> {
        for (what, list) in [("ends of held-out edges", &edges), ("ends of held-out non-edges", &non_edges)] {
            super::check_length(what, list.len(), list.len() / 2 * 2)?;
        }
        Ok(Self { edges, non_edges })
    }

    /// The edges that were taken out.
    pub fn edges(&self) -> &[Pair] {
        bytemuck::cast_slice(&self.edges)
    }

    /// Pairs that had no edge.
    pub fn non_edges(&self) -> &[Pair] {
        bytemuck::cast_slice(&self.non_edges)
    }
}

impl From<[Vec<Pair>; 2]> for HeldOut {
    fn from([edges, non_edges]: [Vec<Pair>; 2]) -> Self {
        let flat = |pairs: Vec<Pair>| bytemuck::cast_slice::<Pair, u64>(&pairs).to_vec().into();
        Self { edges: flat(edges), non_edges: flat(non_edges) }
    }
}

/// Takes a share of the edges out of a graph; what is left has the same nodes and the
/// same components, and [`Graph::held_out`] tells what was taken.
///
/// A share of 0 takes nothing.
///
/// # Errors
/// [`HoldOutError`] if the share is out of range, less than one edge or more than can be
/// spared, or if there are no pairs without an edge.
///
/// # Examples
/// ```
/// use l2g_graph::graph::{BuildOptions, EdgeList, build, held_out::hold_out};
/// use l2g_graph::seed::Seed;
///
/// let ring = EdgeList::from_pairs((0..10_u32).map(|k| [k, (k + 1) % 10]).collect());
/// let graph = build(ring, 10, &BuildOptions::default()).graph;
/// let training = hold_out(graph.clone(), 0.1, Seed(7))?;
/// assert_eq!(training.num_edges(), 9);
/// assert_eq!(training.held_out().map(|pairs| pairs.edges().len()), Some(1));
///
/// let error = hold_out(graph, 0.2, Seed(7)).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "cannot hold out 2 of 10 edges: 1 can be spared, the others keep it connected"
/// );
/// # Ok::<(), l2g_graph::graph::held_out::HoldOutError>(())
/// ```
pub fn hold_out(graph: Graph, share: f64, seed: Seed) -> Result<Graph, HoldOutError> {
    if !(0.0..1.0).contains(&share) {
        return Err(HoldOutError::Share { found: share });
    }
    if share == 0.0 {
        return Ok(graph);
    }
    let edges = num_joined_pairs(&graph);
    let wanted = (share * edges as f64).round() as usize;
    if wanted == 0 {
        return Err(HoldOutError::Nothing { share, edges });
    }
    let mut random = seed.stream(Stage::Evaluate, STREAM);
    let drawn = match u32::try_from(graph.num_nodes()) {
        Ok(_) => draw::<u32>(&graph, wanted, &mut random),
        Err(_) => draw::<u64>(&graph, wanted, &mut random),
    };
    let drawn = drawn.map_err(|spare| HoldOutError::Connected { wanted, edges, spare })?;
    let mut non_edges = sample_non_edges(&graph, wanted, &mut random);
    if non_edges.is_empty() {
        return Err(HoldOutError::Complete);
    }
    non_edges.sort_unstable();
    let training = without(graph, &drawn);
    Ok(training.with_held_out(Some([drawn, non_edges].into())))
}

/// Draws `wanted` edges that are not needed to keep components connected; if there are
/// not so many, the error is how many there are.
fn draw<I: NodeIndex + SetIndex>(
    graph: &Graph,
    wanted: usize,
    random: &mut impl Rng,
) -> Result<Vec<Pair>, usize> {
    let mut pairs: Vec<[I; 2]> =
        joined_pairs(graph).map(|pair| pair.map(|node| I::from_index(node.index()))).collect();
    pairs.shuffle(random);
    let mut joined = DisjointSets::<I>::new(graph.num_nodes());
    pairs.retain(|[u, v]| !joined.join(u.index(), v.index()));
    if pairs.len() < wanted {
        return Err(pairs.len());
    }
    let drawn = pairs[..wanted].iter().map(|pair| pair.map(|node| super::NodeId::new(node.index())));
    let mut drawn: Vec<Pair> = drawn.map(|[u, v]| [u.min(v), u.max(v)]).collect();
    drawn.sort_unstable();
    Ok(drawn)
}

/// The graph without some edges, in either direction.
fn without(graph: Graph, edges: &[Pair]) -> Graph {
    let mut stays = vec![true; graph.num_directed_edges()];
    for &[u, v] in edges {
        let places = [graph.place_of(u, v), graph.place_of(v, u)];
        places.into_iter().flatten().for_each(|place| stays[place] = false);
    }
    let mut offsets = Vec::with_capacity(graph.offsets.len());
    let mut left = 0;
    offsets.push(0);
    for row in graph.offsets.windows(2) {
        left += stays[row[0] as usize..row[1] as usize].iter().filter(|&&stays| stays).count() as u64;
        offsets.push(left);
    }
    let targets = match &graph.targets {
        Targets::Narrow(targets) => Targets::Narrow(kept(targets, &stays)),
        Targets::Wide(targets) => Targets::Wide(kept(targets, &stays)),
    };
    let weights = graph.weights.as_deref().map(|weights| kept(weights, &stays));
    Graph { offsets: offsets.into(), targets, weights, ..graph }
}

fn kept<T: Copy>(values: &[T], stays: &[bool]) -> Buffer<T> {
    let pairs = values.iter().zip(stays);
    pairs.filter(|&(_, &stays)| stays).map(|(&value, _)| value).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::graph::component::Components;
    use crate::graph::edge_list::EdgeChunk;
    use crate::graph::{BuildOptions, EdgeList, Labels, build};

    /// A random graph with weights and labels, in one or several components.
    fn random_graph(seed: u64, num_edges: usize, symmetrise: bool) -> Graph {
        let mut random = Seed(seed).stream(Stage::Generate, 0);
        let pairs: Vec<[u32; 2]> =
            (0..num_edges).map(|_| [random.random_range(0..60), random.random_range(0..60)]).collect();
        let weights = pairs.iter().map(|[u, v]| (u * v + u + v) as f32 + 0.5).collect();
        let mut list = EdgeList::new();
        list.push(EdgeChunk { pairs, weights });
        let options = BuildOptions { symmetrise, self_loops: true, ..Default::default() };
        let labels = Labels::single((0..60).collect::<Vec<_>>().into(), vec![]);
        build(list, 60, &options).graph.with_labels(Some(labels)).unwrap()
    }

    /// Graphs of all kinds with the share that is held out of them.
    fn cases() -> impl Iterator<Item = (Graph, f64, Seed)> {
        (0..24).map(|case| {
            let num_edges = [90, 150, 400][case as usize % 3];
            (random_graph(case, num_edges, case % 2 == 0), [0.05, 0.15, 0.3][case as usize % 3], Seed(case))
        })
    }

    #[test]
    fn components_stay_connected() {
        for (graph, share, seed) in cases() {
            let training = hold_out(graph.clone(), share, seed).unwrap();
            assert_eq!(Components::of(&training), Components::of(&graph));
        }
    }

    #[test]
    fn training_and_held_out_edges_are_disjoint_and_together_all() {
        for (graph, share, seed) in cases() {
            let training = hold_out(graph.clone(), share, seed).unwrap();
            training.check_rows().unwrap();
            let held_out = training.held_out().unwrap().edges();
            let total = num_joined_pairs(&graph);
            assert_eq!(held_out.len(), (share * total as f64).round() as usize);
            assert_eq!(num_joined_pairs(&training) + held_out.len(), total);
            for &[u, v] in held_out {
                assert!(graph.has_edge(u, v) || graph.has_edge(v, u));
                assert!(!training.has_edge(u, v) && !training.has_edge(v, u));
            }
            assert_eq!(training.num_self_loops(), graph.num_self_loops());
        }
    }

    #[test]
    fn pairs_are_distinct_without_loops_and_non_edges_are_none() {
        for (graph, share, seed) in cases() {
            let training = hold_out(graph.clone(), share, seed).unwrap();
            let held_out = training.held_out().unwrap();
            for pairs in [held_out.edges(), held_out.non_edges()] {
                assert!(pairs.iter().all(|[u, v]| u < v) && pairs.is_sorted_by(|a, b| a < b));
            }
            assert_eq!(held_out.edges().len(), held_out.non_edges().len());
            for &[u, v] in held_out.non_edges() {
                assert!(!graph.has_edge(u, v) && !graph.has_edge(v, u));
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_split_and_another_one_another() {
        for (graph, share, seed) in cases() {
            let split = |seed| hold_out(graph.clone(), share, seed).unwrap();
            assert_eq!(split(seed), split(seed));
            assert_ne!(split(seed).held_out(), split(Seed(seed.0 + 1)).held_out());
        }
    }

    #[test]
    fn what_is_left_keeps_weights_labels_and_names() {
        let graph = random_graph(1, 300, true);
        let training = hold_out(graph.clone(), 0.2, Seed(1)).unwrap();
        assert_eq!((training.labels(), training.ids()), (graph.labels(), graph.ids()));
        for u in training.nodes() {
            let weights = training.neighbor_weights(u).unwrap();
            for (v, &weight) in training.neighbors(u).zip(weights) {
                let place = graph.neighbors(u).position(|other| other == v).unwrap();
                assert_eq!(weight, graph.neighbor_weights(u).unwrap()[place]);
            }
        }
    }

    #[test]
    fn every_edge_of_a_ring_is_held_out_equally_often() {
        let ring = EdgeList::from_pairs((0..12_u32).map(|k| [k, (k + 1) % 12]).collect());
        let ring = build(ring, 12, &BuildOptions::default()).graph;
        let mut times = [0; 12];
        for seed in 0..1200 {
            let training = hold_out(ring.clone(), 0.1, Seed(seed)).unwrap();
            let [u, v] = training.held_out().unwrap().edges()[0];
            times[if v.0 == u.0 + 1 { u.index() } else { 11 }] += 1;
        }
        // 100 expected, standard deviation 10.
        assert!(times.iter().all(|&times| (60..140).contains(&times)), "{times:?}");
    }

    #[test]
    fn shares_that_cannot_be_are_refused() {
        let path = build(EdgeList::from_pairs(vec![[0_u32, 1], [1, 2]]), 3, &BuildOptions::default()).graph;
        let error = |graph: &Graph, share| hold_out(graph.clone(), share, Seed(0)).unwrap_err();
        assert_eq!(error(&path, 1.0), HoldOutError::Share { found: 1.0 });
        assert!(matches!(error(&path, f64::NAN), HoldOutError::Share { .. }));
        assert_eq!(error(&path, 0.5), HoldOutError::Connected { wanted: 1, edges: 2, spare: 0 });
        assert_eq!(error(&path, 0.1), HoldOutError::Nothing { share: 0.1, edges: 2 });
        let triangle = EdgeList::from_pairs(vec![[0_u32, 1], [1, 2], [2, 0]]);
        let triangle = build(triangle, 3, &BuildOptions::default()).graph;
        assert_eq!(error(&triangle, 0.3), HoldOutError::Complete);
        assert_eq!(hold_out(path.clone(), 0.0, Seed(0)), Ok(path));
    }
}
