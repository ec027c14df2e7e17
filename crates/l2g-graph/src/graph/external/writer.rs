//! The arrays of a graph, appended to part by part.

use std::io;

use rayon::prelude::*;

use super::super::NodeIndex;
use super::error::ExternalError;
use super::scratch::{ArrayWriter, Scratch};
use crate::progress::Progress;

/// Some neighbouring rows of a graph, sorted and merged.
pub(super) struct Rows<I> {
    /// The number of entries of each row.
    pub(super) lens: Vec<u32>,
    /// The entries of all rows.
    pub(super) targets: Vec<I>,
    /// Their weights; empty if the graph has none.
    pub(super) weights: Vec<f32>,
}

/// The arrays of a graph in the making.
pub(super) struct RowWriter<I> {
    offsets: ArrayWriter<u64>,
    targets: ArrayWriter<I>,
    weights: Option<ArrayWriter<f32>>,
    end: u64,
    /// Whether all weights so far are 1.
    pub(super) all_one: bool,
}

impl<I: NodeIndex> RowWriter<I> {
    /// Begins the arrays in a folder.
    pub(super) fn new(scratch: &Scratch, weighted: bool) -> Result<Self, ExternalError> {
        let arrays = scratch.arrays();
        let mut offsets = scratch.writer(&arrays.indptr())?;
        offsets.push(&[0]).map_err(scratch.failed())?;
        Ok(Self {
            offsets,
            targets: scratch.writer(&arrays.indices())?,
            weights: weighted.then(|| scratch.writer(&arrays.weights())).transpose()?,
            end: 0,
            all_one: true,
        })
    }

    /// Makes parts of the graph on all threads, and appends them in order while the next are made.
    pub(super) fn append_all<T: Sync>(
        &mut self,
        parts: &[T],
        make: impl Fn(&T) -> io::Result<Rows<I>> + Sync,
        failed: impl Fn(io::Error) -> ExternalError,
        progress: &dyn Progress,
    ) -> Result<(), ExternalError> {
        let mut finished: Vec<io::Result<Rows<I>>> = Vec::new();
        let rounds = parts.chunks(rayon::current_num_threads());
        for round in rounds.map(Some).chain([None]) {
            if progress.is_cancelled() {
                return Err(ExternalError::Cancelled);
            }
            let (next, written) = rayon::join(
                || round.map_or(Vec::new(), |round| round.par_iter().map(&make).collect()),
                || finished.drain(..).try_for_each(|rows| self.push(&rows?)),
            );
            written.map_err(&failed)?;
            progress.advance(next.len() as u64);
            finished = next;
        }
        Ok(())
    }

    fn push(&mut self, rows: &Rows<I>) -> io::Result<()> {
        for &len in &rows.lens {
            self.end += u64::from(len);
            self.offsets.push(&[self.end])?;
        }
        self.targets.push(&rows.targets)?;
        self.all_one &= rows.weights.iter().all(|&weight| weight == 1.0);
        self.weights.as_mut().map_or(Ok(()), |weights| weights.push(&rows.weights))
    }

    /// Finishes the arrays.
    pub(super) fn finish(self) -> io::Result<()> {
        self.offsets.finish()?;
        self.targets.finish()?;
        self.weights.map_or(Ok(()), |weights| weights.finish().map(drop))
    }
}
