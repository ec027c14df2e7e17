//! `l2g embed`, through the real binary.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

use std::fs;
use std::path::Path;
use std::process::Output;

use local2global::npy;
use local2global::run_dir::{RunDir, write_array};
use serde_json::Value;

fn l2g(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("l2g"));
    command.current_dir(folder).env_remove("L2G_DATA").args(arguments).output().unwrap()
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = l2g(folder, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A run of Cora with two overlapping patches.
fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    json(folder.path(), &["graph", "cora", "--out", "run", "--json", "--quiet"]);
    let patches = RunDir::new(folder.path().join("run")).patches();
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
    let embed = |extra: &[&str]| json(folder.path(), &[&["embed", "run"], extra, &FAST].concat());
    assert_eq!(embed(&["--only", "1"])["embedded"], serde_json::json!([1]));
    let second = embed(&["--memory", "1G"]);
    assert_eq!((&second["embedded"], &second["kept"]), (&serde_json::json!([0]), &serde_json::json!([1])));
    let coordinates = npy::read::<f32>(&folder.path().join("run/4-embeddings/patch-00001.npy")).unwrap();
    assert_eq!(coordinates.shape, [150, 4]);
    let record = fs::read(folder.path().join("run/4-embeddings/patch-00000.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(record["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn wrong_arguments_and_missing_inputs_are_told_apart() {
    let folder = prepared();
    let code = |arguments: &[&str]| l2g(folder.path(), arguments).status.code();
    assert_eq!(code(&["embed", "run", "--only", "x"]), Some(2));
    assert_eq!(code(&["embed", "run", "--set", "embed.epoch=3"]), Some(2));
    assert_eq!(code(&["embed", "nowhere"]), Some(1));
    let output = l2g(folder.path(), &["embed", "run", "--only", "5"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no patch 5"));
}
