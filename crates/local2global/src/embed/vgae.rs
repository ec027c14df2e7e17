//! The variational graph auto-encoder.
//!
//! A graph convolution gives hidden values, two more give the mean and the logarithm
//! of the deviation of each coordinate; coordinates drawn accordingly must tell edges
//! from non-edges.
//!
//! ```text
//! H = relu(P X W₁ + b₁),    [M | L] = P H W₂ + b₂,    L <= 10
//! Z = M + E ∘ exp(L),       E standard normal
//! loss = pair loss of Z + KL / n,
//! KL = mean over nodes of -½ sum over coordinates of (1 + 2 L - M² - exp(2 L))
//! ```
//!
//! Convention: both heads are one matrix `W₂`, mean left, deviation right. The
//! embedding is `M`.
//! Cost of an epoch: `O(n h d + (edges + features) h)` time, `O(n (h + d))` memory.
//!
//! Source: Kipf, Welling, "Variational graph auto-encoders", 2016.

use super::nn::Matrix;
use super::nn::adam::Parameter;
use super::nn::clock::{Clock, Part};
use super::nn::decoder::PairLoss;
use super::nn::edges::View;
use super::nn::encoder::GcnEncoder;
use super::nn::init::{FirstWeights, glorot_heads};
use super::nn::layer::InputLayer;
use super::nn::noise::fill_normal;
use super::nn::sampling::NonEdges;
use super::nn::train::Model;
use super::nn::variational::{draw_coordinates, heads_backward};
use super::settings::ModelSettings;
use crate::graph::Graph;
use crate::linalg::real::Real;
use crate::seed::Seed;

/// A variational graph auto-encoder on one patch.
#[derive(Clone, Debug)]
pub struct Vgae<F> {
    /// Its output is mean and logarithm of the deviation; after drawing, mean and
    /// deviation.
    encoder: GcnEncoder<F>,
    non_edges: NonEdges,
    noise: Matrix<F>,
    z: Matrix<F>,
    z_gradient: Matrix<F>,
    row_divergence: Vec<f64>,
    pair_loss: PairLoss,
    clock: Clock,
}

impl<F: Real> Vgae<F> {
    /// A model for a patch; `seed` chooses the edges that are held out.
    pub fn new(graph: &Graph, settings: &ModelSettings, start: FirstWeights<'_>, seed: Seed) -> Self {
        let (dim, hidden) = (settings.dim, settings.hidden_width());
        let layer = InputLayer::new(graph, settings.scaling, hidden, settings.unseen, seed);
        let mut random = start.random();
        let first = start.of_input(&layer, hidden, &mut random);
        let second = glorot_heads(hidden, dim, 2, &mut random);
        let num_nodes = layer.num_nodes();
        let num_non_edges = layer.edges.num_non_edges(settings.unseen.hide);
        Self {
            non_edges: NonEdges::with_pairs(layer.edges.trained(), num_non_edges),
            encoder: GcnEncoder::new(layer, first, second),
            noise: Matrix::zeros(num_nodes, dim),
            z: Matrix::zeros(num_nodes, dim),
            z_gradient: Matrix::zeros(num_nodes, dim),
            row_divergence: vec![0.0; num_nodes],
            pair_loss: PairLoss::new(settings.decoder, num_nodes),
            clock: Clock::default(),
        }
    }
}

impl<F: Real> Model<F> for Vgae<F> {
    fn draw(&mut self, seed: Seed, epoch: u32) {
        self.clock.time(Part::Sampling, || {
            fill_normal(self.noise.values_mut(), seed, epoch);
            self.encoder.layer.edges.draw(seed, epoch);
            self.non_edges.draw(self.encoder.layer.edges.trained(), seed, epoch);
        });
    }

    fn loss_and_gradients(&mut self) -> f64 {
        let Self { encoder, non_edges, noise, z, z_gradient, pair_loss, clock, .. } = self;
        encoder.layer.edges.show(View::Epoch);
        encoder.forward(clock);
        let divergence = clock.time(Part::Elementwise, || {
            draw_coordinates(&mut encoder.out, noise, z, &mut self.row_divergence)
        });
        let reconstruction = clock.time(Part::Decoder, || {
            let edges = encoder.layer.edges.targets();
            pair_loss.loss_and_gradient(z, edges, non_edges.partners(), z_gradient)
        });
        clock.time(Part::Elementwise, || {
            heads_backward(&encoder.out, noise, z_gradient, &mut encoder.out_gradient);
        });
        encoder.backward(clock);
        reconstruction + divergence
    }

    fn parameters(&mut self) -> &mut [Parameter<F>] {
        &mut self.encoder.parameters
    }

    fn coordinates(&mut self) -> Matrix<F> {
        self.encoder.layer.edges.show(View::All);
        self.encoder.forward(&mut self.clock);
        self.encoder.out.first_columns(self.z.num_columns())
    }

