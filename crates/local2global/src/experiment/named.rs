//! Progress that says which part of the experiment it belongs to.

use crate::progress::Progress;

/// Puts a name before that of every task.
pub(super) struct Named<'a> {
    pub(super) name: String,
    pub(super) inner: &'a dyn Progress,
}

impl Progress for Named<'_> {
    fn begin(&self, task: &str, total: u64, unit: &'static str) {
        self.inner.begin(&format!("{}: {task}", self.name), total, unit);
    }

    fn advance(&self, steps: u64) {
        self.inner.advance(steps);
    }

    fn note(&self, text: &str) {
        self.inner.note(text);
    }

    fn end(&self) {
        self.inner.end();
    }

    fn is_cancelled(&self) -> bool {
        self.inner.is_cancelled()
    }
}
