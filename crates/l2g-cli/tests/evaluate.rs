//! `l2g evaluate`, through the real binary.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;

use local2global::npy;
use local2global::run_dir::write_array;
use serde_json::Value;

use common::{Folder, result, text};

impl Folder {
    /// Cora with a tenth of its edges held out, embedded fast and stitched.
    fn of_cora() -> Self {
        let run = Self::new();
        let fast = ["--set", "embed.method=spectral", "--set", "embed.dim=16", "--json", "--quiet"];
        run.json(&[&["run", "cora", "--out", "run", "--hold-out", "0.1", "--seed", "3"], &fast[..]].concat());
        run
    }

    fn scores(&self) -> Vec<u8> {
        fs::read(self.join("run/6-evaluation/scores.json")).unwrap()
    }
}

#[test]
fn all_tasks_are_scored_and_stitching_beats_no_transforms() {
    let run = Folder::of_cora();
    let found = run.json(&["evaluate", "run", "--seed", "3", "--json"]);
    let number = |path: &str| found.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}"));
    assert_eq!(found["reconstruction"]["edges"], 4562);
    assert_eq!(found["link_prediction"]["edges"], 507);
    assert_eq!(number("/auc/l2g"), number("/reconstruction/auc/l2g"));
    assert!(number("/auc/l2g") > number("/auc/no_trans"));
    assert!(number("/link_prediction/auc/l2g") > 0.6, "{found}");
    assert!(number("/link_prediction/average_precision/l2g") > 0.6, "{found}");
    assert!(number("/classification/accuracy/l2g/mean") > 0.4, "{found}");
    assert!(number("/classification/macro_f1/l2g/std") > 0.0, "{found}");
    assert!(found["auc"]["full"].is_null() && number("/seconds") > 0.0);
    for baseline in ["smoothed", "features"] {
        assert!(number(&format!("/classification/accuracy/{baseline}/mean")) > 0.5, "{found}");
        assert!(number(&format!("/link_prediction/matched/cosine/auc/{baseline}")) > 0.6, "{found}");
    }
    assert!(number("/link_prediction/auc/degrees") > number("/link_prediction/matched/auc/degrees") + 0.1);
    assert!(number("/link_prediction/best/l2g/auc") >= number("/link_prediction/auc/l2g"));
    assert!(found["findings"][0].as_str().unwrap().starts_with("against unaligned, aligning"), "{found}");
    let written: Value = serde_json::from_slice(&run.scores()).unwrap();
    assert_eq!(written["classification"], found["classification"]);
    assert!(written["seconds"].is_null());
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_one_and_two_threads() {
    let run = Folder::of_cora();
    let scores = |threads, seed| {
        run.json(&["evaluate", "run", "--threads", threads, "--seed", seed, "--samples", "2000", "--json"]);
        run.scores()
    };
    let first = scores("1", "8");
    assert!(first == scores("2", "8"));
    assert!(first != scores("2", "9"));
}

#[test]
fn held_out_pairs_are_saved_and_not_in_the_graph() {
    let run = Folder::new();
    let summary = run.json(&["graph", "cora", "--out", "run", "--hold-out", "0.2", "--json"]);
    assert_eq!((&summary["held_out_edges"], &summary["edges"]), (&1014.into(), &4055.into()));
    let pairs = |name: &str| npy::read::<u64>(&run.join("run/1-graph").join(name)).unwrap();
    assert_eq!(pairs("held_out_edges.npy").shape, [1014, 2]);
    assert_eq!(pairs("held_out_non_edges.npy").shape, [1014, 2]);
    let first = pairs("held_out_edges.npy");
    let table = result(&run.l2g(&["graph", "cora", "--out", "run", "--set", "graph.hold_out=0.2"]));
    assert!(table.contains("held out     1 014 edges, for link prediction"), "{table}");
    assert_eq!(pairs("held_out_edges.npy"), first);
    run.json(&["graph", "cora", "--out", "run", "--json"]);
    assert!(!run.join("run/1-graph/held_out_edges.npy").exists());
}

