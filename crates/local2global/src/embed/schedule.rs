//! All patches: which next, how many at a time, and onto disk at once.
//!
//! The unit of work is one run of one patch. Units are taken largest first, so that no
//! large one is left at the end, and only while the estimated memory of all units in
//! flight stays within the limit. With at least as many units as threads every unit
//! has one thread; with fewer, the threads are divided among the units.
//!
//! When the last run of a patch ends, the best one is written: `NAME.npy`, then
//! `NAME.json` with a digest of everything it was made from. A patch whose files are
//! there with the same digest is not embedded again. When a patch fails, the others
//! are finished first; the error comes then.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde::Serialize;

use super::best_of::{Candidate, Contest, RunRecord};
use super::frame::Sources;
use super::memory::PatchSize;
use super::nn::clock::Clock;
use super::{EmbedConfig, EmbedError, EmbedMethod, Embedder, Frame, PatchInput, digest};
use crate::graph::{Graph, NodeId};
use crate::partition::undirected;
use crate::progress::Progress;
use crate::run_dir::{EmbeddingFolder, FileError, patch_name, read_json, write_array, write_json};
use crate::seed::{Seed, Stage};

/// What the stage did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EmbedSummary {
    /// Patches that were embedded now.
    pub embedded: Vec<usize>,
    /// Patches that were there already, made from the same inputs.
    pub kept: Vec<usize>,
}

/// The file `NAME.json`.
#[derive(Debug, Serialize)]
struct PatchRecord<'a> {
    patch: &'a str,
    nodes: usize,
    edges: usize,
    dim: usize,
    auc: Option<f64>,
    loss: Option<f64>,
    /// The run that was kept.
    run: u32,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_per_part: Option<Clock>,
    losses: &'a [f64],
    runs: &'a [RunRecord],
    settings: &'a EmbedConfig,
    seed: Seed,
    /// The digest of what it was made from.
    digest: String,
    /// The digest of the file with the coordinates.
    coordinates: String,
    /// The digest of the file with what was learned, for methods that keep it.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoder: Option<String>,
}

/// One patch that is to be embedded.
struct Job<'a> {
    index: usize,
    name: String,
    nodes: &'a [NodeId],
    config: EmbedConfig,
    embedder: Box<dyn Embedder>,
    num_runs: u32,
    bytes: u64,
    digest: String,
}

/// One run of one job.
#[derive(Clone, Copy)]
struct Unit {
    job: usize,
    run: u32,
    bytes: u64,
}

/// What the workers share.
struct State {
    /// Largest last, so that it is taken first.
    pending: Vec<Unit>,
    bytes_in_flight: u64,
    contests: Vec<Contest>,
    failures: Vec<(usize, EmbedError)>,
    done: Vec<usize>,
    stopped: bool,
}

/// The stage: patches of a graph, into a folder.
struct Scheduler<'a> {
    graph: &'a Graph,
    jobs: Vec<Job<'a>>,
    seed: Seed,
    memory_bytes: u64,
    folder: &'a Path,
    progress: &'a dyn Progress,
    state: Mutex<State>,
    changed: Condvar,
}

