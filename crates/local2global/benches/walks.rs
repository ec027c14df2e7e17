//! The quality and speed of `walks` on a graph: edges held out, patches embedded and averaged,
//! held-out edges predicted, nodes classified.
//!
//! ```text
//! cargo bench -p local2global --bench walks -- GRAPH [key=value ..]
//! ```
//!
//! with `dim=128`, `window=auto` (or a number), `clusters=auto`, `fine=given` (split the clusters of
//! the patches) or `fine=whole` (METIS on the whole graph), `patches=auto`, `cover=edges` or `nodes`,
//! `shift=0.2`, `seed=1`, `threads=2`, and `mode=` one of `patches`, `full`, `local` (nothing is sent: unaligned scores
//! say little) and `spectral` (the whole graph at once, for comparison). GRAPH is a built-in name or a
//! file.

#![allow(clippy::print_stdout, reason = "a benchmark is a program that prints")]

use std::collections::BTreeMap;
use std::time::Instant;

use local2global::embed::nn::Matrix;
use local2global::embed::nn::propagation::propagation;
use local2global::embed::spectral::Spectral;
use local2global::embed::walks::{
    ClusterLinks, WalkFrame, WalkSettings, choose_window, fine_clusters, local_walk_coordinates,
    usual_clusters, walk_coordinates,
};
use local2global::embed::{EmbedTask, Embedder, PatchInput};
use local2global::evaluate::classification::classification;
use local2global::evaluate::{Contender, Contest, Coordinates, Entry, EvaluateConfig, Score};
use local2global::graph::held_out::hold_out;
use local2global::graph::load::GraphConfig;
use local2global::graph::sample::{Pair, sample_edges, sample_non_edges};
use local2global::graph::{Graph, NodeId, builtin};
use local2global::partition::{NumClusters, Partition, PartitionConfig, partition};
use local2global::patch::{Cover, Patch, PatchConfig, make_patches};
use local2global::progress::Silent;
use local2global::score::area_under_curve;
use local2global::seed::{Seed, Stage};
use rayon::prelude::*;

/// What was asked for on the command line.
struct Options {
    graph: String,
    values: BTreeMap<String, String>,
}

impl Options {
    fn read() -> Option<Self> {
        let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
        let (graph, pairs) = arguments.split_first()?;
        let pair =
            |text: &String| text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        Some(Self { graph: graph.clone(), values: pairs.iter().filter_map(pair).collect() })
    }

    fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.values.get(key)?.parse().ok()
    }

    fn is(&self, key: &str, value: &str) -> bool {
        self.values.get(key).is_some_and(|found| found == value)
    }
}

fn main() {
    let Some(options) = Options::read() else {
        println!("walks: name a graph, as in `cargo bench --bench walks -- cora`");
        return;
    };
    let threads = options.number("threads").unwrap_or(0);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
    pool.install(|| run(&options));
}

/// Runs `body` and prints how long it took, and for how long processors worked on it.
fn timed<R>(name: &str, body: impl FnOnce() -> R) -> R {
    let (start, before) = (Instant::now(), processor_seconds());
    let result = body();
    let processors = processor_seconds() - before;
    println!("  {name}: {:.2} s, {processors:.2} s of processors", start.elapsed().as_secs_f64());
    result
}

/// The processor time of this process so far, where Linux tells.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |place: usize| fields.get(place).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

fn run(options: &Options) {
    let seed = Seed(options.number("seed").unwrap_or(1));
    let dim: usize = options.number("dim").unwrap_or(128);
    let loaded =
        builtin::open(&options.graph, &[], &GraphConfig::default(), &Silent).expect("the graph is read");
    let graph = hold_out(loaded.graph, 0.1, seed).expect("edges can be held out");
    println!("{}: {} nodes, {} edges, d = {dim}", options.graph, graph.num_nodes(), graph.num_edges());
    let coordinates = match options.values.get("mode").map(String::as_str) {
        Some("spectral") => timed("spectral", || spectral(&graph, dim, seed)),
        _ => walks(&graph, dim, options, seed),
    };
    score(&graph, &coordinates, seed);
    let (_, matrix) = propagation::<f32>(&graph);
    let mut smoothed = Matrix::zeros(graph.num_nodes(), dim);
    matrix.multiply(&coordinates, &mut smoothed);
    println!("  smoothed once over the whole graph:");
    score(&graph, &smoothed, seed);
    if let Some(bytes) = local2global::memory::peak_bytes() {
        println!("  peak memory {} MiB", bytes >> 20);
    }
}

fn spectral(graph: &Graph, dim: usize, seed: Seed) -> Matrix<f32> {
    let nodes: Vec<NodeId> = graph.nodes().collect();
    let whole = PatchInput {
        name: "whole",
        graph,
        nodes: &nodes,
        rows: &nodes,
        whole: graph,
        folder: &std::env::temp_dir(),
        seed,
    };
    Spectral::new(20).embed(&whole, &EmbedTask::silent(dim, seed)).expect("it can be embedded").coordinates
}

