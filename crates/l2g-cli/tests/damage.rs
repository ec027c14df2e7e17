//! Run folders that are damaged at random: the same `l2g run` heals them to the same bytes.
//!
//! A damage is one of: a file cut short, a byte flipped, two files of a folder swapped, a file deleted,
//! or stages that are done again and killed (SIGKILL) at a random line of their log. Every file of the run
//! folder can be hit: arrays, records, stamps, `run.toml` and `.lock`; what the user owns, the graph,
//! lies outside. Each case is one damage or two, with one exception: coordinates without their record
//! belong to another program unless the stamp knows them, and are not touched then. So the record of a
//! patch is deleted alone, and never together with a second damage that takes the stamp away. Afterwards
//! the folder must hold the same files as one that nobody disturbed: arrays byte by byte, records and
//! stamps but for the seconds and the memory they tell.
//!
//! Cases are drawn from a seed; a failure names its case. There are 32 of them, or as many as
//! `L2G_DAMAGES` says:
//!
//! ```text
//! L2G_DAMAGES=2000 cargo test -p l2g-cli --release --test damage
//! ```

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use common::{command, l2g, text};

/// The ways of embedding, as settings. The program takes the features for coordinates.
const METHODS: [(&str, &[&str]); 4] = [
    ("hops", &["--method", "hops"]),
    ("walks", &["--method", "walks"]),
    ("vgae", &["--method", "vgae", "--set", "embed.runs=2"]),
    ("command", &["--method", "command", "--set", "embed.command=[\"cp\", \"{features}\", \"{out}\"]"]),
];

const STAGES: [&str; 6] =
    ["1-graph", "2-partition", "3-patches", "4-embeddings", "5-alignment", "6-evaluation"];

/// The kinds of damage, in order.
const KINDS: [&str; 5] = ["cut", "deleted", "flipped", "killed", "swapped"];

/// One kind of embedding, its undisturbed run, and one that is damaged again and again.
struct Patient<'a> {
    folder: &'a Path,
    name: &'a str,
    settings: &'a [&'a str],
    good: BTreeMap<PathBuf, Content>,
    random: ChaCha8Rng,
    /// How often each kind of damage was done.
    tally: BTreeMap<&'static str, usize>,
}

/// What is compared of a file.
#[derive(Debug, PartialEq)]
enum Content {
    Bytes(Vec<u8>),
    Record(Value),
}

