//! A set of integers as a bitmap, and the rank of each: how many members are smaller.
//!
//! A bit for every possible integer, and 4 bytes for every 64 of them once ranks are asked for.
//! This numbers ids in ascending order, in two passes and without a sort.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

/// A growing set of integers.
#[derive(Clone, Debug, Default)]
pub struct IdSet {
    words: Vec<u64>,
}

impl IdSet {
    /// The members of several lists, all below `bound`, collected on all threads.
    pub fn of_lists<'a>(lists: impl IndexedParallelIterator<Item = &'a [[u32; 2]]>, bound: usize) -> Self {
        let shared: Vec<AtomicU64> = (0..bound.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        lists.for_each(|list| {
            for &id in list.iter().flatten() {
                let (word, bit) = (&shared[id as usize / 64], 1 << (id % 64));
                // Most ids have been met before; then nothing needs to be written.
                if word.load(Ordering::Relaxed) & bit == 0 {
                    word.fetch_or(bit, Ordering::Relaxed);
                }
            }
        });
        Self { words: shared.into_iter().map(AtomicU64::into_inner).collect() }
    }

    /// Adds a member.
    #[inline]
    pub fn insert(&mut self, id: usize) {
        let word = id / 64;
        if word >= self.words.len() {
            self.words.resize((word + 1).next_power_of_two(), 0);
        }
        self.words[word] |= 1 << (id % 64);
    }

    /// The bytes that it would take to hold a member.
    pub fn bytes_for(id: u64) -> u64 {
        // The vector doubles, and has its old half beside the new one while it does.
        (id / 64 + 1).next_power_of_two() * 12
    }

    /// All members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        members(&self.words)
    }

    /// The members with their ranks.
    pub fn into_ranks(self) -> Ranks {
        let mut before = Vec::with_capacity(self.words.len());
        let mut count = 0;
        for word in &self.words {
            before.push(count);
            count += word.count_ones();
        }
        Ranks { before, words: self.words, len: count as usize }
    }
}

/// A set of fewer than 2³² integers that knows how many of them are smaller than a given one.
#[derive(Clone, Debug)]
pub struct Ranks {
    words: Vec<u64>,
    /// The number of members in the words before each.
    before: Vec<u32>,
    len: usize,
}

impl Ranks {
    /// The number of members.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no id.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the largest member; 0 if there is none.
    pub fn bound(&self) -> usize {
        let last = self.words.iter().rposition(|&word| word != 0);
        last.map_or(0, |word| 64 * (word + 1) - self.words[word].leading_zeros() as usize)
    }

    /// Whether an integer is a member.
    #[inline]
    pub fn contains(&self, id: usize) -> bool {
        self.words.get(id / 64).is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    /// The number of members that are smaller.
    #[inline]
    pub fn rank(&self, id: usize) -> usize {
        let (word, bit) = (id / 64, 1_u64 << (id % 64));
        match self.words.get(word) {
            Some(bits) => self.before[word] as usize + (bits & (bit - 1)).count_ones() as usize,
            None => self.len,
        }
    }

    /// All members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        members(&self.words)
    }
}

/// The places of all bits that are set.
fn members(words: &[u64]) -> impl Iterator<Item = u64> {
    (0_u64..).zip(words).flat_map(|(word, &bits)| {
        let mut rest = bits;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros())?;
            rest &= rest - 1;
            Some(64 * word + u64::from(bit))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_count_the_smaller_members() {
        let mut set = IdSet::default();
        [130, 3, 64, 3, 0].into_iter().for_each(|id| set.insert(id));
        let ranks = set.into_ranks();
        assert_eq!(ranks.len(), 4);
        assert_eq!(ranks.iter().collect::<Vec<_>>(), [0, 3, 64, 130]);
        assert_eq!([0, 1, 4, 64, 65, 130, 5000].map(|id| ranks.rank(id)), [0, 1, 2, 2, 3, 3, 4]);
        assert!(ranks.contains(64) && !ranks.contains(65) && !ranks.contains(1 << 40));
    }
}
