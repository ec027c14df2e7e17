//! Deep Graph Infomax.
//!
//! One graph convolution gives the coordinates. A summary of the whole patch is their
//! mean; a discriminator must tell true coordinates from those of the same patch with
//! features shuffled among its nodes.
//!
//! ```text
//! H = prelu(P X W + b),       S = prelu(P X[order] W + b)
//! c = σ(mean of the rows of H)
//! loss = mean over both of -ln σ(Hᵢ B c + β) and -ln σ(-(Sᵢ B c + β))
//! ```
//!
//! with `prelu(x) = x` above zero and `α x` below. `P X[order] W` needs no second
//! product with the features: it is `P` times the reordered rows of `X W`. There is no
//! decoder; the embedding is `H`.
//! Cost of an epoch: `O((features + edges) d)` time, `O(n d)` memory.
//!
//! Source: Veličković et al., "Deep graph infomax", ICLR 2019.

use crate::linalg::real::Real;
use rand::seq::SliceRandom;

use super::nn::Matrix;
use super::nn::adam::Parameter;
use super::nn::clock::{Clock, Part};
use super::nn::decoder::Decoder;
use super::nn::discriminator::Discriminator;
use super::nn::edges::{Unseen, View};
use super::nn::init::{FirstWeights, glorot};
use super::nn::layer::{InputLayer, add_bias};
use super::nn::noise::{Purpose, stream_index};
use super::nn::train::Model;
use super::settings::ModelSettings;
use crate::graph::Graph;
use crate::seed::{Seed, Stage};

/// The slope of the activation below zero, at first.
const FIRST_SLOPE: f64 = 0.25;

/// Deep Graph Infomax on one patch.
#[derive(Clone, Debug)]
pub struct Dgi<F> {
    layer: InputLayer<F>,
    /// `[W, b, α, B, β]`.
    parameters: [Parameter<F>; 5],
    /// Node `v` gets the features of node `order[v]`, and `order[place[v]] = v`.
    order: Vec<u32>,
    place: Vec<u32>,
    /// Before the activation: of the patch, and of the shuffled patch.
    before: [Matrix<F>; 2],
    gradients: [Matrix<F>; 2],
    scratch: Matrix<F>,
    discriminator: Discriminator<F>,
    /// For checks alone.
    decoder: Decoder,
    clock: Clock,
}

impl<F: Real> Dgi<F> {
    /// A model for a patch; `seed` chooses the edges that are held out. None are hidden.
    pub fn new(graph: &Graph, settings: &ModelSettings, start: FirstWeights<'_>, seed: Seed) -> Self {
        let dim = settings.dim;
        let unseen = Unseen { hide: 0.0, ..settings.unseen };
        let layer = InputLayer::new(graph, settings.scaling, dim, unseen, seed);
        let mut random = start.random();
        let parameters = [
            Parameter::new(start.of_input(&layer, dim, &mut random)),
            Parameter::zeros(dim),
            Parameter::new(Matrix::from_values(1, 1, vec![F::of(FIRST_SLOPE)])),
            Parameter::new(glorot(dim, dim, &mut random)),
            Parameter::zeros(1),
        ];
        let num_nodes = layer.num_nodes();
        let zeros = || Matrix::zeros(num_nodes, dim);
        let mut model = Self {
            layer,
            parameters,
            order: vec![],
            place: vec![],
            before: [zeros(), zeros()],
            gradients: [zeros(), zeros()],
            scratch: zeros(),
            discriminator: Discriminator::new(num_nodes, dim),
            decoder: settings.decoder,
            clock: Clock::default(),
        };
        model.set_order((0..num_nodes as u32).collect());
        model
    }

    fn set_order(&mut self, order: Vec<u32>) {
        self.place.resize(order.len(), 0);
        (0..).zip(&order).for_each(|(node, &source)| self.place[source as usize] = node);
        self.order = order;
    }

