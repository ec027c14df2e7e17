//! A new or changed patch, put into a finished frame.
//!
//! All other patches stay where they are. The nodes that the patch shares with them have
//! places already: the mean of their aligned copies. The motion of the patch is the
//! one that brings its own copies of these nodes nearest to those places, by the same
//! estimate as between two patches. Cost: one pass over the shared rows.
//! No randomness.

use std::collections::BTreeMap;

use super::procrustes::relative_rotation;
use super::{AlignConfig, AlignError, EdgeWeights, LocalPatch, Transforms, outliers};
use crate::linalg::dense::{multiply, view, view_mut};
use crate::linalg::polar::Workspace;

/// What became of the patch.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Update {
    /// The nodes that it shares with the others.
    pub shared: usize,
    /// Root mean square distance of its copies of them from the means of the others.
    pub residual: f64,
    /// The largest such distance.
    pub largest: f64,
    /// The residual by the spread of the shared nodes: 0 is a perfect fit.
    pub misfit: f64,
}

/// Computes the transform of patch `index` with all others held fixed, and puts it into
/// `transforms`; a patch behind the last is added.
///
/// # Errors
/// [`AlignError::UpdateTooSmall`] if the patch shares too few nodes with the others,
/// [`AlignError::NotFinite`] if a shared coordinate is not finite.
///
/// # Panics
/// If `transforms` has fewer entries than there are other patches.
pub fn update(
    patches: &[LocalPatch],
    index: usize,
    transforms: &mut Transforms,
    config: &AlignConfig,
) -> Result<Update, AlignError> {
    let patch = &patches[index];
    let dim = transforms.dim;
    if patch.dim() != dim {
        let (patch, first) = (patch.name().into(), "of the finished frame".into());
        return Err(AlignError::Dimension { patch, found: patches[index].dim(), first, needed: dim });
    }
    let (own, places) = shared_places(patches, index, transforms)?;
    let shared = own.len() / dim;
    if shared <= dim {
        return Err(AlignError::UpdateTooSmall { patch: patch.name().into(), shared, dim });
    }
    let mut rotation = vec![0.0; dim * dim];
    let mut workspace = Workspace::new(dim);
    let fit = match config.weights {
        EdgeWeights::Robust => outliers::relative_rotation(&own, &places, &mut workspace, &mut rotation)?,
        _ => relative_rotation(&own, &places, None, &mut workspace, &mut rotation)?,
    };
    let scale = if config.scale { fit.lengths[1] / fit.lengths[0].max(f64::MIN_POSITIVE) } else { 1.0 };
    let mut turned = vec![0.0; dim];
    multiply(view_mut(&mut turned, 1, dim), view(&fit.centroids[0], 1, dim), view(&rotation, dim, dim));
    let translation: Vec<f64> =
        turned.iter().zip(&fit.centroids[1]).map(|(own, place)| place - scale * own).collect();
    transforms.set(index, scale, &rotation, &translation);
    Ok(judge(index, transforms, &own, &places, fit.lengths[1]))
}

/// The patch's own coordinates of the nodes it shares, and the mean of their other,
/// aligned copies; row-major, in ascending order of nodes.
fn shared_places(
    patches: &[LocalPatch],
    index: usize,
    transforms: &Transforms,
) -> Result<(Vec<f64>, Vec<f64>), AlignError> {
    let (patch, dim) = (&patches[index], transforms.dim);
    let mut sums: BTreeMap<usize, (f64, Vec<f64>)> = BTreeMap::new();
    for (other, neighbor) in patches.iter().enumerate().filter(|&(other, _)| other != index) {
        for position in 0..patch.num_nodes() {
            let node = patch.node_at(position);
            let Some(there) = neighbor.positions(node..=node).next() else { continue };
            let (mut row, mut moved) = (Vec::with_capacity(dim), vec![0.0; dim]);
            neighbor.push_row(neighbor.row_at(there), &mut row)?;
            transforms.apply(other, &row, &mut moved);
            let (count, sum) = sums.entry(position).or_insert_with(|| (0.0, vec![0.0; dim]));
            *count += 1.0;
            sum.iter_mut().zip(moved).for_each(|(sum, value)| *sum += value);
        }
    }
    let (mut own, mut places) = (Vec::new(), Vec::new());
    for (position, (count, sum)) in sums {
        patch.push_row(patch.row_at(position), &mut own)?;
        places.extend(sum.iter().map(|value| value / count));
    }
    Ok((own, places))
}

fn judge(index: usize, transforms: &Transforms, own: &[f64], places: &[f64], length: f64) -> Update {
    let dim = transforms.dim;
    let mut moved = vec![0.0; own.len()];
    transforms.apply(index, own, &mut moved);
    let squares: Vec<f64> = moved
        .chunks_exact(dim)
        .zip(places.chunks_exact(dim))
        .map(|(a, b)| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum())
        .collect();
    let sum: f64 = squares.iter().sum();
    Update {
        shared: squares.len(),
        residual: (sum / squares.len() as f64).sqrt(),
        largest: squares.iter().copied().fold(0.0, f64::max).sqrt(),
        misfit: sum.sqrt() / length.max(f64::MIN_POSITIVE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::align;
    use crate::align::synthetic::{PatchLayout, SyntheticPatches, distance_up_to_rigid_motion, moved};
    use crate::linalg::polar::random_orthogonal;
    use crate::progress::Silent;
    use crate::seed::{Seed, Stage};

    #[test]
    fn a_patch_that_was_turned_away_comes_back() {
        let recipe = SyntheticPatches {
            graph: PatchLayout::Random,
            num_patches: 9,
            dim: 4,
            overlap: 12,
            noise: 0.0,
            seed: Seed(2),
        };
        let mut known = recipe.make();
        let config = AlignConfig::default();
        let mut alignment = align(&known.patches, None, &config, Seed(0), &Silent).unwrap();
        let turn = random_orthogonal(4, &mut Seed(5).stream(Stage::Align, 0));
        known.corrupt(Seed(1), |patch, _, coords| {
            if patch == 4 {
                *coords = moved(coords, &turn, 4);
                coords.iter_mut().for_each(|value| *value += 7.0);
            }
        });
        let found = update(&known.patches, 4, &mut alignment.transforms, &config).unwrap();
        assert!(found.residual < 1e-10 && found.shared >= 12, "{found:?}");
        let (_, coords) = alignment.embedding(&known.patches).unwrap();
        assert!(distance_up_to_rigid_motion(&coords, &known.truth, 4) < 1e-10);
    }

    #[test]
    fn a_patch_without_shared_nodes_is_refused() {
        let patch = |name: &str, nodes: [u64; 3]| {
            let coords = crate::align::Coords::F64(vec![0.0, 1.0, 2.0].into());
            LocalPatch::new(name, nodes.to_vec().into(), coords, 1).unwrap()
        };
        let patches = [patch("a", [1, 2, 3]), patch("b", [3, 4, 5])];
        let mut transforms = Transforms::identity(2, 1);
        let error = update(&patches, 1, &mut transforms, &AlignConfig::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "patch `b` shares 1 nodes with the other patches; in 1 dimensions it needs 2"
        );
    }
}
