//! Generalised Procrustes: all copies of all nodes at once.
//!
//! Synchronisation looks at pairs of patches, and gives every direction of an overlap the same
//! say. From its solution on, this minimises what is wanted in the end,
//!
//! ```text
//! Σ wᵢᵥ ‖xᵢᵥ Sᵢ + tᵢ - yᵥ‖²    over rotations S, translations t and centres y,
//! ```
//!
//! where `xᵢᵥ` is the copy of node `v` in patch `i`, and `w` its node weight (with a little added,
//! so that no copy is without any). In turn, `y` becomes the weighted mean of the moved copies, and
//! every patch is fitted to the centres of its nodes by Procrustes. No step makes the sum larger;
//! it ends when one hardly makes it smaller. Scales stay as they are.
//!
//! Cost: `O(N d²)` a round for `N` copies of shared nodes, and memory for one row a shared node,
//! which may lie in a mapped file, and for the copies in some patches. No randomness; sums go over patches in order.
//!
//! Source: J. Gower, "Generalized Procrustes analysis", Psychometrika 40, 1975.

use rayon::prelude::*;

use super::procrustes::relative_rotation;
use super::relative::precision_for;
use super::{AlignError, LocalPatch, Transforms, overlap};
use crate::buffer::Working;
use crate::linalg::dense::{multiply, view, view_mut};
use crate::linalg::polar::Workspace;
use crate::memory::Room;

/// Rounds, at most.
const MAX_ROUNDS: usize = 20;

/// A round that makes the sum smaller by less than this share is the last.
const LEAST_GAIN: f64 = 1e-2;

/// Added to node weights.
const LEAST_WEIGHT: f64 = 1e-3;

/// The copies of this many patches are moved in parallel, and then added up in order.
const PATCHES_AT_ONCE: usize = 16;

/// The copies of shared nodes in one patch.
struct Shared {
    rows: Vec<u32>,
    /// The place of each node among all shared ones.
    places: Vec<u32>,
    weights: Vec<f64>,
}

/// Improves the motions of all patches but those that `stay`, over the shared nodes that
/// `is_used`. Centres that take more than the room lie in a mapped file.
///
/// # Errors
/// [`AlignError::NotFinite`] if a shared node has a coordinate that is not finite,
/// [`AlignError::Room`] if there is no room for the centres.
pub(super) fn refine(
    patches: &[LocalPatch],
    transforms: &mut Transforms,
    stay: &[bool],
    weighted: bool,
    room: &Room,
    is_used: impl Fn(u64) -> bool + Sync,
) -> Result<(), AlignError> {
    let (shared, num_places) = shared_copies(patches, stay, weighted, is_used);
    let dim = transforms.dim;
    let mut centres = Working::zeros(num_places * dim, room.memory, &room.folder).map_err(|error| {
        let (bytes, folder) = (8 * (num_places * dim) as u64, room.folder.clone());
        AlignError::Room { bytes, folder, problem: error.to_string() }
    })?;
    let precision = precision_for(patches.len());
    let mut last = f64::INFINITY;
    for _ in 0..MAX_ROUNDS {
        find_centres(patches, &shared, transforms, &mut centres)?;
        let fits: Vec<Option<Fit>> = patches
            .par_iter()
            .zip(&shared)
            .enumerate()
            .map_init(
                || Workspace::with_precision(transforms.dim, precision),
                |workspace, (index, (patch, shared))| {
                    fit(patch, shared, &centres, transforms.scales[index], workspace)
                },
            )
            .collect::<Result<_, _>>()?;
        let sum: f64 = fits.iter().flatten().map(|fit| fit.rest).sum();
        for (index, fit) in fits.iter().enumerate() {
            if let Some(fit) = fit {
                transforms.set(index, transforms.scales[index], &fit.rotation, &fit.translation);
            }
        }
        if sum.is_nan() || sum > (1.0 - LEAST_GAIN) * last {
            return Ok(());
        }
        last = sum;
    }
    Ok(())
}

/// The copies of nodes that several patches hold, patch by patch, and the number of such nodes.
fn shared_copies(
    patches: &[LocalPatch],
    stay: &[bool],
    weighted: bool,
    is_used: impl Fn(u64) -> bool + Sync,
) -> (Vec<Shared>, usize) {
    let empty = || Shared { rows: Vec::new(), places: Vec::new(), weights: Vec::new() };
    let mut shared: Vec<Shared> = patches.iter().map(|_| empty()).collect();
    let mut place = 0;
    for range in overlap::node_ranges(patches, overlap::COPIES_AT_ONCE) {
        let moving = (0_u32..).zip(patches).zip(stay).filter(|(_, stays)| !**stays);
        let mut copies: Vec<(u64, u32, u32)> = moving
            .flat_map(|((index, patch), _)| {
                let rows = overlap::nodes_in(patch, range.clone()).map(move |(node, row)| (node, index, row));
                rows.filter(|copy| is_used(copy.0))
            })
            .collect();
        copies.par_sort_unstable();
        for same_node in copies.chunk_by(|a, b| a.0 == b.0).filter(|copies| copies.len() > 1) {
            for &(_, patch, row) in same_node {
                let weights = patches[patch as usize].weights().filter(|_| weighted);
                let weight = weights.map_or(1.0, |weights| f64::from(weights[row as usize]) + LEAST_WEIGHT);
                let list = &mut shared[patch as usize];
                list.rows.push(row);
                list.places.push(place);
                list.weights.push(weight);
            }
            place += 1;
        }
    }
    for list in &mut shared {
        list.rows.shrink_to_fit();
        list.places.shrink_to_fit();
        list.weights.shrink_to_fit();
    }
    (shared, place as usize)
}

