//! All scales, by least squares over the patch graph.
//!
//! If patch `i` was stretched, its copies of the nodes shared with `j` are longer. With `‖Xᵢ‖`
//! the length of the copies, centred on the overlap, the scales `s` should satisfy
//!
//! ```text
//! log sᵢ - log sⱼ = log ‖Xⱼ‖ - log ‖Xᵢ‖
//! ```
//!
//! which is the problem of translations for one number per patch. (Positive numbers form a
//! group under products as numbers do under sums: this is the synchronisation of 1x1
//! blocks, and has no spectral gap to fear.)
//!
//! Cost: one sparse Cholesky factor of a p x p matrix. No randomness.

use super::relative::Relatives;
use super::translation::from_differences;
use crate::linalg::laplacian::NotPositiveDefinite;

/// The scale of each patch, with geometric mean one.
///
/// # Errors
/// [`NotPositiveDefinite`] if the patch graph is disconnected.
pub fn scales(relatives: &Relatives, weights: &[f64]) -> Result<Vec<f64>, NotPositiveDefinite> {
    let smallest = f64::MIN_POSITIVE;
    let differences: Vec<f64> = relatives
        .fits
        .iter()
        .map(|fit| (fit.lengths[1].max(smallest) / fit.lengths[0].max(smallest)).ln())
        .collect();
    let logarithms = from_differences(relatives.num_patches, &relatives.edges, weights, &differences, 1)?;
    Ok(logarithms.into_iter().map(f64::exp).collect())
}
