//! Nothing outdated is used and nothing is lost, through the real binary.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;
use std::path::Path;

use common::{Folder, assert_refused, json, l2g, prepared, run, stages, text};
use serde_json::Value;

/// A line for each node of the graph: its id, and a part that changes with it.
fn lines(of_node: impl Fn(usize) -> String) -> String {
    (0..240).map(|node| format!("{node} {}\n", of_node(node))).collect()
}

#[test]
fn files_that_settings_name_are_read_anew_when_they_change() {
    let folder = &prepared();
    let write = |name: &str, text: String| fs::write(folder.join(name), text).unwrap();
    let half = |first: usize| lines(|node| if node < first { "train".into() } else { "test".into() });
    let given = ["--set", "partition.method=given", "--set", "partition.file=clusters.txt"];
    let given = [&given[..], &["--set", "evaluate.split=split.txt"]].concat();
    // Given clusters have no number to choose.
    let fast: Vec<&str> = run("run", &given);
    write("clusters.txt", lines(|node| (node / 60).to_string()));
    write("split.txt", half(100));
    stages(folder, &fast);
    assert!(stages(folder, &fast).values().all(|reason| reason == "kept"));
    write("split.txt", half(200));
    let scored = stages(folder, &fast);
    assert!(scored["evaluate"].ends_with("split.txt` has changed"), "{scored:?}");
    assert_eq!(scored["align"], "kept");
    write("clusters.txt", lines(|node| (node / 80).to_string()));
    let split = stages(folder, &fast);
    assert!(split["partition"].ends_with("clusters.txt` has changed"), "{split:?}");
    assert_eq!(split["patch"], "partition has changed");
}

#[test]
fn a_file_that_is_added_to_a_folder_is_noticed() {
    let folder = &prepared();
    fs::create_dir(folder.join("edges")).unwrap();
    let ring = |step: usize| lines(|node| ((node + step) % 240).to_string());
    for step in 1..4 {
        fs::write(folder.join(format!("edges/part-{step}.txt")), ring(step)).unwrap();
    }
    let fast = ["run", "edges", "--out", "ring", "--dim", "4", "--patches", "4", "--epochs", "2"];
    let reasons = |more: &[&str]| stages(folder, &[&fast[..], more].concat());
    reasons(&[]);
    assert!(reasons(&[]).values().all(|reason| reason == "kept"));
    fs::write(folder.join("edges/part-4.txt"), ring(4)).unwrap();
    let added = reasons(&[]);
    assert!(added["graph"].ends_with("edges/part-4.txt` is new"), "{added:?}");
    fs::remove_file(folder.join("edges/part-4.txt")).unwrap();
    assert!(reasons(&[])["graph"].ends_with("edges/part-4.txt` is gone"));
    let settings = fs::read_to_string(folder.join("ring/run.toml")).unwrap();
    let named = |name: &str| format!("input = \"{}\"", folder.join(name).display());
    assert!(settings.contains(&named("edges")), "{settings}");
    let pattern = ["run", "edges/part-[12].txt", "edges/part-3.txt"];
    let several = stages(folder, &[&pattern[..], &fast[2..]].concat());
    assert!(several["graph"].contains("graph.input is ["), "{several:?}");
    assert_eq!(several["partition"], "kept", "the graph is the same");
}

