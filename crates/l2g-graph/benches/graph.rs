//! Edges per second of reading a text edge list and of building the graph, and the
//! memory that takes.
//!
//! ```text
//! cargo bench --bench graph                   10 million edges
//! cargo bench --bench graph -- --quick        1 million
//! L2G_PYTHON=.venv/bin/python cargo bench --bench graph     and pandas + scipy beside it
//! ```
//!
//! The peer reads the same file in the same run, with `benchmarks/graph_peer.py`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use l2g_graph::graph::load::{Component, GraphConfig, load};
use l2g_graph::progress::Silent;
use l2g_graph::seed::{Seed, Stage};
use rand::RngExt;

const REPEATS: usize = 5;

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(file) = arguments.iter().position(|argument| argument == "--child") {
        return child(Path::new(&arguments[file + 1]));
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let (nodes, edges) = if quick { (100_000, 1_000_000) } else { (1_000_000, 10_000_000) };
    let file = edge_list(nodes, edges);

    let runs: Vec<serde_json::Value> = (0..REPEATS).map(|_| run_child(&file)).collect();
    let best =
        |key: &str| runs.iter().map(|run| run[key].as_f64().expect("a number")).fold(f64::INFINITY, f64::min);
    let (read, build) = (best("read"), best("build"));
    let rate = |seconds: f64| edges as f64 / seconds / 1e6;
    println!("graph/edges={edges}, best of {REPEATS}, {} threads", rayon::current_num_threads());
    println!("  read   {read:7.3} s  {:6.1} million edges/s", rate(read));
    println!("  build  {build:7.3} s  {:6.1} million edges/s", rate(build));
    println!("  both   {:7.3} s  {:6.1} million edges/s", read + build, rate(read + build));
    let (peak, graph) = (best("peak_bytes"), best("graph_bytes"));
    println!("  peak   {:7.0} MiB, {:.2} times the finished graph", peak / 1048576.0, peak / graph);
    match peer_seconds(&file) {
        Some(peer) => println!("  pandas + scipy {peer:.3} s: {:.1} times as long", peer / (read + build)),
        None => println!("  pandas + scipy not measured: set L2G_PYTHON to a python that has them"),
    }
}

/// Reads the file in a process of its own, so that its peak memory can be told.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn child(file: &Path) {
    let config = GraphConfig { component: Component::All, ..Default::default() };
    let loaded = load(file, &config, &Silent).expect("the file was just written");
    let graph = &loaded.graph;
    let graph_bytes = 8 * graph.offsets().len() + 4 * graph.num_directed_edges();
    let record = serde_json::json!({
        "read": loaded.seconds.read,
        "build": loaded.seconds.build,
        "peak_bytes": l2g_graph::memory::peak_bytes(),
        "graph_bytes": graph_bytes,
    });
    println!("{record}");
}

fn run_child(file: &Path) -> serde_json::Value {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program).arg("--child").arg(file).output().expect("it can be run again");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the child prints JSON")
}

/// A text file of random edges, with every node in it.
fn edge_list(nodes: u32, edges: usize) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("edges-{edges}.txt"));
    if !path.exists() {
        let mut random = Seed(1).stream(Stage::Generate, 0);
        let mut sink = BufWriter::new(File::create(&path).expect("the target folder can be written"));
        for edge in 0..edges as u32 {
            let source = if edge < nodes { edge } else { random.random_range(0..nodes) };
            writeln!(sink, "{source}\t{}", random.random_range(0..nodes)).expect("there is room");
        }
    }
    path
}

fn peer_seconds(file: &Path) -> Option<f64> {
    let python = std::env::var_os("L2G_PYTHON")?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = root.join("benchmarks/graph_peer.py");
    let python = root.join(python);
    let output = Command::new(python).arg(script).arg(file).output().expect("L2G_PYTHON can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}
