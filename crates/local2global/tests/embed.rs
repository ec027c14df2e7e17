//! One list of checks for every embedder, on a planted graph and on tiny ones.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail by panicking")]

use std::fs;
use std::path::Path;

use local2global::embed::frame::Sources;
use local2global::embed::{
    EmbedConfig, EmbedError, EmbedMethod, EmbedTask, Embedding, Frame, FrameKind, PatchInput, Start,
    embed_patches,
};
use local2global::graph::features::DenseFeatures;
use local2global::graph::{BuildOptions, EdgeList, Features, Graph, NodeId, build};
use local2global::npy;
use local2global::progress::{Progress, Silent};
use local2global::seed::{Seed, Stage};
use rand::RngExt;

const BLOCKS: usize = 3;
const BLOCK_NODES: usize = 40;
const NODES: usize = BLOCKS * BLOCK_NODES;

/// Three dense blocks with few edges between them; block of node `v` is `v % 3`.
fn planted(with_features: bool) -> Graph {
    let mut random = Seed(4).stream(Stage::Generate, 0);
    let mut pairs = Vec::new();
    for v in 0..NODES as u32 {
        for u in 0..v {
            let same = u as usize % BLOCKS == v as usize % BLOCKS;
            if random.random_bool(if same { 0.3 } else { 0.005 }) {
                pairs.push([u, v]);
            }
        }
    }
    let graph = build(EdgeList::from_pairs(pairs), NODES, &BuildOptions::default()).graph;
    if !with_features {
        return graph;
    }
    let mut value = |node: usize, column: usize| {
        f32::from(u8::from(column % BLOCKS == node % BLOCKS)) + random.random_range(0.0..0.5_f32)
    };
    let values: Vec<f32> = (0..NODES * 9).map(|k| value(k / 9, k % 9)).collect();
    graph.with_features(Some(Features::Dense(DenseFeatures::new(NODES, 9, values.into()).unwrap()))).unwrap()
}

fn graph_of(pairs: Vec<[u32; 2]>, num_nodes: usize) -> Graph {
    build(EdgeList::from_pairs(pairs), num_nodes, &BuildOptions::default()).graph
}

