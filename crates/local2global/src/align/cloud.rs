//! The points of a patch as a cloud: where it lies, how far it reaches, how many dimensions it fills.
//!
//! A model that has not learned puts all nodes at one point, or leaves dimensions unused. Such
//! coordinates agree with anything they are compared with, so that no misfit shows it. Of large patches
//! some rows are looked at, evenly spaced. Cost: `O(d³)` a patch. No randomness.

use rayon::prelude::*;

use super::outliers::median;
use super::{AlignError, LocalPatch, Transforms};
use crate::linalg::dense::{multiply, semidefinite_rank, view, view_mut};
use crate::linalg::lanes::squared_norm;

/// A cloud whose radius is less than this part of its distance from the origin, or of the radius of a
/// typical patch, is one point.
const ONE_POINT: f64 = 1e-5;

/// A direction whose variance is less than this part of the largest is not used. Coordinates in single
/// precision are rounded to some 1e-15 of it.
const UNUSED: f64 = 1e-12;

/// So many rows for each dimension are looked at, and not fewer than that.
const ROWS_PER_DIMENSION: usize = 4;
const MIN_ROWS: usize = 256;

/// The points of a patch.
pub(super) struct Cloud {
    /// The number of rows looked at.
    rows: usize,
    centre: Vec<f64>,
    /// The sum of the products of coordinates about the centre.
    covariance: Vec<f64>,
    /// Root mean square distance from the centre.
    pub(super) radius: f64,
    /// The number of dimensions filled.
    pub(super) rank: usize,
    /// Whether all points are the same, as far as their precision tells.
    is_one_point: bool,
}

impl Cloud {
    /// Looks at the points of a patch.
    fn of(patch: &LocalPatch) -> Result<Self, AlignError> {
        let (dim, nodes) = (patch.dim(), patch.num_nodes());
        let rows = nodes.min(MIN_ROWS.max(ROWS_PER_DIMENSION * dim));
        let mut points: Vec<f64> = Vec::with_capacity(rows * dim);
        (0..rows).try_for_each(|k| patch.push_row(k * nodes / rows, &mut points))?;
        let far = squared_norm(&points);
        let mut centre = vec![0.0; dim];
        for point in points.chunks_exact(dim) {
            centre.iter_mut().zip(point).for_each(|(sum, x)| *sum += x / rows as f64);
        }
        for point in points.chunks_exact_mut(dim) {
            point.iter_mut().zip(&centre).for_each(|(x, middle)| *x -= middle);
        }
        let mut covariance = vec![0.0; dim * dim];
        let about_centre = view(&points, rows, dim);
        multiply(view_mut(&mut covariance, dim, dim), about_centre.transpose(), about_centre);
        let near = squared_norm(&points);
        let is_one_point = near <= ONE_POINT * ONE_POINT * far;
        let rank = if is_one_point { 0 } else { semidefinite_rank(&covariance, dim, UNUSED) };
        let radius = (near / rows.max(1) as f64).sqrt();
        Ok(Self { rows, centre, covariance, radius, rank, is_one_point })
    }
}

/// Looks at all patches.
pub(super) fn clouds(patches: &[LocalPatch]) -> Result<Vec<Cloud>, AlignError> {
    patches.par_iter().map(Cloud::of).collect()
}

/// Which patches have collapsed to one point, or nearly so beside the others. A patch of one node is
/// one point and has not collapsed.
pub(super) fn collapsed(clouds: &[Cloud], transforms: &Transforms) -> Vec<bool> {
    let radii: Vec<f64> =
        clouds.iter().zip(&transforms.scales).map(|(cloud, scale)| scale * cloud.radius).collect();
    let typical = median(&radii);
    let has_collapsed = |(cloud, radius): (&Cloud, &f64)| {
        cloud.rows > 1 && (cloud.is_one_point || *radius < ONE_POINT * typical)
    };
    clouds.iter().zip(&radii).map(has_collapsed).collect()
}

/// The number of dimensions that all patches together fill, after they have been moved.
pub(super) fn rank_of_all(clouds: &[Cloud], transforms: &Transforms) -> usize {
    let dim = transforms.dim;
    // The sum of covariances has at least the rank of each.
    if clouds.iter().any(|cloud| cloud.rank == dim) {
        return dim;
    }
    let total: f64 = clouds.iter().map(|cloud| cloud.rows as f64).sum();
    let centres: Vec<Vec<f64>> = clouds
        .iter()
        .enumerate()
        .map(|(patch, cloud)| {
            let mut moved = vec![0.0; dim];
            transforms.apply(patch, &cloud.centre, &mut moved);
            moved
        })
        .collect();
    let mut middle = vec![0.0; dim];
    for (centre, cloud) in centres.iter().zip(clouds) {
        middle.iter_mut().zip(centre).for_each(|(sum, x)| *sum += x * cloud.rows as f64 / total);
    }
    let mut sum = vec![0.0; dim * dim];
    let [mut half, mut turned] = [(); 2].map(|()| vec![0.0; dim * dim]);
    for (patch, (cloud, centre)) in clouds.iter().zip(&centres).enumerate() {
        let rotation = view(transforms.rotation(patch), dim, dim);
        multiply(view_mut(&mut half, dim, dim), view(&cloud.covariance, dim, dim), rotation);
        multiply(view_mut(&mut turned, dim, dim), rotation.transpose(), view(&half, dim, dim));
        let (squared_scale, weight) = (transforms.scales[patch].powi(2), cloud.rows as f64);
        for (at, sum) in sum.iter_mut().enumerate() {
            let shifts = (centre[at / dim] - middle[at / dim]) * (centre[at % dim] - middle[at % dim]);
            *sum += squared_scale * turned[at] + weight * shifts;
        }
    }
    let (spread, far): (f64, f64) = (
        sum.iter().step_by(dim + 1).sum(),
        centres.iter().zip(clouds).map(|(centre, cloud)| cloud.rows as f64 * squared_norm(centre)).sum(),
    );
    if spread <= ONE_POINT * ONE_POINT * far { 0 } else { semidefinite_rank(&sum, dim, UNUSED) }
}
