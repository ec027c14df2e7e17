//! `l2g generate`, through the real binary.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;

use common::{Folder, result, text};

/// The exit code, and what people read.
fn failure(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String) {
    let output = folder.l2g(arguments);
    (output.status.code(), text(&output))
}

#[test]
fn a_generated_graph_is_read_back_from_every_format() {
    let folder = Folder::new();
    for name in ["g.txt", "g.csv.gz", "g.tsv.zst", "g.parquet", "g.npy", "g.npz", "g.mtx"] {
        let made = folder.json(&[
            "generate",
            "block-model",
            "--nodes",
            "500",
            "--out",
            name,
            "--seed",
            "3",
            "--json",
        ]);
        assert_eq!((&made["nodes"], &made["classes"]), (&500.into(), &10.into()));
        let read = folder.json(&["graph", name, "--component", "all", "--json", "--out", "run"]);
        assert_eq!(read["edges"], made["edges"], "{name}");
        assert_eq!(read["dropped"]["edges"], 0, "{name}");
    }
}

#[test]
fn features_and_labels_are_read_back_from_one_file_and_from_three() {
    let folder = Folder::new();
    let ring = ["generate", "ring-of-cliques", "--features", "300", "--json", "--out"];
    folder.json(&[&ring[..], &["ring.npz"]].concat());
    let one = folder.json(&["graph", "ring.npz", "--json"]);
    let extra = ["--features-out", "x.npz", "--labels-out", "y.csv"];
    let made = folder.json(&[&ring[..], &["ring.csv"], &extra[..]].concat());
    assert_eq!(made["files"], serde_json::json!(["ring.csv", "x.npz", "y.csv"]));
    let three = folder.json(&["graph", "ring.csv", "--features", "x.npz", "--labels", "y.csv", "--json"]);
    for key in ["nodes", "edges", "features", "classes"] {
        assert_eq!(one[key], three[key], "{key}");
    }
    assert_eq!((&one["edges"], &one["features"], &one["classes"]), (&1910.into(), &300.into(), &10.into()));
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_one_and_two_threads() {
    let folder = Folder::new();
    for kind in ["rmat", "geometric"] {
        let bytes = |threads: &str, seed: &str| {
            folder.json(&[
                "generate",
                kind,
                "--out",
                "g.txt",
                "--threads",
                threads,
                "--seed",
                seed,
                "--json",
            ]);
            fs::read(folder.join("g.txt")).unwrap()
        };
        assert_eq!(bytes("1", "7"), bytes("2", "7"), "{kind}");
        assert_ne!(bytes("1", "7"), bytes("1", "8"), "{kind}");
    }
}

#[test]
fn wrong_usage_ends_with_2_and_says_what_is_needed() {
    let folder = Folder::new();
    let (code, message) = failure(&folder, &["generate", "rmat", "--nodes", "1000", "--out", "g.txt"]);
    assert_eq!(code, Some(2));
    assert_eq!(message, "error: --nodes is 1000, needed a power of two, such as 512 or 1024\n");

    let (code, message) = failure(&folder, &["generate", "block-model", "--mixing", "2", "--out", "g.txt"]);
    assert_eq!((code, &message[..]), (Some(2), "error: --mixing is 2, needed a number from 0 to 1\n"));

    let (code, message) = failure(&folder, &["generate", "geometric", "--out", "g.docx"]);
    assert_eq!(code, Some(2));
    assert!(message.ends_with("hint: say it with `--format`, or change the name\n"), "{message}");

    let (code, message) =
        failure(&folder, &["generate", "block-model", "--features", "99", "--out", "g.txt"]);
    assert_eq!(code, Some(2));
    assert!(message.contains("hint: add `--features-out FILE.npz`"), "{message}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was written");
}

#[test]
fn a_file_that_cannot_be_written_ends_with_1() {
    let folder = Folder::new();
    fs::write(folder.join("file"), "").unwrap();
    let (code, message) = failure(&folder, &["generate", "rmat", "--out", "file/g.txt"]);
    assert_eq!(code, Some(1));
    assert!(message.starts_with("error: could not create `file`"), "{message}");
}

#[test]
fn help_teaches() {
    let folder = Folder::new();
    let help = |arguments: &[&str]| result(&folder.l2g(arguments)).replace("\n", " ");
    let all = help(&["generate", "--help"]);
    assert!(["block-model", "rmat", "ring-of-cliques", "geometric"].iter().all(|kind| all.contains(kind)));
    let one = help(&["generate", "block-model", "--help"]);
    assert!(one.contains("degree-corrected block model") && one.contains("--labels-out"), "{one}");
}

#[test]
fn edges_go_to_standard_output_and_nothing_else_does() {
    let folder = Folder::new();
    let ring = |more: &[&str]| folder.l2g(&[&["generate", "ring-of-cliques"][..], more].concat());
    for (format, name) in
        [("edge-list", "a.txt"), ("csv", "a.csv"), ("tsv", "a.tsv"), ("parquet", "a.parquet")]
    {
        assert!(ring(&["--out", name]).status.success());
        let output = ring(&["--format", format, "--out", "-"]);
        assert!(output.status.success(), "{format}");
        assert!(output.stdout == fs::read(folder.join(name)).unwrap(), "{format}");
    }
    let refused = |more: &[&str]| {
        let output = ring(more);
        assert!(output.status.code() == Some(2) && !output.stdout.starts_with(b"\x93"));
        text(&output)
    };
    assert!(refused(&["--format", "npy", "--out", "-"]).contains("not written in order"));
    assert!(refused(&["--format", "csv", "--out", "-", "--json"]).contains("both want standard output"));
    assert!(refused(&["--out", "-"]).contains("cannot tell the format"));
}

#[test]
fn parts_hold_the_edges_of_one_file() {
    let folder = Folder::new();
    let make = |more: &[&str]| {
        let kind = ["generate", "block-model", "--nodes", "30000", "--seed", "3", "--json", "--out"];
        folder.json(&[&kind[..], more].concat())
    };
    let whole = make(&["edges.parquet"]);
    folder.json(&["graph", "edges.parquet", "--json", "--out", "whole"]);
    for (parts, more, last) in [
        ("edges", &[][..], "part-00003.parquet"),
        ("text", &["--format", "csv"], "part-00003.csv"),
        ("arrays", &["--format", "npy"], "part-00003.npy"),
    ] {
        let made = make(&[&[parts, "--parts", "4"], more].concat());
        assert_eq!((&made["edges"], &made["files"]), (&whole["edges"], &serde_json::json!([parts])));
        assert_eq!(fs::read_dir(folder.join(parts)).unwrap().count(), 4);
        assert!(folder.join(parts).join(last).exists());
        folder.json(&["graph", parts, "--json", "--memory", "2M", "--out", "run"]);
        for file in ["indptr.npy", "indices.npy", "ids.npy", "graph.json"] {
            let read = |out: &str| fs::read(folder.join(out).join("1-graph").join(file)).unwrap();
            assert!(read("whole") == read("run"), "{parts}: {file}");
        }
    }
    let refused = failure(&folder, &["generate", "rmat", "--out", "edges", "--parts", "2"]);
    assert_eq!(refused.0, Some(2));
    assert!(refused.1.contains("it exists already; parts need a new or an empty folder"), "{}", refused.1);
    let matrix = failure(&folder, &["generate", "rmat", "--out", "m", "--parts", "2", "--format", "npz"]);
    assert!(matrix.1.contains("cannot be divided into parts"), "{}", matrix.1);
}
