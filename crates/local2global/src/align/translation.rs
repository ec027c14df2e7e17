//! All translations, by least squares over the patch graph.
//!
//! Along a patch edge the two copies of the shared nodes should have the same mean. With
//! `mᵢⱼ` the mean of patch `i`'s copies, rotated and scaled, over the overlap with `j`,
//!
//! ```text
//! minimise Σ ωᵢⱼ ‖(Tᵢ + mᵢⱼ) - (Tⱼ + mⱼᵢ)‖²
//! ```
//!
//! over the translations `T`. The normal equations are one system with the Laplacian
//! of the patch graph for all coordinates at once; of the solutions, which differ by a
//! common shift, the one of smallest norm is taken.
//!
//! Cost: one sparse Cholesky factor of a p x p matrix. No randomness.
//! Source: section 3.2 of the paper.

use super::Transforms;
use super::relative::Relatives;
use crate::linalg::dense::{view, view_mut};
use crate::linalg::lanes::squared_norm;
use crate::linalg::laplacian::{Cholesky, NotPositiveDefinite};

/// Rounds of least squares, each on what the one before left.
const ROUNDS: usize = 2;

/// The values per patch, `columns` each and with mean zero, whose differences along the
/// edges are nearest to the given ones: `value_i - value_j ≈ difference_ij`.
pub(super) fn from_differences(
    num_patches: usize,
    edges: &[(u32, u32)],
    weights: &[f64],
    differences: &[f64],
    columns: usize,
) -> Result<Vec<f64>, NotPositiveDefinite> {
    let factor = factored(num_patches, edges, weights)?;
    let mut values = vec![0.0; num_patches * columns];
    // The second round starts from what the first leaves along the edges: on a long ring
    // the system is so ill-conditioned that one round loses half of the digits.
    for _ in 0..ROUNDS {
        let mut step = vec![0.0; num_patches * columns];
        for ((&(i, j), weight), difference) in
            edges.iter().zip(weights).zip(differences.chunks_exact(columns))
        {
            let [i, j] = [i, j].map(|patch| patch as usize * columns);
            for (k, value) in difference.iter().enumerate() {
                let rest = weight * (value - (values[i + k] - values[j + k]));
                step[i + k] += rest;
                step[j + k] -= rest;
            }
        }
        factor.solve(&mut step);
        values.iter_mut().zip(step).for_each(|(value, step)| *value += step);
    }
    for k in 0..columns {
        let mean = values.iter().skip(k).step_by(columns).sum::<f64>() / num_patches as f64;
        values.iter_mut().skip(k).step_by(columns).for_each(|value| *value -= mean);
    }
    Ok(values)
}

/// The factored Laplacian of the patch graph; in its solutions the first patch stays at zero.
pub(super) fn factored(
    num_patches: usize,
    edges: &[(u32, u32)],
    weights: &[f64],
) -> Result<Cholesky, NotPositiveDefinite> {
    let mut diagonal = super::tree::total_weights(num_patches, edges, weights);
    // The equations add up to zero, so holding the first patch with a spring of any
    // strength puts it at zero and changes nothing else.
    diagonal[0] += weights.iter().copied().fold(1e-300, f64::max);
    Cholesky::new(&diagonal, edges, weights)
}

/// The translation of each patch, row-major, given its rotation and scale.
///
/// # Errors
/// [`NotPositiveDefinite`] if the patch graph is disconnected.
pub fn translations(
    relatives: &Relatives,
    weights: &[f64],
    rotations: &[f64],
    scales: &[f64],
) -> Result<Vec<f64>, NotPositiveDefinite> {
    let differences = differences(relatives, rotations, scales);
    from_differences(relatives.num_patches, &relatives.edges, weights, &differences, relatives.dim)
}

/// How far translations are from the least-squares solution: the residual of the normal equations,
/// divided by their right-hand side.
pub(super) fn residual(relatives: &Relatives, weights: &[f64], transforms: &Transforms) -> f64 {
    let (dim, mut rest) = (relatives.dim, vec![0.0; transforms.translations.len()]);
    let mut right = rest.clone();
    let differences = differences(relatives, &transforms.rotations, &transforms.scales);
    let edges = relatives.edges.iter().zip(weights).zip(differences.chunks_exact(dim));
    for ((&(i, j), weight), difference) in edges {
        let [i, j] = [i, j].map(|patch| patch as usize);
        let apart = transforms.translation(i).iter().zip(transforms.translation(j)).map(|(a, b)| a - b);
        for (k, (value, apart)) in difference.iter().zip(apart).enumerate() {
            for (sums, term) in [(&mut rest, weight * (value - apart)), (&mut right, weight * value)] {
                sums[i * dim + k] += term;
                sums[j * dim + k] -= term;
            }
        }
    }
    (squared_norm(&rest) / squared_norm(&right).max(f64::MIN_POSITIVE)).sqrt()
}

/// The difference of the means of shared nodes along each edge, rotated and scaled.
fn differences(relatives: &Relatives, rotations: &[f64], scales: &[f64]) -> Vec<f64> {
    let dim = relatives.dim;
    let mut differences = Vec::with_capacity(relatives.num_edges() * dim);
    let mut moved = [vec![0.0; dim], vec![0.0; dim]];
    for (&(i, j), fit) in relatives.edges.iter().zip(&relatives.fits) {
        for ((moved, centroid), patch) in moved.iter_mut().zip(&fit.centroids).zip([i, j]) {
            let rotation = view(&rotations[patch as usize * dim * dim..][..dim * dim], dim, dim);
            crate::linalg::dense::multiply(view_mut(moved, 1, dim), view(centroid, 1, dim), rotation);
            moved.iter_mut().for_each(|value| *value *= scales[patch as usize]);
        }
        differences.extend(moved[1].iter().zip(&moved[0]).map(|(mean_j, mean_i)| mean_j - mean_i));
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consistent_differences_are_reproduced_around_zero() {
        let truth = [[3.0, 1.0], [-1.0, 0.5], [4.0, 2.0], [0.0, 0.0]];
        let edges = [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)];
        let differences: Vec<f64> = edges
            .iter()
            .flat_map(|&(i, j)| (0..2).map(move |k| truth[i as usize][k] - truth[j as usize][k]))
            .collect();
        let values = from_differences(4, &edges, &[1.0, 2.0, 3.0, 4.0, 5.0], &differences, 2).unwrap();
        let means = [1.5, 0.875];
        for patch in 0..4 {
            for k in 0..2 {
                assert!((values[patch * 2 + k] - (truth[patch][k] - means[k])).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_heavy_edge_decides_between_contradictions() {
        let edges = [(0, 1), (0, 1)];
        let values = from_differences(2, &edges, &[1e6, 1.0], &[2.0, 4.0], 1).unwrap();
        assert!((values[0] - values[1] - 2.0).abs() < 1e-5);
    }
}
