//! A new or changed patch, put into a finished frame.
//!
//! All other patches stay where they are. The nodes that the patch shares with them have places
//! already: the centres of their aligned copies, taken as the last step of the alignment takes them,
//! with the trust that robust alignment left to each patch. The motion of the patch is the one that
//! brings its own copies of these nodes nearest to those places, by the same estimate as between two
//! patches, as far as the settings let it move. As in a whole alignment, some shared nodes are left
//! out of fitting and tell how much of the motion helps.
//!
//! Then the edges of the patch are measured anew, and in robust alignment its own trust follows from
//! them; that of all others stays. So the update moves no node outside the patch.
//! Cost: one pass over the shared rows. No randomness.

use super::judge::Motion;
use super::left_out::is_left_out;
use super::outliers::{self, influence};
use super::procrustes::relative_rotation;
use super::relative::{NodeWeights, Relatives};
use super::robust::MIN_TRUST;
use super::rotation::{inconsistencies, turn_into};
use super::{
    AlignConfig, AlignError, AlignMethod, Alignment, Centroid, EdgeWeights, LocalPatch, Overlap, Transforms,
    overlap,
};
use crate::linalg::dense::{identity, multiply, view, view_mut};
use crate::linalg::lanes::squared_distance;
use crate::linalg::polar::Workspace;

/// What became of the patch.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Update {
    /// The nodes that it shares with the others.
    pub shared: usize,
    /// How it was moved.
    pub applied: Motion,
    /// Root mean square distance of its copies of them from the centres of the others.
    pub residual: f64,
    /// The largest such distance.
    pub largest: f64,
    /// The residual divided by the spread of the shared nodes: 0 is a perfect fit.
    pub misfit: f64,
    /// The fraction of its weight that robust alignment leaves it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trust: Option<f64>,
}

/// Computes the transform of patch `index` with all others held fixed, and measures its patch edges
/// anew; `alignment` must have a transform for every patch, that of this one being of no account.
///
/// # Errors
/// [`AlignError::UpdateTooSmall`] if the patch shares too few nodes with the others,
/// [`AlignError::NotFinite`] if a shared coordinate is not finite.
///
/// # Panics
/// If `alignment` has fewer transforms than there are patches.
pub fn update(
    patches: &[LocalPatch],
    index: usize,
    alignment: &mut Alignment,
    config: &AlignConfig,
) -> Result<Update, AlignError> {
    let (patch, dim) = (&patches[index], alignment.transforms.dim);
    if patch.dim() != dim {
        let (name, first) = (patch.name().into(), "of the finished frame".into());
        return Err(AlignError::Dimension { patch: name, found: patch.dim(), first, needed: dim });
    }
    let shared = shared_places(patches, index, alignment)?;
    if shared.nodes.len() <= dim {
        let shared = shared.nodes.len();
        return Err(AlignError::UpdateTooSmall { patch: patch.name().into(), shared, dim });
    }
    let applied = shared.best_motion(config)?;
    let motion = shared.fit(applied, config)?;
    alignment.transforms.set(index, motion.scales[0], &motion.rotations, &motion.translations);
    measure_edges(patches, index, alignment, config)?;
    let trust = alignment.solution.patch_trust.as_ref().map(|trust| trust[index]);
    Ok(shared.judge(&motion, applied, trust))
}

/// The nodes that a patch shares with others, ascending.
#[derive(Default)]
struct SharedNodes {
    dim: usize,
    nodes: Vec<u64>,
    /// The patch's own coordinates, row-major.
    own: Vec<f64>,
    /// The centres of the aligned copies in all other patches.
    places: Vec<f64>,
}

/// An aligned copy of a shared node in another patch.
struct OtherCopy {
    node: u64,
    own_row: u32,
    weight: f64,
    coords: Vec<f64>,
}

