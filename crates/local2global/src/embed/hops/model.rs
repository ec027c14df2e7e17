//! The model of one patch: directions from features two and three steps away.
//!
//! ```text
//! Z_h = Â^h Y W,    u = unit(α₂ unit(Z₂) + α₃ unit(Z₃) + c),    Â = D^-1/2 (A + I) D^-1/2
//! ```
//!
//! Every epoch hides half of the edges ([`masking`](crate::embed::nn::masking)), propagates over
//! the others, and asks the directions `u` to tell the hidden edges from pairs without an edge
//! ([`pair_loss`](super::pair_loss)). A model that sees an edge while it predicts it would learn
//! to remember; this one has to learn what makes an edge likely.
//!
//! Learned are `W`, `α`, and the decoder `[s, b, β]`; the centre `c` is sent. The gradient goes
//! the same way back: `Â` is symmetric, and of `x / |x|` it is `(g - u (u · g)) / |x|`.
//!
//! Convention: `W` has `dim` columns, of which the last is zero and stays so, since nothing
//! ever depends on it; in the embedding it holds the popularity of a node.
//! Cost of an epoch: `O(n k d + edges d)` time, `O(n (k + d))` memory.

use crate::linalg::real::Real;
use std::io;
use std::path::Path;

use rayon::prelude::*;

use super::pair_loss::{CosineLoss, PairRows};
use crate::embed::nn::adam::Parameter;
use crate::embed::nn::clock::{Clock, Part};
use crate::embed::nn::dense::{self, TransposedProduct};
use crate::embed::nn::kernel::{dot, rows_per_block, vectorized};
use crate::embed::nn::masking::Masked;
use crate::embed::nn::propagation::Adjacency;
use crate::embed::nn::sampling::NonEdges;
use crate::embed::nn::train::Model;
use crate::embed::nn::{Matrix, SparseMatrix};
use crate::run_dir::{ArrayFile, FileError, write_arrays};
use crate::seed::Seed;

/// The decoder before training: scale, offset and weight of popularity.
pub const FIRST_DECODER: [f64; 3] = [5.0, -2.5, 0.1];

/// What is learned: everything that turns inputs into directions, and the popularity.
#[derive(Clone, Debug, PartialEq)]
pub struct HopsEncoder<F> {
    /// `W`, one row per column of the input.
    pub weights: Matrix<F>,
    /// `α₂` and `α₃`.
    pub hop_weights: [F; 2],
    /// `[s, b, β]`.
    pub decoder: [F; 3],
}

impl<F: Real> HopsEncoder<F> {
    /// The start that all patches share: `W` keeps the leading directions of the input.
    pub fn start(num_inputs: usize, dim: usize) -> Self {
        let mut weights = Matrix::zeros(num_inputs, dim);
        (0..num_inputs.min(dim - 1)).for_each(|k| weights.row_mut(k)[k] = F::ONE);
        Self { weights, hop_weights: [F::ONE; 2], decoder: FIRST_DECODER.map(F::of) }
    }
}

impl HopsEncoder<f32> {
    /// Writes what was learned into a file.
    ///
    /// # Errors
    /// [`FileError`] if it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        let shape = [self.weights.num_rows(), self.weights.num_columns()];
        write_arrays(path, |archive| {
            archive.add("weights", &shape, self.weights.values())?;
            archive.add("hop_weights", &[2], &self.hop_weights)?;
            archive.add("decoder", &[3], &self.decoder)
        })
    }

    /// Reads it back.
    ///
    /// # Errors
    /// [`FileError`] if it cannot be read, or has another shape.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let mut file = ArrayFile::open(path)?;
        let (shape, weights) = file.floats("weights")?;
        let (hops, decoder) = (file.floats("hop_weights")?.1, file.floats("decoder")?.1);
        match (&shape[..], &hops[..], &decoder[..]) {
            (&[rows, columns], &[second, third], &[scale, offset, popularity]) => Ok(Self {
                weights: Matrix::from_values(rows, columns, weights),
                hop_weights: [second, third],
                decoder: [scale, offset, popularity],
            }),
            _ => Err(FileError::at("understand", path)(io::ErrorKind::InvalidData.into())),
        }
    }
}

