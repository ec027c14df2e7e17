//! First weights: uniform between ±sqrt(6 / (inputs + outputs)).
//!
//! They come from a stream of the patch, or from one that all patches share. In the second case
//! all patches start with the same encoder, and coordinates that training has moved little are
//! already in one frame. Without features each node has its own row of the first weights; then
//! row `v` comes from a stream of the node in the whole graph, so that the copies of a node in
//! several patches start with the same row. The size of such rows cannot depend on the number of
//! nodes, which patches do not share: they are as small as those of a patch of a thousand nodes.
//!
//! Source: Glorot, Bengio, "Understanding the difficulty of training deep feedforward
//! neural networks", AISTATS 2010.

use crate::linalg::real::Real;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::Matrix;
use super::layer::InputLayer;
use super::noise::{Purpose, stream_index};
use crate::graph::NodeId;
use crate::seed::{Seed, Stage};

/// Where the first weights of a model come from.
#[derive(Clone, Copy, Debug)]
pub enum FirstWeights<'a> {
    /// A seed of the patch.
    Own(Seed),
    /// A seed that all patches share, and the nodes of the patch in the whole graph.
    Common(Seed, &'a [NodeId]),
}

impl FirstWeights<'_> {
    /// The generator of all weights that are not rows of single nodes.
    pub fn random(self) -> ChaCha8Rng {
        let (Self::Own(seed) | Self::Common(seed, _)) = self;
        seed.stream(Stage::Embed, stream_index(Purpose::Weights, 0, 0))
    }

    /// The first weights of the first layer, of `width` columns.
    pub fn of_input<F: Real>(
        self,
        layer: &InputLayer<F>,
        width: usize,
        random: &mut ChaCha8Rng,
    ) -> Matrix<F> {
        match self {
            Self::Common(seed, nodes) if layer.is_look_up() => rows_of_nodes(seed, nodes, width),
            _ => glorot(layer.num_features(), width, random),
        }
    }
}

/// The number of inputs that rows of single nodes count as.
const LOOK_UP_INPUTS: usize = 1000;

/// A row for each node, from a stream of its own.
fn rows_of_nodes<F: Real>(seed: Seed, nodes: &[NodeId], width: usize) -> Matrix<F> {
    let limit = (6.0 / (LOOK_UP_INPUTS + width) as f64).sqrt();
    let rows_seed = seed.child(Stage::Embed, stream_index(Purpose::Weights, 0, 1));
    let row = |node: &NodeId| {
        let mut random = rows_seed.stream(Stage::Embed, node.0);
        (0..width).map(move |_| F::of(random.random_range(-limit..limit)))
    };
    Matrix::from_values(nodes.len(), width, nodes.iter().flat_map(row).collect())
}

/// First weights of a layer.
pub fn glorot<F: Real>(num_inputs: usize, num_outputs: usize, random: &mut ChaCha8Rng) -> Matrix<F> {
    let limit = (6.0 / (num_inputs + num_outputs).max(1) as f64).sqrt();
    let values = (0..num_inputs * num_outputs).map(|_| F::of(random.random_range(-limit..limit))).collect();
    Matrix::from_values(num_inputs, num_outputs, values)
}

/// First weights of several layers with the same inputs, side by side.
pub fn glorot_heads<F: Real>(
    num_inputs: usize,
    num_outputs: usize,
    num_heads: usize,
    random: &mut ChaCha8Rng,
) -> Matrix<F> {
    let heads: Vec<Matrix<F>> = (0..num_heads).map(|_| glorot(num_inputs, num_outputs, random)).collect();
    let rows = (0..num_inputs).flat_map(|row| heads.iter().flat_map(move |head| head.row(row)));
    Matrix::from_values(num_inputs, num_heads * num_outputs, rows.copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::nn::edges::Unseen;
    use crate::embed::nn::input::Scaling;
    use crate::graph::Graph;

    #[test]
    fn without_features_a_node_has_the_same_row_in_every_patch() {
        let layer = |num_nodes: usize| {
            let empty = Graph::from_rows(vec![0; num_nodes + 1].into(), Vec::<u32>::new().into(), true);
            InputLayer::<f64>::new(&empty.unwrap(), Scaling::None, 3, Unseen::default(), Seed(0))
        };
        let weights = |nodes: &[u64]| {
            let nodes: Vec<NodeId> = nodes.iter().map(|&node| NodeId(node)).collect();
            let common = FirstWeights::Common(Seed(1), &nodes);
            common.of_input(&layer(nodes.len()), 3, &mut common.random())
        };
        let (first, second) = (weights(&[3, 5, 9]), weights(&[5, 7]));
        assert_eq!(first.row(1), second.row(0));
        assert_ne!(first.row(0), first.row(1));
    }

    #[test]
    fn heads_are_scaled_by_their_own_size() {
        let weights: Matrix<f64> = glorot_heads(50, 10, 2, &mut Seed(1).stream(Stage::Embed, 0));
        assert_eq!((weights.num_rows(), weights.num_columns()), (50, 20));
        let largest = weights.values().iter().fold(0.0_f64, |largest, w| largest.max(w.abs()));
        let limit = (6.0_f64 / 60.0).sqrt();
        assert!(largest <= limit && largest > 0.95 * limit);
    }
}
