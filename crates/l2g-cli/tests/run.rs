//! `l2g run`, through the real binary: resumed, interrupted, disturbed, repeated.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use common::{
    FAST, Folder, assert_refused, assert_same, command, json, kill_again_and_again, l2g, prepared, result,
    run, stages, text, wait_until,
};

#[test]
fn a_rerun_does_only_what_has_changed() {
    let folder = &prepared();
    let first = stages(folder, &run("run", &[]));
    assert!(first.values().all(|reason| reason == "not done yet"), "{first:?}");
    let again = stages(folder, &run("run", &[]));
    assert!(again.values().all(|reason| reason == "kept"), "{again:?}");

    let aligned = stages(folder, &run("run", &["--set", "align.weights=unit"]));
    assert_eq!(aligned["embed"], "kept");
    assert_eq!(aligned["align"], "align.weights is unit, was overlap");
    let retrained = stages(folder, &run("run", &["--set", "embed.dim=3"]));
    assert_eq!((&*retrained["graph"], &*retrained["patch"]), ("kept", "kept"));
    assert_eq!(retrained["embed"], "embed.dim is 3, was 4");

    // The same graph in a file that is written anew is the same graph.
    fs::copy(folder.join("graph.npz"), folder.join("copy.npz")).unwrap();
    fs::rename(folder.join("copy.npz"), folder.join("graph.npz")).unwrap();
    assert_eq!(stages(folder, &run("run", &["--set", "embed.dim=3"]))["graph"], "kept");
    // Another graph in the same place is not.
    fs::remove_file(folder.join("graph.npz")).unwrap();
    let other = ["generate", "block-model", "--nodes", "240", "--out", "graph.npz", "--quiet"];
    assert!(l2g(folder, &other).status.success());
    let changed = stages(folder, &run("run", &["--set", "embed.dim=3"]));
    assert!(changed["graph"].ends_with("graph.npz` has changed"), "{changed:?}");
    assert_eq!(changed["partition"], "graph has changed");
}

#[test]
fn a_run_repeats_from_its_settings_on_any_number_of_threads() {
    let folder = &prepared();
    stages(folder, &run("first", &["--threads", "1"]));
    stages(folder, &["run", "--config", "first/run.toml", "--out", "second", "--threads", "2"]);
    assert_same(&folder.join("first"), &folder.join("second"), "from run.toml");
}

