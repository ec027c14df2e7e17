//! The speed of training, against the figures it must reach.
//!
//! Prints, for Cora's largest component: milliseconds per epoch, the share of time per
//! part, the fraction of faer's own matrix-product speed; ten patches at once; and the
//! time per edge as graphs grow. `--quick` does a small version of each.
//!
//! ```text
//! cargo bench -p local2global --bench embed [-- --quick] [epoch|patches|scaling|quality]
//! ```
//!
//! Times are minima over repetitions: other programs can only make a run slower.

#![allow(clippy::print_stdout, reason = "a benchmark is a program that prints")]

use std::time::Instant;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use local2global::embed::nn::clock::Clock;
use local2global::embed::nn::init::FirstWeights;
use local2global::embed::nn::train::Model;
use local2global::embed::settings::ModelSettings;
use local2global::embed::vgae::Vgae;
use local2global::embed::{EmbedConfig, EmbedTask, PatchInput, embed_patches};
use local2global::evaluate::reconstruction::{Score, reconstruction_auc};
use local2global::graph::load::GraphConfig;
use local2global::graph::{BuildOptions, EdgeList, Graph, NodeId, build, builtin};
use local2global::progress::Silent;
use local2global::seed::{Seed, Stage};
use rand::RngExt;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let named: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| !argument.starts_with("--")).collect();
    let wanted = |name: &str| named.is_empty() || named.contains(&name);
    let cora = builtin::open("cora", &[], &GraphConfig::default(), &Silent).expect("Cora is built in").graph;
    let run = |name: &str, body: &dyn Fn(&Graph, bool)| {
        if wanted(name) {
            body(&cora, quick);
        }
    };
    run("epoch", &epochs);
    run("patches", &patches);
    run("quality", &quality);
    if wanted("scaling") {
        scaling(quick);
    }
}

fn settings(dim: usize) -> ModelSettings {
    ModelSettings {
        dim,
        hidden: 2.0,
        decoder: Default::default(),
        scaling: Default::default(),
        unseen: Default::default(),
    }
}

fn on_threads<R: Send>(num_threads: usize, body: impl FnOnce() -> R + Send) -> R {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(num_threads).build();
    pool.expect("threads can be started").install(body)
}

