//! Sparse binary features that tell the class of a node, more or less.
//!
//! Think of documents and words, as in citation graphs. The columns are shared out to
//! the classes in equal blocks. A node has Poisson(`words` - 1) + 1 words; each is
//! drawn from the block of its class with probability `signal`, else from all columns.
//! A word drawn twice counts once, so that rows are a little shorter than `words`.
//!
//! Cost: `O(words)` per node, expected.

use std::sync::Arc;

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::{FeatureSource, GenerateError, Purpose, check, check_share, poisson, rows_per_chunk};
use crate::graph::features::SparseFeatures;
use crate::seed::{Seed, Stage};

/// Settings of class-correlated binary features.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassFeatures {
    /// The number of columns, at least one per class.
    pub width: usize,
    /// The expected number of draws per node, at least 1.
    pub words: f64,
    /// The share of draws that come from the columns of the node's class, 0 to 1.
    pub signal: f64,
}

impl Default for ClassFeatures {
    /// Some 16 of 500 words; half of them speak of the class.
    fn default() -> Self {
        Self { width: 500, words: 16.0, signal: 0.5 }
    }
}

impl ClassFeatures {
    /// Checks the settings; features are drawn for nodes of the given classes.
    pub(super) fn prepare(
        &self,
        classes: Arc<[u32]>,
        num_classes: usize,
        seed: Seed,
    ) -> Result<ClassWords, GenerateError> {
        let needed = || format!("a number from the number of classes, {num_classes}, to 2^32");
        check((num_classes..=1 << 32).contains(&self.width), "features.width", self.width, needed())?;
        let words_fit = self.words >= 1.0 && self.words <= self.width as f64;
        let needed = || format!("a number from 1 to the width, {}", self.width);
        check(words_fit, "features.words", self.words, needed())?;
        check_share("features.signal", self.signal)?;
        Ok(ClassWords { settings: *self, classes, num_classes, seed: Purpose::Features.seed(seed) })
    }
}

/// Class-correlated features of given nodes, ready to be drawn.
pub(super) struct ClassWords {
    settings: ClassFeatures,
    classes: Arc<[u32]>,
    num_classes: usize,
    seed: Seed,
}

impl ClassWords {
    fn rows_per_chunk(&self) -> usize {
        rows_per_chunk(self.settings.words)
    }

    /// The columns of one node, ascending.
    fn draw_row(&self, class: usize, random: &mut impl Rng, row: &mut Vec<u32>) {
        let width = self.settings.width;
        let own = class * width / self.num_classes..(class + 1) * width / self.num_classes;
        row.clear();
        for _ in 0..1 + poisson(self.settings.words - 1.0, random) {
            let is_own = random.random_bool(self.settings.signal);
            let range = if is_own { own.clone() } else { 0..width };
            row.push(random.random_range(range) as u32);
        }
        row.sort_unstable();
        row.dedup();
    }
}

impl FeatureSource for ClassWords {
    fn width(&self) -> usize {
        self.settings.width
    }

    fn num_chunks(&self) -> usize {
        self.classes.len().div_ceil(self.rows_per_chunk())
    }

    fn chunk(&self, index: usize) -> SparseFeatures {
        let mut random = self.seed.stream(Stage::Generate, index as u64);
        let first = index * self.rows_per_chunk();
        let last = self.classes.len().min(first + self.rows_per_chunk());
        let (mut offsets, mut columns, mut row) = (vec![0], Vec::new(), Vec::new());
        for &class in &self.classes[first..last] {
            self.draw_row(class as usize, &mut random, &mut row);
            columns.extend_from_slice(&row);
            offsets.push(columns.len() as u64);
        }
        let ones = vec![1.0; columns.len()];
        SparseFeatures::new(self.width(), offsets.into(), columns.into(), ones.into())
            .expect("offsets count the columns of each row")
    }
}

/// One matrix from its rows in pieces.
pub(super) fn join(width: usize, chunks: &[SparseFeatures]) -> SparseFeatures {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for chunk in chunks {
        let start = columns.len() as u64;
        offsets.extend(chunk.offsets()[1..].iter().map(|end| start + end));
        columns.extend_from_slice(chunk.columns());
        values.extend_from_slice(chunk.values());
    }
    SparseFeatures::new(width, offsets.into(), columns.into(), values.into())
        .expect("offsets of the pieces were added up")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::NodeId;

    fn drawn(settings: ClassFeatures, num_nodes: usize) -> SparseFeatures {
        let classes: Arc<[u32]> = (0..num_nodes as u32).map(|node| node % 4).collect();
        let source = settings.prepare(classes, 4, Seed(5)).unwrap();
        let chunks: Vec<_> = (0..source.num_chunks()).map(|index| source.chunk(index)).collect();
        join(settings.width, &chunks)
    }

    #[test]
    fn rows_are_sorted_and_as_long_as_asked() {
        let settings = ClassFeatures { width: 10_000, words: 12.0, signal: 0.3 };
        let features = drawn(settings, 20_000);
        features.check_rows().unwrap();
        assert_eq!(features.offsets().len(), 20_001);
        let mean = features.values().len() as f64 / 20_000.0;
        assert!((mean - 12.0).abs() < 0.1, "mean {mean}");
    }

    #[test]
    fn the_signal_shows_in_the_columns_of_the_class() {
        let features = drawn(ClassFeatures { width: 40_000, words: 10.0, signal: 0.6 }, 10_000);
        let is_own = |node: usize, column: u32| column as usize / 10_000 == node % 4;
        let own = |node: usize| {
            let (columns, _) = features.row(NodeId::new(node));
            columns.iter().filter(|&&column| is_own(node, column)).count()
        };
        let share = (0..10_000).map(own).sum::<usize>() as f64 / features.values().len() as f64;
        // A quarter of the other draws falls there by chance.
        assert!((share - (0.6 + 0.4 / 4.0)).abs() < 0.01, "share {share}");
    }

    #[test]
    fn impossible_settings_are_refused() {
        let refused = |settings: ClassFeatures| {
            let outcome = settings.prepare(vec![0, 1, 2].into(), 3, Seed(0));
            outcome.map(|_| ()).unwrap_err().to_string()
        };
        let settings = ClassFeatures::default();
        assert!(refused(ClassFeatures { width: 2, ..settings }).starts_with("features.width is 2"));
        assert!(refused(ClassFeatures { words: 0.5, ..settings }).starts_with("features.words is 0.5"));
        assert!(refused(ClassFeatures { signal: 1.5, ..settings }).starts_with("features.signal is 1.5"));
    }
}
