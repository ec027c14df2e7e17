//! Walks against matrices that are made in full.

use std::ops::RangeInclusive;

use super::*;
use crate::embed::nn::{Matrix, dense};
use crate::graph::edge_list::EdgeChunk;
use crate::graph::{BuildOptions, EdgeList, Graph, NodeId, build};
use crate::linalg::real::Real;
use crate::partition::{Partition, undirected};
use crate::progress::{Progress, Silent};
use crate::seed::{Seed, Stage};
use rand::RngExt;

/// A ring with random chords, with loops and weights if asked for; the last two nodes have no edges.
fn graph(num_nodes: u32, weighted: bool, symmetrise: bool) -> Graph {
    let mut random = Seed(3).stream(Stage::Generate, 0);
    let joined = num_nodes - 2;
    let ring = (0..joined).map(|node| [node, (node + 1) % joined]);
    let chords: Vec<[u32; 2]> =
        (0..2 * joined).map(|_| [random.random_range(0..joined), random.random_range(0..joined)]).collect();
    let pairs: Vec<[u32; 2]> = ring.chain(chords).collect();
    let weights = match weighted {
        true => pairs.iter().map(|[u, v]| 0.5 + ((u + v) % 5) as f32).collect(),
        false => Vec::new(),
    };
    let mut list = EdgeList::new();
    list.push(EdgeChunk { pairs, weights });
    let options = BuildOptions { symmetrise, self_loops: true, ..Default::default() };
    build(list, num_nodes as usize, &options).graph
}

/// Clusters of neighbouring nodes.
fn clusters(num_nodes: usize, size: usize) -> Partition {
    Partition::from_labels((0..num_nodes).map(|node| (node / size) as u32).collect())
}

fn settings(window: usize, dim: usize) -> WalkSettings {
    WalkSettings::new(window, dim)
}

/// `A` of an undirected graph, in full.
fn adjacency(graph: &Graph) -> Matrix<f64> {
    let mut matrix = Matrix::zeros(graph.num_nodes(), graph.num_nodes());
    for node in graph.nodes() {
        links::for_each_neighbor(graph, node, |neighbor, weight| {
            matrix.row_mut(node.index())[neighbor.index()] = f64::from(weight);
        });
    }
    matrix
}

fn product(a: &Matrix<f64>, b: &Matrix<f64>) -> Matrix<f64> {
    let mut out = Matrix::zeros(a.num_rows(), b.num_columns());
    dense::multiply(a, b, &mut out);
    out
}

/// `log max(1, vol / (b T) Σ_{r=1..T} P^r S D_C^-1)`, in full.
fn full_logs(graph: &Graph, clusters: &Partition, window: usize) -> Matrix<f64> {
    let mut steps = adjacency(graph);
    let degrees: Vec<f64> = (0..steps.num_rows()).map(|row| steps.row(row).iter().sum()).collect();
    for (row, degree) in degrees.iter().enumerate().filter(|&(_, &degree)| degree > 0.0) {
        steps.row_mut(row).iter_mut().for_each(|weight| *weight /= degree);
    }
    let mut volumes = vec![0.0; clusters.num_clusters()];
    let mut walk = Matrix::zeros(graph.num_nodes(), clusters.num_clusters());
    for (node, &cluster) in clusters.clusters().iter().enumerate() {
        volumes[cluster as usize] += degrees[node];
        walk.row_mut(node)[cluster as usize] = 1.0;
    }
    let mut sum = Matrix::<f64>::zeros(graph.num_nodes(), clusters.num_clusters());
    for _ in 0..window {
        walk = product(&steps, &walk);
        sum.values_mut().iter_mut().zip(walk.values()).for_each(|(sum, term)| *sum += term);
    }
    let total: f64 = degrees.iter().sum();
    for row in 0..sum.num_rows() {
        for (value, volume) in sum.row_mut(row).iter_mut().zip(&volumes) {
            let ratio = if *volume > 0.0 { *value * total / (0.2 * window as f64 * volume) } else { 0.0 };
            *value = ratio.max(1.0).ln();
        }
    }
    sum
}

