//! What every patch is sent before it trains: `4-embeddings/frame.npz`.
//!
//! A method with a common frame needs a small summary of the whole graph, made once: how
//! features are scaled and projected, where the centre lies. A patch elsewhere needs its own rows
//! and this file, nothing else. `frame.json` beside it says what was chosen and why, and holds
//! the digest of what the frame was made from, so that a rerun makes it again only if that has
//! changed. The frame is part of what a patch depends on: its digest enters the patch's.

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::choose::{Choice, Trial};
use super::hops::features::{FeatureMap, FeatureScaling, are_counts};
use super::hops::{HopsEmbedder, HopsFrame, HopsSettings};
use super::nn::Matrix;
use super::{EmbedConfig, EmbedError, EmbedMethod, Embedder, FrameKind};
use super::{command, given, spectral, trained};
use crate::digest::Digest;
use crate::graph::{Features, Graph, NodeId};
use crate::partition::{Partition, undirected};
use crate::patch::landmarks::landmarks;
use crate::progress::Progress;
use crate::run_dir::{ArrayFile, FileError, write_arrays, write_json};
use crate::seed::{Seed, Stage};

/// The child of the run's seed that frames draw from; those from 0 on are the patches'.
const FRAME_SEED: u64 = 1 << 41;

/// What a frame is made from.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The whole graph.
    pub graph: &'a Graph,
    /// Its clusters, if it has been partitioned.
    pub clusters: Option<&'a Partition>,
    /// The nodes that all patches hold, if there are any.
    pub landmarks: &'a [NodeId],
}

impl<'a> Sources<'a> {
    /// A graph of which nothing else is known.
    pub fn of(graph: &'a Graph) -> Self {
        Self { graph, clusters: None, landmarks: &[] }
    }
}

/// What every patch is sent before it trains.
#[derive(Clone, Debug, Default)]
pub enum Frame {
    /// Nothing.
    #[default]
    None,
    /// For `hops`.
    Hops(Arc<HopsFrame>),
}

/// The file `frame.json`: what was chosen, and what the frame was made from.
#[derive(Debug, Serialize, Deserialize)]
pub struct FrameRecord {
    /// What the program chose for the user, and why.
    pub choices: Vec<Choice>,
    /// The digest of what the frame was made from.
    inputs: String,
    /// The digest of `frame.npz`.
    arrays: String,
}

impl FrameRecord {
    /// The record in a folder, if there is one.
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(RECORD)).ok()?).ok()
    }
}

const ARRAYS: &str = "frame.npz";
const RECORD: &str = "frame.json";

/// The centre is taken on so many nodes.
const CENTRE_NODES: usize = 1000;

impl Frame {
    /// The frame that the settings ask for: the one in `folder` if it was made from the same
    /// inputs, else a new one, which is put there.
    ///
    /// # Errors
    /// [`EmbedError`] if the graph lacks what the method needs, or a file cannot be written.
    pub fn prepare(
        sources: &Sources<'_>,
        config: &EmbedConfig,
        seed: Seed,
        folder: &Path,
        progress: &dyn Progress,
    ) -> Result<Self, EmbedError> {
        if config.frame == FrameKind::None || config.method != EmbedMethod::Hops {
            return remove_frame(folder);
        }
        let path = folder.join(ARRAYS);
        let inputs = digest_of(sources, config, seed);
        if let Some(frame) = read_current(folder, &inputs) {
            return Ok(frame);
        }
        progress.begin("common frame", 0, "steps");
        let graph = &*undirected(sources.graph);
        let (frame, choices) = Self::make(&Sources { graph, ..*sources }, config, seed)?;
        progress.end();
        frame.write(&path)?;
        let arrays = crate::digest::of_file(&path).map_err(FileError::at("read", &path))?;
        write_json(&folder.join(RECORD), &FrameRecord { choices, inputs, arrays })?;
        Ok(frame)
    }

