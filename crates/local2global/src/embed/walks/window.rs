//! Which window suits a graph: the one that predicts hidden edges best.
//!
//! Long walks see the large structure, short ones keep what is near apart; graphs that mix slowly
//! want long ones, graphs ruled by hubs short ones. No measure of the graph tells which, so every
//! candidate is tried. A tenth of the edges among some nodes is hidden, such that no component
//! falls apart, the nodes are embedded as one patch without them, and the hidden edges are told from
//! pairs without an edge whose ends are drawn from the ends of hidden edges, so that degree does not
//! help. What counts is the area under the ROC curve, by cosine or inner product, whichever is
//! better; on small graphs, the mean of several trials. Of the windows that are as good as the best,
//! the longest is taken, since long walks are better at telling classes.
//!
//! Small graphs are used in whole. Of large ones, groups of neighbouring clusters all over the graph
//! are: enough nodes around each edge for its walks, and pairs as far apart as there are. Hidden
//! edges are taken out of the links between clusters too.
//!
//! Cost: that of embedding [`SAMPLE_NODES`] nodes with each candidate, and a frame for each.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::links::for_each_neighbor;
use super::patch::coordinates_without;
use super::{ClusterLinks, WalkFrame, WalkSettings};
use crate::embed::EmbedError;
use crate::embed::nn::Matrix;
use crate::graph::sample::Pair;
use crate::graph::{Graph, NodeId};
use crate::linalg::disjoint_sets::DisjointSets;
use crate::linalg::lanes;
use crate::partition::{Partition, undirected};
use crate::progress::Progress;
use crate::score::area_under_curve;
use crate::seed::{Seed, Stage};

/// The windows that are tried, the longest first.
pub const CANDIDATES: [usize; 4] = [10, 5, 3, 2];
/// The index of the stream that samples are drawn from.
const STREAM: u64 = 1 << 48;
/// Graphs of more nodes are sampled, down to about so many.
const SAMPLE_NODES: usize = 20_000;
/// About how many nodes a group of clusters has: a patch of usual size.
const GROUP_NODES: usize = 2000;
/// The share of edges that are hidden.
const HIDDEN_SHARE: f64 = 0.1;
/// The most edges that are hidden, and how many pairs without an edge each is compared with.
const MOST_HIDDEN: usize = 20_000;
const NON_EDGES_PER_EDGE: usize = 5;

/// Trials go on until so many edges were hidden, but not for longer than so many trials.
const ENOUGH_HIDDEN: usize = 1000;
const MOST_TRIALS: usize = 3;
/// Scores that differ by less are equal.
const TIE: f64 = 0.002;

/// The window that was chosen, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowChoice {
    /// The window.
    pub window: usize,
    /// The areas under the ROC curve of all windows that were tried; none if there were no edges
    /// to hide.
    pub scores: Vec<(usize, f64)>,
}

/// Chooses the window for a graph with these clusters, whose links are known.
///
/// # Errors
/// [`EmbedError::Cancelled`] if somebody asks to stop.
pub fn choose_window(
    graph: &Graph,
    clusters: &Partition,
    links: &ClusterLinks,
    dim: usize,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<WindowChoice, EmbedError> {
    let graph = &*undirected(graph);
    let mut random = seed.stream(Stage::Embed, STREAM);
    let nodes = sample_nodes(graph, clusters, links, &mut random);
    let mut sums = [0.0; CANDIDATES.len()];
    let (mut num_hidden, mut num_trials) = (0, 0);
    while num_hidden < ENOUGH_HIDDEN && num_trials < MOST_TRIALS {
        let trial = Trial::new(graph, &nodes, clusters, links, &mut random);
        if trial.hidden.is_empty() || trial.non_edges.is_empty() {
            return Ok(WindowChoice { window: CANDIDATES[0], scores: Vec::new() });
        }
        let score = |&window: &usize| trial.score(&WalkSettings::new(window, dim), seed, progress);
        let scores: Vec<f64> = CANDIDATES.par_iter().map(score).collect::<Result<_, _>>()?;
        sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
        num_hidden += trial.hidden.len();
        num_trials += 1;
    }
    let scores: Vec<_> = CANDIDATES.into_iter().zip(sums.map(|sum| sum / num_trials as f64)).collect();
    let best = scores.iter().map(|score| score.1).fold(0.0, f64::max);
    let window = scores.iter().find(|score| score.1 >= best - TIE).map_or(CANDIDATES[0], |score| score.0);
    Ok(WindowChoice { window, scores })
}

/// All nodes, or those of some groups of clusters, ascending.
fn sample_nodes(
    graph: &Graph,
    clusters: &Partition,
    links: &ClusterLinks,
    random: &mut ChaCha8Rng,
) -> Vec<NodeId> {
    if graph.num_nodes() <= SAMPLE_NODES {
        return graph.nodes().collect();
    }
    let mut is_taken = vec![false; clusters.num_clusters()];
    let mut order: Vec<usize> = (0..clusters.num_clusters()).collect();
    order.shuffle(random);
    let mut num_nodes = 0;
    for start in order {
        if num_nodes >= SAMPLE_NODES {
            break;
        }
        if !is_taken[start] {
            num_nodes += take_group(start, clusters, links, &mut is_taken);
        }
    }
    let is_sampled = |node: &NodeId| is_taken[clusters.cluster_of(*node) as usize];
    graph.nodes().filter(is_sampled).collect()
}

/// Takes a cluster and those it is linked to most, until there are enough nodes; returns how many
/// nodes were taken.
fn take_group(start: usize, clusters: &Partition, links: &ClusterLinks, is_taken: &mut [bool]) -> usize {
    let mut pull = vec![0.0; clusters.num_clusters()];
    let (mut num_nodes, mut next) = (0, Some(start));
    while let Some(cluster) = next {
        is_taken[cluster] = true;
        num_nodes += clusters.sizes()[cluster];
        pull.iter_mut().zip(links.row(cluster)).for_each(|(pull, weight)| *pull += weight);
        let free = (0..pull.len()).filter(|&other| !is_taken[other] && pull[other] > 0.0);
        next = free.max_by(|&a, &b| pull[a].total_cmp(&pull[b]).then(b.cmp(&a)));
        if num_nodes >= GROUP_NODES {
            break;
        }
    }
    num_nodes
}

/// Edges that are hidden, pairs that are none, and what is left to embed.
struct Trial<'a> {
    graph: &'a Graph,
    nodes: &'a [NodeId],
    clusters: &'a Partition,
    links: ClusterLinks,
    hidden: Vec<Pair>,
    is_hidden: FxHashSet<Pair>,
    non_edges: Vec<Pair>,
}

