//! Progress for people: bars on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use local2global::progress::Progress;
use serde::Serialize;

use crate::output::{Log, log_line};
use crate::signals;

/// Without a terminal, a task prints its first line after this time, if it is still going.
const FIRST_LINE: Duration = Duration::from_secs(2);

/// Without a terminal, the time between two lines of a task.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// The time between two records of a task in a log of JSON lines.
const RECORD_INTERVAL: Duration = Duration::from_secs(1);

/// Shows tasks on standard error, and tells the library when a signal asks to stop.
pub(crate) struct Terminal {
    mode: Mode,
    current: Mutex<Option<Task>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Silent,
    Lines,
    Bars,
    Json,
}

/// The task that is under way.
struct Task {
    name: String,
    unit: &'static str,
    total: u64,
    done: u64,
    started: Instant,
    next_line: Instant,
    bar: ProgressBar,
}

impl Terminal {
    pub(crate) fn new(quiet: bool, log: Log) -> Self {
        let mode = match (quiet, log, std::io::stderr().is_terminal()) {
            (true, _, _) => Mode::Silent,
            (false, Log::Json, _) => Mode::Json,
            (false, Log::Text, true) => Mode::Bars,
            (false, Log::Text, false) => Mode::Lines,
        };
        Self { mode, current: Mutex::new(None) }
    }

    /// Says something between two tasks: a line for people, a record for the log.
    pub(crate) fn tell(&self, text: &str, event: &str, record: &impl Serialize) {
        match self.mode {
            Mode::Silent => {}
            Mode::Lines | Mode::Bars => print_line(text),
            Mode::Json => log_line(event, record),
        }
    }

    fn with_task(&self, act: impl FnOnce(&mut Task)) {
        if let Some(task) = &mut *self.current.lock().unwrap_or_else(PoisonError::into_inner) {
            act(task);
        }
    }
}

#[expect(clippy::print_stderr, reason = "people read standard error")]
fn print_line(text: &str) {
    eprintln!("{text}");
}

fn bar(total: u64, unit: &str) -> ProgressBar {
    let (template, template_without_total) = match unit {
        "bytes" => ("{bytes}/{total_bytes}, {bytes_per_sec}, {eta} left", "{bytes}, {bytes_per_sec}"),
        _ => ("{human_pos}/{human_len} {prefix}, {per_sec}, {eta} left", "{human_pos} {prefix}, {per_sec}"),
    };
    let line = match total {
        0 => format!("{{spinner}} {{wide_msg}} {template_without_total}"),
        _ => format!("{{wide_msg}} [{{bar:24}}] {template}"),
    };
    let style = ProgressStyle::with_template(&line).expect("the template is well formed");
    let length = (total > 0).then_some(total);
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(10));
    bar.with_style(style.progress_chars("=> ")).with_prefix(unit.to_owned())
}

impl Task {
    fn line(&self) -> String {
        let seconds = self.started.elapsed().as_secs_f64();
        let rate = self.done as f64 / seconds.max(1e-9);
        match self.total {
            0 => format!("{}: {} {}, {seconds:.0} s", self.name, self.done, self.unit),
            total => {
                let left = (total - self.done.min(total)) as f64 / rate.max(1e-9);
                format!("{}: {} of {total} {}, about {left:.0} s left", self.name, self.done, self.unit)
            }
        }
    }

    /// For the log of JSON lines.
    fn record(&self) -> serde_json::Value {
        let seconds = self.started.elapsed().as_secs_f64();
        let total = (self.total > 0).then_some(self.total);
        serde_json::json!({
            "task": self.name, "done": self.done, "total": total, "unit": self.unit, "seconds": seconds,
        })
    }
}

impl Progress for Terminal {
    fn begin(&self, task: &str, total: u64, unit: &'static str) {
        let bar = match self.mode {
            Mode::Bars => bar(total, unit).with_message(task.to_owned()),
            _ => ProgressBar::hidden(),
        };
        let now = Instant::now();
        let next_line = now + if self.mode == Mode::Json { RECORD_INTERVAL } else { FIRST_LINE };
        let task = Task { name: task.to_owned(), unit, total, done: 0, started: now, next_line, bar };
        if self.mode == Mode::Json {
            log_line("begin", &task.record());
        }
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }

    fn advance(&self, steps: u64) {
        self.with_task(|task| {
            task.done += steps;
            task.bar.inc(steps);
            let now = Instant::now();
            if now >= task.next_line {
                match self.mode {
                    Mode::Lines => print_line(&task.line()),
                    Mode::Json => log_line("progress", &task.record()),
                    Mode::Silent | Mode::Bars => {}
                }
                task.next_line = now + if self.mode == Mode::Json { RECORD_INTERVAL } else { LINE_INTERVAL };
            }
        });
    }

    fn note(&self, text: &str) {
        self.with_task(|task| task.bar.set_message(format!("{} {text}", task.name)));
    }

    fn end(&self) {
        let task = self.current.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            if self.mode == Mode::Json {
                log_line("end", &task.record());
            }
            task.bar.finish_and_clear();
        }
    }

    fn is_cancelled(&self) -> bool {
        signals::received().is_some()
    }
}
