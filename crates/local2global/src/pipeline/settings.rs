//! The settings of a run: checked before anything is done, filled in, and written down.

use std::path::{Path, PathBuf};

use super::{GraphSource, Pipeline, PipelineError};
use crate::align::{AlignFilesError, AlignMethod};
use crate::config::Config;
use crate::embed::EmbedMethod;
use crate::graph::Graph;
use crate::graph::builtin::{self, GraphLocation};
use crate::graph::input::{self, GraphInput};
use crate::graph::io::is_standard_input;
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
                *input = match builtin::data_set(input.names()) {
                    None => absolute_input(input)?,
                    Some(_) => match builtin::locate(input.names(), folders)? {
                        GraphLocation::BuiltIn(_) => input.clone(),
                        GraphLocation::Files(files) => {
                            let files = files.iter().map(|file| file.display().to_string());
                            absolute_input(&files.collect::<Vec<_>>().into())?
                        }
                    },
                };
            }
            (GraphSource::Settings(_), None) => {}
            (GraphSource::Memory(_), Some(input)) => {
                *input = absolute_input(input)?;
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
    /// Fills in the settings that follow from the graph and the limit of memory, and checks those that
    /// depend on them.
    pub(super) fn settle_for(&mut self, graph: &Graph) -> Result<(), PipelineError> {
        self.settle_methods(graph);
        let Self { partition, patch, embed, evaluate, .. } = self;
        let bounds = patch.overlap_bounds(embed.dim)?;
        let clusters = partition.num_clusters(graph.num_nodes(), bounds.half_min())?;
        if partition.size == NumClusters::Auto {
            partition.size = NumClusters::Clusters(clusters);
        }
        evaluate.check_for(graph)?;
        self.settle_for_limit(graph)
    }

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

/// Names from the root: those of folders and patterns stay what they are, so that a file that is added
/// is noticed.
fn absolute_input(input: &GraphInput) -> Result<GraphInput, FileError> {
    let absolute = |name: &String| input::absolute(name).map_err(FileError::at("find", Path::new(name)));
    Ok(input.names().iter().map(absolute).collect::<Result<Vec<_>, _>>()?.into())
}

/// The path from the root; one that leads nowhere is left as people know it.
fn absolute(path: &Path) -> Result<PathBuf, FileError> {
    match path.exists() && !is_standard_input(path) {
        true => std::path::absolute(path).map_err(FileError::at("find", path)),
        false => Ok(path.to_owned()),
    }
}
