//! Edges on disk, in lists by the range of their row, filled in any order.
//!
//! List `b` has the rows from `b << shift`. Every list collects a small buffer in memory; a full
//! buffer is appended to one file that all lists share, and the list remembers where. How large row
//! numbers get shows only at the end of the input, so lists begin narrow, and whenever there would be
//! more than [`MOST_LISTS`], neighbouring ones are joined in pairs: their places in the file are
//! joined too, and nothing is written again.
//!
//! Lists stay narrow enough that many fit into memory together, which evens out rows of hubs.

use std::fs::File;
use std::io;

use super::super::NodeIndex;
use crate::positioned::{read_exact_at, write_all_at};

/// There are never more lists than this.
const MOST_LISTS: usize = 2048;

/// The first lists have `1 << FIRST_SHIFT` rows.
const FIRST_SHIFT: u32 = 8;

/// One entry of a row on its way into the graph; a negative weight marks one that was mirrored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BucketEntry<I> {
    pub(super) row: I,
    pub(super) target: I,
    pub(super) weight: f32,
}

/// Part of a list that is on disk.
#[derive(Clone, Copy, Debug)]
struct Extent {
    start: u64,
    len: u32,
}

/// A list: what is on disk, and what is not yet.
#[derive(Clone, Debug, Default)]
struct Bucket<I> {
    extents: Vec<Extent>,
    pairs: Vec<[I; 2]>,
    weights: Vec<f32>,
    len: usize,
}

/// Edges on disk, in lists by the range of their row.
#[derive(Debug)]
pub(super) struct EdgeBuckets<I> {
    file: File,
    end: u64,
    weighted: bool,
    shift: u32,
    /// Entries that a list collects before they go to disk.
    capacity: usize,
    buckets: Vec<Bucket<I>>,
}

/// The entries of some neighbouring lists, read back.
#[derive(Debug)]
pub(super) struct Entries<I> {
    pairs: Vec<[I; 2]>,
    weights: Vec<f32>,
}

impl<I: NodeIndex> EdgeBuckets<I> {
    /// Lists in an empty file that buffer about `memory` bytes in all.
    pub(super) fn new(file: File, weighted: bool, memory: u64) -> Self {
        let bytes = Self::entry_bytes(weighted);
        let capacity = (memory / MOST_LISTS as u64 / bytes).clamp(64, 1 << 16) as usize;
        Self { file, end: 0, weighted, shift: FIRST_SHIFT, capacity, buckets: Vec::new() }
    }

    /// The bytes of an entry.
    fn entry_bytes(weighted: bool) -> u64 {
        2 * size_of::<I>() as u64 + if weighted { 4 } else { 0 }
    }

    /// Whether entries have weights.
    pub(super) fn is_weighted(&self) -> bool {
        self.weighted
    }

    /// The number of lists.
    pub(super) fn len(&self) -> usize {
        self.buckets.len()
    }

    /// The entries of a list.
    pub(super) fn len_of(&self, bucket: usize) -> usize {
        self.buckets[bucket].len
    }

    /// The first row of a list.
    pub(super) fn first_row(&self, bucket: usize) -> usize {
        bucket << self.shift
    }

    /// Adds an entry.
    #[inline]
    pub(super) fn push(&mut self, entry: BucketEntry<I>) -> io::Result<()> {
        let mut index = entry.row.index() >> self.shift;
        if index >= self.buckets.len() {
            self.widen_for(entry.row.index())?;
            index = entry.row.index() >> self.shift;
        }
        let bucket = &mut self.buckets[index];
        bucket.pairs.push([entry.row, entry.target]);
        if self.weighted {
            bucket.weights.push(entry.weight);
        }
        bucket.len += 1;
        match bucket.pairs.len() < self.capacity {
            true => Ok(()),
            false => flush(bucket, &self.file, &mut self.end),
        }
    }

    /// Makes room for a row beyond the last list.
    fn widen_for(&mut self, row: usize) -> io::Result<()> {
        while row >> self.shift >= MOST_LISTS {
            let narrow = std::mem::take(&mut self.buckets);
            self.shift += 1;
            for (index, mut bucket) in narrow.into_iter().enumerate() {
                match self.buckets.last_mut() {
                    Some(left) if index % 2 == 1 => left.append(&mut bucket),
                    _ => self.buckets.push(bucket),
                }
            }
            for bucket in self.buckets.iter_mut().filter(|bucket| bucket.pairs.len() >= self.capacity) {
                flush(bucket, &self.file, &mut self.end)?;
            }
        }
        self.buckets.resize_with((row >> self.shift) + 1, Bucket::default);
        Ok(())
    }

