//! How the library tells what it is doing, without printing.
//!
//! A long task announces itself with a name and a total, then advances. What a
//! person sees (a bar, a line, nothing) is up to the implementation; the command
//! line has one, Python another. Through the same channel the person can ask the
//! library to stop.

/// Listens to the progress of long tasks. Calls may come from several threads.
pub trait Progress: Sync {
    /// A task of `total` steps begins; `unit` names one step, as in "patches".
    ///
    /// A `total` of 0 means that the number of steps is not known.
    fn begin(&self, task: &str, total: u64, unit: &'static str) {
        let _ = (task, total, unit);
    }

    /// `steps` more steps of the current task are done.
    fn advance(&self, steps: u64) {
        let _ = steps;
    }

    /// A short remark about the current task, such as the current loss.
    fn note(&self, text: &str) {
        let _ = text;
    }

    /// The current task is over.
    fn end(&self) {}

    /// Whether the work should stop at the next good place, keeping what is done.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Says nothing and never cancels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}
