//! Stage 5: local coordinates -> one global frame.
//!
//! Every patch was embedded in its own coordinate system. Where patches overlap, the
//! copies of the shared nodes tell how the systems lie to each other, and from all
//! overlaps together follows one rigid motion per patch:
//!
//! ```text
//! patches -> overlaps -> relative rotations -> rotations -> [scales] -> translations
//!         -> [generalised Procrustes] -> centroids
//! ```
//!
//! Motions are judged on shared nodes that are left out of fitting, and applied where they help
//! ([`judge`]).
//!
//! [`align`] finds the motions, [`Alignment::stream`] puts every node at the centre of
//! its moved copies. The stage never sees the graph, only node lists and coordinates:
//! its cost depends on the number of patches, the size of overlaps and the dimension,
//! and, in the last step, on the number of rows.
//!
//! Points are rows, and `aligned = scale * X @ rotation + translation`. Up to the last
//! step only rows of shared nodes are read, once. Source: section 3 of the paper.

mod error;

pub mod patch;

pub mod overlap;

pub mod procrustes;

pub mod relative;

pub mod tree;

pub mod rotation;

pub mod scale;

pub mod translation;

pub mod robust;

mod generalised;

pub mod judge;

pub mod hierarchy;

pub mod transforms;

pub mod centroid;
mod copies;

pub mod diagnostics;

pub mod update;

pub mod files;
mod read;
mod write;

pub mod synthetic;

use serde::{Deserialize, Serialize};

use crate::linalg::dense::Real;
use crate::linalg::eigen::Certificate;
use crate::progress::Progress;
use crate::seed::Seed;

pub use diagnostics::{Diagnostics, diagnose};
pub use error::AlignError;
pub use files::{AlignFilesError, AlignPaths, EmbeddingRows, align_files, align_run, update_files};
pub use judge::{Judgement, Motion};
pub use overlap::Overlap;
pub use patch::{Coords, LocalPatch};
pub use transforms::Transforms;

use centroid::{Block, Combination, Wanted};
use judge::Task;
use relative::Relatives;
use rotation::{RotationOptions, Solver};

/// What a patch edge counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeWeights {
    /// The number of shared nodes.
    #[default]
    Overlap,
    /// One.
    Unit,
    /// The number of shared nodes, less for edges and nodes that do not fit.
    Robust,
}

/// How the motions are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlignMethod {
    /// Rotations by eigenvectors, then translations by least squares, as in the paper.
    Eigenvectors,
    /// From there on, generalised Procrustes over all copies.
    Procrustes,
    /// Generalised Procrustes from where patches lie, without eigenvectors: for patches that nearly
    /// agree already, because they were sent a common frame.
    Straighten,
}

/// Where a node with several copies goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Centroid {
    /// The mean weighted by the node weights of the patches; the plain mean where
    /// patches have no weights.
    #[default]
    Weighted,
    /// The plain mean, as in the paper.
    Mean,
    /// The median of each coordinate.
    Median,
}

/// The settings of the stage, as in the table `[align]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AlignConfig {
    /// How the motions are found. If not set, whoever runs the stage decides; by eigenvectors
    /// otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<AlignMethod>,
    /// Whether motions are judged on shared nodes that are left out of fitting, and applied only
    /// where they help.
    pub judge: bool,
    /// What a patch edge counts.
    pub weights: EdgeWeights,
    /// Whether patches are rotated.
    pub rotate: bool,
    /// Whether patches are translated.
    pub translate: bool,
    /// Whether patches are scaled.
    pub scale: bool,
    /// Whether the weights also count for translations; in the paper they do not.
    pub weighted_translations: bool,
    /// Where a node with several copies goes.
    pub centroid: Centroid,
    /// How often patches are grouped: 1 aligns all at once, 2 aligns groups and then
    /// the groups; 0 chooses.
    pub levels: usize,
    /// The largest angle by which the eigenvectors may be off.
    pub tolerance: f64,
}

impl Default for AlignConfig {
    fn default() -> Self {
        Self {
            method: None,
            judge: true,
            weights: EdgeWeights::default(),
            rotate: true,
            translate: true,
            scale: false,
            weighted_translations: false,
            centroid: Centroid::default(),
            levels: 0,
            tolerance: 1e-7,
        }
    }
}

