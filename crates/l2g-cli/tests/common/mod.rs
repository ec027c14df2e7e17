//! Short runs of a small graph, through the real binary.

#![allow(dead_code, reason = "every test file uses its own part of this")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// A folder with a small graph, `graph.npz`, of three communities with features and labels.
pub(crate) fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["generate", "block-model", "--nodes", "240", "--communities", "3", "--mean-degree", "8"];
    let more = ["--features", "12", "--words", "4", "--out", "graph.npz", "--quiet", "--seed", "5"];
    let output = l2g(folder.path(), &[&arguments[..], &more].concat());
    assert!(output.status.success(), "{}", text(&output));
    folder
}

/// Settings that make a run short.
pub(crate) const FAST: [&str; 14] = [
    "--set",
    "embed.dim=4",
    "--set",
    "embed.epochs=15",
    "--set",
    "partition.clusters=4",
    "--set",
    "patch.min_overlap=16",
    "--set",
    "evaluate.repeats=2",
    "--set",
    "embed.runs=2",
    "--seed",
    "3",
];

pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("l2g"));
    command.current_dir(folder).env_remove("L2G_DATA").args(arguments);
    command
}

pub(crate) fn l2g(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

pub(crate) fn run<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "graph.npz", "--out", out][..], &FAST, more].concat()
}

pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Goes the whole way and returns what became of each stage: `kept`, or why it was done.
pub(crate) fn stages(folder: &Path, arguments: &[&str]) -> BTreeMap<String, String> {
    let output = l2g(folder, &[arguments, &["--json", "--quiet"]].concat());
    assert!(output.status.success(), "{}", text(&output));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let stages = record["stages"].as_array().unwrap().iter().map(|stage| {
        let reason = stage["reason"].as_str().unwrap_or("kept");
        (stage["stage"].as_str().unwrap().to_owned(), reason.to_owned())
    });
    stages.collect()
}