/// Gathers the nodes that patch `index` shares with others.
fn shared_places(
    patches: &[LocalPatch],
    index: usize,
    alignment: &Alignment,
) -> Result<SharedNodes, AlignError> {
    let (patch, dim) = (&patches[index], alignment.transforms.dim);
    let mut copies = Vec::new();
    for other in (0..patches.len()).filter(|&other| other != index) {
        let shared = overlap::shared_rows(patches, index as u32, other as u32);
        copies.extend(other_copies(patches, &shared, alignment)?);
    }
    // Stable: the copies of a node stay in the order of the patches.
    copies.sort_by_key(|copy| copy.node);
    let mut found = SharedNodes { dim, ..SharedNodes::default() };
    for same_node in copies.chunk_by(|a, b| a.node == b.node) {
        found.nodes.push(same_node[0].node);
        patch.push_row(same_node[0].own_row as usize, &mut found.own)?;
        found.places.extend(centre(same_node, alignment.centroid, dim));
    }
    Ok(found)
}

/// The aligned copies in the second patch of an overlap.
fn other_copies(
    patches: &[LocalPatch],
    overlap: &Overlap,
    alignment: &Alignment,
) -> Result<Vec<OtherCopy>, AlignError> {
    let other = &patches[overlap.j as usize];
    let trust = alignment.solution.patch_trust.as_ref().map_or(1.0, |trust| trust[overlap.j as usize]);
    let node_weights = other.weights().filter(|_| alignment.centroid == Centroid::Weighted);
    let copy = |&[own_row, row]: &[u32; 2]| {
        let (mut before, mut coords) = (Vec::with_capacity(other.dim()), vec![0.0; other.dim()]);
        other.push_row(row as usize, &mut before)?;
        alignment.transforms.apply(overlap.j as usize, &before, &mut coords);
        let weight = trust * node_weights.map_or(1.0, |weights| f64::from(weights[row as usize]));
        Ok(OtherCopy { node: other.nodes()[row as usize], own_row, weight, coords })
    };
    overlap.rows.iter().map(copy).collect()
}

