//! What the overlaps say: for each pair of neighbours, how they lie to each other.
//!
//! Neighbours are patches, or, one level up, groups of patches that have been aligned
//! among themselves; a [`Link`] between groups uses all overlaps between their patches,
//! in the frames of the groups. Everything that synchronisation needs is here, a few
//! numbers and one rotation per link, so the coordinates are read once per level and then
//! left alone until the last step.

use rayon::prelude::*;

use super::procrustes::{Procrustes, relative_rotation};
use super::{AlignError, LocalPatch, Overlap, Transforms, outliers};
use crate::linalg::polar::{Precision, Workspace};

/// Up to this many patches everything is computed in double precision: it costs little there.
const EXACT_PATCHES: usize = 100;

/// The error of relative rotations is measured on about so many links, if there are more patches.
const CERTIFIED_LINKS: usize = 256;

/// The arithmetic for an alignment of so many patches.
pub(super) fn precision_for(num_patches: usize) -> Precision {
    if num_patches <= EXACT_PATCHES { Precision::Double } else { Precision::Mixed }
}

/// Two neighbours, and the overlaps between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The neighbours, by index, the smaller first.
    pub ends: (u32, u32),
    /// The overlaps, by index; `true` if the overlap's first patch belongs to the second end.
    pub overlaps: Vec<(u32, bool)>,
}

/// The measurements on all links.
#[derive(Clone, Debug)]
pub struct Relatives {
    /// The number of patches or groups.
    pub num_patches: usize,
    /// The number of coordinates.
    pub dim: usize,
    /// The links, as pairs of indices.
    pub edges: Vec<(u32, u32)>,
    /// The number of shared nodes of each link.
    pub shared: Vec<usize>,
    /// A factor for what each link counts, from the patches at its ends.
    pub trust: Vec<f64>,
    /// The relative rotation of each link, one row-major matrix after the other.
    pub rotations: Vec<f64>,
    /// What else each link says.
    pub fits: Vec<Procrustes>,
    /// The arithmetic in which rotations were found, and are found from them.
    pub precision: Precision,
}

/// Whether outlying nodes of an overlap lose their weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeWeights {
    /// All nodes count alike.
    Equal,
    /// Nodes are weighted by how well they fit.
    Robust,
}

/// Where the shared nodes are read from.
#[derive(Clone, Copy, Debug)]
pub struct OverlapSource<'a> {
    /// The patches.
    pub patches: &'a [LocalPatch],
    /// The overlaps between them.
    pub overlaps: &'a [Overlap],
    /// The frames of the groups the patches belong to; none if each stands for itself.
    pub frames: Option<&'a Transforms>,
    /// Whether outlying nodes lose their weight.
    pub node_weights: NodeWeights,
    /// A factor for what each patch says about others; one if there is none.
    pub trust: Option<&'a [f64]>,
}

impl OverlapSource<'_> {
    /// The factor of a link: the mean over its overlaps, each as good as the worse of its patches.
    fn trust_in(&self, link: &Link) -> f64 {
        let Some(trust) = self.trust else { return 1.0 };
        let of_overlap = |&(index, _): &(u32, bool)| {
            let overlap = &self.overlaps[index as usize];
            trust[overlap.i as usize].min(trust[overlap.j as usize])
        };
        link.overlaps.iter().map(of_overlap).sum::<f64>() / link.overlaps.len() as f64
    }

    /// The shared nodes of a link, as both ends see them.
    fn coords(&self, link: &Link) -> Result<[Vec<f64>; 2], AlignError> {
        let mut both = [Vec::new(), Vec::new()];
        for &(index, reversed) in &link.overlaps {
            let overlap = &self.overlaps[index as usize];
            let mut coords = overlap.coords(self.patches)?;
            if let Some(frames) = self.frames {
                for (coords, patch) in coords.iter_mut().zip([overlap.i, overlap.j]) {
                    let mut moved = vec![0.0; coords.len()];
                    frames.apply(patch as usize, coords, &mut moved);
                    *coords = moved;
                }
            }
            if reversed {
                coords.reverse();
            }
            if link.overlaps.len() == 1 {
                return Ok(coords);
            }
            both.iter_mut().zip(coords).for_each(|(all, coords)| all.extend(coords));
        }
        Ok(both)
    }
}

impl Relatives {
    /// Measures every overlap between patches.
    ///
    /// # Errors
    /// [`AlignError::NotFinite`] if a shared node has a coordinate that is not finite.
    pub fn of_patches(
        patches: &[LocalPatch],
        overlaps: &[Overlap],
        node_weights: NodeWeights,
    ) -> Result<Self, AlignError> {
        let source = OverlapSource { patches, overlaps, frames: None, node_weights, trust: None };
        Self::measure(source, patches.len(), &one_link_each(overlaps))
    }

    /// Measures every link, in parallel.
    ///
    /// # Errors
    /// [`AlignError::NotFinite`] if a shared node has a coordinate that is not finite.
    pub fn measure(source: OverlapSource<'_>, num_ends: usize, links: &[Link]) -> Result<Self, AlignError> {
        let dim = source.patches[0].dim();
        let precision = precision_for(source.patches.len());
        let apart = if precision == Precision::Double { 1 } else { links.len().div_ceil(CERTIFIED_LINKS) };
        let mut rotations = vec![0.0; links.len() * dim * dim];
        let fits: Result<Vec<Procrustes>, AlignError> = rotations
            .par_chunks_mut(dim * dim)
            .zip(links)
            .enumerate()
            .map_init(
                || Workspace::with_precision(dim, precision),
                |workspace, (index, (rotation, link))| {
                    workspace.certifies = index % apart == 0;
                    let [xi, xj] = source.coords(link)?;
                    Ok(match source.node_weights {
                        NodeWeights::Equal => relative_rotation(&xi, &xj, None, workspace, rotation)?,
                        NodeWeights::Robust => outliers::relative_rotation(&xi, &xj, workspace, rotation)?,
                    })
                },
            )
            .collect();
        let count = |&(index, _): &(u32, bool)| source.overlaps[index as usize].len();
        Ok(Self {
            num_patches: num_ends,
            dim,
            edges: links.iter().map(|link| link.ends).collect(),
            shared: links.iter().map(|link| link.overlaps.iter().map(count).sum()).collect(),
            trust: links.iter().map(|link| source.trust_in(link)).collect(),
            rotations,
            fits: fits?,
            precision,
        })
    }

    /// The number of links.
    pub fn num_edges(&self) -> usize {
        self.edges.len()
    }

    /// The relative rotation of a link.
    pub fn rotation(&self, edge: usize) -> &[f64] {
        let size = self.dim * self.dim;
        &self.rotations[edge * size..][..size]
    }
}

/// Each overlap as a link of its own.
pub fn one_link_each(overlaps: &[Overlap]) -> Vec<Link> {
    let link = |(index, overlap): (u32, &Overlap)| Link {
        ends: (overlap.i, overlap.j),
        overlaps: vec![(index, false)],
    };
    (0..).zip(overlaps).map(link).collect()
}
