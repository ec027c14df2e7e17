//! Synthetic graphs with known truth.
//!
//! ```text
//! settings --prepare--> Synthetic --chunks in order--> a file of any size
//!                                 \--into_graph------> a Graph in memory
//! ```
//!
//! A [`Generator`] holds the settings of one kind of graph. Preparing it draws what
//! belongs to the nodes: `O(n)` memory. Edges are drawn later, a chunk of rows at a
//! time, each chunk from a random stream of its own. Chunks are made in parallel and
//! handed on in order, so that the result is the same on any number of threads and
//! memory does not grow with the number of edges.
//!
//! Every undirected edge appears once, in the row of its smaller end; rows ascend, and
//! so do the targets within a row. There are no loops and no repeated edges.

mod block_model;

mod cumulative;

mod degrees;

mod features;

mod files;

mod geometric;

mod ring_of_cliques;

mod rmat;

mod stream;

pub use block_model::BlockModel;
pub use degrees::Degrees;
pub use features::ClassFeatures;
pub use files::{Outputs, Written};
pub use geometric::Geometric;
pub use ring_of_cliques::RingOfCliques;
pub use rmat::Rmat;

use std::convert::Infallible;
use std::fmt;

use rand::Rng;
use rand_distr::{Distribution, Poisson};
use serde::{Deserialize, Serialize};

use crate::graph::edge_list::EdgeChunk;
use crate::graph::features::SparseFeatures;
use crate::graph::{BuildOptions, EdgeList, Features, Graph, Labels, build};
use crate::progress::{Progress, Silent};
use crate::seed::{Seed, Stage};
use features::join;
use stream::in_order;

/// A kind of synthetic graph, with its settings.
pub trait Generator {
    /// Checks the settings and draws what belongs to the nodes.
    ///
    /// # Errors
    /// [`GenerateError::Setting`] if a setting makes no sense.
    fn prepare(&self, seed: Seed) -> Result<SyntheticGraph, GenerateError>;
}

/// The kinds a configuration can name, as in `kind = "block-model"`.
///
/// To add one, write its file and a variant here; the compiler lists the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum GraphKind {
    /// Communities with any degrees.
    BlockModel(BlockModel),
    /// Self-similar, with heavy-tailed degrees.
    Rmat(Rmat),
    /// Complete graphs in a ring.
    RingOfCliques(RingOfCliques),
    /// Points in a square, joined where they are near.
    Geometric(Geometric),
}

impl Generator for GraphKind {
    fn prepare(&self, seed: Seed) -> Result<SyntheticGraph, GenerateError> {
        match self {
            Self::BlockModel(model) => model.prepare(seed),
            Self::Rmat(model) => model.prepare(seed),
            Self::RingOfCliques(model) => model.prepare(seed),
            Self::Geometric(model) => model.prepare(seed),
        }
    }
}

/// Why a graph could not be generated.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum GenerateError {
    /// A setting makes no sense.
    #[error("{name} is {found}, needed {needed}")]
    Setting { name: &'static str, found: String, needed: String },
}

/// Edges that can be drawn chunk by chunk, in any order and from any thread.
pub trait EdgeSource: Send + Sync {
    /// The number of chunks.
    fn num_chunks(&self) -> usize;

    /// The edges of one chunk of rows: sources ascend, also from chunk to chunk.
    fn chunk(&self, index: usize) -> Vec<[u64; 2]>;
}

/// Features that can be drawn chunk by chunk, in any order and from any thread.
pub trait FeatureSource: Send + Sync {
    /// The number of columns.
    fn width(&self) -> usize;

    /// The number of chunks.
    fn num_chunks(&self) -> usize;

    /// The features of the next nodes; together the chunks have a row for every node.
    fn chunk(&self, index: usize) -> SparseFeatures;
}

/// A graph that is ready to be generated.
pub struct SyntheticGraph {
    num_nodes: usize,
    labels: Option<Labels>,
    edges: Box<dyn EdgeSource>,
    features: Option<Box<dyn FeatureSource>>,
}

impl SyntheticGraph {
    /// The number of nodes; they are named 0, 1, 2, ...
    pub fn num_nodes(&self) -> usize {
        self.num_nodes
    }

    /// The true classes of the nodes, where the kind of graph has any.
    pub fn labels(&self) -> Option<&Labels> {
        self.labels.as_ref()
    }

    /// The number of features of each node, if there are any.
    pub fn num_features(&self) -> Option<usize> {
        self.features.as_ref().map(|features| features.width())
    }

    /// Draws all edges and hands them to `deliver`, chunk by chunk, in order.
    ///
    /// # Errors
    /// What `deliver` returns; nothing is drawn after that.
    pub fn for_each_edge_chunk<E: Send>(
        &self,
        progress: &dyn Progress,
        deliver: impl FnMut(EdgeChunk<u64>) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        self.for_each_edge_chunk_of(0, 1, progress, deliver)
    }

