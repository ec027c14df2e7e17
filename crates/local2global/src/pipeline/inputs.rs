//! The digest of what a stage is made from.

use serde::Serialize;

use super::{GraphSource, Pipeline, PipelineError, StageName, Stamp};
use crate::config::Config;
use crate::digest::Digest;
use crate::embed::EmbedConfig;
use crate::graph::builtin::{self, Source};
use crate::graph::{Features, Graph};
use crate::run_dir::FileError;

impl Pipeline<'_> {
    /// The digest of settings, seed, version and the outputs of the stages it reads.
    pub(super) fn inputs(&self, stage: StageName) -> Result<String, PipelineError> {
        let mut digest = Digest::default();
        digest.add_text(stage.name());
        digest.add_text(env!("CARGO_PKG_VERSION"));
        digest.add(self.config.seed.0);
        self.add_settings(stage, &mut digest);
        for earlier in stage.reads() {
            let stamp = Stamp::read(&earlier.folder(self.run));
            digest.add_text(&stamp.map(|stamp| stamp.output).unwrap_or_default());
        }
        if stage == StageName::Graph {
            self.add_source(&mut digest)?;
        }
        Ok(digest.to_string())
    }

    /// The settings that a stage depends on.
    fn add_settings(&self, stage: StageName, digest: &mut Digest) {
        let Config { graph, partition, patch, embed, align, evaluate, .. } = &self.config;
        // More memory or fewer patches at a time give the same coordinates.
        let embed_settings = || text_of(&EmbedConfig { memory_bytes: 0, ..embed.clone() });
        let bounds = || format!("{:?}", patch.overlap_bounds(embed.dim).ok());
        match stage {
            StageName::Graph => digest.add_text(&text_of(graph)),
            StageName::Partition => {
                digest.add_text(&text_of(partition));
                digest.add_text(&bounds());
            }
            StageName::Patch => {
                digest.add_text(&text_of(patch));
                digest.add_text(&bounds());
            }
            StageName::Embed => digest.add_text(&embed_settings()),
            StageName::Align => digest.add_text(&text_of(align)),
            StageName::Evaluate => {
                digest.add_text(&text_of(evaluate));
                if evaluate.full {
                    digest.add_text(&embed_settings());
                }
            }
        }
    }

    /// The content of all files that the graph is read from, or the graph itself.
    fn add_source(&self, digest: &mut Digest) -> Result<(), PipelineError> {
        let config = &self.config.graph;
        match self.source {
            GraphSource::Memory(loaded) => {
                add_graph(&loaded.graph, digest);
                return Ok(());
            }
            GraphSource::Settings(folders) => {
                match builtin::locate(config.input.as_deref().unwrap_or("cora"), folders)? {
                    Source::BuiltIn(bytes) => digest.add_values(bytes),
                    // A file that cannot be read is told by whoever reads it.
                    Source::File(path) if path.is_file() => {
                        digest.add_file(&path).map_err(FileError::at("read", &path))?;
                    }
                    Source::File(_) => {}
                }
            }
        }
        for path in [&config.features, &config.labels].into_iter().flatten().filter(|path| path.is_file()) {
            digest.add_file(path).map_err(FileError::at("read", path))?;
        }
        Ok(())
    }
}

fn text_of(settings: &impl Serialize) -> String {
    serde_json::to_string(settings).expect("settings are plain tables")
}

/// Everything that later stages see of a graph.
fn add_graph(graph: &Graph, digest: &mut Digest) {
    digest.add(graph.num_nodes() as u64);
    for node in graph.nodes() {
        digest.add(graph.degree(node) as u64);
        graph.neighbors(node).for_each(|neighbor| digest.add(neighbor.0));
        digest.add_values(graph.neighbor_weights(node).unwrap_or_default());
    }
    match graph.features() {
        None => {}
        Some(Features::Dense(dense)) => graph.nodes().for_each(|node| digest.add_values(dense.row(node))),
        Some(Features::Sparse(sparse)) => graph.nodes().for_each(|node| {
            let (columns, values) = sparse.row(node);
            digest.add_values(columns);
            digest.add_values(values);
        }),
    }
    digest.add_text(&format!("{:?}", graph.labels()));
    digest.add_text(&format!("{:?}", graph.ids()));
}
