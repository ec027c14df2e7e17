//! `l2g graph` and `l2g run`, through the real binary.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;

use serde_json::Value;

use common::{Folder, result, text};

/// 200 000 edges, more than fit into the buffers of a pipe.
fn many_edges() -> String {
    (0..200_000_u64).map(|edge| format!("{} {}\n", edge / 4, edge * 7919 % 50_021)).collect()
}

#[test]
fn a_limit_of_memory_changes_no_byte() {
    let run = Folder::new();
    run.put("edges.txt", &many_edges());
    for (out, memory) in [("free", "1G"), ("within", "1M")] {
        run.json(&["graph", "edges.txt", "--out", out, "--memory", memory, "--json", "--quiet"]);
    }
    for file in ["indptr.npy", "indices.npy", "ids.npy", "graph.json"] {
        let read = |out: &str| fs::read(run.join(out).join("1-graph").join(file)).unwrap();
        assert!(read("free") == read("within"), "{file}");
    }
}

#[test]
fn several_files_a_folder_and_a_pattern_are_read_as_one() {
    let run = Folder::new();
    let edges = many_edges();
    run.put("edges.txt", &edges);
    fs::create_dir_all(run.join("parts/kind=late")).unwrap();
    let lines: Vec<&str> = edges.lines().collect();
    let names = ["parts/a.txt", "parts/b.txt", "parts/c.txt", "parts/kind=late/d.txt"];
    for (name, part) in names.iter().zip(lines.chunks(50_000)) {
        run.put(name, &part.join("\n"));
    }
    for marker in ["parts/_SUCCESS", "parts/.a.txt.crc", "parts/empty.txt"] {
        run.put(marker, "");
    }
    let graph = |names: &[&str], more: &[&str]| {
        run.json(&[&["graph"], names, &["--out", "run", "--json", "--quiet"], more].concat());
        let files = ["indptr.npy", "indices.npy", "ids.npy", "graph.json"];
        files.map(|file| fs::read(run.join("run/1-graph").join(file)).unwrap())
    };
    let whole = graph(&["edges.txt"], &[]);
    for memory in [&[][..], &["--memory", "1M"]] {
        assert!(graph(&names, memory) == whole, "several {memory:?}");
        assert!(graph(&["parts/"], memory) == whole, "folder {memory:?}");
        assert!(graph(&["parts/?.txt", "parts/kind=*"], memory) == whole, "pattern {memory:?}");
    }
    run.json(&["graph", "parts", "--json"]);
    assert!(run.join("runs/parts/1-graph/graph.json").exists());
}

#[test]
fn what_a_killed_run_has_left_behind_is_removed() {
    let run = Folder::new();
    run.put("edges.txt", "0 1\n1 2\n");
    for command in ["graph", "run"] {
        let left = run.join("out/.work-graph-abc");
        fs::create_dir_all(&left).unwrap();
        fs::write(left.join("indices.npy"), "half").unwrap();
        // The run fails later on, so small a graph it is.
        run.l2g(&[command, "edges.txt", "--out", "out", "--quiet"]);
        assert!(!left.exists(), "{command}");
    }
}

#[test]
fn files_that_do_not_agree_are_named() {
    let run = Folder::new();
    run.put("a.txt", "0 1\n1 2\n");
    run.put("weighted.txt", "0 1 0.5\n1 2 2\n");
    run.put("named.txt", "ann bob\n");
    run.put("bad.txt", "0 1\n0 1 2 3 4\n");
    let refused = |names: &[&str]| text(&run.l2g(&[&["graph"], names].concat()));
    let weights = "weighted.txt: edges have weights, but those of `a.txt` have none";
    assert!(refused(&["a.txt", "weighted.txt"]).contains(weights));
    assert!(run.l2g(&["graph", "a.txt", "weighted.txt", "--no-weights"]).status.success());
    let ids = "named.txt: node ids are text, but those of `a.txt` are integers";
    assert!(refused(&["a.txt", "named.txt"]).contains(ids), "{}", refused(&["a.txt", "named.txt"]));
    assert!(run.l2g(&["graph", "named.txt", "a.txt"]).status.success(), "all are text, as in one file");
    assert!(refused(&["a.txt", "bad.txt"]).contains("bad.txt:2: expected 2"));
    assert!(refused(&["a.txt", "missing.txt"]).contains("missing.txt: "));
    assert!(refused(&["x-*.txt"]).contains("x-*.txt: no file matches this pattern"));
    fs::create_dir(run.join("cora")).unwrap();
    assert!(refused(&["cora/"]).contains("this folder holds no files that are read"));
    assert_eq!(run.json(&["graph", "cora", "--json", "--quiet"])["nodes"], 2485);
}

