//! One list of checks for every partitioner.

#![expect(clippy::unwrap_used, reason = "tests may fail")]

mod common;

use common::{blocks, on_threads, ring, scattered};
use local2global::graph::component::Components;
use local2global::graph::edge_list::EdgeChunk;
use local2global::graph::{BuildOptions, EdgeList, Graph, Labels, build};
use local2global::partition::fennel::Order;
use local2global::partition::{
    Buffered, ClusterGraph, Fennel, GivenClusters, Louvain, Metis, NumClusters, Partition, PartitionConfig,
    PartitionError, PartitionMethod, partition,
};
use local2global::progress::{Progress, Silent};
use local2global::seed::Seed;

fn methods() -> Vec<PartitionMethod> {
    let fennel = |passes, order| PartitionMethod::Fennel(Fennel { passes, order, ..Default::default() });
    let buffered = |buffer| PartitionMethod::Buffered(Buffered { buffer, ..Default::default() });
    vec![
        PartitionMethod::default(),
        PartitionMethod::Metis(Metis::default()),
        buffered(None),
        buffered(Some(50)),
        fennel(1, Order::Natural),
        fennel(4, Order::Random),
        fennel(2, Order::BreadthFirst),
        PartitionMethod::Louvain(Louvain::default()),
        PartitionMethod::Given(GivenClusters::default()),
    ]
}

fn graphs() -> Vec<Graph> {
    let connected = (0..6).map(|seed| blocks(100 + 37 * seed as u32, 4, 100 * seed as usize, seed));
    connected.chain([ring(64)]).map(with_labels).collect()
}

/// Labels to be taken as given clusters: seven, of uneven sizes.
fn with_labels(graph: Graph) -> Graph {
    let labels = (0..graph.num_nodes() as i32).map(|node| (node % 13).min(6)).collect::<Vec<_>>();
    graph.with_labels(Some(Labels::single(labels.into(), vec![]))).unwrap()
}

fn weighted(edges: &[([u32; 2], f32)], num_nodes: usize) -> Graph {
    let (pairs, weights) = edges.iter().copied().unzip();
    let mut list = EdgeList::new();
    list.push(EdgeChunk { pairs, weights });
    build(list, num_nodes, &BuildOptions::default()).graph
}

fn run(graph: &Graph, method: &PartitionMethod, clusters: usize, min_size: usize, seed: u64) -> Partition {
    let config = PartitionConfig { method: method.clone(), size: NumClusters::Clusters(clusters) };
    partition(graph, &config, min_size, Seed(seed), &Silent).unwrap()
}

fn for_each_case(check: impl Fn(&Graph, &PartitionMethod, usize, u64)) {
    for (seed, graph) in graphs().iter().enumerate() {
        for method in methods() {
            for clusters in [2, 5, 12] {
                check(graph, &method, clusters, seed as u64);
            }
        }
    }
}

#[test]
fn clusters_cover_all_nodes_and_none_is_empty() {
    for_each_case(|graph, method, clusters, seed| {
        let found = run(graph, method, clusters, 1, seed);
        assert_eq!(found.num_nodes(), graph.num_nodes());
        let mut sizes = vec![0; found.num_clusters()];
        found.clusters().iter().for_each(|&cluster| sizes[cluster as usize] += 1);
        assert_eq!(found.sizes(), sizes, "{}", method.name());
        assert!(sizes.iter().all(|&size| size > 0), "{}", method.name());
    });
}

#[test]
fn there_are_no_more_clusters_than_asked_for() {
    for_each_case(|graph, method, clusters, seed| {
        let found = run(graph, method, clusters, 1, seed).num_clusters();
        match method {
            PartitionMethod::Given(_) => assert_eq!(found, 7),
            _ => assert!(found <= clusters, "{} {found}", method.name()),
        }
        if !matches!(method, PartitionMethod::Louvain(_) | PartitionMethod::Given(_)) {
            assert_eq!(found, clusters, "{}", method.name());
        }
    });
}

#[test]
fn every_cluster_has_the_size_that_overlaps_need() {
    for_each_case(|graph, method, clusters, seed| {
        for min_size in [7, 20, 50] {
            let found = run(graph, method, clusters, min_size, seed);
            assert!(found.sizes().iter().all(|&size| size >= min_size), "{}", method.name());
        }
    });
}

#[test]
fn the_same_seed_gives_the_same_clusters_on_any_number_of_threads() {
    for_each_case(|graph, method, clusters, seed| {
        let one = on_threads(1, || run(graph, method, clusters, 9, seed));
        let two = on_threads(2, || run(graph, method, clusters, 9, seed));
        assert_eq!(one, two, "{}", method.name());
    });
}

#[test]
fn metis_is_deterministic_when_called_from_several_threads_at_once() {
    let graph = blocks(600, 6, 3000, 1);
    let metis = PartitionMethod::Metis(Metis::default());
    let alone = run(&graph, &metis, 8, 1, 5);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(|| run(&graph, &metis, 8, 1, 5))).collect();
        workers.into_iter().for_each(|worker| assert_eq!(worker.join().unwrap(), alone));
    });
}

