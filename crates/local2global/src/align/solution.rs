//! What synchronisation finds out about patches and patch edges, and the way there.

use super::config::{AlignConfig, EdgeWeights};
use super::relative::Relatives;
use super::rotation::{self, RotationOptions, Solver};
use super::{Accuracy, AlignError, Transforms, robust, scale, translation};
use crate::linalg::eigen::Certificate;
use crate::seed::Seed;

/// What synchronisation found out about the patch edges.
#[derive(Clone, Debug)]
pub struct Solution {
    /// For each edge what the best rotation between its two patches leaves, from 0 to 1.
    pub misfits: Vec<f64>,
    /// The number of dimensions in which each edge fixes the rotation.
    pub ranks: Vec<usize>,
    /// For each edge the inconsistency of the cycle that it closes over a spanning tree.
    pub cycles: Vec<f64>,
    /// How far each edge's rotation is from the one that was found, from 0 to 1.
    pub inconsistencies: Vec<f64>,
    /// The fraction of its weight that each edge kept in robust alignment, otherwise 1.
    pub trust: Vec<f64>,
    /// The same for each patch; none if alignment was not robust.
    pub patch_trust: Option<Vec<f64>>,
    /// The leading eigenvalues, descending; empty if patches were not rotated.
    pub eigenvalues: Vec<f64>,
    /// How well the eigenvectors are known, in the worst group.
    pub certificate: Option<Certificate>,
    /// How exact the motions are; none if patches were not rotated.
    pub accuracy: Option<Accuracy>,
    /// How often patches were grouped.
    pub levels: usize,
}

impl Solution {
    /// Before anything is solved.
    pub(super) fn unsolved(edges: usize) -> Self {
        Self {
            misfits: vec![0.0; edges],
            ranks: vec![0; edges],
            cycles: vec![0.0; edges],
            inconsistencies: vec![0.0; edges],
            trust: vec![1.0; edges],
            patch_trust: None,
            eigenvalues: Vec::new(),
            certificate: None,
            accuracy: None,
            levels: 1,
        }
    }

    /// Takes over what a group found out about one of its edges.
    pub(super) fn copy_edge(&mut self, edge: usize, group: &Self, edge_there: usize) {
        self.misfits[edge] = group.misfits[edge_there];
        self.ranks[edge] = group.ranks[edge_there];
        self.cycles[edge] = group.cycles[edge_there];
        self.inconsistencies[edge] = group.inconsistencies[edge_there];
        self.trust[edge] = group.trust[edge_there];
    }

    /// Takes over eigenvalues, and the certificate if it is the worse one.
    pub(super) fn keep_worst(&mut self, group: &Self) {
        if !group.eigenvalues.is_empty() {
            self.eigenvalues.clone_from(&group.eigenvalues);
        }
        let angle = |certificate: Option<Certificate>| certificate.map_or(-1.0, |c| c.angle);
        if angle(group.certificate) > angle(self.certificate) {
            self.certificate = group.certificate;
        }
        self.accuracy = match (self.accuracy, group.accuracy) {
            (Some(own), Some(other)) => Some(own.worse(other)),
            (own, other) => own.or(other),
        };
    }
}

/// Finds rotations, scales and translations from what the edges say.
pub(super) fn synchronise(
    mut relatives: Relatives,
    config: &AlignConfig,
    seed: Seed,
) -> Result<(Transforms, Solution), AlignError> {
    let (num_patches, dim) = (relatives.num_patches, relatives.dim);
    let mut transforms = Transforms::identity(num_patches, dim);
    let mut solution = Solution::unsolved(relatives.num_edges());
    if relatives.num_edges() == 0 {
        return Ok((transforms, solution));
    }
    let weights = edge_weights(&relatives, config.weights);
    if config.rotate {
        let options = RotationOptions { tolerance: config.tolerance, seed, solver: Solver::BySize };
        transforms.rotations = solution.rotate(&mut relatives, &weights, config.weights, &options)?;
    }
    let weights = solution.translation_weights(&relatives, &weights, config);
    if config.scale {
        transforms.scales = scale::scales(&relatives, &weights)?;
    }
    if config.translate {
        transforms.translations =
            translation::translations(&relatives, &weights, &transforms.rotations, &transforms.scales)?;
        if let Some(accuracy) = &mut solution.accuracy {
            accuracy.translations = translation::residual(&relatives, &weights, &transforms);
        }
    }
    solution.misfits = relatives.fits.iter().map(|fit| fit.misfit).collect();
    solution.ranks = relatives.fits.iter().map(|fit| fit.rank).collect();
    Ok((transforms, solution))
}

/// What each edge counts for rotations.
fn edge_weights(relatives: &Relatives, weights: EdgeWeights) -> Vec<f64> {
    match weights {
        EdgeWeights::Unit => relatives.trust.clone(),
        EdgeWeights::Overlap | EdgeWeights::Robust => {
            relatives.shared.iter().zip(&relatives.trust).map(|(&n, trust)| n as f64 * trust).collect()
        }
    }
}

impl Solution {
    /// Finds the rotations, the first patch keeping its own, and notes what they say about edges.
    fn rotate(
        &mut self,
        relatives: &mut Relatives,
        weights: &[f64],
        kind: EdgeWeights,
        options: &RotationOptions,
    ) -> Result<Vec<f64>, AlignError> {
        let found = match kind {
            EdgeWeights::Robust => {
                let found = robust::synchronise(relatives, weights, options)?;
                self.patch_trust = Some(robust::patch_trust(relatives, weights, &found.trust));
                self.trust = found.trust;
                found.rotations
            }
            EdgeWeights::Overlap | EdgeWeights::Unit => rotation::synchronise(relatives, weights, options)?,
        };
        self.inconsistencies = rotation::inconsistencies(relatives);
        self.certificate = Some(found.certificate);
        self.accuracy = Some(Accuracy::of(relatives, &found));
        (self.cycles, self.eigenvalues) = (found.cycles, found.eigenvalues);
        let mut matrices = found.matrices;
        rotation::keep_first(&mut matrices, relatives.dim);
        Ok(matrices)
    }

    /// What each edge counts for scales and translations: its trust, times its weight if set.
    fn translation_weights(&self, relatives: &Relatives, weights: &[f64], config: &AlignConfig) -> Vec<f64> {
        let factors = if config.weighted_translations { weights } else { &relatives.trust };
        factors.iter().zip(&self.trust).map(|(factor, trust)| factor * trust).collect()
    }
}