#[test]
fn damaged_folders_are_healed_to_the_same_bytes() {
    let cases = std::env::var("L2G_DAMAGES").map_or(32, |count| count.parse::<usize>().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let graph = ["generate", "block-model", "--nodes", "150", "--communities", "3", "--mean-degree", "8"];
    let more = ["--features", "6", "--words", "3", "--out", "graph.npz", "--quiet", "--seed", "5"];
    let output = l2g(folder, &[&graph[..], &more].concat());
    assert!(output.status.success(), "{}", text(&output));
    let mut total: BTreeMap<&str, usize> = BTreeMap::new();
    thread::scope(|scope| {
        let patients = METHODS.into_iter().enumerate().map(|(seed, (name, settings))| {
            scope.spawn(move || {
                let mut patient = Patient::new(folder, name, settings, seed as u64);
                (0..cases.div_ceil(METHODS.len())).for_each(|case| patient.suffer(case));
                patient.tally
            })
        });
        for patient in patients.collect::<Vec<_>>() {
            let tally = patient.join().unwrap_or_else(|panic| resume_unwind(panic));
            tally.into_iter().for_each(|(kind, count)| *total.entry(kind).or_default() += count);
        }
    });
    eprintln!("healed after {cases} cases of damage: {total:?}");
    assert!(cases < 32 || total.keys().eq(KINDS.iter()), "kinds are missing: {total:?}");
}

impl<'a> Patient<'a> {
    fn new(folder: &'a Path, name: &'a str, settings: &'a [&'a str], seed: u64) -> Self {
        let random = ChaCha8Rng::seed_from_u64(seed);
        let (good, tally) = (BTreeMap::new(), BTreeMap::new());
        let mut patient = Self { folder, name, settings, good, random, tally };
        patient.run("undisturbed");
        patient.good = contents(&folder.join(format!("{name}-undisturbed")));
        patient.run("damaged");
        patient.compare("before any damage");
        patient
    }

    fn arguments(&self, out: &str) -> Vec<String> {
        let fast = ["--dim", "6", "--patches", "3", "--threads", "1", "--seed", "3", "--set"];
        let more = ["patch.min_overlap=16", "--set", "evaluate.repeats=2"];
        // Methods without training have no epochs.
        let epochs: &[&str] = if self.name == "walks" { &[] } else { &["--epochs", "5"] };
        let out = format!("{}-{out}", self.name);
        let all = [&["run", "graph.npz", "--out", &out], &fast[..], &more, epochs, self.settings].concat();
        all.into_iter().map(str::to_owned).collect()
    }

    fn run(&self, out: &str) {
        let arguments = self.arguments(out);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["--quiet"]).collect();
        let output = l2g(self.folder, &arguments);
        assert!(output.status.success(), "{} refused: {}", self.name, text(&output));
    }

    fn damaged(&self) -> PathBuf {
        self.folder.join(format!("{}-damaged", self.name))
    }

    /// One case: one or two damages, and the cure.
    fn suffer(&mut self, case: usize) {
        let count = self.random.random_range(1..=2);
        let damages: Vec<String> = (0..count).map(|_| self.damage(count)).collect();
        let what = format!("case {case}: {}", damages.join("; "));
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            self.run("damaged");
            self.compare(&what);
        }));
        assert!(failed.is_ok(), "{}, {what}", self.name);
    }

    fn compare(&self, what: &str) {
        let found = contents(&self.damaged());
        let names = |files: &BTreeMap<PathBuf, Content>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&self.good), "{}, {what}", self.name);
        for (path, content) in &found {
            let good = &self.good[path];
            match (content, good) {
                (Content::Record(found), Content::Record(good)) => {
                    assert_eq!(found, good, "{}, {what}: {}", self.name, path.display());
                }
                _ => assert!(content == good, "{}, {what}: {} differs", self.name, path.display()),
            }
        }
    }

    fn note(&mut self, kind: &'static str) {
        *self.tally.entry(kind).or_default() += 1;
    }

    /// Does one damage of `count` at random, and tells which.
    fn damage(&mut self, count: usize) -> String {
        let kind = self.random.random_range(0..5);
        if kind == 4 {
            return self.kill();
        }
        let files = files_in(&self.damaged());
        let path = files[self.random.random_range(0..files.len())].clone();
        let shown = path.strip_prefix(self.damaged()).unwrap().display().to_string();
        let mut bytes = fs::read(&path).unwrap();
        match kind {
            0 => {
                bytes.truncate(self.random.random_range(0..=bytes.len().saturating_sub(1)));
                fs::write(&path, &bytes).unwrap();
                self.note("cut");
                format!("{shown} cut to {} bytes", bytes.len())
            }
            1 if !bytes.is_empty() => {
                let place = self.random.random_range(0..bytes.len());
                bytes[place] ^= self.random.random_range(1..=255_u8);
                fs::write(&path, &bytes).unwrap();
                self.note("flipped");
                format!("{shown} flipped at byte {place}")
            }
            2 => {
                let beside: Vec<&PathBuf> =
                    files.iter().filter(|other| other.parent() == path.parent() && **other != path).collect();
                if beside.is_empty() {
                    return format!("{shown} is alone");
                }
                let other = beside[self.random.random_range(0..beside.len())];
                fs::write(&path, fs::read(other).unwrap()).unwrap();
                fs::write(other, &bytes).unwrap();
                self.note("swapped");
                format!("{shown} swapped with {}", other.file_name().unwrap().display())
            }
            _ if count > 1 && shown.starts_with("4-embeddings/patch-") && shown.ends_with(".json") => {
                format!("{shown} spared")
            }
            _ => {
                fs::remove_file(&path).unwrap();
                self.note("deleted");
                format!("{shown} deleted")
            }
        }
    }

    /// Has the stages from a random one on done again, and kills the run at a random line of its log.
    fn kill(&mut self) -> String {
        let first = self.random.random_range(0..STAGES.len());
        for folder in STAGES[first..].iter().map(|stage| self.damaged().join(stage)) {
            if folder.exists() {
                fs::remove_dir_all(folder).unwrap();
            }
        }
        let lines = self.random.random_range(1..=30);
        let arguments = self.arguments("damaged");
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["--log", "json"]).collect();
        let mut run = command(self.folder, &arguments);
        let mut child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let read = log.lines().take(lines).map_while(Result::ok).count();
        child.kill().unwrap();
        child.wait().unwrap();
        self.note("killed");
        format!("killed after line {read} of its log, {} and later removed", STAGES[first])
    }
}

/// All files of a folder, in order.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(files_in(&path)),
            false => found.push(path),
        }
    }
    found.sort_unstable();
    found
}

/// What is compared of all files of a run folder. The lock tells who holds it.
fn contents(run: &Path) -> BTreeMap<PathBuf, Content> {
    let files = files_in(run).into_iter().filter(|path| !path.ends_with(".lock"));
    files.map(|path| (path.strip_prefix(run).unwrap().to_owned(), content(&path))).collect()
}

fn content(path: &Path) -> Content {
    let bytes = fs::read(path).unwrap();
    if path.extension().is_none_or(|extension| extension != "json") {
        return Content::Bytes(bytes);
    }
    let mut record: Value = serde_json::from_slice(&bytes).unwrap();
    without_measurements(&mut record);
    if path.ends_with("stage.json") {
        // Records that tell seconds have digests that differ from run to run.
        for file in record["files"].as_array_mut().unwrap() {
            let is_array = [".npy", ".npz"].iter().any(|end| file["name"].as_str().unwrap().ends_with(end));
            if !is_array {
                *file = file["name"].take();
            }
        }
    }
    Content::Record(record)
}

fn without_measurements(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            // The seal of a record covers its measurements too.
            let is_measured = |key: &str| key.starts_with("seconds") || key == "peak_bytes";
            entries.retain(|key, _| !is_measured(key) && key != "seal");
            entries.values_mut().for_each(without_measurements);
        }
        Value::Array(values) => values.iter_mut().for_each(without_measurements),
        _ => {}
    }
}
