//! The two settings that are compared.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::align::{AlignConfig, AlignMethod, Centroid};
use crate::patch::{Cover, Landmarks, PatchConfig};

/// How patches are made and stitched.
///
/// Both settings embed patches by the same method, with the same common frame where the method has
/// one: what they differ in is which patches there are, and what becomes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// As in the paper: patches cover the nodes and have no landmarks, rotations come from
    /// eigenvectors and are not judged, a node goes to the mean of its copies. What patches learned
    /// is not applied to the whole graph again (`embed.late`).
    Paper,
    /// As set, and as `l2g run` does it; unless the method needs less, patches cover the edges, and
    /// the mean is weighted.
    Ours,
}

impl Setting {
    /// Both settings.
    pub const BOTH: [Self; 2] = [Self::Paper, Self::Ours];

    /// The name, also of the folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Ours => "ours",
        }
    }

    /// How patches are made.
    pub fn patch(self, config: &PatchConfig) -> PatchConfig {
        match self {
            Self::Paper => {
                PatchConfig { cover: Some(Cover::Nodes), landmarks: Some(Landmarks::NONE), ..config.clone() }
            }
            Self::Ours => config.clone(),
        }
    }

    /// How patches are stitched.
    pub fn align(self, config: &AlignConfig) -> AlignConfig {
        match self {
            Self::Paper => AlignConfig {
                method: Some(AlignMethod::Eigenvectors),
                judge: false,
                centroid: Centroid::Mean,
                ..config.clone()
            },
            Self::Ours => config.clone(),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