    /// As [`SyntheticGraph::for_each_edge_chunk`], for one of several parts of about the same size.
    pub(super) fn for_each_edge_chunk_of<E: Send>(
        &self,
        part: usize,
        num_parts: usize,
        progress: &dyn Progress,
        deliver: impl FnMut(EdgeChunk<u64>) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        let draw = |index| EdgeChunk { pairs: self.edges.chunk(index), weights: Vec::new() };
        let bound =
            |part: usize| (self.edges.num_chunks() as u128 * part as u128 / num_parts as u128) as usize;
        let task = match num_parts {
            1 => "drawing edges".to_owned(),
            _ => format!("drawing edges, part {} of {num_parts}", part + 1),
        };
        in_order(&task, bound(part)..bound(part + 1), progress, draw, deliver)
    }

    /// Draws all features and hands them to `deliver`, chunk by chunk, in order.
    ///
    /// # Errors
    /// What `deliver` returns; nothing is drawn after that.
    pub fn for_each_feature_chunk<E: Send>(
        &self,
        progress: &dyn Progress,
        deliver: impl FnMut(SparseFeatures) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        let Some(features) = &self.features else { return Ok(()) };
        in_order(
            "drawing features",
            0..features.num_chunks(),
            progress,
            |index| features.chunk(index),
            deliver,
        )
    }

    /// The whole graph in memory, with labels and features.
    pub fn into_graph(self) -> Graph {
        let mut edges = EdgeList::new();
        let Ok(()) = self.for_each_edge_chunk::<Infallible>(&Silent, |chunk| {
            // There are at most 2³² nodes, as every generator checks.
            let pairs = chunk.pairs.iter().map(|pair| pair.map(|node| node as u32)).collect();
            edges.push(EdgeChunk { pairs, weights: Vec::new() });
            Ok(())
        });
        let graph = build(edges, self.num_nodes, &BuildOptions::default()).graph;
        let features = self.collect_features();
        graph
            .with_features(features)
            .and_then(|graph| graph.with_labels(self.labels))
            .expect("features and labels have one row per node")
    }

    fn collect_features(&self) -> Option<Features> {
        let width = self.num_features()?;
        let mut chunks = Vec::new();
        let Ok(()) = self.for_each_feature_chunk::<Infallible>(&Silent, |chunk| {
            chunks.push(chunk);
            Ok(())
        });
        Some(Features::Sparse(join(width, &chunks)))
    }
}

impl fmt::Debug for SyntheticGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chunks = self.edges.num_chunks();
        write!(f, "synthetic graph of {} nodes, in {chunks} chunks", self.num_nodes)
    }
}

/// Generates a graph in memory, with labels and features where its kind has them.
///
/// # Errors
/// [`GenerateError::Setting`] if a setting makes no sense.
///
/// # Examples
/// ```
/// use l2g_graph::generate::{BlockModel, generate};
/// use l2g_graph::seed::Seed;
///
/// let model = BlockModel { nodes: 200, communities: 4, ..BlockModel::default() };
/// let graph = generate(&model, Seed(1))?;
/// assert_eq!(graph.num_nodes(), 200);
/// assert_eq!(graph.labels().unwrap().num_classes(), 4);
/// # Ok::<(), l2g_graph::generate::GenerateError>(())
/// ```
pub fn generate(generator: &impl Generator, seed: Seed) -> Result<Graph, GenerateError> {
    Ok(generator.prepare(seed)?.into_graph())
}

/// What a stream of random numbers is for; two purposes never share numbers.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
enum Purpose {
    Nodes = 0,
    Edges = 1,
    Features = 2,
}

impl Purpose {
    fn seed(self, seed: Seed) -> Seed {
        seed.child(Stage::Generate, self as u64)
    }
}

/// Edges a chunk of rows should have, more or less: much more than the cost of
/// starting a stream, and little memory.
const CHUNK_EDGES: f64 = (1 << 17) as f64;

/// Rows of a chunk that has some [`CHUNK_EDGES`] edges.
fn rows_per_chunk(edges_per_row: f64) -> usize {
    (CHUNK_EDGES / edges_per_row.max(1.0)).ceil() as usize
}

/// A Poisson number; its mean may be 0.
fn poisson(mean: f64, random: &mut impl Rng) -> usize {
    match mean > 0.0 {
        true => Poisson::new(mean).expect("the mean is positive and finite").sample(random) as usize,
        false => 0,
    }
}

/// Refuses a setting unless it `holds`.
fn check(
    holds: bool,
    name: &'static str,
    found: impl ToString,
    needed: impl Into<String>,
) -> Result<(), GenerateError> {
    match holds {
        true => Ok(()),
        false => Err(GenerateError::Setting { name, found: found.to_string(), needed: needed.into() }),
    }
}

/// Refuses graphs without nodes, and those whose nodes do not fit 32 bits.
fn check_nodes(nodes: usize) -> Result<(), GenerateError> {
    check((1..=1 << 32).contains(&nodes), "nodes", nodes, "a number from 1 to 2^32")
}

/// Refuses numbers that are no probabilities.
fn check_share(name: &'static str, share: f64) -> Result<(), GenerateError> {
    check((0.0..=1.0).contains(&share), name, share, "a number from 0 to 1")
}
