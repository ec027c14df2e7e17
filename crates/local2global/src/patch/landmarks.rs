//! Landmarks: nodes that every patch holds.
//!
//! Patches that share only their borders know little of each other. Landmarks are balls of
//! `BALL` nodes all over the graph, found breadth first from random nodes, that are added to
//! every patch. A ball brings its edges along, so that a model sees what the landmarks look like
//! in the graph; random single nodes would come without. As guests in a patch they lose most of
//! their edges at the rim of the ball, and carry little weight in the mean of their copies.
//!
//! Any two patches share all landmarks, so any two can be aligned. A few such pairs are added
//! to the patch graph (see `landmark_edges`), which makes it connected and its paths short.
//!
//! Cost: the rows of the nodes taken. The balls are drawn from a stream of their own.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rustc_hash::FxHashSet;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::bounds::USUAL_MIN_OVERLAP;
use super::{PatchGraph, PatchId};
use crate::graph::{Graph, NodeId};
use crate::seed::{Seed, Stage};

/// The nodes of a ball, if its component has as many.
pub const BALL: usize = 20;

/// Landmarks are at most one node in so many.
const LEAST_NODES_EACH: usize = 4;

/// How many landmarks there are. In settings a number: up to 1 it is a share of the mean
/// cluster, above a number of nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Landmarks {
    /// This share of the nodes of a mean cluster, from 0 (none) to 1.
    Share(f64),
    /// This many nodes.
    Nodes(usize),
}

impl Landmarks {
    /// No landmarks.
    pub const NONE: Self = Self::Share(0.0);

    /// The number of landmarks in a graph that is split into `num_patches` patches: as set, but
    /// at most a quarter of the nodes, and none for a single patch.
    ///
    /// # Examples
    /// ```
    /// use local2global::patch::Landmarks;
    ///
    /// assert_eq!(Landmarks::Share(0.5).count(2485, 10), 124);
    /// assert_eq!(Landmarks::Nodes(600).count(2485, 10), 600);
    /// assert_eq!(Landmarks::Nodes(600).count(100, 2), 25);
    /// ```
    pub fn count(self, num_nodes: usize, num_patches: usize) -> usize {
        if num_patches < 2 {
            return 0;
        }
        let wanted = match self {
            Self::Share(share) => (share * num_nodes as f64 / num_patches as f64).round() as usize,
            Self::Nodes(nodes) => nodes,
        };
        wanted.min(num_nodes / LEAST_NODES_EACH)
    }

    /// From the number that settings hold; none if it is negative, infinite, or above 1 and not
    /// whole.
    pub fn from_number(number: f64) -> Option<Self> {
        match number {
            share if (0.0..=1.0).contains(&share) => Some(Self::Share(share)),
            nodes if nodes > 1.0 && nodes < u64::MAX as f64 && nodes.fract() == 0.0 => {
                Some(Self::Nodes(nodes as usize))
            }
            _ => None,
        }
    }
}

impl Serialize for Landmarks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            // One node and a share of one are different things, but nobody wants one landmark.
            Self::Share(share) => serializer.serialize_f64(share),
            Self::Nodes(nodes) => serializer.serialize_u64(nodes as u64),
        }
    }
}

impl<'de> Deserialize<'de> for Landmarks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        Self::from_number(number).ok_or_else(|| {
            D::Error::custom(format!("{number} is neither a share from 0 to 1 nor a whole number of nodes"))
        })
    }
}

/// Draws about `count` landmarks of an undirected graph, ascending.
///
/// Balls start at nodes drawn uniformly from those that are no landmarks yet. A ball never
/// leaves its component, and may touch others; the last one is smaller if fewer are missing.
pub fn landmarks(graph: &Graph, count: usize, seed: Seed) -> Vec<NodeId> {
    let mut random = seed.stream(Stage::Landmarks, 0);
    let mut found = FxHashSet::default();
    let mut listed = Vec::with_capacity(count);
    while listed.len() < count.min(graph.num_nodes()) {
        let start = NodeId::new(random.random_range(0..graph.num_nodes()));
        if found.contains(&start) {
            continue;
        }
        let fresh = ball(graph, start, &mut random).into_iter().filter(|&node| found.insert(node));
        let missing = count - listed.len();
        listed.extend(fresh.take(missing));
    }
    listed.sort_unstable();
    listed
}

/// Up to `BALL` nodes around `start`, breadth first. Neighbours are taken in the order of their
/// row from a random one on, so that balls around a hub differ.
fn ball(graph: &Graph, start: NodeId, random: &mut ChaCha8Rng) -> Vec<NodeId> {
    let mut nodes = vec![start];
    let mut next = 0;
    while next < nodes.len() && nodes.len() < BALL {
        let node = nodes[next];
        let first = random.random_range(0..graph.degree(node).max(1));
        let around = graph.neighbors(node).skip(first).chain(graph.neighbors(node).take(first));
        for to in around {
            if nodes.len() == BALL {
                break;
            }
            // At most twenty: a search costs less than a set.
            if !nodes.contains(&to) {
                nodes.push(to);
            }
        }
        next += 1;
    }
    nodes
}