    /// Reads some neighbouring lists back.
    pub(super) fn read(&self, buckets: std::ops::Range<usize>) -> io::Result<Entries<I>> {
        let len = self.buckets[buckets.clone()].iter().map(|bucket| bucket.len).sum();
        let mut pairs = vec![[I::default(); 2]; len];
        let mut weights = vec![0.0_f32; if self.weighted { len } else { 0 }];
        let mut filled = 0;
        for bucket in &self.buckets[buckets] {
            for extent in &bucket.extents {
                let range = filled..filled + extent.len as usize;
                filled = range.end;
                let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut pairs[range.clone()]);
                read_exact_at(&self.file, bytes, extent.start)?;
                if self.weighted {
                    let start = extent.start + bytes.len() as u64;
                    read_exact_at(&self.file, bytemuck::cast_slice_mut(&mut weights[range]), start)?;
                }
            }
            let range = filled..filled + bucket.pairs.len();
            filled = range.end;
            pairs[range.clone()].copy_from_slice(&bucket.pairs);
            if self.weighted {
                weights[range].copy_from_slice(&bucket.weights);
            }
        }
        Ok(Entries { pairs, weights })
    }
}

impl<I: NodeIndex> Bucket<I> {
    fn append(&mut self, right: &mut Self) {
        self.extents.append(&mut right.extents);
        self.pairs.append(&mut right.pairs);
        self.weights.append(&mut right.weights);
        self.len += right.len;
    }
}

/// Appends the buffer of a list to the file.
fn flush<I: NodeIndex>(bucket: &mut Bucket<I>, file: &File, end: &mut u64) -> io::Result<()> {
    let parts: [&[u8]; 2] = [bytemuck::cast_slice(&bucket.pairs), bytemuck::cast_slice(&bucket.weights)];
    let start = *end;
    for part in parts {
        write_all_at(file, part, *end)?;
        *end += part.len() as u64;
    }
    bucket.extents.push(Extent { start, len: bucket.pairs.len() as u32 });
    bucket.pairs.clear();
    bucket.weights.clear();
    Ok(())
}

impl<I: NodeIndex> Entries<I> {
    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// All entries.
    pub(super) fn iter(&self) -> impl Iterator<Item = BucketEntry<I>> + Clone {
        (0..).zip(&self.pairs).map(|(index, &[row, target])| {
            let weight = self.weights.get::<usize>(index).copied().unwrap_or(1.0);
            BucketEntry { row, target, weight }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets(weighted: bool) -> EdgeBuckets<u32> {
        EdgeBuckets::new(tempfile::tempfile().unwrap(), weighted, 0)
    }

    #[test]
    fn entries_come_back_in_the_list_of_their_row_while_lists_are_joined() {
        for weighted in [false, true] {
            let mut buckets = buckets(weighted);
            // Rows jump far ahead, so that lists are joined several times.
            let rows =
                (0..30_000_u32).map(|step| step.wrapping_mul(2_654_435_761) >> (30 - step / 1200).max(4));
            let entries: Vec<BucketEntry<u32>> = (0..)
                .zip(rows)
                .map(|(target, row)| BucketEntry {
                    row,
                    target,
                    weight: if weighted { row as f32 } else { 1.0 },
                })
                .collect();
            entries.iter().for_each(|&entry| buckets.push(entry).unwrap());
            assert!(buckets.len() <= MOST_LISTS && buckets.shift > FIRST_SHIFT);
            let mut found = Vec::new();
            for bucket in 0..buckets.len() {
                let read = buckets.read(bucket..bucket + 1).unwrap();
                assert_eq!(read.len(), buckets.len_of(bucket));
                let range = buckets.first_row(bucket)..buckets.first_row(bucket + 1);
                assert!(read.iter().all(|entry| range.contains(&entry.row.index())));
                found.extend(read.iter());
            }
            found.sort_by_key(|entry| entry.target);
            assert_eq!(found, entries);
        }
    }
}
