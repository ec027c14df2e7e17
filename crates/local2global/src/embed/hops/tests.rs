//! What `hops` makes of directed, weighted and isolated nodes, of dense features, and of one patch.

use std::fs;

use rand::RngExt;

use super::late::{Late, Learned, late_embedding};
use super::*;
use crate::embed::{EmbedConfig, EmbedMethod, embed_patches};
use crate::graph::edge_list::EdgeChunk;
use crate::graph::features::{DenseFeatures, SparseFeatures};
use crate::graph::{BuildOptions, EdgeList, build};
use crate::progress::Silent;
use crate::seed::Stage;

const NODES: usize = 90;
const COLUMNS: usize = 12;
const DIM: usize = 5;

/// Two communities; each node has three of the words of its community, and the last has no edges.
fn graph(weight: impl Fn(usize) -> Option<f32>, symmetrise: bool, dense: bool) -> Graph {
    let mut random = Seed(2).stream(Stage::Generate, 0);
    let mut pairs = Vec::new();
    for v in 0..NODES as u32 - 1 {
        for u in 0..v {
            if random.random_bool(if u % 2 == v % 2 { 0.2 } else { 0.02 }) {
                pairs.push([u, v]);
            }
        }
    }
    let weights = (0..pairs.len()).filter_map(weight).collect();
    let mut edges = EdgeList::new();
    edges.push(EdgeChunk { pairs, weights });
    let graph = build(edges, NODES, &BuildOptions { symmetrise, ..Default::default() }).graph;
    let words = |node: usize| [0, 1, 2].map(|k| 6 * (node % 2) + (node / 2 + 2 * k) % 6);
    let mut values = vec![0.0_f32; NODES * COLUMNS];
    (0..NODES).for_each(|node| words(node).iter().for_each(|word| values[node * COLUMNS + word] = 1.0));
    let features = match dense {
        true => Features::Dense(DenseFeatures::new(NODES, COLUMNS, values.into()).unwrap()),
        false => {
            let columns: Vec<u32> =
                (0..values.len()).filter(|&k| values[k] > 0.0).map(|k| (k % COLUMNS) as u32).collect();
            let offsets: Vec<u64> = (0..=NODES as u64).map(|row| 3 * row).collect();
            let ones = vec![1.0_f32; columns.len()];
            let sparse = SparseFeatures::new(COLUMNS, offsets.into(), columns.into(), ones.into());
            Features::Sparse(sparse.unwrap())
        }
    };
    graph.with_features(Some(features)).unwrap()
}

fn settings() -> HopsSettings {
    let scaling = FeatureScaling::Unit;
    HopsSettings { scaling, basis: 8, epochs: 20, learning_rate: 0.01, hide: 0.3 }
}

fn frame(graph: &Graph) -> Arc<HopsFrame> {
    let graph = &*crate::partition::undirected(graph);
    let nodes: Vec<NodeId> = graph.nodes().collect();
    Arc::new(HopsFrame::new(graph, &nodes, &settings(), DIM, Seed(1)).unwrap())
}

/// The graph as one patch.
fn embedded(graph: &Graph) -> Embedding {
    let nodes: Vec<NodeId> = graph.nodes().collect();
    let patch = PatchInput {
        name: "patch-00000",
        graph,
        nodes: &nodes,
        rows: &nodes,
        whole: graph,
        folder: std::path::Path::new("unused"),
        seed: Seed(1),
    };
    let embedder = HopsEmbedder::new(settings(), Some(frame(graph)));
    embedder.embed(&patch, &EmbedTask::silent(DIM, Seed(1))).unwrap()
}

fn plain() -> Graph {
    graph(|_| None, true, false)
}

fn largest_difference(a: &Matrix<f32>, b: &Matrix<f32>) -> f32 {
    a.values().iter().zip(b.values()).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
}

/// The stage hands out edges in both directions, so this goes through it.
#[test]
fn direction_is_ignored() {
    let coordinates = |symmetrise: bool| {
        let graph = graph(|_| None, symmetrise, false);
        let folder = tempfile::tempdir().unwrap();
        let nodes: [Vec<NodeId>; 2] =
            [(0..50).map(NodeId).collect(), (40..NODES as u64).map(NodeId).collect()];
        let config =
            EmbedConfig { method: EmbedMethod::Hops, dim: DIM, epochs: Some(5), ..EmbedConfig::default() };
        embed_patches(&graph, &nodes, None, &config, Seed(1), folder.path(), &Silent).unwrap();
        ["patch-00000.npy", "patch-00001.npy"].map(|file| fs::read(folder.path().join(file)).unwrap())
    };
    assert!(coordinates(false) == coordinates(true));
}

#[test]
fn weights_count_but_their_unit_does_not() {
    let plain = embedded(&plain()).coordinates;
    let scaled = embedded(&graph(|_| Some(40.0), true, false)).coordinates;
    assert!(largest_difference(&plain, &scaled) < 1e-3, "{}", largest_difference(&plain, &scaled));
    let uneven = embedded(&graph(|edge| Some(1.0 + (edge % 5) as f32), true, false)).coordinates;
    assert!(largest_difference(&plain, &uneven) > 0.01);
}

#[test]
fn features_may_be_stored_densely() {
    let [sparse, dense] = [false, true].map(|dense| embedded(&graph(|_| None, true, dense)).coordinates);
    assert!(largest_difference(&sparse, &dense) < 1e-3, "{}", largest_difference(&sparse, &dense));
}

#[test]
fn a_node_without_edges_is_placed_by_its_features() {
    let coordinates = embedded(&plain()).coordinates;
    assert!(coordinates.values().iter().all(|x| x.is_finite()));
    let last = NODES - 1;
    let similarity = |node: usize| -> f32 {
        coordinates.row(last).iter().zip(coordinates.row(node)).map(|(a, b)| a * b).sum()
    };
    let mean = |parity: usize| {
        (0..last).filter(|node| node % 2 == parity).map(similarity).sum::<f32>() / (NODES / 2) as f32
    };
    assert!(mean(last % 2) > mean(1 - last % 2) + 0.2, "{} {}", mean(last % 2), mean(1 - last % 2));
}

#[test]
fn late_propagation_of_one_patch_gives_its_coordinates_again() {
    let graph = plain();
    let found = embedded(&graph);
    let nodes: Vec<NodeId> = graph.nodes().collect();
    let weights = vec![1.0; NODES];
    let encoder = found.encoder.unwrap();
    for late in [Late::Copies, Late::Encoders] {
        let learned = [Learned { nodes: &nodes, weights: &weights, encoder: encoder.clone() }];
        let again = late_embedding(&graph, &frame(&graph), &learned, late);
        let difference = largest_difference(&found.coordinates, &again);
        assert!(difference < 1e-4, "{late:?}: {difference}");
    }
}
