//! From coordinates back to edges: the loss on pairs of nodes, and its gradient.
//!
//! A decoder turns the coordinates of two nodes into the probability of an edge:
//!
//! ```text
//! inner product   p = σ(z_u · z_v)
//! distance        p = exp(-‖z_u - z_v‖)
//! loss = mean over edges of -ln p  +  mean over non-edges of -ln (1 - p)
//! ```
//!
//! Both are symmetric, so a pair stands in the rows of both its nodes and each row
//! takes half of its loss. One pass over the rows computes loss and gradient: the
//! row of `u` gathers from the partners of `u`, and nothing is scattered. So every row is summed by one thread, in the order of its partners.
//! Cost: `O(pairs * dim)`.
//!
//! Source: Kipf, Welling, "Variational graph auto-encoders", 2016.

use crate::linalg::real::Real;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Matrix;
use super::kernel::{dot, for_blocks_of_two, rows_per_block, softplus, squared_distance, vectorized};
use super::pairs::Partners;
use super::propagation::Adjacency;

/// How coordinates tell edges from non-edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decoder {
    /// An edge is likely where coordinates point the same way.
    #[default]
    InnerProduct,
    /// An edge is likely where coordinates are close.
    Distance,
}

/// Whether a pair of nodes is an edge.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Edge,
    NonEdge,
}

/// Pairs whose losses are computed at a time.
const BATCH: usize = 256;
/// Keeps distances, by which gradients are divided, from zero: added to squares.
const SQUARED_FLOOR: f64 = 1e-12;

/// What a decoder does to one pair; `z` is the row that gathers.
trait Score<F: Real> {
    /// The number that decides.
    fn score(z: &[F], partner: &[F]) -> F;

    /// The loss of a pair with this score, and the factor of its gradient.
    fn loss(score: F, label: Label) -> (F, F);

    /// Adds the gradient by `z`, `factor` times, to `gradient`.
    fn gather(factor: F, z: &[F], partner: &[F], gradient: &mut [F]);
}

struct InnerProduct;

impl<F: Real> Score<F> for InnerProduct {
    #[inline(always)]
    fn score(z: &[F], partner: &[F]) -> F {
        dot(z, partner)
    }

    /// `-ln σ(s)` for edges and `-ln σ(-s)` for others: `ln(1 + e^t)` with `t = ∓s`.
    #[inline(always)]
    fn loss(score: F, label: Label) -> (F, F) {
        match label {
            Label::Edge => {
                let (loss, slope) = softplus(-score);
                (loss, -slope)
            }
            Label::NonEdge => softplus(score),
        }
    }

    #[inline(always)]
    fn gather(factor: F, _: &[F], partner: &[F], gradient: &mut [F]) {
        gradient.iter_mut().zip(partner).for_each(|(sum, &value)| *sum += factor * value);
    }
}

struct Distance;

impl<F: Real> Score<F> for Distance {
    #[inline(always)]
    fn score(z: &[F], partner: &[F]) -> F {
        (squared_distance(z, partner) + F::of(SQUARED_FLOOR)).sqrt()
    }

    #[inline(always)]
    fn loss(score: F, label: Label) -> (F, F) {
        let near = (-score).exp();
        match label {
            Label::Edge => (score, F::ONE / score),
            Label::NonEdge => (-(F::ONE - near).ln() + score * F::ZERO, -near / ((F::ONE - near) * score)),
        }
    }

    #[inline(always)]
    fn gather(factor: F, z: &[F], partner: &[F], gradient: &mut [F]) {
        let differences = z.iter().zip(partner).map(|(&z, &partner)| z - partner);
        gradient.iter_mut().zip(differences).for_each(|(sum, difference)| *sum += factor * difference);
    }
}

/// The loss on all pairs, with the memory it needs.
#[derive(Clone, Debug)]
pub struct PairLoss {
    decoder: Decoder,
    row_losses: Vec<f64>,
}

impl PairLoss {
    /// For a graph of `num_nodes` nodes.
    pub fn new(decoder: Decoder, num_nodes: usize) -> Self {
        Self { decoder, row_losses: vec![0.0; num_nodes] }
    }

    /// How coordinates tell edges from non-edges.
    pub fn decoder(&self) -> Decoder {
        self.decoder
    }

