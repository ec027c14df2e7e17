//! The last propagation once more, on the whole graph.
//!
//! In a patch, a node at the rim hears only the neighbours that its patch holds. Where the graph
//! is in one place, what patches have learned can be applied to all of it: the encoders of the
//! patches that hold a node are averaged ([`Late::Copies`]), or those of all patches
//! ([`Late::Encoders`]), and what they make of its features is propagated over all edges.
//!
//! ```text
//! H_v = Y_v Σ_i w_iv W_i R_i / Σ_i w_iv,    u = unit(α₂ unit(Â² H) + α₃ unit(Â³ H) + c)
//! ```
//!
//! `w_iv` is the share of the edges of `v` that patch `i` holds, `R_i` the rotation of patch `i`
//! into the common frame, without its last coordinate, which is the popularity and no direction.
//! `α` and `β` are means over all patches.
//! Propagation goes a few columns at a time, so that besides two matrices of `n x d` there are only
//! narrow ones. Cost: `O(copies k d + edges d)` time.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::model::{HopsEncoder, direction};
use super::{HopsFrame, Place};
use crate::embed::nn::{Matrix, SparseMatrix, dense};
use crate::graph::{Features, Graph, NodeId};

/// Copies count at least so much, so that a node whose copies have no edges has a mean too.
const LEAST_WEIGHT: f32 = 1e-3;
/// Columns that are propagated at a time: a row of them is one or two lines of the cache.
pub(in crate::embed) const COLUMNS_AT_ONCE: usize = 32;
/// Rows that are projected at a time.
const BLOCK_ROWS: usize = 8192;

/// Whether and how what patches learned is applied to the whole graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Late {
    /// Each node gets the mean of the encoders of its patches.
    #[default]
    Copies,
    /// Every node gets the mean of all encoders.
    Encoders,
    /// The mean of the coordinates that patches gave; the graph need not be in one place.
    Off,
}

/// What one patch has learned, and where it lies in the common frame.
#[derive(Clone, Debug)]
pub struct Learned<'a> {
    /// The nodes of the patch.
    pub nodes: &'a [NodeId],
    /// The share of the edges of each that the patch holds.
    pub weights: &'a [f32],
    /// What was learned, turned into the common frame.
    pub encoder: HopsEncoder<f32>,
}

