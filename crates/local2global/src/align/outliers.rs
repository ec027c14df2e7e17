//! Outlying nodes of an overlap: what does not fit loses its weight.
//!
//! Least squares follows outliers. Here residuals `r` are weighted by
//!
//! ```text
//! φ(r) = 1 / (1 + (r / c)²)²,    c = three times the median residual
//! ```
//!
//! (Geman and McClure 1985), and the rotation is fitted again with the new weights, a few times.
//! The edges of the patch graph are weighted in the same way, by `robust.rs`.
//!
//! Source: S. Geman, D. McClure, "Bayesian image analysis", Proc. Amer. Stat. Assoc.
//! Stat. Comput. Section, 1985.

use super::procrustes::{self, Procrustes};
use crate::linalg::dense::{DenseError, multiply, view, view_mut};
use crate::linalg::polar::Workspace;

/// Residuals below this are taken as noise, even if the median is smaller.
const MIN_RESIDUAL: f64 = 1e-7;

/// Reweightings of the nodes of an overlap.
const NODE_ROUNDS: usize = 6;

/// The weight of each residual.
pub(super) fn influence(residuals: &[f64]) -> Vec<f64> {
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
pub(super) fn relative_rotation(
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
