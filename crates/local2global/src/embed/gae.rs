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
use super::nn::init::FirstWeights;
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
        let encoder = settings.encoder(graph, start, 1, seed);
        Self {
            non_edges: encoder.layer.edges.non_edges(settings.unseen.hide),
            pair_loss: PairLoss::new(settings.decoder, encoder.layer.num_nodes()),
            encoder,
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
    use crate::embed::nn::fixture::{Fixture, Reference, assert_gradients_agree};
    use crate::embed::nn::input::Scaling;
    use crate::embed::nn::masking::Mask;

    const PYTORCH: Reference = Reference::new("gae", &["w1", "b1", "w2", "b2"], Some("gae_z"));

    fn model() -> Gae<f64> {
        model_on(&Fixture.graph(), &Fixture.settings())
    }

    /// The model where the edges of the other fixture are hidden.
    fn masked() -> Gae<f64> {
        let hide = Unseen { hide: 0.5, validation: 0.0 };
        let settings = ModelSettings { unseen: hide, ..Fixture.settings() };
        let mut model = model_on(&Fixture.weighted_graph(), &settings);
        model.encoder.layer.edges.hide(Mask::of_fixture());
        model
    }

    fn model_on(graph: &Graph, settings: &ModelSettings) -> Gae<f64> {
        let mut model = Gae::new(graph, settings, FirstWeights::Own(Seed(0)), Seed(0));
        model.encoder.layer.set_features(Fixture.matrix("x"));
        PYTORCH.set_first_weights(&mut model);
        model.non_edges.set(&Fixture.non_edges(0));
        model
    }

    #[test]
    fn loss_and_gradients_agree_with_pytorch_and_finite_differences() {
        PYTORCH.assert_agrees(&mut model());
    }

    #[test]
    fn with_hidden_edges_they_agree_too() {
        let mut model = masked();
        let hidden: Vec<u32> = Fixture.nodes("masked_hidden");
        let targets = model.encoder.layer.edges.targets();
        assert_eq!(targets.num_edges(), hidden.len() / 2);
        assert!(hidden.chunks(2).all(|pair| targets.of(pair[0] as usize).contains(&pair[1])));
        Reference { prefix: "masked_gae", coordinates: None, ..PYTORCH }.assert_agrees(&mut model);
    }

    #[test]
    fn without_features_gradients_agree_with_finite_differences() {
        let graph = Fixture.graph().with_features(None).unwrap();
        for scaling in [Scaling::None, Scaling::Length] {
            let settings = ModelSettings { scaling, ..Fixture.settings() };
            let mut model = Gae::new(&graph, &settings, FirstWeights::Own(Seed(0)), Seed(0));
            model.non_edges.set(&Fixture.non_edges(0));
            assert_gradients_agree(&mut model);
        }
    }
}
