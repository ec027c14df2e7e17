//! What partitioning within a buffer must reach beside METIS, printed with what it does reach.
//!
//! `cargo bench -p local2global --bench partition` splits four graphs into 64 clusters: citeseer and
//! web-NotreDame, read from `$L2G_DATA` or from `shared/data` beside the repository, and left out, said
//! so, where they are not there; a block model of 1 million nodes, 10 million edges and 100 communities
//! whose members are scattered over the rows; and an R-MAT graph of about that size. `-- --quick` makes
//! the last two a tenth as large, `-- web` takes only graphs whose name contains that word.
//!
//! Time is that of the processor, so that other work on the machine counts as little as it can; both
//! methods use one thread. Memory is the peak of resident memory during the call, as Linux counts it,
//! beyond what was resident before, which is the graph: free memory is given back to the system first.

#![expect(clippy::print_stdout, reason = "a bench prints what it measures")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};

use local2global::generate::{BlockModel, Rmat, generate};
use local2global::graph::Graph;
use local2global::graph::load::{GraphConfig, load};
use local2global::partition::{
    Buffered, ClusterGraph, Metis, Partition, PartitionTask, Partitioner, metis_bytes,
};
use local2global::progress::Silent;
use local2global::seed::Seed;

const NUM_CLUSTERS: usize = 64;

/// Makes a graph, a smaller one if asked for; none if its file is missing.
type Maker = fn(bool) -> Option<Graph>;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let quick = words.iter().any(|word| word == "--quick");
    let names: Vec<&String> = words.iter().filter(|word| !word.starts_with("--")).collect();
    let kinds: [(&str, Maker); 4] = [
        ("citeseer", |_| data_set("citeseer.npz")),
        ("web-NotreDame", |_| data_set("web_notredame.txt.gz")),
        ("block-model", block_model),
        ("r-mat", rmat),
    ];
    for (name, make) in kinds {
        if names.is_empty() || names.iter().any(|word| name.contains(word.as_str())) {
            make(quick).iter().for_each(|graph| compare(name, graph));
        }
    }
}

fn data_set(file: &str) -> Option<Graph> {
    let beside_the_repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("L2G_DATA").map_or(beside_the_repository, PathBuf::from);
    let path = folder.join(file);
    if !path.exists() {
        println!("skipped: `{}` is not there; set L2G_DATA to the folder with the data sets", path.display());
        return None;
    }
    Some(load(&path, &GraphConfig::default(), &Silent).expect("a graph in a known format").graph)
}

fn block_model(quick: bool) -> Option<Graph> {
    let nodes = if quick { 100_000 } else { 1_000_000 };
    let model =
        BlockModel { nodes, communities: 100, mean_degree: 20.0, mixing: 0.1, ..BlockModel::default() };
    Some(generate(&model, Seed(1)).expect("valid settings"))
}

fn rmat(quick: bool) -> Option<Graph> {
    let nodes = if quick { 1 << 17 } else { 1 << 20 };
    Some(
        generate(&Rmat { nodes, edges: 21 * nodes / 2, ..Rmat::default() }, Seed(1)).expect("valid settings"),
    )
}

/// What one method reaches.
struct Outcome {
    cut: f64,
    balance: f64,
    seconds: f64,
    bytes: f64,
}

impl Outcome {
    fn of(method: &dyn Partitioner, graph: &Graph) -> Self {
        give_back_free_memory();
        forget_peak();
        let (resident, started) = (status_bytes("VmRSS:"), processor_seconds());
        let found = method.partition(graph, &PartitionTask::silent(NUM_CLUSTERS, Seed(1)));
        let seconds = processor_seconds() - started;
        let bytes = status_bytes("VmHWM:") - resident;
        let found: Partition = found.expect("both methods take these graphs");
        let cut = ClusterGraph::of(graph, &found).cut_entries() as f64 / graph.num_directed_edges() as f64;
        Self { cut, balance: found.balance(), seconds, bytes }
    }

    fn print(&self, method: &str) {
        let Self { cut, balance, seconds, bytes } = self;
        let mebibytes = bytes / f64::from(1 << 20);
        println!("  {method}: cut {cut:.4}, balance {balance:.3}, {seconds:.2} s, {mebibytes:.1} MiB");
    }
}

fn compare(name: &str, graph: &Graph) {
    let (nodes, entries) = (graph.num_nodes(), graph.num_directed_edges());
    println!("{name}: {nodes} nodes, {} edges", graph.num_edges());
    // A graph is read once by each before anything is counted, if it is small.
    if entries < 100_000 {
        Outcome::of(&Metis::default(), graph);
        Outcome::of(&Buffered::default(), graph);
    }
    let metis = Outcome::of(&Metis::default(), graph);
    metis.print("metis");
    let an_entry = metis.bytes / entries as f64;
    let estimate = metis_bytes(nodes, entries) as f64 / metis.bytes;
    println!("    {an_entry:.0} bytes an entry; the estimate is {estimate:.2} times what it took");
    let buffered = Outcome::of(&Buffered::default(), graph);
    buffered.print("buffered");
    let told = |what: &str, found: f64, most: f64| {
        let verdict = if found <= most { "ok" } else { "MISSED" };
        println!("    {what} {found:.3} (at most {most}: {verdict})");
    };
    told("balance", buffered.balance, 1.1);
    told("times METIS's cut:", buffered.cut / metis.cut, 1.25);
    told("times METIS's time:", buffered.seconds / metis.seconds, 1.5);
    told("times METIS's memory:", buffered.bytes / metis.bytes, 0.25);
}

/// The seconds this process has used processors so far, where the system tells.
fn processor_seconds() -> f64 {
    let ticks = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = ticks.split_whitespace().next().and_then(|field| field.parse::<f64>().ok());
    nanoseconds.unwrap_or(0.0) / 1e9
}

/// Begins to count the peak of memory anew, where Linux lets us.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// A size that Linux tells of this process; zero elsewhere.
fn status_bytes(key: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kibibytes.unwrap_or(0.0) * 1024.0
}

/// Gives memory that was freed back to the system, so that using it again is seen.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the standard library does not speak with the allocator")]
fn give_back_free_memory() {
    // SAFETY: takes a number, and changes nothing that is in use.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back_free_memory() {}
