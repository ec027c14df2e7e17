//! The patches of each setting.

use std::path::Path;

use super::{ExperimentError, Setting};
use crate::align::AlignConfig;
use crate::config::Config;
use crate::graph::{Graph, NodeId};
use crate::partition::{Partition, PartitionReport, partition, write_partition};
use crate::patch::{PatchConfig, PatchReport, make_patches, write_patches};
use crate::progress::Progress;
use crate::run_dir::RunDir;

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
            write_patches(&run, &patches, &report, progress)?;
            let nodes = patches.patches().iter().map(|patch| patch.nodes.clone()).collect();
            Ok(Self { setting, run, nodes, report, patch, align: setting.align(&config.align) })
        };
        let [paper, ours] = Setting::BOTH;
        let sets = [make(paper)?, make(ours)?];
        Ok((clusters, sets))
    }
}