/// Directions, and in the last column the popularity `1 + β ln(1 + degree)` of each node;
/// `degrees` count the node itself.
pub fn with_popularity(mut directions: Matrix<f32>, beta: f32, degrees: &[f64]) -> Matrix<f32> {
    let dim = directions.num_columns();
    for (row, degree) in directions.values_mut().chunks_exact_mut(dim).zip(degrees) {
        row[dim - 1] = 1.0 + beta * degree.ln() as f32;
    }
    directions
}

/// Directions at two depths, and what is needed to go back.
#[derive(Clone, Debug)]
pub struct Hops<F> {
    /// `Y W` and, on the way back, the gradient by it.
    first: Matrix<F>,
    middle: Matrix<F>,
    /// `Z₂` and `Z₃`; on the way back the gradients by them.
    steps: [Matrix<F>; 2],
    /// For each node the inverse lengths of `Z₂`, `Z₃` and the sum.
    inverse_lengths: Vec<[F; 3]>,
    /// `u`.
    pub directions: Matrix<F>,
}

/// `u = unit(α₂ unit(Z₂) + α₃ unit(Z₃) + c)` of one node; returns the inverse lengths of `Z₂`, `Z₃` and
/// the sum.
#[inline(always)]
pub(super) fn direction<F: Real>(
    [second, third]: [&[F]; 2],
    hop_weights: [F; 2],
    centre: &[F],
    out: &mut [F],
) -> [F; 3] {
    let [a, b] = [inverse_length(second), inverse_length(third)];
    let [fa, fb] = [hop_weights[0] * a, hop_weights[1] * b];
    for (out, ((&second, &third), &centre)) in out.iter_mut().zip(second.iter().zip(third).zip(centre)) {
        *out = fa * second + fb * third + centre;
    }
    let c = inverse_length(out);
    out.iter_mut().for_each(|x| *x *= c);
    [a, b, c]
}

impl<F: Real> Hops<F> {
    /// For some nodes in `dim` dimensions.
    pub fn new(num_nodes: usize, dim: usize) -> Self {
        let zeros = || Matrix::zeros(num_nodes, dim);
        Self {
            first: zeros(),
            middle: zeros(),
            steps: [zeros(), zeros()],
            inverse_lengths: vec![[F::ZERO; 3]; num_nodes],
            directions: zeros(),
        }
    }

    /// Computes the directions from `Y`.
    pub fn forward(
        &mut self,
        input: &Matrix<F>,
        propagation: &SparseMatrix<F>,
        (weights, hop_weights): (&Matrix<F>, [F; 2]),
        centre: &[F],
        clock: &mut Clock,
    ) {
        clock.time(Part::Dense, || dense::multiply(input, weights, &mut self.first));
        clock.time(Part::Sparse, || {
            propagation.multiply(&self.first, &mut self.middle);
            let [second, third] = &mut self.steps;
            propagation.multiply(&self.middle, second);
            propagation.multiply(second, third);
        });
        clock.time(Part::Elementwise, || self.combine(hop_weights, centre));
    }

    /// The directions of all nodes.
    fn combine(&mut self, hop_weights: [F; 2], centre: &[F]) {
        let dim = self.directions.num_columns();
        let [second, third] = &self.steps;
        let block = rows_per_block(self.directions.num_rows(), 4 * dim);
        let rows = self.directions.values_mut().par_chunks_mut(block * dim);
        rows.zip(self.inverse_lengths.par_chunks_mut(block)).enumerate().for_each(|(b, (out, lengths))| {
            vectorized(
                #[inline(always)]
                || {
                    for ((out, lengths), node) in out.chunks_exact_mut(dim).zip(lengths).zip(b * block..) {
                        *lengths = direction([second.row(node), third.row(node)], hop_weights, centre, out);
                    }
                },
            );
        });
    }

