//! What each stage is said to take, against what it really allocates and leaves on disk.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail by panicking")]
#![allow(unsafe_code, reason = "counting allocations means to be the allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use local2global::config::Config;
use local2global::generate::{BlockModel, ClassFeatures, Generator, Geometric, GraphKind, Outputs};
use local2global::pipeline::{GraphSource, Pipeline, Plan, StageName};
use local2global::progress::Silent;
use local2global::run_dir::RunDir;
use local2global::seed::Seed;

/// Counts the bytes in use, and the most there ever were. METIS has an allocator of its own.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let in_use = IN_USE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(in_use, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn settings(pairs: &[&str]) -> Config {
    Config::new("", &pairs.iter().map(|&pair| pair.to_owned()).collect::<Vec<_>>()).unwrap()
}

/// Plans and runs; for each stage the most bytes that were in use.
fn run(folder: &Path, config: &Config) -> (Plan, BTreeMap<&'static str, u64>) {
    let run = RunDir::new(folder);
    let mut pipeline = Pipeline::new(&run, config.clone(), GraphSource::Settings(&[]));
    let plan = pipeline.plan(&Silent).unwrap();
    let mut pipeline = Pipeline::new(&run, config.clone(), GraphSource::Settings(&[]));
    let before = IN_USE.load(Ordering::Relaxed);
    let mut peaks = BTreeMap::new();
    PEAK.store(before, Ordering::Relaxed);
    pipeline
        .run(&Silent, |report| {
            let peak = PEAK.load(Ordering::Relaxed) - before;
            peaks.insert(report.stage.name(), peak as u64);
            PEAK.store(IN_USE.load(Ordering::Relaxed), Ordering::Relaxed);
        })
        .unwrap();
    (plan, peaks)
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { bytes_in(&path) } else { path.metadata().unwrap().len() }).sum()
}

#[test]
fn stages_take_what_is_said_on_three_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let block_model = BlockModel { nodes: 20_000, communities: 40, ..Default::default() };
    let geometric = Geometric { nodes: 30_000, ..Default::default() };
    let features = Some(ClassFeatures::default());
    let words = BlockModel { nodes: 8000, communities: 20, features, ..Default::default() };
    let kinds = [
        (GraphKind::BlockModel(block_model), "blocks.npz"),
        (GraphKind::Geometric(geometric), "points.npz"),
        (GraphKind::BlockModel(words), "words.npz"),
    ];
    for (kind, name) in kinds {
        let outputs = Outputs { graph: at(name), ..Outputs::default() };
        kind.prepare(Seed(1)).unwrap().write(&outputs, &Silent).unwrap();
    }
    let input = |name: &str| format!("graph.input={}", at(name).display());
    let cases = [
        ("spectral", vec![input("blocks.npz"), "embed.method=spectral".into(), "embed.dim=32".into()]),
        ("walks", vec![input("points.npz"), "embed.dim=32".into()]),
        (
            "hops",
            vec![
                input("words.npz"),
                "embed.epochs=3".into(),
                "embed.dim=64".into(),
                "graph.hold_out=0.1".into(),
            ],
        ),
    ];
    let mut wrong = Vec::new();
    for (name, pairs) in cases {
        let config = settings(&pairs.iter().map(String::as_str).collect::<Vec<_>>());
        let (plan, peaks) = run(&at(name), &config);
        let run = RunDir::new(at(name));
        for planned in &plan.stages {
            let written = bytes_in(&planned.stage.folder(&run));
            let peak = peaks[planned.stage.name()];
            let ratio = |told: u64, found: u64| told as f64 / found as f64;
            let memory = ratio(planned.estimate.memory_bytes, peak + (8 << 20));
            let disk = ratio(planned.estimate.disk_bytes, written);
            println!(
                "{name:10} {:10} memory {:>12} {:>12} {memory:.2}   disk {:>12} {:>12} {disk:.2}",
                planned.stage.name(),
                planned.estimate.memory_bytes,
                peak,
                planned.estimate.disk_bytes,
                written
            );
            let metis = planned.stage == StageName::Partition;
            if !metis && !(0.67..1.5).contains(&memory) {
                wrong.push(format!("{name} {} memory {memory:.2}", planned.stage.name()));
            }
            if !(0.67..1.5).contains(&disk) {
                wrong.push(format!("{name} {} disk {disk:.2}", planned.stage.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
