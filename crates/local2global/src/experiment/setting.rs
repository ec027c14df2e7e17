//! The two settings that are compared, and the patches of each.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ExperimentError;
use crate::align::{AlignConfig, AlignMethod, Centroid};
use crate::config::Config;
use crate::graph::{Graph, NodeId};
use crate::partition::{Partition, PartitionReport, partition, write_partition};
use crate::patch::{Cover, Landmarks, PatchConfig, PatchReport, make_patches, write_patches};
use crate::progress::Progress;
use crate::run_dir::RunDir;

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

/// The patches of one setting.
pub(super) struct PatchSet {
    pub(super) setting: Setting,
    /// The folder with `3-patches`.
    pub(super) run: RunDir,
    /// The nodes of each patch.
    pub(super) nodes: Vec<Vec<NodeId>>,
    pub(super) report: PatchReport,
    pub(super) patch: PatchConfig,
    pub(super) align: AlignConfig,
}

impl PatchSet {
    /// The clusters of a graph, and from them the patches of both settings, for up to `embed.dim`
    /// dimensions.
    pub(super) fn make_both(
        graph: &Graph,
        config: &Config,
        folder: &Path,
        progress: &dyn Progress,
    ) -> Result<(Partition, [Self; 2]), ExperimentError> {
        let dim = config.embed.dim;
        let smallest = config.patch.overlap_bounds(dim)?.half_min();
        let clusters = partition(graph, &config.partition, smallest, config.seed, progress)?;
        write_partition(&RunDir::new(folder), &clusters, &PartitionReport::of(graph, &clusters))?;
        let make = |setting: Setting| {
            let patch = setting.patch(&config.patch);
            let (patches, report) = make_patches(graph, &clusters, &patch, dim, config.seed, progress)?;
            if !report.connected {
                return Err(ExperimentError::Disconnected { groups: report.groups.len() });
            }
            let run = RunDir::new(folder.join(setting.name()));
            write_patches(&run, &patches, &report)?;
            let nodes = patches.patches().iter().map(|patch| patch.nodes.clone()).collect();
            Ok(Self { setting, run, nodes, report, patch, align: setting.align(&config.align) })
        };
        let [paper, ours] = Setting::BOTH;
        let sets = [make(paper)?, make(ours)?];
        Ok((clusters, sets))
    }
}
