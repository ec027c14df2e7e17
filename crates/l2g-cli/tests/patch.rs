//! `l2g partition` and `l2g patch`, through the real binary.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;

use common::{Folder, assert_refused, result, text};

impl Folder {
    /// A folder with the graph of Cora.
    fn of_cora() -> Self {
        let run = Self::new();
        run.json(&["graph", "cora", "--out", "run", "--json"]);
        run
    }

    /// All files of a stage but its stamp, which tells seconds.
    fn files(&self, folder: &str) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(self.join("run").join(folder)).unwrap();
        let mut files: Vec<_> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| !path.ends_with("stage.json"))
            .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    }
}

#[test]
fn the_settings_of_the_paper_give_its_patches() {
    let run = Folder::of_cora();
    let clusters = run.json(&["partition", "run", "--clusters", "10", "--json"]);
    assert_eq!((&clusters["clusters"], &clusters["method"]), (&10.into(), &"metis".into()));
    let arguments =
        ["patch", "run", "--min-overlap", "129", "--max-overlap", "256", "--landmarks", "0", "--json"];
    let patches = run.json(&arguments);
    assert_eq!((&patches["patches"], &patches["patch_edges"]), (&10.into(), &20.into()));
    assert!(patches["overlap"]["found"].as_u64().unwrap() >= 129);
    assert_eq!(patches["edges_in_no_patch"]["count"], 0);
    assert_eq!(patches["connected"], true);
    let names: Vec<String> = run.files("3-patches").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 22);
    for name in ["patch-00000.npy", "patch-00009.weights.npy", "patch_graph.npy", "patches.json"] {
        assert!(names.iter().any(|found| found == name), "{name}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_one_and_two_threads() {
    let run = Folder::of_cora();
    let mut seen = Vec::new();
    for threads in ["1", "2"] {
        run.json(&["partition", "run", "--seed", "5", "--threads", threads, "--json"]);
        run.json(&["patch", "run", "--seed", "5", "--threads", threads, "--json"]);
        seen.push((run.files("2-partition"), run.files("3-patches")));
    }
    assert!(seen[0] == seen[1]);
}

#[test]
fn every_method_leads_to_patches() {
    let run = Folder::of_cora();
    let fennel = ["--set", "partition.method=fennel", "--set", "partition.passes=4"];
    let buffered =
        ["--method", "buffered", "--set", "partition.method=buffered", "--set", "partition.buffer=500"];
    for method in [&fennel[..], &buffered, &["--method", "louvain"]] {
        let common = ["partition", "run", "--patch-size", "300", "--dim", "16", "--json"];
        run.json(&[&common, method].concat());
        let patches = run.json(&["patch", "run", "--set", "embed.dim=16", "--degree", "3", "--json"]);
        assert!(patches["overlap"]["found"].as_u64().unwrap() >= 32, "{method:?}");
    }
    let given = run.json(&["partition", "run", "--method", "given", "--json"]);
    assert_eq!(given["clusters"], 7);
}

#[test]
fn errors_say_what_to_do() {
    let run = Folder::of_cora();
    assert_refused(&run.l2g(&["patch", "run"]), &["hint: rerun `l2g partition`"]);
    run.json(&["partition", "run", "--clusters", "40", "--dim", "2", "--json"]);
    let small = run.l2g(&["patch", "run", "--dim", "128"]);
    let hint = "hint: rerun `l2g partition --min-overlap 129`";
    assert_refused(&small, &["an overlap of 129 needs 65", hint]);
    let unknown = run.l2g(&["partition", "run", "--set", "partition.pases=3"]);
    assert_eq!(unknown.status.code(), Some(2), "{}", text(&unknown));
}

#[test]
fn people_read_a_table() {
    let run = Folder::of_cora();
    let table = result(&run.l2g(&["partition", "run", "--clusters", "40"]));
    assert!(table.contains("(40 were asked for)"), "{table}");
    let table = result(&run.l2g(&["patch", "run"]));
    assert!(table.contains("a node is in 3.") && table.contains("an edge in "), "{table}");
}

#[test]
fn a_limit_of_memory_changes_nothing_or_refuses_before_anything_is_written() {
    let run = Folder::of_cora();
    run.json(&["partition", "run", "--clusters", "10", "--json"]);
    let refused = run.l2g(&["patch", "run", "--memory", "2M"]);
    assert_refused(&refused, &["`patch` needs about ", "but the limit is 2M", "`--memory "]);
    assert!(!run.join("run/3-patches/patches.json").exists());
    run.json(&["patch", "run", "--json"]);
    let without = run.files("3-patches");
    let told = text(&refused);
    let needed = told.split("`--memory ").nth(1).unwrap().split('`').next().unwrap();
    run.json(&["patch", "run", "--memory", needed, "--json"]);
    assert!(run.files("3-patches") == without);
    // A refusal leaves what is there.
    assert_refused(&run.l2g(&["patch", "run", "--memory", "2M"]), &["`patch` needs about "]);
    assert!(run.files("3-patches") == without);
}

#[test]
fn what_guests_do_not_cover_is_told_before_embedding() {
    let run = Folder::of_cora();
    run.json(&["partition", "run", "--clusters", "10", "--json"]);
    let none = run.json(&["patch", "run", "--set", "patch.cover_budget=0", "--json"]);
    let some = run.json(&["patch", "run", "--set", "patch.cover_budget=0.02", "--json"]);
    let all = run.json(&["patch", "run", "--set", "patch.cover_budget=inf", "--json"]);
    let lost = |report: &serde_json::Value| report["edges_in_no_patch"]["count"].as_u64().unwrap();
    assert!(lost(&none) > lost(&some) && lost(&some) > 0 && lost(&all) == 0);
    let copies = |report: &serde_json::Value| report["node_cover"]["copies"].as_u64().unwrap();
    assert_eq!(copies(&some), copies(&none) + 49);
    let told =
        run.l2g(&["run", "cora", "--method", "spectral", "--dim", "8", "--set", "patch.cover_budget=0.01"]);
    let line = text(&told).lines().find(|line| line.starts_with("patch ")).unwrap().to_owned();
    assert!(line.contains(": a node is in ") && line.contains("% of the edges are in no patch"), "{line}");
}
