//! One graph of the experiment: its patches, and for each dimension, train and stitch.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use serde::Serialize;

use super::named::Named;
use super::patch_set::PatchSet;
use super::{ExperimentError, Setting};
use crate::align::files::read_transforms;
use crate::align::{AlignPaths, EmbeddingRows, align_files};
use crate::config::Config;
use crate::embed::frame::Sources;
use crate::embed::{
    EmbedConfig, EmbedMethod, EmbedSummary, Frame, StitchedFolders, embed_framed, embed_late_in,
};
use crate::graph::{Graph, NodeId};
use crate::partition::Partition;
use crate::progress::Progress;
use crate::run_dir::{ExperimentFolder, FileError, RunDir, patch_name, read_json, write_atomically};
use crate::seed::Seed;

/// A graph, its patches in both settings, and the folder that they and all embeddings lie in: the
/// whole graph, or what a split leaves of it.
pub(super) struct Trials<'a> {
    graph: Cow<'a, Graph>,
    clusters: Partition,
    pub(super) sets: [PatchSet; 2],
    /// With what follows from method and graph filled in; `embed.dim` is the largest.
    pub(super) config: Config,
    folder: ExperimentFolder,
    /// All nodes, as one patch.
    whole: Vec<Vec<NodeId>>,
}

/// What became of one dimension.
pub(super) struct Trained {
    /// What `auto` stood for; none if the settings name the method.
    pub(super) chosen: Option<EmbedMethod>,
    pub(super) seconds: TrainSeconds,
    pub(super) embedded: usize,
    pub(super) kept: usize,
}

/// How long training took: the sum over all patches and runs. Patches that were trained at the same time,
/// or that an earlier run had trained already, count in full.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct TrainSeconds {
    pub(super) dim: usize,
    /// The split; none for the whole graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) split: Option<usize>,
    pub(super) full: f64,
    pub(super) paper: f64,
    pub(super) ours: f64,
}