impl AlignConfig {
    /// Checks the settings that have a range.
    ///
    /// # Errors
    /// [`AlignError::Setting`] with the setting that is out of range.
    pub fn check(&self) -> Result<(), AlignError> {
        let setting = |key, found: String, needed| Err(AlignError::Setting { key, found, needed });
        if !(self.tolerance > 0.0 && self.tolerance < 0.1) {
            return setting("tolerance", self.tolerance.to_string(), "above 0 and below 0.1");
        }
        if self.levels > 8 {
            return setting("levels", self.levels.to_string(), "0 (choose) to 8");
        }
        Ok(())
    }
}

/// How all patches lie in the common frame, and how well they fit.
#[derive(Clone, Debug)]
pub struct Alignment {
    /// The transform of each patch.
    pub transforms: Transforms,
    /// The patch edges that were used.
    pub overlaps: Vec<Overlap>,
    /// What synchronisation found out.
    pub solution: Solution,
    /// Which centre the last step takes.
    pub centroid: Centroid,
    /// What the nodes say that were left out of fitting; none if it was not asked for, or there
    /// is nothing to align.
    pub judgement: Option<Judgement>,
}

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
    /// How often patches were grouped.
    pub levels: usize,
}

/// Finds the motion of every patch into one common frame.
///
/// With `edges`, pairs of patch indices, only these overlaps are used; without, all
/// that are large enough.
///
/// # Errors
/// [`AlignError`], naming the patch: no patches, different dimensions, an overlap that
/// is too small, a disconnected patch graph, coordinates that are not finite, or
/// eigenvectors that do not converge.
///
/// # Examples
/// ```
/// use local2global::align::{AlignConfig, Coords, LocalPatch, align};
/// use local2global::progress::Silent;
/// use local2global::seed::Seed;
///
/// // Two copies of a triangle with a node more each; the second is shifted by (5, 5).
/// let first = Coords::F64(vec![0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 3.0, 3.0].into());
/// let second = Coords::F64(vec![5.0, 5.0, 6.0, 5.0, 5.0, 7.0, 9.0, 9.0].into());
/// let patches = [
///     LocalPatch::new("first", vec![0, 1, 2, 3].into(), first, 2)?,
///     LocalPatch::new("second", vec![0, 1, 2, 4].into(), second, 2)?,
/// ];
/// let alignment = align(&patches, None, &AlignConfig::default(), Seed(0), &Silent)?;
/// let (nodes, coords) = alignment.embedding(&patches)?;
/// assert_eq!(nodes, [0, 1, 2, 3, 4]);
/// // Nodes 3 and 4 are one step apart in each direction.
/// assert!((coords[8] - coords[6] - 1.0).abs() < 1e-12);
/// # Ok::<(), local2global::align::AlignError>(())
/// ```
pub fn align(
    patches: &[LocalPatch],
    edges: Option<&[[u64; 2]]>,
    config: &AlignConfig,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Alignment, AlignError> {
    config.check()?;
    check_patches(patches)?;
    progress.begin("overlaps", 0, "edges");
    let overlaps = match edges {
        Some(edges) => overlap::of_edges(patches, edges)?,
        None => overlap::of_all_pairs(patches),
    };
    progress.end();
    align_overlaps(patches, overlaps, config, seed, progress)
}

/// As [`align`], along overlaps that the caller has found, and perhaps chosen from.
///
/// # Errors
/// As [`align`].
pub fn align_overlaps(
    patches: &[LocalPatch],
    overlaps: Vec<Overlap>,
    config: &AlignConfig,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Alignment, AlignError> {
    config.check()?;
    check_patches(patches)?;
    check_connected(patches, &overlaps)?;
    progress.begin("rotations and translations", overlaps.len() as u64, "edges");
    let levels = match config.levels {
        0 => hierarchy::choose_levels(patches.len(), overlaps.len(), patches[0].dim()),
        levels => levels,
    };
    let centroid = usable_centroid(patches, config)?;
    let task = Task { patches, config, levels, seed, weighted: centroid == Centroid::Weighted };
    let (transforms, solution, judgement) = match config.judge && !overlaps.is_empty() {
        true => {
            let (transforms, solution, judgement) = task.judge(&overlaps)?;
            (transforms, solution, Some(judgement))
        }
        false => {
            let (transforms, solution) = task.solve_all(&overlaps)?;
            (transforms, solution, None)
        }
    };
    progress.advance(overlaps.len() as u64);
    progress.end();
    Ok(Alignment { transforms, overlaps, solution, centroid, judgement })
}

/// The centre that is taken: without node weights, the weighted mean is the plain one.
fn usable_centroid(patches: &[LocalPatch], config: &AlignConfig) -> Result<Centroid, AlignError> {
    Ok(match config.centroid {
        Centroid::Weighted if !centroid::has_weights(patches)? => Centroid::Mean,
        centroid => centroid,
    })
}

fn check_patches(patches: &[LocalPatch]) -> Result<(), AlignError> {
    let first = patches.first().ok_or(AlignError::NoPatches)?;
    match patches.iter().find(|patch| patch.dim() != first.dim()) {
        None => Ok(()),
        Some(patch) => Err(AlignError::Dimension {
            patch: patch.name().into(),
            found: patch.dim(),
            first: first.name().into(),
            needed: first.dim(),
        }),
    }
}

fn check_connected(patches: &[LocalPatch], overlaps: &[Overlap]) -> Result<(), AlignError> {
    let edges: Vec<(u32, u32)> = overlaps.iter().map(|overlap| (overlap.i, overlap.j)).collect();
    let (components, outside) = tree::components(patches.len(), &edges);
    match outside {
        None => Ok(()),
        Some(outside) => Err(AlignError::Disconnected {
            components,
            inside: patches[0].name().into(),
            outside: patches[outside].name().into(),
            needed: patches[0].dim() + 1,
        }),
    }
}

/// Finds rotations, scales and translations from what the edges say.
fn synchronise(
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
    let weights: Vec<f64> = match config.weights {
        EdgeWeights::Unit => relatives.trust.clone(),
        EdgeWeights::Overlap | EdgeWeights::Robust => {
            relatives.shared.iter().zip(&relatives.trust).map(|(&n, trust)| n as f64 * trust).collect()
        }
    };
    if config.rotate {
        let options = RotationOptions { tolerance: config.tolerance, seed, solver: Solver::BySize };
        let robust = config.weights == EdgeWeights::Robust;
        let found = if robust {
            let found = robust::synchronise(&mut relatives, &weights, &options)?;
            solution.patch_trust = Some(robust::patch_trust(&relatives, &weights, &found.trust));
            solution.trust = found.trust;
            found.rotations
        } else {
            rotation::synchronise(&mut relatives, &weights, &options)?
        };
        solution.inconsistencies = rotation::inconsistencies(&relatives);
        (solution.cycles, solution.eigenvalues) = (found.cycles, found.eigenvalues);
        solution.certificate = Some(found.certificate);
        transforms.rotations = found.matrices;
        rotation::keep_first(&mut transforms.rotations, dim);
    }
    let weights: Vec<f64> = match config.weighted_translations {
        true => weights.iter().zip(&solution.trust).map(|(weight, trust)| weight * trust).collect(),
        false => solution.trust.iter().zip(&relatives.trust).map(|(trust, factor)| trust * factor).collect(),
    };
    if config.scale {
        transforms.scales = scale::scales(&relatives, &weights)?;
    }
    if config.translate {
        transforms.translations =
            translation::translations(&relatives, &weights, &transforms.rotations, &transforms.scales)?;
    }
    solution.misfits = relatives.fits.iter().map(|fit| fit.misfit).collect();
    solution.ranks = relatives.fits.iter().map(|fit| fit.rank).collect();
    Ok((transforms, solution))
}

impl Solution {
    /// Before anything is solved.
    fn unsolved(edges: usize) -> Self {
        Self {
            misfits: vec![0.0; edges],
            ranks: vec![0; edges],
            cycles: vec![0.0; edges],
            inconsistencies: vec![0.0; edges],
            trust: vec![1.0; edges],
            patch_trust: None,
            eigenvalues: Vec::new(),
            certificate: None,
            levels: 1,
        }
    }

    /// Takes over what a group found out about one of its edges.
    fn copy_edge(&mut self, edge: usize, group: &Self, edge_there: usize) {
        self.misfits[edge] = group.misfits[edge_there];
        self.ranks[edge] = group.ranks[edge_there];
        self.cycles[edge] = group.cycles[edge_there];
        self.inconsistencies[edge] = group.inconsistencies[edge_there];
        self.trust[edge] = group.trust[edge_there];
    }

    /// Takes over eigenvalues, and the certificate if it is the worse one.
    fn keep_worst(&mut self, group: &Self) {
        if !group.eigenvalues.is_empty() {
            self.eigenvalues.clone_from(&group.eigenvalues);
        }
        let angle = |certificate: Option<Certificate>| certificate.map_or(-1.0, |c| c.angle);
        if angle(group.certificate) > angle(self.certificate) {
            self.certificate = group.certificate;
        }
    }
}

impl Alignment {
    /// An alignment known by its transforms only, as from a finished run.
    ///
    /// # Errors
    /// [`AlignError::MissingWeights`] if some patches have node weights, but not all.
    pub fn from_transforms(
        transforms: Transforms,
        patches: &[LocalPatch],
        config: &AlignConfig,
    ) -> Result<Self, AlignError> {
        let centroid = usable_centroid(patches, config)?;
        let solution = Solution::unsolved(0);
        Ok(Self { transforms, overlaps: Vec::new(), solution, centroid, judgement: None })
    }

    /// Streams the global embedding, in the order of `nodes`, block by block.
    ///
    /// # Errors
    /// [`AlignError::NotFinite`] if a coordinate is NaN or infinite, and what `sink` returns.
    pub fn stream<T: Real, E: From<AlignError>>(
        &self,
        patches: &[LocalPatch],
        nodes: &[u64],
        sink: impl FnMut(&Block<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        centroid::stream(patches, nodes, self.wanted(), sink)
    }

    /// The embedding, for [`centroid::stream`].
    pub fn wanted(&self) -> Wanted<'_> {
        Wanted { transforms: Some(&self.transforms), combination: self.combination(), unmoved: false }
    }

    /// How the last step combines copies.
    pub fn combination(&self) -> Combination<'_> {
        Combination { centroid: self.centroid, trust: self.solution.patch_trust.as_deref() }
    }

    /// The global embedding in memory: all nodes, ascending, and a row for each.
    ///
    /// # Errors
    /// [`AlignError::NotFinite`] if a coordinate is NaN or infinite.
    pub fn embedding(&self, patches: &[LocalPatch]) -> Result<(Vec<u64>, Vec<f64>), AlignError> {
        let nodes = centroid::all_nodes(patches);
        let mut coords = Vec::with_capacity(nodes.len() * self.transforms.dim);
        self.stream(patches, &nodes, |block| {
            coords.extend_from_slice(&block.coords);
            Ok::<(), AlignError>(())
        })?;
        Ok((nodes, coords))
    }
}

#[cfg(test)]
mod tests {
    use super::synthetic::{PatchLayout, SyntheticPatches, distance_up_to_rigid_motion};
    use super::*;
    use crate::progress::Silent;

    fn error_of(graph: PatchLayout, num_patches: usize, dim: usize, noise: f64) -> f64 {
        let seed = Seed(num_patches as u64);
        let known = SyntheticPatches { graph, num_patches, dim, overlap: 2 * (dim + 1), noise, seed }.make();
        let alignment = align(&known.patches, None, &AlignConfig::default(), Seed(0), &Silent).unwrap();
        let (_, coords) = alignment.embedding(&known.patches).unwrap();
        distance_up_to_rigid_motion(&coords, &known.truth, dim)
    }

    #[test]
    fn noise_free_patches_are_stitched_back_exactly() {
        for graph in [PatchLayout::Ring, PatchLayout::Grid, PatchLayout::Random] {
            for (num_patches, dim) in [(2, 3), (9, 1), (30, 2), (60, 16), (400, 5), (12, 64)] {
                let error = error_of(graph, num_patches, dim, 0.0);
                assert!(error < 1e-10, "{graph:?} {num_patches} {dim}: {error}");
            }
        }
    }

    #[test]
    fn noise_stays_small() {
        let error = error_of(PatchLayout::Random, 200, 8, 0.01);
        assert!(error < 0.01, "{error}");
    }
}
