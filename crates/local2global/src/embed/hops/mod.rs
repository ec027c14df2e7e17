//! `hops`: directions from the features of nodes two and three steps away.
//!
//! A patch alone is homogeneous: trained for itself, a model spends its dimensions on telling
//! neighbours apart, and forgets what tells one part of the graph from another. So patches are
//! sent a small common frame before they train apart ([`HopsFrame`]): how features are scaled and
//! projected ([`features`], [`basis`]), a start, and a centre. From there each patch learns a
//! little, by predicting edges it cannot see ([`model`]):
//!
//! ```text
//! u = unit(α₂ unit(Â² Y W) + α₃ unit(Â³ Y W) + c),    coordinates = [u | 1 + β ln(1 + degree)]
//! ```
//!
//! and then turned by a rotation that all share. The basis orders directions by how much features
//! differ in them; turned at random, all coordinates matter alike, so that a classifier that scales
//! each for itself does not blow up the least of them.
//!
//! Because all patches start from the same encoder and move little, their coordinates nearly
//! agree, and alignment only straightens them. The last coordinate keeps the popularity of a
//! node, so that inner products know it and directions do not.
//!
//! Without a common frame, every patch makes its own from its own rows; then alignment makes the
//! result.
//!
//! Convention: edge weights are divided by their mean in the whole graph, so that a node counts
//! itself like an average neighbour; degrees in the final propagation are those in the whole
//! graph. A node without neighbours keeps its own features; one without features gets the
//! direction of its neighbours, or of `c`.

pub mod basis;

pub mod features;

pub mod late;

pub mod model;

pub mod pair_loss;

use std::sync::Arc;
use std::time::Instant;

use super::memory::PatchSize;
use super::nn::clock::Clock;
use super::nn::propagation::{Adjacency, matrix_with_degrees, weighted_neighbors};
use super::nn::train::{Model, Schedule, train};
use super::nn::{Matrix, SparseMatrix, dense};
use super::{EmbedError, EmbedTask, Embedder, Embedding, PatchInput, Record, check_finite};
use crate::graph::{Features, Graph, NodeId};
use crate::seed::{Seed, Stage};
use basis::{leading_basis, random_rotation};
use features::{FeatureMap, FeatureScaling, column_weights, scaled};
use model::{Hops, HopsEncoder, HopsModel, with_popularity};

/// The basis is made from at most so many rows.
pub(super) const BASIS_ROWS: usize = 20_000;

/// What every patch is sent before it trains.
#[derive(Clone, Debug, PartialEq)]
pub struct HopsFrame {
    /// How features become inputs.
    pub map: FeatureMap,
    /// The centre `c`; the last entry is 0.
    pub centre: Vec<f32>,
    /// The mean weight of an edge; 1 without weights.
    pub mean_weight: f32,
    /// A rotation of the coordinates, row-major.
    pub turn: Matrix<f32>,
}

impl HopsFrame {
    /// The frame of a graph with features; the centre is taken on `sample`, some of its nodes.
    ///
    /// # Errors
    /// [`EmbedError::NoFeatures`] if the graph has none.
    pub fn new(
        graph: &Graph,
        sample: &[NodeId],
        settings: &HopsSettings,
        dim: usize,
        seed: Seed,
    ) -> Result<Self, EmbedError> {
        let features = graph.features().ok_or(EmbedError::NoFeatures)?;
        let (factors, shift) = column_weights(features, settings.scaling);
        let rows = sampled_rows(features, seed);
        let basis = leading_basis(scaled(&rows, &factors, &shift), settings.basis, seed);
        let mut frame = Self {
            map: FeatureMap { factors, shift, basis },
            centre: vec![0.0; dim],
            mean_weight: mean_weight(graph),
            turn: random_rotation(dim, seed),
        };
        frame.centre = frame.centre_of(graph, sample, dim);
        Ok(frame)
    }

    /// The coordinates: directions and popularity, turned.
    fn finish(&self, directions: Matrix<f32>, beta: f32, degrees: &[f64]) -> Matrix<f32> {
        let rows = with_popularity(directions, beta, degrees);
        let mut turned = Matrix::zeros(rows.num_rows(), rows.num_columns());
        dense::multiply(&rows, &self.turn, &mut turned);
        turned
    }

