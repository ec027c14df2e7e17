//! How much memory alignment takes, told beforehand, and how many levels keep it within a limit.
//!
//! Patches are mapped. What is held is, in bytes, for `p` patches in `d` dimensions that are joined by
//! `L` patch edges with `R` shared rows, over `n` nodes:
//!
//! ```text
//! T = 8 p d²          the motions; judging compares two to five of them
//! 8 n + 8 R           the list of nodes; the rows of each overlap, twice where motions are judged
//! 8 L d² .. 28 L d²   the rotation across each patch edge, and the matrix made of them
//! 8 T                 the eigen-solver; with levels, for one group at a time
//! 8 d u + 16 c        generalised Procrustes: centres of `u` shared nodes, places of their `c` copies
//! ```
//!
//! Centres that do not fit into the limit are held in a mapped file.

use super::{AlignConfig, AlignError, AlignMethod, LocalPatch, Overlap, centroid};
use crate::memory::{ByteSize, Room};

/// The most levels that are chosen: groups of groups of groups.
const MOST_LEVELS: usize = 3;

/// From so many patches on, node weights are read and not mapped: a process may map some 65 000 files.
pub(super) const MAPPED_PATCHES: usize = 16_000;

/// What a patch or a patch edge takes besides arrays: names, a record, a mapping.
const PATCH_BYTES: u64 = 900;
const LINK_BYTES: u64 = 400;

/// The counts on which the memory of alignment depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlignSize {
    /// The number of different nodes.
    pub nodes: usize,
    /// The number of patches.
    pub patches: usize,
    /// The number of patch edges.
    pub links: usize,
    /// The number of coordinates.
    pub dim: usize,
    /// The nodes of all patches, each as often as it is in one.
    pub copies: usize,
    /// The nodes that are in several patches.
    pub shared_nodes: usize,
    /// The nodes that two patches share, over all patch edges.
    pub shared_rows: usize,
}

impl AlignSize {
    /// The size of patches and their overlaps. How many nodes are shared is told from above.
    pub(super) fn of(patches: &[LocalPatch], overlaps: &[Overlap]) -> Self {
        let copies: usize = patches.iter().map(LocalPatch::num_nodes).sum();
        let last = patches.iter().filter(|patch| patch.num_nodes() > 0);
        let last = last.map(|patch| patch.node_at(patch.num_nodes() - 1)).max().unwrap_or(0);
        let nodes = usize::try_from(last).map_or(copies, |last| copies.min(last.saturating_add(1)));
        Self {
            nodes,
            patches: patches.len(),
            links: overlaps.len(),
            dim: patches.first().map_or(0, LocalPatch::dim),
            copies,
            shared_nodes: nodes.min(copies - nodes),
            shared_rows: overlaps.iter().map(Overlap::len).sum(),
        }
    }

    /// Checks that patches can be aligned within the limit; run folders are checked before, by their
    /// reports.
    pub(super) fn check(&self, config: &AlignConfig) -> Result<(), AlignError> {
        let (needed, limit) = (self.smallest_need(config), config.room.memory);
        match needed > limit {
            true => Err(AlignError::Memory { needed: ByteSize(needed), limit: ByteSize(limit) }),
            false => Ok(()),
        }
    }

    /// The room for the centres of shared nodes, where all else is in memory.
    pub(super) fn centre_room(&self, config: &AlignConfig, levels: usize) -> Room {
        let memory = config.room.memory.saturating_sub(self.least_bytes(config, levels));
        Room { memory, folder: config.room.folder.clone() }
    }

    /// One number for each entry of each motion.
    fn motions(&self) -> u64 {
        8 * (self.patches * self.dim * self.dim) as u64
    }

