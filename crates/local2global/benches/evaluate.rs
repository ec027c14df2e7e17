//! What the evaluate stage must reach, printed with what it does reach.
//!
//! `cargo bench -p local2global --bench evaluate` scores four embeddings of a block model
//! of 100 000 nodes and a million edges, with 45 classes, 2000 sparse binary features, and a tenth of
//! the edges held out: all tasks, all baselines, 128 dimensions, on two threads. At most 20 s are
//! allowed. `-- --quick` takes a tenth of the nodes. The embeddings are noise around the centre
//! of each class, more of it in one than in the other, so that fits are neither trivial
//! nor hopeless.

#![expect(clippy::print_stdout, reason = "a bench prints what it measures")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::on_threads;
use local2global::evaluate::{ByContender, Contender, Coordinates, EvaluateConfig, Task, evaluate};
use local2global::graph::features::SparseFeatures;
use local2global::graph::held_out::hold_out;
use local2global::graph::{BuildOptions, EdgeList, Features, Graph, Labels, build};
use local2global::progress::Silent;
use local2global::seed::{Seed, Stage};
use rand::RngExt;

const CLASSES: usize = 45;
const COLUMNS: usize = 2000;
const ONES: usize = 16;
const DIM: usize = 128;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let nodes = if quick { 10_000 } else { 100_000 };
    let graph = hold_out(block_model(nodes, 10 * nodes), 0.1, Seed(1)).expect("edges can be spared");
    println!("block model: {} nodes, {} edges, {CLASSES} classes", nodes, graph.num_edges());
    let noises = [(Contender::Full, 1.0), (Contender::L2g, 1.2), (Contender::NoTrans, 2.0)];
    let noises = noises.into_iter().chain([(Contender::Untrained, 1.6)]);
    let values: Vec<_> = noises.map(|(contender, noise)| (contender, around_classes(nodes, noise))).collect();
    let embeddings: ByContender<Coordinates<'_>> =
        values.iter().map(|(contender, values)| (*contender, Coordinates::new(values, DIM))).collect();
    for tasks in [Some(vec![Task::Reconstruction]), Some(vec![Task::LinkPrediction]), None] {
        let name = tasks.as_ref().map_or("all tasks", |tasks| tasks[0].name());
        let config = EvaluateConfig { tasks: tasks.clone(), ..Default::default() };
        let (start, used) = (Instant::now(), processor_seconds());
        let scores = on_threads(2, || evaluate(&graph, &embeddings, &config, Seed(1), &Silent));
        let (wall, used) = (start.elapsed().as_secs_f64(), processor_seconds() - used);
        let scores = scores.expect("the graph has all that is needed");
        println!("evaluate/nodes={nodes}, {name}: {wall:.1} s on the wall, {used:.1} s of two processors");
        if tasks.is_none() {
            scores.findings.iter().for_each(|finding| println!("  {finding}"));
            let classes = scores.classification.expect("the graph has labels");
            println!("  {} splits, {} unfinished fits", classes.repeats, classes.unfinished_fits);
            println!("  accuracy {:?}", classes.accuracy);
            println!("  allowed: 20 s on the wall, 40 s of two processors");
        }
    }
}

/// A class for each node, 80 % of the edges within one, and features that half follow it.
fn block_model(nodes: usize, edges: usize) -> Graph {
    let mut random = Seed(3).stream(Stage::Generate, 0);
    let per_class = nodes / CLASSES;
    let pairs = (0..edges).map(|_| {
        let from = random.random_range(0..nodes);
        let within = from % CLASSES + CLASSES * random.random_range(0..per_class);
        let to = if random.random_bool(0.8) { within } else { random.random_range(0..nodes) };
        [from as u32, to as u32]
    });
    let graph = build(EdgeList::from_pairs(pairs.collect()), nodes, &BuildOptions::default()).graph;
    let (mut offsets, mut columns) = (vec![0_u64], Vec::new());
    for node in 0..nodes {
        let of_class = COLUMNS / CLASSES;
        let column = |_| match random.random_bool(0.3) {
            true => (node % CLASSES * of_class + random.random_range(0..of_class)) as u32,
            false => random.random_range(0..COLUMNS as u32),
        };
        let mut row: Vec<u32> = (0..ONES).map(column).collect();
        row.sort_unstable();
        row.dedup();
        columns.extend(row);
        offsets.push(columns.len() as u64);
    }
    let values = vec![1.0; columns.len()];
    let features = SparseFeatures::new(COLUMNS, offsets.into(), columns.into(), values.into());
    let features = Features::Sparse(features.expect("rows fit"));
    let classes: Vec<i32> = (0..nodes).map(|node| (node % CLASSES) as i32).collect();
    let graph = graph.with_features(Some(features)).expect("a row for each node");
    graph.with_labels(Some(Labels::single(classes.into(), vec![]))).expect("a label for each node")
}

/// Coordinates around the centre of the class of each node.
fn around_classes(nodes: usize, noise: f32) -> Vec<f32> {
    let mut random = Seed(4).stream(Stage::Generate, 0);
    let mut number = || random.random::<f32>() + random.random::<f32>() - 1.0;
    let centres: Vec<f32> = (0..CLASSES * DIM).map(|_| 0.2 * number()).collect();
    (0..nodes * DIM).map(|at| centres[at / DIM % CLASSES * DIM + at % DIM] + noise * number()).collect()
}

/// The seconds this process has used processors so far, as Linux counts them; zero elsewhere.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let ticks = |field: usize| after_name.split_whitespace().nth(field)?.parse::<f64>().ok();
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) / 100.0
}
