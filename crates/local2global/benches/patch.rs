//! What the partition and patch stages must reach, printed with what they do reach.
//!
//! `cargo bench -p local2global --bench patch` makes a block model of 1 million nodes and
//! 10 million edges, 100 communities, 90 % of the edges inside; `-- --quick` one of a tenth
//! of that. Times are the least of some repeats, and of time on the wall and time on the
//! processor, so that other work on the machine counts as little as it can.

#![expect(clippy::print_stdout, reason = "a bench prints what it measures")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::on_threads;
use local2global::graph::{BuildOptions, EdgeList, Graph, build};
use local2global::partition::{
    ClusterGraph, Fennel, Metis, Partition, PartitionConfig, PartitionTask, Partitioner, partition,
};
use local2global::patch::sparsify::sparsify;
use local2global::patch::{Cover, PatchConfig, PatchReport, Sparsify, make_patches};
use local2global::progress::Silent;
use local2global::seed::{Seed, Stage};
use rand::RngExt;

/// The number of communities of the block model.
const COMMUNITIES: usize = 100;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let scale = if quick { 10 } else { 1 };
    let repeats = if quick { 1 } else { 3 };
    cora(repeats);
    let graph = block_model(1_000_000 / scale, 10_000_000 / scale as usize);
    println!("block model: {} nodes, {} edges", graph.num_nodes(), graph.num_edges());
    let (metis, metis_seconds) = fastest(repeats.min(2), || metis(&graph, COMMUNITIES));
    println!("metis/clusters=100: {metis_seconds:.2} s, cut {:.4}", cut(&graph, &metis));
    fennel(&graph, cut(&graph, &metis), metis_seconds, repeats);
    patch_stage(&graph, &metis, metis_seconds, repeats);
    many_clusters(&graph, 10_000 / scale as usize);
}

/// The result of some work, and the least seconds it took: on the wall, or on the
/// processor where that is less because others use it too.
fn fastest<T>(repeats: usize, mut work: impl FnMut() -> T) -> (T, f64) {
    let mut timed = || {
        let (start, used_before) = (Instant::now(), processor_seconds());
        let result = work();
        let used = processor_seconds() - used_before;
        let wall = start.elapsed().as_secs_f64();
        // The processor's clock ticks slowly: not for short times.
        (result, if used > 0.2 { wall.min(used) } else { wall })
    };
    let first = timed();
    (1..repeats).map(|_| timed()).fold(first, |best, next| if next.1 < best.1 { next } else { best })
}

/// The seconds this process has used processors so far, as Linux counts them in ticks of
/// a hundredth; zero elsewhere.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// Says whether a figure is what it must be.
fn verdict(holds: bool) -> &'static str {
    if holds { "ok" } else { "MISSED" }
}

/// Begins to count the peak of memory anew, where Linux lets us.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The most memory this process has used so far, as Linux tells it; zero elsewhere.
fn peak_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kibibytes.unwrap_or(0.0) * 1024.0
}

/// Communities are interleaved: node `v` belongs to community `v mod 100`.
fn block_model(num_nodes: u32, num_edges: usize) -> Graph {
    let communities = COMMUNITIES as u32;
    let mut random = Seed(1).stream(Stage::Generate, 0);
    let mut pairs: Vec<[u32; 2]> = Vec::with_capacity(num_edges);
    for _ in 0..num_edges {
        let a = random.random_range(0..num_nodes);
        let within = a % communities + communities * random.random_range(0..num_nodes / communities);
        pairs.push([a, if random.random_bool(0.9) { within } else { random.random_range(0..num_nodes) }]);
    }
    build(EdgeList::from_pairs(pairs), num_nodes as usize, &BuildOptions::default()).graph
}

fn cut(graph: &Graph, partition: &Partition) -> f64 {
    ClusterGraph::of(graph, partition).cut_entries() as f64 / graph.num_directed_edges() as f64
}

fn metis(graph: &Graph, num_clusters: usize) -> Partition {
    Metis::default()
        .partition(graph, &PartitionTask::silent(num_clusters, Seed(1)))
        .expect("METIS takes this graph")
}

