//! Folders to run `l2g` in, and short runs of a small graph, through the real binary.

#![allow(dead_code, reason = "every test file uses its own part of this")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

/// A folder of its own for a test, gone in the end. It stands for its path.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs `l2g` inside the folder.
    pub(crate) fn l2g(&self, arguments: &[&str]) -> Output {
        l2g(self, arguments)
    }

    /// The record that `l2g` prints when it is run inside the folder.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        json(self, arguments)
    }

    /// Writes a file.
    pub(crate) fn put(&self, name: &str, text: &str) {
        fs::write(self.join(name), text).unwrap();
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.path()
    }
}

/// A folder with a small graph, `graph.npz`, of three communities with features and labels.
pub(crate) fn prepared() -> Folder {
    let folder = Folder::new();
    let arguments = ["generate", "block-model", "--nodes", "240", "--communities", "3", "--mean-degree", "8"];
    let more = ["--features", "12", "--words", "4", "--out", "graph.npz", "--quiet", "--seed", "5"];
    let output = l2g(folder.path(), &[&arguments[..], &more].concat());
    assert!(output.status.success(), "{}", text(&output));
    folder
}

/// A finished run of a ring of 200 nodes, each named after `name` of its number.
pub(crate) fn finished_ring(name: impl Fn(u32) -> String) -> Folder {
    let folder = Folder::new();
    let edges = (0..200).map(|node| format!("{}\t{}\n", name(node), name((node + 1) % 200)));
    folder.put("ring.tsv", &edges.collect::<String>());
    let labels = (0..200).map(|node| format!("{}\t{}\n", name(node), ["even", "odd"][node as usize % 2]));
    folder.put("labels.tsv", &labels.collect::<String>());
    let spectral =
        ["--set", "embed.method=spectral", "--set", "embed.dim=2", "--set", "partition.clusters=3"];
    let run = ["run", "ring.tsv", "--labels", "labels.tsv", "--out", "run", "--json", "--quiet"];
    folder.json(&[&run[..], &spectral].concat());
    folder
}

/// Settings that make a run short.
pub(crate) const FAST: [&str; 14] = [
    "--set",
    "embed.dim=4",
    "--set",
    "embed.epochs=15",
    "--set",
    "partition.clusters=4",
    "--set",
    "patch.min_overlap=16",
    "--set",
    "evaluate.repeats=2",
    "--set",
    "embed.runs=2",
    "--seed",
    "3",
];

pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("l2g"));
    command.current_dir(folder).env_remove("L2G_DATA").args(arguments);
    command
}

pub(crate) fn l2g(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

/// The record that a command prints, which must succeed.
pub(crate) fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = l2g(folder, arguments);
    assert!(output.status.success(), "{}", text(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Asserts that a command failed, through no fault of its usage, and that people were told so in
/// these words.
pub(crate) fn assert_refused(output: &Output, words: &[&str]) {
    let told = text(output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    for words in words {
        assert!(told.contains(words), "`{words}` is not in\n{told}");
    }
}

pub(crate) fn run<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "graph.npz", "--out", out][..], &FAST, more].concat()
}

/// What people are told on standard error.
pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The result, on standard output.
pub(crate) fn result(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Goes the whole way and returns what became of each stage: `kept`, or why it was done.
pub(crate) fn stages(folder: &Path, arguments: &[&str]) -> BTreeMap<String, String> {
    let record = json(folder, &[arguments, &["--json", "--quiet"]].concat());
    let stages = record["stages"].as_array().unwrap().iter().map(|stage| {
        let reason = stage["reason"].as_str().unwrap_or("kept");
        (stage["stage"].as_str().unwrap().to_owned(), reason.to_owned())
    });
    stages.collect()
}

/// A copy of a run that has settings, graph and patches, and nothing that comes after them.
pub(crate) fn copy_up_to_patches(run: &Path, copy: &Path) {
    let is_later = |name: &str| ["4-embeddings", "5-alignment", "6-evaluation"].contains(&name);
    fs::create_dir(copy).unwrap();
    for entry in fs::read_dir(run).unwrap().map(Result::unwrap) {
        let (path, target) = (entry.path(), copy.join(entry.file_name()));
        if path.is_dir() && !is_later(entry.file_name().to_str().unwrap()) {
            copy_up_to_patches(&path, &target);
        } else if path.is_file() {
            fs::copy(path, target).unwrap();
        }
    }
}

/// The bytes of everything that must not differ between runs: arrays and scores.
pub(crate) fn results(run: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(run).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            let inner = results(&path).into_iter();
            found.extend(inner.map(|(name, bytes)| (Path::new(&entry.file_name()).join(name), bytes)));
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".npy") || name.ends_with(".npz") || name == "scores.json" {
            found.insert(name.into(), fs::read(&path).unwrap());
        }
    }
    found
}