    /// The coordinates of all nodes of a graph before any training.
    ///
    /// # Panics
    /// If the graph has other features than the frame was made for.
    pub fn untrained(&self, graph: &Graph) -> Matrix<f32> {
        let dim = self.centre.len();
        let nodes: Vec<NodeId> = graph.nodes().collect();
        let place = Place::new(graph, graph, &nodes, self.mean_weight);
        let input = self.map.project(graph.features().expect("the graph has features"));
        let start = HopsEncoder::start(self.map.width(), dim);
        let mut hops = Hops::new(nodes.len(), dim);
        let weights = (&start.weights, start.hop_weights);
        hops.forward(&input, &place.propagation, weights, &self.centre, &mut Clock::default());
        self.finish(hops.directions, start.decoder[2], &place.degrees)
    }

    /// Minus the mean of `unit(Â² Y W) + unit(Â³ Y W)` at the start, over some nodes.
    fn centre_of(&self, graph: &Graph, sample: &[NodeId], dim: usize) -> Vec<f32> {
        let part = graph.subgraph(sample);
        let place = Place::new(graph, &part, sample, self.mean_weight);
        let input = self.map.project(part.features().expect("the graph has features"));
        let start = HopsEncoder::start(self.map.width(), dim);
        let mut hops = Hops::new(sample.len(), dim);
        hops.forward(
            &input,
            &place.propagation,
            (&start.weights, start.hop_weights),
            &vec![0.0; dim],
            &mut Clock::default(),
        );
        let mut sums = vec![0.0_f64; dim];
        hops.for_each_sum(start.hop_weights, |row| {
            sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
        });
        sums.iter().map(|sum| -(sum / sample.len().max(1) as f64) as f32).collect()
    }
}

/// Some rows of the features, for the basis.
fn sampled_rows(features: &Features, seed: Seed) -> Features {
    let num_rows = features.num_rows();
    if num_rows <= BASIS_ROWS {
        return features.clone();
    }
    let mut random = seed.stream(Stage::Embed, 0);
    let drawn = rand::seq::index::sample(&mut random, num_rows, BASIS_ROWS);
    let mut nodes: Vec<NodeId> = drawn.into_iter().map(NodeId::new).collect();
    nodes.sort_unstable();
    features.select(&nodes)
}

/// The mean weight of an edge.
fn mean_weight(graph: &Graph) -> f32 {
    let Some(weights) = graph.weights().filter(|weights| !weights.is_empty()) else { return 1.0 };
    let mean = weights.iter().map(|&weight| f64::from(weight)).sum::<f64>() / weights.len() as f64;
    if mean > 0.0 { mean as f32 } else { 1.0 }
}

/// A patch as `hops` sees it: who neighbours whom, and how the whole graph weighs them.
struct Place {
    neighbors: Adjacency,
    edge_weights: Option<Vec<f32>>,
    /// `1 + degree` of each node in the whole graph.
    degrees: Vec<f64>,
    /// `Â` of the patch, with these degrees.
    propagation: SparseMatrix<f32>,
}

impl Place {
    fn new(whole: &Graph, part: &Graph, nodes: &[NodeId], mean_weight: f32) -> Self {
        let (neighbors, mut edge_weights) = weighted_neighbors(part);
        let scale = |weights: &mut Vec<f32>| weights.iter_mut().for_each(|w| *w /= mean_weight);
        edge_weights.iter_mut().for_each(scale);
        let degree = |&node: &NodeId| match whole.neighbor_weights(node) {
            None => whole.neighbors(node).filter(|&other| other != node).count() as f64,
            Some(weights) => {
                let others = whole.neighbors(node).zip(weights).filter(|&(other, _)| other != node);
                others.map(|(_, &weight)| f64::from(weight)).sum::<f64>() / f64::from(mean_weight)
            }
        };
        let degrees: Vec<f64> = nodes.iter().map(|node| 1.0 + degree(node)).collect();
        let propagation = matrix_with_degrees(&neighbors, edge_weights.as_deref(), &degrees);
        Self { neighbors, edge_weights, degrees, propagation }
    }
}