/// Every method that a graph allows, set up so that it can embed any patch in four dimensions.
fn methods(folder: &Path, graph: &Graph) -> Vec<(String, EmbedConfig)> {
    // Quick and plain; what hides and holds out edges comes on top.
    let base = EmbedConfig {
        dim: 4,
        epochs: Some(20),
        learning_rate: Some(serde_json::from_str("0.01").unwrap()),
        validation: Some(0.0),
        hide: Some(0.0),
        patience: Some(0),
        weight_decay: Some(0.0),
        coordinates: folder.join("given"),
        ..EmbedConfig::default()
    };
    let program = folder.join("embed.py");
    fs::write(&program, PROGRAM).unwrap();
    let command = ["python3", program.to_str().unwrap(), "{edges}", "{nodes}", "{dim}", "{seed}", "{out}"];
    let base = EmbedConfig { command: command.map(String::from).to_vec(), ..base };
    let distance = serde_json::from_str(r#""distance""#).unwrap();
    let named = |method| EmbedConfig { method, ..base.clone() };
    let methods = [EmbedMethod::Vgae, EmbedMethod::Gae, EmbedMethod::Dgi, EmbedMethod::Spectral];
    let mut all: Vec<_> = methods.map(|method| (format!("{method:?}"), named(method))).into();
    for method in [EmbedMethod::Vgae, EmbedMethod::Gae] {
        all.push((format!("{method:?} distance"), EmbedConfig { decoder: distance, ..named(method) }));
    }
    for method in [EmbedMethod::Vgae, EmbedMethod::Gae, EmbedMethod::Dgi] {
        let [validation, hide] = [Some(0.1), Some(0.5)];
        all.push((format!("{method:?} validated"), EmbedConfig { validation, ..named(method) }));
        all.push((format!("{method:?} unseen"), EmbedConfig { validation, hide, ..named(method) }));
    }
    all.push(("Vgae own".into(), EmbedConfig { start: Some(Start::Own), ..named(EmbedMethod::Vgae) }));
    for method in [EmbedMethod::Auto, EmbedMethod::Hops, EmbedMethod::Walks, EmbedMethod::Both] {
        let needs_features = matches!(method, EmbedMethod::Hops | EmbedMethod::Both);
        for frame in [FrameKind::Common, FrameKind::None] {
            if graph.features().is_some() || !needs_features {
                all.push((format!("{method:?} {frame:?}"), EmbedConfig { frame, ..named(method) }));
            }
        }
    }
    all.push(("Command".into(), named(EmbedMethod::Command)));
    all.push(("Given".into(), named(EmbedMethod::Given)));
    all
}

/// A program that knows nothing but the standard library: coordinates from node and seed.
const PROGRAM: &str = r#"
import struct, sys
edges, nodes, dim, seed, out = sys.argv[1:6]
def header(path):
    data = open(path, "rb").read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return data[10:start].decode(), data[start:]
text, data = header(nodes)
count = len(data) // 8
values = struct.unpack("<%dQ" % count, data)
assert "(%d,)" % count in text
shape, data = header(edges)
pairs = struct.unpack("<%dQ" % (len(data) // 8), data)
assert all(node < count for node in pairs)
rows = [(v % 3 == k) + (v * 31 + int(seed) % 97 + k) % 7 / 50 for v in values for k in range(int(dim))]
text = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %s), }" % (count, dim)
text += " " * (117 - len(text)) + "\n"
open(out, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
                      + struct.pack("<%dd" % len(rows), *rows))
"#;

/// Puts coordinates for `given` where it looks for them.
fn give(folder: &Path, name: &str, graph: &Graph, dim: usize) {
    let values: Vec<f64> = (0..graph.num_nodes() * dim)
        .map(|k| f64::from(u8::from(k / dim % BLOCKS == k % dim)) + (k as f64).sin() * 0.1)
        .collect();
    fs::create_dir_all(folder.join("given")).unwrap();
    let mut file = fs::File::create(folder.join("given").join(format!("{name}.npy"))).unwrap();
    npy::write(&mut file, &[graph.num_nodes(), dim], &values).unwrap();
}

/// The graph as one patch, with a common frame where the method has one.
fn embed_once(config: &EmbedConfig, graph: &Graph, seed: Seed) -> Result<Embedding, EmbedError> {
    config.check()?;
    let nodes: Vec<NodeId> = graph.nodes().collect();
    let folder = tempfile::tempdir().unwrap();
    let patch = PatchInput {
        name: "patch-00000",
        graph,
        nodes: &nodes,
        rows: &nodes,
        whole: graph,
        folder: folder.path(),
        seed,
    };
    let frame = Frame::prepare(&Sources { graph, clusters: None }, config, seed, folder.path(), &Silent)?;
    frame.embedder(config).embed(&patch, &EmbedTask::silent(config.dim, seed))
}

fn vgae() -> EmbedConfig {
    EmbedConfig { method: EmbedMethod::Vgae, ..EmbedConfig::default() }
}

/// The share of nodes that fit their own block better than any other, on average over
/// its nodes: by inner product where that is what was trained, by distance elsewhere.
fn separation(embedding: &Embedding, config: &EmbedConfig) -> f64 {
    let rows = &embedding.coordinates;
    let trained = matches!(config.method, EmbedMethod::Vgae | EmbedMethod::Gae);
    let by_product = trained && config.decoder == EmbedConfig::default().decoder;
    let fit = |a: usize, b: usize| -> f32 {
        let pairs = rows.row(a).iter().zip(rows.row(b));
        match by_product {
            true => pairs.map(|(x, y)| x * y).sum(),
            false => -pairs.map(|(x, y)| (x - y) * (x - y)).sum::<f32>().sqrt(),
        }
    };
    let fit_to_block = |node: usize, block: usize| -> f32 {
        (0..NODES)
            .filter(|&other| other % BLOCKS == block && other != node)
            .map(|other| fit(node, other))
            .sum()
    };
    let best = |node: usize| {
        (0..BLOCKS).max_by(|&a, &b| fit_to_block(node, a).total_cmp(&fit_to_block(node, b))).unwrap()
    };
    (0..NODES).filter(|&node| best(node) == node % BLOCKS).count() as f64 / NODES as f64
}

#[test]
fn blocks_of_a_planted_graph_are_separated() {
    let folder = tempfile::tempdir().unwrap();
    for with_features in [true, false] {
        let graph = planted(with_features);
        give(folder.path(), "patch-00000", &graph, 4);
        for (name, config) in methods(folder.path(), &graph) {
            // Without features, infomax has only the structure, which so few epochs do not exploit.
            if config.method == EmbedMethod::Dgi && !with_features {
                continue;
            }
            // Half of four dimensions is one direction and the popularity.
            if config.method == EmbedMethod::Both {
                continue;
            }
            let config = EmbedConfig { epochs: Some(150), ..config };
            let embedding = embed_once(&config, &graph, Seed(1)).unwrap();
            let shape = (embedding.coordinates.num_rows(), embedding.coordinates.num_columns());
            assert_eq!(shape, (NODES, 4), "{name}");
            let share = separation(&embedding, &config);
            assert!(share > 0.8, "{name}, features {with_features}: only {share} with their own");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let folder = tempfile::tempdir().unwrap();
    let graph = planted(true);
    give(folder.path(), "patch-00000", &graph, 4);
    for (name, config) in methods(folder.path(), &graph) {
        let embed = |seed| embed_once(&config, &graph, seed).unwrap().coordinates;
        let first = embed(Seed(1));
        assert_eq!(first, embed(Seed(1)), "{name}");
        // Spectral coordinates converge to the same, and given ones are what they are.
        let converges = matches!(config.method, EmbedMethod::Spectral | EmbedMethod::Given);
        if !converges {
            assert_ne!(first, embed(Seed(2)), "{name}");
        }
    }
}

#[test]
fn patches_with_a_common_start_begin_with_the_same_weights() {
    // With a rate of almost nothing, coordinates are those of the first weights. Two patches that
    // share a component of the graph see the same of it.
    let graph = graph_of(vec![[0, 1], [1, 2], [0, 2], [3, 4], [5, 6]], 7);
    let whole = &graph;
    let patches = [[0, 1, 2, 3, 4].as_slice(), &[0, 1, 2, 5, 6]].map(|nodes| {
        let nodes: Vec<NodeId> = nodes.iter().map(|&node| NodeId(node)).collect();
        (graph.subgraph(&nodes), nodes)
    });
    for method in [EmbedMethod::Vgae, EmbedMethod::Gae, EmbedMethod::Dgi] {
        let shared_rows = |start: Start, run: u32| {
            let config = EmbedConfig {
                method,
                dim: 4,
                epochs: Some(1),
                learning_rate: Some(serde_json::from_str("1e-12").unwrap()),
                start: Some(start),
                ..EmbedConfig::default()
            };
            [0, 1].map(|index| {
                let (graph, nodes) = &patches[index];
                let patch = PatchInput {
                    name: "patch",
                    graph,
                    nodes,
                    rows: nodes,
                    whole,
                    folder: Path::new("unused"),
                    seed: Seed(1),
                };
                let own_seed = Seed(2 + index as u64);
                let embedding = config
                    .embedder()
                    .embed(&patch, &EmbedTask { run, ..EmbedTask::silent(4, own_seed) })
                    .unwrap();
                embedding.coordinates.values()[..3 * 4].to_vec()
            })
        };
        let [first, second] = shared_rows(Start::Common, 0);
        assert!(first.iter().zip(&second).all(|(a, b)| (a - b).abs() < 1e-6), "{method:?}");
        assert_ne!(first, shared_rows(Start::Common, 1)[0], "{method:?}: runs differ");
        let [first, second] = shared_rows(Start::Own, 0);
        assert!(first.iter().zip(&second).any(|(a, b)| (a - b).abs() > 1e-3), "{method:?}");
    }
}

#[test]
fn training_on_hidden_edges_and_stopping_by_validation_leave_their_traces() {
    let config = EmbedConfig {
        dim: 4,
        epochs: Some(1000),
        validation: Some(0.1),
        hide: Some(0.5),
        patience: Some(4),
        ..vgae()
    };
    let record = embed_once(&config, &planted(true), Seed(1)).unwrap().record;
    let best = record.kept.best_epoch.unwrap();
    assert!(record.losses.len() < 1000 && best.is_multiple_of(5), "{best} of {}", record.losses.len());
    assert_eq!(record.losses.len() as u32, best + 20);
    assert!(record.kept.validation.unwrap() > 0.7, "{:?}", record.kept);
}

#[test]
fn threads_do_not_change_a_byte() {
    let graph = planted(true);
    let folder = tempfile::tempdir().unwrap();
    give(folder.path(), "patch-00000", &graph, 4);
    for (name, config) in methods(folder.path(), &graph) {
        let config = EmbedConfig { dim: 20, epochs: Some(10), ..config };
        give(folder.path(), "patch-00000", &graph, 20);
        let on = |num_threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(num_threads).build().unwrap();
            pool.install(|| embed_once(&config, &graph, Seed(1)).unwrap().coordinates)
        };
        let one = on(1);
        assert!([2, 3, 8].into_iter().all(|num_threads| on(num_threads) == one), "{name}");
    }
}

#[test]
fn tiny_patches_are_embedded_by_every_method() {
    let folder = tempfile::tempdir().unwrap();
    let star = (1..6).map(|leaf| [0, leaf]).collect();
    let tiny = [
        ("one node", graph_of(vec![], 1)),
        ("no edges", graph_of(vec![], 5)),
        ("one edge", graph_of(vec![[0, 1]], 2)),
        ("a triangle", graph_of(vec![[0, 1], [1, 2], [0, 2]], 3)),
        ("a star", graph_of(star, 6)),
    ];
    for (what, graph) in tiny {
        give(folder.path(), "patch-00000", &graph, 4);
        for (name, config) in methods(folder.path(), &graph) {
            let embedding = embed_once(&config, &graph, Seed(1))
                .unwrap_or_else(|error| panic!("{name}, {what}: {error}"));
            assert_eq!(embedding.coordinates.num_rows(), graph.num_nodes(), "{name}, {what}");
            assert!(embedding.coordinates.values().iter().all(|value| value.is_finite()), "{name}, {what}");
        }
    }
}

#[test]
fn coordinates_of_somebody_else_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph_of(vec![[0, 1]], 2);
    let config = EmbedConfig {
        method: EmbedMethod::Given,
        dim: 4,
        coordinates: folder.path().join("given"),
        ..EmbedConfig::default()
    };
    let message = || embed_once(&config, &graph, Seed(1)).unwrap_err().to_string();
    assert!(message().contains("patch-00000"), "{}", message());
    give(folder.path(), "patch-00000", &graph, 3);
    assert_eq!(message(), "embedding of patch-00000 has shape 2 x 3, but the patch needs 2 x 4");
    let path = folder.path().join("given/patch-00000.npy");
    npy::write(&mut fs::File::create(path).unwrap(), &[2, 4], &[f32::NAN; 8]).unwrap();
    assert!(message().contains("is not finite"), "{}", message());
}

#[test]
fn a_failing_program_is_quoted() {
    let graph = graph_of(vec![[0, 1]], 2);
    let run = |script: &str| {
        let command = ["python3", "-c", script, "{out}"].map(String::from).to_vec();
        let config = EmbedConfig { method: EmbedMethod::Command, dim: 2, command, ..EmbedConfig::default() };
        embed_once(&config, &graph, Seed(1)).unwrap_err().to_string()
    };
    let failed = run("import sys; sys.exit('no graph today')");
    assert!(failed.contains("patch-00000") && failed.ends_with("no graph today"), "{failed}");
    assert!(run("pass").contains("unusable"), "nothing was written");
    let command = vec!["/nowhere/at-all".to_owned(), "{out}".to_owned()];
    let config = EmbedConfig { method: EmbedMethod::Command, dim: 2, command, ..EmbedConfig::default() };
    assert!(embed_once(&config, &graph, Seed(1)).unwrap_err().to_string().contains("could not be started"));
}

/// A command that runs a Python script for a graph of two nodes.
fn python(script: &str) -> EmbedConfig {
    let command = ["python3", "-c", script, "{out}"].map(String::from).to_vec();
    EmbedConfig { method: EmbedMethod::Command, dim: 2, command, ..EmbedConfig::default() }
}

#[test]
fn a_program_that_takes_too_long_is_ended_and_named() {
    let config = EmbedConfig { command_timeout: 0.2, ..python("import time; time.sleep(1000)") };
    let started = std::time::Instant::now();
    let error = embed_once(&config, &graph_of(vec![[0, 1]], 2), Seed(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "command for patch-00000 took longer than 0.2 s, the limit of `embed.command_timeout`"
    );
    assert!(error.hint().unwrap().contains("embed.command_timeout"));
    assert!(started.elapsed() < std::time::Duration::from_secs(500));
}

#[test]
fn the_folder_of_a_program_is_private_beside_its_coordinates_and_gone_afterwards() {
    let script = "import os, sys; folder = os.path.dirname(sys.argv[1]); \
                  sys.exit('%s %o' % (folder, os.stat(folder).st_mode & 0o777))";
    let folder = tempfile::tempdir().unwrap();
    let config = python(script);
    let error = embed_patches(
        &graph_of(vec![[0, 1]], 2),
        &[vec![NodeId(0), NodeId(1)]],
        None,
        &config,
        Seed(1),
        folder.path(),
        &Silent,
    );
    let told = error.unwrap_err().to_string();
    let beside = format!("{}/.work-patch-00000-", folder.path().display());
    assert!(told.contains(&beside) && told.ends_with(" 700"), "{told}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_learning_rate_that_is_too_large_is_an_error_with_advice() {
    let config = EmbedConfig { dim: 4, learning_rate: Some(serde_json::from_str("1e30").unwrap()), ..vgae() };
    let error = embed_once(&config, &planted(true), Seed(1)).unwrap_err();
    assert!(error.to_string().starts_with("loss of patch-00000 became"), "{error}");
    assert!(error.hint().unwrap().contains("learning_rate"));
}

/// Overlapping patches of very different sizes.
fn patches() -> Vec<Vec<NodeId>> {
    let range = |nodes: std::ops::Range<usize>| nodes.map(NodeId::new).collect();
    vec![range(0..40), range(20..120), range(0..120), range(100..110)]
}

fn quick() -> EmbedConfig {
    EmbedConfig { dim: 4, epochs: Some(5), runs: 3, ..vgae() }
}

fn embed_all(folder: &Path, config: &EmbedConfig, only: Option<&[usize]>) -> Result<String, EmbedError> {
    let summary = embed_patches(&planted(true), &patches(), only, config, Seed(9), folder, &Silent)?;
    Ok(format!("{:?} {:?}", summary.embedded, summary.kept))
}

fn bytes(folder: &Path) -> Vec<Vec<u8>> {
    (0..4).map(|k| fs::read(folder.join(format!("patch-{k:05}.npy"))).unwrap()).collect()
}

#[test]
fn parts_and_threads_make_the_same_files_as_one_go() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    assert_eq!(embed_all(folders[0].path(), &quick(), None).unwrap(), "[0, 1, 2, 3] []");
    embed_all(folders[1].path(), &quick(), Some(&[3, 1])).unwrap();
    assert_eq!(embed_all(folders[1].path(), &quick(), None).unwrap(), "[0, 2] [1, 3]");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(7).build().unwrap();
    pool.install(|| embed_all(folders[2].path(), &quick(), None)).unwrap();
    assert_eq!(bytes(folders[0].path()), bytes(folders[1].path()));
    assert_eq!(bytes(folders[0].path()), bytes(folders[2].path()));
}

#[test]
fn only_what_changed_is_embedded_again() {
    let folder = tempfile::tempdir().unwrap();
    embed_all(folder.path(), &quick(), None).unwrap();
    let own = serde_json::from_str(r#"{"patch-00002": {"method": "gae", "epochs": 7}}"#).unwrap();
    let changed = EmbedConfig { patches: own, ..quick() };
    assert_eq!(embed_all(folder.path(), &changed, None).unwrap(), "[2] [0, 1, 3]");
    let record: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("patch-00002.json")).unwrap()).unwrap();
    assert_eq!(record["settings"]["method"], "gae");
    assert_eq!(record["losses"].as_array().unwrap().len(), 7);
    assert_eq!(record["runs"].as_array().unwrap().len(), 3);
    assert!(record["auc"].as_f64().unwrap() > 0.5);
    let best = record["runs"].as_array().unwrap().iter().map(|run| run["auc"].as_f64().unwrap());
    assert_eq!(best.fold(0.0, f64::max), record["auc"].as_f64().unwrap());
}

#[test]
fn a_failed_patch_does_not_lose_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let own = serde_json::from_str(r#"{"patch-00001": {"learning_rate": 1e30}}"#).unwrap();
    let config = EmbedConfig { patches: own, ..quick() };
    let error = embed_all(folder.path(), &config, None).unwrap_err();
    assert!(error.to_string().contains("patch-00001"), "{error}");
    assert_eq!(embed_all(folder.path(), &quick(), None).unwrap(), "[1] [0, 2, 3]");
}

#[test]
fn cancelling_keeps_what_is_done() {
    /// Says stop after the first patch.
    #[derive(Default)]
    struct StopAfterFirst(std::sync::atomic::AtomicBool);
    impl Progress for StopAfterFirst {
        fn note(&self, _: &str) {
            self.0.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        fn is_cancelled(&self) -> bool {
            self.0.load(std::sync::atomic::Ordering::Relaxed)
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let stop = StopAfterFirst::default();
    let graph = planted(true);
    let result = embed_patches(&graph, &patches(), None, &quick(), Seed(9), folder.path(), &stop);
    assert!(matches!(result, Err(EmbedError::Cancelled { done: 1.., total: 4 })), "{result:?}");
    let finished = fs::read_dir(folder.path()).unwrap().count();
    assert!((2..8).contains(&finished) && finished.is_multiple_of(2), "{finished} files");
    embed_all(folder.path(), &quick(), None).unwrap();
    assert_eq!(bytes(folder.path()).len(), 4);
}

#[test]
fn a_memory_limit_is_kept_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let enough = EmbedConfig { memory_bytes: 3 << 20, ..quick() };
    embed_all(folder.path(), &enough, None).unwrap();
    let other = tempfile::tempdir().unwrap();
    let too_little = EmbedConfig { memory_bytes: 1 << 10, ..quick() };
    let error = embed_all(other.path(), &too_little, None).unwrap_err();
    assert!(error.to_string().contains("MiB"), "{error}");
}

#[test]
fn settings_for_a_patch_that_is_not_there_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let own = serde_json::from_str(r#"{"patch-00009": {"runs": 2}}"#).unwrap();
    let error = embed_all(folder.path(), &EmbedConfig { patches: own, ..quick() }, None).unwrap_err();
    assert!(error.to_string().contains("patch-00009"), "{error}");
}
