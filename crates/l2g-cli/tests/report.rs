//! `l2g report`, through the real binary. What the page does in a browser is tested in `python/tests`.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;
use std::path::Path;

use common::{Folder, l2g, prepared, result, text};

/// Shorter and smaller than the defaults.
const SMALL: [&str; 6] = ["--dim", "8", "--patches", "4", "--set", "patch.min_overlap=10"];

/// A run of a small graph with labels and features.
fn finished() -> Folder {
    let folder = prepared();
    folder.json(&[&["run", "graph.npz", "--out", "run", "--json", "--quiet"][..], &SMALL].concat());
    folder
}

fn page(folder: &Folder) -> String {
    fs::read_to_string(folder.join("run/report.html")).unwrap()
}

#[test]
fn a_page_has_all_its_parts() {
    let folder = finished();
    let record = folder.json(&["report", "run", "--json", "--quiet"]);
    assert_eq!((&record["nodes"], &record["shown"]), (&239.into(), &239.into()));
    assert_eq!(record["layout"], "umap");
    assert_eq!(record["bytes"], page(&folder).len());
    let page = page(&folder);
    for part in ["map", "scores", "patches", "copies", "training", "done"] {
        assert!(page.contains(&format!("<section id={part}")), "{part}");
    }
    for data in ["l2g", "no_trans", "label", "patch", "degree", "community", "spread", "edges"] {
        assert!(page.contains(&format!("id=\"data-{data}\"")), "{data}");
    }
    assert!(page.contains("Worst patches") && page.contains("patch-00003"));
    assert!(page.contains("l2g run --config run/run.toml"));
    assert!(page.contains("Content-Security-Policy") && !page.contains("unsafe-"));
    assert!(!page.contains("http://www.w3.org/1999") && !page.contains("https://"));
}

#[test]
fn threads_and_reruns_do_not_change_a_byte_of_the_map() {
    let folder = finished();
    for layout in ["pca", "umap"] {
        let pages = ["1", "2"].map(|threads| {
            folder.json(&["report", "run", "--layout", layout, "--threads", threads, "--json"]);
            page(&folder)
        });
        assert!(pages[0] == pages[1], "{layout}");
    }
}

#[test]
fn a_run_can_end_with_its_report() {
    let folder = prepared();
    let run = ["run", "graph.npz", "--out", "run", "--report", "--json", "--quiet"];
    let record = folder.json(&[&run[..], &SMALL].concat());
    assert_eq!(record["exported"], serde_json::json!(["run/report.html"]));
    assert!(page(&folder).contains("<section id=map"));
}

#[test]
fn what_was_not_done_is_said_in_its_place() {
    let folder = finished();
    fs::remove_dir_all(folder.join("run/6-evaluation")).unwrap();
    folder.json(&["report", "run", "--layout", "pca", "--json", "--quiet"]);
    assert!(page(&folder).contains("has not been scored"));
    fs::remove_file(folder.join("run/5-alignment/embedding.npy")).unwrap();
    let refused = folder.l2g(&["report", "run"]);
    assert_eq!(refused.status.code(), Some(1));
    insta::assert_snapshot!(text(&refused));
}

#[test]
fn an_experiment_has_a_page_too() {
    let folder = Folder::new();
    fs::create_dir(folder.join("trials")).unwrap();
    for (name, content) in [("scores.json", "{}"), ("table.md", "| a <b> |"), ("figure.svg", "<svg/>")] {
        folder.put(&format!("trials/{name}"), content);
    }
    folder.json(&["report", "trials", "--json", "--quiet"]);
    let page = fs::read_to_string(folder.join("trials/report.html")).unwrap();
    assert!(page.contains("src=\"data:image/svg+xml;base64,PHN2Zy8+\""));
    assert!(page.contains("| a &lt;b&gt; |"));
}

#[test]
fn places_can_be_exported() {
    let folder = finished();
    let export = ["export", "run", "--with", "layout", "--layout", "pca", "--json", "--quiet"];
    folder.json(&[&export[..], &["--out", "a.csv"]].concat());
    let table = fs::read_to_string(folder.join("a.csv")).unwrap();
    assert!(table.lines().next().unwrap().ends_with(",x7,x,y"), "{table}");
    assert!(table.lines().all(|line| line.split(',').count() == 11));
    folder.json(&[&export[..], &["--format", "parquet"]].concat());
    let alone = folder.l2g(&["export", "run", "--layout", "pca", "--format", "csv"]);
    assert_eq!(alone.status.code(), Some(2), "{}", text(&alone));
    let refused = folder.l2g(&[&export[..], &["--format", "word2vec"]].concat());
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused).contains("word2vec has no columns for a layout"), "{}", text(&refused));
}

#[test]
fn help_teaches() {
    insta::assert_snapshot!(result(&l2g(Path::new("."), &["report", "--help"])));
}