    /// The loss at the coordinates `z`; its gradient is put into `gradient`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn loss_and_gradient<F: Real>(
        &mut self,
        z: &Matrix<F>,
        edges: &Adjacency,
        non_edges: &Partners,
        gradient: &mut Matrix<F>,
    ) -> f64 {
        match self.decoder {
            Decoder::InnerProduct => self.run::<F, InnerProduct>(z, (edges, non_edges), gradient),
            Decoder::Distance => self.run::<F, Distance>(z, (edges, non_edges), gradient),
        }
    }

    fn run<F: Real, S: Score<F>>(
        &mut self,
        z: &Matrix<F>,
        (edges, non_edges): (&Adjacency, &Partners),
        gradient: &mut Matrix<F>,
    ) -> f64 {
        let dim = z.num_columns();
        let num_rows = z.num_rows();
        let edges = PartnerRows::new(edges.offsets(), edges.nodes());
        let non_edges = PartnerRows::new(non_edges.offsets(), non_edges.nodes());
        let block_rows = rows_per_block(num_rows, dim * 8);
        let losses = (&mut self.row_losses[..], 1);
        for_blocks_of_two((gradient.values_mut(), dim), losses, block_rows, |first, gradient, losses| {
            vectorized(
                #[inline(always)]
                || {
                    gradient.fill(F::ZERO);
                    losses.fill(0.0);
                    gather_block::<F, S>(z, first, edges, Label::Edge, (gradient, losses));
                    gather_block::<F, S>(z, first, non_edges, Label::NonEdge, (gradient, losses));
                },
            );
        });
        self.row_losses.iter().sum()
    }
}

/// The partners of each node, and what each pair weighs in the mean.
#[derive(Clone, Copy)]
struct PartnerRows<'a> {
    offsets: &'a [usize],
    partners: &'a [u32],
    weight: f64,
}

impl<'a> PartnerRows<'a> {
    fn new(offsets: &'a [usize], partners: &'a [u32]) -> Self {
        // Each pair is listed twice.
        Self { offsets, partners, weight: 2.0 / partners.len().max(1) as f64 }
    }
}

/// Scores, losses and gradient factors of one batch of pairs.
struct Batch<F> {
    scores: [F; BATCH],
    losses: [F; BATCH],
    factors: [F; BATCH],
}

/// Adds loss and gradient of all pairs of a block of rows.
///
/// Pairs are handled in batches, of several rows if they fit, so that the exponentials
/// and logarithms become vector code.
#[inline(always)]
fn gather_block<F: Real, S: Score<F>>(
    z: &Matrix<F>,
    first_row: usize,
    rows: PartnerRows<'_>,
    label: Label,
    (gradient, losses): (&mut [F], &mut [f64]),
) {
    let (dim, weight) = (z.num_columns(), F::of(rows.weight));
    let mut batch = Batch { scores: [F::ZERO; BATCH], losses: [F::ZERO; BATCH], factors: [F::ZERO; BATCH] };
    let last_row = first_row + losses.len();
    let mut row = first_row;
    while row < last_row {
        let end_row = rows.end_of_batch(row, last_row);
        let entries = rows.offsets[row]..rows.offsets[end_row];
        for start in entries.clone().step_by(BATCH) {
            let chunk = start..(start + BATCH).min(entries.end);
            for node in row..end_row {
                for k in rows.entries_within(node, &chunk) {
                    batch.scores[k - start] = S::score(z.row(node), z.row(rows.partners[k] as usize));
                }
            }
            batch.evaluate::<S>(chunk.len(), label);
            for node in row..end_row {
                let place = node - first_row;
                let sums = &mut gradient[place * dim..][..dim];
                let mut total = F::ZERO;
                for k in rows.entries_within(node, &chunk) {
                    total += batch.losses[k - start];
                    let factor = batch.factors[k - start] * weight;
                    S::gather(factor, z.row(node), z.row(rows.partners[k] as usize), sums);
                }
                losses[place] += total.to_f64() * 0.5 * rows.weight;
            }
        }
        row = end_row;
    }
}

impl<F: Real> Batch<F> {
    #[inline(always)]
    fn evaluate<S: Score<F>>(&mut self, len: usize, label: Label) {
        let outputs = self.losses[..len].iter_mut().zip(&mut self.factors[..len]);
        for (&score, (loss, factor)) in self.scores[..len].iter().zip(outputs) {
            (*loss, *factor) = S::loss(score, label);
        }
    }
}