#[test]
fn a_full_embedding_and_a_given_split_are_used() {
    let run = Folder::of_cora();
    let stitched = npy::read::<f32>(&run.join("run/5-alignment/embedding.npy")).unwrap();
    let full = run.join("run/6-evaluation/full.npy");
    write_array(&full, &stitched.shape, &stitched.values).unwrap();
    let ids = npy::read::<u64>(&run.join("run/1-graph/ids.npy")).unwrap();
    let line = |(row, id): (usize, &u64)| format!("{id},{}\n", if row % 3 == 0 { "train" } else { "test" });
    fs::write(run.join("split.csv"), ids.values.iter().enumerate().map(line).collect::<String>()).unwrap();
    write_array(&full.with_file_name("untrained.npy"), &stitched.shape, &stitched.values).unwrap();
    let found = run.json(&["evaluate", "run", "--split", "split.csv", "--json"]);
    assert_eq!(found["auc"]["full"], found["auc"]["l2g"]);
    assert_eq!(found["auc"]["untrained"], found["auc"]["l2g"]);
    let classes = &found["classification"];
    assert_eq!((&classes["train_nodes"], &classes["repeats"]), (&829.into(), &1.into()));
    assert_eq!(classes["accuracy"]["full"], classes["accuracy"]["l2g"]);
}

#[test]
fn people_read_a_table() {
    let run = Folder::of_cora();
    let output = run.l2g(&["evaluate", "run", "--samples", "1000", "--repeats", "2"]);
    assert!(output.status.success(), "{}", text(&output));
    let table = result(&output);
    for text in [
        "reconstruction                      AUC    AP",
        "                 stitched           0.",
        "on a sample of 1 000 of 4 562 edges and 1 000 non-edges",
        "link prediction                     inner product  cosine  matched: inner product  cosine",
        "                 degrees            0.",
        "AUC on 507 held-out edges and 507 uniform non-edges; matched: 507 non-edges with the degrees",
        "classification                      accuracy       micro F1       macro F1",
        "                 smoothed features  0.",
        "on a sample of 1 000 of 2 485 labelled nodes, 2 random splits: ",
        "in words         against unaligned, aligning ",
        "                 against smoothed features, training loses ",
    ] {
        assert!(table.contains(text), "`{text}` in\n{table}");
    }
}

#[test]
fn errors_come_with_a_hint() {
    let run = Folder::new();
    let ring: String = (0..400).map(|node| format!("{node} {}\n", (node + 1) % 400)).collect();
    fs::write(run.join("ring.txt"), ring).unwrap();
    let message = |code, arguments: &[&str]| {
        let output = run.l2g(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output));
        text(&output)
    };
    insta::assert_snapshot!(message(1, &["graph", "ring.txt", "--hold-out", "0.5", "--quiet"]));
    insta::assert_snapshot!(message(2, &["graph", "ring.txt", "--hold-out", "1"]));
    let fast = ["--set", "embed.method=spectral", "--set", "embed.dim=4", "--quiet"];
    run.l2g(&[&["graph", "ring.txt", "--out", "run"], &fast[4..]].concat());
    insta::assert_snapshot!(message(1, &["evaluate", "run"]));
    run.l2g(&[&["run", "ring.txt", "--out", "run"], &fast[..]].concat());
    insta::assert_snapshot!(message(1, &["evaluate", "run", "--tasks", "link-prediction"]));
    insta::assert_snapshot!(message(1, &["evaluate", "run", "--tasks", "classification"]));
    insta::assert_snapshot!(message(2, &["evaluate", "run", "--set", "evaluate.train_share=2"]));
    assert!(message(2, &["evaluate", "run", "--set", "evaluate.repeat=2"]).contains("`evaluate.repeats`"));
}

#[test]
fn help_teaches() {
    insta::assert_snapshot!(result(&Folder::new().l2g(&["evaluate", "--help"])));
}