/// Embeds patches of a graph, given by their nodes, and writes `NAME.npy` and
/// `NAME.json` for each into `folder`; with `only`, just the patches listed there.
///
/// Uses as many threads as the current rayon pool has.
///
/// # Errors
/// [`EmbedError`] for settings that make no sense, before anything is done; for the
/// first patch that fails, after all others are done; or if `progress` says to stop.
/// In every case finished patches stay on disk.
///
/// # Panics
/// If `only` names a patch that is not there.
pub fn embed_patches(
    graph: &Graph,
    patches: &[Vec<NodeId>],
    only: Option<&[usize]>,
    config: &EmbedConfig,
    seed: Seed,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<EmbedSummary, EmbedError> {
    config.check()?;
    let frame = Frame::prepare(&Sources { graph, clusters: None }, config, seed, folder, progress)?;
    embed_framed(graph, patches, only, (config, &frame), seed, folder, progress)
}

/// As [`embed_patches`], with a frame that the caller has prepared.
///
/// # Errors
/// As [`embed_patches`].
///
/// # Panics
/// As [`embed_patches`].
pub fn embed_framed(
    graph: &Graph,
    patches: &[Vec<NodeId>],
    only: Option<&[usize]>,
    (config, frame): (&EmbedConfig, &Frame),
    seed: Seed,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<EmbedSummary, EmbedError> {
    check(config, patches.len())?;
    // Methods that read rows of the whole graph see edges in both directions.
    let graph = &*if config.reads_whole_rows() { undirected(graph) } else { Cow::Borrowed(graph) };
    let selected: Vec<usize> = only.map_or_else(|| (0..patches.len()).collect(), sorted);
    let jobs = selected.iter().map(|&index| Job::new(graph, index, &patches[index], (config, frame), seed));
    let (kept, jobs): (Vec<_>, Vec<_>) = jobs.partition(|job| job.is_done(folder));
    if let Some(job) = jobs.iter().find(|job| config.memory_bytes > 0 && job.bytes > config.memory_bytes) {
        let (needed, limit) = (job.bytes.div_ceil(1 << 20), config.memory_bytes >> 20);
        return Err(EmbedError::Memory { patch: job.name.clone(), needed, limit });
    }
    if let Some(path) = jobs.iter().find_map(|job| job.foreign(folder)) {
        return Err(EmbedError::Foreign { path });
    }
    let stage = Scheduler::new(graph, jobs, config, seed, folder, progress);
    stage.run();
    let embedded = stage.into_result(kept.len())?;
    Ok(EmbedSummary { embedded, kept: kept.iter().map(|job| job.index).collect() })
}

fn check(config: &EmbedConfig, num_patches: usize) -> Result<(), EmbedError> {
    config.check()?;
    let exists = |name: &str| (0..num_patches).any(|index| patch_name(index) == name);
    match config.patches.keys().find(|name| !exists(name)) {
        None => Ok(()),
        Some(name) => Err(EmbedError::NoSuchPatch { name: name.clone(), num_patches }),
    }
}

fn sorted(indices: &[usize]) -> Vec<usize> {
    let mut indices = indices.to_vec();
    indices.sort_unstable();
    indices.dedup();
    indices
}

impl<'a> Job<'a> {
    fn new(
        graph: &Graph,
        index: usize,
        nodes: &'a [NodeId],
        (config, frame): (&EmbedConfig, &Frame),
        seed: Seed,
    ) -> Self {
        let name = patch_name(index);
        let config = config.of_patch(&name).settled();
        let embedder = frame.embedder(&config);
        Self {
            index,
            nodes,
            num_runs: if embedder.is_random() { config.runs } else { 1 },
            bytes: embedder.memory_bytes(&PatchSize::new(graph, nodes), config.dim),
            digest: digest::of_patch(graph, nodes, &config, frame.digest(), seed),
            name,
            config,
            embedder,
        }
    }

    fn paths(&self, folder: &Path) -> [PathBuf; 2] {
        let folder = EmbeddingFolder::at(folder);
        [folder.coordinates(&self.name), folder.record(&self.name)]
    }

    /// Coordinates that are there without a record: another program made them.
    fn foreign(&self, folder: &Path) -> Option<PathBuf> {
        let [coordinates, record] = self.paths(folder);
        (coordinates.exists() && !record.exists()).then_some(coordinates)
    }

    /// Whether the files are there, made from the same inputs, and undamaged. Given
    /// coordinates are read again, since others may have changed them.
    fn is_done(&self, folder: &Path) -> bool {
        let record = read_record(folder, &self.name);
        let digest = record.as_ref().and_then(|record| record.get("digest")?.as_str());
        self.config.method != EmbedMethod::Given && digest == Some(&self.digest) && is_own(folder, &self.name)
    }
}

/// Whether the files of a patch are those that its record tells of: coordinates, and what was
/// learned if that was kept.
pub(super) fn is_own(folder: &Path, name: &str) -> bool {
    let record = read_record(folder, name);
    let text = |key: &str| record.as_ref().and_then(|record| record.get(key)?.as_str());
    let intact =
        |key: &str, path: &Path| crate::digest::of_file(path).is_ok_and(|found| text(key) == Some(&found));
    let folder = EmbeddingFolder::at(folder);
    intact("coordinates", &folder.coordinates(name))
        && (text("encoder").is_none() || intact("encoder", &folder.encoder(name)))
}

fn read_record(folder: &Path, name: &str) -> Option<serde_json::Value> {
    read_json(&EmbeddingFolder::at(folder).record(name)).ok()
}

impl<'a> Scheduler<'a> {
    fn new(
        graph: &'a Graph,
        jobs: Vec<Job<'a>>,
        config: &EmbedConfig,
        seed: Seed,
        folder: &'a Path,
        progress: &'a dyn Progress,
    ) -> Self {
        let units = jobs.iter().enumerate().flat_map(|(job, Job { num_runs, bytes, .. })| {
            (0..*num_runs).map(move |run| Unit { job, run, bytes: *bytes })
        });
        let mut pending: Vec<Unit> = units.collect();
        pending.sort_by_key(|unit| (unit.bytes, std::cmp::Reverse((unit.job, unit.run))));
        let state = State {
            pending,
            bytes_in_flight: 0,
            contests: jobs.iter().map(|job| Contest::new(job.config.select)).collect(),
            failures: Vec::new(),
            done: Vec::new(),
            stopped: false,
        };
        let memory_bytes = if config.memory_bytes == 0 { u64::MAX } else { config.memory_bytes };
        let (state, changed) = (Mutex::new(state), Condvar::new());
        Self { graph, jobs, seed, memory_bytes, folder, progress, state, changed }
    }

    fn run(&self) {
        let steps = self.jobs.iter().map(|job| job.embedder.num_steps() * u64::from(job.num_runs)).sum();
        self.progress.begin("embed", steps, "epochs");
        let num_threads = rayon::current_num_threads();
        let num_workers = num_threads.min(self.lock().pending.len());
        thread::scope(|scope| {
            for worker in 0..num_workers {
                let share = num_threads / num_workers + usize::from(worker < num_threads % num_workers);
                scope.spawn(move || self.work(share));
            }
        });
        self.progress.end();
    }

    /// Does one unit after the other, with a number of threads.
    fn work(&self, num_threads: usize) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(num_threads).build();
        while let Some(unit) = self.next_unit() {
            let result = match &pool {
                Ok(pool) => pool.install(|| self.embed(unit)),
                Err(error) => Err(EmbedError::Threads(error.to_string())),
            };
            let mut state = self.lock();
            state.bytes_in_flight -= unit.bytes;
            let result = result.and_then(|candidate| self.enter(&mut state, unit, candidate));
            if let Err(error) = result {
                state.stopped |= matches!(error, EmbedError::Cancelled { .. });
                state.pending.retain(|other| other.job != unit.job);
                state.failures.push((unit.job, error));
            }
            self.changed.notify_all();
        }
    }

    /// The largest unit that fits into memory, waiting for room; none at the end.
    fn next_unit(&self) -> Option<Unit> {
        let mut state = self.lock();
        loop {
            if state.stopped || self.progress.is_cancelled() {
                state.stopped = true;
                return None;
            }
            let room = self.memory_bytes - state.bytes_in_flight;
            if let Some(position) = state.pending.iter().rposition(|unit| unit.bytes <= room) {
                let unit = state.pending.remove(position);
                state.bytes_in_flight += unit.bytes;
                return Some(unit);
            }
            if state.pending.is_empty() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn embed(&self, unit: Unit) -> Result<Candidate, EmbedError> {
        let job = &self.jobs[unit.job];
        let graph = self.graph.subgraph(job.nodes);
        let patch = PatchInput {
            name: &job.name,
            graph: &graph,
            nodes: job.nodes,
            whole: self.graph,
            seed: self.seed,
        };
        let patch_seed = self.seed.child(Stage::Embed, job.index as u64);
        let seed = patch_seed.child(Stage::Embed, u64::from(unit.run));
        let embedding = job.embedder.embed(&patch, job.config.dim, unit.run, seed, self.progress)?;
        let random = patch_seed.stream(Stage::Evaluate, 0);
        Ok(Candidate::new(unit.run, embedding, &patch, &job.config, random))
    }

    /// Enters a finished run; after the last one of a patch, writes the best.
    fn enter(&self, state: &mut State, unit: Unit, candidate: Candidate) -> Result<(), EmbedError> {
        let job = &self.jobs[unit.job];
        let contest = &mut state.contests[unit.job];
        contest.enter(candidate);
        if contest.num_runs() < job.num_runs {
            return Ok(());
        }
        let contest = std::mem::replace(contest, Contest::new(job.config.select));
        let (best, runs) = contest.finish().expect("a run has just been entered");
        self.write(job, &best, &runs)?;
        state.done.push(job.index);
        self.progress.note(&format!("{} of {} patches", state.done.len(), self.jobs.len()));
        Ok(())
    }

    fn write(&self, job: &Job<'_>, best: &Candidate, runs: &[RunRecord]) -> Result<(), EmbedError> {
        let [coordinates_path, record_path] = job.paths(self.folder);
        if !record_path.exists() {
            // Coordinates are never there without a record: that would be somebody else's.
            write_json(&record_path, &serde_json::json!({ "patch": job.name }))?;
        }
        let coordinates = &best.embedding.coordinates;
        let shape = [coordinates.num_rows(), coordinates.num_columns()];
        write_array(&coordinates_path, &shape, coordinates.values())?;
        let learned_path = EmbeddingFolder::at(self.folder).encoder(&job.name);
        let encoder = best.embedding.encoder.as_ref().map(|encoder| {
            encoder.write(&learned_path)?;
            crate::digest::of_file(&learned_path).map_err(FileError::at("read", &learned_path))
        });
        let record = PatchRecord {
            patch: &job.name,
            nodes: job.nodes.len(),
            edges: self.num_edges(job),
            dim: job.config.dim,
            auc: best.auc,
            loss: best.loss(),
            run: best.run,
            seconds: runs.iter().map(|run| run.seconds).sum(),
            seconds_per_part: best.embedding.record.seconds_per_part,
            losses: &best.embedding.record.losses,
            runs,
            settings: &job.config,
            seed: self.seed,
            digest: job.digest.clone(),
            coordinates: crate::digest::of_file(&coordinates_path)
                .map_err(FileError::at("read", &coordinates_path))?,
            encoder: encoder.transpose()?,
        };
        Ok(write_json(&record_path, &record)?)
    }

    /// The number of edges inside a patch.
    fn num_edges(&self, job: &Job<'_>) -> usize {
        let inside = |node: &NodeId| job.nodes.binary_search(node).is_ok();
        let directed = job.nodes.iter().map(|&node| self.graph.neighbors(node).filter(inside).count()).sum();
        if self.graph.is_symmetric() { directed / 2 } else { directed }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A worker that panicked takes the whole stage down when the scope ends.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn into_result(self, num_kept: usize) -> Result<Vec<usize>, EmbedError> {
        let total = num_kept + self.jobs.len();
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if state.stopped {
            return Err(EmbedError::Cancelled { done: num_kept + state.done.len(), total });
        }
        state.failures.sort_by_key(|(job, _)| *job);
        match state.failures.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(sorted(&state.done)),
        }
    }
}
