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
use super::nn::init::FirstWeights;
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
        let encoder = settings.encoder(graph, start, 2, seed);
        let num_nodes = encoder.layer.num_nodes();
        let zeros = || Matrix::zeros(num_nodes, settings.dim);
        Self {
            non_edges: encoder.layer.edges.non_edges(settings.unseen.hide),
            encoder,
            noise: zeros(),
            z: zeros(),
            z_gradient: zeros(),
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
    use crate::embed::nn::fixture::{Fixture, Reference, assert_close};
    use crate::embed::nn::masking::Mask;

    /// The second layer has a head for means and one for logarithms of deviations.
    const PARAMETERS: [&str; 4] = ["w1", "b1", "w_mu w_ls", "b_mu b_ls"];
    const PYTORCH: Reference = Reference::new("vgae", &PARAMETERS, None);

    fn model() -> Vgae<f64> {
        model_on(&Fixture.graph(), &Fixture.settings())
    }

    fn model_on(graph: &Graph, settings: &ModelSettings) -> Vgae<f64> {
        let mut model = Vgae::new(graph, settings, FirstWeights::Own(Seed(0)), Seed(0));
        model.encoder.layer.set_features(Fixture.matrix("x"));
        PYTORCH.set_first_weights(&mut model);
        model
    }

    fn draw(model: &mut Vgae<f64>, step: usize) {
        model.noise = Fixture.noise(step);
        model.non_edges.set(&Fixture.non_edges(step));
    }

    #[test]
    fn one_step_agrees_with_pytorch() {
        let mut model = model();
        draw(&mut model, 0);
        let loss = model.loss_and_gradients();
        assert!((loss - Fixture.matrix("vgae_losses").values()[0]).abs() < 1e-8);
        PYTORCH.assert_gradients_agree(&mut model);
        assert_close(&model.coordinates(), &Fixture.matrix("vgae_mu"), 1e-8);
    }

    #[test]
    fn three_steps_of_adam_agree_with_pytorch() {
        let mut model = model();
        let mut adam = Adam::new(&model.encoder.parameters, 0.01, 0.0);
        for (step, &expected) in Fixture.matrix("vgae_losses").values().iter().enumerate() {
            draw(&mut model, step);
            assert!((model.loss_and_gradients() - expected).abs() < 1e-8, "step {step}");
            adam.step(&mut model.encoder.parameters);
        }
        for (parameter, name) in model.encoder.parameters.iter().zip(PARAMETERS) {
            assert_close(&parameter.value, &Fixture.weights("vgae_after3", name), 1e-8);
        }
        assert_close(&model.coordinates(), &Fixture.matrix("vgae_mu_after3"), 1e-8);
    }

    #[test]
    fn with_hidden_edges_loss_and_gradients_agree_with_pytorch_and_finite_differences() {
        let hide = Unseen { hide: 0.5, validation: 0.0 };
        let settings = ModelSettings { unseen: hide, ..Fixture.settings() };
        let mut model = model_on(&Fixture.weighted_graph(), &settings);
        model.encoder.layer.edges.hide(Mask::of_fixture());
        draw(&mut model, 0);
        Reference { prefix: "masked_vgae", ..PYTORCH }.assert_agrees(&mut model);
    }
}
