//! The memory that training is said to need, against what it really allocates.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail by panicking")]
#![allow(unsafe_code, reason = "counting allocations means to be the allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use local2global::embed::frame::Sources;
use local2global::embed::memory::PatchSize;
use local2global::embed::{EmbedConfig, EmbedMethod, EmbedTask, Embedder, Frame, FrameKind, PatchInput};
use local2global::graph::features::{DenseFeatures, SparseFeatures};
use local2global::graph::{BuildOptions, EdgeList, Features, Graph, NodeId, build};
use local2global::partition::Partition;
use local2global::progress::Silent;
use local2global::seed::{Seed, Stage};
use rand::RngExt;

/// Counts the bytes in use, and the most there ever were.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let in_use = IN_USE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(in_use, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn graph(num_nodes: usize, features: Option<Features>) -> Graph {
    let mut random = Seed(3).stream(Stage::Generate, 0);
    let mut node = || random.random_range(0..num_nodes as u32);
    let pairs = (0..num_nodes * 5).map(|_| [node(), node()]).collect();
    let graph = build(EdgeList::from_pairs(pairs), num_nodes, &BuildOptions::default()).graph;
    graph.with_features(features).unwrap()
}

fn sparse(num_nodes: usize) -> Features {
    let offsets: Vec<u64> = (0..=num_nodes as u64).map(|row| 10 * row).collect();
    let columns: Vec<u32> = (0..num_nodes as u32 * 10).map(|k| k % 10 * 30 + k / 10 % 30).collect();
    let values = vec![1.0_f32; columns.len()];
    Features::Sparse(SparseFeatures::new(300, offsets.into(), columns.into(), values.into()).unwrap())
}

/// The most bytes that one run, its patch included, has in use at a time.
fn peak_bytes(embedder: &dyn Embedder, dim: usize, whole: &Graph, nodes: &[NodeId]) -> f64 {
    let before = IN_USE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let graph = whole.subgraph(nodes);
    let patch = PatchInput {
        name: "patch-00000",
        graph: &graph,
        nodes,
        rows: nodes,
        whole,
        folder: std::path::Path::new("unused"),
        seed: Seed(1),
    };
    embedder.embed(&patch, &EmbedTask::silent(dim, Seed(1))).unwrap();
    (PEAK.load(Ordering::Relaxed) - before) as f64
}

/// What is estimated over what is allocated.
fn ratio(embedder: &dyn Embedder, dim: usize, whole: &Graph, nodes: &[NodeId]) -> f64 {
    embedder.memory_bytes(&PatchSize::new(whole, nodes), dim) as f64 / peak_bytes(embedder, dim, whole, nodes)
}

#[test]
fn the_estimate_is_close_to_what_is_allocated() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let num_nodes = 3000;
    let mut wrong = Vec::new();
    let dense = DenseFeatures::new(num_nodes, 50, vec![0.5; num_nodes * 50].into()).unwrap();
    for features in [None, Some(sparse(num_nodes)), Some(Features::Dense(dense))] {
        let whole = graph(num_nodes, features);
        let nodes: Vec<NodeId> = whole.nodes().collect();
        let clusters = Partition::from_labels(nodes.iter().map(|node| (node.index() / 300) as u32).collect());
        // The first matrix product of a thread sets a workspace aside, once for all patches.
        let first = EmbedConfig { method: EmbedMethod::Vgae, epochs: Some(1), ..EmbedConfig::default() };
        pool.install(|| peak_bytes(&*first.embedder(), first.dim, &whole, &nodes));
        for method in [EmbedMethod::Vgae, EmbedMethod::Gae, EmbedMethod::Dgi, EmbedMethod::Spectral] {
            for (dim, patience, validation, hide) in [(8, 0, 0.0, 0.0), (64, 5, 0.0, 0.0), (8, 5, 0.2, 0.5)] {
                let config = EmbedConfig {
                    method,
                    dim,
                    patience: Some(patience),
                    validation: Some(validation),
                    hide: Some(hide),
                    epochs: Some(5),
                    ..EmbedConfig::default()
                };
                let ratio = pool.install(|| ratio(&*config.embedder(), dim, &whole, &nodes));
                assert!((0.9..1.3).contains(&ratio), "{method:?}, dim {dim}: {ratio:.2}");
            }
        }
        for method in [EmbedMethod::Hops, EmbedMethod::Walks, EmbedMethod::Both] {
            if method != EmbedMethod::Walks && whole.features().is_none() {
                continue;
            }
            for (frame, dim) in
                [FrameKind::Common, FrameKind::None].into_iter().flat_map(|f| [(f, 16), (f, 64)])
            {
                let config = EmbedConfig { method, dim, frame, epochs: Some(3), ..EmbedConfig::default() };
                let folder = tempfile::tempdir().unwrap();
                let sources = Sources { graph: &whole, clusters: Some(&clusters) };
                let made = Frame::prepare(&sources, &config, Seed(1), folder.path(), &Silent).unwrap();
                // A patch is a part of the graph: with a frame, rows lead out of it.
                let part = &nodes[..1500];
                let ratio = pool.install(|| ratio(&*made.embedder(&config), dim, &whole, part));
                wrong.extend(
                    (!(0.9..1.5).contains(&ratio))
                        .then(|| format!("{method:?}, {frame:?}, dim {dim}: {ratio:.2}")),
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
