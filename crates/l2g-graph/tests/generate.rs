//! What every kind of synthetic graph must do.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

use std::convert::Infallible;

use l2g_graph::generate::{
    BlockModel, ClassFeatures, Degrees, Generator, Geometric, GraphKind, RingOfCliques, Rmat, generate,
};
use l2g_graph::graph::{Features, Graph};
use l2g_graph::progress::Silent;
use l2g_graph::seed::Seed;

/// Every kind, small and with several chunks of rows.
fn kinds() -> Vec<GraphKind> {
    vec![
        GraphKind::BlockModel(BlockModel { features: Some(ClassFeatures::default()), ..Default::default() }),
        GraphKind::BlockModel(BlockModel {
            nodes: 100_000,
            communities: 20,
            mean_degree: 20.0,
            degrees: Degrees::PowerLaw { exponent: 2.2, max_degree: None },
            ..Default::default()
        }),
        GraphKind::Rmat(Rmat { nodes: 1 << 15, edges: 1 << 19, ..Default::default() }),
        GraphKind::RingOfCliques(RingOfCliques {
            cliques: 300,
            clique_size: 60,
            features: Some(ClassFeatures::default()),
        }),
        GraphKind::Geometric(Geometric { nodes: 50_000, mean_degree: 15.0, positions: true }),
    ]
}

fn edges(kind: &GraphKind, seed: Seed) -> Vec<[u64; 2]> {
    let mut edges = Vec::new();
    let Ok(()) = kind.prepare(seed).unwrap().for_each_edge_chunk::<Infallible>(&Silent, |chunk| {
        edges.extend(chunk.pairs);
        Ok(())
    });
    edges
}

fn with_threads<T: Send>(num_threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap().install(work)
}

#[test]
fn edges_ascend_and_appear_once_from_the_smaller_end() {
    for kind in kinds() {
        let edges = edges(&kind, Seed(1));
        assert!(edges.is_sorted_by(|a, b| a < b), "{kind:?}");
        assert!(edges.iter().all(|[source, target]| source < target), "{kind:?}");
        let num_nodes = kind.prepare(Seed(1)).unwrap().num_nodes() as u64;
        assert!(edges.iter().all(|&[_, target]| target < num_nodes), "{kind:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_graph_on_any_number_of_threads() {
    for kind in kinds() {
        let graph_on = |num_threads| with_threads(num_threads, || generate(&kind, Seed(7)).unwrap());
        let graph: Graph = graph_on(1);
        assert_eq!(graph, graph_on(2), "{kind:?}");
        assert_eq!(graph, graph_on(5), "{kind:?}");
    }
}

#[test]
fn another_seed_gives_another_graph() {
    for kind in kinds() {
        assert_ne!(generate(&kind, Seed(1)).unwrap(), generate(&kind, Seed(2)).unwrap(), "{kind:?}");
    }
}

#[test]
fn the_graph_in_memory_has_the_streamed_edges_and_valid_rows() {
    for kind in kinds() {
        let graph = generate(&kind, Seed(3)).unwrap();
        graph.check_rows().unwrap();
        assert_eq!(graph.num_edges(), edges(&kind, Seed(3)).len(), "{kind:?}");
        if let Some(Features::Sparse(features)) = graph.features() {
            features.check_rows().unwrap();
        }
    }
}

#[test]
fn settings_survive_being_written_down() {
    for kind in kinds() {
        let written = serde_json::to_string(&kind).unwrap();
        assert_eq!(serde_json::from_str::<GraphKind>(&written).unwrap(), kind);
    }
}