/// The embedding of all nodes from what patches have learned.
pub fn late_embedding(graph: &Graph, frame: &HopsFrame, learned: &[Learned<'_>], late: Late) -> Matrix<f32> {
    let dim = frame.centre.len();
    let features = graph.features().expect("a frame is made from features");
    let hidden = match late {
        Late::Encoders => by_mean_encoder(features, frame, learned, dim),
        _ => by_copies(features, frame, learned, dim),
    };
    let count = learned.len().max(1) as f32;
    let mean =
        |of: fn(&HopsEncoder<f32>) -> f32| learned.iter().map(|one| of(&one.encoder)).sum::<f32>() / count;
    let hop_weights = [mean(|encoder| encoder.hop_weights[0]), mean(|encoder| encoder.hop_weights[1])];
    let nodes: Vec<NodeId> = graph.nodes().collect();
    let place = Place::new(graph, graph, &nodes, frame.mean_weight);
    let directions = propagated(hidden, &place.propagation, hop_weights, &frame.centre);
    frame.finish(directions, mean(|encoder| encoder.decoder[2]), &place.degrees)
}

/// The directions from `H`.
fn propagated(
    mut hidden: Matrix<f32>,
    propagation: &SparseMatrix<f32>,
    hop_weights: [f32; 2],
    centre: &[f32],
) -> Matrix<f32> {
    let (num_nodes, dim) = (hidden.num_rows(), hidden.num_columns());
    let mut third = Matrix::zeros(num_nodes, dim);
    for first in (0..dim).step_by(COLUMNS_AT_ONCE) {
        let columns = first..(first + COLUMNS_AT_ONCE).min(dim);
        let mut now = Matrix::zeros(num_nodes, columns.len());
        let mut next = now.clone();
        let rows = now.values_mut().par_chunks_mut(columns.len());
        rows.zip(hidden.values().par_chunks(dim)).for_each(|(to, from)| {
            to.copy_from_slice(&from[columns.clone()]);
        });
        propagation.multiply(&now, &mut next);
        propagation.multiply(&next, &mut now);
        propagation.multiply(&now, &mut next);
        for (whole, part) in [(&mut hidden, &now), (&mut third, &next)] {
            let rows = whole.values_mut().par_chunks_mut(dim);
            rows.zip(part.values().par_chunks(columns.len())).for_each(|(to, from)| {
                to[columns.clone()].copy_from_slice(from);
            });
        }
    }
    let rows = hidden.values_mut().par_chunks_mut(dim).zip(third.values().par_chunks(dim));
    rows.for_each_init(
        || vec![0.0; dim],
        |sum, (second, third)| {
            direction([second, third], hop_weights, centre, sum);
            second.copy_from_slice(sum);
        },
    );
    hidden
}

/// `Y W` with the mean of all encoders, patches counting by their nodes.
fn by_mean_encoder(
    features: &Features,
    frame: &HopsFrame,
    learned: &[Learned<'_>],
    dim: usize,
) -> Matrix<f32> {
    let mut mean = Matrix::zeros(frame.map.width(), dim);
    let total: usize = learned.iter().map(|one| one.nodes.len()).sum();
    for one in learned {
        let share = one.nodes.len() as f32 / total.max(1) as f32;
        let terms = one.encoder.weights.values();
        mean.values_mut().iter_mut().zip(terms).for_each(|(sum, &term)| *sum += share * term);
    }
    let mut hidden = Matrix::zeros(features.num_rows(), dim);
    for first in (0..features.num_rows()).step_by(BLOCK_ROWS) {
        let last = (first + BLOCK_ROWS).min(features.num_rows());
        let nodes: Vec<NodeId> = (first..last).map(NodeId::new).collect();
        let rows = encoded(features, frame, &nodes, &mean);
        hidden.values_mut()[first * dim..last * dim].copy_from_slice(rows.values());
    }
    hidden
}

/// `Y W` averaged over the copies of each node.
fn by_copies(features: &Features, frame: &HopsFrame, learned: &[Learned<'_>], dim: usize) -> Matrix<f32> {
    let mut hidden = Matrix::zeros(features.num_rows(), dim);
    let mut totals = vec![0.0_f32; features.num_rows()];
    for one in learned {
        let rows = encoded(features, frame, one.nodes, &one.encoder.weights);
        for ((&node, &weight), row) in one.nodes.iter().zip(one.weights).zip(rows.values().chunks_exact(dim))
        {
            let weight = weight.max(LEAST_WEIGHT);
            totals[node.index()] += weight;
            let sums = hidden.row_mut(node.index());
            sums.iter_mut().zip(row).for_each(|(sum, &term)| *sum += weight * term);
        }
    }
    hidden.values_mut().par_chunks_mut(dim).zip(&totals).for_each(|(row, &total)| {
        if total > 0.0 {
            row.iter_mut().for_each(|x| *x /= total);
        }
    });
    hidden
}

/// `Y W` of some nodes.
fn encoded(features: &Features, frame: &HopsFrame, nodes: &[NodeId], weights: &Matrix<f32>) -> Matrix<f32> {
    let input = frame.map.project(&features.select(nodes));
    let mut rows = Matrix::zeros(nodes.len(), weights.num_columns());
    dense::multiply(&input, weights, &mut rows);
    rows
}

/// Turns an encoder by the rotation of its patch, `dim x dim` and row-major. The rotation is one of
/// coordinates, which are turned already: with `T` the frame's own, encoders turn by `T R Tᵀ`, of
/// which the last coordinate, the popularity, is left out.
pub fn turned(mut encoder: HopsEncoder<f32>, frame: &HopsFrame, rotation: &[f64]) -> HopsEncoder<f32> {
    let dim = encoder.weights.num_columns();
    let rotation = Matrix::from_values(dim, dim, rotation.iter().map(|&x| x as f32).collect());
    let mut half = Matrix::zeros(dim, dim);
    dense::multiply(&frame.turn, &rotation, &mut half);
    let mut inner = Matrix::zeros(dim, dim);
    dense::multiply_transposed_then(&half, &frame.turn, &mut inner, |_, _| {});
    for k in 0..dim {
        inner.row_mut(k)[dim - 1] = 0.0;
        inner.row_mut(dim - 1)[k] = 0.0;
    }
    let mut weights = Matrix::zeros(encoder.weights.num_rows(), dim);
    dense::multiply(&encoder.weights, &inner, &mut weights);
    encoder.weights = weights;
    encoder
}