    fn validate(&mut self) -> Option<f64> {
        self.encoder.layer.edges.show(View::Check);
        self.encoder.forward(&mut self.clock);
        let Self { encoder, pair_loss, z, .. } = self;
        let validation = encoder.layer.edges.validation()?;
        validation.auc(pair_loss.decoder(), |node| &encoder.out.row(node)[..z.num_columns()])
    }

    fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::nn::adam::Adam;
    use crate::embed::nn::edges::Unseen;
    use crate::embed::nn::fixture::{Fixture, assert_close};
    use crate::embed::nn::masking::Mask;

    fn model(fixture: &Fixture) -> Vgae<f64> {
        model_on(&fixture.graph(), &fixture.settings(), fixture)
    }

    fn model_on(graph: &Graph, settings: &ModelSettings, fixture: &Fixture) -> Vgae<f64> {
        let mut model = Vgae::new(graph, settings, FirstWeights::Own(Seed(0)), Seed(0));
        model.encoder.layer.set_features(fixture.matrix("x"));
        let heads = |mean: &str, log: &str| fixture.side_by_side(mean, log);
        let values = [
            fixture.matrix("vgae_init_w1"),
            fixture.matrix("vgae_init_b1"),
            heads("vgae_init_w_mu", "vgae_init_w_ls"),
            heads("vgae_init_b_mu", "vgae_init_b_ls"),
        ];
        model.encoder.parameters.iter_mut().zip(values).for_each(|(p, value)| p.value = value);
        model
    }

    fn draw(model: &mut Vgae<f64>, fixture: &Fixture, step: usize) {
        model.noise = fixture.noise(step);
        model.non_edges.set(&fixture.non_edges(step));
    }

    #[test]
    fn one_step_agrees_with_pytorch() {
        let fixture = Fixture::load();
        let mut model = model(&fixture);
        draw(&mut model, &fixture, 0);
        let loss = model.loss_and_gradients();
        assert!((loss - fixture.matrix("vgae_losses").values()[0]).abs() < 1e-8);
        let gradient = |index: usize| &model.encoder.parameters[index].gradient;
        assert_close(gradient(0), &fixture.matrix("vgae_grad_w1"), 1e-8);
        assert_close(gradient(1), &fixture.matrix("vgae_grad_b1"), 1e-8);
        assert_close(gradient(2), &fixture.side_by_side("vgae_grad_w_mu", "vgae_grad_w_ls"), 1e-8);
        assert_close(gradient(3), &fixture.side_by_side("vgae_grad_b_mu", "vgae_grad_b_ls"), 1e-8);
        assert_close(&model.coordinates(), &fixture.matrix("vgae_mu"), 1e-8);
    }

    #[test]
    fn three_steps_of_adam_agree_with_pytorch() {
        let fixture = Fixture::load();
        let mut model = model(&fixture);
        let mut adam = Adam::new(&model.encoder.parameters, 0.01, 0.0);
        for (step, &expected) in fixture.matrix("vgae_losses").values().iter().enumerate() {
            draw(&mut model, &fixture, step);
            assert!((model.loss_and_gradients() - expected).abs() < 1e-8, "step {step}");
            adam.step(&mut model.encoder.parameters);
        }
        let value = |index: usize| &model.encoder.parameters[index].value;
        assert_close(value(0), &fixture.matrix("vgae_after3_w1"), 1e-8);
        assert_close(value(1), &fixture.matrix("vgae_after3_b1"), 1e-8);
        assert_close(value(2), &fixture.side_by_side("vgae_after3_w_mu", "vgae_after3_w_ls"), 1e-8);
        assert_close(value(3), &fixture.side_by_side("vgae_after3_b_mu", "vgae_after3_b_ls"), 1e-8);
        assert_close(&model.coordinates(), &fixture.matrix("vgae_mu_after3"), 1e-8);
    }

    #[test]
    fn with_hidden_edges_loss_and_gradients_agree_with_pytorch() {
        let fixture = Fixture::load();
        let hide = Unseen { hide: 0.5, validation: 0.0 };
        let settings = ModelSettings { unseen: hide, ..fixture.settings() };
        let mut model = model_on(&fixture.weighted_graph(), &settings, &fixture);
        model.encoder.layer.edges.hide(Mask::of_fixture());
        draw(&mut model, &fixture, 0);
        let loss = model.loss_and_gradients();
        assert!((loss - fixture.matrix("masked_vgae_loss").values()[0]).abs() < 1e-8);
        let gradient = |index: usize| &model.encoder.parameters[index].gradient;
        assert_close(gradient(0), &fixture.matrix("masked_vgae_grad_w1"), 1e-8);
        assert_close(gradient(1), &fixture.matrix("masked_vgae_grad_b1"), 1e-8);
        let heads = |what: &str| {
            fixture
                .side_by_side(&format!("masked_vgae_grad_{what}_mu"), &format!("masked_vgae_grad_{what}_ls"))
        };
        assert_close(gradient(2), &heads("w"), 1e-8);
        assert_close(gradient(3), &heads("b"), 1e-8);
    }
}
