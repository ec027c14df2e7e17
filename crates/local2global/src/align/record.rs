//! What is known about the quality of an alignment: the record in `alignment.json`.

use serde::{Deserialize, Serialize};

use super::outliers::median;
use super::{Accuracy, AlignConfig, Centroid, Judgement};
use crate::linalg::eigen::Certificate;

/// Above this typical misfit patches are said to fit loosely.
pub(super) const LOOSE: f64 = 0.25;

/// Everything that is known about the quality of an alignment: `alignment.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnostics {
    /// The result in plain words.
    pub verdict: String,
    /// The number of patches.
    pub patches: usize,
    /// The number of coordinates.
    pub dim: usize,
    /// The number of patch edges.
    pub patch_edges: usize,
    /// How often patches were grouped.
    pub levels: usize,
    /// Which centre of its copies a node was put at.
    pub centroid: Centroid,
    /// The settings.
    pub settings: AlignConfig,
    /// Median over the patch edges of the misfit before alignment.
    pub misfit_before: f64,
    /// Median over the patch edges of the misfit after alignment.
    pub misfit_after: f64,
    /// How far the rotations around the cycles of the patch graph are from closing, from
    /// 0 to 1, over the cycles that a spanning tree leaves.
    pub cycle_inconsistency: Range,
    /// The quality of the eigenvectors, in the worst group.
    pub certificate: Option<Certificate>,
    /// How exact the motions are, from overlaps to translations; none if patches were not rotated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
    /// The leading eigenvalues; 1 without noise.
    pub eigenvalues: Vec<f64>,
    /// The patches whose coordinates have collapsed: all nodes lie at one point, or nearly.
    #[serde(default)]
    pub collapsed: Vec<String>,
    /// The number of dimensions that the nodes of all patches fill after alignment.
    #[serde(default)]
    pub rank: usize,
    /// The patch with the largest misfit.
    pub worst_patch: Option<String>,
    /// What shared nodes say that were left out of fitting; none if it was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
    /// The patches that were put into the finished frame one by one, the last one last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub updated: Vec<String>,
    /// One entry per patch.
    pub patch_list: Vec<PatchFit>,
    /// One entry per patch edge.
    pub edge_list: Vec<EdgeFit>,
}

/// The middle and the largest of some values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
}

/// How a patch fits its neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatchFit {
    /// The patch.
    pub patch: String,
    /// Its number of nodes.
    pub nodes: usize,
    /// Its number of neighbours.
    pub neighbors: usize,
    /// Root mean square distance of its nodes from their centre, before alignment.
    #[serde(default)]
    pub radius: f64,
    /// The number of dimensions that its nodes fill.
    #[serde(default)]
    pub rank: usize,
    /// Root mean square distance between copies of its shared nodes, after alignment.
    pub residual: f64,
    /// The median misfit of its edges, after alignment.
    pub misfit: f64,
    /// The fraction of its weight that robust alignment left it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trust: Option<f64>,
}

/// How two patches fit each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EdgeFit {
    /// The two patches.
    pub patches: [String; 2],
    /// The number of nodes they share.
    pub overlap: usize,
    /// Root mean square distance between the copies of a node, before alignment.
    pub residual_before: f64,
    /// The same after alignment.
    pub residual_after: f64,
    /// The same by the spread of the shared nodes: 0 is perfect.
    pub misfit: f64,
    /// What is left of it with the rotation that suits these two patches best.
    pub best_misfit: f64,
    /// How far the rotation is from the one measured on this edge, from 0 to 1.
    pub inconsistency: f64,
    /// The number of dimensions in which the overlap fixes the rotation.
    pub rank: usize,
    /// The fraction of its weight that robust alignment left it.
    pub trust: f64,
}

impl Diagnostics {
    /// Whether patches fit loosely, or worse.
    pub fn is_loose(&self) -> bool {
        median(&self.patch_list.iter().map(|patch| patch.misfit).collect::<Vec<_>>()) > LOOSE
    }

    /// The patch edges whose overlap does not fix the rotation in all dimensions.
    pub fn rank_deficient(&self) -> impl Iterator<Item = &EdgeFit> {
        self.edge_list.iter().filter(|edge| edge.rank < self.dim)
    }
}