#[test]
fn run_without_a_graph_reads_cora() {
    let run = Folder::new();
    let output = run.l2g(&["run", "--set", "embed.dim=8", "--set", "embed.epochs=3"]);
    assert!(output.status.success(), "{}", text(&output));
    let printed = result(&output);
    assert!(printed.contains("2 485"), "{printed}");
    assert!(run.join("runs/cora/run.toml").exists());
    assert!(run.join("runs/cora/1-graph/graph.json").exists());
    assert!(run.join("runs/cora/5-alignment/embedding.npy").exists());
}

#[test]
fn json_has_the_counts_and_nothing_else_is_printed() {
    let run = Folder::new();
    let counts = run.json(&["graph", "cora", "--json", "--quiet"]);
    assert_eq!(counts["nodes"], 2485);
    assert_eq!(counts["edges"], 5069);
    assert_eq!(counts["directed_edges"], 10138);
    assert_eq!(counts["features"], 1433);
    assert_eq!(counts["classes"], 7);
    assert_eq!(counts["components"], 78);
    assert_eq!(counts["dropped"]["nodes"], 223);
}

#[test]
fn one_and_two_threads_write_the_same_bytes() {
    let run = Folder::new();
    let text: String = (0..20_000_u64).map(|i| format!("{} {}\n", i % 997, i * i % 991)).collect();
    run.put("edges.txt", &text);
    for threads in ["1", "2"] {
        run.json(&["graph", "edges.txt", "--json", "--threads", threads, "--out", threads]);
    }
    for file in ["indptr.npy", "indices.npy", "ids.npy", "graph.json"] {
        let bytes = |threads: &str| fs::read(run.join(threads).join("1-graph").join(file)).unwrap();
        assert_eq!(bytes("1"), bytes("2"), "{file}");
    }
}

#[test]
fn a_pipe_loses_no_edges() {
    let run = Folder::new();
    let edges = many_edges();
    run.put("edges.txt", &edges);
    run.put("edges.csv", &edges.replace(' ', ","));
    let expected = run.json(&["graph", "edges.txt", "--json"]);
    let through_a_pipe = |command: &str| {
        let l2g = assert_cmd::cargo::cargo_bin!("l2g").display().to_string();
        let script = command.replace("l2g", &l2g);
        let output = std::process::Command::new("bash")
            .args(["-c", &script])
            .current_dir(run.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}: {}", text(&output));
        let counts: Value = serde_json::from_slice(&output.stdout).unwrap();
        for key in ["nodes", "edges", "components", "dropped"] {
            assert_eq!(counts[key], expected[key], "{command}: {key}");
        }
    };
    through_a_pipe("cat edges.txt | l2g graph /dev/stdin --json --out a");
    through_a_pipe("cat edges.txt | l2g graph - --json --out b");
    through_a_pipe("gzip -c edges.txt | l2g graph - --json --out c");
    through_a_pipe("l2g graph - --json --out d < edges.txt");
    through_a_pipe("cat edges.csv | l2g graph - --format csv --json --out e");
    through_a_pipe("l2g graph <(cat edges.csv) --json --out f");
    let bytes = |out: &str| fs::read(run.join(out).join("1-graph/indices.npy")).unwrap();
    assert!(["b", "c", "d", "e", "f"].iter().all(|out| bytes(out) == bytes("a")));
}

#[test]
fn a_named_pipe_is_read_once_and_to_its_end() {
    let run = Folder::new();
    let made = std::process::Command::new("mkfifo").arg(run.join("edges")).status().unwrap();
    assert!(made.success());
    let text = many_edges();
    let num_nodes = text.split_whitespace().collect::<std::collections::BTreeSet<_>>().len();
    let pipe = run.join("edges");
    let writer = std::thread::spawn(move || fs::write(pipe, text).unwrap());
    let counts = run.json(&["graph", "edges", "--component", "all", "--json", "--out", "out"]);
    writer.join().unwrap();
    assert_eq!(counts["nodes"], num_nodes);
}

