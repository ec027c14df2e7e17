//! How large overlaps are.

/// Overlaps are at least this large unless told otherwise: fewer points fix a
/// rotation in few dimensions, but poorly.
pub(super) const USUAL_MIN_OVERLAP: usize = 32;

/// Overlaps are this large unless told otherwise, where clusters have room for it.
pub(super) const ROOMY_MIN_OVERLAP: usize = 129;

/// How many nodes joined patches share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlapBounds {
    /// At least this many, `l`.
    pub min: usize,
    /// Growing stops at this many, `u`.
    pub max: usize,
}

impl OverlapBounds {
    /// The least number of nodes that a patch takes from a neighbouring cluster, and so
    /// the least size of a cluster: `l / 2`, rounded up.
    pub fn half_min(self) -> usize {
        self.min.div_ceil(2)
    }

    /// The largest number of nodes that a patch takes from a neighbouring cluster.
    pub fn half_max(self) -> usize {
        (self.max / 2).max(self.half_min())
    }
}