fn walks(graph: &Graph, dim: usize, options: &Options, seed: Seed) -> Matrix<f32> {
    let clusters = timed("partition", || clusters_of(graph, dim, options, seed));
    let num_fine = options.number("clusters").unwrap_or_else(|| usual_clusters(graph.num_nodes()));
    let given = (!options.is("fine", "whole")).then_some(&clusters);
    let fine = timed("fine clusters", || fine_clusters(graph, given, num_fine, seed, &Silent))
        .expect("the graph can be split");
    let window = options.number("window").unwrap_or_else(|| {
        let links = ClusterLinks::of(graph, &fine);
        let choice = timed("window", || choose_window(graph, &fine, &links, dim, seed, &Silent));
        let choice = choice.expect("a window can be chosen");
        println!("  window {choice:?}");
        choice.window
    });
    let shift = options.number("shift").unwrap_or(WalkSettings::USUAL_SHIFT);
    let settings = WalkSettings { window, shift, dim };
    let frame = timed("frame", || WalkFrame::new(graph, &fine, &settings, seed, &Silent)).expect("a frame");
    println!(
        "  {} clusters, {} fine clusters, window {window}",
        clusters.num_clusters(),
        frame.num_clusters()
    );
    if options.is("mode", "full") {
        let nodes: Vec<NodeId> = graph.nodes().collect();
        return timed("whole", || walk_coordinates(graph, &nodes, &frame, &Silent)).expect("coordinates");
    }
    let cover = if options.is("cover", "nodes") { Cover::Nodes } else { Cover::Edges };
    let patches = timed("patches", || patches_of(graph, &clusters, cover, dim, seed));
    let num_copies: usize = patches.iter().map(|patch| patch.nodes.len()).sum();
    println!("  {} patches of {} nodes", patches.len(), num_copies / patches.len().max(1));
    let embed = |patch: &Patch| match options.is("mode", "local") {
        true => local_walk_coordinates(&graph.subgraph(&patch.nodes), &settings, seed, &Silent),
        false => walk_coordinates(graph, &patch.nodes, &frame, &Silent),
    };
    let local: Vec<Matrix<f32>> = timed("embed", || {
        patches.par_iter().with_max_len(1).map(|patch| embed(patch).expect("coordinates")).collect()
    });
    average(graph.num_nodes(), dim, &patches, &local)
}

fn clusters_of(graph: &Graph, dim: usize, options: &Options, seed: Seed) -> Partition {
    let size = options.number("patches").map_or(NumClusters::Auto, NumClusters::Clusters);
    let config = PartitionConfig { size, ..Default::default() };
    let bounds = PatchConfig::default().overlap_bounds(dim).expect("the usual overlap");
    partition(graph, &config, bounds.half_min(), seed, &Silent).expect("the graph can be split")
}

fn patches_of(graph: &Graph, clusters: &Partition, cover: Cover, dim: usize, seed: Seed) -> Vec<Patch> {
    let config = PatchConfig { cover: Some(cover), ..Default::default() };
    let (patches, _) = make_patches(graph, clusters, &config, dim, seed, &Silent).expect("patches");
    patches.patches().to_vec()
}

/// The mean of each node's copies, weighted by the share of its edges inside the patch.
fn average(num_nodes: usize, dim: usize, patches: &[Patch], local: &[Matrix<f32>]) -> Matrix<f32> {
    let mut mean = Matrix::zeros(num_nodes, dim);
    let mut weights = vec![0.0_f32; num_nodes];
    let copies = || {
        patches.iter().zip(local).flat_map(|(patch, rows)| {
            patch
                .nodes
                .iter()
                .zip(&patch.weights)
                .enumerate()
                .map(move |(k, (&node, &weight))| (node, weight, rows.row(k)))
        })
    };
    for (node, weight, row) in copies() {
        let weight = weight.max(1e-6);
        weights[node.index()] += weight;
        mean.row_mut(node.index()).iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
    }
    for (node, weight) in weights.iter().enumerate().filter(|&(_, &weight)| weight > 0.0) {
        mean.row_mut(node).iter_mut().for_each(|value| *value /= weight);
    }
    let (mut apart, mut spread) = (0.0, 0.0);
    for (node, weight, row) in copies() {
        let distance: f32 = row.iter().zip(mean.row(node.index())).map(|(a, b)| (a - b) * (a - b)).sum();
        apart += f64::from(weight * distance);
        spread += f64::from(weight) * row.iter().map(|a| f64::from(*a).powi(2)).sum::<f64>();
    }
    println!("  copies are {:.3} of their length from their mean", (apart / spread).sqrt());
    mean
}

fn score(graph: &Graph, coordinates: &Matrix<f32>, seed: Seed) {
    let dim = coordinates.num_columns();
    let held_out = graph.held_out().expect("edges were held out");
    let mut random = seed.stream(Stage::Evaluate, 77);
    let edges = sample_edges(graph, 200_000, &mut random);
    let non_edges = sample_non_edges(graph, edges.len(), &mut random);
    let unit = unit_rows(coordinates);
    for (name, values) in [("cosine", &unit), ("inner product", coordinates)] {
        let rows = Coordinates::new(values.values(), dim);
        let auc = |edges: &[Pair], non_edges: &[Pair]| {
            let scores = |pairs: &[Pair]| Score::InnerProduct.of_pairs(rows, pairs);
            area_under_curve(scores(edges), scores(non_edges)).expect("there are pairs")
        };
        let link = auc(held_out.edges(), held_out.non_edges());
        println!("  {name}: link {link:.4}, reconstruction {:.4}", auc(&edges, &non_edges));
    }
    let rows = Entry::Rows(Coordinates::new(coordinates.values(), dim));
    let entries = BTreeMap::from([(Contender::L2g, rows)]);
    let config = EvaluateConfig { samples: Some(20_000), ..Default::default() };
    let contest = Contest { graph, entries: &entries, config: &config, seed };
    if let Ok(scores) = classification(&contest, &Silent) {
        println!("  accuracy {:.4}", scores.accuracy[&Contender::L2g].mean);
    }
}

fn unit_rows(coordinates: &Matrix<f32>) -> Matrix<f32> {
    let mut unit = coordinates.clone();
    for row in 0..unit.num_rows() {
        let length = unit.row(row).iter().map(|x| x * x).sum::<f32>().sqrt();
        unit.row_mut(row).iter_mut().for_each(|x| *x /= length.max(1e-30));
    }
    unit
}
