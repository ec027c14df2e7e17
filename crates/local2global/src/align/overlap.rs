//! The nodes that patches share.
//!
//! If the patch graph is given, each of its edges is looked at once: two ascending node
//! lists are merged in `O(|Pᵢ| + |Pⱼ|)`. If not, all memberships `(node, patch)` are
//! sorted, one range of nodes after the other; the patches of one node then stand together, and each
//! pair among them shares it. That takes `O(N log N)` for `N` memberships plus the number of shared pairs, and
//! never a look at each of the `p²` pairs.
//!
//! A rotation in `d` dimensions needs `d + 1` shared nodes. An edge that was given and
//! has fewer is an error; a pair that was found and has fewer is no edge.

use std::ops::RangeInclusive;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{AlignError, LocalPatch};

/// So many memberships are sorted at a time, which takes 32 MB.
pub(super) const COPIES_AT_ONCE: usize = 1 << 21;

/// An edge of the patch graph, with the nodes that both patches hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The first patch, by index.
    pub i: u32,
    /// The second patch, larger than the first.
    pub j: u32,
    /// The rows of each shared node in both patches, in ascending order of nodes.
    pub rows: Vec<[u32; 2]>,
}

impl Overlap {
    /// The number of shared nodes.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no node is shared.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The coordinates of the shared nodes in both patches, row-major.
    ///
    /// # Errors
    /// [`AlignError::NotFinite`] if one is NaN or infinite.
    pub fn coords(&self, patches: &[LocalPatch]) -> Result<[Vec<f64>; 2], AlignError> {
        let sides = [&patches[self.i as usize], &patches[self.j as usize]];
        let mut coords = sides.map(|patch| Vec::with_capacity(self.rows.len() * patch.dim()));
        for rows in &self.rows {
            for side in 0..2 {
                sides[side].push_row(rows[side] as usize, &mut coords[side])?;
            }
        }
        Ok(coords)
    }
}

/// The overlaps of all pairs of patches that share enough nodes for a rotation.
pub fn of_all_pairs(patches: &[LocalPatch]) -> Vec<Overlap> {
    let Some(first) = patches.first() else { return Vec::new() };
    let mut pairs: Vec<(u32, u32)> = shared_counts(patches)
        .into_iter()
        .filter_map(|(pair, count)| (count as usize > first.dim()).then_some(pair))
        .collect();
    pairs.sort_unstable();
    pairs.into_par_iter().map(|(i, j)| shared_rows(patches, i, j)).collect()
}

/// The overlaps along given edges of the patch graph; an edge may stand twice or in
/// both directions.
///
/// # Errors
/// [`AlignError::Edge`] if an edge is not between two patches,
/// [`AlignError::OverlapTooSmall`] if its patches share too few nodes.
pub fn of_edges(patches: &[LocalPatch], edges: &[[u64; 2]]) -> Result<Vec<Overlap>, AlignError> {
    let num_patches = patches.len();
    let mut pairs = Vec::with_capacity(edges.len());
    for &[a, b] in edges {
        if a == b || a.max(b) >= num_patches as u64 {
            return Err(AlignError::Edge { a, b, num_patches });
        }
        pairs.push((a.min(b) as u32, a.max(b) as u32));
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs.into_par_iter().map(|(i, j)| large_enough(patches, shared_rows(patches, i, j))).collect()
}

fn large_enough(patches: &[LocalPatch], overlap: Overlap) -> Result<Overlap, AlignError> {
    let [a, b] = [overlap.i, overlap.j].map(|patch| &patches[patch as usize]);
    if overlap.len() > a.dim() {
        return Ok(overlap);
    }
    let (shared, dim) = (overlap.len(), a.dim());
    Err(AlignError::OverlapTooSmall { a: a.name().into(), b: b.name().into(), shared, dim })
}

/// The nodes that two patches share, however few: their ascending node lists are merged.
pub(super) fn shared_rows(patches: &[LocalPatch], i: u32, j: u32) -> Overlap {
    let [a, b] = [i, j].map(|patch| &patches[patch as usize]);
    let (nodes_a, nodes_b) = (a.nodes(), b.nodes());
    let mut rows = Vec::new();
    let (mut at, mut bt) = (0, 0);
    while at < nodes_a.len() && bt < nodes_b.len() {
        let (row_a, row_b) = (a.row_at(at), b.row_at(bt));
        let (node_a, node_b) = (nodes_a[row_a], nodes_b[row_b]);
        if node_a == node_b {
            rows.push([row_a as u32, row_b as u32]);
        }
        at += usize::from(node_a <= node_b);
        bt += usize::from(node_b <= node_a);
    }
    Overlap { i, j, rows }
}

/// How many nodes each pair of patches shares, for pairs that share any.
///
/// The order of the map is never used: callers sort.
fn shared_counts(patches: &[LocalPatch]) -> FxHashMap<(u32, u32), u32> {
    let mut counts = FxHashMap::default();
    for range in node_ranges(patches, COPIES_AT_ONCE) {
        let mut memberships: Vec<(u64, u32)> = (0_u32..)
            .zip(patches)
            .flat_map(|(index, patch)| nodes_in(patch, range.clone()).map(move |(node, _)| (node, index)))
            .collect();
        memberships.par_sort_unstable();
        for same_node in memberships.chunk_by(|a, b| a.0 == b.0) {
            for (position, &(_, j)) in same_node.iter().enumerate() {
                for &(_, i) in &same_node[..position] {
                    *counts.entry((i, j)).or_insert(0) += 1;
                }
            }
        }
    }
    counts
}

/// The nodes of a patch in a range, ascending, each with its row.
pub(super) fn nodes_in(
    patch: &LocalPatch,
    range: RangeInclusive<u64>,
) -> impl Iterator<Item = (u64, u32)> + '_ {
    let nodes = patch.nodes();
    patch.positions(range).map(move |position| {
        let row = patch.row_at(position);
        (nodes[row], row as u32)
    })
}

