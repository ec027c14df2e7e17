//! `l2g export`, through the real binary.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;
use std::path::Path;

use local2global::npy;
use serde_json::json;

use common::{command, finished_ring, l2g, result, text};

#[test]
fn every_format_lies_in_the_run_folder_unless_told_otherwise() {
    let folder = finished_ring(|node| format!("{}", 1000 + node));
    let files = |format: &str| {
        let exported = folder.json(&["export", "run", "--format", format, "--json", "--quiet"]);
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
    let metadata = fs::read_to_string(folder.join("run/export/projector/metadata.tsv")).unwrap();
    assert!(metadata.starts_with("id\tlabel\n1000\teven\n1001\todd\n"), "{metadata}");
}

#[test]
fn rows_are_those_of_the_embedding_under_the_ids_of_the_input() {
    let folder = finished_ring(|node| format!("{}", 1000 + node));
    folder.json(&["export", "run", "--out", "here.csv", "--json"]);
    let table = fs::read_to_string(folder.join("here.csv")).unwrap();
    assert_eq!(table.lines().next(), Some("id,x0,x1"));
    let embedding = npy::read::<f32>(&folder.join("run/5-alignment/embedding.npy")).unwrap();
    for (row, line) in table.lines().skip(1).enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields[0], (1000 + row).to_string());
        let numbers: Vec<f32> = fields[1..].iter().map(|number| number.parse().unwrap()).collect();
        assert_eq!(numbers, embedding.values[2 * row..][..2]);
    }
    // The packed table reads back as features of the same nodes.
    folder.json(&["export", "run", "--out", "x.parquet", "--json"]);
    let read = folder.json(&["graph", "ring.tsv", "--features", "x.parquet", "--json"]);
    assert_eq!(read["features"], 2);
}

#[test]
fn threads_do_not_change_a_byte() {
    let folder = finished_ring(|node| format!("{}", 1000 + node));
    for threads in ["1", "2"] {
        for ending in ["csv.gz", "parquet", "vec"] {
            let out = format!("{threads}.{ending}");
            folder.json(&["export", "run", "--out", &out, "--threads", threads, "--json"]);
        }
    }
    for ending in ["csv.gz", "parquet", "vec"] {
        let bytes = |threads: &str| fs::read(folder.join(format!("{threads}.{ending}"))).unwrap();
        assert_eq!(bytes("1"), bytes("2"), "{ending}");
    }
}

#[test]
fn what_cannot_be_exported_is_said_in_one_sentence() {
    let folder = finished_ring(|node| format!("node {node}"));
    let refused = folder.l2g(&["export", "run", "--format", "word2vec"]);
    assert_eq!(refused.status.code(), Some(1));
    insta::assert_snapshot!(text(&refused));
    assert!(!folder.join("run/export").exists());
    let untold = folder.l2g(&["export", "run", "--out", "embedding.xyz"]);
    assert_eq!(untold.status.code(), Some(2));
    insta::assert_snapshot!(text(&untold));
    fs::remove_file(folder.join("run/5-alignment/embedding.npy")).unwrap();
    let unfinished = folder.l2g(&["export", "run", "--format", "csv"]);
    assert_eq!(unfinished.status.code(), Some(1));
    insta::assert_snapshot!(text(&unfinished));
    assert_eq!(folder.l2g(&["export", "run"]).status.code(), Some(2));
}

#[test]
fn help_teaches() {
    insta::assert_snapshot!(result(&l2g(Path::new("."), &["export", "--help"])));
}

#[test]
fn standard_output_holds_the_vectors_and_nothing_else() {
    let folder = finished_ring(|node| format!("n{node}"));
    for format in ["csv", "tsv", "word2vec", "parquet"] {
        let file = format!("as.{format}");
        folder.l2g(&["export", "run", "--format", format, "--out", &file]);
        let output = folder.l2g(&["export", "run", "--format", format, "--out", "-"]);
        assert!(output.status.success(), "{}", text(&output));
        assert!(output.stdout == fs::read(folder.join(&file)).unwrap(), "{format}");
        assert!(text(&output).contains("200 x 2 vectors written to standard output"));
    }
    assert!(!folder.join("-").exists());
    for more in [&["--format", "csv", "--json"][..], &["--format", "projector"]] {
        let output = folder.l2g(&[&["export", "run", "--out", "-"][..], more].concat());
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains("standard output"), "{}", text(&output));
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = finished_ring(|node| format!("n{node}"));
    let mut command = command(&folder, &["export", "run", "--format", "csv", "--out", "-", "--quiet"]);
    let piped = std::process::Stdio::piped;
    let mut child = command.stdout(piped()).stderr(piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output)), (Some(0), String::new()));
}

#[cfg(unix)]
#[test]
fn a_link_keeps_leading_to_its_target_when_it_is_exported_to() {
    let folder = finished_ring(|node| format!("n{node}"));
    fs::write(folder.join("real.csv"), b"old").unwrap();
    std::os::unix::fs::symlink("real.csv", folder.join("link.csv")).unwrap();
    assert!(folder.l2g(&["export", "run", "--out", "link.csv"]).status.success());
    assert!(folder.join("link.csv").is_symlink());
    assert!(fs::read(folder.join("real.csv")).unwrap().starts_with(b"id,x0,x1\n"));
}
