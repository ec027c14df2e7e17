//! The settings of the stage: the table `[align]`.

use serde::{Deserialize, Serialize};

use super::AlignError;
use crate::memory::Room;

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
    /// What the stage may take. No setting of the table: it changes no result, but for the number of
    /// levels where that is left open.
    #[serde(skip)]
    pub room: Room,
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
            room: Room::default(),
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