#[test]
fn a_run_that_is_refused_leaves_its_folder_as_it_was() {
    let folder = &prepared();
    stages(folder, &run("run", &[]));
    let settings = fs::read(folder.join("run/run.toml")).unwrap();
    // Values that a setting never has are wrong usage; those that this graph does not allow are not.
    for (wrong, code) in [
        ("evaluate.repeats=0", 2),
        ("evaluate.train_share=2", 2),
        ("evaluate.split=nowhere.txt", 1),
        ("evaluate.tasks=[\"link-prediction\"]", 1),
        ("align.tolerance=0", 2),
        ("align.levels=99", 2),
        ("embed.epochs=0", 2),
        ("embed.learning_rate=nan", 2),
        ("partition.clusters=99999", 1),
        ("patch.degree=-1", 2),
    ] {
        for dry in [&["--dry-run"][..], &[]] {
            let output = l2g(folder, &run("run", &[&["--set", wrong], dry].concat()));
            assert_eq!(output.status.code(), Some(code), "{wrong} {dry:?}: {}", text(&output));
            assert!(!text(&output).contains("done in"), "{wrong}: {}", text(&output));
        }
        assert!(fs::read(folder.join("run/run.toml")).unwrap() == settings, "{wrong}");
    }
    let output = l2g(folder, &["evaluate", "run", "--tasks", "link-prediction"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(l2g(folder, &["embed", "run", "--only", "1"]).status.success());
    let again = stages(folder, &run("run", &[]));
    assert!(again.values().all(|reason| reason == "kept"), "{again:?}");
}

/// Puts another graph into the run folder, of as many nodes.
fn put_another_graph(folder: &Path) {
    let other = ["generate", "block-model", "--nodes", "240", "--out", "other.npz", "--quiet"];
    assert!(l2g(folder, &other).status.success());
    assert!(l2g(folder, &["graph", "other.npz", "--out", "run", "--quiet"]).status.success());
}

#[test]
fn an_embedding_of_another_graph_is_not_exported_or_scored() {
    let folder = &prepared();
    stages(folder, &run("run", &[]));
    put_another_graph(folder);
    for command in [&["export", "run", "--format", "csv"][..], &["evaluate", "run"], &["align", "run"]] {
        let hint = "hint: bring the folder up to date with `l2g run`";
        assert_refused(&l2g(folder, command), &["1-graph` has changed since", hint]);
    }
}

#[test]
fn a_damaged_embedding_is_not_exported_and_outdated_exports_are_written_anew() {
    let folder = &prepared();
    let columns = || {
        let csv = fs::read_to_string(folder.join("run/export/embedding.csv")).unwrap();
        csv.lines().next().unwrap().split(',').count()
    };
    stages(folder, &run("run", &["--export", "csv"]));
    assert_eq!(columns(), 5);
    stages(folder, &run("run", &["--set", "embed.dim=3"]));
    assert_eq!(columns(), 4);
    let embedding = folder.join("run/5-alignment/embedding.npy");
    let mut bytes = fs::read(&embedding).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&embedding, bytes).unwrap();
    let output = l2g(folder, &["export", "run", "--format", "csv"]);
    assert_refused(&output, &["embedding.npy` is not what its stage left"]);
}

#[test]
fn settings_name_the_same_files_wherever_they_are_read() {
    let folder = &prepared();
    stages(folder, &run("run", &[]));
    let elsewhere = folder.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("graph.npz"), b"something else").unwrap();
    let found = stages(&elsewhere, &["run", "--config", "../run/run.toml", "--out", "../run"]);
    assert!(found.values().all(|reason| reason == "kept"), "{found:?}");
}

fn graph(folder: &Path, edges: &str) {
    fs::write(folder.join("edges.txt"), edges).unwrap();
}

#[test]
fn a_graph_in_parts_that_are_to_stay_apart_is_refused_before_anything_is_trained() {
    let folder = &Folder::new();
    let ring = |first: usize| (0..60).map(move |k| format!("{} {}\n", first + k, first + (k + 1) % 60));
    graph(folder, &ring(0).chain(ring(60)).collect::<String>());
    let usual = ["run", "edges.txt", "--component", "all", "--out", "run", "--set", "embed.dim=2"];
    let usual = [&usual[..], &["--set", "patch.min_overlap=8", "--set", "embed.method=spectral"]].concat();
    let output = l2g(folder, &[&usual[..], &["--set", "patch.bridge=false"]].concat());
    assert_refused(&output, &["error: graph falls into parts: 2 groups of patches"]);
    assert!(!folder.join("run/4-embeddings").exists());
    let bridged = l2g(folder, &usual);
    assert!(bridged.status.success(), "{}", text(&bridged));
}

/// The embedding of every node, isolated ones and those of tiny components too, with one row each.
#[test]
fn small_components_and_isolated_nodes_are_embedded_with_the_others() {
    let folder = &Folder::new();
    let ring = |first: usize, size: usize| {
        (0..size)
            .flat_map(move |k| [1, 2, 5].map(|step| format!("{} {}\n", first + k, first + (k + step) % size)))
    };
    // A large component, a medium one, a triangle, a pair, and a node with an edge to itself.
    let lines =
        ring(0, 300).chain(ring(300, 90)).chain(ring(400, 3)).chain(["500 501\n".into(), "600 600\n".into()]);
    graph(folder, &lines.collect::<String>());
    for method in ["auto", "vgae", "spectral"] {
        let setting = format!("embed.method={method}");
        let arguments =
            ["run", "edges.txt", "--component", "all", "--out", method, "--set", &setting, "--json"];
        let more = ["--dim", "16", "--epochs", "5", "--set", "partition.clusters=4"];
        let record = json(folder, &[&arguments[..], &more].concat());
        assert_eq!(record["nodes"], 396, "{method}");
        let report: Value = serde_json::from_slice(
            &fs::read(folder.join(method).join("2-partition/partition.json")).unwrap(),
        )
        .unwrap();
        // The triangle, the pair and the lone node.
        assert_eq!(report["packed_nodes"], 6, "{method}");
    }
}

