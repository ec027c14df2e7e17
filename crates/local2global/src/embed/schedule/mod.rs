//! All patches: which next, how many at a time, and each onto disk when it is done.
//!
//! The unit of work is one run of one patch. Units are taken largest first, so that no large one
//! is left at the end, and only while the estimated memory of all units under way stays within the
//! limit (`queue.rs`). With at least as many units as threads every unit has one thread; with
//! fewer, the threads are divided among the units.
//!
//! When the last run of a patch ends, its worker writes the best one (`files.rs`): `NAME.npy`, then
//! `NAME.json` with a digest of everything it was made from. The others go on meanwhile. A patch
//! whose files are there with the same digest is not embedded again. When a patch fails or
//! panics, the others are finished first; the error comes then, and names the patch.

mod files;

mod job;

mod queue;

use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use rayon::ThreadPool;
use serde::Serialize;

pub(super) use files::{begin, foreign, is_made_from, is_own};
pub(super) use job::{Job, Place};

use super::best_of::{Candidate, Contest, RunRecord};
use super::frame::Sources;
use super::{EmbedConfig, EmbedError, EmbedMethod, EmbedTask, Frame, PatchInput};
use crate::graph::{Graph, NodeId};
use crate::partition::undirected;
use crate::progress::Progress;
use crate::run_dir::patch_name;
use crate::seed::{Seed, Stage};
use queue::{Queue, Unit};

/// What the stage did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EmbedSummary {
    /// Patches that were embedded now.
    pub embedded: Vec<usize>,
    /// Patches that were there already, made from the same inputs.
    pub kept: Vec<usize>,
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
pub fn embed_patches<P: AsRef<[NodeId]>>(
    graph: &Graph,
    patches: &[P],
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
pub fn embed_framed<P: AsRef<[NodeId]>>(
    graph: &Graph,
    patches: &[P],
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
    let jobs =
        selected.iter().map(|&index| Job::new(graph, index, patches[index].as_ref(), (config, frame), seed));
    let room = Room { limit: config.memory_bytes, taken: frame.memory_bytes() };
    embed_jobs(jobs.collect(), room, seed, folder, progress)
}

/// The memory that patches are embedded in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// The limit in bytes; 0 means none.
    pub(super) limit: u64,
    /// What is taken by all that patches share.
    pub(super) taken: u64,
}

impl Room {
    /// What is left for the runs of patches; 0 means no limit.
    fn left(self) -> u64 {
        if self.limit == 0 { 0 } else { self.limit.saturating_sub(self.taken).max(1) }
    }

    /// Checks that there is room for a run of a patch.
    pub(super) fn check(self, name: &str, bytes: u64) -> Result<(), EmbedError> {
        if self.limit == 0 || bytes <= self.left() {
            return Ok(());
        }
        let needed = (bytes + self.taken).div_ceil(1 << 20);
        Err(EmbedError::Memory { patch: name.to_owned(), needed, limit: self.limit >> 20 })
    }
}

/// Embeds patches wherever they lie, but for those that are there already.
pub(super) fn embed_jobs(
    jobs: Vec<Job<'_>>,
    room: Room,
    seed: Seed,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<EmbedSummary, EmbedError> {
    let (kept, jobs): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| is_done(job, folder));
    jobs.iter().try_for_each(|job| room.check(&job.name, job.bytes))?;
    if let Some(path) = jobs.iter().find_map(|job| foreign(folder, &job.name)) {
        return Err(EmbedError::Foreign { path });
    }
    let scheduler = Scheduler::new(jobs, room.left(), seed, folder, progress);
    scheduler.run();
    let embedded = scheduler.into_result(kept.len())?;
    Ok(EmbedSummary { embedded, kept: kept.iter().map(|job| job.index).collect() })
}

/// Whether the coordinates are there, made from the same inputs. Given ones are always read again, since
/// other programs may have changed them.
fn is_done(job: &Job<'_>, folder: &Path) -> bool {
    job.config.method != EmbedMethod::Given && is_made_from(folder, &job.name, &job.digest)
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

/// Workers that embed patches of a graph into a folder.
struct Scheduler<'a> {
    jobs: Vec<Job<'a>>,
    seed: Seed,
    folder: &'a Path,
    progress: &'a dyn Progress,
    queue: Queue,
    /// The best run so far of each job.
    contests: Vec<Mutex<Contest>>,
    outcome: Mutex<Outcome>,
}

/// What has become of the jobs.
#[derive(Default)]
struct Outcome {
    /// The patches that are done.
    done: Vec<usize>,
    failures: Vec<(Unit, EmbedError)>,
    is_cancelled: bool,
}

