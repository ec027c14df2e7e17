//! The settings of a run: checked before anything is done, filled in, and written down.

use std::path::{Path, PathBuf};

use super::{Estimate, GraphSource, Pipeline, PipelineError};
use crate::align::{AlignFilesError, AlignMethod};
use crate::config::Config;
use crate::embed::EmbedMethod;
use crate::graph::Graph;
use crate::graph::builtin::{self, GraphLocation};
use crate::graph::io::is_standard_input;
use crate::memory::{self, ByteSize, TooSmall};
use crate::partition::{NumClusters, PartitionMethod};
use crate::patch::read_report;
use crate::run_dir::FileError;

impl Pipeline<'_> {
    /// Checks all that can be checked without the graph, and makes paths independent of the
    /// folder that the program was started in.
    pub(super) fn check_settings(&mut self) -> Result<(), PipelineError> {
        let Config { partition, patch, embed, align, evaluate, .. } = &self.config;
        embed.check()?;
        patch.check(embed.dim)?;
        // More nodes than any graph has: only a number of none is refused.
        partition.num_clusters(1 << 48, 1)?;
        align.check().map_err(AlignFilesError::from)?;
        evaluate.check()?;
        self.make_paths_absolute()
    }

    /// Replaces relative paths by absolute ones, so that `run.toml` names the same files wherever
    /// it is read.
    pub(super) fn make_paths_absolute(&mut self) -> Result<(), PipelineError> {
        let Config { graph, partition, evaluate, embed, .. } = &mut self.config;
        match (&self.source, &mut graph.input) {
            (GraphSource::Settings(folders), Some(input)) => {
                if let GraphLocation::File(path) = builtin::locate(input, folders)? {
                    *input = absolute(&path)?.display().to_string();
                }
            }
            (GraphSource::Settings(_), None) => {}
            (GraphSource::Memory(_), Some(input)) => {
                *input = absolute(Path::new(input))?.display().to_string();
            }
            // Nothing that can be read again, and not the graph that is read by default.
            (GraphSource::Memory(_), input @ None) => *input = Some("a graph in memory".into()),
        }
        let file = match &mut partition.method {
            PartitionMethod::Given(given) => given.file.as_mut(),
            _ => None,
        };
        let coordinates = Some(&mut embed.coordinates).filter(|path| !path.as_os_str().is_empty());
        let paths =
            [graph.features.as_mut(), graph.labels.as_mut(), file, evaluate.split.as_mut(), coordinates];
        let own = embed.patches.values_mut().filter_map(|config| config.coordinates.as_mut());
        for path in paths.into_iter().flatten().chain(own) {
            *path = absolute(path)?;
        }
        Ok(())
    }

    /// Fills in the settings that follow from the graph, and checks those that depend on it.
    pub(super) fn settle_for(&mut self, graph: &Graph) -> Result<(), PipelineError> {
        self.config.settle_methods(graph);
        let Config { memory, partition, patch, embed, evaluate, .. } = &mut self.config;
        let bounds = patch.overlap_bounds(embed.dim)?;
        let clusters = partition.num_clusters(graph.num_nodes(), bounds.half_min())?;
        partition.method = match memory {
            Some(limit) => partition.method.within(graph, limit.0),
            None => partition.method.for_graph(graph),
        };
        if partition.size == NumClusters::Auto {
            partition.size = NumClusters::Clusters(clusters);
        }
        Ok(evaluate.check_for(graph)?)
    }

    /// Checks that the machine has the memory that embedding and alignment are estimated to take,
    /// or half of it: the estimate is rough. A limit that the user has set is kept to the letter. The
    /// graph is mapped, and may be larger.
    pub(super) fn check_memory(&self, graph: &Graph) -> Result<(), PipelineError> {
        let config = Config { embed: self.config.embed_within_memory(), ..self.config.clone() };
        let needed = Estimate::of(&config, graph)?.working_bytes;
        if let Some(limit) = self.config.memory.filter(|limit| needed > limit.0) {
            return Err(PipelineError::Limit { needed: ByteSize(needed.next_multiple_of(1 << 20)), limit });
        }
        match memory::machine_too_small_for(needed) {
            Some(TooSmall { needed, there }) => Err(PipelineError::Memory { needed, there }),
            None => Ok(()),
        }
    }

    /// Checks that all patches can be aligned, before any is trained.
    pub(super) fn check_joined(&self) -> Result<(), PipelineError> {
        let report = read_report(self.run)?;
        match report.connected {
            true => Ok(()),
            false => Err(PipelineError::Parts { groups: report.groups.len() }),
        }
    }
}

impl Config {
    /// Fills in what follows from the method of embedding and the graph: how patches are trained,
    /// what they cover, which landmarks they share, and how they are aligned.
    pub(crate) fn settle_methods(&mut self, graph: &Graph) {
        let Self { partition, patch, embed, align, .. } = self;
        *embed = embed.settled();
        // Models that were trained apart differ by more than rotations, and all copies together say
        // more about them than pairs of patches. With a common frame patches nearly agree already.
        let method = embed.method.for_graph(graph);
        if embed.has_common_frame(method) {
            align.method.get_or_insert(AlignMethod::Straighten);
        } else if method != EmbedMethod::Spectral {
            align.method.get_or_insert(AlignMethod::Procrustes);
        }
        if patch.landmarks.is_none() {
            // Settings that fit no graph are refused where they are used.
            let smallest = patch.overlap_bounds(embed.dim).map_or(1, |bounds| bounds.half_min());
            let clusters = partition.num_clusters(graph.num_nodes(), smallest).unwrap_or(1);
            patch.landmarks = Some(embed.usual_landmarks(graph, clusters));
        }
        patch.cover.get_or_insert(embed.usual_cover(graph));
    }
}

/// The path from the root; one that leads nowhere is left as people know it.
fn absolute(path: &Path) -> Result<PathBuf, FileError> {
    match path.exists() && !is_standard_input(path) {
        true => std::path::absolute(path).map_err(FileError::at("find", path)),
        false => Ok(path.to_owned()),
    }
}