impl<'a> Trial<'a> {
    fn new(
        graph: &'a Graph,
        nodes: &'a [NodeId],
        clusters: &'a Partition,
        links: &ClusterLinks,
        random: &mut ChaCha8Rng,
    ) -> Self {
        let edges = edges_among(graph, nodes);
        let mut links = links.clone();
        let hidden = hide(graph, edges, &mut links, clusters, random);
        let non_edges = matched_non_edges(graph, &hidden, NON_EDGES_PER_EDGE * hidden.len(), random);
        let is_hidden = hidden.iter().copied().collect();
        Self { graph, nodes, clusters, links, hidden, is_hidden, non_edges }
    }

    /// How well a window predicts the hidden edges.
    fn score(&self, settings: &WalkSettings, seed: Seed, progress: &dyn Progress) -> Result<f64, EmbedError> {
        let clusters = self.clusters.clusters().to_vec();
        let frame = WalkFrame::from_links(&self.links, clusters, settings, seed, progress)?;
        let hidden = |u: NodeId, v: NodeId| self.is_hidden.contains(&[u.min(v), u.max(v)]);
        let mut rows = coordinates_without(self.graph, self.nodes, &frame, hidden, progress)?;
        let by_product = self.auc(&rows);
        make_unit(&mut rows);
        Ok(self.auc(&rows).max(by_product))
    }

    fn auc(&self, rows: &Matrix<f32>) -> f64 {
        let row = |node: NodeId| {
            let place = self.nodes.binary_search(&node).expect("pairs are of sampled nodes");
            rows.row(place)
        };
        let scores =
            |pairs: &[Pair]| -> Vec<f64> { pairs.iter().map(|&[u, v]| lanes::dot(row(u), row(v))).collect() };
        area_under_curve(scores(&self.hidden), scores(&self.non_edges))
            .expect("there are pairs of both kinds")
    }
}

/// The edges between some nodes, ascending, each once and without loops.
fn edges_among(graph: &Graph, nodes: &[NodeId]) -> Vec<Pair> {
    let mut is_there = vec![false; graph.num_nodes()];
    nodes.iter().for_each(|node| is_there[node.index()] = true);
    let of_node = |&u: &NodeId| {
        let is_there = &is_there;
        graph.neighbors(u).filter(move |&v| u < v && is_there[v.index()]).map(move |v| [u, v])
    };
    nodes.iter().flat_map(of_node).collect()
}

/// Draws edges to hide, without taking components apart: those that join two parts in random order
/// stay. Takes what is hidden out of the links.
fn hide(
    graph: &Graph,
    mut edges: Vec<Pair>,
    links: &mut ClusterLinks,
    clusters: &Partition,
    random: &mut ChaCha8Rng,
) -> Vec<Pair> {
    let wanted = ((edges.len() as f64 * HIDDEN_SHARE) as usize).min(MOST_HIDDEN);
    edges.shuffle(random);
    let mut joined = DisjointSets::<u32>::new(graph.num_nodes());
    edges.retain(|[u, v]| !joined.join(u.index(), v.index()));
    edges.truncate(wanted);
    for &[u, v] in &edges {
        for_each_neighbor(graph, u, |neighbor, weight| {
            if neighbor == v {
                links.remove(clusters.cluster_of(u), clusters.cluster_of(v), f64::from(weight));
            }
        });
    }
    edges
}

/// Up to `count` pairs without an edge whose ends are drawn from the ends of edges.
fn matched_non_edges(graph: &Graph, edges: &[Pair], count: usize, random: &mut ChaCha8Rng) -> Vec<Pair> {
    let ends = edges.as_flattened();
    let mut end = || ends[random.random_range(0..ends.len())];
    // Where nearly all pairs are edges, it ends with fewer.
    let drawn = (0..4 * count).map(|_| [end(), end()]);
    drawn.filter(|&[u, v]| u != v && !graph.has_edge(u, v)).take(count).collect()
}

fn make_unit(rows: &mut Matrix<f32>) {
    for row in 0..rows.num_rows() {
        let length = lanes::squared_norm(rows.row(row)).sqrt();
        if length > 0.0 {
            rows.row_mut(row).iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
        }
    }
}