#[test]
fn tasks_that_a_graph_does_not_allow_are_left_out_unless_they_were_asked_for() {
    let folder = &Folder::new();
    graph(folder, "a b\nb c\nc a\n");
    let usual =
        ["run", "edges.txt", "--out", "run", "--set", "embed.dim=1", "--set", "embed.method=spectral"];
    let output = l2g(folder, &[&usual[..], &["--json", "--quiet"]].concat());
    assert!(output.status.success(), "{}", text(&output));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let reason = record["left_out"]["reconstruction"].as_str().unwrap();
    assert_eq!(reason, "reconstruction needs edges and non-edges, found 3 and 0");
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches("\"nodes\":3").count(), 1);
    let asked = l2g(folder, &[&usual[..], &["--set", "evaluate.tasks=[\"reconstruction\"]"]].concat());
    assert_eq!(asked.status.code(), Some(1));
}

#[test]
fn more_memory_than_the_machine_has_is_refused() {
    let folder = prepared();
    let output = l2g(&folder, &["run", "graph.npz", "--out", "run", "--set", "embed.dim=65000"]);
    assert_refused(&output, &["of memory, and this process may use"]);
}

#[test]
fn a_changed_script_embeds_anew() {
    let folder = &prepared();
    let script = |factor: u32| {
        // Coordinates out of the node numbers: an array of f32, with a header of 128 bytes.
        format!(
            "import struct, sys\n\
             nodes, out = sys.argv[1:]\n\
             count = (len(open(nodes, 'rb').read()) - 128) // 8\n\
             head = \"{{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 4), }}\" % count\n\
             head = head.ljust(117) + chr(10)\n\
             rows = [float((7 * k * {factor}) % 31) for k in range(4 * count)]\n\
             with open(out, 'wb') as file:\n\
             \x20   file.write(b'\\x93NUMPY\\x01\\x00' + struct.pack('<H', len(head)) + head.encode())\n\
             \x20   file.write(struct.pack('<%df' % len(rows), *rows))\n"
        )
    };
    let by_command = ["--set", "embed.method=command", "--set"];
    let words = "embed.command=[\"python3\", \"embed.py\", \"{nodes}\", \"{out}\"]";
    let arguments = |out| run(out, &[&by_command[..], &[words]].concat());
    fs::write(folder.join("embed.py"), script(1)).unwrap();
    stages(folder, &arguments("run"));
    fs::write(folder.join("embed.py"), script(2)).unwrap();
    let changed = stages(folder, &arguments("run"));
    assert_eq!(changed["embed"], "`embed.py` has changed");
    stages(folder, &arguments("fresh"));
    let embedding = |out: &str| fs::read(folder.join(out).join("5-alignment/embedding.npy")).unwrap();
    assert!(embedding("run") == embedding("fresh"));
}

#[test]
fn what_was_made_from_files_of_somebody_else_is_made_again() {
    let folder = &prepared();
    stages(folder, &run("good", &[]));
    stages(folder, &run("run", &[]));
    let embedding = |out: &str| fs::read(folder.join(out).join("5-alignment/embedding.npy")).unwrap();
    // Coordinates of the second patch become those of another seed.
    let other = folder.join("run/4-embeddings/patch-00001.npy");
    let mut bytes = fs::read(&other).unwrap();
    let end = bytes.len();
    bytes[end - 400..].iter_mut().step_by(4).for_each(|byte| *byte ^= 0x40);
    fs::write(&other, bytes).unwrap();
    for stage in ["align", "evaluate"] {
        assert!(l2g(folder, &[stage, "run", "--quiet"]).status.success());
    }
    assert!(embedding("run") != embedding("good"));
    let again = stages(folder, &run("run", &[]));
    assert!(again["align"] != "kept", "{again:?}");
    assert!(embedding("run") == embedding("good"));
}