#[test]
fn killed_at_any_moment_a_run_goes_on_to_the_same_bytes() {
    let folder = &prepared();
    kill_again_and_again(folder, &[], 12, 11);
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_cleanly_and_keeps_what_is_done() {
    let folder = &prepared();
    let long = ["--set", "embed.epochs=4000", "--threads", "1"];
    let mut child = command(folder, &run("run", &long)).stderr(Stdio::piped()).spawn().unwrap();
    // Patches are written one by one; after the first, the person has had enough.
    let is_patch = |file: &fs::DirEntry| file.file_name().to_string_lossy().ends_with(".npy");
    let first_done = || {
        let files = fs::read_dir(folder.join("run/4-embeddings"));
        files.is_ok_and(|files| files.flatten().any(|file| is_patch(&file)))
    };
    wait_until("the first patch is there", || first_done() || child.try_wait().unwrap().is_some());
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
    assert!(text(&output).contains("stopping at the next good place"), "{}", text(&output));
    let again = l2g(folder, &[&["embed", "run", "--json", "--quiet"][..], &FAST, &long].concat());
    let record: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert!(!record["kept"].as_array().unwrap().is_empty(), "{record}");
}

/// A folder with two finished runs of the same settings, `good` and `bad`.
fn good_and_bad() -> Folder {
    let folder = prepared();
    stages(&folder, &run("good", &[]));
    stages(&folder, &run("bad", &[]));
    folder
}

#[test]
fn damaged_and_missing_files_are_made_again() {
    let folder = &good_and_bad();
    let bad = folder.join("bad");
    type Damage = fn(&Path);
    let damages: [(&str, &str, Damage); 5] = [
        ("1-graph/indices.npy", "graph", |path| fs::write(path, b"").unwrap()),
        ("2-partition/clusters.npy", "partition", |path| fs::remove_file(path).unwrap()),
        ("3-patches/patch-00001.weights.npy", "patch", |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("4-embeddings/patch-00002.npy", "embed", |path| {
            let mut bytes = fs::read(path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(path, bytes).unwrap();
        }),
        ("5-alignment/embedding.npy", "align", |path| fs::remove_file(path).unwrap()),
    ];
    for (file, stage, damage) in damages {
        damage(&bad.join(file));
        let found = stages(folder, &run("bad", &[]));
        let name = Path::new(file).file_name().unwrap().to_string_lossy();
        let kept_patches = if stage == "embed" { "; 3 of 4 patches were there" } else { "" };
        assert_eq!(found[stage], format!("`{name}` is damaged or missing{kept_patches}"));
        // What follows is kept: the stage leaves the same arrays again.
        assert_eq!(found.values().filter(|reason| *reason != "kept").count(), 1, "{found:?}");
        assert_same(&folder.join("good"), &bad, file);
    }
}

#[test]
fn a_patch_without_its_record_is_made_again_and_foreign_files_stay() {
    let folder = &good_and_bad();
    let embeddings = folder.join("bad/4-embeddings");
    fs::remove_file(embeddings.join("patch-00001.json")).unwrap();
    let found = stages(folder, &run("bad", &[]));
    assert!(found["embed"].ends_with("3 of 4 patches were there"), "{found:?}");
    assert_same(&folder.join("good"), &folder.join("bad"), "patch-00001.json");
    // Coordinates of another program, for a patch that does not exist, are not ours to delete.
    fs::write(embeddings.join("patch-00009.npy"), b"somebody else's").unwrap();
    fs::remove_file(embeddings.join("patch-00002.npy")).unwrap();
    stages(folder, &run("bad", &[]));
    assert_eq!(fs::read(embeddings.join("patch-00009.npy")).unwrap(), b"somebody else's");
}

#[test]
fn options_are_settings_and_settings_that_are_no_options_are_told() {
    let folder = &prepared();
    let options = ["--dim", "3", "--method", "gae", "--epochs", "4", "--patches", "3"];
    stages(folder, &run("options", &options));
    let settings = fs::read_to_string(folder.join("options/run.toml")).unwrap();
    for line in ["dim = 3", "method = \"gae\"", "epochs = 4", "clusters = 3"] {
        assert!(settings.contains(line), "{line} is not in\n{settings}");
    }
    let told = |arguments: &[&str]| {
        let output = l2g(folder, arguments);
        assert_eq!(output.status.code(), Some(2));
        text(&output)
    };
    let unknown = told(&["run", "graph.npz", "--learning-rate", "0.1"]);
    assert!(unknown.contains("--set embed.learning_rate=VALUE"), "{unknown}");
    let wrong = told(&["run", "graph.npz", "--method", "vgea"]);
    assert!(wrong.contains("did you mean `vgae`?"), "{wrong}");
    assert!(told(&["run", "--set", "dim=64"]).contains("did you mean `embed.dim`?"));
}

#[test]
fn two_runs_stay_out_of_one_folder() {
    let folder = &prepared();
    let long = ["--set", "embed.epochs=100000", "--quiet"];
    let mut child = command(folder, &run("run", &long)).spawn().unwrap();
    let lock = folder.join("run/.lock");
    wait_until("the run has its lock", || fs::read_to_string(&lock).is_ok_and(|holder| !holder.is_empty()));
    let output = l2g(folder, &run("run", &[]));
    child.kill().unwrap();
    child.wait().unwrap();
    let in_use = format!("error: run folder `run` is in use by process {}", child.id());
    assert_refused(&output, &[&in_use, "hint: wait for the other run"]);
}

/// The bytes of all files in a folder.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { bytes_in(&path) } else { path.metadata().unwrap().len() }).sum()
}

#[test]
fn a_dry_run_tells_what_would_be_done_and_writes_nothing() {
    let folder = &prepared();
    let plan = json(folder, &run("run", &["--dry-run", "--json", "--quiet"]));
    assert!(!folder.join("run").exists());
    assert_eq!(plan["stages"][0]["reason"], "not done yet");
    assert_eq!(plan["stages"][1]["reason"], "graph is done anew");
    assert_eq!(plan["partitioner"], "metis");
    assert!(plan["estimate"]["memory_bytes"].as_u64().unwrap() > 0);
    stages(folder, &run("run", &[]));
    let (told, written) =
        (plan["estimate"]["written_bytes"].as_u64().unwrap(), bytes_in(&folder.join("run")));
    assert!(told < 3 * written && written < 3 * told, "{told} told, {written} written");
    let output = l2g(folder, &run("run", &["--dry-run", "--set", "align.weights=unit"]));
    let told = result(&output);
    let line = |stage: &str| told.lines().find(|line| line.starts_with(stage)).unwrap_or_default().to_owned();
    assert!(line("embed ").ends_with("  -  would be kept"), "{told}");
    assert!(told.contains("clusters   by metis"), "{told}");
    assert!(line("align ").ends_with(" s  would be done (align.weights is unit, was overlap)"), "{told}");
    assert!(line("evaluate ").ends_with(" s  would be done (align is done anew)"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_disk_that_takes_no_more_is_told_and_nothing_is_lost() {
    let folder = &prepared();
    stages(folder, &run("good", &[]));
    // Files may grow to so many blocks of 512 bytes; the graph fits, larger arrays do not.
    let arguments = run("full", &[]).join(" ");
    let binary = assert_cmd::cargo::cargo_bin!("l2g");
    let limited = format!("trap '' XFSZ; ulimit -f 8; exec {} {arguments}", binary.display());
    let output = Command::new("sh").current_dir(folder.path()).args(["-c", &limited]).output().unwrap();
    assert_refused(&output, &["could not write"]);
    stages(folder, &run("full", &[]));
    assert_same(&folder.join("good"), &folder.join("full"), "after a full disk");
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = &prepared();
    fs::write(folder.join("file"), b"").unwrap();
    let output = l2g(folder, &run("file/run", &[]));
    assert_refused(&output, &["error: could not create `file/run`"]);

    let closed = folder.join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(closed.join("probe"), b"").is_ok() {
        eprintln!("skipped in part: this user may write into read-only folders");
        return;
    }
    let output = l2g(folder, &run("closed/run", &[]));
    assert_refused(&output, &["could not create `closed/run`"]);
}

#[test]
fn stages_done_one_by_one_are_kept_by_a_run() {
    let folder = &prepared();
    stages(folder, &run("whole", &[]));
    // The settings of a run are those of its later stages too.
    fs::create_dir(folder.join("single")).unwrap();
    fs::copy(folder.join("whole/run.toml"), folder.join("single/run.toml")).unwrap();
    let graph = ["graph", "graph.npz", "--config", "whole/run.toml", "--out", "single", "--quiet"];
    assert!(l2g(folder, &graph).status.success());
    for stage in ["partition", "patch", "embed", "align", "evaluate"] {
        let output = l2g(folder, &[stage, "single", "--quiet"]);
        assert!(output.status.success(), "{stage}: {}", text(&output));
    }
    assert_same(&folder.join("whole"), &folder.join("single"), "stage by stage");
    let kept = stages(folder, &["run", "--config", "single/run.toml", "--out", "single"]);
    assert!(kept.values().all(|reason| reason == "kept"), "{kept:?}");
}

#[test]
fn the_whole_graph_is_trained_too_when_asked_for_and_the_result_exported() {
    let folder = &prepared();
    let arguments = run("run", &["--full", "--export", "csv", "--export", "parquet", "--json", "--quiet"]);
    let record = json(folder, &arguments);
    for scenario in ["full", "l2g", "no_trans"] {
        assert!(record["auc"][scenario].as_f64().unwrap() > 0.4, "{record}");
    }
    for file in ["embedding.csv", "embedding.parquet"] {
        assert!(folder.join("run/export").join(file).exists());
    }
}

#[test]
fn results_are_on_standard_output_and_all_else_on_standard_error() {
    let folder = &prepared();
    let told = l2g(folder, &run("run", &[]));
    assert!(result(&told).starts_with("nodes "), "{}", result(&told));
    assert!(text(&told).starts_with("graph      done in "), "{}", text(&told));
    let partition =
        text(&told).lines().find(|line| line.starts_with("partition  done in ")).map(str::to_owned);
    assert!(partition.is_some_and(|line| line.ends_with(" s by metis")), "{}", text(&told));
    assert!(!text(&told).contains("reconstruction"), "{}", text(&told));
    // Quiet keeps results: the table of a stage too.
    let quiet = l2g(folder, &run("run", &["-q"]));
    assert_eq!(text(&quiet), "");
    let without_times = |output| {
        let table = result(output);
        let lines = table.lines().filter(|line| !line.starts_with("seconds") && !line.starts_with("peak"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(without_times(&quiet), without_times(&told));
    let aligned = l2g(folder, &["align", "run", "--quiet"]);
    assert!(result(&aligned).contains("verdict") && text(&aligned).is_empty(), "{}", result(&aligned));
    let record = l2g(folder, &run("run", &["--json"]));
    assert!(serde_json::from_slice::<Value>(&record.stdout).is_ok(), "{}", result(&record));
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    use std::io::Read;
    let folder = prepared();
    for arguments in [&["graph", "graph.npz"][..], &["graph", "graph.npz", "--json"]] {
        let mut child = command(folder.path(), arguments);
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut told = String::new();
        child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        assert!(child.wait().unwrap().success(), "{told}");
        assert_eq!(told, "");
    }
}

#[test]
fn the_log_is_json_where_asked_for() {
    let folder = prepared();
    let output = l2g(&folder, &run("run", &["--log", "json"]));
    assert!(output.status.success());
    let lines = text(&output);
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let named = |event: &str| events.iter().filter(|line| line["event"] == event).count();
    assert!(named("begin") > 3 && named("begin") == named("end"), "{lines}");
    assert_eq!((named("stage"), named("result")), (6, 1));
    let failed = l2g(&folder, &["run", "nowhere.txt", "--log", "json"]);
    let line: Value = serde_json::from_str(text(&failed).lines().last().unwrap()).unwrap();
    assert_eq!(line["event"], "error");
    assert!(line["hint"].as_str().unwrap().starts_with("GRAPH is a file"), "{line}");
}
