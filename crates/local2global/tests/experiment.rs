//! The experiment of the paper, on small graphs.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;
use std::path::Path;

use common::{blocks, on_threads, scattered, undirected};
use local2global::config::Config;
use local2global::embed::nn::input::Scaling;
use local2global::embed::{EmbedMethod, Rates, Start};
use local2global::experiment::{ExperimentError, Table, experiment};
use local2global::graph::Graph;
use local2global::graph::held_out::hold_out;
use local2global::partition::NumClusters;
use local2global::progress::Silent;
use local2global::seed::Seed;

fn config(pairs: &[&str]) -> Config {
    let text = "seed = 3\n[partition]\nclusters = 5\n[embed]\nmethod = \"spectral\"\n\
                [experiment]\ndims = [2, 8]\nruns = 1\nsplits = 0";
    let pairs: Vec<String> = pairs.iter().map(|&pair| pair.to_owned()).collect();
    Config::new(text, &pairs).unwrap()
}

fn graph() -> Graph {
    blocks(400, 5, 1600, 1)
}

/// The table, and how many patches were embedded and kept.
fn run(graph: &Graph, config: &Config, folder: &Path) -> Result<(Table, usize, usize), ExperimentError> {
    let (mut embedded, mut kept) = (0, 0);
    let table = experiment(graph, config, folder, &Silent, |finished| {
        (embedded, kept) = (embedded + finished.embedded, kept + finished.kept);
    })?;
    Ok((table, embedded, kept))
}

fn read(folder: &Path, file: &str) -> Vec<u8> {
    fs::read(folder.join(file)).unwrap()
}

#[test]
fn every_dimension_has_a_row_in_the_order_of_the_paper() {
    let folder = tempfile::tempdir().unwrap();
    let (table, ..) = run(&graph(), &config(&["patch.min_overlap=32"]), folder.path()).unwrap();
    assert_eq!(table.rows.iter().map(|row| row.dim).collect::<Vec<_>>(), [2, 8]);
    assert!(
        table
            .rows
            .iter()
            .flat_map(|row| row.reconstruction.in_order())
            .all(|score| (0.0..=1.0).contains(&score))
    );
    let last = table.rows[1].reconstruction;
    assert!(last.full > 0.8 && last.l2g > last.no_trans, "{last:?}");
    assert!(table.paper.edges_in_no_patch.count > 0 && table.ours.edges_in_no_patch.count == 0);
    let saved = String::from_utf8(read(folder.path(), "scores.json")).unwrap();
    let table_text = serde_json::to_string_pretty(&table).unwrap() + "\n";
    assert_eq!(saved, table_text.replacen("{\n", "{\n  \"schema\": 1,\n", 1));
    assert_eq!(read(folder.path(), "figure.svg"), table.figure().as_bytes());
}

#[test]
fn threads_do_not_change_a_byte() {
    let graph = graph();
    let config = config(&["embed.method=vgae", "embed.epochs=3", "experiment.runs=2"]);
    let folders = [1, 2].map(|num_threads| {
        let folder = tempfile::tempdir().unwrap();
        on_threads(num_threads, || run(&graph, &config, folder.path()).unwrap());
        folder
    });
    let embeddings = ["d=002/full/4-embeddings/patch-00000.npy", "d=008/ours/5-alignment/embedding.npy"];
    for file in ["scores.json", "table.md", "figure.svg"].into_iter().chain(embeddings) {
        assert!(read(folders[0].path(), file) == read(folders[1].path(), file), "{file}");
    }
}

#[test]
fn a_rerun_trains_only_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, config) = (graph(), config(&[]));
    let (table, embedded, kept) = run(&graph, &config, folder.path()).unwrap();
    let all = embedded + kept;
    let patches = folder.path().join("d=008/paper/4-embeddings");
    let stamp = |name: &str| fs::metadata(patches.join(name)).unwrap().modified().unwrap();
    let before = stamp("patch-00001.npy");
    fs::remove_file(patches.join("patch-00000.npy")).unwrap();
    fs::remove_file(folder.path().join("scores.json")).unwrap();
    let (again, embedded, kept) = run(&graph, &config, folder.path()).unwrap();
    assert_eq!((embedded, kept), (1, all - 1));
    assert_eq!(stamp("patch-00001.npy"), before);
    assert_eq!(again, table);
    let more = Config { experiment: None, ..config.clone() };
    let pairs = ["experiment.dims=[2, 4, 8]", "experiment.runs=1", "experiment.splits=0"];
    let pairs = pairs.map(str::to_owned);
    let more = Config::new(&more.to_toml(), &pairs).unwrap();
    // Dimensions that were done stay done.
    let (_, _, kept) = run(&graph, &more, folder.path()).unwrap();
    assert!(kept >= all, "{kept} of {all}");
}

#[test]
fn patches_that_are_the_same_in_both_settings_are_trained_once() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(&["patch.cover=nodes", "patch.landmarks=0"]);
    let (table, embedded, kept) = run(&graph(), &config, folder.path()).unwrap();
    let (patches, dims) = (table.paper.patches, table.rows.len());
    assert_eq!((embedded, kept), ((1 + patches) * dims, patches * dims));
}

#[test]
fn one_cluster_is_the_whole_graph() {
    let folder = tempfile::tempdir().unwrap();
    let (table, ..) = run(&graph(), &config(&["partition.clusters=1"]), folder.path()).unwrap();
    for scores in table.rows.iter().map(|row| row.reconstruction) {
        assert!(scores.in_order().iter().all(|&score| (score - scores.full).abs() < 1e-6), "{scores:?}");
    }
}

