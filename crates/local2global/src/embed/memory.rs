//! How much memory a patch needs, told beforehand.
//!
//! Training holds the induced graph, the patch as the engine wants it, the parameters
//! four times (value, gradient, two moments) and one matrix for each intermediate
//! result; all sizes follow from the counts of nodes, edges and features. A test
//! compares the estimate with what is really allocated.

use super::EmbedMethod;
use super::nn::dense::TransposedProduct;
use super::nn::edges::Unseen;
use super::settings::ModelSettings;
use crate::graph::{Features, Graph, NodeId};

/// Bytes of a number in training.
const FLOAT: u64 = 4;

/// The counts on which the memory of a patch depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatchSize {
    /// The number of nodes.
    pub num_nodes: usize,
    /// At most so many entries in the rows of the induced graph.
    pub num_edges: usize,
    /// Columns of features; none if the graph has no features.
    pub num_features: Option<usize>,
    /// Stored feature values, where features are sparse.
    pub num_entries: Option<usize>,
}

impl PatchSize {
    /// The size of the patch that some nodes induce.
    ///
    /// All edges of its nodes count, also those that leave the patch: to tell them
    /// apart would cost as much as making the patch.
    pub fn new(graph: &Graph, nodes: &[NodeId]) -> Self {
        let sparse = match graph.features() {
            Some(Features::Sparse(sparse)) => Some(sparse),
            _ => None,
        };
        Self {
            num_nodes: nodes.len(),
            num_edges: nodes.iter().map(|&node| graph.degree(node)).sum(),
            num_features: graph.features().map(Features::width),
            num_entries: sparse.map(|sparse| nodes.iter().map(|&node| sparse.row(node).0.len()).sum()),
        }
    }

    /// The size of a graph as a whole, every edge in both directions.
    pub fn of_graph(graph: &Graph) -> Self {
        let entries = match graph.features() {
            Some(Features::Sparse(sparse)) => Some(sparse.values().len()),
            _ => None,
        };
        Self {
            num_nodes: graph.num_nodes(),
            num_edges: graph.num_directed_edges() * if graph.is_symmetric() { 1 } else { 2 },
            num_features: graph.features().map(Features::width),
            num_entries: entries,
        }
    }

    /// The size of a part with so many nodes, if it is like the whole.
    pub fn part(&self, num_nodes: usize) -> Self {
        let share = num_nodes as f64 / self.num_nodes.max(1) as f64;
        let scale = |count: usize| (count as f64 * share).ceil() as usize;
        Self {
            num_nodes,
            num_edges: scale(self.num_edges),
            num_features: self.num_features,
            num_entries: self.num_entries.map(scale),
        }
    }

    /// Bytes of the induced graph with its features and names.
    pub fn graph_bytes(&self) -> u64 {
        16 * self.num_nodes as u64 + 4 * self.num_edges as u64 + self.feature_bytes()
    }

    /// Bytes of the features as they are stored.
    pub fn feature_bytes(&self) -> u64 {
        match (self.num_features, self.num_entries) {
            (Some(_), Some(num_entries)) => 8 * num_entries as u64 + 8 * self.num_nodes as u64,
            _ => self.dense_feature_bytes(),
        }
    }

    /// Bytes of all feature values, zeros included.
    pub fn dense_feature_bytes(&self) -> u64 {
        FLOAT * (self.num_nodes * self.num_features.unwrap_or(0)) as u64
    }

    /// Bytes of the coordinates.
    pub fn coordinate_bytes(&self, dim: usize) -> u64 {
        FLOAT * (self.num_nodes * dim) as u64
    }

    /// Bytes of neighbours, propagation matrices and features as the engine wants them,
    /// and of the partial sums for dense features of a first layer of `width` columns.
    fn engine_bytes(&self, width: usize, unseen: Unseen) -> u64 {
        let (nodes, edges) = (self.num_nodes as u64, self.num_edges as u64);
        let matrix = |edges: u64| 8 * nodes + 8 * (nodes + edges);
        let part = |edges: u64, share: f64| (edges as f64 * share) as u64;
        let trained = part(edges, 1.0 - unseen.validation);
        let mut propagation = 8 * nodes + 4 * trained + matrix(trained);
        if unseen.validation > 0.0 {
            propagation += matrix(edges) + 8 * part(edges, unseen.validation);
        }
        if unseen.hide > 0.0 {
            propagation +=
                24 * nodes + matrix(part(trained, 1.0 - unseen.hide)) + 4 * part(trained, unseen.hide);
        }
        let input = match (self.num_features, self.num_entries) {
            (Some(width), Some(entries)) => 8 * (nodes + width as u64) + 16 * entries as u64,
            (Some(features), None) => {
                let partial = TransposedProduct::<f32>::num_partial(self.num_nodes) * features * width;
                self.dense_feature_bytes() + FLOAT * partial as u64
            }
            (None, _) => 0,
        };
        propagation + input
    }

    /// Bytes to draw non-edges, and to hold the divergence of the nodes.
    fn pair_bytes(&self, unseen: Unseen) -> u64 {
        let edges = self.num_edges as f64 * (1.0 - unseen.validation);
        // A pair for each entry, or for each hidden edge, and it stands in two rows; a signature
        // takes a word or more.
        let pairs = if unseen.hide > 0.0 { edges / 2.0 * unseen.hide } else { edges };
        32 * self.num_nodes as u64 + (16.0 * pairs + 2.0 * edges) as u64
    }
}

/// Bytes that training needs at its peak.
pub(super) fn model_bytes(
    method: EmbedMethod,
    settings: &ModelSettings,
    size: &PatchSize,
    keeps_best: bool,
) -> u64 {
    let (dim, nodes) = (settings.dim, size.num_nodes);
    let num_inputs = size.num_features.unwrap_or(nodes);
    // Without features, the first layer is a look-up and needs no product.
    let product = usize::from(size.num_features.is_some());
    let hidden = settings.hidden_width();
    let (first, parameters, per_node, pairs) = match method {
        EmbedMethod::Dgi => (dim, num_inputs * dim + dim * dim, (5 + product) * dim, 8 * nodes as u64),
        _ => {
            let (heads, drawn) = if method == EmbedMethod::Gae { (1, 0) } else { (2, 3) };
            let width = heads * dim;
            let parameters = num_inputs * hidden + hidden * width;
            let partial = TransposedProduct::<f32>::num_partial(nodes) * hidden * width;
            let per_node = (2 + product) * hidden + 3 * width + drawn * dim;
            // Partial sums count like a parameter's quarter.
            (hidden, parameters + partial / 4, per_node, size.pair_bytes(settings.unseen))
        }
    };
    let copies = if keeps_best { 5 } else { 4 };
    let training = FLOAT * (copies * parameters + nodes * per_node) as u64;
    size.graph_bytes()
        + size.engine_bytes(first, settings.unseen)
        + training
        + pairs
        + size.coordinate_bytes(dim)
}
