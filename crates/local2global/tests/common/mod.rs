//! Graphs for the tests of several stages.

#![allow(dead_code, reason = "each test file uses some of them")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::path::{Path, PathBuf};

use local2global::graph::load::{GraphConfig, load};
use local2global::graph::{BuildOptions, EdgeList, Graph, build, builtin};
use local2global::progress::Silent;
use local2global::seed::{Seed, Stage};
use rand::RngExt;

/// The graph with the given edges, undirected.
pub(crate) fn undirected(pairs: Vec<[u32; 2]>, num_nodes: usize) -> Graph {
    build(EdgeList::from_pairs(pairs), num_nodes, &BuildOptions::default()).graph
}

/// A connected graph: a random tree, and edges of which most stay inside a block.
pub(crate) fn blocks(num_nodes: u32, num_blocks: u32, num_edges: usize, seed: u64) -> Graph {
    let mut random = Seed(seed).stream(Stage::Generate, 0);
    let mut pairs: Vec<[u32; 2]> = (1..num_nodes).map(|node| [random.random_range(0..node), node]).collect();
    for _ in 0..num_edges {
        let a = random.random_range(0..num_nodes);
        let within = a % num_blocks + num_blocks * random.random_range(0..num_nodes / num_blocks);
        let b = if random.random_bool(0.9) { within } else { random.random_range(0..num_nodes) };
        pairs.push([a, b.min(num_nodes - 1)]);
    }
    undirected(pairs, num_nodes as usize)
}

/// A ring: the sparsest connected graph without ends.
pub(crate) fn ring(num_nodes: u32) -> Graph {
    undirected((0..num_nodes).map(|node| [node, (node + 1) % num_nodes]).collect(), num_nodes as usize)
}

/// Three components of different sizes, and a few isolated nodes.
pub(crate) fn scattered(seed: u64) -> Graph {
    let mut pairs = Vec::new();
    let mut start = 0;
    for (part, size) in [150_u32, 90, 25].into_iter().enumerate() {
        let component = blocks(size, 3, 3 * size as usize, seed + 100 * part as u64);
        for node in component.nodes() {
            pairs.extend(component.neighbors(node).map(|to| [start + node.0 as u32, start + to.0 as u32]));
        }
        start += size;
    }
    undirected(pairs, start as usize + 7)
}

/// The largest component of Cora, which is built in.
pub(crate) fn cora() -> Graph {
    let loaded = builtin::open("cora", &[], &GraphConfig::default(), &Silent).expect("Cora is built in");
    loaded.graph
}

/// The largest component of one of the shared data sets; none, said so, where the data
/// are not there.
pub(crate) fn data_set(name: &str) -> Option<Graph> {
    let beside_the_repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("L2G_DATA").map_or(beside_the_repository, PathBuf::from);
    let path = folder.join(format!("{name}.npz"));
    if !path.exists() {
        eprintln!(
            "skipped: `{}` is not there; set L2G_DATA to the folder with the data sets",
            path.display()
        );
        return None;
    }
    let loaded = load(&path, &GraphConfig::default(), &Silent).expect("a graph in a known format");
    Some(loaded.graph)
}

/// What `work` gives on a pool of so many threads.
pub(crate) fn on_threads<T: Send>(num_threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(num_threads).build().expect("a pool of threads").install(work)
}
