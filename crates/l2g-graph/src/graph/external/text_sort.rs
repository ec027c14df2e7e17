//! Texts sorted outside memory, each with a number.
//!
//! As `sort.rs`, for records of any length: runs of sorted texts are written to a temporary file and
//! merged in the end. Equal texts come by their numbers.
//!
//! Cost: `O(n log n)` comparisons, one write and one read of all texts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io;
use std::ops::Range;

use rayon::prelude::*;

use crate::positioned::{read_exact_at, write_all_at};

/// A run is read and written by at least this many bytes at a time.
const LEAST_BYTES: usize = 1 << 12;

/// Runs are written by at most this many bytes at a time.
const WRITE_BYTES: usize = 1 << 20;

/// The length and the number before each text in a run.
const HEAD_BYTES: usize = 12;

/// Collects texts, and gives them back sorted.
#[derive(Debug)]
pub(super) struct TextSort {
    file: File,
    end: u64,
    bytes: Vec<u8>,
    records: Vec<Record>,
    memory: usize,
    runs: Vec<Range<u64>>,
}

/// A text among the bytes in memory.
#[derive(Clone, Copy, Debug)]
struct Record {
    start: usize,
    len: u32,
    number: u64,
}

impl Record {
    fn text(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start..self.start + self.len as usize]
    }
}

impl TextSort {
    /// A sort through an empty file, within about `memory` bytes.
    pub(super) fn new(file: File, memory: u64) -> Self {
        let memory = usize::try_from(memory).unwrap_or(usize::MAX).max(LEAST_BYTES);
        Self { file, end: 0, bytes: Vec::new(), records: Vec::new(), memory, runs: Vec::new() }
    }

    /// Adds a text that is made of parts.
    pub(super) fn push(&mut self, parts: &[&[u8]], number: u64) -> io::Result<()> {
        let start = self.bytes.len();
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        let len = u32::try_from(self.bytes.len() - start).map_err(io::Error::other)?;
        self.records.push(Record { start, len, number });
        // Vectors double, so they take up to twice what is in them.
        match 2 * (self.bytes.len() + size_of::<Record>() * self.records.len()) < self.memory {
            true => Ok(()),
            false => self.write_run(),
        }
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.records.par_sort_unstable_by(|a, b| {
            a.text(bytes).cmp(b.text(bytes)).then_with(|| a.number.cmp(&b.number))
        });
    }

    fn write_run(&mut self) -> io::Result<()> {
        self.sort();
        let start = self.end;
        let mut block = Vec::new();
        for &record in &self.records {
            block.extend_from_slice(&record.len.to_le_bytes());
            block.extend_from_slice(&record.number.to_le_bytes());
            block.extend_from_slice(record.text(&self.bytes));
            if block.len() >= WRITE_BYTES {
                write_all_at(&self.file, &block, self.end)?;
                self.end += block.len() as u64;
                block.clear();
            }
        }
        write_all_at(&self.file, &block, self.end)?;
        self.end += block.len() as u64;
        self.runs.push(start..self.end);
        self.bytes.clear();
        self.records.clear();
        Ok(())
    }

    /// All texts, sorted.
    pub(super) fn finish(mut self) -> io::Result<SortedTexts> {
        self.write_run()?;
        let read_bytes = (self.memory / self.runs.len()).clamp(LEAST_BYTES, WRITE_BYTES);
        let run = |place: Range<u64>| Run { place, read_bytes, block: Vec::new(), next: 0 };
        let runs: Vec<Run> = self.runs.into_iter().map(run).collect();
        let mut sorted = SortedTexts { file: self.file, runs, heads: BinaryHeap::new() };
        (0..sorted.runs.len()).try_for_each(|run| sorted.advance(run))?;
        Ok(sorted)
    }
}

/// A merge of sorted runs.
#[derive(Debug)]
pub(super) struct SortedTexts {
    file: File,
    runs: Vec<Run>,
    /// The first text of every run that is not over, its number, and the run.
    heads: BinaryHeap<Reverse<(Vec<u8>, u64, usize)>>,
}

impl SortedTexts {
    /// The next text and its number, if there is one.
    pub(super) fn next(&mut self) -> io::Result<Option<(Vec<u8>, u64)>> {
        let Some(Reverse((text, number, run))) = self.heads.pop() else { return Ok(None) };
        self.advance(run)?;
        Ok(Some((text, number)))
    }

    fn advance(&mut self, run: usize) -> io::Result<()> {
        if let Some((text, number)) = self.runs[run].next(&self.file)? {
            self.heads.push(Reverse((text, number, run)));
        }
        Ok(())
    }
}

/// What is left of a run.
#[derive(Debug)]
struct Run {
    /// Where it lies in the file, without what is in the block.
    place: Range<u64>,
    read_bytes: usize,
    block: Vec<u8>,
    next: usize,
}

impl Run {
    fn next(&mut self, file: &File) -> io::Result<Option<(Vec<u8>, u64)>> {
        if self.next == self.block.len() && self.place.is_empty() {
            return Ok(None);
        }
        let head = self.take(HEAD_BYTES, file)?;
        let (len, number) = head.split_at(4);
        let len = u32::from_le_bytes(len.try_into().expect("4 bytes")) as usize;
        let number = u64::from_le_bytes(number.try_into().expect("8 bytes"));
        Ok(Some((self.take(len, file)?.to_vec(), number)))
    }

    /// The next bytes.
    fn take(&mut self, len: usize, file: &File) -> io::Result<&[u8]> {
        if self.next + len > self.block.len() {
            self.block.drain(..self.next);
            self.next = 0;
            let there = usize::try_from(self.place.end - self.place.start).unwrap_or(usize::MAX);
            let more = self.read_bytes.max(len).min(there);
            let before = self.block.len();
            self.block.resize(before + more, 0);
            read_exact_at(file, &mut self.block[before..], self.place.start)?;
            self.place.start += more as u64;
        }
        self.next += len;
        Ok(&self.block[self.next - len..self.next])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_runs_come_back_as_one_sorted_list() {
        for num_texts in [0_u64, 1, 50, 20_000] {
            let mut sort = TextSort::new(tempfile::tempfile().unwrap(), 0);
            let text = |number: u64| {
                let key = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
                // Some texts are longer than what is read at a time, and some are empty.
                if key == 7 { "x".repeat(9000) } else { format!("{key:b}")[1..].to_owned() }
            };
            let mut expected: Vec<(Vec<u8>, u64)> =
                (0..num_texts).map(|number| (text(number).into_bytes(), number)).collect();
            for (text, number) in &expected {
                let (left, right) = text.split_at(text.len() / 2);
                sort.push(&[left, right], *number).unwrap();
            }
            let mut sorted = sort.finish().unwrap();
            let found: Vec<_> = std::iter::from_fn(|| sorted.next().unwrap()).collect();
            expected.sort();
            assert!(found == expected, "{num_texts} texts");
        }
    }
}
