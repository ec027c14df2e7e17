//! `l2g experiment`, through the real binary.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;
use std::path::Path;

use serde_json::Value;

use common::{Folder, json, l2g, result, text};

/// A folder with a graph of 240 nodes, and settings that make short work of it.
fn prepared() -> Folder {
    let folder = Folder::new();
    let model = ["generate", "block-model", "--nodes", "240", "--communities", "4", "--mixing", "0.1"];
    folder.json(&[&model[..], &["--features", "20", "--out", "blocks.npz", "--json"]].concat());
    let settings =
        "[partition]\nclusters = 4\n[embed]\nepochs = 3\n[experiment]\ndims = [4, 2]\nruns = 2\nsplits = 0\n";
    fs::write(folder.join("short.toml"), settings).unwrap();
    folder
}

const EXPERIMENT: [&str; 4] = ["experiment", "blocks.npz", "--config", "short.toml"];

#[test]
fn the_comparison_lies_in_the_folder_and_is_printed() {
    let folder = prepared();
    let output = folder.l2g(&EXPERIMENT);
    assert!(output.status.success(), "{}", text(&output));
    let out = folder.join("runs/blocks-experiment");
    let table = fs::read_to_string(out.join("table.md")).unwrap();
    assert_eq!(table.lines().count(), 4);
    let printed = result(&output);
    assert!(printed.starts_with(&table) && !text(&output).contains(&table), "{printed}");
    assert!(text(&output).contains("\nd = 4: full 0."), "{}", text(&output));
    let scores: Value = serde_json::from_slice(&fs::read(out.join("scores.json")).unwrap()).unwrap();
    assert_eq!((&scores["graph"], &scores["runs"]), (&"blocks.npz".into(), &2.into()));
    assert_eq!((&scores["paper"]["cover"], &scores["ours"]["cover"]), (&"nodes".into(), &"edges".into()));
    assert_eq!((&scores["rows"][0]["dim"], &scores["rows"][1]["dim"]), (&2.into(), &4.into()));
    let figure = fs::read_to_string(out.join("figure.svg")).unwrap();
    assert_eq!(figure.matches("class=\"point\"").count(), 2 * 5);
}

#[test]
fn a_rerun_keeps_what_is_there_and_gives_the_same_bytes_on_any_number_of_threads() {
    let folder = prepared();
    let run = |threads: &str, out: &str| {
        let more = ["--out", out, "--threads", threads, "--json", "--quiet"];
        folder.json(&[&EXPERIMENT[..], &more].concat())
    };
    let bytes = |out: &str, file: &str| fs::read(folder.join(out).join(file)).unwrap();
    let first = run("1", "one");
    assert!(first["embedded"].as_u64().unwrap() > 2);
    let again = run("1", "one");
    assert_eq!(again["embedded"], 0);
    assert_eq!(again["rows"], first["rows"]);
    run("2", "two");
    for file in ["run.toml", "scores.json", "table.md", "figure.svg", "d=004/ours/5-alignment/embedding.npy"]
    {
        assert!(bytes("one", file) == bytes("two", file), "{file}");
    }
    // The settings that were written repeat the experiment, flags included.
    let repeated = ["experiment", "--config", "one/run.toml", "--out", "one", "--json", "--quiet"];
    assert_eq!(folder.json(&repeated)["embedded"], 0);
}

#[test]
fn flags_take_the_place_of_settings() {
    let folder = prepared();
    let more = ["--dims", "3", "--runs", "1", "--set", "embed.method=spectral", "--json", "--quiet"];
    let found = folder.json(&[&EXPERIMENT[..], &more].concat());
    assert_eq!((&found["runs"], &found["method"]), (&1.into(), &"spectral".into()));
    assert_eq!(found["rows"].as_array().unwrap().len(), 1);
    assert_eq!(found["rows"][0]["dim"], 3);
    assert!(found["rows"][0]["full"].as_f64().unwrap() > 0.5);
}

#[test]
fn splits_add_panels_and_a_rerun_keeps_them() {
    let folder = prepared();
    let run = |threads: &str, out: &str| {
        let more = ["--splits", "2", "--set", "embed.method=hops", "--out", out, "--threads", threads];
        folder.json(&[&EXPERIMENT[..], &more, &["--json", "--quiet"]].concat())
    };
    let bytes = |out: &str, file: &str| fs::read(folder.join(out).join(file)).unwrap();
    let first = run("2", "one");
    let results = ["scores.json", "table.md", "figure.svg"];
    let before = results.map(|file| bytes("one", file));
    let again = run("2", "one");
    assert_eq!((&again["embedded"], &again["rows"]), (&0.into(), &first["rows"]));
    assert!(results.map(|file| bytes("one", file)) == before);
    run("1", "two");
    let split = "split-1/d=004/ours/5-alignment/embedding.npy";
    for file in results.into_iter().chain(["run.toml", split]) {
        assert!(bytes("one", file) == bytes("two", file), "{file}");
    }
    for task in ["link_prediction", "classification"] {
        for curve in ["full", "l2g", "no_trans", "l2g_paper", "no_trans_paper"] {
            let score = &first["rows"][1][task][curve];
            let (mean, std) = (score["mean"].as_f64().unwrap(), score["std"].as_f64().unwrap());
            assert!((0.0..=1.0).contains(&mean) && (0.0..0.5).contains(&std), "{task} {curve} {score}");
        }
    }
    let table = String::from_utf8(bytes("one", "table.md")).unwrap();
    assert_eq!(
        (table.matches("|      4 |").count(), table.matches("over 2 splits").count()),
        (3, 2),
        "{table}"
    );
    let figure = String::from_utf8(bytes("one", "figure.svg")).unwrap();
    assert_eq!(figure.matches("class=\"point\"").count(), 3 * 2 * 5);
    assert_eq!(figure.matches("class=\"bar\"").count(), 2 * 2 * 5);
}