    /// Calls `visit` with `α₂ unit(Z₂) + α₃ unit(Z₃)` of each node, in order.
    pub fn for_each_sum(&self, hop_weights: [F; 2], mut visit: impl FnMut(&[F])) {
        let mut row = vec![F::ZERO; self.directions.num_columns()];
        for (node, [a, b, _]) in self.inverse_lengths.iter().enumerate() {
            let steps = self.steps[0].row(node).iter().zip(self.steps[1].row(node));
            for (sum, (&second, &third)) in row.iter_mut().zip(steps) {
                *sum = hop_weights[0] * *a * second + hop_weights[1] * *b * third;
            }
            visit(&row);
        }
    }

    /// Computes the gradients by `W` and `α` from the gradient by the directions.
    fn backward(
        &mut self,
        propagation: &SparseMatrix<F>,
        gradient: &Matrix<F>,
        hop_weights: [F; 2],
        clock: &mut Clock,
    ) -> [f64; 2] {
        let by_hops = clock.time(Part::Elementwise, || self.combine_backward(gradient, hop_weights));
        clock.time(Part::Sparse, || {
            let [second, third] = &self.steps;
            propagation.multiply_then(third, &mut self.middle, |row, sums| {
                sums.iter_mut().zip(second.row(row)).for_each(|(sum, &term)| *sum += term);
            });
            propagation.multiply(&self.middle, &mut self.first);
            propagation.multiply(&self.first, &mut self.middle);
        });
        by_hops
    }

    /// Puts the gradients by `Z₂` and `Z₃` in their place; returns those by `α`.
    fn combine_backward(&mut self, gradient: &Matrix<F>, hop_weights: [F; 2]) -> [f64; 2] {
        let dim = self.directions.num_columns();
        let (directions, lengths) = (&self.directions, &self.inverse_lengths);
        let [second, third] = &mut self.steps;
        let block = rows_per_block(directions.num_rows(), 8 * dim);
        let rows = second
            .values_mut()
            .par_chunks_mut(block * dim)
            .zip(third.values_mut().par_chunks_mut(block * dim));
        let sums = rows.enumerate().map(|(b, (second, third))| {
            vectorized(
                #[inline(always)]
                || {
                    let mut sums = Vec::with_capacity(second.len() / dim);
                    let mut by_sum = vec![F::ZERO; dim];
                    let steps = second.chunks_exact_mut(dim).zip(third.chunks_exact_mut(dim));
                    for ((second, third), node) in steps.zip(b * block..) {
                        let [a, b, c] = lengths[node];
                        let (u, g) = (directions.row(node), gradient.row(node));
                        let along = dot(u, g);
                        for k in 0..dim {
                            by_sum[k] = c * (g[k] - along * u[k]);
                        }
                        let of = [(second, a, hop_weights[0]), (third, b, hop_weights[1])];
                        sums.push(of.map(|(step, inverse, weight)| {
                            let along = inverse * dot(step, &by_sum);
                            let (keep, take) = (weight * inverse, weight * inverse * inverse * along);
                            step.iter_mut().zip(&by_sum).for_each(|(z, &g)| *z = keep * g - take * *z);
                            along.to_f64()
                        }));
                    }
                    sums
                },
            )
        });
        let sums: Vec<Vec<[f64; 2]>> = sums.collect();
        sums.iter().flatten().fold([0.0; 2], |total, row| [total[0] + row[0], total[1] + row[1]])
    }
}

/// One over the length of a row; 0 for a row of zeros, whose direction is zero too.
#[inline(always)]
fn inverse_length<F: Real>(row: &[F]) -> F {
    let square = dot(row, row);
    if square > F::ZERO { F::ONE / square.sqrt() } else { F::ZERO }
}

