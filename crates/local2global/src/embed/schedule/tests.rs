//! Workers that panic, wait and write.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::super::memory::PatchSize;
use super::super::nn::Matrix;
use super::super::{Embedder, Embedding, Record};
use super::*;
use crate::progress::Silent;

/// Longer than any of these tests takes.
const LIMIT: Duration = Duration::from_secs(60);

/// Gives zeros, after doing something else.
struct Acting<F>(F);

impl<F: Fn(&PatchInput<'_>) + Send + Sync> Embedder for Acting<F> {
    fn embed(&self, patch: &PatchInput<'_>, task: &EmbedTask<'_>) -> Result<Embedding, EmbedError> {
        let &EmbedTask { dim, .. } = task;
        (self.0)(patch);
        let coordinates = Matrix::zeros(patch.nodes.len(), dim);
        Ok(Embedding { coordinates, record: Record::default(), encoder: None })
    }

    fn memory_bytes(&self, _: &PatchSize, _: usize) -> u64 {
        1
    }
}

/// What the watchdog lets pass: the result of `work`, unless it takes for ever.
fn within_limit<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || send.send(work()));
    receive.recv_timeout(LIMIT).expect("nobody waits for ever")
}

/// Embeds so many patches of a path, two at a time, each with `act`.
fn embed_with(
    num_patches: usize,
    num_runs: u32,
    memory_bytes: u64,
    progress: &dyn Progress,
    act: impl Fn(&PatchInput<'_>) + Clone + Send + Sync + 'static,
) -> (Result<Vec<usize>, EmbedError>, tempfile::TempDir) {
    let graph = Graph::from_rows(vec![0, 1, 3, 4].into(), vec![1_u32, 0, 2, 1].into(), true).unwrap();
    let nodes: Vec<NodeId> = graph.nodes().collect();
    let folder = tempfile::tempdir().unwrap();
    let place = Place { nodes: &nodes, rows: &nodes, whole: &graph, part: None };
    let jobs = (0..num_patches).map(|index| Job {
        index,
        name: patch_name(index),
        place,
        config: EmbedConfig { dim: 2, ..EmbedConfig::default() },
        embedder: Box::new(Acting(act.clone())),
        num_runs,
        bytes: 1,
        digest: String::new(),
    });
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let scheduler = Scheduler::new(jobs.collect(), memory_bytes, Seed(1), folder.path(), progress);
    pool.install(|| scheduler.run());
    (scheduler.into_result(0), folder)
}

#[test]
fn a_panic_names_its_patch_and_the_others_are_finished_within_the_memory_limit() {
    for num_runs in [1, 3] {
        let (result, folder) = within_limit(move || {
            embed_with(4, num_runs, 1, &Silent, |patch| {
                assert!(patch.name != "patch-00001", "the numbers are too odd");
            })
        });
        let error = result.unwrap_err().to_string();
        assert_eq!(error, "training of patch-00001 panicked in run 0: the numbers are too odd");
        let is_there = |index: usize| folder.path().join(format!("patch-{index:05}.json")).exists();
        assert_eq!([0, 1, 2, 3].map(is_there), [true, false, true, true]);
    }
}

#[test]
fn workers_that_all_panic_end() {
    let (result, _folder) = within_limit(|| embed_with(5, 2, 1, &Silent, |_| panic!("every time")));
    assert!(matches!(result, Err(EmbedError::Panic { .. })), "{result:?}");
}

#[test]
fn a_worker_that_is_busy_with_a_finished_patch_holds_up_nobody() {
    /// Whoever has finished the first patch waits there until the other worker has begun them all.
    struct Slow(Arc<AtomicUsize>);
    impl Progress for Slow {
        fn note(&self, text: &str) {
            while text.starts_with("1 of") && self.0.load(Ordering::SeqCst) < 6 {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&begun);
    let act = move |_: &PatchInput<'_>| _ = counted.fetch_add(1, Ordering::SeqCst);
    let (result, _folder) = within_limit(move || embed_with(6, 1, 0, &Slow(begun), act));
    assert_eq!(result.unwrap(), [0, 1, 2, 3, 4, 5]);
}