impl PartnerRows<'_> {
    /// The row after the last one whose pairs still fit into a batch; at least one row.
    #[inline(always)]
    fn end_of_batch(&self, row: usize, last_row: usize) -> usize {
        let fits = |end: &usize| self.offsets[*end] - self.offsets[row] <= BATCH;
        (row + 2..=last_row).take_while(fits).last().unwrap_or(row + 1)
    }

    /// The entries of one row that lie within a range.
    #[inline(always)]
    fn entries_within(&self, node: usize, range: &Range<usize>) -> Range<usize> {
        self.offsets[node].max(range.start)..self.offsets[node + 1].min(range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::super::pairs::Pairs;
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};

    fn setting() -> (Adjacency, Partners, Matrix<f64>) {
        let edges = EdgeList::from_pairs(vec![[0_u32, 1], [1, 2], [2, 3], [0, 4], [1, 4]]);
        let neighbors = Adjacency::new(&build(edges, 6, &BuildOptions::default()).graph);
        let mut partners = Partners::default();
        partners.sort(&Pairs::listed(6, &[[0, 2], [3, 5], [5, 3], [4, 2]]));
        let z = (0..6 * 19).map(|k| (k as f64 * 1.7).sin()).collect();
        (neighbors, partners, Matrix::from_values(6, 19, z))
    }

    #[test]
    fn the_loss_is_the_mean_over_pairs() {
        let (edges, non_edges, z) = setting();
        let dot = |a: usize, b: usize| z.row(a).iter().zip(z.row(b)).map(|(x, y)| x * y).sum::<f64>();
        let sigmoid = |s: f64| 1.0 / (1.0 + (-s).exp());
        let edge = [[0, 1], [1, 2], [2, 3], [0, 4], [1, 4]].map(|[a, b]| -sigmoid(dot(a, b)).ln());
        let other = [[0, 2], [3, 5], [5, 3], [4, 2]].map(|[a, b]| -(1.0 - sigmoid(dot(a, b))).ln());
        let expected = edge.iter().sum::<f64>() / 5.0 + other.iter().sum::<f64>() / 4.0;
        let loss =
            PairLoss::new(Decoder::InnerProduct, 6).loss_and_gradient(&z, &edges, &non_edges, &mut z.clone());
        assert!((loss - expected).abs() < 1e-12);
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let (edges, non_edges, z) = setting();
        for decoder in [Decoder::InnerProduct, Decoder::Distance] {
            let mut pair_loss = PairLoss::new(decoder, 6);
            let mut gradient = Matrix::zeros(6, 19);
            pair_loss.loss_and_gradient(&z, &edges, &non_edges, &mut gradient);
            let mut loss_at = |k: usize, step: f64| {
                let mut moved = z.clone();
                moved.values_mut()[k] += step;
                pair_loss.loss_and_gradient(&moved, &edges, &non_edges, &mut z.clone())
            };
            for k in 0..z.values().len() {
                let difference = (loss_at(k, 1e-5) - loss_at(k, -1e-5)) / 2e-5;
                assert!((difference - gradient.values()[k]).abs() < 1e-8, "{decoder:?}, value {k}");
            }
        }
    }

    #[test]
    fn nodes_in_one_place_and_far_apart_give_finite_gradients() {
        let (edges, non_edges, z) = setting();
        for decoder in [Decoder::InnerProduct, Decoder::Distance] {
            for scale in [0.0, 1e3] {
                let mut scaled: Matrix<f32> = z.cast();
                scaled.values_mut().iter_mut().for_each(|value| *value *= scale);
                let mut gradient = scaled.clone();
                let mut pair_loss = PairLoss::new(decoder, 6);
                let loss = pair_loss.loss_and_gradient(&scaled, &edges, &non_edges, &mut gradient);
                assert!(loss.is_finite() && gradient.values().iter().all(|value| value.is_finite()));
            }
        }
    }

    #[test]
    fn a_coordinate_that_is_not_a_number_spoils_the_loss() {
        let (edges, non_edges, z) = setting();
        let mut broken: Matrix<f32> = z.cast();
        broken.row_mut(3)[2] = f32::NAN;
        for decoder in [Decoder::InnerProduct, Decoder::Distance] {
            let mut pair_loss = PairLoss::new(decoder, 6);
            assert!(pair_loss.loss_and_gradient(&broken, &edges, &non_edges, &mut broken.clone()).is_nan());
        }
    }
}
