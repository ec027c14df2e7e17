//! What a command has cost, as records and tables tell it.

use std::path::Path;

use local2global::memory;
use serde::Serialize;

use crate::context::Context;
use crate::output::bytes;

/// What `--json` prints of a stage: what came out, what it has cost, and where it lies.
#[derive(Debug, Serialize)]
pub(crate) struct Record<'a, T> {
    #[serde(flatten)]
    pub(crate) result: &'a T,
    #[serde(flatten)]
    pub(crate) cost: Cost,
    pub(crate) out: &'a Path,
}

impl<'a, T> Record<'a, T> {
    pub(crate) fn new(result: &'a T, out: &'a Path, context: &Context) -> Self {
        Self { result, cost: Cost::so_far(context), out }
    }
}

/// Time and memory since the program was started.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Cost {
    seconds: f64,
    peak_bytes: Option<u64>,
}

impl Cost {
    pub(crate) fn so_far(context: &Context) -> Self {
        Self { seconds: context.started.elapsed().as_secs_f64(), peak_bytes: memory::peak_bytes() }
    }

    /// Rows of a table.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&'static str, String)> {
        let memory = self.peak_bytes.map(|peak| ("peak memory", bytes(peak)));
        std::iter::once(("seconds", format!("{:.2}", self.seconds))).chain(memory)
    }
}
