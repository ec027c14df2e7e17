//! The one source of chance.
//!
//! A run has one seed. Every piece of work, such as growing one patch, draws from
//! its own generator, derived from the seed, the stage and the index of the piece.
//! So a piece comes out the same on one thread, on sixteen, in any order, or when
//! another machine redoes it.
//!
//! The generator is ChaCha with 8 rounds: the seed and the stage make the key, the
//! index selects the stream, and distinct streams of one key never overlap.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// The seed of a run: the same seed and settings give the same bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

/// What a generator is used for. Two uses never share numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
#[non_exhaustive]
pub enum Stage {
    /// Synthetic graphs.
    Generate = 1,
    /// Splitting the graph into clusters.
    Partition = 2,
    /// Sampling the edges of the patch graph.
    Sparsify = 3,
    /// Growing clusters into overlapping patches.
    Overlap = 4,
    /// Training local embeddings.
    Embed = 5,
    /// Stitching local embeddings together.
    Align = 6,
    /// Drawing samples and splits for scores.
    Evaluate = 7,
    /// Drawing landmarks, nodes that every patch holds.
    Landmarks = 10,
    /// Putting nodes into the plane.
    Layout = 11,
}

impl Seed {
    /// The generator for one piece of work, such as growing one patch.
    ///
    /// # Examples
    /// ```
    /// use l2g_graph::seed::{Seed, Stage};
    /// use rand::Rng;
    ///
    /// let mut first = Seed(7).stream(Stage::Overlap, 0);
    /// let mut again = Seed(7).stream(Stage::Overlap, 0);
    /// let mut other = Seed(7).stream(Stage::Overlap, 1);
    /// let number = first.next_u64();
    /// assert_eq!(number, again.next_u64());
    /// assert_ne!(number, other.next_u64());
    /// ```
    pub fn stream(self, stage: Stage, index: u64) -> ChaCha8Rng {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.0.to_le_bytes());
        key[8..16].copy_from_slice(&(stage as u64).to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(index);
        generator
    }

    /// A seed of its own for one piece of work that draws from streams again,
    /// such as one of several training runs of a patch.
    pub fn child(self, stage: Stage, index: u64) -> Self {
        Self(self.stream(stage, index).next_u64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_stage_and_index() {
        let draw = |seed: u64, stage, index| Seed(seed).stream(stage, index).next_u64();
        let reference = draw(1, Stage::Embed, 0);
        assert_eq!(reference, draw(1, Stage::Embed, 0));
        assert_ne!(reference, draw(2, Stage::Embed, 0));
        assert_ne!(reference, draw(1, Stage::Align, 0));
        assert_ne!(reference, draw(1, Stage::Embed, 1));
    }

    #[test]
    fn children_are_seeds_of_their_own() {
        let children: Vec<_> = (0..100).map(|run| Seed(3).child(Stage::Embed, run).0).collect();
        let mut distinct = children.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), children.len());
    }
}
