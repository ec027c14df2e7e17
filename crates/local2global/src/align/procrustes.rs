//! The rotation between two patches, estimated from the nodes they share.
//!
//! Patches `i` and `j` hold two copies of their shared nodes, each in its own
//! coordinate system. Centred, the copies differ by one orthogonal matrix and
//! noise. Its least-squares estimate (Horn et al. 1988) is, with `Xᵢᵀ Xⱼ = U Σ Vᵀ`,
//!
//! ```text
//! Rᵢⱼ = U Vᵀ,    the orthogonal R that minimises ‖Xᵢ - Xⱼ Rᵀ‖
//! ```
//!
//! Points are rows: patch `i` holds `Xᵢ = X Sᵢᵀ`, so `Rᵢⱼ ≈ Sᵢ Sⱼᵀ`, and `Xᵢ Sᵢ` undoes it.
//! Where the copies differ by more than a rotation, and the [`Workspace`] allows it, single precision
//! is used; [`Procrustes::error`] says how far the result is from that in double precision.
//! Nodes may carry weights, which enter centroids and covariance alike.
//! Cost: `O(n d² + d³)` time for `n` shared nodes. No randomness.
//!
//! Source: Horn, Hilden, Negahdaripour, "Closed-form solution of absolute orientation
//! using orthonormal matrices", J. Opt. Soc. Am. A 5, 1988.

use crate::linalg::dense::{DenseError, multiply, view, view_mut};
use crate::linalg::lanes::squared_norm;
use crate::linalg::polar::Workspace;

/// From about this misfit on, noise leaves only a few digits of the rotation, and single precision
/// may be used for it.
const NOISY: f64 = 0.003;

/// How two copies of the same nodes lie to each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Procrustes {
    /// The mean of each copy.
    pub centroids: [Vec<f64>; 2],
    /// The length of each copy, `‖X‖`, after centring.
    pub lengths: [f64; 2],
    /// What the best rotation leaves: `‖Xᵢ - c Xⱼ Rᵀ‖ / ‖Xᵢ‖` with the best scale
    /// `c`, between 0 and 1.
    pub misfit: f64,
    /// The number of dimensions in which the copies fix the rotation.
    pub rank: usize,
    /// How far the rotation computed is from the best one, as an angle, at most about; 1 if the best
    /// one is not unique. None if it was not measured.
    pub error: Option<f64>,
}

/// Estimates the orthogonal matrix that turns `xj` into `xi`, both row-major with one
/// row per shared node, and writes it into `rotation`.
///
/// # Errors
/// [`DenseError`] if a coordinate is NaN or infinite.
///
/// # Examples
/// ```
/// use local2global::align::procrustes::relative_rotation;
/// use local2global::linalg::polar::Workspace;
///
/// let xj = [0.0, 0.0, 1.0, 0.0, 0.0, 2.0];
/// // A quarter turn and a shift.
/// let xi = [5.0, 5.0, 5.0, 6.0, 3.0, 5.0];
/// let mut rotation = [0.0; 4];
/// let fit = relative_rotation(&xi, &xj, None, &mut Workspace::new(2), &mut rotation)?;
/// let quarter_turn = [0.0, -1.0, 1.0, 0.0];
/// assert!(rotation.iter().zip(quarter_turn).all(|(a, b)| (a - b).abs() < 1e-12));
/// assert!(fit.rank == 2 && fit.misfit < 1e-7);
/// # Ok::<(), local2global::linalg::dense::DenseError>(())
/// ```
pub fn relative_rotation(
    xi: &[f64],
    xj: &[f64],
    weights: Option<&[f64]>,
    workspace: &mut Workspace,
    rotation: &mut [f64],
) -> Result<Procrustes, DenseError> {
    let dim = rotation.len().isqrt();
    let rows = xi.len() / dim;
    let (centroid_i, xi) = centred(xi, dim, weights);
    let (centroid_j, xj) = centred(xj, dim, weights);
    let mut covariance = vec![0.0; dim * dim];
    multiply(view_mut(&mut covariance, dim, dim), view(&xi, rows, dim).transpose(), view(&xj, rows, dim));
    let lengths = [&xi, &xj].map(|x| squared_norm(x).sqrt());
    let stretch = match is_noisy(&xi, &xj, lengths, dim) {
        true => workspace.nearest_roughly(&covariance, rotation)?,
        false => workspace.nearest_orthogonal(&covariance, rotation)?,
    };
    let error = workspace.certifies.then(|| workspace.error_of(&covariance, rotation));
    let cosine = stretch.trace / (lengths[0] * lengths[1]).max(f64::MIN_POSITIVE);
    let misfit = (1.0 - cosine * cosine).max(0.0).sqrt();
    Ok(Procrustes { centroids: [centroid_i, centroid_j], lengths, misfit, rank: stretch.rank, error })
}

