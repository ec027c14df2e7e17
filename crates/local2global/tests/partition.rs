//! One list of checks for every partitioner.

#![expect(clippy::unwrap_used, reason = "tests may fail")]

mod common;

use common::{blocks, on_threads, ring, scattered};
use local2global::graph::component::Components;
use local2global::graph::{Graph, Labels};
use local2global::partition::fennel::Order;
use local2global::partition::{
    Fennel, GivenClusters, Louvain, Metis, NumClusters, Partition, PartitionConfig, PartitionMethod,
    partition,
};
use local2global::progress::Silent;
use local2global::seed::Seed;

fn methods() -> Vec<PartitionMethod> {
    let fennel = |passes, order| PartitionMethod::Fennel(Fennel { passes, order, ..Default::default() });
    vec![
        PartitionMethod::Metis(Metis::default()),
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
        if matches!(method, PartitionMethod::Metis(_) | PartitionMethod::Fennel(_)) {
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
                let mut large: Vec<usize> = nodes.iter().map(|node| component(node.index())).collect();
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
    let cut = |method| {
        let found = run(&graph, &method, 8, 1, 1);
        local2global::partition::ClusterGraph::of(&graph, &found).cut_entries()
    };
    let metis = cut(PartitionMethod::Metis(Metis::default()));
    let fennel = cut(PartitionMethod::Fennel(Fennel { passes: 10, ..Default::default() }));
    assert!(fennel as f64 <= 1.5 * metis as f64, "{fennel} {metis}");
}