/// Whether the landmarks alone fix the rotation between two patches well enough to join them.
pub(super) fn can_join(num_landmarks: usize, dim: usize) -> bool {
    num_landmarks >= (dim + 1).max(USUAL_MIN_OVERLAP)
}

/// Patch edges through landmarks that are not there already, ascending: a star around the patch
/// with most patch edges, the first of several. So two patches are two edges apart at most, and there
/// are fewer edges than patches.
///
/// With VGAE in 16 dimensions on Cora and Citeseer (landmarks 0.5) a star gave .000 to .019 more
/// accuracy than two edges a patch around a ring, and the same links, at half the edges.
pub(super) fn landmark_edges(patch_graph: &PatchGraph) -> Vec<[PatchId; 2]> {
    let degrees = patch_graph.degrees();
    let hub =
        (0..degrees.len()).fold(0, |hub, patch| if degrees[patch] > degrees[hub] { patch } else { hub });
    let spokes = (0..degrees.len()).filter(|&patch| patch != hub);
    let star = spokes.map(|patch| [hub.min(patch), hub.max(patch)].map(|patch| PatchId(patch as u32)));
    star.filter(|edge| patch_graph.edges().binary_search(edge).is_err()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::component::Components;
    use crate::graph::{BuildOptions, EdgeList, build};

    fn graph(edges: Vec<[u32; 2]>, num_nodes: usize) -> Graph {
        build(EdgeList::from_pairs(edges), num_nodes, &BuildOptions::default()).graph
    }

    fn ring(num_nodes: u32) -> Graph {
        graph((0..num_nodes).map(|node| [node, (node + 1) % num_nodes]).collect(), num_nodes as usize)
    }

    #[test]
    fn landmarks_are_as_many_as_asked_for_in_connected_balls() {
        let graph = ring(5000);
        for seed in 0..8 {
            let found = landmarks(&graph, 400, Seed(seed));
            assert_eq!(found.len(), 400);
            assert!(found.is_sorted_by(|a, b| a < b));
            let sizes = Components::of(&graph.subgraph(&found)).sizes().to_vec();
            // Twenty balls, of which few touch, and the last may be smaller.
            let smaller = sizes.iter().filter(|&&size| size < BALL).count();
            assert!(sizes.len() > 12 && smaller <= 1, "{sizes:?}");
            assert_ne!(found, landmarks(&graph, 400, Seed(seed + 100)));
        }
        assert_eq!(landmarks(&graph, 7, Seed(1)).len(), 7);
        assert!(landmarks(&graph, 0, Seed(1)).is_empty());
    }

    #[test]
    fn balls_end_where_their_component_ends() {
        // A path of five nodes, many of them.
        let edges = (0..500_u32).filter(|node| node % 5 != 4).map(|node| [node, node + 1]).collect();
        let graph = graph(edges, 500);
        let found = landmarks(&graph, 50, Seed(3));
        assert_eq!(found.len(), 50);
        assert!(found.chunks(5).all(|path| path.iter().all(|node| node.0 / 5 == path[0].0 / 5)));
    }

    #[test]
    fn balls_around_a_hub_differ() {
        let graph = graph((1..2000_u32).map(|node| [0, node]).collect(), 2000);
        assert_eq!(landmarks(&graph, 200, Seed(1)).len(), 200);
        let mut random = Seed(2).stream(Stage::Landmarks, 0);
        let [one, other] = [(); 2].map(|()| ball(&graph, NodeId(0), &mut random));
        assert_eq!(one.len(), BALL);
        assert_ne!(one, other);
    }

    #[test]
    fn landmark_edges_join_all_patches_at_linear_cost() {
        for num_patches in [2, 3, 4, 7, 40, 101] {
            let alone = PatchGraph::new(num_patches, []);
            let edges = landmark_edges(&alone);
            assert!(edges.len() < num_patches && edges.is_sorted());
            let joined = PatchGraph::new(num_patches, edges.clone());
            assert_eq!(joined.groups().len(), 1);
            assert!(landmark_edges(&joined).is_empty(), "edges that are there are not added again");
        }
    }

    #[test]
    fn settings_hold_a_number() {
        let parse = |text: &str| serde_json::from_str::<Landmarks>(text);
        assert_eq!(parse("0.5").unwrap(), Landmarks::Share(0.5));
        assert_eq!(parse("0").unwrap(), Landmarks::NONE);
        assert_eq!(parse("1").unwrap(), Landmarks::Share(1.0));
        assert_eq!(parse("600").unwrap(), Landmarks::Nodes(600));
        for text in ["0.5", "0.0", "600"] {
            assert_eq!(serde_json::to_string(&parse(text).unwrap()).unwrap(), text);
        }
        for wrong in ["-1", "1.5", "1e30"] {
            assert!(parse(wrong).unwrap_err().to_string().contains("whole number of nodes"), "{wrong}");
        }
        assert_eq!(Landmarks::Share(1.0).count(100, 1), 0);
    }
}
