//! The loss on hidden edges and pairs without an edge, and its gradient.
//!
//! ```text
//! t(i, j) = s (u_i · u_j + β (l_i + l_j)) + b,    l = ln(1 + visible degree)
//! loss = mean over hidden edges of ln(1 + e^-t)  +  mean over other pairs of ln(1 + e^t)
//! ```
//!
//! `u` are directions, so `s` and `b` are what turns a cosine into a probability, and `β` says
//! how much popular nodes attract edges. As in [`decoder`](crate::embed::nn::decoder), each pair
//! stands in the rows of both its nodes: a row gathers from its partners, nothing is scattered,
//! and every number is summed by one thread in a fixed order.
//! Cost: `O(pairs * dim)`.

use crate::embed::nn::Matrix;
use crate::embed::nn::kernel::{dot, for_blocks_of_two, rows_per_block, softplus, vectorized};
use crate::linalg::real::Real;

/// What turns the cosine of a pair into the logarithm of its odds: `[s, b, β]`.
pub type PairDecoder<F> = [F; 3];

/// Pairs of nodes in compressed rows: each pair stands in the rows of both its nodes.
#[derive(Clone, Copy, Debug)]
pub struct PairRows<'a> {
    /// Where the partners of each node begin.
    pub offsets: &'a [usize],
    /// The partners of all nodes.
    pub partners: &'a [u32],
}

/// Sums of one row: the loss and the gradients by `s`, `b` and `β`.
type RowSums = [f64; 4];

/// The loss on pairs, with the memory it needs.
#[derive(Clone, Debug)]
pub struct CosineLoss {
    sums: Vec<RowSums>,
}

impl CosineLoss {
    /// For a patch of so many nodes.
    pub fn new(num_nodes: usize) -> Self {
        Self { sums: vec![[0.0; 4]; num_nodes] }
    }

    /// The loss at the directions `u`, and its gradient by `[s, b, β]`; the gradient by `u` is
    /// put into `gradient`.
    pub fn loss_and_gradient<F: Real>(
        &mut self,
        u: &Matrix<F>,
        popularity: &[F],
        decoder: PairDecoder<F>,
        [edges, others]: [PairRows<'_>; 2],
        gradient: &mut Matrix<F>,
    ) -> (f64, PairDecoder<F>) {
        let dim = u.num_columns();
        let block_rows = rows_per_block(u.num_rows(), dim * 8);
        let sums = (&mut self.sums[..], 1);
        for_blocks_of_two((gradient.values_mut(), dim), sums, block_rows, |first, gradient, sums| {
            vectorized(
                #[inline(always)]
                || {
                    let rows = gradient.chunks_exact_mut(dim).zip(sums).zip(first..);
                    let mut row = Row { u, popularity, decoder, scores: Vec::new() };
                    for ((gradient, sums), node) in rows {
                        gradient.fill(F::ZERO);
                        *sums = [0.0; 4];
                        row.gather(node, edges, -F::ONE, gradient, sums);
                        row.gather(node, others, F::ONE, gradient, sums);
                    }
                },
            );
        });
        let mut total = [0.0; 4];
        for sums in &self.sums {
            (0..4).for_each(|k| total[k] += sums[k]);
        }
        (total[0], [F::of(total[1]), F::of(total[2]), F::of(total[3])])
    }
}

/// What gathering one row needs.
struct Row<'a, F> {
    u: &'a Matrix<F>,
    popularity: &'a [F],
    decoder: PairDecoder<F>,
    scores: Vec<[F; 2]>,
}

impl<F: Real> Row<'_, F> {
    /// Adds loss and gradients of the pairs of one node; `sign` is -1 for edges, 1 for others.
    #[inline(always)]
    fn gather(&mut self, node: usize, pairs: PairRows<'_>, sign: F, gradient: &mut [F], sums: &mut RowSums) {
        let partners = &pairs.partners[pairs.offsets[node]..pairs.offsets[node + 1]];
        // Each pair is listed twice, and each listing takes half of its loss.
        let weight = 1.0 / pairs.partners.len().max(1) as f64;
        let [s, b, beta] = self.decoder;
        let own = self.u.row(node);
        self.scores.clear();
        self.scores.extend(partners.iter().map(|&partner| {
            let partner = partner as usize;
            let popular = self.popularity[node] + self.popularity[partner];
            [dot(own, self.u.row(partner)) + beta * popular, popular]
        }));
        let mut row = [F::ZERO; 4];
        for (&[cosine, popular], &partner) in self.scores.iter().zip(partners) {
            let (loss, slope) = softplus(sign * (s * cosine + b));
            let slope = sign * slope;
            row[0] += loss;
            row[1] += slope * cosine;
            row[2] += slope;
            row[3] += slope * popular;
            // A node takes the gradient of both listings of the pair.
            let factor = F::of(2.0 * weight) * s * slope;
            let terms = self.u.row(partner as usize);
            gradient.iter_mut().zip(terms).for_each(|(sum, &term)| *sum += factor * term);
        }
        row[3] *= s;
        (0..4).for_each(|k| sums[k] += row[k].to_f64() * weight);
    }
}
