//! A limit of memory is kept: what each stage really allocates, against the limit it was given.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail by panicking")]
#![allow(unsafe_code, reason = "counting allocations means to be the allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use local2global::config::Config;
use local2global::evaluate::Scores;
use local2global::generate::{BlockModel, Generator, Outputs};
use local2global::memory::{BASE_BYTES, ByteSize};
use local2global::pipeline::{GraphSource, Pipeline, PipelineError};
use local2global::progress::Silent;
use local2global::run_dir::{RunDir, read_json};
use local2global::seed::Seed;

/// Counts the bytes in use, and the most there ever were. METIS has an allocator of its own. What matrix
/// products pack their operands into does not count: every thread sets as much aside as the cache of the
/// machine holds, once, and uses a little of it.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn counts(layout: Layout) -> bool {
    layout.align() < 64 || layout.size() < 4 << 20
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if counts(layout) {
            let in_use = IN_USE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
            PEAK.fetch_max(in_use, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if counts(layout) {
            IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The settings of a quick run, within a limit or without.
fn settings(graph: &Path, memory: Option<u64>) -> Config {
    let pairs = ["embed.method=spectral", "embed.dim=8", "embed.power_iterations=1", "evaluate.repeats=1"];
    let input = format!("graph.input={}", graph.display());
    let pairs: Vec<String> = pairs.iter().map(|&pair| pair.to_owned()).chain([input]).collect();
    Config { memory: memory.map(ByteSize), ..Config::new("", &pairs).unwrap() }
}

/// Runs; for each stage the most bytes that were in use, beside what was before.
fn run(folder: &Path, config: Config) -> Result<BTreeMap<&'static str, u64>, PipelineError> {
    let run = RunDir::new(folder);
    let mut pipeline = Pipeline::new(&run, config, GraphSource::Settings(&[]));
    let before = IN_USE.load(Ordering::Relaxed);
    let mut peaks = BTreeMap::new();
    PEAK.store(before, Ordering::Relaxed);
    pipeline.run(&Silent, |report| {
        peaks.insert(report.stage.name(), (PEAK.load(Ordering::Relaxed) - before) as u64);
        PEAK.store(IN_USE.load(Ordering::Relaxed), Ordering::Relaxed);
    })?;
    Ok(peaks)
}

#[test]
fn every_stage_stays_below_the_limit_and_leaves_the_same_embedding() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let model = BlockModel { nodes: 50_000, communities: 50, mean_degree: 6.0, ..Default::default() };
    let outputs = Outputs { graph: at("graph.npz"), ..Outputs::default() };
    model.prepare(Seed(1)).unwrap().write(&outputs, &Silent).unwrap();
    let settings = |memory| settings(&at("graph.npz"), memory);

    // Too little for anything: one sentence, and nothing written.
    let error = run(&at("refused"), settings(Some(5 << 20))).unwrap_err();
    let PipelineError::Limit { needed, .. } = &error else { panic!("{error}") };
    assert!(error.to_string().contains(&format!("`--memory {}` would do", needed.rounded_up())), "{error}");
    assert!(!at("refused").exists());

    // The limit that was told, and a free run, for comparison.
    let limit = needed.rounded_up().parse::<ByteSize>().unwrap().0;
    assert!(limit < 40 << 20, "{limit}");
    let peaks = run(&at("within"), settings(Some(limit))).unwrap();
    for (stage, peak) in &peaks {
        println!("{stage} {peak} of {}", limit - BASE_BYTES);
    }
    for stage in ["partition", "patch", "embed", "align", "evaluate"] {
        assert!(peaks[stage] <= limit - BASE_BYTES, "{stage} took {} of {limit}", peaks[stage]);
    }
    let scores: Scores = read_json(&RunDir::new(at("within")).evaluation().scores()).unwrap();
    let pairs = scores.reconstruction.unwrap();
    assert!(pairs.edges < pairs.of_edges, "{} of {}", pairs.edges, pairs.of_edges);

    // Clusters given, nothing else follows from the limit but the number of pairs.
    let given = |config: Config| {
        let file = RunDir::new(at("within")).partition().clusters();
        let pairs = ["partition.method=given".to_owned(), format!("partition.file={}", file.display())];
        let partition = Config::new("", &pairs).unwrap().partition;
        Config { partition, ..config }
    };
    run(&at("small"), given(settings(Some(limit)))).unwrap();
    run(&at("free"), given(settings(None))).unwrap();
    for file in ["3-patches/patch_graph.npy", "4-embeddings/patch-00003.npy", "5-alignment/embedding.npy"] {
        assert!(
            fs::read(at("small").join(file)).unwrap() == fs::read(at("free").join(file)).unwrap(),
            "{file}"
        );
    }
}