/// Milliseconds of each epoch, sorted, and the time per part of all.
fn time_epochs(graph: &Graph, dim: usize, epochs: u32, num_threads: usize) -> (Vec<f64>, Clock) {
    on_threads(num_threads, || {
        let mut model = Vgae::<f32>::new(graph, &settings(dim), FirstWeights::Own(Seed(1)), Seed(1));
        let mut adam = local2global::embed::nn::adam::Adam::new(model.parameters(), 0.01, 0.0);
        let mut times: Vec<f64> = (1..=epochs)
            .map(|epoch| {
                let start = Instant::now();
                model.draw(Seed(1), epoch);
                model.loss_and_gradients();
                let mut clock = *model.clock();
                clock.time(local2global::embed::nn::clock::Part::Adam, || adam.step(model.parameters()));
                *model.clock() = clock;
                start.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        (times, *model.clock())
    })
}

/// faer's speed on a product of these sizes, in GFLOP/s.
fn faer_speed(rows: usize, inner: usize, columns: usize, par: Par) -> f64 {
    let left = Mat::<f32>::from_fn(rows, inner, |i, j| (i + j) as f32);
    let right = Mat::<f32>::from_fn(inner, columns, |i, j| (i * j) as f32);
    let mut out = Mat::<f32>::zeros(rows, columns);
    let fastest = (0..20)
        .map(|_| {
            let start = Instant::now();
            matmul(&mut out, Accum::Replace, &left, &right, 1.0, par);
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    2.0 * (rows * inner * columns) as f64 / fastest / 1e9
}

fn epochs(cora: &Graph, quick: bool) {
    let epochs = if quick { 30 } else { 200 };
    println!("vgae/cora: {} nodes, {} edges, {epochs} epochs", cora.num_nodes(), cora.num_edges());
    for (dim, peer) in [(128, 71.0), (16, 19.0)] {
        for num_threads in [1, 2] {
            let (times, clock) = time_epochs(cora, dim, epochs, num_threads);
            let (fastest, median) = (times[0], times[times.len() / 2]);
            let parts = [
                ("sampling", clock.sampling),
                ("sparse", clock.sparse),
                ("dense", clock.dense),
                ("decoder", clock.decoder),
                ("adam", clock.adam),
                ("elementwise", clock.elementwise),
            ];
            let total: f64 = parts.iter().map(|part| part.1).sum();
            print!(
                "vgae/cora/dim={dim}/threads={num_threads}: {fastest:.2} ms fastest, {median:.2} ms median;"
            );
            parts.iter().for_each(|(name, seconds)| print!(" {name} {:.0} %", 100.0 * seconds / total));
            let flops = 3.0 * 2.0 * (cora.num_nodes() * 2 * dim * 2 * dim) as f64;
            let dense_share = clock.dense / total;
            let speed = flops / (median * 1e-3 * dense_share) / 1e9;
            let alone = faer_speed(cora.num_nodes(), 2 * dim, 2 * dim, Par::Seq) * num_threads as f64;
            println!(
                "; dense part {speed:.0} GFLOP/s, {:.0} % of faer's {alone:.0}; PyG {:.1} times as long",
                100.0 * speed / alone,
                peer / fastest
            );
        }
    }
}

/// Ten patches of Cora like those of the paper: breadth-first balls of fitting size.
fn cora_patches(cora: &Graph) -> Vec<Vec<NodeId>> {
    let sizes = [349, 471, 523, 588, 640, 702, 744, 790, 932, 935];
    let ball = |index: usize, size: usize| {
        let mut nodes = vec![NodeId::new(index * cora.num_nodes() / 10)];
        let mut seen = vec![false; cora.num_nodes()];
        seen[nodes[0].index()] = true;
        let mut next = 0;
        while nodes.len() < size && next < nodes.len() {
            for other in cora.neighbors(nodes[next]) {
                if !std::mem::replace(&mut seen[other.index()], true) && nodes.len() < size {
                    nodes.push(other);
                }
            }
            next += 1;
        }
        nodes.sort_unstable();
        nodes
    };
    sizes.into_iter().enumerate().map(|(index, size)| ball(index, size)).collect()
}

fn patches(cora: &Graph, quick: bool) {
    let patches = cora_patches(cora);
    let config =
        EmbedConfig { dim: 128, epochs: Some(if quick { 20 } else { 200 }), ..EmbedConfig::default() };
    let seconds = |num_threads| {
        (0..2)
            .map(|_| {
                let folder = tempfile::tempdir().expect("a temporary folder");
                let start = Instant::now();
                on_threads(num_threads, || {
                    embed_patches(cora, &patches, None, &config, Seed(1), folder.path(), &Silent)
                })
                .expect("all patches can be embedded");
                start.elapsed().as_secs_f64()
            })
            .fold(f64::INFINITY, f64::min)
    };
    let (one, two) = (seconds(1), seconds(2));
    println!(
        "patches/cora/dim=128/epochs={}: {two:.2} s on 2 threads, {one:.2} s on 1, ratio {:.2}",
        config.training().epochs,
        one / two
    );
}

fn quality(cora: &Graph, quick: bool) {
    let runs = if quick { 1 } else { 10 };
    let nodes: Vec<NodeId> = cora.nodes().collect();
    let patch = PatchInput {
        name: "patch-00000",
        graph: cora,
        nodes: &nodes,
        rows: &nodes,
        whole: cora,
        folder: &std::env::temp_dir(),
        seed: Seed(1),
    };
    for (dim, peer) in [(2, 0.936), (4, 0.961), (16, 0.996), (128, 0.999)] {
        let config = EmbedConfig { dim, ..EmbedConfig::default() };
        let auc = |run: u32| {
            let seed = Seed(1).child(Stage::Embed, u64::from(run));
            let embedding = config
                .embedder()
                .embed(&patch, &EmbedTask { run, ..EmbedTask::silent(dim, seed) })
                .expect("Cora trains");
            let mut random = Seed(1).stream(Stage::Evaluate, 0);
            let values = embedding.coordinates.values();
            reconstruction_auc(cora, values, dim, Score::InnerProduct, &mut random).expect("Cora has edges")
        };
        let scores: Vec<f64> = (0..runs).map(auc).collect();
        let best = scores.iter().copied().fold(0.0, f64::max);
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        println!(
            "quality/cora/dim={dim}: AUC {best:.4} best of {runs}, {mean:.4} mean; PyG {peer} best of 10"
        );
    }
}

/// A graph of `num_nodes` nodes with mean degree 20: nine in ten edges stay within
/// blocks of a hundred nodes, the others go anywhere.
fn blocks(num_nodes: usize) -> Graph {
    let mut random = Seed(1).stream(Stage::Generate, num_nodes as u64);
    let pairs = (0..num_nodes * 10).map(|k| {
        let u = k / 10;
        let within = random.random_bool(0.9);
        let v = match within {
            true => (u / 100 * 100 + random.random_range(0..100)).min(num_nodes - 1),
            false => random.random_range(0..num_nodes),
        };
        [u as u32, v as u32]
    });
    build(EdgeList::from_pairs(pairs.collect()), num_nodes, &BuildOptions::default()).graph
}

fn scaling(quick: bool) {
    let sizes: &[usize] = if quick { &[10_000, 30_000] } else { &[10_000, 100_000, 1_000_000] };
    let graphs: Vec<Graph> = sizes.iter().map(|&num_nodes| blocks(num_nodes)).collect();
    for dim in [16, 64, 128] {
        let mut first = None;
        for (&num_nodes, graph) in sizes.iter().zip(&graphs) {
            let epochs = (3_000_000 / num_nodes).clamp(4, 60) as u32;
            let (times, clock) = time_epochs(graph, dim, epochs, 2);
            let per_edge = times[0] * 1e6 / graph.num_edges() as f64;
            let ratio = per_edge / *first.get_or_insert(per_edge);
            println!(
                "scaling/nodes={num_nodes}/dim={dim}: {:.1} ms per epoch, {per_edge:.1} ns per edge, \
                 {ratio:.2} times the first; {clock:.2?}",
                times[0]
            );
        }
    }
}