/// Puts the weighted mean of the moved copies of each shared node into `sums`.
fn find_centres(
    patches: &[LocalPatch],
    shared: &[Shared],
    transforms: &Transforms,
    sums: &mut [f64],
) -> Result<(), AlignError> {
    let dim = transforms.dim;
    sums.fill(0.0);
    let mut totals = vec![0.0; sums.len() / dim];
    for first in (0..patches.len()).step_by(PATCHES_AT_ONCE) {
        let some = first..(first + PATCHES_AT_ONCE).min(patches.len());
        let moved: Vec<Vec<f64>> = some
            .clone()
            .into_par_iter()
            .map(|index| {
                let own = own_rows(&patches[index], &shared[index])?;
                let mut moved = vec![0.0; own.len()];
                transforms.apply(index, &own, &mut moved);
                Ok(moved)
            })
            .collect::<Result<_, AlignError>>()?;
        for (shared, moved) in shared[some].iter().zip(moved) {
            for ((row, &place), weight) in moved.chunks_exact(dim).zip(&shared.places).zip(&shared.weights) {
                let sum = &mut sums[place as usize * dim..][..dim];
                sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
                totals[place as usize] += weight;
            }
        }
    }
    for (sum, total) in sums.chunks_exact_mut(dim).zip(totals) {
        sum.iter_mut().for_each(|sum| *sum /= total);
    }
    Ok(())
}

fn own_rows(patch: &LocalPatch, shared: &Shared) -> Result<Vec<f64>, AlignError> {
    let mut own = Vec::with_capacity(shared.rows.len() * patch.dim());
    shared.rows.iter().try_for_each(|&row| patch.push_row(row as usize, &mut own))?;
    Ok(own)
}

/// The motion of a patch to the centres of its nodes.
struct Fit {
    rotation: Vec<f64>,
    translation: Vec<f64>,
    /// The weighted sum of squares that it leaves.
    rest: f64,
}

/// Fits a patch to the centres of its nodes; `None` if it shares too few nodes for a rotation.
fn fit(
    patch: &LocalPatch,
    shared: &Shared,
    centres: &[f64],
    scale: f64,
    workspace: &mut Workspace,
) -> Result<Option<Fit>, AlignError> {
    let dim = patch.dim();
    if shared.rows.len() <= dim {
        return Ok(None);
    }
    let own = own_rows(patch, shared)?;
    let places: Vec<f64> =
        shared.places.iter().flat_map(|&place| &centres[place as usize * dim..][..dim]).copied().collect();
    let mut rotation = vec![0.0; dim * dim];
    let found = relative_rotation(&own, &places, Some(&shared.weights), workspace, &mut rotation)?;
    let mut turned = vec![0.0; dim];
    multiply(view_mut(&mut turned, 1, dim), view(&found.centroids[0], 1, dim), view(&rotation, dim, dim));
    let translation =
        turned.iter().zip(&found.centroids[1]).map(|(own, place)| place - scale * own).collect();
    // ‖s X S - Y‖² = s² ‖X‖² + ‖Y‖² - 2 s ‖X‖ ‖Y‖ cos, and the misfit is the sine.
    let [x, y] = [scale * found.lengths[0], found.lengths[1]];
    let cosine = (1.0 - found.misfit * found.misfit).max(0.0).sqrt();
    Ok(Some(Fit { rotation, translation, rest: x * x + y * y - 2.0 * x * y * cosine }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::synthetic::{PatchLayout, SyntheticPatches, distance_up_to_rigid_motion};
    use crate::align::{AlignConfig, align};
    use crate::progress::Silent;
    use crate::seed::Seed;

    #[test]
    fn the_truth_is_found_better_where_overlaps_are_noisy() {
        let (mut before, mut after) = (0.0, 0.0);
        for seed in 0..8 {
            let graph = PatchLayout::Random;
            let known = SyntheticPatches {
                graph,
                num_patches: 20,
                dim: 4,
                overlap: 12,
                noise: 0.6,
                seed: Seed(seed),
            }
            .make();
            let config = AlignConfig { judge: false, ..Default::default() };
            let mut alignment = align(&known.patches, None, &config, Seed(0), &Silent).unwrap();
            let error = |alignment: &crate::align::Alignment| {
                let (_, coords) = alignment.embedding(&known.patches).unwrap();
                distance_up_to_rigid_motion(&coords, &known.truth, 4)
            };
            before += error(&alignment);
            let room = Room::default();
            refine(&known.patches, &mut alignment.transforms, &[false; 20], true, &room, |_| true).unwrap();
            after += error(&alignment);
        }
        assert!(after < before, "{after} {before}");
    }

    #[test]
    fn patches_that_stay_and_nodes_that_are_not_used_do_not_count() {
        let graph = PatchLayout::Random;
        let known =
            SyntheticPatches { graph, num_patches: 8, dim: 2, overlap: 20, noise: 0.3, seed: Seed(1) }.make();
        let mut transforms = Transforms::identity(8, 2);
        let stay = [true, false, false, false, true, false, false, false];
        let room = Room::default();
        refine(&known.patches, &mut transforms, &stay, false, &room, |node| node % 2 == 0).unwrap();
        // Centres in a mapped file are the same centres.
        let mut within = Transforms::identity(8, 2);
        let none = Room { memory: 0, ..room };
        refine(&known.patches, &mut within, &stay, false, &none, |node| node % 2 == 0).unwrap();
        assert_eq!(within, transforms);
        let unmoved = Transforms::identity(1, 2);
        assert_eq!(transforms.rotation(4), unmoved.rotation(0));
        assert_ne!(transforms.rotation(1), unmoved.rotation(0));
    }
}