impl<'a> Trials<'a> {
    /// Makes the patches of a graph, for up to `embed.dim` dimensions.
    pub(super) fn new(
        graph: Cow<'a, Graph>,
        mut config: Config,
        folder: &Path,
        progress: &dyn Progress,
    ) -> Result<Self, ExperimentError> {
        config.settle_methods(&graph);
        let (clusters, sets) = PatchSet::make_both(&graph, &config, folder, progress)?;
        let whole = vec![graph.nodes().collect()];
        Ok(Self { graph, clusters, sets, config, folder: ExperimentFolder::at(folder), whole })
    }

    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }

    pub(super) fn seed(&self) -> Seed {
        self.config.seed
    }

    /// Trains and stitches all embeddings of one dimension; `place` tells people which.
    pub(super) fn train(
        &self,
        dim: usize,
        place: &str,
        progress: &dyn Progress,
    ) -> Result<Trained, ExperimentError> {
        let named = |what: &str| Named { name: format!("{place}, {what}"), inner: progress };
        let config = EmbedConfig { dim, ..self.config.embed.clone() };
        let sources = Sources { graph: &self.graph, clusters: Some(&self.clusters) };
        let folder = self.folder.frame(dim);
        let frame = Frame::prepare(&sources, &config, self.seed(), &folder, &named("all"))
            .map_err(|source| ExperimentError::Prepare { dim, source: Box::new(source) })?;
        let embed = (&config, &frame);
        let whole = self.embed_whole(embed, &named("full"))?;
        let [paper, ours] = &self.sets;
        let first = self.stitch(paper, embed, &named("paper"))?;
        self.share(dim)?;
        let second = self.stitch(ours, embed, &named("ours"))?;
        let summaries = [whole, first, second];
        let seconds = |name: &str, patches: &[_]| train_seconds(&self.run_dir(dim, name), patches.len());
        Ok(Trained {
            chosen: (config.method == EmbedMethod::Auto).then(|| frame.method()),
            seconds: TrainSeconds {
                dim,
                split: None,
                full: seconds("full", &self.whole),
                paper: seconds("paper", &paper.nodes),
                ours: seconds("ours", &ours.nodes),
            },
            embedded: summaries.iter().map(|summary| summary.embedded.len()).sum(),
            kept: summaries.iter().map(|summary| summary.kept.len()).sum(),
        })
    }

    /// The folder of one embedding of one dimension.
    pub(super) fn run_dir(&self, dim: usize, name: &str) -> RunDir {
        RunDir::new(self.folder.dimension(dim).join(name))
    }

    /// Trains on the whole graph.
    fn embed_whole(
        &self,
        (config, frame): (&EmbedConfig, &Frame),
        progress: &dyn Progress,
    ) -> Result<EmbedSummary, ExperimentError> {
        // `embed.patches` holds settings for patch-00000 and so on. The whole graph is trained as
        // patch-00000 here, and must not get them.
        let config = EmbedConfig { patches: Default::default(), ..config.clone() };
        let dim = config.dim;
        let folder = self.run_dir(dim, "full").embeddings();
        embed_framed(&self.graph, &self.whole, None, (&config, frame), self.seed(), &folder, progress)
            .map_err(|source| ExperimentError::Full { dim, source: Box::new(source) })
    }

    /// Trains on the patches of a setting and stitches them, as the stages of a run do.
    fn stitch(
        &self,
        set: &PatchSet,
        embed: (&EmbedConfig, &Frame),
        progress: &dyn Progress,
    ) -> Result<EmbedSummary, ExperimentError> {
        let (dim, setting, seed) = (embed.0.dim, set.setting, self.seed());
        let run = self.run_dir(dim, setting.name());
        let (patches, embeddings, alignment) = (set.run.patches(), run.embeddings(), run.alignment());
        let summary = embed_framed(&self.graph, &set.nodes, None, embed, seed, &embeddings, progress)
            .map_err(|source| ExperimentError::Embed { dim, setting, source: Box::new(source) })?;
        let paths = AlignPaths {
            nodes: patches.clone().into(),
            coords: embeddings.clone().into(),
            edges: Some(patches.patch_graph()),
            out: alignment.clone().into(),
            rows: EmbeddingRows::EveryNode,
        };
        let failed = |source| ExperimentError::Align { dim, setting, source: Box::new(source) };
        align_files(&paths, &set.align, seed, progress).map_err(failed)?;
        // In the paper's setting, the embedding of a node is the mean of its aligned copies. Only our
        // own setting replaces it by what the encoders give on the whole graph.
        if setting == Setting::Ours {
            let transforms = read_transforms(&alignment.transforms()).map_err(failed)?;
            let folders =
                StitchedFolders { patches: &patches, embeddings: &embeddings, alignment: &alignment };
            embed_late_in(&self.graph, &folders, embed, &transforms.rotations)
                .map_err(|source| ExperimentError::Late { dim, source: Box::new(source) })?;
        }
        Ok(summary)
    }

    /// Copies the embeddings of patches that are the same in both settings, so that they
    /// are not trained again; their digests still have to fit.
    fn share(&self, dim: usize) -> Result<(), FileError> {
        let [paper, ours] = &self.sets;
        let same = paper.nodes.iter().zip(&ours.nodes).enumerate().filter(|(_, (a, b))| a == b);
        let [from, to] = Setting::BOTH.map(|setting| self.run_dir(dim, setting.name()).embeddings());
        for (index, _) in same {
            let name = patch_name(index);
            if fs::read(from.record(&name)).ok() != fs::read(to.record(&name)).ok() {
                for (from, to) in from.files_of(&name).iter().zip(to.files_of(&name)) {
                    if from.exists() {
                        copy(from, &to)?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), FileError> {
    let mut source = File::open(from).map_err(FileError::at("read", from))?;
    write_atomically(to, |sink| io::copy(&mut source, sink).map(drop))
}

/// How long the patches of a folder took to train: the sum of the seconds in their records.
fn train_seconds(run: &RunDir, num_patches: usize) -> f64 {
    let seconds = |index| {
        let record: serde_json::Value = read_json(&run.embeddings().record(&patch_name(index))).ok()?;
        record.get("seconds")?.as_f64()
    };
    (0..num_patches).filter_map(seconds).sum()
}
