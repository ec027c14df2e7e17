//! The transform of every patch into the common frame.

use crate::linalg::dense::{identity, multiply, multiply_add, view, view_mut};
use crate::linalg::real::Real;

/// One scale, rotation and translation per patch:
/// `aligned = scale * X @ rotation + translation`.
#[derive(Clone, Debug, PartialEq)]
pub struct Transforms {
    /// The number of coordinates.
    pub dim: usize,
    /// One positive number per patch.
    pub scales: Vec<f64>,
    /// One row-major orthogonal matrix per patch.
    pub rotations: Vec<f64>,
    /// One row per patch.
    pub translations: Vec<f64>,
}

impl Transforms {
    /// Transforms that change nothing.
    pub fn identity(num_patches: usize, dim: usize) -> Self {
        Self {
            dim,
            scales: vec![1.0; num_patches],
            rotations: identities(num_patches, dim),
            translations: vec![0.0; num_patches * dim],
        }
    }

    /// The number of patches.
    pub fn num_patches(&self) -> usize {
        self.scales.len()
    }

    /// The rotation of a patch, row-major.
    pub fn rotation(&self, patch: usize) -> &[f64] {
        let size = self.dim * self.dim;
        &self.rotations[patch * size..][..size]
    }

    /// The translation of a patch.
    pub fn translation(&self, patch: usize) -> &[f64] {
        &self.translations[patch * self.dim..][..self.dim]
    }

    /// Moves rows of a patch into the common frame, and puts them into `moved`.
    pub fn apply(&self, patch: usize, rows: &[f64], moved: &mut [f64]) {
        self.apply_rotation(patch, self.rotation(patch), rows, moved);
    }

    /// As [`Transforms::apply`], in the precision of the rotation given.
    pub(super) fn apply_rotation<F: Real>(&self, patch: usize, rotation: &[F], rows: &[F], moved: &mut [F]) {
        let (dim, count) = (self.dim, rows.len() / self.dim);
        for row in moved.chunks_exact_mut(dim) {
            row.iter_mut().zip(self.translation(patch)).for_each(|(value, &shift)| *value = F::of(shift));
        }
        let (rows, rotation) = (view(rows, count, dim), view(rotation, dim, dim));
        multiply_add(view_mut(moved, count, dim), rows, rotation, F::of(self.scales[patch]));
    }

    /// Replaces the transform of a patch.
    ///
    /// # Panics
    /// If there is no such patch, or the sizes do not fit.
    pub fn set(&mut self, patch: usize, scale: f64, rotation: &[f64], translation: &[f64]) {
        let size = self.dim * self.dim;
        self.scales[patch] = scale;
        self.rotations[patch * size..][..size].copy_from_slice(rotation);
        self.translations[patch * self.dim..][..self.dim].copy_from_slice(translation);
    }

    /// Makes room for a patch at `index`, with a transform that changes nothing.
    pub fn insert(&mut self, index: usize) {
        let new = Self::identity(1, self.dim);
        let size = self.dim * self.dim;
        self.scales.insert(index, 1.0);
        self.rotations.splice(index * size..index * size, new.rotations);
        self.translations.splice(index * self.dim..index * self.dim, new.translations);
    }

    /// Moves a patch on, by the transform of the group it belongs to.
    pub(super) fn then(&mut self, patch: usize, group: &Self, index: usize) {
        let (dim, size) = (self.dim, self.dim * self.dim);
        let mut moved = vec![0.0; dim];
        group.apply(index, self.translation(patch), &mut moved);
        self.translations[patch * dim..][..dim].copy_from_slice(&moved);
        let mut turned = vec![0.0; size];
        multiply(
            view_mut(&mut turned, dim, dim),
            view(self.rotation(patch), dim, dim),
            view(group.rotation(index), dim, dim),
        );
        self.rotations[patch * size..][..size].copy_from_slice(&turned);
        self.scales[patch] *= group.scales[index];
    }
}

/// One identity matrix per patch, row-major.
pub(super) fn identities(num_patches: usize, dim: usize) -> Vec<f64> {
    identity(dim).repeat(num_patches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_transform_after_another_is_their_product() {
        let quarter = vec![0.0, 1.0, -1.0, 0.0];
        let first = Transforms {
            dim: 2,
            scales: vec![2.0],
            rotations: quarter.clone(),
            translations: vec![1.0, 0.0],
        };
        let second =
            Transforms { dim: 2, scales: vec![0.5], rotations: quarter, translations: vec![0.0, 3.0] };
        let (mut once, mut twice, mut joined) = ([0.0; 2], [0.0; 2], [0.0; 2]);
        first.apply(0, &[3.0, 4.0], &mut once);
        second.apply(0, &once, &mut twice);
        let mut both = first;
        both.then(0, &second, 0);
        both.apply(0, &[3.0, 4.0], &mut joined);
        assert_eq!(once, [-7.0, 6.0]);
        assert_eq!(twice, joined);
    }
}