#[test]
fn the_load_limit_of_fennel_holds() {
    for seed in 0..20 {
        let graph = blocks(200 + seed as u32, 3, 500, seed);
        let fennel = Fennel { passes: 1 + seed as usize % 5, load_limit: 1.05, ..Default::default() };
        let limit = fennel.limit(graph.num_nodes(), 11);
        let found = run(&graph, &PartitionMethod::Fennel(fennel), 11, 1, seed);
        assert!(found.sizes().iter().all(|&size| size <= limit), "seed {seed}");
    }
}

#[test]
fn the_load_limit_of_buffered_holds() {
    for seed in 0..20 {
        let graph = blocks(200 + seed as u32, 3, 500, seed);
        let buffered = Buffered { load_limit: 1.05, buffer: Some(30 << (seed % 6)) };
        let limit = buffered.limit(graph.num_nodes(), 11);
        let found = run(&graph, &PartitionMethod::Buffered(buffered), 11, 1, seed);
        assert_eq!(found.num_clusters(), 11, "seed {seed}");
        assert!(found.sizes().iter().all(|&size| size <= limit), "seed {seed}");
    }
}

#[test]
fn auto_gives_the_clusters_of_metis_where_they_fit_in_memory() {
    let graph = blocks(600, 6, 3000, 1);
    let metis = run(&graph, &PartitionMethod::Metis(Metis::default()), 8, 1, 5);
    assert_eq!(run(&graph, &PartitionMethod::default(), 8, 1, 5), metis);
}

#[test]
fn heavy_edges_stay_inside_with_any_method_that_minimises_the_cut() {
    // A ring of pairs: edges inside are heavy.
    let edges: Vec<([u32; 2], f32)> =
        (0..400).map(|i| ([i, (i + 1) % 400], if i % 2 == 0 { 50.5 } else { 0.5 })).collect();
    let graph = weighted(&edges, 400);
    let buffered = Buffered { buffer: Some(100), ..Default::default() };
    for method in [PartitionMethod::Metis(Metis::default()), PartitionMethod::Buffered(buffered)] {
        let found = run(&graph, &method, 5, 1, 3);
        let cut =
            (0..200).filter(|pair| found.clusters()[2 * pair] != found.clusters()[2 * pair + 1]).count();
        assert_eq!(cut, 0, "{}", method.name());
    }
}

#[test]
fn a_partition_can_be_cancelled() {
    struct Impatient;
    impl Progress for Impatient {
        fn is_cancelled(&self) -> bool {
            true
        }
    }
    let graph = blocks(300, 4, 900, 1);
    for method in [PartitionMethod::Buffered(Buffered::default()), PartitionMethod::Fennel(Fennel::default())]
    {
        let config = PartitionConfig { method, size: NumClusters::Clusters(4) };
        let outcome = partition(&graph, &config, 1, Seed(1), &Impatient);
        assert!(matches!(outcome, Err(PartitionError::Cancelled)), "{}", config.method.name());
    }
}

#[test]
fn clusters_stay_within_components_and_crumbs_are_packed() {
    for seed in 0..5 {
        let graph = scattered(seed);
        let components = Components::of(&graph);
        let (min_size, found_of) = (10, |method: &PartitionMethod| run(&graph, method, 6, 10, seed));
        for method in methods().iter().filter(|method| !matches!(method, PartitionMethod::Given(_))) {
            let found = found_of(method);
            let members = found.members();
            for cluster in 0..found.num_clusters() as u32 {
                let nodes = members.of(cluster);
                let component = |node: usize| components.labels()[node] as usize;
                let mut large: Vec<usize> = nodes.clone().map(|node| component(node.index())).collect();
                large.retain(|&component| components.sizes()[component] >= min_size);
                large.dedup();
                // Crumbs that are too few for a cluster go with another one.
                assert!(large.len() <= 1, "{} seed {seed}", method.name());
                assert!(nodes.len() >= min_size, "{} seed {seed}", method.name());
            }
        }
    }
}

#[test]
fn one_cluster_is_valid_for_every_method() {
    for method in methods().iter().filter(|method| !matches!(method, PartitionMethod::Given(_))) {
        assert_eq!(run(&ring(20), method, 1, 30, 1), Partition::whole(20), "{}", method.name());
    }
}

#[test]
fn restreaming_comes_close_to_metis_on_blocks() {
    let graph = blocks(4000, 8, 40_000, 2);
    let cut = |method| ClusterGraph::of(&graph, &run(&graph, &method, 8, 1, 1)).cut_entries();
    let metis = cut(PartitionMethod::Metis(Metis::default()));
    let fennel = cut(PartitionMethod::Fennel(Fennel { passes: 10, ..Default::default() }));
    assert!(fennel as f64 <= 1.5 * metis as f64, "{fennel} {metis}");
    // An eighth of the edges, and a twentieth.
    for buffer in [5000, 2000] {
        let buffered = Buffered { buffer: Some(buffer), ..Default::default() };
        let buffered = cut(PartitionMethod::Buffered(buffered));
        assert!(buffered as f64 <= 1.25 * metis as f64, "{buffered} {metis}");
    }
}