fn assert_close(found: &Matrix<f32>, expected: &Matrix<f64>) {
    assert_eq!((found.num_rows(), found.num_columns()), (expected.num_rows(), expected.num_columns()));
    let largest = expected.values().iter().fold(1.0, |largest: f64, value| value.abs().max(largest));
    for (found, expected) in found.values().iter().zip(expected.values()) {
        assert!((f64::from(*found) - expected).abs() < 2e-5 * largest, "{found} is not {expected}");
    }
}

/// All graphs that walks must get right.
fn graphs() -> Vec<Graph> {
    [(false, true), (true, true), (false, false), (true, false)]
        .into_iter()
        .map(|(weighted, symmetrise)| undirected(&graph(90, weighted, symmetrise)).into_owned())
        .collect()
}

#[test]
fn the_whole_graph_as_one_patch_gives_the_true_walks() {
    for graph in graphs() {
        let nodes: Vec<NodeId> = graph.nodes().collect();
        for (size, window) in [(7, 4), (7, 1), (1, 3)] {
            let clusters = clusters(graph.num_nodes(), size);
            let frame = WalkFrame::new(&graph, &clusters, &settings(window, 6), Seed(1), &Silent).unwrap();
            let found = walk_coordinates(&graph, &nodes, &frame, &Silent).unwrap();
            assert_close(&found, &product(&full_logs(&graph, &clusters, window), &frame.factor().cast()));
        }
    }
}

#[test]
fn with_nodes_for_clusters_a_patch_gives_the_true_walks_too() {
    for graph in graphs() {
        let clusters = clusters(graph.num_nodes(), 1);
        let frame = WalkFrame::new(&graph, &clusters, &settings(5, 6), Seed(1), &Silent).unwrap();
        let expected = product(&full_logs(&graph, &clusters, 5), &frame.factor().cast());
        let nodes: Vec<NodeId> = (10..40).chain([89]).map(NodeId::new).collect();
        let found = walk_coordinates(&graph, &nodes, &frame, &Silent).unwrap();
        let rows = nodes.iter().flat_map(|node| expected.row(node.index())).copied().collect();
        assert_close(&found, &Matrix::from_values(nodes.len(), 6, rows));
    }
}

#[test]
fn the_factor_gives_eigenvectors_of_the_log_matrix() {
    let graph = &graphs()[1];
    let clusters = clusters(graph.num_nodes(), 3);
    let dim = clusters.num_clusters();
    let frame = WalkFrame::new(graph, &clusters, &settings(4, dim), Seed(1), &Silent).unwrap();
    // With all eigenvectors, H Hᵀ = V |L|^-1/2 Vᵀ, so M² (H Hᵀ)⁴ is the projection on the range of M.
    let chain = chain::Chain::of(&ClusterLinks::of(graph, &clusters));
    let (_, walks) = chain::walk_sums(&chain.transitions, 4);
    let logs = factor::log_matrix(walks, &chain::chance_scales(&chain.volumes, 4, 0.2)).cast::<f64>();
    let h = frame.factor().cast::<f64>();
    let transposed = (0..dim).flat_map(|k| (0..dim).map(move |row| (row, k))).map(|(row, k)| h.row(row)[k]);
    let root = product(&h, &Matrix::from_values(dim, dim, transposed.collect()));
    let inverse = product(&root, &root);
    let projection = product(&product(&logs, &logs), &product(&inverse, &inverse));
    assert_close(&product(&projection, &logs).cast(), &logs);
}