#[test]
fn arrays_and_archives_come_through_pipes_too() {
    let run = Folder::new();
    let output = run.l2g(&["generate", "ring-of-cliques", "--cliques", "25", "--out", "ring.npz", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output));
    let bytes = fs::read(run.join("ring.npz")).unwrap();
    let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("l2g"));
    command.current_dir(run.path()).args(["graph", "-", "--json"]).write_stdin(bytes);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let counts: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(counts["nodes"], 500);
    assert!(run.join("runs/stdin/1-graph/graph.json").exists());
}

#[test]
fn a_run_from_standard_input_is_read_again_and_keeps_what_is_the_same() {
    let run = Folder::new();
    let ring = |nodes: usize| -> String {
        (0..nodes).map(|node| format!("{node} {}\n", (node + 1) % nodes)).collect()
    };
    let piped = |text: String| {
        let mut command = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("l2g"));
        let settings = ["--set", "embed.method=spectral", "--set", "embed.dim=4"];
        command.current_dir(run.path()).args(["run", "-", "--out", "out", "--json"]).args(settings);
        command.write_stdin(text).output().unwrap()
    };
    let outcomes = |edges: String| {
        let output = piped(edges);
        assert!(output.status.success(), "{}", text(&output));
        let record: Value = serde_json::from_slice(&output.stdout).unwrap();
        let reasons = record["stages"].as_array().unwrap().iter().map(|stage| stage["reason"].clone());
        reasons.collect::<Vec<Value>>()
    };
    assert!(outcomes(ring(400)).iter().all(|reason| reason == "not done yet"));
    let again = outcomes(ring(400));
    assert_eq!(again[0], "standard input is read anew");
    assert!(again[1..].iter().all(Value::is_null), "{again:?}");
    let other = outcomes(ring(500));
    assert_eq!(other[1], "graph has changed");
    let settings = fs::read_to_string(run.join("out/run.toml")).unwrap();
    assert!(settings.contains("input = \"-\""), "{settings}");
    let forgotten = piped(String::new());
    assert_eq!(forgotten.status.code(), Some(1));
    let message = result(&forgotten);
    assert!(message.contains("standard input: nothing came through"), "{message}");
    assert!(text(&forgotten).contains("must be piped in again"), "{}", text(&forgotten));
}