/// The centre of the copies of one node, as the last step of an alignment takes it.
fn centre(copies: &[OtherCopy], centroid: Centroid, dim: usize) -> Vec<f64> {
    if centroid == Centroid::Median {
        let median = |k: usize| {
            let mut values: Vec<f64> = copies.iter().map(|copy| copy.coords[k]).collect();
            values.sort_unstable_by(f64::total_cmp);
            (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0
        };
        return (0..dim).map(median).collect();
    }
    let total: f64 = copies.iter().map(|copy| copy.weight).sum();
    let weight = |copy: &OtherCopy| if total > 0.0 { copy.weight / total } else { 1.0 / copies.len() as f64 };
    (0..dim).map(|k| copies.iter().map(|copy| weight(copy) * copy.coords[k]).sum()).collect()
}

impl SharedNodes {
    /// Some of the nodes.
    fn part(&self, is_in: impl Fn(u64) -> bool) -> Self {
        let mut part = Self { dim: self.dim, ..Self::default() };
        let rows = self.own.chunks_exact(self.dim).zip(self.places.chunks_exact(self.dim));
        for (&node, (own, place)) in self.nodes.iter().zip(rows).filter(|(node, _)| is_in(**node)) {
            part.nodes.push(node);
            part.own.extend(own);
            part.places.extend(place);
        }
        part
    }

    /// How much of the motion helps on nodes that are left out of fitting; if too few are there to
    /// tell, all that is set, or nothing for a patch that has a common frame with the others.
    fn best_motion(&self, config: &AlignConfig) -> Result<Motion, AlignError> {
        let straightens = config.method == Some(AlignMethod::Straighten) && config.rotate && config.translate;
        if !config.judge {
            return Ok(Motion::AsSet);
        }
        let (fitted, left_out) = (self.part(|node| !is_left_out(node)), self.part(is_left_out));
        if left_out.nodes.is_empty() || fitted.nodes.len() < 2 * (self.dim + 1) {
            return Ok(if straightens { Motion::None } else { Motion::AsSet });
        }
        let (mut best, mut least) = (Motion::None, f64::INFINITY);
        for motion in [Motion::None, Motion::WithoutTranslations, Motion::AsSet] {
            let apart: f64 = left_out.squared_distances(&fitted.fit(motion, config)?).iter().sum();
            if apart < least {
                (best, least) = (motion, apart);
            }
        }
        Ok(best)
    }

    /// The motion that brings the patch's copies nearest to the places, as far as it may move.
    fn fit(&self, motion: Motion, config: &AlignConfig) -> Result<Transforms, AlignError> {
        let dim = self.dim;
        let mut found = Transforms::identity(1, dim);
        if motion == Motion::None {
            return Ok(found);
        }
        let mut workspace = Workspace::new(dim);
        let rotation = &mut found.rotations;
        let fit = match config.weights {
            EdgeWeights::Robust => {
                outliers::relative_rotation(&self.own, &self.places, &mut workspace, rotation)?
            }
            EdgeWeights::Overlap | EdgeWeights::Unit => {
                relative_rotation(&self.own, &self.places, None, &mut workspace, rotation)?
            }
        };
        if !config.rotate {
            found.rotations = identity(dim);
        }
        if config.scale {
            found.scales[0] = fit.lengths[1] / fit.lengths[0].max(f64::MIN_POSITIVE);
        }
        if config.translate && motion != Motion::WithoutTranslations {
            let turned = &mut found.translations;
            let rotation = view(&found.rotations, dim, dim);
            multiply(view_mut(turned, 1, dim), view(&fit.centroids[0], 1, dim), rotation);
            let scale = found.scales[0];
            turned.iter_mut().zip(&fit.centroids[1]).for_each(|(own, place)| *own = place - scale * *own);
        }
        Ok(found)
    }

    /// The squared distance of each node, moved, from its place.
    fn squared_distances(&self, motion: &Transforms) -> Vec<f64> {
        let mut moved = vec![0.0; self.own.len()];
        motion.apply(0, &self.own, &mut moved);
        let rows = moved.chunks_exact(self.dim).zip(self.places.chunks_exact(self.dim));
        rows.map(|(a, b)| squared_distance(a, b)).collect()
    }

    fn judge(&self, motion: &Transforms, applied: Motion, trust: Option<f64>) -> Update {
        let squares = self.squared_distances(motion);
        let (sum, count) = (squares.iter().sum::<f64>(), squares.len() as f64);
        let mut middle = vec![0.0; self.dim];
        for place in self.places.chunks_exact(self.dim) {
            middle.iter_mut().zip(place).for_each(|(sum, x)| *sum += x / count);
        }
        let spread: f64 =
            self.places.chunks_exact(self.dim).map(|place| squared_distance(place, &middle)).sum();
        Update {
            shared: squares.len(),
            applied,
            residual: (sum / count).sqrt(),
            largest: squares.iter().copied().fold(0.0, f64::max).sqrt(),
            misfit: (sum / spread.max(f64::MIN_POSITIVE)).sqrt(),
            trust,
        }
    }
}

/// Measures the edges of one patch anew, and in robust alignment how far it can be trusted.
fn measure_edges(
    patches: &[LocalPatch],
    index: usize,
    alignment: &mut Alignment,
    config: &AlignConfig,
) -> Result<(), AlignError> {
    let is_own = |overlap: &Overlap| [overlap.i, overlap.j].contains(&(index as u32));
    let edges: Vec<usize> =
        (0..alignment.overlaps.len()).filter(|&edge| is_own(&alignment.overlaps[edge])).collect();
    let own: Vec<Overlap> = edges.iter().map(|&edge| alignment.overlaps[edge].clone()).collect();
    let is_robust = alignment.solution.patch_trust.is_some();
    let node_weights = if is_robust { NodeWeights::Robust } else { NodeWeights::Equal };
    let mut relatives = Relatives::of_patches(patches, &own, node_weights)?;
    turn_into(&alignment.transforms.rotations, &mut relatives);
    let turned_away = inconsistencies(&relatives);
    let solution = &mut alignment.solution;
    for ((&edge, fit), inconsistency) in edges.iter().zip(&relatives.fits).zip(turned_away) {
        solution.misfits[edge] = fit.misfit;
        solution.ranks[edge] = fit.rank;
        solution.inconsistencies[edge] = if config.rotate { inconsistency } else { 0.0 };
    }
    if let Some(patch_trust) = &mut solution.patch_trust {
        let (fitting, agreeing) = (influence(&solution.misfits), influence(&solution.inconsistencies));
        let [mut kept, mut total] = [0.0; 2];
        for (&edge, overlap) in edges.iter().zip(&own) {
            solution.trust[edge] = (fitting[edge] * agreeing[edge]).max(MIN_TRUST);
            kept += overlap.len() as f64 * solution.trust[edge];
            total += overlap.len() as f64;
        }
        patch_trust[index] = if total > 0.0 { (kept / total).max(MIN_TRUST) } else { 1.0 };
    }
    Ok(())
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
        let found = update(&known.patches, 4, &mut alignment, &config).unwrap();
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
        let config = AlignConfig::default();
        let mut alignment =
            Alignment::from_transforms(Transforms::identity(2, 1), &patches, &config).unwrap();
        let error = update(&patches, 1, &mut alignment, &config).unwrap_err();
        assert_eq!(
            error.to_string(),
            "patch `b` shares 1 nodes with the other patches; in 1 dimensions it needs 2"
        );
    }

    /// Nine patches, aligned, and then one of them turned and shifted away.
    fn turned_away(noise: f64) -> (crate::align::synthetic::KnownPatches, Alignment) {
        let graph = PatchLayout::Random;
        let seed = Seed(2);
        let mut known = SyntheticPatches { graph, num_patches: 9, dim: 4, overlap: 30, noise, seed }.make();
        let config = AlignConfig { weights: EdgeWeights::Robust, ..AlignConfig::default() };
        let alignment = align(&known.patches, None, &config, Seed(0), &Silent).unwrap();
        let turn = random_orthogonal(4, &mut Seed(5).stream(Stage::Align, 0));
        known.corrupt(Seed(1), |patch, _, coords| {
            if patch == 4 {
                *coords = moved(coords, &turn, 4);
                coords.iter_mut().for_each(|value| *value += 7.0);
            }
        });
        (known, alignment)
    }

    #[test]
    fn a_motion_that_is_switched_off_is_not_applied() {
        let (known, frame) = turned_away(0.01);
        let unmoved = Transforms::identity(1, 4);
        let with = |change: fn(&mut AlignConfig)| {
            let mut config = AlignConfig { judge: false, ..AlignConfig::default() };
            change(&mut config);
            let mut alignment = frame.clone();
            let found = update(&known.patches, 4, &mut alignment, &config).unwrap();
            (alignment.transforms, found)
        };
        let (all, found) = with(|_| ());
        assert!(found.misfit < 0.05, "{found:?}");
        let (unturned, _) = with(|config| config.rotate = false);
        assert_eq!(unturned.rotation(4), unmoved.rotation(0));
        assert_ne!(unturned.translation(4), unmoved.translation(0));
        let (unshifted, _) = with(|config| config.translate = false);
        assert_eq!(unshifted.translation(4), unmoved.translation(0));
        assert_eq!(unshifted.rotation(4), all.rotation(4));
        let (neither, _) = with(|config| (config.rotate, config.translate) = (false, false));
        assert_eq!(
            (neither.rotation(4), neither.translation(4)),
            (unmoved.rotation(0), unmoved.translation(0))
        );
        assert_eq!(all.scales[4], 1.0);
        assert_ne!(with(|config| config.scale = true).0.scales[4], 1.0);
    }

    #[test]
    fn a_patch_of_noise_loses_its_trust_and_regains_it_when_it_is_mended() {
        let (mut known, mut alignment) = turned_away(0.01);
        let config = AlignConfig { weights: EdgeWeights::Robust, ..AlignConfig::default() };
        let good = known.clone();
        known.drown_patches(|patch| patch == 4, Seed(3));
        let others: Vec<f64> = alignment.solution.patch_trust.clone().unwrap();
        let found = update(&known.patches, 4, &mut alignment, &config).unwrap();
        assert!(found.trust.unwrap() < 0.1, "{found:?}");
        let found = update(&good.patches, 4, &mut alignment, &config).unwrap();
        assert!(found.trust.unwrap() > 0.3 && found.misfit < 0.05, "{found:?}");
        let trust = alignment.solution.patch_trust.unwrap();
        assert!((0..9).filter(|&patch| patch != 4).all(|patch| trust[patch] == others[patch]));
    }
}