/// Ranges of nodes, ascending, that together hold all nodes, with at most `most` copies in each (or a
/// single node with more).
pub(super) fn node_ranges(patches: &[LocalPatch], most: usize) -> Vec<RangeInclusive<u64>> {
    let ends =
        |patch: &LocalPatch| Some([patch.node_at(0), patch.node_at(patch.num_nodes().checked_sub(1)?)]);
    let [first, last] = patches
        .iter()
        .filter(|patch| patch.num_nodes() > 0)
        .filter_map(ends)
        .fold([u64::MAX, 0], |[first, last], [low, high]| [first.min(low), last.max(high)]);
    let mut ranges = Vec::new();
    // The lowest range is on top.
    let mut open = if first <= last { vec![first..=last] } else { Vec::new() };
    while let Some(range) = open.pop() {
        let copies: usize = patches.par_iter().map(|patch| patch.positions(range.clone()).len()).sum();
        let (low, high) = (*range.start(), *range.end());
        if copies <= most || low == high {
            ranges.push(range);
            continue;
        }
        let middle = low + (high - low) / 2;
        open.extend([middle + 1..=high, low..=middle]);
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::Coords;

    fn patch(name: &str, nodes: &[u64]) -> LocalPatch {
        let coords = Coords::F64(vec![0.0; nodes.len()].into());
        LocalPatch::new(name, nodes.to_vec().into(), coords, 1).unwrap()
    }

    fn three() -> [LocalPatch; 3] {
        [patch("a", &[1, 2, 3, 4]), patch("b", &[9, 4, 2]), patch("c", &[9, 7, 1])]
    }

    #[test]
    fn ranges_of_nodes_hold_every_copy_once() {
        let patches = three();
        for most in [1, 2, 3, 100] {
            let ranges = node_ranges(&patches, most);
            assert!(ranges.is_sorted_by(|a, b| a.end() < b.start()));
            let copies = |range: &RangeInclusive<u64>| -> Vec<u64> {
                patches
                    .iter()
                    .flat_map(|patch| nodes_in(patch, range.clone()).map(|(node, _)| node))
                    .collect()
            };
            let mut all: Vec<u64> = ranges.iter().flat_map(copies).collect();
            all.sort_unstable();
            assert_eq!(all, [1, 1, 2, 2, 3, 4, 4, 7, 9, 9]);
            assert!(ranges.iter().all(|range| copies(range).len() <= most.max(2)), "{ranges:?}");
        }
        assert_eq!(node_ranges(&patches, 100).len(), 1);
        assert!(node_ranges(&[], 1).is_empty());
    }

    #[test]
    fn pairs_with_enough_shared_nodes_are_found() {
        let found = of_all_pairs(&three());
        assert_eq!(found, [Overlap { i: 0, j: 1, rows: vec![[1, 2], [3, 1]] }]);
    }

    #[test]
    fn given_edges_are_used_once_in_either_direction() {
        let found = of_edges(&three(), &[[1, 0], [0, 1]]).unwrap();
        assert_eq!(found, of_all_pairs(&three()));
    }

    #[test]
    fn overlap_below_dim_plus_one_is_refused() {
        let error = of_edges(&three(), &[[0, 1], [1, 2]]).unwrap_err();
        assert_eq!(error.to_string(), "patches `b` and `c` share 1 nodes; aligning in 1 dimensions needs 2");
    }

    #[test]
    fn edges_that_lead_nowhere_are_refused() {
        for edge in [[0, 3], [1, 1]] {
            let error = of_edges(&three(), &[edge]).unwrap_err();
            assert!(error.to_string().ends_with("is not between two of the 3 patches"), "{error}");
        }
    }
}