#[test]
fn weights_are_told_and_columns_are_options() {
    let run = Folder::new();
    run.put("years.csv", "who;whom;year\n1;2;1999\n2;3;2001\n3;1;2000\n");
    let table = |arguments: &[&str]| {
        let output =
            run.l2g(&[&["graph", "years.csv", "--delimiter", ";", "--out", "out"], arguments].concat());
        assert!(output.status.success(), "{}", text(&output));
        text(&output) + &String::from_utf8(output.stdout).unwrap()
    };
    let told = table(&[]);
    assert!(told.contains("1999 to 2001, mean 2000.000, from column `year`"), "{told}");
    assert!(!table(&["--no-weights"]).contains("weights"));
    assert!(!table(&["--columns", "who,whom"]).contains("weights"));
    assert!(table(&["--columns", "1,2,3"]).contains("from column `year`"));
    let settings = fs::read_to_string(run.join("out/run.toml")).unwrap_or_default();
    assert!(settings.is_empty() || settings.contains("columns = \"1,2,3\""), "{settings}");
    let output = run.l2g(&["graph", "years.csv", "--columns", "who"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
}

#[test]
fn a_folder_does_not_hide_a_built_in_graph() {
    let run = Folder::new();
    fs::create_dir(run.join("cora")).unwrap();
    assert_eq!(run.json(&["graph", "cora", "--json"])["nodes"], 2485);
}

#[test]
fn bad_input_fails_with_one_sentence_and_leaves_nothing() {
    let run = Folder::new();
    run.put("edges.txt", "1 2\n3 -4\n");
    let output = run.l2g(&["graph", "edges.txt", "--out", "out"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output),
        "error: could not read the graph `edges.txt`\n  caused by: edges.txt:2: node id -4 is negative\n"
    );
    assert!(!run.join("out").exists());
}

#[test]
fn errors_come_with_a_hint() {
    let run = Folder::new();
    let message = |arguments: &[&str]| {
        let output = run.l2g(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        text(&output)
    };
    insta::assert_snapshot!(message(&["graph", "nowhere.txt"]));
    insta::assert_snapshot!(message(&["graph", "amazon-photo"]));
    run.put("names.txt", &("1 2\n".repeat(1000) + "ann bob\n"));
    insta::assert_snapshot!(message(&["graph", "names.txt"]));
    fs::write(run.join("wrong.txt"), b"PAR1 and more").unwrap();
    insta::assert_snapshot!(message(&["graph", "wrong.txt"]));
    insta::assert_snapshot!(message(&["graph", "."]));
}

#[test]
fn options_about_a_file_are_refused_for_the_built_in_graph() {
    let run = Folder::new();
    let options: [(&[&str], &str); 4] = [
        (&["--columns", "1,2"], "columns"),
        (&["--delimiter", "tab"], "a delimiter"),
        (&["--no-weights"], "weights"),
        (&["--format", "csv"], "a format"),
    ];
    for (option, what) in options {
        for command in ["graph", "run"] {
            let output = run.l2g(&[&[command, "cora"], option].concat());
            assert_eq!(output.status.code(), Some(1), "{command} {option:?}");
            let told = text(&output);
            let expected = format!("built-in cora: {what} cannot be chosen in a graph that is built in");
            assert!(told.contains(&expected), "{told}");
            assert!(told.contains("hint: leave the option or setting out, or name a file"), "{told}");
            assert!(!run.path().join("runs").exists(), "{command} {option:?}");
        }
    }
}

#[test]
fn errors_are_json_too_when_asked_for() {
    let run = Folder::new();
    let output = run.l2g(&["graph", "nowhere.txt", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["error"], "could not read the graph `nowhere.txt`: nowhere.txt: file is not there");
}

#[test]
fn wrong_usage_exits_with_2() {
    let run = Folder::new();
    assert_eq!(run.l2g(&["grpah"]).status.code(), Some(2));
    assert_eq!(run.l2g(&["graph"]).status.code(), Some(2));
    assert_eq!(run.l2g(&["graph", "cora", "--threads", "0"]).status.code(), Some(2));
    let output = run.l2g(&["graph", "cora", "--set", "graph.componnent=all"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output),
        "error: there is no setting `graph.componnent`; did you mean `graph.component`?\n"
    );
}

#[test]
fn settings_come_from_a_file_and_repeat_the_run_to_the_byte() {
    let run = Folder::new();
    run.put("mine.toml", "seed = 9\n[embed]\ndim = 4\nepochs = 2\n[graph]\nduplicates = \"one\"\n");
    run.json(&["run", "--config", "mine.toml", "--json", "--threads", "1"]);
    run.json(&["run", "--config", "runs/cora/run.toml", "--json", "--threads", "2", "--out", "again"]);
    let bytes = |folder: &str, file: &str| fs::read(run.join(folder).join(file)).unwrap();
    assert!(String::from_utf8(bytes("again", "run.toml")).unwrap().contains("seed = 9"));
    for file in ["run.toml", "3-patches/patches.json", "5-alignment/embedding.npy"] {
        assert_eq!(bytes("again", file), bytes("runs/cora", file), "{file}");
    }
}

#[test]
fn flags_are_part_of_the_settings_that_are_written() {
    let run = Folder::new();
    run.put("ring.txt", &(0..400).map(|node| format!("{node} {}\n", (node + 1) % 400)).collect::<String>());
    let spectral = ["--set", "embed.method=spectral", "--set", "embed.dim=4", "--json"];
    run.json(&[&["run", "ring.txt", "--component", "all"], &spectral[..]].concat());
    let settings = fs::read_to_string(run.join("runs/ring/run.toml")).unwrap();
    assert!(settings.contains("component = \"all\""), "{settings}");
}

#[test]
fn help_teaches() {
    let run = Folder::new();
    let help = |arguments: &[&str]| result(&run.l2g(arguments));
    insta::assert_snapshot!(help(&["--help"]));
    insta::assert_snapshot!(help(&["graph", "--help"]));
}
