//! Records sorted outside memory.
//!
//! Records are collected up to a limit, sorted on all threads and written to a temporary file as one
//! run; in the end all runs are merged, each read through a buffer of its own. Runs are long (a
//! quarter of a gigabyte holds 16 million records), so one merge of a few hundred runs goes far beyond
//! any disk, and records are written and read once.
//!
//! Cost: `O(n log n)` time, one write and one read of all records.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use crate::positioned::{read_exact_at, write_all_at};

/// A pair of integers, sorted by the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Keyed {
    /// What records are sorted by.
    pub(super) key: u64,
    /// What belongs to it.
    pub(super) value: u64,
}

/// The least that a run is read by at a time.
const LEAST_READ: usize = 1 << 12;

/// Collects records, and gives them back sorted.
#[derive(Debug)]
pub(super) struct ExternalSort {
    file: File,
    buffer: Vec<Keyed>,
    capacity: usize,
    /// The number of records of each run.
    runs: Vec<usize>,
}

impl ExternalSort {
    /// A sort through an empty file, within `memory` bytes.
    pub(super) fn new(file: File, memory: u64) -> Self {
        let capacity = usize::try_from(memory / size_of::<Keyed>() as u64).unwrap_or(usize::MAX);
        Self { file, buffer: Vec::new(), capacity: capacity.max(LEAST_READ), runs: Vec::new() }
    }

    /// Adds a record.
    pub(super) fn push(&mut self, record: Keyed) -> io::Result<()> {
        self.buffer.push(record);
        match self.buffer.len() < self.capacity {
            true => Ok(()),
            false => self.write_run(),
        }
    }

    fn write_run(&mut self) -> io::Result<()> {
        self.buffer.par_sort_unstable();
        let start = self.runs.iter().sum::<usize>() * size_of::<Keyed>();
        write_all_at(&self.file, bytemuck::cast_slice(&self.buffer), start as u64)?;
        self.runs.push(self.buffer.len());
        self.buffer.clear();
        Ok(())
    }

    /// All records, sorted.
    pub(super) fn finish(mut self) -> io::Result<Sorted> {
        if self.runs.is_empty() {
            self.buffer.par_sort_unstable();
            return Ok(Sorted::InMemory(self.buffer.into_iter()));
        }
        self.write_run()?;
        let read_len = (self.capacity / self.runs.len()).max(LEAST_READ);
        let mut next = 0;
        let runs = self.runs.iter().map(|&len| {
            let run = Run { next, end: next + len, read_len, buffer: Vec::new().into_iter() };
            next += len;
            run
        });
        let mut merge = Merge { file: self.file, runs: runs.collect(), heads: BinaryHeap::new() };
        for run in 0..merge.runs.len() {
            merge.advance(run)?;
        }
        Ok(Sorted::Merged(merge))
    }
}

/// Records in ascending order.
#[derive(Debug)]
pub(super) enum Sorted {
    /// All fitted into memory.
    InMemory(std::vec::IntoIter<Keyed>),
    /// Merged from runs.
    Merged(Merge),
}

impl Sorted {
    /// The next record, if there is one.
    pub(super) fn next(&mut self) -> io::Result<Option<Keyed>> {
        match self {
            Self::InMemory(records) => Ok(records.next()),
            Self::Merged(merge) => merge.next(),
        }
    }
}

/// A merge of sorted runs.
#[derive(Debug)]
pub(super) struct Merge {
    file: File,
    runs: Vec<Run>,
    /// The smallest record of every run that is not over, and the run.
    heads: BinaryHeap<Reverse<(Keyed, usize)>>,
}

#[derive(Debug)]
struct Run {
    next: usize,
    end: usize,
    read_len: usize,
    buffer: std::vec::IntoIter<Keyed>,
}

impl Merge {
    fn next(&mut self) -> io::Result<Option<Keyed>> {
        let Some(Reverse((record, run))) = self.heads.pop() else { return Ok(None) };
        self.advance(run)?;
        Ok(Some(record))
    }

    fn advance(&mut self, run: usize) -> io::Result<()> {
        if let Some(record) = self.runs[run].next(&self.file)? {
            self.heads.push(Reverse((record, run)));
        }
        Ok(())
    }
}

impl Run {
    fn next(&mut self, file: &File) -> io::Result<Option<Keyed>> {
        if let Some(record) = self.buffer.next() {
            return Ok(Some(record));
        }
        let len = self.read_len.min(self.end - self.next);
        let mut records = vec![Keyed::zeroed(); len];
        let start = (self.next * size_of::<Keyed>()) as u64;
        read_exact_at(file, bytemuck::cast_slice_mut(&mut records), start)?;
        self.next += len;
        self.buffer = records.into_iter();
        Ok(self.buffer.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_runs_come_back_as_one_sorted_list() {
        for num_records in [0_u64, 1, 4095, 4096, 4097, 50_000] {
            let mut sort = ExternalSort::new(tempfile::tempfile().unwrap(), 0);
            let mut records: Vec<Keyed> = (0..num_records)
                .map(|value| Keyed { key: value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50, value })
                .collect();
            records.iter().for_each(|&record| sort.push(record).unwrap());
            let mut sorted = sort.finish().unwrap();
            let found: Vec<_> = std::iter::from_fn(|| sorted.next().unwrap()).collect();
            records.sort_unstable();
            assert!(found == records, "{num_records} records");
        }
    }
}