    fn make(
        sources: &Sources<'_>,
        config: &EmbedConfig,
        seed: Seed,
    ) -> Result<(Self, Vec<Choice>), EmbedError> {
        let seed = seed.child(Stage::Embed, FRAME_SEED);
        let (scaling, choice) = choose_scaling(sources, config, seed)?;
        let settings = HopsSettings { scaling, ..HopsSettings::of(config) };
        let sample = landmarks(sources.graph, CENTRE_NODES, seed);
        let frame = HopsFrame::new(sources.graph, &sample, &settings, config.dim, seed)?;
        Ok((Self::Hops(Arc::new(frame)), choice.into_iter().collect()))
    }

    /// The frame that lies in a folder, if there is one.
    pub fn stored(folder: &Path) -> Option<Self> {
        Self::read(&folder.join(ARRAYS)).ok()
    }

    /// The embedder that some settings describe, with this frame.
    pub fn embedder(&self, config: &EmbedConfig) -> Box<dyn Embedder> {
        match config.method {
            EmbedMethod::Hops => {
                let frame = match self {
                    Self::Hops(frame) => Some(Arc::clone(frame)),
                    Self::None => None,
                };
                Box::new(HopsEmbedder::new(HopsSettings::of(config), frame))
            }
            EmbedMethod::Vgae | EmbedMethod::Gae | EmbedMethod::Dgi => {
                Box::new(trained::Trained::new(config))
            }
            EmbedMethod::Spectral => Box::new(spectral::Spectral::new(config.power_iterations)),
            EmbedMethod::Command => Box::new(command::Command::new(config.command.clone())),
            EmbedMethod::Given => Box::new(given::Given::new(config.coordinates.clone())),
        }
    }

    /// A digest of the content; none without a frame.
    pub fn digest(&self) -> Option<String> {
        let Self::Hops(frame) = self else { return None };
        let mut digest = Digest::default();
        digest.add_values(&frame.map.factors);
        digest.add_values(&frame.map.shift);
        digest.add_values(frame.map.basis.values());
        digest.add_values(&frame.centre);
        digest.add_values(frame.turn.values());
        digest.add(u64::from(frame.mean_weight.to_bits()));
        Some(digest.to_string())
    }

    /// The coordinates of all nodes before any training, for methods that have such.
    pub fn untrained(&self, graph: &Graph) -> Option<Matrix<f32>> {
        match self {
            Self::None => None,
            Self::Hops(frame) => Some(frame.untrained(&undirected(graph))),
        }
    }

    fn write(&self, path: &Path) -> Result<(), FileError> {
        let Self::Hops(frame) = self else { return Ok(()) };
        let HopsFrame { map, centre, mean_weight, turn } = &**frame;
        write_arrays(path, |archive| {
            archive.add("factors", &[map.factors.len()], &map.factors)?;
            archive.add("shift", &[map.shift.len()], &map.shift)?;
            archive.add("basis", &[map.basis.num_rows(), map.basis.num_columns()], map.basis.values())?;
            archive.add("centre", &[centre.len()], centre)?;
            archive.add("turn", &[turn.num_rows(), turn.num_columns()], turn.values())?;
            archive.add("mean_weight", &[1], &[*mean_weight])
        })
    }

    fn read(path: &Path) -> Result<Self, FileError> {
        let mut file = ArrayFile::open(path)?;
        let map = FeatureMap {
            factors: file.floats("factors")?.1,
            shift: file.floats("shift")?.1,
            basis: read_matrix(&mut file, "basis", path)?,
        };
        let turn = read_matrix(&mut file, "turn", path)?;
        let centre = file.floats("centre")?.1;
        let mean_weight = file.floats("mean_weight")?.1[0];
        Ok(Self::Hops(Arc::new(HopsFrame { map, centre, mean_weight, turn })))
    }
}

