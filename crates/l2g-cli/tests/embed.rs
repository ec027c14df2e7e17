//! `l2g embed`, through the real binary.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;

use local2global::npy;
use local2global::run_dir::{RunDir, write_array};
use serde_json::Value;

use common::{Folder, assert_refused, text};

/// A run of Cora with two overlapping patches.
fn prepared() -> Folder {
    let folder = Folder::new();
    folder.json(&["graph", "cora", "--out", "run", "--json", "--quiet"]);
    let patches = RunDir::new(folder.join("run")).patches();
    for (name, nodes) in [("patch-00000.npy", 0..200_u64), ("patch-00001.npy", 150..300)] {
        let nodes: Vec<u64> = nodes.collect();
        write_array(&patches.join(name), &[nodes.len()], &nodes).unwrap();
    }
    folder
}

const FAST: [&str; 8] =
    ["--set", "embed.dim=4", "--set", "embed.epochs=3", "--set", "embed.runs=2", "--json", "--quiet"];

#[test]
fn patches_are_embedded_once_in_parts_or_whole() {
    let folder = prepared();
    let embed = |extra: &[&str]| folder.json(&[&["embed", "run"], extra, &FAST].concat());
    assert_eq!(embed(&["--only", "1"])["embedded"], serde_json::json!([1]));
    let second = embed(&["--memory", "1G"]);
    assert_eq!((&second["embedded"], &second["kept"]), (&serde_json::json!([0]), &serde_json::json!([1])));
    let coordinates = npy::read::<f32>(&folder.join("run/4-embeddings/patch-00001.npy")).unwrap();
    assert_eq!(coordinates.shape, [150, 4]);
    let record = fs::read(folder.join("run/4-embeddings/patch-00000.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(record["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_missing_patch_is_named_before_anything_is_trained() {
    let folder = prepared();
    let embed = || folder.l2g(&[&["embed", "run"][..], &FAST].concat());
    let patches = folder.join("run/3-patches");
    fs::write(patches.join("patches.json"), r#"{"patches": 3}"#).unwrap();
    assert_refused(&embed(), &["patch-00002.npy` is missing: 2 of 3 patches are there"]);
    // Without a report, a gap tells as much.
    fs::remove_file(patches.join("patches.json")).unwrap();
    fs::rename(patches.join("patch-00001.npy"), patches.join("patch-00004.npy")).unwrap();
    assert_refused(&embed(), &["patch-00001.npy` is missing"]);
    assert!(!folder.join("run/4-embeddings/patch-00000.npy").exists());
}

#[test]
fn overlaps_that_are_too_small_are_told_before_training() {
    let folder = Folder::new();
    let run = |arguments: &[&str]| folder.l2g(arguments);
    folder.json(&["graph", "cora", "--out", "run", "--json", "--quiet"]);
    assert!(run(&["partition", "run", "--clusters", "4", "--quiet"]).status.success());
    let patch = ["patch", "run", "--dim", "4", "--min-overlap", "8", "--max-overlap", "12", "--quiet"];
    let patch = [&patch[..], &["--set", "patch.cover=nodes", "--set", "patch.landmarks=0"]].concat();
    assert!(run(&patch).status.success());
    let output = run(&["embed", "run", "--set", "embed.dim=64", "--quiet"]);
    assert_refused(&output, &["nodes, too few to align them in 64 dimensions", "l2g patch --dim"]);
    assert!(!folder.join("run/4-embeddings/patch-00000.npy").exists());
}

#[test]
fn wrong_arguments_and_missing_inputs_are_told_apart() {
    let folder = prepared();
    let code = |arguments: &[&str]| folder.l2g(arguments).status.code();
    assert_eq!(code(&["embed", "run", "--only", "x"]), Some(2));
    assert_eq!(code(&["embed", "run", "--set", "embed.epoch=3"]), Some(2));
    assert_eq!(code(&["embed", "nowhere"]), Some(1));
    assert!(text(&folder.l2g(&["embed", "run", "--only", "5"])).contains("there is no patch 5"));
}