/// The model of a patch under training.
#[derive(Clone, Debug)]
pub struct HopsModel<F> {
    input: Matrix<F>,
    centre: Vec<F>,
    neighbors: Adjacency,
    edge_weights: Option<Vec<f32>>,
    masked: Masked<F>,
    hides: bool,
    non_edges: NonEdges,
    popularity: Vec<F>,
    /// `[W, α, (s, b, β)]`.
    parameters: [Parameter<F>; 3],
    hops: Hops<F>,
    gradient: Matrix<F>,
    loss: CosineLoss,
    weights_gradient: TransposedProduct<F>,
    clock: Clock,
}

impl<F: Real> HopsModel<F> {
    /// A model for the nodes with these inputs and neighbours, from a start; `hidden_share` of
    /// the edges are hidden in every epoch and predicted. If none are, those seen are predicted.
    pub fn new(
        input: Matrix<F>,
        centre: Vec<F>,
        (neighbors, edge_weights): (Adjacency, Option<Vec<f32>>),
        hidden_share: f64,
        start: HopsEncoder<F>,
    ) -> Self {
        let (num_nodes, dim) = (input.num_rows(), start.weights.num_columns());
        let shape = (input.num_columns(), dim);
        // As many pairs as edges are predicted: those hidden, or all.
        let predicted = if hidden_share > 0.0 { hidden_share } else { 1.0 };
        let num_pairs = (neighbors.num_edges() as f64 * predicted).ceil() as usize;
        Self {
            non_edges: NonEdges::with_pairs(&neighbors, num_pairs),
            popularity: vec![F::ZERO; num_nodes],
            parameters: [
                Parameter::new(start.weights),
                Parameter::new(Matrix::from_values(1, 2, start.hop_weights.to_vec())),
                Parameter::new(Matrix::from_values(1, 3, start.decoder.to_vec())),
            ],
            hops: Hops::new(num_nodes, dim),
            gradient: Matrix::zeros(num_nodes, dim),
            loss: CosineLoss::new(num_nodes),
            weights_gradient: TransposedProduct::new(num_nodes, shape),
            input,
            centre,
            masked: Masked::new(&neighbors, hidden_share),
            hides: hidden_share > 0.0,
            neighbors,
            edge_weights,
            clock: Clock::default(),
        }
    }

    /// What was learned.
    pub fn encoder(&self) -> HopsEncoder<F> {
        let [weights, hops, decoder] = self.parameters.each_ref().map(|parameter| &parameter.value);
        let (hops, decoder) = (hops.values(), decoder.values());
        HopsEncoder {
            weights: weights.clone(),
            hop_weights: [hops[0], hops[1]],
            decoder: [decoder[0], decoder[1], decoder[2]],
        }
    }

    /// `l = ln(1 + visible degree)`; the degrees of the mask count the node itself.
    fn measure_popularity(&mut self) {
        let degrees = self.masked.degrees().iter();
        self.popularity.iter_mut().zip(degrees).for_each(|(l, &degree)| *l = F::of(degree.ln()));
    }

    /// The directions of all nodes, propagated over the given matrix.
    pub fn encode(&mut self, propagation: &SparseMatrix<F>) -> &Matrix<F> {
        let hop_weights = self.hop_weights();
        let weights = (&self.parameters[0].value, hop_weights);
        self.hops.forward(&self.input, propagation, weights, &self.centre, &mut self.clock);
        &self.hops.directions
    }

    fn hop_weights(&self) -> [F; 2] {
        let values = self.parameters[1].value.values();
        [values[0], values[1]]
    }
}

impl<F: Real> Model<F> for HopsModel<F> {
    fn draw(&mut self, seed: Seed, epoch: u32) {
        let Self { neighbors, edge_weights, masked, non_edges, clock, .. } = self;
        clock.time(Part::Sampling, || {
            masked.draw(neighbors, edge_weights.as_deref(), seed, epoch);
            non_edges.draw(neighbors, seed, epoch);
        });
        self.measure_popularity();
    }

