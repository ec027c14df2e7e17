//! Shared nodes that are left out of fitting, and how well motions fit them.
//!
//! The nodes are chosen by a hash, so that a node is left out of all overlaps or of none. Motions
//! are judged by
//!
//! ```text
//! misfit² = Σ w ‖copy in i - copy in j‖² / Σ w (‖copy in i - centre‖² + ‖copy in j - centre‖²)
//! ```
//!
//! over the left-out nodes of all patch edges, with the centres of each edge: 0 if copies agree, 1 if
//! they have nothing to do with each other, more if patches lie apart. `w` is the product of the node
//! weights where those count for the mean of copies. The misfit squared is the share of the variance
//! of copies that stays unexplained.

use rayon::prelude::*;

use super::{AlignError, LocalPatch, Overlap, Transforms};
use crate::linalg::lanes::squared_distance;

/// One node in this many is left out.
const LEFT_OUT: u64 = 5;

/// A misfit below this is rounding error, whatever it was before.
const NEGLIGIBLE: f64 = 1e-9;

/// Judges motions by the nodes of overlaps.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) patches: &'a [LocalPatch],
    /// Whether node weights count.
    pub(super) weighted: bool,
}

impl Judge<'_> {
    /// The misfit over all overlaps.
    pub(super) fn misfit(&self, overlaps: &[Overlap], transforms: &Transforms) -> Result<f64, AlignError> {
        let moved = [Some(transforms); 2];
        let sums: Vec<Sums> =
            overlaps.par_iter().map(|overlap| self.sums(overlap, moved)).collect::<Result<_, _>>()?;
        let [apart, spread] = sums.iter().fold([0.0; 2], |[a, b], sums| [a + sums.apart, b + sums.spread]);
        Ok(if spread > 0.0 { (apart / spread).sqrt() } else { 0.0 })
    }

    /// The patches whose own motion, among others that are moved, makes their overlaps fit worse.
    pub(super) fn not_helped(
        &self,
        overlaps: &[Overlap],
        transforms: &Transforms,
        stay: &[bool],
    ) -> Result<Vec<usize>, AlignError> {
        let moved = Some(transforms);
        let tried = [[moved, moved], [None, moved], [moved, None]];
        let sums: Vec<[Sums; 3]> = overlaps
            .par_iter()
            .map(|overlap| {
                let [both, second, first] = tried.map(|moves| self.sums(overlap, moves));
                Ok([both?, second?, first?])
            })
            .collect::<Result<_, AlignError>>()?;
        let mut apart = vec![[0.0; 3]; self.patches.len()];
        for (overlap, [both, second, first]) in overlaps.iter().zip(&sums) {
            for (patch, unmoved) in [(overlap.i, second), (overlap.j, first)] {
                let sums = &mut apart[patch as usize];
                *sums = [sums[0] + both.apart, sums[1] + unmoved.apart, sums[2] + both.spread];
            }
        }
        let is_worse = |&patch: &usize| {
            let [with, without, spread] = apart[patch];
            !stay[patch] && without < with && with > NEGLIGIBLE * NEGLIGIBLE * spread
        };
        Ok((0..self.patches.len()).filter(is_worse).collect())
    }

    /// What an overlap adds to the misfit if its patches are moved, or not.
    fn sums(&self, overlap: &Overlap, moves: [Option<&Transforms>; 2]) -> Result<Sums, AlignError> {
        let dim = self.patches[0].dim();
        let mut copies = overlap.coords(self.patches)?;
        for ((rows, patch), transforms) in copies.iter_mut().zip([overlap.i, overlap.j]).zip(moves) {
            if let Some(transforms) = transforms {
                let mut moved = vec![0.0; rows.len()];
                transforms.apply(patch as usize, rows, &mut moved);
                *rows = moved;
            }
        }
        let weights = self.weights(overlap);
        let pairs = copies[0].chunks_exact(dim).zip(copies[1].chunks_exact(dim));
        let apart = pairs.zip(&weights).map(|((a, b), weight)| weight * squared_distance(a, b)).sum();
        Ok(Sums { apart, spread: copies.iter().map(|rows| about_centre(rows, &weights, dim)).sum() })
    }

    /// The weight of each node of an overlap.
    fn weights(&self, overlap: &Overlap) -> Vec<f64> {
        let [a, b] = [overlap.i, overlap.j].map(|patch| self.patches[patch as usize].weights());
        match (a, b) {
            (Some(a), Some(b)) if self.weighted => {
                let product =
                    |rows: &[u32; 2]| f64::from(a[rows[0] as usize]) * f64::from(b[rows[1] as usize]);
                overlap.rows.iter().map(product).collect()
            }
            _ => vec![1.0; overlap.len()],
        }
    }
}

/// Sums over the nodes of an overlap.
#[derive(Clone, Copy)]
struct Sums {
    /// Squared distances between copies.
    apart: f64,
    /// Squared distances of copies from the centre of their patch's copies.
    spread: f64,
}

/// The weighted sum of squared distances from the weighted mean.
fn about_centre(points: &[f64], weights: &[f64], dim: usize) -> f64 {
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return 0.0;
    }
    let mut centre = vec![0.0; dim];
    for (point, weight) in points.chunks_exact(dim).zip(weights) {
        centre.iter_mut().zip(point).for_each(|(sum, x)| *sum += weight * x / total);
    }
    let rows = points.chunks_exact(dim).zip(weights);
    rows.map(|(point, weight)| weight * squared_distance(point, &centre)).sum()
}

/// Whether a node is left out of fitting: one in [`LEFT_OUT`], the same in all overlaps.
pub(super) fn is_left_out(node: u64) -> bool {
    // The last steps of splitmix64, which spread neighbouring numbers over all residues.
    let mut hash = node.wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (hash ^ (hash >> 31)).is_multiple_of(LEFT_OUT)
}

/// The nodes of an overlap that are fitted, and those that are left out. If too few would be fitted,
/// no node is left out.
pub(super) fn split(patches: &[LocalPatch], overlap: &Overlap) -> (Overlap, Overlap) {
    let first = &patches[overlap.i as usize];
    let (left_out, fitted): (Vec<[u32; 2]>, Vec<[u32; 2]>) =
        overlap.rows.iter().partition(|rows| is_left_out(first.nodes()[rows[0] as usize]));
    let with_rows = |rows| Overlap { i: overlap.i, j: overlap.j, rows };
    match fitted.len() < 2 * (first.dim() + 1) {
        true => (overlap.clone(), with_rows(Vec::new())),
        false => (with_rows(fitted), with_rows(left_out)),
    }
}
