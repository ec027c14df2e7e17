//! Long work: the interpreter is let go, progress is reported, Ctrl-C is heard.
//!
//! The library works on threads of its own, which never touch Python. The thread that
//! called waits without holding the interpreter; every now and then it takes it, looks for
//! signals, and tells the callback what has happened. So a callback runs in the thread of
//! the caller, as a progress bar expects, and costs the workers nothing.
//!
//! Each call has its own thread pool, which is gone when it returns: a process may fork
//! afterwards.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use local2global::progress::Progress;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::errors::{Raise, internal_error};

/// How often the caller looks up while it waits.
const INTERVAL: Duration = Duration::from_millis(50);

/// More threads than that are a slip of the pen.
const MAX_THREADS: usize = 1024;

/// How work is to be done, as the arguments `threads` and `progress` say.
pub(crate) struct Work {
    threads: usize,
    callback: Option<Py<PyAny>>,
}

impl Work {
    /// With this many threads, or all cores; telling `callback`, if there is one.
    pub(crate) fn new(threads: Option<usize>, callback: Option<Py<PyAny>>) -> Self {
        Self { threads: threads.unwrap_or(0), callback }
    }

    /// Does a piece of work.
    ///
    /// # Errors
    /// What the work gives, or what the callback or a signal raised meanwhile.
    pub(crate) fn run<T: Send, E: Raise + Send>(
        &self,
        py: Python<'_>,
        job: impl FnOnce(&dyn Progress) -> Result<T, E> + Send,
    ) -> PyResult<T> {
        if self.threads > MAX_THREADS {
            let message = format!("threads is {}, needed at most {MAX_THREADS}", self.threads);
            return Err(PyValueError::new_err(message));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        let pool = pool.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let relay = Relay::default();
        let finished = AtomicBool::new(false);
        let caller = thread::current();
        let (result, raised) = thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let _wake = Wake { finished: &finished, caller };
                pool.install(|| job(&relay))
            });
            let raised = self.wait(py, &relay, &finished);
            (worker.join(), raised)
        });
        raised?;
        match result {
            Ok(outcome) => outcome.map_err(Raise::raise),
            Err(panic) => Err(internal_error(&*panic)),
        }
    }

    /// Waits for the worker; when something is raised, asks it to stop first.
    fn wait(&self, py: Python<'_>, relay: &Relay, finished: &AtomicBool) -> PyResult<()> {
        let mut outcome = Ok(());
        while !finished.load(Ordering::Acquire) {
            py.detach(|| thread::park_timeout(INTERVAL));
            if outcome.is_ok() {
                outcome = py.check_signals().and_then(|()| self.tell(py, relay));
                relay.cancelled.store(outcome.is_err(), Ordering::Relaxed);
            }
        }
        outcome.and_then(|()| self.tell(py, relay))
    }

    /// Tells the callback what is new.
    fn tell(&self, py: Python<'_>, relay: &Relay) -> PyResult<()> {
        let Some(callback) = &self.callback else { return Ok(()) };
        for Event { task, done, total, unit, note, is_over } in relay.take_news() {
            callback.call1(py, (task, done, total, unit, note, is_over))?;
        }
        Ok(())
    }
}

/// Panics on a thread of its own, as a bug in the library would: for the tests.
#[pyfunction]
pub(crate) fn panic_at_work(py: Python<'_>, text: String) -> PyResult<()> {
    Work::new(Some(1), None).run(py, |_| -> PyResult<()> { panic!("{text}") })
}

/// Wakes the caller when the worker is done, or has panicked.
struct Wake<'a> {
    finished: &'a AtomicBool,
    caller: Thread,
}

impl Drop for Wake<'_> {
    fn drop(&mut self) {
        self.finished.store(true, Ordering::Release);
        self.caller.unpark();
    }
}

/// How far a task has come.
#[derive(Clone)]
struct Event {
    task: String,
    done: u64,
    total: u64,
    unit: &'static str,
    note: String,
    is_over: bool,
}

/// Carries progress from the workers to the caller.
#[derive(Default)]
struct Relay {
    news: Mutex<News>,
    cancelled: AtomicBool,
}

#[derive(Default)]
struct News {
    /// Tasks that have ended since the caller looked last.
    ended: Vec<Event>,
    current: Option<Event>,
    has_changed: bool,
}

impl Relay {
    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tasks that have ended, and the current one if it has moved.
    fn take_news(&self) -> Vec<Event> {
        let mut news = self.news();
        let mut events = std::mem::take(&mut news.ended);
        if std::mem::take(&mut news.has_changed) {
            events.extend(news.current.clone());
        }
        events
    }

    fn with_current(&self, act: impl FnOnce(&mut Event)) {
        let mut news = self.news();
        if let Some(event) = &mut news.current {
            act(event);
            news.has_changed = true;
        }
    }
}

impl Progress for Relay {
    fn begin(&self, task: &str, total: u64, unit: &'static str) {
        let event =
            Event { task: task.to_owned(), done: 0, total, unit, note: String::new(), is_over: false };
        let mut news = self.news();
        news.current = Some(event);
        news.has_changed = true;
    }

    fn advance(&self, steps: u64) {
        self.with_current(|event| event.done += steps);
    }

    fn note(&self, text: &str) {
        self.with_current(|event| event.note = text.to_owned());
    }

    fn end(&self) {
        let mut news = self.news();
        if let Some(event) = news.current.take() {
            news.ended.push(Event { is_over: true, ..event });
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