#[test]
fn splits_add_links_and_leave_reconstruction_as_it_is() {
    let (graph, folder) = (graph(), tempfile::tempdir().unwrap());
    let (alone, ..) = run(&graph, &config(&[]), folder.path()).unwrap();
    let (table, embedded, kept) = run(&graph, &config(&["experiment.splits=2"]), folder.path()).unwrap();
    assert!(kept > 0 && embedded > 0);
    for (row, before) in table.rows.iter().zip(&alone.rows) {
        assert_eq!(row.reconstruction, before.reconstruction);
        let links = row.link_prediction.unwrap();
        assert!(links.in_order().iter().all(|auc| auc.mean > 0.4 && auc.std.is_some()), "{links:?}");
        // The graph has no labels.
        assert_eq!(row.classification, None);
    }
    let links = table.rows[1].link_prediction.unwrap();
    assert!(links.full.mean > 0.6 && links.full.std != Some(0.0), "{links:?}");
    let held_out = (0.1 * graph.num_edges() as f64).round() as usize;
    assert!(table.splits.iter().all(|split| split.held_out == held_out), "{:?}", table.splits);
    assert_ne!(table.splits[0].seed, table.splits[1].seed);
    // Later splits do not change earlier ones.
    let (_, embedded, kept) = run(&graph, &config(&["experiment.splits=3"]), folder.path()).unwrap();
    assert!(embedded * 3 <= kept, "{embedded} {kept}");
}

#[test]
fn what_splits_cannot_use_is_refused_before_training() {
    let folder = tempfile::tempdir().unwrap();
    let error = |graph: &Graph, pairs: &[&str]| {
        let pairs = [&["experiment.splits=2"], pairs].concat();
        run(graph, &config(&pairs), folder.path()).unwrap_err()
    };
    let own = error(&graph(), &["embed.patches.patch-00001.power_iterations=3"]).to_string();
    assert!(own.starts_with("setting `embed.patches` is one of `patch-00001`; needed no settings"), "{own}");
    let held = hold_out(graph(), 0.1, Seed(0)).unwrap();
    let twice = error(&held, &["graph.hold_out=0.1"]).to_string();
    assert!(twice.starts_with("setting `graph.hold_out` is 0.1; needed 0"), "{twice}");
    let path = undirected((1..200).map(|node| [node - 1, node]).collect(), 200);
    let tree = error(&path, &["patch.min_overlap=9"]);
    assert!(matches!(tree, ExperimentError::Split(_)) && tree.hint().is_some(), "{tree}");
    let labels = error(&graph(), &["evaluate.tasks=[\"classification\"]"]).to_string();
    assert_eq!(labels, "classification needs labels, and the graph has none");
    let dim = error(&graph(), &["embed.method=hops", "experiment.dims=[1, 4]"]);
    assert!(matches!(dim, ExperimentError::Prepare { dim: 1, .. }), "{dim}");
    assert!(!folder.path().join("d=002").exists() && !folder.path().join("d=004").exists());
}

#[test]
fn a_method_that_the_graph_does_not_allow_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let error = run(&graph(), &config(&["embed.method=hops"]), folder.path()).unwrap_err();
    assert!(matches!(error, ExperimentError::Prepare { dim: 2, .. }), "{error}");
}

#[test]
fn what_cannot_be_compared_is_refused_before_training() {
    let folder = tempfile::tempdir().unwrap();
    let error = |graph: &Graph, pairs: &[&str]| run(graph, &config(pairs), folder.path()).unwrap_err();
    assert!(matches!(error(&scattered(1), &["patch.bridge=false"]), ExperimentError::Disconnected { .. }));
    let complete = undirected((0..9).flat_map(|a| (0..a).map(move |b| [a, b])).collect(), 9);
    assert!(matches!(error(&complete, &[]), ExperimentError::NoScore));
    let small = error(&graph(), &["patch.min_overlap=8"]).to_string();
    assert_eq!(small, "setting `patch.min_overlap` is 8; needed at least 9 to align in 8 dimensions");
    assert!(!folder.path().join("d=002").exists());
}

#[test]
fn the_settings_in_the_benchmarks_are_those_of_the_paper() {
    let read = |text: &str| Config::new(text, &[]).unwrap();
    let cora = read(include_str!("../../../benchmarks/cora.toml"));
    let photo = read(include_str!("../../../benchmarks/amazon-photo.toml"));
    let facts = |config: &Config| {
        let rate = config.embed.training().learning_rate;
        let bounds = config.patch.overlap_bounds(128).unwrap();
        (config.partition.size, config.patch.degree, bounds.min, bounds.max, config.embed.hidden, rate)
    };
    assert_eq!(facts(&cora), (NumClusters::Clusters(10), 4.0, 129, 256, 2.0, Rates::One(0.01)));
    assert_eq!(facts(&photo), (NumClusters::Clusters(20), 5.0, 256, 512, 4.0, Rates::One(0.001)));
    for config in [cora, photo] {
        let training = config.embed.training();
        assert_eq!((config.embed.method, training.epochs), (EmbedMethod::Vgae, 200));
        assert_eq!((training.normalise, training.start, training.patience), (Scaling::None, Start::Own, 0));
        assert_eq!((training.validation, training.hide, training.weight_decay), (0.0, 0.0, 0.0));
        let experiment = config.experiment.unwrap_or_default();
        assert_eq!((experiment.runs, experiment.splits), (10, 0));
    }
}
