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

use super::nn::Matrix;
use super::nn::adam::Parameter;
use super::nn::clock::{Clock, Part};
use super::nn::decoder::PairLoss;
use super::nn::edges::View;
use super::nn::encoder::GcnEncoder;
use super::nn::init::{FirstWeights, glorot};
use super::nn::layer::InputLayer;
use super::nn::sampling::NonEdges;
use super::nn::train::Model;
use super::settings::ModelSettings;
use crate::graph::Graph;
use crate::linalg::real::Real;
use crate::seed::Seed;

/// A graph auto-encoder on one patch.
#[derive(Clone, Debug)]
pub struct Gae<F> {
    encoder: GcnEncoder<F>,
    non_edges: NonEdges,
    pair_loss: PairLoss,
    clock: Clock,
}

impl<F: Real> Gae<F> {
    /// A model for a patch; `seed` chooses the edges that are held out.
    pub fn new(graph: &Graph, settings: &ModelSettings, start: FirstWeights<'_>, seed: Seed) -> Self {
        let (dim, hidden) = (settings.dim, settings.hidden_width());
        let layer = InputLayer::new(graph, settings.scaling, hidden, settings.unseen, seed);
        let mut random = start.random();
        let first = start.of_input(&layer, hidden, &mut random);
        let second = glorot(hidden, dim, &mut random);
        let num_non_edges = layer.edges.num_non_edges(settings.unseen.hide);
        Self {
            non_edges: NonEdges::with_pairs(layer.edges.trained(), num_non_edges),
            pair_loss: PairLoss::new(settings.decoder, layer.num_nodes()),
            encoder: GcnEncoder::new(layer, first, second),
            clock: Clock::default(),
        }
    }
}

impl<F: Real> Model<F> for Gae<F> {
    fn draw(&mut self, seed: Seed, epoch: u32) {
        self.clock.time(Part::Sampling, || {
            self.encoder.layer.edges.draw(seed, epoch);
            self.non_edges.draw(self.encoder.layer.edges.trained(), seed, epoch);
        });
    }

    fn loss_and_gradients(&mut self) -> f64 {
        let Self { encoder, non_edges, pair_loss, clock } = self;
        encoder.layer.edges.show(View::Epoch);
        encoder.forward(clock);
        let mut gradient = std::mem::take(&mut encoder.out_gradient);
        let loss = clock.time(Part::Decoder, || {
            let edges = encoder.layer.edges.targets();
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
        self.encoder.layer.edges.show(View::All);
        self.encoder.forward(&mut self.clock);
        self.encoder.out.clone()
    }

    fn validate(&mut self) -> Option<f64> {
        self.encoder.layer.edges.show(View::Check);
        self.encoder.forward(&mut self.clock);
        let Self { encoder, pair_loss, .. } = self;
        let validation = encoder.layer.edges.validation()?;
        validation.auc(pair_loss.decoder(), |node| encoder.out.row(node))
    }

    fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::nn::edges::Unseen;
    use crate::embed::nn::fixture::{
        Fixture, assert_agrees_with_pytorch, assert_close, assert_gradients_agree,
    };
    use crate::embed::nn::input::Scaling;
    use crate::embed::nn::masking::Mask;

    const NAMES: [&str; 4] = ["w1", "b1", "w2", "b2"];

    fn model(fixture: &Fixture) -> Gae<f64> {
        model_on(&fixture.graph(), &fixture.settings(), fixture)
    }

    /// The model where the edges of the other fixture are hidden.
    fn masked(fixture: &Fixture) -> Gae<f64> {
        let hide = Unseen { hide: 0.5, validation: 0.0 };
        let settings = ModelSettings { unseen: hide, ..fixture.settings() };
        let mut model = model_on(&fixture.weighted_graph(), &settings, fixture);
        model.encoder.layer.edges.hide(Mask::of_fixture());
        model
    }

    fn model_on(graph: &Graph, settings: &ModelSettings, fixture: &Fixture) -> Gae<f64> {
        let mut model = Gae::new(graph, settings, FirstWeights::Own(Seed(0)), Seed(0));
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
        assert_agrees_with_pytorch(&mut model, &fixture, "gae", &NAMES);
        assert_close(&model.coordinates(), &fixture.matrix("gae_z"), 1e-8);
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        assert_gradients_agree(&mut model(&Fixture::load()));
    }

    #[test]
    fn with_hidden_edges_loss_and_gradients_agree_with_pytorch() {
        let fixture = Fixture::load();
        let mut model = masked(&fixture);
        let hidden: Vec<u32> = fixture.nodes("masked_hidden");
        let targets = model.encoder.layer.edges.targets();
        assert_eq!(targets.num_edges(), hidden.len() / 2);
        assert!(hidden.chunks(2).all(|pair| targets.of(pair[0] as usize).contains(&pair[1])));
        assert_agrees_with_pytorch(&mut model, &fixture, "masked_gae", &NAMES);
    }

    #[test]
    fn with_hidden_edges_gradients_agree_with_finite_differences() {
        assert_gradients_agree(&mut masked(&Fixture::load()));
    }

    #[test]
    fn without_features_gradients_agree_with_finite_differences() {
        let fixture = Fixture::load();
        let graph = fixture.graph().with_features(None).unwrap();
        for scaling in [Scaling::None, Scaling::Length] {
            let settings = ModelSettings { scaling, ..fixture.settings() };
            let mut model = Gae::new(&graph, &settings, FirstWeights::Own(Seed(0)), Seed(0));
            model.non_edges.set(&fixture.non_edges(0));
            assert_gradients_agree(&mut model);
        }
    }
}