/// How `hops` prepares and trains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HopsSettings {
    /// How columns of features are weighed.
    pub scaling: FeatureScaling,
    /// The most columns of the basis.
    pub basis: usize,
    /// How often training goes over the patch.
    pub epochs: u32,
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// The share of edges that each epoch hides.
    pub hide: f64,
}

/// Embeds patches by `hops`.
#[derive(Clone, Debug)]
pub struct HopsEmbedder {
    settings: HopsSettings,
    /// What was sent; without, each patch makes its own.
    frame: Option<Arc<HopsFrame>>,
}

impl HopsEmbedder {
    /// An embedder with a common frame, or one for each patch.
    pub fn new(settings: HopsSettings, frame: Option<Arc<HopsFrame>>) -> Self {
        Self { settings, frame }
    }
}

impl Embedder for HopsEmbedder {
    fn embed(&self, patch: &PatchInput<'_>, task: &EmbedTask<'_>) -> Result<Embedding, EmbedError> {
        let &EmbedTask { dim, run, seed, progress } = task;
        let start = Instant::now();
        let frame = match &self.frame {
            Some(frame) => Arc::clone(frame),
            None => {
                let all: Vec<NodeId> = patch.graph.nodes().collect();
                Arc::new(HopsFrame::new(patch.graph, &all, &self.settings, dim, seed)?)
            }
        };
        let features = patch.graph.features().ok_or(EmbedError::NoFeatures)?;
        let input = frame.map.project(features);
        let place = Place::new(patch.whole, patch.graph, patch.rows, frame.mean_weight);
        let HopsSettings { epochs, learning_rate, hide, .. } = self.settings;
        let first = HopsEncoder::start(frame.map.width(), dim);
        let sides = (place.neighbors.clone(), place.edge_weights.clone());
        let mut model = HopsModel::new(input, frame.centre.clone(), sides, hide, first);
        let schedule =
            Schedule { epochs, learning_rate, weight_decay: 0.0, patience: None, check_every: None };
        let history = train(&mut model, &schedule, seed, progress)
            .map_err(|error| error.in_patch(patch.name, run, learning_rate))?;
        let encoder = model.encoder();
        let directions = model.encode(&place.propagation).clone();
        let coordinates = frame.finish(directions, encoder.decoder[2], &place.degrees);
        check_finite(patch, &coordinates)?;
        let record = Record {
            losses: history.losses,
            learning_rate: Some(learning_rate),
            seconds: start.elapsed().as_secs_f64(),
            seconds_per_part: Some(*model.clock()),
            ..Record::default()
        };
        Ok(Embedding { coordinates, record, encoder: Some(encoder) })
    }

    fn num_steps(&self) -> u64 {
        u64::from(self.settings.epochs)
    }

    fn memory_bytes(&self, size: &PatchSize, dim: usize) -> u64 {
        let training = training_bytes(size, self.settings.basis, dim);
        let own_basis = match self.frame {
            Some(_) => 0,
            None => {
                let rows = size.dense_feature_bytes().min(size.graph_bytes());
                let features = size.num_features.unwrap_or(0);
                rows + basis::memory_bytes(size.num_nodes, features, self.settings.basis)
            }
        };
        size.graph_bytes() + training.max(own_basis)
    }
}

/// About how many bytes training takes, without the graph of the patch and a basis of its own.
pub(super) fn training_bytes(size: &PatchSize, basis: usize, dim: usize) -> u64 {
    let (nodes, edges) = (size.num_nodes as u64, size.num_edges as u64);
    let width = basis.min(size.num_features.unwrap_or(0)) as u64;
    let inputs = 4 * nodes * width + size.dense_feature_bytes().min(size.graph_bytes());
    let buffers = 4 * nodes * dim as u64 * 7;
    let rows = 2 * (16 * nodes + 12 * edges) + 24 * edges;
    inputs + buffers + rows + 16 * width * dim as u64
}

#[cfg(test)]
mod tests;
