//! The stage in memory: patches in, one motion for each out, and from there the embedding.

use super::centroid::{self, Block, Combination, Wanted};
use super::config::{AlignConfig, Centroid};
use super::judge::{Judgement, Task};
use super::solution::Solution;
use super::{AlignError, AlignSize, LocalPatch, Overlap, Transforms, overlap, tree};
use crate::linalg::real::Real;
use crate::progress::Progress;
use crate::seed::Seed;

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
    /// How many blocks of nodes the last step has in memory at a time.
    pub(super) blocks_at_once: usize,
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
        let centre = usable_centroid(patches, config)?;
        let solution = Solution::unsolved(0);
        let (overlaps, judgement) = (Vec::new(), None);
        let blocks_at_once = centroid::blocks_at_once();
        Ok(Self { transforms, overlaps, solution, centroid: centre, judgement, blocks_at_once })
    }

    /// Streams the global embedding, in the order of `nodes`, block by block.
    ///
    /// # Errors
    /// [`AlignError::NotFinite`] if a coordinate is NaN or infinite, and what `sink` returns.
    pub fn stream<T: Real, E: From<AlignError>>(
        &self,
        patches: &[LocalPatch],
        nodes: &[u64],
        sink: impl FnMut(&mut Block<T>) -> Result<(), E>,
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
    check(patches, config)?;
    progress.begin("overlaps", 0, "edges");
    let overlaps = match edges {
        Some(edges) => overlap::of_edges(patches, edges)?,
        None => overlap::of_all_pairs(patches),
    };
    progress.end();
    align_overlaps(patches, overlaps, config, seed, progress)
}

fn check(patches: &[LocalPatch], config: &AlignConfig) -> Result<(), AlignError> {
    config.check()?;
    check_patches(patches)
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
    check(patches, config)?;
    check_connected(patches, &overlaps)?;
    progress.begin("rotations and translations", overlaps.len() as u64, "edges");
    let size = AlignSize::of(patches, &overlaps);
    let levels = size.levels_within(config, config.room.memory);
    let centroid = usable_centroid(patches, config)?;
    let weighted = centroid == Centroid::Weighted;
    let centre_room = &size.centre_room(config, levels);
    let task = Task { patches, config, levels, seed, weighted, centre_room };
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
    let blocks_at_once = size.blocks_at_once(config.room.memory);
    Ok(Alignment { transforms, overlaps, solution, centroid, judgement, blocks_at_once })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::synthetic::{PatchLayout, SyntheticPatches, distance_up_to_rigid_motion};
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
