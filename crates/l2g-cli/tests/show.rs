//! `l2g show`, through the real binary.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use common::{Folder, assert_refused, l2g, prepared, result, run, text};

/// A folder with a finished run in `runs/a`.
fn finished() -> Folder {
    let folder = prepared();
    folder.json(&[&run("runs/a", &[])[..], &["--json", "--quiet"]].concat());
    folder
}

/// Name, state and reason of each stage.
fn stages(record: &Value) -> Vec<[Value; 3]> {
    let stages = record["stages"].as_array().unwrap().iter();
    stages.map(|stage| ["stage", "state", "reason"].map(|key| stage[key].clone())).collect()
}

#[test]
fn a_finished_run_is_told_with_its_sizes_scores_and_worst_patches() {
    let folder = finished();
    let record = folder.json(&["show", "runs/a", "--json"]);
    assert!(stages(&record).iter().all(|[_, state, reason]| state == "done" && reason.is_null()), "{record}");
    assert_eq!(
        (&record["graph"]["nodes"], &record["dim"], &record["seed"]),
        (&json!(239), &json!(4), &json!(3))
    );
    assert_eq!(record["patches"], record["embedded_patches"]);
    assert!(record["scores"]["auc"]["l2g"].as_f64().unwrap() > 0.5);
    let misfits: Vec<f64> = record["worst_patches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fit| fit["misfit"].as_f64().unwrap())
        .collect();
    assert!(misfits.len() == 3 && misfits.is_sorted_by(|a, b| a >= b), "{misfits:?}");
    let of_stages: u64 =
        record["stages"].as_array().unwrap().iter().map(|stage| stage["bytes"].as_u64().unwrap()).sum();
    assert!(of_stages > 0 && record["bytes"].as_u64().unwrap() > of_stages);
    let page = result(&folder.l2g(&["show", "runs/a"]));
    for words in ["graph      done", "evaluate   done", "worst patches", "stitched", "disk", "patches"] {
        assert!(page.contains(words), "`{words}` is not in\n{page}");
    }
}

#[test]
fn states_are_told_with_the_reason_and_nothing_is_changed() {
    let folder = finished();
    let before = common::results(&folder.join("runs/a"));
    let stale = folder.json(&["show", "runs/a", "--set", "align.weights=unit", "--json"]);
    let stages_now = stages(&stale);
    assert_eq!(stages_now[3], [json!("embed"), json!("done"), Value::Null]);
    assert_eq!(stages_now[4], [json!("align"), json!("stale"), json!("align.weights is unit, was overlap")]);
    assert_eq!(stages_now[5], [json!("evaluate"), json!("stale"), json!("align is done anew")]);
    assert!(before == common::results(&folder.join("runs/a")));

    fs::write(folder.join("runs/a/2-partition/clusters.npy"), b"damaged").unwrap();
    fs::remove_dir_all(folder.join("runs/a/6-evaluation")).unwrap();
    let page = result(&folder.l2g(&["show", "runs/a"]));
    assert!(page.contains("`clusters.npy` is damaged or missing"), "{page}");
    assert!(page.contains("evaluate   missing"), "{page}");
    // The graph that was read is looked at as well.
    fs::remove_file(folder.join("graph.npz")).unwrap();
    let gone = folder.json(&["show", "runs/a", "--json"]);
    assert_eq!(stages(&gone)[0][1], "stale");
}

#[test]
fn a_run_that_has_begun_is_told_as_far_as_it_came() {
    let folder = prepared();
    folder.json(&["graph", "graph.npz", "--out", "runs/b", "--json", "--quiet"]);
    let record = folder.json(&["show", "runs/b", "--json"]);
    let states: Vec<Value> = stages(&record).into_iter().map(|[_, state, _]| state).collect();
    assert_eq!(states[0], "done");
    assert_eq!(states[1..], ["missing", "missing", "missing", "missing", "missing"].map(Value::from));
    assert_eq!((&record["graph"]["nodes"], &record["patches"]), (&json!(239), &Value::Null));
    assert_refused(&folder.l2g(&["show", "runs/b", "--patch", "0"]), &["there are no patches yet"]);
}

#[test]
fn one_patch_is_told_with_training_overlaps_and_fit() {
    let folder = finished();
    let record = folder.json(&["show", "runs/a", "--patch", "1", "--json"]);
    assert_eq!(record["patch"], "patch-00001");
    let report: Value =
        serde_json::from_slice(&fs::read(folder.join("runs/a/3-patches/patches.json")).unwrap()).unwrap();
    assert_eq!(record["nodes"], report["sizes"][1]);
    let neighbors = record["neighbors"].as_array().unwrap();
    assert_eq!(neighbors.len() as u64, record["fit"]["neighbors"].as_u64().unwrap());
    assert!(neighbors.iter().all(|neighbor| neighbor["shared"] == neighbor["fit"]["overlap"]), "{record}");
    assert!(record["training"]["losses"].as_array().unwrap().len() > 1, "{record}");
    let page = result(&folder.l2g(&["show", "runs/a", "--patch", "1"]));
    for words in ["patch-00001", "losses", "shared nodes", "misfit", "edges"] {
        assert!(page.contains(words), "`{words}` is not in\n{page}");
    }
    let refused = folder.l2g(&["show", "runs/a", "--patch", "99"]);
    assert_refused(&refused, &["there is no patch 99; the run has patches 0 to "]);
}

#[test]
fn without_a_name_the_run_that_was_worked_in_last_is_shown() {
    let folder = finished();
    folder.json(&["graph", "graph.npz", "--out", "runs/b", "--json", "--quiet"]);
    assert_eq!(folder.json(&["show", "--json"])["run"], "runs/b");
    folder.json(&["align", "runs/a", "--json", "--quiet"]);
    assert_eq!(folder.json(&["show", "--json"])["run"], "runs/a");
}

#[test]
fn what_is_no_run_is_told_with_a_hint() {
    let folder = Folder::new();
    fs::create_dir(folder.join("empty")).unwrap();
    let told = |arguments: &[&str]| {
        let output = folder.l2g(arguments);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        text(&output)
    };
    insta::assert_snapshot!(told(&["show"]));
    insta::assert_snapshot!(told(&["show", "empty"]));
    insta::assert_snapshot!(told(&["show", "nowhere"]));
}

#[test]
fn help_teaches() {
    insta::assert_snapshot!(result(&l2g(Path::new("."), &["show", "--help"])));
}