#[test]
fn an_updated_alignment_belongs_to_its_graph_too_and_exports_follow_it() {
    let folder = &prepared();
    stages(folder, &run("run", &["--export", "csv"]));
    let csv = || fs::read(folder.join("run/export/embedding.csv")).unwrap();
    let before = csv();
    assert!(l2g(folder, &["align", "run", "--set", "align.rotate=false", "--quiet"]).status.success());
    stages(folder, &run("run", &["--set", "align.rotate=false"]));
    assert!(csv() != before);
    let updated = l2g(folder, &["align", "run", "--update", "patch-00001", "--quiet"]);
    assert!(updated.status.success(), "{}", text(&updated));
    assert!(l2g(folder, &["export", "run", "--format", "csv"]).status.success());
    put_another_graph(folder);
    assert_eq!(l2g(folder, &["export", "run", "--format", "csv"]).status.code(), Some(1));
}

#[test]
fn coordinates_of_another_program_are_not_overwritten() {
    let folder = &prepared();
    stages(folder, &run("run", &[]));
    let record = folder.join("run/4-embeddings/patch-00002.json");
    fs::remove_file(record).unwrap();
    fs::remove_file(folder.join("run/4-embeddings/stage.json")).unwrap();
    let output = l2g(folder, &run("run", &[]));
    let foreign = "patch-00002.npy` was made by another program, and would be overwritten";
    assert_refused(&output, &[foreign, "hint: move the files, and set `embed.method"]);
}

#[test]
fn the_whole_graph_is_scored_as_it_is_trained_now() {
    let folder = &prepared();
    let scores = || {
        let bytes = fs::read(folder.join("run/6-evaluation/scores.json")).unwrap();
        serde_json::from_slice::<Value>(&bytes).unwrap()
    };
    stages(folder, &run("run", &["--full"]));
    let first = scores()["auc"]["full"].as_f64().unwrap();
    for stage in ["embed", "align", "evaluate"] {
        let output = l2g(folder, &[stage, "run", "--set", "embed.epochs=2", "--quiet"]);
        assert!(output.status.success(), "{}", text(&output));
    }
    assert!(scores()["auc"]["full"].as_f64().unwrap() != first);
    assert!(l2g(folder, &["evaluate", "run", "--set", "evaluate.full=false", "--quiet"]).status.success());
    assert!(scores()["auc"]["full"].is_null());
}

#[test]
fn a_run_that_is_refused_leaves_no_folder() {
    let folder = &prepared();
    for arguments in
        [&["run", "nosuch"][..], &["run", "nosuch.tsv", "--out", "new/run"], &["patch", "new/run"]]
    {
        let output = l2g(folder, arguments);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(!folder.join("runs").exists() && !folder.join("new").exists(), "{arguments:?}");
    }
}

/// Runs `l2g` in a shell, below a limit.
#[cfg(unix)]
fn limited(folder: &Path, limit: &str, arguments: &[&str]) -> std::process::Output {
    let binary = assert_cmd::cargo::cargo_bin!("l2g");
    let line = format!("ulimit {limit}; exec \"$0\" \"$@\"");
    let mut command = std::process::Command::new("sh");
    command.current_dir(folder).args(["-c", &line]).arg(binary).args(arguments).output().unwrap()
}

#[cfg(unix)]
#[test]
fn the_largest_allowed_file_is_told_in_words() {
    let folder = Folder::new();
    let generate = ["generate", "rmat", "--nodes", "16384", "--out", "edges.csv", "--quiet"];
    let output = limited(&folder, "-f 64", &generate);
    assert_refused(&output, &["could not write `edges.csv`", "too large"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_of_memory_is_told_in_words() {
    let folder = prepared();
    // The estimate is far above the limit: refused before training, with the figures.
    let wide = ["run", "graph.npz", "--out", "run", "--threads", "1", "--set", "embed.dim=8000"];
    let output = limited(&folder, "-v 400000", &wide);
    assert_refused(&output, &["of memory, and this process may use"]);
    // What cannot be foreseen ends with a sentence too; edges are held out in memory.
    let edges = ["generate", "rmat", "--nodes", "262144", "--edges", "2000000", "--out", "edges.npy"];
    assert!(l2g(&folder, &edges).status.success());
    let held_out = ["--hold-out", "0.3"];
    let graph = ["graph", "edges.npy", "--out", "run", "--threads", "1", "--quiet"];
    let output = limited(&folder, "-v 80000", &[&graph[..], &held_out].concat());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let told = text(&output);
    assert!(told.contains("out of memory") || told.contains("does not fit the limit"), "{told}");
}
