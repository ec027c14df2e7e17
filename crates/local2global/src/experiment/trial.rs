//! One dimension of the experiment: train, stitch, score.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::named::Named;
use super::setting::PatchSet;
use super::{ExperimentError, Row, Setting};
use crate::align::{AlignPaths, Rows, align_files};
use crate::config::Config;
use crate::embed::nn::decoder::Decoder;
use crate::embed::{EmbedConfig, Summary, embed_patches};
use crate::evaluate::reconstruction::{Score, reconstruction_auc};
use crate::graph::{Graph, NodeId};
use crate::npy;
use crate::progress::Progress;
use crate::run_dir::{FileError, RunDir, patch_name, write_atomically};
use crate::seed::{Seed, Stage};

/// What all dimensions share.
pub(super) struct Trials<'a> {
    graph: &'a Graph,
    sets: &'a [PatchSet; 2],
    folder: &'a Path,
    embed: EmbedConfig,
    seed: Seed,
    /// The whole graph, as one patch.
    whole: Vec<Vec<NodeId>>,
}

/// What came out for one dimension.
pub(super) struct Outcome {
    pub(super) row: Row,
    pub(super) seconds: TrainSeconds,
    pub(super) embedded: usize,
    pub(super) kept: usize,
}

/// How long training took, summed over patches and runs, also where they ran at once or
/// in an earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct TrainSeconds {
    dim: usize,
    full: f64,
    paper: f64,
    ours: f64,
}

impl<'a> Trials<'a> {
    pub(super) fn new(
        graph: &'a Graph,
        config: &Config,
        runs: u32,
        sets: &'a [PatchSet; 2],
        folder: &'a Path,
    ) -> Self {
        let embed = EmbedConfig { runs, ..config.embed.clone() };
        Self { graph, sets, folder, embed, seed: config.seed, whole: vec![graph.nodes().collect()] }
    }

    /// Does one dimension; `place` tells people which.
    pub(super) fn run(
        &self,
        dim: usize,
        place: &str,
        progress: &dyn Progress,
    ) -> Result<Outcome, ExperimentError> {
        let named = |what: &str| Named { name: format!("{place}, {what}"), inner: progress };
        let (full, whole) = self.full(dim, &named("full"))?;
        let [paper, ours] = self.sets;
        let ([l2g_paper, no_trans_paper], first) = self.stitched(paper, dim, &named("paper"))?;
        self.share(dim)?;
        let ([l2g, no_trans], second) = self.stitched(ours, dim, &named("ours"))?;
        let summaries = [whole, first, second];
        let seconds = |name: &str, patches: &[_]| train_seconds(&self.run_dir(dim, name), patches.len());
        Ok(Outcome {
            row: Row { dim, full, l2g, no_trans, l2g_paper, no_trans_paper },
            seconds: TrainSeconds {
                dim,
                full: seconds("full", &self.whole),
                paper: seconds("paper", &paper.nodes),
                ours: seconds("ours", &ours.nodes),
            },
            embedded: summaries.iter().map(|summary| summary.embedded.len()).sum(),
            kept: summaries.iter().map(|summary| summary.kept.len()).sum(),
        })
    }

    /// The folder of one embedding of one dimension.
    fn run_dir(&self, dim: usize, name: &str) -> RunDir {
        RunDir::new(self.folder.join(format!("d={dim:03}")).join(name))
    }

    /// Trains on the whole graph.
    fn full(&self, dim: usize, progress: &dyn Progress) -> Result<(f64, Summary), ExperimentError> {
        // Settings of single patches are not meant for the whole.
        let config = EmbedConfig { dim, patches: Default::default(), ..self.embed.clone() };
        let folder = self.run_dir(dim, "full").embeddings();
        let summary = embed_patches(self.graph, &self.whole, None, &config, self.seed, &folder, progress)
            .map_err(|source| ExperimentError::Full { dim, source: Box::new(source) })?;
        let auc = self.auc(folder.join(format!("{}.npy", patch_name(0))), dim)?;
        Ok((auc, summary))
    }

    /// Trains on patches and stitches them: the scores with and without transforms.
    fn stitched(
        &self,
        set: &PatchSet,
        dim: usize,
        progress: &dyn Progress,
    ) -> Result<([f64; 2], Summary), ExperimentError> {
        let setting = set.setting;
        let run = self.run_dir(dim, setting.name());
        let config = EmbedConfig { dim, ..self.embed.clone() };
        let folder = run.embeddings();
        let summary = embed_patches(self.graph, &set.nodes, None, &config, self.seed, &folder, progress)
            .map_err(|source| ExperimentError::Embed { dim, setting, source: Box::new(source) })?;
        let paths = AlignPaths {
            nodes: set.run.patches(),
            coords: folder,
            edges: Some(set.run.patches().join("patch_graph.npy")),
            out: run.alignment(),
            rows: Rows::EveryNode,
        };
        align_files(&paths, &set.align, self.seed, progress).map_err(|source| ExperimentError::Align {
            dim,
            setting,
            source: Box::new(source),
        })?;
        let auc = |name: &str| self.auc(run.alignment().join(name), dim);
        Ok(([auc("embedding.npy")?, auc("no_trans.npy")?], summary))
    }

    /// Copies the embeddings of patches that are the same in both settings, so that they
    /// are not trained again; their digests still have to fit.
    fn share(&self, dim: usize) -> Result<(), FileError> {
        let [paper, ours] = self.sets;
        let same = paper.nodes.iter().zip(&ours.nodes).enumerate().filter(|(_, (a, b))| a == b);
        let [from, to] = Setting::BOTH.map(|setting| self.run_dir(dim, setting.name()).embeddings());
        for (index, _) in same {
            let file = |folder: &Path, ending: &str| folder.join(format!("{}.{ending}", patch_name(index)));
            if fs::read(file(&from, "json")).ok() != fs::read(file(&to, "json")).ok() {
                // The record vouches for the coordinates, so it comes last.
                // The record first: coordinates without one would be somebody else's.
                copy(&file(&from, "json"), &file(&to, "json"))?;
                copy(&file(&from, "npy"), &file(&to, "npy"))?;
            }
        }
        Ok(())
    }

    /// The reconstruction AUC of an embedding; the non-edges are the same for all.
    fn auc(&self, path: PathBuf, dim: usize) -> Result<f64, ExperimentError> {
        let embedding = npy::map::<f32>(&path).map_err(|source| ExperimentError::Array { path, source })?;
        let score = match self.embed.decoder {
            Decoder::InnerProduct => Score::InnerProduct,
            Decoder::Distance => Score::Distance,
        };
        let mut random = self.seed.stream(Stage::Evaluate, 0);
        reconstruction_auc(self.graph, &embedding.values, dim, score, &mut random)
            .ok_or(ExperimentError::NoScore)
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), FileError> {
    let mut source = File::open(from).map_err(FileError::at("read", from))?;
    write_atomically(to, |sink| io::copy(&mut source, sink).map(drop))
}

/// How long the patches of a folder took, as their records tell.
fn train_seconds(run: &RunDir, num_patches: usize) -> f64 {
    let record = |index| fs::read(run.embeddings().join(format!("{}.json", patch_name(index)))).ok();
    let seconds = |bytes: Vec<u8>| {
        let record: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
        record.get("seconds")?.as_f64()
    };
    (0..num_patches).filter_map(record).filter_map(seconds).sum()
}
