//! What every patch is sent before it trains: `4-embeddings/frame.npz`.
//!
//! A method with a common frame needs a small summary of the whole graph, made once: how
//! features are scaled and projected and where their centre lies (`hops`), or how walks go between
//! small clusters (`walks`). A patch elsewhere needs its own rows and this file, nothing else.
//! `frame.json` beside it says what was chosen and why, and holds the digest of what the frame was
//! made from, so that a rerun makes it again only if that has changed. The frame is part of what a
//! patch depends on: its digest enters the patch's.
//!
//! `choices.rs` makes the decisions that users leave to the program.

mod choices;

mod file;

mod memory;

use std::path::Path;
use std::sync::Arc;

use super::both::{Both, side_by_side};
use super::choose::Choice;
use super::hops::{HopsEmbedder, HopsFrame, HopsSettings};
use super::nn::Matrix;
use super::walks::{WalkEmbedder, WalkFrame, WalkSettings};
use super::{EmbedConfig, EmbedError, EmbedMethod, Embedder, FrameKind};
use super::{command, given, spectral, trained};
use crate::digest::Digest;
use crate::graph::Graph;
use crate::partition::{Partition, undirected};
use crate::patch::landmarks::landmarks;
use crate::progress::Progress;
use crate::seed::{Seed, Stage};

pub use file::FrameRecord;

/// The child of the run's seed that frames draw from; those from 0 on are the patches'.
const FRAME_SEED: u64 = 1 << 41;

/// The centre is taken on so many nodes.
const CENTRE_NODES: usize = 1000;

/// What a frame is made from.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The whole graph.
    pub graph: &'a Graph,
    /// Its clusters, if it has been partitioned.
    pub clusters: Option<&'a Partition>,
}

/// What every patch is sent before it trains, and which method it is for.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// What `auto` stands for, if that is known.
    method: Option<EmbedMethod>,
    pub(super) hops: Option<Arc<HopsFrame>>,
    pub(super) walks: Option<Arc<WalkFrame>>,
    /// Of `both`: how much of the squared length of coordinates is structure.
    structure_weight: f32,
    /// The digest of the file.
    digest: Option<String>,
}

impl Frame {
    /// The frame that the settings ask for: the one in `folder` if it was made from the same
    /// inputs, else a new one, which is put there. Without a common frame, nothing.
    ///
    /// # Errors
    /// [`EmbedError`] if the graph lacks what the method needs, a file cannot be written, or
    /// somebody asks to stop.
    pub fn prepare(
        sources: &Sources<'_>,
        config: &EmbedConfig,
        seed: Seed,
        folder: &Path,
        progress: &dyn Progress,
    ) -> Result<Self, EmbedError> {
        let method = config.method.for_graph(sources.graph);
        if !config.has_common_frame(method) {
            file::remove(folder)?;
            return Ok(Self { method: Some(method), ..Self::default() });
        }
        let inputs = digest_of(sources, config, seed);
        if let Some(frame) = file::read_current(folder, &inputs) {
            return Ok(frame);
        }
        progress.begin("common frame", 0, "steps");
        let graph = &*undirected(sources.graph);
        let maker = Maker {
            sources: Sources { graph, ..*sources },
            config,
            seed: seed.child(Stage::Embed, FRAME_SEED),
            progress,
        };
        let (frame, choices) = maker.make(method)?;
        file::write(&frame, choices, inputs, folder)?;
        progress.end();
        // Read back, so that a frame is the same whether it was made now or before.
        Ok(file::read(folder)?.unwrap_or(frame))
    }

    /// The frame that lies in a folder; one without anything if there is none.
    ///
    /// # Errors
    /// [`EmbedError`] if the file cannot be read.
    pub fn stored(folder: &Path) -> Result<Self, EmbedError> {
        Ok(file::read(folder)?.unwrap_or_default())
    }

    /// The same frame for other nodes of the same graph: those whose clusters these are, of which
    /// only walks know.
    pub(super) fn for_nodes(&self, clusters: Vec<u32>) -> Result<Self, EmbedError> {
        let walks = self.walks.as_ref().map(|walks| walks.for_nodes(clusters).map(Arc::new));
        Ok(Self { walks: walks.transpose()?, ..self.clone() })
    }

    /// The same frame, of which it is known what `auto` stands for and what its digest was.
    pub(super) fn known_as(self, method: EmbedMethod, digest: Option<String>) -> Self {
        Self { method: Some(method), digest, ..self }
    }

    /// Whether there is anything that patches are sent.
    pub fn is_common(&self) -> bool {
        self.hops.is_some() || self.walks.is_some()
    }

    /// Of `both`: the share of structure, the usual one where nothing was tried.
    fn structure_weight(&self) -> f32 {
        if self.is_common() { self.structure_weight } else { choices::USUAL_STRUCTURE_WEIGHT }
    }