    fn forward(&mut self) {
        let [weights, bias, ..] = &self.parameters;
        self.clock.time(Part::Sparse, || {
            let finish = |_, row: &mut [F]| add_bias(row, bias.value.values());
            self.layer.forward(&weights.value, &mut self.before[0], finish);
            self.layer.forward_shuffled(&weights.value, &self.order, &mut self.before[1], finish);
        });
    }

    /// The coordinates of the last forward pass.
    fn activated(&self) -> Matrix<F> {
        let slope = self.parameters[2].value.values()[0];
        let mut coordinates = self.before[0].clone();
        for value in coordinates.values_mut() {
            *value = if *value > F::ZERO { *value } else { slope * *value };
        }
        coordinates
    }
}

impl<F: Real> Model<F> for Dgi<F> {
    fn draw(&mut self, seed: Seed, epoch: u32) {
        let mut clock = self.clock;
        clock.time(Part::Sampling, || {
            let mut random = seed.stream(Stage::Embed, stream_index(Purpose::Pairs, epoch, 0));
            let mut order = std::mem::take(&mut self.order);
            order.shuffle(&mut random);
            self.set_order(order);
        });
        self.clock = clock;
    }

    fn loss_and_gradients(&mut self) -> f64 {
        self.layer.edges.show(View::Epoch);
        self.forward();
        let Self { layer, before, gradients, scratch, discriminator, clock, .. } = self;
        let [weights, bias, slope, bilinear, offset] = &mut self.parameters;
        let loss = clock.time(Part::Decoder, || {
            discriminator.loss_and_gradient(before, [slope, bilinear, offset], gradients)
        });
        clock.time(Part::Elementwise, || {
            discriminator.column_sums(gradients, bias.gradient.values_mut());
        });
        clock.time(Part::Sparse, || {
            let [gradient, shuffled] = gradients;
            layer.backward_shuffled(gradient, shuffled, &self.place, scratch, &mut weights.gradient);
        });
        loss
    }

    fn parameters(&mut self) -> &mut [Parameter<F>] {
        &mut self.parameters
    }

    fn coordinates(&mut self) -> Matrix<F> {
        self.layer.edges.show(View::All);
        self.forward();
        self.activated()
    }

    fn validate(&mut self) -> Option<f64> {
        self.layer.edges.show(View::Check);
        self.forward();
        let coordinates = self.activated();
        self.layer.edges.validation()?.auc(self.decoder, |node| coordinates.row(node))
    }

    fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::nn::fixture::{Fixture, Reference, assert_gradients_agree};
    use crate::embed::nn::input::Scaling;

    const PYTORCH: Reference = Reference::new("dgi", &["w", "b", "prelu", "bilinear", "bias"], Some("dgi_h"));

    fn model() -> Dgi<f64> {
        let mut model = Dgi::new(&Fixture.graph(), &Fixture.settings(), FirstWeights::Own(Seed(0)), Seed(0));
        model.layer.set_features(Fixture.matrix("x"));
        PYTORCH.set_first_weights(&mut model);
        model.set_order(Fixture.nodes("dgi_perm"));
        model
    }

    #[test]
    fn loss_and_gradients_agree_with_pytorch_and_finite_differences() {
        PYTORCH.assert_agrees(&mut model());
    }

    #[test]
    fn without_features_gradients_agree_with_finite_differences() {
        let graph = Fixture.graph().with_features(None).unwrap();
        let settings = ModelSettings { scaling: Scaling::Length, ..Fixture.settings() };
        let mut model = Dgi::new(&graph, &settings, FirstWeights::Own(Seed(0)), Seed(0));
        model.set_order(Fixture.nodes("dgi_perm"));
        assert_gradients_agree(&mut model);
    }

    #[test]
    fn every_epoch_shuffles_anew() {
        let mut model = model();
        model.draw(Seed(1), 1);
        let first = model.order.clone();
        model.draw(Seed(1), 2);
        assert_ne!(first, model.order);
        assert!((0..24).all(|node| model.order[model.place[node as usize] as usize] == node));
    }
}
