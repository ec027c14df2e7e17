//! Choosing settings for the user, on edges that were kept aside for it.
//!
//! Some edges of the graph are held out, candidates are embedded without training on the rest,
//! and the one that tells the held-out edges best from non-edges wins. The non-edges have the
//! degrees of the edges and come from all over the graph: against uniform ones degree alone would
//! win, and inside a patch everything is alike. What is scored in the end is never looked at: it
//! was taken out of the graph before.
//!
//! Large graphs are judged by some of their clusters, drawn at random.
//! Cost: one untrained embedding of at most `MAX_NODES` nodes for each candidate.

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::nn::Matrix;
use crate::graph::held_out::hold_out;
use crate::graph::sample::{Pair, sample_degree_matched_non_edges};
use crate::graph::{Graph, NodeId};
use crate::partition::Partition;
use crate::score::{Coordinates, Score, link_auc};
use crate::seed::{Seed, Stage};

/// At most about so many nodes are embedded for a trial.
pub(super) const MAX_NODES: usize = 30_000;
/// The shares of edges to hold out; a graph that is nearly a tree can spare only few.
const SHARES: [f64; 3] = [0.1, 0.03, 0.01];
/// With fewer edges held out, differences are luck.
const MIN_EDGES: usize = 100;
/// At most so many pairs of each kind are scored.
const MAX_PAIRS: usize = 50_000;
/// The stream that clusters and non-edges are drawn from.
const STREAM: u64 = 1 << 40;

/// A choice that was made, and the scores of all candidates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// What was chosen, such as `scaling`.
    pub setting: String,
    /// The candidate that was taken.
    pub chosen: String,
    /// Why, in words.
    pub reason: String,
    /// The AUC of each candidate on held-out edges against degree-matched non-edges.
    pub scores: Vec<(String, f64)>,
}

/// A graph without some edges, and these edges beside non-edges of like degree.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What candidates may see.
    pub graph: Graph,
    edges: Vec<Pair>,
    non_edges: Vec<Pair>,
}

impl Trial {
    /// Holds edges of a graph out; none if it cannot spare enough.
    pub fn new(graph: &Graph, clusters: Option<&Partition>, seed: Seed) -> Option<Self> {
        let seed = seed.child(Stage::Embed, STREAM);
        let part = match graph.num_nodes() <= MAX_NODES {
            true => graph.clone(),
            false => graph.subgraph(&some_nodes(graph, clusters, seed)),
        };
        let part = part.with_held_out(None);
        let held = SHARES.iter().find_map(|&share| {
            let held = hold_out(part.clone(), share, seed).ok()?;
            (held.held_out()?.edges().len() >= MIN_EDGES).then_some(held)
        })?;
        let mut random = seed.stream(Stage::Embed, 0);
        let mut edges = held.held_out()?.edges().to_vec();
        edges.shuffle(&mut random);
        edges.truncate(MAX_PAIRS);
        let non_edges = sample_degree_matched_non_edges(&part, &edges, &[], edges.len(), &mut random);
        (!non_edges.is_empty()).then(|| Self { graph: held.with_held_out(None), edges, non_edges })
    }

    /// How well coordinates tell the held-out edges: the better AUC of inner product and cosine.
    pub fn score(&self, coordinates: &Matrix<f32>) -> f64 {
        let rows = Coordinates::new(coordinates.values(), coordinates.num_columns());
        let auc = |score| link_auc(rows, score, &self.edges, &self.non_edges).unwrap_or(0.0);
        auc(Score::InnerProduct).max(auc(Score::Cosine))
    }
}

/// The nodes of clusters drawn at random, about `MAX_NODES`; without clusters, of the first
/// nodes, since neighbours tend to have numbers close to each other.
fn some_nodes(graph: &Graph, clusters: Option<&Partition>, seed: Seed) -> Vec<NodeId> {
    let Some(clusters) = clusters else { return graph.nodes().take(MAX_NODES).collect() };
    let mut order: Vec<u32> = (0..clusters.num_clusters() as u32).collect();
    order.shuffle(&mut seed.stream(Stage::Embed, 1));
    let members = clusters.members();
    let mut nodes = Vec::new();
    for cluster in order {
        if nodes.len() + members.of(cluster).len() > MAX_NODES && !nodes.is_empty() {
            break;
        }
        nodes.extend(members.of(cluster));
    }
    nodes.sort_unstable();
    nodes
}

impl Choice {
    /// A choice between candidates with these scores, the first being the usual one.
    pub fn of(setting: &str, chosen: &str, scores: Vec<(String, f64)>) -> Self {
        let listed: Vec<String> = scores.iter().map(|(name, score)| format!("{name} {score:.3}")).collect();
        let reason = format!(
            "AUC on edges hidden for choosing, against non-edges of like degree: {}",
            listed.join(", ")
        );
        Self { setting: setting.into(), chosen: chosen.into(), reason, scores }
    }

    /// The same, where others must beat the first by a margin.
    #[must_use]
    pub fn clearly(mut self, margin: f64) -> Self {
        self.reason += &format!("; others must be better than the first by {margin}");
        self
    }

    /// A choice that could not be tried, or needs no trial.
    pub fn by_rule(setting: &str, chosen: &str, reason: &str) -> Self {
        Self { setting: setting.into(), chosen: chosen.into(), reason: reason.into(), scores: vec![] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};

    /// A ring where every node also knows the next few.
    fn ring(num_nodes: u32) -> Graph {
        let pairs = (0..num_nodes).flat_map(|k| (1..5).map(move |step| [k, (k + step) % num_nodes]));
        build(EdgeList::from_pairs(pairs.collect()), num_nodes as usize, &BuildOptions::default()).graph
    }

    fn circle(num_nodes: usize) -> Matrix<f32> {
        let angle = |k: usize| std::f32::consts::TAU * k as f32 / num_nodes as f32;
        let values = (0..num_nodes).flat_map(|k| [angle(k).cos(), angle(k).sin()]).collect();
        Matrix::from_values(num_nodes, 2, values)
    }

    #[test]
    fn what_knows_the_graph_scores_higher_than_what_does_not() {
        let graph = ring(1000);
        let trial = Trial::new(&graph, None, Seed(1)).unwrap();
        assert!(trial.graph.num_edges() < graph.num_edges());
        assert!(trial.score(&circle(1000)) > 0.95);
        let mut nonsense = circle(1000);
        nonsense.values_mut().rotate_left(778);
        (0..1000).step_by(2).for_each(|row| nonsense.row_mut(row).fill(0.1));
        assert!(trial.score(&nonsense) < 0.8);
    }

    #[test]
    fn a_tree_can_spare_nothing() {
        let path = EdgeList::from_pairs((1..500_u32).map(|k| [k - 1, k]).collect());
        let path = build(path, 500, &BuildOptions::default()).graph;
        assert!(Trial::new(&path, None, Seed(1)).is_none());
    }

    #[test]
    fn a_choice_tells_its_reason() {
        let scores = vec![("unit".to_owned(), 0.9), ("idf".to_owned(), 0.91)];
        let choice = Choice::of("scaling", "unit", scores).clearly(0.015);
        let ending = "like degree: unit 0.900, idf 0.910; others must be better than the first by 0.015";
        assert!(choice.reason.ends_with(ending), "{}", choice.reason);
    }
}
