//! Robust alignment: what does not fit loses its weight.
//!
//! Least squares follows outliers. Here residuals `r` are weighted by
//!
//! ```text
//! φ(r) = 1 / (1 + (r / c)²)²,    c = three times the median residual
//! ```
//!
//! (Geman and McClure 1985), and the problem is solved again with the new weights until
//! they settle. It is done twice: for the nodes of each overlap, so that outlying nodes
//! do not turn the relative rotation, and for the edges of the patch graph, so that
//! wrong relative rotations and whole patches of nonsense do not turn their neighbours. An
//! edge is judged first by how well its own copies fit, then by how well its rotation
//! agrees with all others. No edge falls below [`MIN_TRUST`], so the patch graph stays
//! connected and a bad patch is still placed as well as it can be.
//!
//! Cost: some ten synchronisations, all but the last to a coarse tolerance.
//!
//! Source: S. Geman, D. McClure, "Bayesian image analysis", Proc. Amer. Stat. Assoc.
//! Stat. Comput. Section, 1985.

use super::AlignError;
use super::procrustes::{self, Procrustes};
use super::relative::Relatives;
use super::rotation::{self, RotationOptions, Rotations, chain, inconsistencies, straighten};
use super::tree::total_weights;
use crate::linalg::dense::{DenseError, multiply, view, view_mut};
use crate::linalg::polar::Workspace;

/// No edge counts for less than this fraction of its weight.
pub const MIN_TRUST: f64 = 1e-4;

/// Residuals below this are taken as noise, even if the median is smaller.
const MIN_RESIDUAL: f64 = 1e-7;

/// Reweightings of the nodes of an overlap.
const NODE_ROUNDS: usize = 6;

/// Reweightings of the edges, at most.
const EDGE_ROUNDS: usize = 25;

/// The weights have settled when none changes by more.
const SETTLED: f64 = 0.01;

/// The tolerance of all synchronisations but the last.
const COARSE_TOLERANCE: f64 = 1e-3;

/// The weight of each residual.
fn influence(residuals: &[f64]) -> Vec<f64> {
    let scale = (3.0 * median(residuals)).max(MIN_RESIDUAL);
    residuals.iter().map(|residual| (1.0 + (residual / scale).powi(2)).powi(-2)).collect()
}

/// The middle value; of an even number, the upper of the two.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// As [`procrustes::relative_rotation`], with nodes weighted by how well they fit.
///
/// # Errors
/// [`DenseError`] if a coordinate is NaN or infinite.
pub fn relative_rotation(
    xi: &[f64],
    xj: &[f64],
    workspace: &mut Workspace,
    rotation: &mut [f64],
) -> Result<Procrustes, DenseError> {
    let mut fit = procrustes::relative_rotation(xi, xj, None, workspace, rotation)?;
    for _ in 0..NODE_ROUNDS {
        let weights = influence(&node_residuals(xi, xj, &fit, rotation));
        fit = procrustes::relative_rotation(xi, xj, Some(&weights), workspace, rotation)?;
    }
    Ok(fit)
}

/// The distance of the two copies of each node, after the fit.
fn node_residuals(xi: &[f64], xj: &[f64], fit: &Procrustes, rotation: &[f64]) -> Vec<f64> {
    let dim = rotation.len().isqrt();
    let rows = xi.len() / dim;
    let centred: Vec<f64> = xj
        .chunks_exact(dim)
        .flat_map(|x| x.iter().zip(&fit.centroids[1]).map(|(x, mean)| x - mean))
        .collect();
    let mut turned = vec![0.0; xj.len()];
    let back = view(rotation, dim, dim).transpose();
    multiply(view_mut(&mut turned, rows, dim), view(&centred, rows, dim), back);
    let scale = fit.lengths[0] / fit.lengths[1].max(f64::MIN_POSITIVE);
    xi.chunks_exact(dim)
        .zip(turned.chunks_exact(dim))
        .map(|(xi, xj)| {
            let parts =
                xi.iter().zip(&fit.centroids[0]).zip(xj).map(|((xi, mean), xj)| xi - mean - scale * xj);
            parts.map(|part| part * part).sum::<f64>().sqrt()
        })
        .collect()
}

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
    let mut frames = rotation::identities(relatives.num_patches, relatives.dim);
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

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::seed::{Seed, Stage};

    #[test]
    fn outliers_lose_their_influence() {
        let weights = influence(&[1.0, 1.1, 0.9, 1.0, 50.0]);
        assert!(weights[..4].iter().all(|&weight| weight > 0.7));
        assert!(weights[4] < 1e-4);
        assert!(influence(&[0.0, 0.0]).iter().all(|&weight| weight == 1.0));
    }

    #[test]
    fn outlying_nodes_do_not_turn_the_rotation() {
        let mut random = Seed(1).stream(Stage::Align, 0);
        let mut gaussian = || random.sample::<f64, _>(rand_distr::StandardNormal);
        let xj: Vec<f64> = (0..60).map(|_| gaussian()).collect();
        let mut xi = xj.clone();
        xi[..12].iter_mut().for_each(|value| *value = 5.0 * gaussian());
        let mut rotation = vec![0.0; 9];
        relative_rotation(&xi, &xj, &mut Workspace::new(3), &mut rotation).unwrap();
        assert!((0..3).all(|k| (rotation[k * 4] - 1.0).abs() < 1e-4), "{rotation:?}");
    }
}
