//! The optimiser: steps scaled by running means of the gradient and of its square.
//!
//! ```text
//! g = gradient + weight_decay * w
//! m = β₁ m + (1 - β₁) g,    v = β₂ v + (1 - β₂) g²
//! w = w - rate * (m / (1 - β₁ᵗ)) / (sqrt(v / (1 - β₂ᵗ)) + ε)
//! ```
//!
//! with β₁ = 0.9, β₂ = 0.999, ε = 1e-8. One pass over each parameter.
//!
//! Source: Kingma, Ba, "Adam: a method for stochastic optimization", ICLR 2015.

use crate::linalg::real::Real;
use rayon::prelude::*;

use super::Matrix;
use super::kernel::{rows_per_block, vectorized};

const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// Numbers that are trained, and the gradient of the loss by them.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter<F> {
    /// The numbers.
    pub value: Matrix<F>,
    /// The gradient, of the same shape.
    pub gradient: Matrix<F>,
}

impl<F: Real> Parameter<F> {
    /// A parameter with a first value.
    pub fn new(value: Matrix<F>) -> Self {
        let gradient = Matrix::zeros(value.num_rows(), value.num_columns());
        Self { value, gradient }
    }

    /// A row of zeros, as biases begin.
    pub fn zeros(len: usize) -> Self {
        Self::new(Matrix::zeros(1, len))
    }
}

/// The state of the optimiser.
#[derive(Clone, Debug)]
pub struct Adam<F> {
    learning_rate: f64,
    weight_decay: f64,
    step: i32,
    means: Vec<[Vec<F>; 2]>,
}

/// The factors of one step.
#[derive(Clone, Copy)]
struct Factors<F> {
    weight_decay: F,
    rate: F,
    root: F,
}

impl<F: Real> Adam<F> {
    /// An optimiser for some parameters.
    pub fn new(parameters: &[Parameter<F>], learning_rate: f64, weight_decay: f64) -> Self {
        let zeros = |parameter: &Parameter<F>| vec![F::ZERO; parameter.value.values().len()];
        let means = parameters.iter().map(|parameter| [zeros(parameter), zeros(parameter)]).collect();
        Self { learning_rate, weight_decay, step: 0, means }
    }

    /// Moves the parameters by one step against their gradients.
    ///
    /// # Panics
    /// If these are not the parameters the optimiser was made for.
    pub fn step(&mut self, parameters: &mut [Parameter<F>]) {
        assert_eq!(parameters.len(), self.means.len(), "the same parameters in every step");
        self.step += 1;
        let factors = Factors {
            weight_decay: F::of(self.weight_decay),
            rate: F::of(self.learning_rate / (1.0 - BETA_1.powi(self.step))),
            root: F::of(1.0 / (1.0 - BETA_2.powi(self.step)).sqrt()),
        };
        for (parameter, [mean, square]) in parameters.iter_mut().zip(&mut self.means) {
            let block = rows_per_block(mean.len(), 1);
            let values = parameter.value.values_mut();
            let gradient = parameter.gradient.values();
            if block >= mean.len() {
                vectorized(
                    #[inline(always)]
                    || update(factors, values, gradient, mean, square),
                );
                continue;
            }
            (values.par_chunks_mut(block), gradient.par_chunks(block))
                .into_par_iter()
                .zip((mean.par_chunks_mut(block), square.par_chunks_mut(block)))
                .for_each(|((values, gradient), (mean, square))| {
                    vectorized(
                        #[inline(always)]
                        || update(factors, values, gradient, mean, square),
                    );
                });
        }
    }
}

#[inline(always)]
fn update<F: Real>(factors: Factors<F>, values: &mut [F], gradient: &[F], mean: &mut [F], square: &mut [F]) {
    let (beta_1, beta_2) = (F::of(BETA_1), F::of(BETA_2));
    let (rest_1, rest_2) = (F::of(1.0 - BETA_1), F::of(1.0 - BETA_2));
    let epsilon = F::of(EPSILON);
    let moments = mean.iter_mut().zip(square);
    for ((w, &gradient), (m, v)) in values.iter_mut().zip(gradient).zip(moments) {
        let g = gradient + factors.weight_decay * *w;
        *m = beta_1 * *m + rest_1 * g;
        *v = beta_2 * *v + rest_2 * (g * g);
        *w -= factors.rate * *m / (v.sqrt() * factors.root + epsilon);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_has_the_length_of_the_rate() {
        let mut parameters = [Parameter::<f64>::zeros(3)];
        parameters[0].gradient.values_mut().copy_from_slice(&[5.0, -0.01, 0.0]);
        Adam::new(&parameters, 0.1, 0.0).step(&mut parameters);
        for (value, expected) in parameters[0].value.values().iter().zip([-0.1, 0.1, 0.0]) {
            assert!((value - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn a_parabola_is_descended() {
        let mut parameters = [Parameter::<f32>::zeros(20_000)];
        let mut adam = Adam::new(&parameters, 0.1, 0.0);
        for _ in 0..500 {
            let [parameter] = &mut parameters;
            for (k, gradient) in parameter.gradient.values_mut().iter_mut().enumerate() {
                *gradient = 2.0 * (parameter.value.values()[k] - 3.0);
            }
            adam.step(&mut parameters);
        }
        assert!(parameters[0].value.values().iter().all(|value| (value - 3.0).abs() < 1e-2));
    }

    #[test]
    fn weight_decay_pulls_towards_zero() {
        let mut parameters = [Parameter::new(Matrix::from_values(1, 1, vec![1.0_f64]))];
        let mut adam = Adam::new(&parameters, 0.01, 0.1);
        (0..50).for_each(|_| adam.step(&mut parameters));
        assert!(parameters[0].value.values()[0] < 0.9);
    }
}