#[test]
fn nodes_without_edges_get_zeros_and_so_do_columns_beyond_the_clusters() {
    let graph = &graphs()[0];
    let clusters = clusters(graph.num_nodes(), 9);
    let frame = WalkFrame::new(graph, &clusters, &settings(3, 16), Seed(1), &Silent).unwrap();
    let nodes: Vec<NodeId> = graph.nodes().collect();
    let found = walk_coordinates(graph, &nodes, &frame, &Silent).unwrap();
    assert!(found.row(88).iter().chain(found.row(89)).all(|&value| value == 0.0));
    assert!((0..88).all(|row| found.row(row)[..10].iter().any(|&value| value != 0.0)));
    assert!((0..90).all(|row| found.row(row)[10..].iter().all(|&value| value == 0.0)));
    let local = local_walk_coordinates(graph, &settings(3, 100), Seed(1), &Silent).unwrap();
    assert!(local.row(88).iter().chain(local.row(89)).all(|&value| value.abs() < 1e-5));
}

#[test]
fn local_coordinates_give_the_log_matrix_back() {
    for graph in graphs() {
        let num_nodes = graph.num_nodes();
        let found = local_walk_coordinates(&graph, &settings(4, num_nodes), Seed(1), &Silent).unwrap();
        let logs = full_logs(&graph, &clusters(num_nodes, 1), 4);
        // X Xᵀ = V |L| Vᵀ, whose square is M².
        let x = found.cast::<f64>();
        let transposed = (0..num_nodes).flat_map(|k| (0..num_nodes).map(move |row| (row, k)));
        let transposed = transposed.map(|(row, k)| x.row(row)[k]).collect();
        let square = product(&x, &Matrix::from_values(num_nodes, num_nodes, transposed));
        assert_close(&product(&square, &square).cast(), &product(&logs, &logs));
    }
}

#[test]
fn tiny_graphs_have_coordinates() {
    for edges in [vec![], vec![[0_u32, 1]], vec![[0, 1], [1, 2]]] {
        let graph = build(EdgeList::from_pairs(edges), 3, &BuildOptions::default()).graph;
        let clusters = fine_clusters(&graph, None, usual_clusters(3), Seed(1), &Silent).unwrap();
        assert!((1..=2).contains(&clusters.num_clusters()));
        let links = ClusterLinks::of(&graph, &clusters);
        let window = choose_window(&graph, &clusters, &links, 4, Seed(1), &Silent).unwrap().window;
        let frame = WalkFrame::new(&graph, &clusters, &settings(window, 4), Seed(1), &Silent).unwrap();
        let nodes: Vec<NodeId> = graph.nodes().collect();
        let found = walk_coordinates(&graph, &nodes, &frame, &Silent).unwrap();
        let local = local_walk_coordinates(&graph, &settings(window, 4), Seed(1), &Silent).unwrap();
        assert!(found.values().iter().chain(local.values()).all(|value| value.is_finite()));
    }
}

#[test]
fn one_thread_and_two_give_the_same_bytes() {
    // Large enough that rows are cut into pieces.
    let graph = graph(9000, false, true);
    let on_threads = |num_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap();
        pool.install(|| {
            let clusters = fine_clusters(&graph, Some(&clusters(9000, 3000)), 60, Seed(1), &Silent).unwrap();
            let links = ClusterLinks::of(&graph, &clusters);
            let choice = choose_window(&graph, &clusters, &links, 8, Seed(1), &Silent).unwrap();
            let frame = WalkFrame::new(&graph, &clusters, &settings(3, 8), Seed(1), &Silent).unwrap();
            let nodes: Vec<NodeId> = graph.nodes().collect();
            (choice, walk_coordinates(&graph, &nodes, &frame, &Silent).unwrap())
        })
    };
    assert_eq!(on_threads(1), on_threads(2));
}

/// Clusters within given ones or of several of them, as many as `wanted` allows.
fn about_as_many(graph: &Graph, given: &Partition, wanted: RangeInclusive<usize>) -> Partition {
    let found = fine_clusters(graph, Some(given), *wanted.end(), Seed(1), &Silent).unwrap();
    assert!(wanted.contains(&found.num_clusters()), "{} clusters", found.num_clusters());
    found
}

