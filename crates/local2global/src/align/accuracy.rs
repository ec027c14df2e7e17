//! How exact the motions are: what arithmetic leaves undetermined, step by step.
//!
//! Noise is not counted here, only the distance to what the same steps give without rounding errors
//! and with eigenvectors that have converged.

use serde::{Deserialize, Serialize};

use super::relative::Relatives;
use super::rotation::Rotations;
use crate::linalg::polar::Precision;

/// The certificate of the whole chain from overlaps to motions. Errors of rotations are angles in
/// radians; 1 means that nothing is certain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// The arithmetic used.
    pub precision: Precision,
    /// The largest error of a relative rotation, from the residual of its polar factor in double
    /// precision.
    pub relative_rotations: f64,
    /// The number of patch edges on which that was measured.
    pub measured_edges: usize,
    /// The error of the eigenvectors: their residual divided by the gap.
    pub eigenvectors: f64,
    /// The largest error of the projection of a block of eigenvectors to a rotation.
    pub projections: f64,
    /// The error of the rotations, all together: errors of relative rotations count divided by the gap.
    pub rotations: f64,
    /// The error of the translations, given the rotations, relative to their size.
    pub translations: f64,
}

impl Accuracy {
    /// What is known once rotations are found.
    pub(super) fn of(relatives: &Relatives, found: &Rotations) -> Self {
        let errors = || relatives.fits.iter().filter_map(|fit| fit.error);
        let (relative_rotations, measured_edges) = (errors().fold(0.0, f64::max), errors().count());
        let (eigenvectors, projections) = (found.certificate.angle, found.projection_error);
        let gap = found.certificate.gap.max(f64::MIN_POSITIVE);
        let rotations = (relative_rotations / gap + eigenvectors + projections).min(1.0);
        Self {
            precision: relatives.precision,
            relative_rotations,
            measured_edges,
            eigenvectors,
            projections,
            rotations,
            translations: 0.0,
        }
    }

    /// The worse of two in everything.
    pub(super) fn worse(self, other: Self) -> Self {
        Self {
            precision: if self.precision == Precision::Mixed { self.precision } else { other.precision },
            relative_rotations: self.relative_rotations.max(other.relative_rotations),
            measured_edges: self.measured_edges + other.measured_edges,
            eigenvectors: self.eigenvectors.max(other.eigenvectors),
            projections: self.projections.max(other.projections),
            rotations: self.rotations.max(other.rotations),
            translations: self.translations.max(other.translations),
        }
    }
}
