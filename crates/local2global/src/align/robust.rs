//! Robust alignment: patch edges that do not fit lose their weight.
//!
//! Residuals of edges are weighted as those of nodes are (`outliers.rs`), and the problem is solved
//! again with the new weights until they settle, so that wrong relative rotations and whole
//! patches of nonsense do not turn their neighbours. An edge is judged first by how well its own
//! copies fit, then by how well its rotation agrees with all others. No edge falls below
//! [`MIN_TRUST`], so the patch graph stays connected and a bad patch is still placed as well as it
//! can be.
//!
//! Cost: some ten synchronisations, all but the last to a coarse tolerance.

use super::AlignError;
use super::outliers::influence;
use super::relative::Relatives;
use super::rotation::{self, RotationOptions, Rotations, chain, inconsistencies, straighten};
use super::transforms::identities;
use super::tree::total_weights;

/// No edge counts for less than this fraction of its weight.
pub const MIN_TRUST: f64 = 1e-4;

/// Reweightings of the edges, at most.
const EDGE_ROUNDS: usize = 25;

/// The weights have settled when none changes by more.
const SETTLED: f64 = 0.01;

/// The tolerance of all synchronisations but the last.
const COARSE_TOLERANCE: f64 = 1e-3;

/// Rotations, and the edge weights with which they were found.
#[derive(Clone, Debug)]
pub struct RobustRotations {
    /// The rotations.
    pub rotations: Rotations,
    /// The fraction of its weight that each edge kept.
    pub trust: Vec<f64>,
}

/// As [`rotation::synchronise`], with edges weighted by how well they agree.
///
/// # Errors
/// As [`rotation::synchronise`].
pub fn synchronise(
    relatives: &mut Relatives,
    weights: &[f64],
    options: &RotationOptions,
) -> Result<RobustRotations, AlignError> {
    let misfits: Vec<f64> = relatives.fits.iter().map(|fit| fit.misfit).collect();
    let fitting = influence(&misfits);
    let mut trust: Vec<f64> = fitting.iter().map(|value| value.max(MIN_TRUST)).collect();
    let mut frames = identities(relatives.num_patches, relatives.dim);
    for round in 0.. {
        let settled: Vec<f64> = weights.iter().zip(&trust).map(|(weight, trust)| weight * trust).collect();
        let coarse = RotationOptions { tolerance: COARSE_TOLERANCE.max(options.tolerance), ..*options };
        let found = rotation::synchronise(relatives, &settled, &coarse)?;
        chain(&mut frames, &found.matrices, relatives.dim);
        straighten(&mut frames, relatives.dim);
        straighten(&mut relatives.rotations, relatives.dim);
        let agreeing = influence(&inconsistencies(relatives));
        let next: Vec<f64> = agreeing.iter().zip(&fitting).map(|(a, b)| (a * b).max(MIN_TRUST)).collect();
        let change = next.iter().zip(&trust).map(|(new, old)| (new - old).abs()).fold(0.0, f64::max);
        trust = next;
        if change < SETTLED || round == EDGE_ROUNDS {
            break;
        }
    }
    let settled: Vec<f64> = weights.iter().zip(&trust).map(|(weight, trust)| weight * trust).collect();
    let mut rotations = rotation::synchronise(relatives, &settled, options)?;
    chain(&mut frames, &rotations.matrices, relatives.dim);
    rotations.matrices = frames;
    Ok(RobustRotations { rotations, trust })
}

/// How much of the weight of its edges each patch kept.
pub fn patch_trust(relatives: &Relatives, weights: &[f64], trust: &[f64]) -> Vec<f64> {
    let kept: Vec<f64> = weights.iter().zip(trust).map(|(weight, trust)| weight * trust).collect();
    let before = total_weights(relatives.num_patches, &relatives.edges, weights);
    let after = total_weights(relatives.num_patches, &relatives.edges, &kept);
    after.iter().zip(before).map(|(after, before)| (after / before).max(MIN_TRUST)).collect()
}
