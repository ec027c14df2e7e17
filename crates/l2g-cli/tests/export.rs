//! `l2g export`, through the real binary.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

use std::fs;
use std::path::Path;
use std::process::Output;

use local2global::npy;
use serde_json::{Value, json};

fn l2g(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("l2g"));
    command.current_dir(folder).env_remove("L2G_DATA").args(arguments).output().unwrap()
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = l2g(folder, arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A finished run of a ring of 200 nodes, each named after `name` of its number.
fn finished(name: impl Fn(u32) -> String) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let edges = (0..200).map(|node| format!("{}\t{}\n", name(node), name((node + 1) % 200)));
    fs::write(folder.path().join("ring.tsv"), edges.collect::<String>()).unwrap();
    let labels = (0..200).map(|node| format!("{}\t{}\n", name(node), ["even", "odd"][node as usize % 2]));
    fs::write(folder.path().join("labels.tsv"), labels.collect::<String>()).unwrap();
    let spectral =
        ["--set", "embed.method=spectral", "--set", "embed.dim=2", "--set", "partition.clusters=3"];
    let run = ["run", "ring.tsv", "--labels", "labels.tsv", "--out", "run", "--json", "--quiet"];
    json(folder.path(), &[&run[..], &spectral].concat());
    folder
}

#[test]
fn every_format_lies_in_the_run_folder_unless_told_otherwise() {
    let folder = finished(|node| format!("{}", 1000 + node));
    let files = |format: &str| {
        let exported = json(folder.path(), &["export", "run", "--format", format, "--json", "--quiet"]);
        assert_eq!((&exported["nodes"], &exported["dim"]), (&200.into(), &2.into()));
        assert_eq!(exported["format"], format);
        exported["files"].clone()
    };
    assert_eq!(files("parquet"), json!(["run/export/embedding.parquet"]));
    assert_eq!(files("csv"), json!(["run/export/embedding.csv"]));
    assert_eq!(files("tsv"), json!(["run/export/embedding.tsv"]));
    assert_eq!(files("word2vec"), json!(["run/export/embedding.vec"]));
    let projector = json!(["run/export/projector/vectors.tsv", "run/export/projector/metadata.tsv"]);
    assert_eq!(files("projector"), projector);
    let metadata = fs::read_to_string(folder.path().join("run/export/projector/metadata.tsv")).unwrap();
    assert!(metadata.starts_with("id\tlabel\n1000\teven\n1001\todd\n"), "{metadata}");
}

#[test]
fn rows_are_those_of_the_embedding_under_the_ids_of_the_input() {
    let folder = finished(|node| format!("{}", 1000 + node));
    json(folder.path(), &["export", "run", "--out", "here.csv", "--json"]);
    let text = fs::read_to_string(folder.path().join("here.csv")).unwrap();
    assert_eq!(text.lines().next(), Some("id,x0,x1"));
    let embedding = npy::read::<f32>(&folder.path().join("run/5-alignment/embedding.npy")).unwrap();
    for (row, line) in text.lines().skip(1).enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields[0], (1000 + row).to_string());
        let numbers: Vec<f32> = fields[1..].iter().map(|number| number.parse().unwrap()).collect();
        assert_eq!(numbers, embedding.values[2 * row..][..2]);
    }
    // The packed table reads back as features of the same nodes.
    json(folder.path(), &["export", "run", "--out", "x.parquet", "--json"]);
    let read = json(folder.path(), &["graph", "ring.tsv", "--features", "x.parquet", "--json"]);
    assert_eq!(read["features"], 2);
}

#[test]
fn threads_do_not_change_a_byte() {
    let folder = finished(|node| format!("{}", 1000 + node));
    for threads in ["1", "2"] {
        for ending in ["csv.gz", "parquet", "vec"] {
            let out = format!("{threads}.{ending}");
            json(folder.path(), &["export", "run", "--out", &out, "--threads", threads, "--json"]);
        }
    }
    for ending in ["csv.gz", "parquet", "vec"] {
        let bytes = |threads: &str| fs::read(folder.path().join(format!("{threads}.{ending}"))).unwrap();
        assert_eq!(bytes("1"), bytes("2"), "{ending}");
    }
}

#[test]
fn what_cannot_be_exported_is_said_in_one_sentence() {
    let folder = finished(|node| format!("node {node}"));
    let refused = l2g(folder.path(), &["export", "run", "--format", "word2vec"]);
    assert_eq!(refused.status.code(), Some(1));
    insta::assert_snapshot!(stderr(&refused));
    assert!(!folder.path().join("run/export").exists());
    let untold = l2g(folder.path(), &["export", "run", "--out", "embedding.xyz"]);
    assert_eq!(untold.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&untold));
    fs::remove_file(folder.path().join("run/5-alignment/embedding.npy")).unwrap();
    let unfinished = l2g(folder.path(), &["export", "run", "--format", "csv"]);
    assert_eq!(unfinished.status.code(), Some(1));
    insta::assert_snapshot!(stderr(&unfinished));
    assert_eq!(l2g(folder.path(), &["export", "run"]).status.code(), Some(2));
}

#[test]
fn help_teaches() {
    let output = l2g(Path::new("."), &["export", "--help"]);
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap());
}

#[test]
fn standard_output_holds_the_vectors_and_nothing_else() {
    let folder = finished(|node| format!("n{node}"));
    for format in ["csv", "tsv", "word2vec", "parquet"] {
        let file = format!("as.{format}");
        l2g(folder.path(), &["export", "run", "--format", format, "--out", &file]);
        let output = l2g(folder.path(), &["export", "run", "--format", format, "--out", "-"]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(output.stdout == fs::read(folder.path().join(&file)).unwrap(), "{format}");
        assert!(stderr(&output).contains("200 x 2 vectors written to standard output"));
    }
    assert!(!folder.path().join("-").exists());
    for more in [&["--format", "csv", "--json"][..], &["--format", "projector"]] {
        let output = l2g(folder.path(), &[&["export", "run", "--out", "-"][..], more].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("standard output"), "{}", stderr(&output));
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = finished(|node| format!("n{node}"));
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("l2g"));
    let export = ["export", "run", "--format", "csv", "--out", "-", "--quiet"];
    command.current_dir(folder.path()).args(export);
    let piped = std::process::Stdio::piped;
    let mut child = command.stdout(piped()).stderr(piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
}

#[cfg(unix)]
#[test]
fn a_link_keeps_leading_to_its_target_when_it_is_exported_to() {
    let folder = finished(|node| format!("n{node}"));
    fs::write(folder.path().join("real.csv"), b"old").unwrap();
    std::os::unix::fs::symlink("real.csv", folder.path().join("link.csv")).unwrap();
    assert!(l2g(folder.path(), &["export", "run", "--out", "link.csv"]).status.success());
    assert!(folder.path().join("link.csv").is_symlink());
    assert!(fs::read(folder.path().join("real.csv")).unwrap().starts_with(b"id,x0,x1\n"));
}