    fn loss_and_gradients(&mut self) -> f64 {
        let hop_weights = self.hop_weights();
        let Self { input, centre, masked, non_edges, popularity, hops, gradient, clock, .. } = self;
        let [weights, by_hops, decoder] = &mut self.parameters;
        let propagation = masked.propagation();
        hops.forward(input, propagation, (&weights.value, hop_weights), centre, clock);
        let of_decoder = [0, 1, 2].map(|k| decoder.value.values()[k]);
        let targets = if self.hides { masked.hidden() } else { &self.neighbors };
        let others = non_edges.partners();
        let pairs = [
            PairRows { offsets: targets.offsets(), partners: targets.nodes() },
            PairRows { offsets: others.offsets(), partners: others.nodes() },
        ];
        let (loss, by_decoder) = clock.time(Part::Decoder, || {
            self.loss.loss_and_gradient(&hops.directions, popularity, of_decoder, pairs, gradient)
        });
        decoder.gradient.values_mut().copy_from_slice(&by_decoder);
        let alpha = hops.backward(propagation, gradient, hop_weights, clock);
        by_hops.gradient.values_mut().copy_from_slice(&alpha.map(F::of));
        clock.time(Part::Dense, || {
            self.weights_gradient.multiply(input, &hops.middle, &mut weights.gradient);
        });
        loss
    }

    fn parameters(&mut self) -> &mut [Parameter<F>] {
        &mut self.parameters
    }

    fn coordinates(&mut self) -> Matrix<F> {
        self.hops.directions.clone()
    }

    fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::nn::fixture::{Fixture, Reference};
    use crate::embed::nn::masking::Mask;
    use crate::embed::nn::propagation::weighted_neighbors;
    use crate::scratch::scratch;

    const PYTORCH: Reference = Reference::new("masked_hops", &["weights", "hop_weights", "decoder"], None);

    /// The model where the edges of the fixture are hidden.
    fn model() -> HopsModel<f64> {
        let start = HopsEncoder {
            weights: Fixture.matrix("gae_init_w1"),
            hop_weights: [1.0, 0.7],
            decoder: [5.0, -2.5, 0.1],
        };
        let (neighbors, weights) = weighted_neighbors(&Fixture.weighted_graph());
        let centre = Fixture.matrix("masked_hops_centre").into_values();
        let sides = (neighbors.clone(), weights.clone());
        let mut model = HopsModel::new(Fixture.matrix("x"), centre, sides, 0.5, start);
        model.masked.hide(&neighbors, weights.as_deref(), Mask::of_fixture());
        model.non_edges.set(&Fixture.non_edges(0));
        model.measure_popularity();
        model
    }

    #[test]
    fn loss_and_gradients_agree_with_pytorch_and_finite_differences() {
        PYTORCH.assert_agrees(&mut model());
    }

    #[test]
    fn the_last_column_of_a_start_stays_zero() {
        let (neighbors, _) = weighted_neighbors(&Fixture.graph());
        let input = Fixture.matrix("x");
        let start = HopsEncoder::start(input.num_columns(), 4);
        let mut model = HopsModel::new(input, vec![0.2, 0.1, 0.0, 0.0], (neighbors, None), 0.5, start);
        model.draw(Seed(1), 1);
        model.loss_and_gradients();
        let gradient = &model.parameters[0].gradient;
        assert!((0..gradient.num_rows()).all(|row| gradient.row(row)[3] == 0.0));
        assert!(gradient.values().iter().any(|&value| value != 0.0));
    }

    #[test]
    fn what_was_learned_is_read_back() {
        let path = scratch("a.npz");
        let mut encoder = HopsEncoder::<f32>::start(5, 3);
        encoder.decoder[2] = 0.25;
        encoder.write(&path).unwrap();
        assert_eq!(HopsEncoder::read(&path).unwrap(), encoder);
    }
}