    /// About how many bytes the stage takes, with `levels` levels, where centres of shared nodes may lie
    /// in a mapped file.
    fn least_bytes(&self, config: &AlignConfig, levels: usize) -> u64 {
        let motions = self.motions();
        let judged = if config.judge { 1 } else { 0 };
        let overlaps = 8 * (1 + judged) * self.shared_rows as u64 + LINK_BYTES * self.links as u64;
        let solving = match config.method {
            // Rotations across patch edges are measured for the report, and nothing is solved.
            Some(AlignMethod::Straighten) => self.measuring_bytes(levels),
            _ => self.solving_bytes(levels),
        };
        let refining = match config.refines() {
            true => self.refining_bytes() + (1 + 3 * judged) * motions,
            false => (1 + 2 * judged) * motions,
        };
        let diagnosing = 2 * motions;
        let streaming = 3 * motions / 2 + self.streaming_bytes(1) + 4 * self.nodes as u64;
        let frames = if levels > 1 { motions } else { 0 };
        let most = (solving + frames + (1 + judged) * motions).max(refining).max(diagnosing).max(streaming);
        self.held_bytes() + overlaps + most
    }

    /// The patches, and a list of all nodes.
    fn held_bytes(&self) -> u64 {
        let weights = if self.patches > MAPPED_PATCHES { 4 * self.copies as u64 } else { 0 };
        weights + PATCH_BYTES * self.patches as u64 + 9 * self.nodes as u64
    }

    /// The rotations across patch edges, of all of them or of a group.
    fn measuring_bytes(&self, levels: usize) -> u64 {
        let links = self.group_of(self.links, levels);
        (links * (8 * self.dim * self.dim + 16 * self.dim)) as u64
    }

    /// Rotations and translations, at once or group by group.
    fn solving_bytes(&self, levels: usize) -> u64 {
        let (links, patches) = (self.group_of(self.links, levels), self.group_of(self.patches, levels));
        let size = (self.dim * self.dim) as u64;
        // Small blocks are laid side by side, which doubles them; large problems have them in single
        // precision too.
        let blocks = if self.dim <= 32 { 28 } else { 12 } * size * links as u64;
        let tall = 8 * 8 * size * patches as u64;
        let rows = (patches * self.dim) as u64;
        // A problem that is not large is decomposed as a whole.
        let is_dense = rows <= 256
            || (patches * patches) as f64 <= 60.0 * (2.0 * links as f64 / patches.max(1) as f64 + 1.5);
        let dense = if is_dense { 32 * rows * rows } else { 0 };
        self.measuring_bytes(levels) + blocks + tall.max(dense)
    }

    /// The part of a count that a group has: groups have some `p^(1/levels)` members, up to half more.
    fn group_of(&self, count: usize, levels: usize) -> usize {
        if levels <= 1 {
            return count;
        }
        let size = 1.5 * (self.patches as f64).powf(1.0 / levels as f64).ceil();
        (count as f64 * (size / self.patches.max(1) as f64).min(1.0)).ceil() as usize
    }

    /// Generalised Procrustes without its centres: the copies of shared nodes, and the rows of some
    /// patches.
    fn refining_bytes(&self) -> u64 {
        let shared_copies = (self.copies - self.nodes.min(self.copies) + self.shared_nodes) as u64;
        let patch_copies = shared_copies / self.patches.max(1) as u64;
        16 * shared_copies + 20 * 8 * self.dim as u64 * patch_copies + 8 * self.shared_nodes as u64
    }

    /// The centres of shared nodes.
    fn centre_bytes(&self) -> u64 {
        8 * (self.dim * self.shared_nodes) as u64
    }

    fn streaming_bytes(&self, at_once: usize) -> u64 {
        centroid::block_bytes(self.copies, self.nodes, self.dim) * at_once as u64
    }

    /// The fewest bytes that the stage takes: with as many levels as help, one block of nodes at a time,
    /// and centres in a mapped file.
    pub fn smallest_need(&self, config: &AlignConfig) -> u64 {
        let levels = if config.levels > 0 { config.levels } else { MOST_LEVELS };
        let flat = self.least_bytes(config, config.levels.max(1));
        flat.min(self.least_bytes(config, levels))
    }

    /// The number of levels within a limit, and one where all patches fit at once: more levels only if
    /// they are needed.
    pub fn levels_within(&self, config: &AlignConfig, limit: u64) -> usize {
        if config.levels > 0 {
            return config.levels;
        }
        let usual = super::hierarchy::choose_levels(self.patches, self.links, self.dim);
        let fits = |levels: &usize| self.least_bytes(config, *levels) <= limit;
        (usual..=MOST_LEVELS).find(fits).unwrap_or(MOST_LEVELS)
    }

