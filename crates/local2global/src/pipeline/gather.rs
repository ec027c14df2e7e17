//! What a stage would be made from now: settings, files outside the folder, earlier stages.

use super::{GraphSource, Inputs, Pipeline, PipelineError, StageName, Stamp};
use crate::config::Config;
use crate::digest::Digest;
use crate::evaluate::EvaluateLimits;
use crate::graph::builtin::{self, GraphLocation};
use crate::graph::io::Format;
use crate::partition::PartitionMethod;

/// What a graph that a caller had in memory is called among the files.
pub(super) const GRAPH_IN_MEMORY: &str = "graph in memory";

impl Pipeline<'_> {
    /// What a stage is made from now.
    pub(super) fn inputs(&self, stage: StageName) -> Result<Inputs, PipelineError> {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let mut inputs = Inputs { version, seed: self.config.seed.0, ..Default::default() };
        self.add_settings(stage, &mut inputs);
        for earlier in stage.reads() {
            let stamp = Stamp::finished(&earlier.folder(self.run));
            let output = stamp.map(|stamp| stamp.output).unwrap_or_default();
            inputs.stages.insert(earlier.name().into(), output);
        }
        self.add_files(stage, &mut inputs)?;
        Ok(inputs)
    }

    /// The settings that a stage depends on.
    fn add_settings(&self, stage: StageName, inputs: &mut Inputs) {
        let Config { graph, partition, patch, embed, align, evaluate, .. } = &self.config;
        let embed = embed.settled().without_limits();
        let mut patch = patch.clone();
        if let Ok(bounds) = patch.overlap_bounds(embed.dim) {
            (patch.min_overlap, patch.max_overlap) = (Some(bounds.min), Some(bounds.max));
        }
        match stage {
            StageName::Graph => inputs.add_settings("graph", graph),
            StageName::Partition => {
                inputs.add_settings("partition", partition);
                inputs.add_settings("patch.min_overlap", &patch.min_overlap);
            }
            StageName::Patch => inputs.add_settings("patch", &patch),
            StageName::Embed => inputs.add_settings("embed", &embed),
            StageName::Align => inputs.add_settings("align", align),
            StageName::Evaluate => {
                inputs.add_settings("evaluate", evaluate);
                if evaluate.limits != EvaluateLimits::default() {
                    inputs.add_settings("memory", &evaluate.limits);
                }
                if evaluate.full {
                    inputs.add_settings("embed", &embed);
                }
            }
        }
    }

    /// The content of the files outside the run folder that a stage reads.
    fn add_files(&self, stage: StageName, inputs: &mut Inputs) -> Result<(), PipelineError> {
        let Config { partition, embed, evaluate, .. } = &self.config;
        match stage {
            StageName::Graph => self.add_source(inputs)?,
            StageName::Partition => {
                if let PartitionMethod::Given(given) = &partition.method {
                    given.file.iter().try_for_each(|file| inputs.add_file(file))?;
                }
            }
            StageName::Embed => {
                let mut configs = embed.each();
                configs.try_for_each(|config| config.scripts().try_for_each(|path| inputs.add_file(path)))?;
            }
            StageName::Evaluate => {
                evaluate.split.iter().try_for_each(|split| inputs.add_file(split))?;
            }
            StageName::Patch | StageName::Align => {}
        }
        Ok(())
    }

    /// The content of all files that the graph is read from, or the graph itself.
    fn add_source(&self, inputs: &mut Inputs) -> Result<(), PipelineError> {
        let config = &self.config.graph;
        match self.source {
            GraphSource::Memory(loaded) => {
                inputs.files.insert(GRAPH_IN_MEMORY.into(), loaded.graph.digest());
                return Ok(());
            }
            GraphSource::Settings(folders) => {
                let input = config.graph_input();
                match builtin::locate(input.names(), folders)? {
                    GraphLocation::BuiltIn(bytes) => {
                        let mut digest = Digest::default();
                        digest.add_values(bytes);
                        inputs.files.insert(input.to_string(), digest.to_string());
                    }
                    GraphLocation::Files(files) => {
                        let beside = files.iter().filter_map(|file| Format::description_of(file));
                        beside.chain(files.iter().cloned()).try_for_each(|file| inputs.add_file(&file))?;
                    }
                }
            }
        }
        [&config.features, &config.labels].into_iter().flatten().try_for_each(|path| inputs.add_file(path))
    }
}