/// A matrix of an archive.
fn read_matrix(file: &mut ArrayFile, name: &str, path: &Path) -> Result<Matrix<f32>, FileError> {
    match file.floats(name)? {
        (shape, values) if shape.len() == 2 => Ok(Matrix::from_values(shape[0], shape[1], values)),
        _ => Err(FileError::at("understand", path)(io::ErrorKind::InvalidData.into())),
    }
}

/// Removes a frame that is not used any more, so that nobody takes it for current.
fn remove_frame(folder: &Path) -> Result<Frame, EmbedError> {
    for path in [folder.join(ARRAYS), folder.join(RECORD)].iter().filter(|path| path.exists()) {
        fs::remove_file(path).map_err(FileError::at("remove", path))?;
    }
    Ok(Frame::None)
}

/// The frame that lies in a folder, if it was made from these inputs and is undamaged.
fn read_current(folder: &Path, inputs: &str) -> Option<Frame> {
    let record = FrameRecord::read(folder)?;
    let path = folder.join(ARRAYS);
    let current = record.inputs == inputs && crate::digest::of_file(&path).ok()? == record.arrays;
    if current { Frame::read(&path).ok() } else { None }
}

/// How columns of features are weighed: as set, or as does best on validation edges.
fn choose_scaling(
    sources: &Sources<'_>,
    config: &EmbedConfig,
    seed: Seed,
) -> Result<(FeatureScaling, Option<Choice>), EmbedError> {
    if let Some(scaling) = config.scaling {
        return Ok((scaling, None));
    }
    let features = sources.graph.features().ok_or(EmbedError::NoFeatures)?;
    let other = match (are_counts(features), features) {
        (true, _) => FeatureScaling::Idf,
        (false, Features::Dense(_)) => FeatureScaling::Standard,
        (false, Features::Sparse(_)) => {
            let reason = "sparse features that are no counts";
            return Ok((FeatureScaling::Unit, Some(Choice::by_rule("scaling", "unit", reason))));
        }
    };
    let Some(trial) = Trial::new(sources.graph, sources.clusters, seed) else {
        let reason = "the graph cannot spare enough edges to try others";
        return Ok((FeatureScaling::Unit, Some(Choice::by_rule("scaling", "unit", reason))));
    };
    let sample = landmarks(&trial.graph, CENTRE_NODES, seed);
    let candidates = [FeatureScaling::Unit, other];
    // Before training only the first directions of the basis are used.
    let settings = |scaling| HopsSettings { scaling, basis: config.dim, ..HopsSettings::of(config) };
    let score = |&scaling: &FeatureScaling| {
        let frame = HopsFrame::new(&trial.graph, &sample, &settings(scaling), config.dim, seed)?;
        Ok((scaling.name().to_owned(), trial.score(&frame.untrained(&trial.graph))))
    };
    let scores: Vec<(String, f64)> = candidates.iter().map(score).collect::<Result<_, EmbedError>>()?;
    let choice = Choice::best("scaling", scores);
    let chosen = candidates.into_iter().find(|scaling| scaling.name() == choice.chosen);
    Ok((chosen.unwrap_or_default(), Some(choice)))
}

/// The digest of everything that a frame depends on.
fn digest_of(sources: &Sources<'_>, config: &EmbedConfig, seed: Seed) -> String {
    let mut digest = Digest::default();
    let all: Vec<NodeId> = sources.graph.nodes().collect();
    digest.add_text(&super::digest::of_patch(sources.graph, &all, config, &Frame::None, seed));
    digest.add_values(sources.clusters.map_or(&[][..], Partition::clusters));
    sources.landmarks.iter().for_each(|node| digest.add(node.0));
    digest.to_string()
}

impl HopsSettings {
    /// The settings of `hops` among all.
    pub fn of(config: &EmbedConfig) -> Self {
        let training = config.training();
        Self {
            scaling: config.scaling.unwrap_or_default(),
            basis: config.basis,
            epochs: training.epochs,
            learning_rate: training.learning_rate.of_run(0, 1),
            hide: training.hide,
        }
    }
}