    /// The method that `auto` stands for.
    pub(crate) fn method(&self) -> EmbedMethod {
        match (&self.hops, &self.walks) {
            (Some(_), Some(_)) => EmbedMethod::Both,
            (Some(_), None) => EmbedMethod::Hops,
            (None, Some(_)) => EmbedMethod::Walks,
            (None, None) => self.method.unwrap_or(EmbedMethod::Hops),
        }
    }

    /// The embedder that some settings describe, with this frame.
    pub fn embedder(&self, config: &EmbedConfig) -> Box<dyn Embedder> {
        let method = if config.method == EmbedMethod::Auto { self.method() } else { config.method };
        let hops = || HopsEmbedder::new(HopsSettings::of(config), self.hops.clone());
        let walks = || WalkEmbedder::new(walk_settings(config, config.dim), self.walks.clone());
        match method {
            EmbedMethod::Auto | EmbedMethod::Hops => Box::new(hops()),
            EmbedMethod::Walks => Box::new(walks()),
            EmbedMethod::Both => Box::new(Both::new(hops(), walks(), self.structure_weight())),
            EmbedMethod::Vgae | EmbedMethod::Gae | EmbedMethod::Dgi => {
                Box::new(trained::Trained::new(config))
            }
            EmbedMethod::Spectral => Box::new(spectral::Spectral::new(config.power_iterations)),
            EmbedMethod::Command => {
                Box::new(command::Command::new(config.command.clone(), config.command_timeout))
            }
            EmbedMethod::Given => Box::new(given::GivenCoordinates::new(config.coordinates.clone())),
        }
    }

    /// Coordinates by features beside others by structure, as `both` weighs them.
    pub(super) fn with_structure(&self, features: &Matrix<f32>, structure: &Matrix<f32>) -> Matrix<f32> {
        side_by_side([features, structure], self.structure_weight)
    }

    /// A digest of the content; none without a frame.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// The coordinates of all nodes before any training; none for methods that do not train.
    pub fn untrained(&self, graph: &Graph) -> Option<Matrix<f32>> {
        let hops = self.hops.as_ref().filter(|_| self.walks.is_none())?;
        Some(hops.untrained(&undirected(graph)))
    }
}

/// The settings of `walks` among all, in `dim` dimensions; 10 steps where nothing is chosen.
fn walk_settings(config: &EmbedConfig, dim: usize) -> WalkSettings {
    WalkSettings::new(config.window.unwrap_or(10), dim)
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

/// Makes a frame.
struct Maker<'a> {
    /// The graph is undirected.
    sources: Sources<'a>,
    config: &'a EmbedConfig,
    seed: Seed,
    progress: &'a dyn Progress,
}

impl Maker<'_> {
    fn make(&self, method: EmbedMethod) -> Result<(Frame, Vec<Choice>), EmbedError> {
        let mut choices = Vec::new();
        let (method, structure_weight) = self.choose_method(method, &mut choices)?;
        let [of_hops, of_walks] = method.dims(self.config.dim);
        let mut frame = Frame { structure_weight, ..Frame::default() };
        if method != EmbedMethod::Walks {
            frame.hops = Some(Arc::new(self.make_hops(of_hops, &mut choices)?));
        }
        if method != EmbedMethod::Hops {
            frame.walks = Some(Arc::new(self.make_walks(of_walks, &mut choices)?));
        }
        Ok((frame, choices))
    }

    fn make_hops(&self, dim: usize, choices: &mut Vec<Choice>) -> Result<HopsFrame, EmbedError> {
        let scaling = self.choose_scaling(dim, choices)?;
        let settings = HopsSettings { scaling, ..HopsSettings::of(self.config) };
        let sample = landmarks(self.sources.graph, CENTRE_NODES, self.seed);
        HopsFrame::new(self.sources.graph, &sample, &settings, dim, self.seed)
    }
}

/// The digest of everything that a frame depends on.
fn digest_of(sources: &Sources<'_>, config: &EmbedConfig, seed: Seed) -> String {
    let mut digest = Digest::default();
    let all = sources.graph.nodes();
    digest.add_text(&super::digest::of_patch(sources.graph, all, config, None, seed));
    digest.add_values(sources.clusters.map_or(&[][..], Partition::clusters));
    digest.to_string()
}

impl EmbedMethod {
    /// What `auto` stands for in a graph, as far as that is known before trials.
    pub fn for_graph(self, graph: &Graph) -> Self {
        match self {
            Self::Auto if graph.features().is_some_and(|features| features.width() > 0) => Self::Hops,
            Self::Auto => Self::Walks,
            method => method,
        }
    }
}

impl EmbedConfig {
    /// The embedder that these settings describe, where patches are sent nothing.
    pub fn embedder(&self) -> Box<dyn Embedder> {
        Frame::default().embedder(self)
    }

    /// Whether patches of a method are sent a frame.
    pub fn has_common_frame(&self, method: EmbedMethod) -> bool {
        let can = matches!(method, EmbedMethod::Hops | EmbedMethod::Walks | EmbedMethod::Both);
        can && self.frame == FrameKind::Common
    }
}
