//! The graph auto-encoder.
//!
//! Two graph convolutions give the coordinates, which must tell edges from non-edges.
//!
//! ```text
//! H = relu(P X W₁ + b₁),    Z = P H W₂ + b₂,    loss = pair loss of Z
//! ```
//!
//! The embedding is `Z`.
//! Cost of an epoch: `O(n h d + (edges + features) h)` time, `O(n (h + d))` memory.
//!
//! Source: Kipf, Welling, "Variational graph auto-encoders", 2016.

use super::nn::adam::Parameter;
use super::nn::clock::{Clock, Part};
use super::nn::decoder::PairLoss;
use super::nn::encoder::Encoder;
use super::nn::init::glorot;
use super::nn::layer::InputLayer;
use super::nn::noise::{Purpose, stream_index};
use super::nn::sampling::NonEdges;
use super::nn::train::Model;
use super::nn::{Float, Matrix};
use super::settings::ModelSettings;
use crate::graph::Graph;
use crate::seed::{Seed, Stage};

/// A graph auto-encoder on one patch.
#[derive(Clone, Debug)]
pub struct Gae<F> {
    encoder: Encoder<F>,
    non_edges: NonEdges,
    pair_loss: PairLoss,
    clock: Clock,
}

impl<F: Float> Gae<F> {
    /// A model for a patch, with first weights from `seed`.
    pub fn new(graph: &Graph, settings: &ModelSettings, seed: Seed) -> Self {
        let (dim, hidden) = (settings.dim, settings.hidden_width());
        let layer = InputLayer::new(graph, settings.scaling, hidden);
        let mut random = seed.stream(Stage::Embed, stream_index(Purpose::Weights, 0, 0));
        let first = glorot(layer.num_features(), hidden, &mut random);
        let second = glorot(hidden, dim, &mut random);
        Self {
            non_edges: NonEdges::new(layer.neighbors()),
            pair_loss: PairLoss::new(settings.decoder, layer.num_nodes()),
            encoder: Encoder::new(layer, first, second),
            clock: Clock::default(),
        }
    }
}

impl<F: Float> Model<F> for Gae<F> {
    fn draw(&mut self, seed: Seed, epoch: u32) {
        self.clock.time(Part::Sampling, || {
            self.non_edges.draw(self.encoder.layer.neighbors(), seed, epoch);
        });
    }

    fn loss_and_gradients(&mut self) -> f64 {
        let Self { encoder, non_edges, pair_loss, clock } = self;
        encoder.forward(clock);
        let mut gradient = std::mem::take(&mut encoder.out_gradient);
        let loss = clock.time(Part::Decoder, || {
            let edges = encoder.layer.neighbors();
            pair_loss.loss_and_gradient(&encoder.out, edges, non_edges.partners(), &mut gradient)
        });
        encoder.out_gradient = gradient;
        encoder.backward(clock);
        loss
    }

    fn parameters(&mut self) -> &mut [Parameter<F>] {
        &mut self.encoder.parameters
    }

    fn coordinates(&mut self) -> Matrix<F> {
        self.encoder.forward(&mut self.clock);
        self.encoder.out.clone()
    }

    fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::nn::fixture::{Fixture, assert_close, assert_gradients_agree};

    const NAMES: [&str; 4] = ["w1", "b1", "w2", "b2"];

    fn model(fixture: &Fixture) -> Gae<f64> {
        let mut model = Gae::new(&fixture.graph(), &fixture.settings(), Seed(0));
        model.encoder.layer.set_features(fixture.matrix("x"));
        for (parameter, name) in model.encoder.parameters.iter_mut().zip(NAMES) {
            parameter.value = fixture.matrix(&format!("gae_init_{name}"));
        }
        model.non_edges.set(&fixture.non_edges(0));
        model
    }

    #[test]
    fn loss_and_gradients_agree_with_pytorch() {
        let fixture = Fixture::load();
        let mut model = model(&fixture);
        let loss = model.loss_and_gradients();
        assert!((loss - fixture.matrix("gae_loss").values()[0]).abs() < 1e-8);
        for (parameter, name) in model.encoder.parameters.iter().zip(NAMES) {
            assert_close(&parameter.gradient, &fixture.matrix(&format!("gae_grad_{name}")), 1e-8);
        }
        assert_close(&model.coordinates(), &fixture.matrix("gae_z"), 1e-8);
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        assert_gradients_agree(&mut model(&Fixture::load()));
    }
}