/// The scores of a run, and those of a split, for methods with a common frame and without.
#[test]
fn ours_is_what_a_run_does() {
    let folder = &prepared();
    let read = |file: &str| fs::read(folder.join(file)).unwrap();
    for method in ["auto", "hops", "walks", "both", "vgae", "spectral"] {
        let set = format!("embed.method={method}");
        let common = ["blocks.npz", "--config", "short.toml", "--set", &set, "--quiet"];
        let run = |more: &[&str]| {
            let output = l2g(folder, &[&["run"], &common[..], &["--set", "embed.dim=4"], more].concat());
            assert!(output.status.success(), "{method}: {}", text(&output));
        };
        let out = format!("{method}-experiment");
        let found = json(
            folder,
            &[&["experiment"], &common[..], &["--dims", "4", "--splits", "1", "--out", &out, "--json"]]
                .concat(),
        );
        let whole = format!("{method}-whole");
        run(&["--out", &whole, "--set", "embed.runs=2"]);
        for file in ["embedding.npy", "no_trans.npy"] {
            let ours = read(&format!("{out}/d=004/ours/5-alignment/{file}"));
            assert!(ours == read(&format!("{whole}/5-alignment/{file}")), "{method}, {file}");
        }
        let seed = found["splits"][0]["seed"].as_u64().unwrap().to_string();
        let split = format!("{method}-split");
        let held = ["--hold-out", "0.1", "--seed", &seed, "--full"];
        run(&[&["--out", &split, "--set", "embed.runs=2"], &held[..]].concat());
        let scores: Value =
            serde_json::from_slice(&read(&format!("{split}/6-evaluation/scores.json"))).unwrap();
        let row = &found["rows"][0];
        for curve in ["full", "l2g", "no_trans"] {
            let links = &scores["link_prediction"]["best"][curve]["auc"];
            assert_eq!(&row["link_prediction"][curve]["mean"], links, "{method}, {curve}");
            let accuracy = &scores["classification"]["accuracy"][curve]["mean"];
            assert_eq!(&row["classification"][curve]["mean"], accuracy, "{method}, {curve}");
        }
        let chosen = row.get("chosen").and_then(Value::as_str);
        assert_eq!(chosen.is_some(), method == "auto", "{row}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused_before_training() {
    let folder = prepared();
    let failed = |more: &[&str]| {
        let output = folder.l2g(&[&EXPERIMENT[..], more].concat());
        (output.status.code(), text(&output))
    };
    assert_eq!(failed(&["--dims", "0"]).0, Some(2));
    assert_eq!(failed(&["--dims", "2,x"]).0, Some(2));
    let (code, message) = failed(&["--set", "patch.min_overlap=4"]);
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(message);
    let (code, message) = failed(&["--set", "embed.method=given", "--set", "embed.coordinates=x"]);
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(message);
    assert!(!folder.join("runs/blocks-experiment/d=002").exists());
}

#[test]
fn help_teaches() {
    insta::assert_snapshot!(result(&l2g(Path::new("."), &["experiment", "--help"])));
}

#[test]
fn an_experiment_that_is_refused_leaves_its_settings() {
    let folder = Folder::new();
    let l2g = |arguments: &[&str]| folder.l2g(arguments);
    let usual = ["experiment", "cora", "--runs", "1", "--out", "exp", "--quiet"];
    let usual = [&usual[..], &["--set", "embed.method=spectral", "--set", "partition.clusters=3"]].concat();
    assert!(l2g(&[&usual[..], &["--dims", "2"]].concat()).status.success());
    let settings = fs::read(folder.join("exp/run.toml")).unwrap();
    assert_eq!(l2g(&[&usual[..], &["--dims", "1000000"]].concat()).status.code(), Some(1));
    assert!(fs::read(folder.join("exp/run.toml")).unwrap() == settings);
    fs::create_dir(folder.join("exp/3-patches")).unwrap();
    let output = l2g(&[&usual[..], &["--dims", "2"]].concat());
    assert_eq!(output.status.code(), Some(2));
}