    /// About how many bytes the stage takes within a limit.
    pub fn memory_bytes(&self, config: &AlignConfig, limit: u64) -> u64 {
        let least = self.least_bytes(config, self.levels_within(config, limit));
        let room = limit.saturating_sub(least);
        let centres = if config.refines() { self.centre_bytes() } else { 0 };
        let mut bytes = least;
        if config.refines() && centres <= room {
            let base = self.held_bytes() + 8 * self.shared_rows as u64;
            bytes = bytes.max(base + self.refining_bytes() + centres + 4 * self.motions());
        }
        let blocks = self.blocks_at_once(limit);
        let streaming = self.streaming_bytes(blocks) + 3 * self.motions() / 2 + 4 * self.nodes as u64;
        bytes.max(self.held_bytes() + 8 * self.shared_rows as u64 + streaming)
    }

    /// The bytes of the centres that lie in a mapped file, within a limit.
    pub fn temporary_bytes(&self, config: &AlignConfig, limit: u64) -> u64 {
        let least = self.least_bytes(config, self.levels_within(config, limit));
        let fits = self.centre_bytes() <= limit.saturating_sub(least);
        if config.refines() && !fits { self.centre_bytes() } else { 0 }
    }

    /// How many blocks of nodes are streamed at a time, within a limit.
    pub(super) fn blocks_at_once(&self, limit: u64) -> usize {
        let fixed =
            self.held_bytes() + 8 * self.shared_rows as u64 + 2 * self.motions() + 4 * self.nodes as u64;
        let most = limit.saturating_sub(fixed) / self.streaming_bytes(1).max(1);
        centroid::blocks_at_once().min(usize::try_from(most).unwrap_or(usize::MAX)).max(1)
    }
}

impl AlignConfig {
    /// Whether generalised Procrustes is asked for, and the settings leave room for it.
    pub(crate) fn refines(&self) -> bool {
        let asked = matches!(self.method, Some(AlignMethod::Procrustes | AlignMethod::Straighten));
        asked && self.rotate && self.translate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::hierarchy::choose_levels;

    /// 30 million nodes in patches of 2000, each with as many landmarks.
    fn large(dim: usize) -> AlignSize {
        AlignSize {
            nodes: 30_000_000,
            patches: 15_000,
            links: 45_000,
            dim,
            copies: 70_000_000,
            shared_nodes: 6_000_000,
            shared_rows: 96_000_000,
        }
    }

    #[test]
    fn thirty_million_nodes_are_aligned_within_four_gigabytes_by_levels() {
        let config = AlignConfig::default();
        let limit = 4 << 30;
        let levels = large(32).levels_within(&config, limit);
        assert_eq!(levels, 2);
        assert!(large(32).memory_bytes(&config, limit) <= limit);
        // Motions of 128 dimensions alone take more.
        assert!(large(128).smallest_need(&config) > limit);
    }

    #[test]
    fn without_a_limit_levels_are_the_usual_ones_and_a_setting_decides() {
        let config = AlignConfig::default();
        for dim in [8, 32, 64] {
            let size = large(dim);
            assert_eq!(
                size.levels_within(&config, u64::MAX),
                choose_levels(size.patches, size.links, size.dim)
            );
        }
        let three = AlignConfig { levels: 3, ..config };
        assert_eq!(large(32).levels_within(&three, u64::MAX), 3);
    }

    #[test]
    fn centres_that_do_not_fit_lie_in_a_file() {
        let config = AlignConfig { method: Some(AlignMethod::Straighten), ..AlignConfig::default() };
        let size =
            AlignSize { shared_nodes: 10_000_000, shared_rows: 20_000_000, copies: 45_000_000, ..large(32) };
        let limit = 3 << 30;
        assert!(size.memory_bytes(&config, limit) <= limit);
        assert_eq!(size.temporary_bytes(&config, limit), 2_560_000_000);
        assert_eq!(size.temporary_bytes(&config, u64::MAX), 0);
        assert!(size.memory_bytes(&config, u64::MAX) > 2_560_000_000);
    }
}