/// Whether copies differ by so much that noise leaves only a few digits of the rotation. No rotation
/// changes the distances from the centre, so a difference between those is a lower bound for the
/// misfit, up to a factor of √2.
fn is_noisy(xi: &[f64], xj: &[f64], lengths: [f64; 2], dim: usize) -> bool {
    let scale = lengths[0] / lengths[1].max(f64::MIN_POSITIVE);
    let radii = xi
        .chunks_exact(dim)
        .zip(xj.chunks_exact(dim))
        .map(|(point_i, point_j)| squared_norm(point_i).sqrt() - scale * squared_norm(point_j).sqrt());
    radii.map(|difference| difference * difference).sum::<f64>() > (NOISY * lengths[0]).powi(2)
}

/// The weighted mean of the rows, and the rows without it, times the roots of their weights.
fn centred(x: &[f64], dim: usize, weights: Option<&[f64]>) -> (Vec<f64>, Vec<f64>) {
    let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
    let mut centroid = vec![0.0; dim];
    let mut total = 0.0;
    for (row, point) in x.chunks_exact(dim).enumerate() {
        total += weight(row);
        centroid.iter_mut().zip(point).for_each(|(sum, value)| *sum += weight(row) * value);
    }
    centroid.iter_mut().for_each(|sum| *sum /= total);
    let mut rest = Vec::with_capacity(x.len());
    for (row, point) in x.chunks_exact(dim).enumerate() {
        let factor = weights.map_or(1.0, |weights| weights[row].sqrt());
        rest.extend(point.iter().zip(&centroid).map(|(value, mean)| factor * (value - mean)));
    }
    (centroid, rest)
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::linalg::polar::{Precision, random_orthogonal};
    use crate::seed::{Seed, Stage};

    fn points(count: usize, dim: usize, seed: u64) -> Vec<f64> {
        let mut random = Seed(seed).stream(Stage::Align, 1);
        (0..count * dim).map(|_| random.sample(rand_distr::StandardNormal)).collect()
    }

    /// `x turnᵀ`, with a shift.
    fn turned(x: &[f64], turn: &[f64], dim: usize) -> Vec<f64> {
        let rows = x.len() / dim;
        let mut moved = vec![0.0; x.len()];
        multiply(view_mut(&mut moved, rows, dim), view(x, rows, dim), view(turn, dim, dim).transpose());
        moved.iter_mut().for_each(|value| *value += 3.0);
        moved
    }

    fn error(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn a_known_rotation_is_found_in_any_dimension() {
        for dim in [1, 2, 7, 33] {
            let turn = random_orthogonal(dim, &mut Seed(dim as u64).stream(Stage::Align, 0));
            let xj = points(2 * dim + 2, dim, 5);
            let xi = turned(&xj, &turn, dim);
            let mut rotation = vec![0.0; dim * dim];
            let fit = relative_rotation(&xi, &xj, None, &mut Workspace::new(dim), &mut rotation).unwrap();
            assert!(error(&rotation, &turn) < 1e-12, "dim {dim}");
            assert_eq!(fit.rank, dim);
            assert!((fit.lengths[0] / fit.lengths[1] - 1.0).abs() < 1e-12);
        }
    }

    /// `U Vᵀ` of the covariance, by the singular value decomposition in double precision.
    fn reference(xi: &[f64], xj: &[f64], dim: usize) -> Vec<f64> {
        let rows = xi.len() / dim;
        let [xi, xj] = [xi, xj].map(|x| centred(x, dim, None).1);
        let covariance = view(&xi, rows, dim).transpose() * view(&xj, rows, dim);
        let svd = covariance.svd().unwrap();
        let best = svd.U() * svd.V().transpose();
        (0..dim * dim).map(|at| best[(at / dim, at % dim)]).collect()
    }

    #[test]
    fn small_noisy_overlaps_are_turned_as_in_double_precision_and_single_precision_tells_its_error() {
        let mut worst_single = 0.0_f64;
        for (dim, shared) in [(32, 33), (64, 80), (128, 129), (128, 256)] {
            // Directions of very different length, as embeddings with many dimensions have them.
            let stretch = |at: usize| f64::powf(1e-3, (at % dim) as f64 / dim as f64);
            let with_lengths = |points: Vec<f64>| -> Vec<f64> {
                points.iter().enumerate().map(|(at, value)| value * stretch(at)).collect()
            };
            let turn = random_orthogonal(dim, &mut Seed(dim as u64).stream(Stage::Align, 0));
            let xj = with_lengths(points(shared, dim, 1));
            let noise = with_lengths(points(shared, dim, 2));
            let noisy: Vec<f64> = xj.iter().zip(&noise).map(|(x, noise)| x + 0.3 * noise).collect();
            let xi = turned(&noisy, &turn, dim);
            let best = reference(&xi, &xj, dim);
            let rotated = |precision| {
                let mut rotation = vec![0.0; dim * dim];
                let mut workspace = Workspace::with_precision(dim, precision);
                workspace.certifies = true;
                let fit = relative_rotation(&xi, &xj, None, &mut workspace, &mut rotation).unwrap();
                (error(&rotation, &best), fit.error.unwrap())
            };
            let (double, told) = rotated(Precision::Double);
            assert!(double < 1e-8 && told < 1e-5, "{dim} {shared}: {double} {told}");
            let (single, told) = rotated(Precision::Mixed);
            assert!(single <= told, "{dim} {shared}: {single} {told}");
            worst_single = worst_single.max(single);
        }
        assert!(worst_single > 1e-6, "{worst_single}");
    }

    #[test]
    fn nodes_without_weight_do_not_count() {
        let dim = 3;
        let turn = random_orthogonal(dim, &mut Seed(4).stream(Stage::Align, 0));
        let xj = points(10, dim, 6);
        let mut xi = turned(&xj, &turn, dim);
        xi[..3].fill(100.0);
        let weights: Vec<f64> = (0..10).map(|row| f64::from(row > 0)).collect();
        let mut rotation = vec![0.0; 9];
        relative_rotation(&xi, &xj, Some(&weights), &mut Workspace::new(3), &mut rotation).unwrap();
        assert!(error(&rotation, &turn) < 1e-12);
    }

    #[test]
    fn a_flat_overlap_has_a_smaller_rank() {
        let flat: Vec<f64> = points(10, 3, 1).chunks(3).flat_map(|p| [p[0], p[1], 0.0]).collect();
        let mut rotation = vec![0.0; 9];
        let fit = relative_rotation(&flat, &flat, None, &mut Workspace::new(3), &mut rotation).unwrap();
        assert_eq!(fit.rank, 2);
    }

    #[test]
    fn unrelated_points_do_not_fit() {
        let mut rotation = vec![0.0; 9];
        let (a, b) = (points(50, 3, 1), points(50, 3, 2));
        let fit = relative_rotation(&a, &b, None, &mut Workspace::new(3), &mut rotation).unwrap();
        assert!(fit.misfit > 0.8, "{}", fit.misfit);
    }
}