pub(crate) fn assert_same(a: &Path, b: &Path, what: &str) {
    let (a, b) = (results(a), results(b));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{what}");
    for (name, bytes) in &a {
        assert!(bytes == &b[name], "{what}: {} differs", name.display());
    }
}

/// Longer than anything here takes, also on a slow and busy machine.
const LIMIT: Duration = Duration::from_secs(600);

/// Waits for something that must come true.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < LIMIT, "waited too long until {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// A point of a run that comes sooner or later, whatever the machine.
#[derive(Clone, Copy)]
enum Moment {
    /// The log has told so many tasks that begin or end, and stages that are done.
    Milestone(usize),
    /// The patch with this number is on disk, and others are not.
    Patch(usize),
}

/// Kills runs with some settings three times each, goes on with each to its end, and compares with a
/// run that nobody disturbed.
///
/// The first time, moments are spread over the first half of a whole run, and over its training, so
/// that it has much left to do; later anywhere, where it may have come to its end already.
pub(crate) fn kill_again_and_again(folder: &Path, settings: &[&str], cases: usize, seed: u64) {
    let undisturbed = l2g(folder, &[&run("undisturbed", settings)[..], &["--log", "json"]].concat());
    assert!(undisturbed.status.success(), "{}", text(&undisturbed));
    let milestones = text(&undisturbed).lines().filter(|line| is_milestone(line)).count();
    assert!(milestones > 12, "only {milestones} milestones: {}", text(&undisturbed));
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut hit = 0;
    for case in 0..cases {
        let out = format!("killed-{case}");
        let first = match case % 2 {
            0 => Moment::Milestone(1 + case * milestones / (2 * cases)),
            _ => Moment::Patch(case / 2 % 3),
        };
        let [second, third] = [(); 2].map(|()| Moment::Milestone(random.random_range(1..=milestones)));
        for moment in [first, second, third] {
            hit +=
                usize::from(kill_at(moment, &folder.join(&out), &mut command(folder, &run(&out, settings))));
        }
        stages(folder, &run(&out, settings));
        assert_same(&folder.join("undisturbed"), &folder.join(&out), &format!("case {case}"));
    }
    assert!(hit >= cases, "only {hit} of {} runs were still going when they were killed", 3 * cases);
}

/// Whether a line of a log is one that every run of the same work has. How far a task is, is told
/// once a second.
fn is_milestone(line: &str) -> bool {
    let line: Value = serde_json::from_str(line).unwrap();
    ["begin", "end", "stage"].iter().any(|event| line["event"] == *event)
}

/// Starts a run and kills it at some moment. Says whether it was still going.
fn kill_at(moment: Moment, out: &Path, run: &mut Command) -> bool {
    let run = run.args(["--log", "json"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = run.spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    match moment {
        Moment::Milestone(count) => log.by_ref().filter(|line| is_milestone(line)).take(count).for_each(drop),
        Moment::Patch(number) => {
            let patch = out.join(format!("4-embeddings/patch-{number:05}.json"));
            wait_until("a patch is there", || patch.exists() || child.try_wait().unwrap().is_some());
        }
    }
    child.kill().unwrap();
    let status = child.wait().unwrap();
    let is_killed = !status.success();
    assert!(!is_killed || cfg!(windows) || status.code().is_none(), "failed by itself: {status}");
    is_killed
}