#[test]
fn fine_clusters_lie_within_the_given_ones() {
    let graph = graph(600, true, false);
    let given = clusters(600, 150);
    let fine = about_as_many(&graph, &given, 50..=60);
    let mut home = vec![None; fine.num_clusters()];
    for node in graph.nodes() {
        let coarse = given.cluster_of(node);
        assert_eq!(*home[fine.cluster_of(node) as usize].get_or_insert(coarse), coarse);
    }
    for already_there in [2, 8] {
        assert_eq!(fine_clusters(&graph, Some(&given), already_there, Seed(1), &Silent).unwrap(), given);
    }
}

#[test]
fn many_more_clusters_than_wanted_are_joined() {
    let graph = graph(600, false, true);
    let given = clusters(600, 5);
    let joined = about_as_many(&graph, &given, 15..=20);
    for first in graph.nodes().step_by(5) {
        assert!((0..5).all(|k| joined.cluster_of(NodeId(first.0 + k)) == joined.cluster_of(first)));
    }
}

#[test]
fn links_are_the_weights_between_clusters() {
    for graph in graphs() {
        let clusters = clusters(graph.num_nodes(), 7);
        let links = ClusterLinks::of(&graph, &clusters);
        let weights = adjacency(&graph);
        let mut expected = Matrix::<f64>::zeros(links.num_clusters(), links.num_clusters());
        for row in graph.nodes() {
            for column in graph.nodes() {
                let (a, b) = (clusters.cluster_of(row) as usize, clusters.cluster_of(column) as usize);
                expected.row_mut(a)[b] += weights.row(row.index())[column.index()];
            }
        }
        for cluster in 0..links.num_clusters() {
            let pairs = links.row(cluster).iter().zip(expected.row(cluster));
            assert!(pairs.into_iter().all(|(found, expected)| (found - expected).abs() < 1e-9));
        }
    }
}

#[test]
fn a_frame_is_the_same_from_its_parts() {
    let graph = &graphs()[1];
    let clusters = clusters(graph.num_nodes(), 4);
    let frame = WalkFrame::new(graph, &clusters, &settings(4, 6), Seed(1), &Silent).unwrap();
    let parts = |volumes: Vec<f64>| {
        let (transitions, factor) = (frame.transitions().clone(), frame.factor().clone());
        let settings = (frame.window(), frame.shift());
        WalkFrame::from_parts(settings, frame.clusters().to_vec(), volumes, transitions, factor)
    };
    assert_eq!(parts(frame.volumes().to_vec()).unwrap(), frame);
    let error = parts(vec![1.0; 5]).unwrap_err().to_string();
    assert!(error.starts_with("setting `embed.frame` is a walk frame whose parts do not fit"), "{error}");
}

#[test]
fn impossible_settings_and_cancelling_are_errors() {
    struct Stop;
    impl Progress for Stop {
        fn is_cancelled(&self) -> bool {
            true
        }
    }
    let graph = &graphs()[0];
    let clusters = clusters(graph.num_nodes(), 4);
    let new = |settings: WalkSettings, progress: &dyn Progress| {
        WalkFrame::new(graph, &clusters, &settings, Seed(1), progress).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(new(settings(0, 4), &Silent), "setting `embed.window` is 0; needed at least 1");
    let shifted = WalkSettings { shift: 0.0, ..settings(3, 4) };
    assert_eq!(new(shifted, &Silent), "setting `embed.shift` is 0; needed above 0");
    assert!(new(settings(3, 4), &Stop).starts_with("cancelled"));
    let frame = WalkFrame::new(graph, &clusters, &settings(3, 4), Seed(1), &Silent).unwrap();
    assert!(walk_coordinates(graph, &[NodeId(1)], &frame, &Stop).is_err());
    assert!(local_walk_coordinates(graph, &settings(3, 4), Seed(1), &Stop).is_err());
}

#[test]
fn logs_of_ratios_to_chance_are_never_negative() {
    let mut sums = [0.0, 0.5, 4.0];
    factor::take_logs(&mut sums, &[1.0, 1.0, 0.5]);
    assert_eq!(sums, [0.0, 0.0, Real::ln(2.0_f32)]);
}