impl<'a> Scheduler<'a> {
    fn new(
        jobs: Vec<Job<'a>>,
        memory_bytes: u64,
        seed: Seed,
        folder: &'a Path,
        progress: &'a dyn Progress,
    ) -> Self {
        let units = jobs.iter().enumerate().flat_map(|(job, Job { num_runs, bytes, .. })| {
            (0..*num_runs).map(move |run| Unit { job, run, bytes: *bytes })
        });
        let queue = Queue::new(units.collect(), memory_bytes);
        let contests = jobs.iter().map(|job| Mutex::new(Contest::new(job.config.select))).collect();
        Self { jobs, seed, folder, progress, queue, contests, outcome: Mutex::default() }
    }

    fn run(&self) {
        let steps = self.jobs.iter().map(|job| job.embedder.num_steps() * u64::from(job.num_runs)).sum();
        self.progress.begin("embed", steps, "epochs");
        let num_threads = rayon::current_num_threads();
        let num_workers = num_threads.min(self.queue.len());
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
        while !self.is_cancelled()
            && let Some(taken) = self.queue.take()
        {
            let result = match &pool {
                Ok(pool) => self.attempt(taken.unit, pool),
                Err(error) => Err(EmbedError::Threads(error.to_string())),
            };
            if let Err(error) = result {
                self.fail(taken.unit, error);
            }
        }
    }

    /// Whether the work should stop; nobody is given a unit from then on.
    fn is_cancelled(&self) -> bool {
        let is_cancelled = self.progress.is_cancelled();
        if is_cancelled {
            lock(&self.outcome).is_cancelled = true;
            self.queue.close();
        }
        is_cancelled
    }

    /// Does one unit. A panic becomes an error that names the patch.
    fn attempt(&self, unit: Unit, pool: &ThreadPool) -> Result<(), EmbedError> {
        let work = || {
            let candidate = pool.install(|| self.embed(unit))?;
            match self.enter(unit, candidate) {
                Some((best, runs)) => self.finish(&self.jobs[unit.job], &best, &runs),
                None => Ok(()),
            }
        };
        // What the unit was working on is dropped, so nobody sees it half done.
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            let patch = self.jobs[unit.job].name.clone();
            Err(EmbedError::Panic { patch, run: unit.run, message: message_of(&*panic) })
        })
    }

    fn embed(&self, unit: Unit) -> Result<Candidate, EmbedError> {
        let job = &self.jobs[unit.job];
        let (place, graph) = (job.place, job.place.graph());
        let patch = PatchInput {
            name: &job.name,
            graph: &graph,
            nodes: place.nodes,
            rows: place.rows,
            whole: place.whole,
            folder: self.folder,
            seed: self.seed,
        };
        let patch_seed = self.seed.child(Stage::Embed, job.index as u64);
        let seed = patch_seed.child(Stage::Embed, u64::from(unit.run));
        let task = EmbedTask { dim: job.config.dim, run: unit.run, seed, progress: self.progress };
        let embedding = job.embedder.embed(&patch, &task)?;
        let random = patch_seed.stream(Stage::Evaluate, 0);
        Ok(Candidate::new(unit.run, embedding, &patch, &job.config, random))
    }

    /// Enters a finished run of a job; after the last one, gives the best and the records of all.
    fn enter(&self, unit: Unit, candidate: Candidate) -> Option<(Candidate, Vec<RunRecord>)> {
        let job = &self.jobs[unit.job];
        let mut contest = lock(&self.contests[unit.job]);
        contest.enter(candidate);
        if contest.num_runs() < job.num_runs {
            return None;
        }
        std::mem::replace(&mut *contest, Contest::new(job.config.select)).finish()
    }

    /// Writes the files of a patch. No lock is held, so the other workers go on.
    fn finish(&self, job: &Job<'_>, best: &Candidate, runs: &[RunRecord]) -> Result<(), EmbedError> {
        files::write(self.folder, job, (best, runs), self.seed)?;
        let num_done = {
            let mut outcome = lock(&self.outcome);
            outcome.done.push(job.index);
            outcome.done.len()
        };
        self.progress.note(&format!("{num_done} of {} patches", self.jobs.len()));
        Ok(())
    }

    fn fail(&self, unit: Unit, error: EmbedError) {
        let is_cancelled = matches!(error, EmbedError::Cancelled { .. });
        let mut outcome = lock(&self.outcome);
        outcome.is_cancelled |= is_cancelled;
        outcome.failures.push((unit, error));
        drop(outcome);
        match is_cancelled {
            true => self.queue.close(),
            false => self.queue.remove_job(unit.job),
        }
    }

    fn into_result(self, num_kept: usize) -> Result<Vec<usize>, EmbedError> {
        let total = num_kept + self.jobs.len();
        let Outcome { done, mut failures, is_cancelled } =
            self.outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
        if is_cancelled {
            return Err(EmbedError::Cancelled { done: num_kept + done.len(), total });
        }
        failures.sort_by_key(|(unit, _)| (unit.job, unit.run));
        match failures.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(sorted(&done)),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these locks guard is changed by single steps, so it is sound after a panic too.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a panic says.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests;