fn cora(repeats: usize) {
    let graph = common::cora();
    let overlap = |cover| PatchConfig {
        min_overlap: Some(129),
        max_overlap: Some(256),
        cover: Some(cover),
        ..PatchConfig::default()
    };
    // Many at a time, so that the processor's clock can time them.
    let batch = 40;
    for cover in [Cover::Nodes, Cover::Edges] {
        let all = || (0..batch).map(|_| whole_stage(&graph, &overlap(cover))).reduce(|_, last| last);
        let (report, seconds) = fastest(repeats, all);
        let (report, seconds) = (report.expect("a batch is not empty"), seconds / f64::from(batch));
        println!(
            "cora/{cover:?}: METIS to patches {seconds:.4} s (at most 0.05: {}), oversampling {:.2}",
            verdict(seconds <= 0.05),
            report.oversampling
        );
    }
}

fn whole_stage(graph: &Graph, config: &PatchConfig) -> PatchReport {
    let clusters = partition(graph, &PartitionConfig::with_clusters(10), 65, Seed(1), &Silent);
    let clusters = clusters.expect("Cora can be partitioned");
    make_patches(graph, &clusters, config, 128, Seed(1), &Silent).expect("the paper's settings work").1
}

fn fennel(graph: &Graph, metis_cut: f64, metis_seconds: f64, repeats: usize) {
    for passes in [1, 3, 10] {
        let fennel = Fennel { passes, ..Default::default() };
        let run =
            || fennel.partition(graph, &PartitionTask::silent(COMMUNITIES, Seed(1))).expect("valid settings");
        let (found, seconds) = fastest(repeats, run);
        let (cut, balance) = (cut(graph, &found), found.balance());
        println!("fennel/passes={passes}: {seconds:.2} s, cut {cut:.4}, balance {balance:.3}");
        if passes == 1 {
            let rate = graph.num_directed_edges() as f64 / seconds / 1e6;
            println!("  {rate:.0} million entries a second (at least 40: {})", verdict(rate >= 40.0));
        }
        if passes == 10 {
            let (ratio, share) = (cut / metis_cut, seconds / metis_seconds);
            println!("  {ratio:.2} times METIS's cut (at most 1.5: {})", verdict(ratio <= 1.5));
            println!("  {share:.2} times METIS's time (below 1: {})", verdict(share < 1.0));
        }
    }
}

fn patch_stage(graph: &Graph, partition: &Partition, metis_seconds: f64, repeats: usize) {
    for cover in [Cover::Nodes, Cover::Edges] {
        let config = PatchConfig { cover: Some(cover), ..Default::default() };
        let run = || make_patches(graph, partition, &config, 128, Seed(1), &Silent).expect("large clusters");
        let ((_, report), seconds) = fastest(repeats, run);
        let ((_, alone), one_thread) = fastest(1, || on_threads(1, run));
        assert_eq!(report, alone, "one thread gives the same patches");
        println!(
            "patch/{cover:?}: {seconds:.2} s, on one thread {one_thread:.2} s (below METIS, {metis_seconds:.2}: {})",
            verdict(one_thread < metis_seconds)
        );
        let lost = report.edges_in_no_patch;
        let percent = 100.0 * lost.share;
        println!(
            "  oversampling {:.2}, edges in no patch {} ({percent:.2} %)",
            report.oversampling, lost.count
        );
    }
}

fn many_clusters(graph: &Graph, num_clusters: usize) {
    let fennel = Fennel { passes: 3, ..Default::default() };
    let partition =
        fennel.partition(graph, &PartitionTask::silent(num_clusters, Seed(1))).expect("valid settings");
    forget_peak();
    let (clusters, first) = fastest(1, || ClusterGraph::of(graph, &partition));
    for method in [Sparsify::Resistance, Sparsify::Conductance, Sparsify::Nearest] {
        let mut random = Seed(1).stream(Stage::Sparsify, 0);
        let (kept, seconds) = fastest(1, || sparsify(&clusters, method, 4.0, &mut random));
        let kept = kept.expect("resistances converge");
        println!(
            "sparsify/{method:?}/clusters={num_clusters}: {} of {} patch edges; patch graph {first:.2} s \
             + {seconds:.2} s (at most 10: {})",
            kept.edges().len(),
            clusters.edges().len(),
            verdict(first + seconds <= 10.0)
        );
    }
    let mebibytes = peak_bytes() / (1024.0 * 1024.0);
    println!(
        "  peak memory {mebibytes:.0} MiB, graph included (at most 1024: {})",
        verdict(mebibytes <= 1024.0)
    );
}
