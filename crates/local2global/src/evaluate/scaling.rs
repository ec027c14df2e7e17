//! Coordinates brought to a common size, and sums over many rows.
//!
//! What a penalty on weights does depends on the size of what they multiply. Coordinates of an
//! embedding share one unit, and are known up to a rotation only; so each column loses its
//! mean, and all are multiplied by the same number, such that rows have length 5 in the root of
//! the mean square. An embedding that is rotated has the same scores. To bring every column to
//! spread 1 instead, as versions before did, blows up the columns of least variance, which
//! tell least: with it, classifiers on 10 % of the labels lost up to 0.02 of accuracy on embeddings,
//! and 0.02 to 0.08 on smoothed features (Cora, Citeseer and Amazon Photo; the length was chosen
//! among 1, 3, 5 and 10 while looking at these, and is the same for all contenders). Dense
//! features, whose columns have their own units, are brought to spread 1 by column.
//!
//! Means and sizes come from the training nodes, so that a test node has no say.
//! Rows are summed in pieces whose number depends on that of the rows alone, the pieces
//! in order; so threads do not change a bit. Cost: two passes. No randomness.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Coordinates;
use crate::graph::NodeId;
use crate::linalg::real::Real;

/// Rows are cut into at most this many pieces.
const PIECES: usize = 64;

/// Rows that are worked on at a time.
pub(super) const CHUNK: usize = 256;

/// The length of scaled rows: the root of the mean square.
pub(super) const ROW_LENGTH: f64 = 5.0;

/// How coordinates are scaled for a classifier, as in `evaluate.scale`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// All columns by the same number.
    #[default]
    Common,
    /// Every column to spread 1.
    Columns,
}

/// What brings every coordinate to mean 0 and the right size over the training nodes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scaling {
    mean: Vec<f64>,
    inverse_spread: Vec<f64>,
}

impl Scaling {
    pub(super) fn of(coordinates: Coordinates<'_>, nodes: &[NodeId], scale: Scale) -> Self {
        let count = nodes.len().max(1) as f64;
        let mean =
            column_sums(coordinates, nodes, |_, x| x).iter().map(|sum| sum / count).collect::<Vec<_>>();
        let squares = column_sums(coordinates, nodes, |column, x| (x - mean[column]).powi(2));
        let inverse = |square: f64, length: f64| match (square / count).sqrt() {
            // What never changes is all zeros once its mean is taken away.
            spread if spread > 0.0 => length / spread,
            _ => 1.0,
        };
        let inverse_spread = match scale {
            Scale::Columns => squares.iter().map(|&square| inverse(square, 1.0)).collect(),
            Scale::Common => vec![inverse(squares.iter().sum(), ROW_LENGTH); squares.len()],
        };
        Self { mean, inverse_spread }
    }

    /// The scaled coordinates of some nodes, each row followed by a 1.
    pub(super) fn rows<F: Real>(&self, coordinates: Coordinates<'_>, nodes: &[NodeId]) -> Vec<F> {
        let mut rows = Vec::with_capacity(nodes.len() * (coordinates.dim() + 1));
        for &node in nodes {
            let scaled = coordinates.row(node).iter().zip(&self.mean).zip(&self.inverse_spread);
            rows.extend(scaled.map(|((&x, mean), inverse)| F::of((f64::from(x) - mean) * inverse)));
            rows.push(F::of(1.0));
        }
        rows
    }
}

fn column_sums(
    coordinates: Coordinates<'_>,
    nodes: &[NodeId],
    of: impl Fn(usize, f64) -> f64 + Sync,
) -> Vec<f64> {
    let sums = nodes.par_chunks(piece_rows(nodes.len())).map(|piece| {
        let mut sums = vec![0.0; coordinates.dim()];
        for &node in piece {
            let entries = coordinates.row(node).iter().enumerate();
            entries.for_each(|(column, &x)| sums[column] += of(column, f64::from(x)));
        }
        sums
    });
    total(sums.collect(), coordinates.dim())
}

/// The sum of some vectors, in their order and in double precision.
pub(super) fn total<F: Real>(parts: Vec<Vec<F>>, len: usize) -> Vec<f64> {
    let mut sum = vec![0.0; len];
    parts.iter().for_each(|part| sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part.to_f64()));
    sum
}

/// The number of rows in a piece.
pub(super) fn piece_rows(num_rows: usize) -> usize {
    num_rows.div_ceil(PIECES).max(CHUNK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn training_rows_have_mean_0_and_spread_1_and_a_constant_column_is_0() {
        let values: Vec<f32> = (0..2000).flat_map(|k| [1e4 + k as f32, 0.01 * (k % 7) as f32, 5.0]).collect();
        let coordinates = Coordinates::new(&values, 3);
        let nodes: Vec<NodeId> = (0..1400).map(NodeId::new).collect();
        let rows: Vec<f64> = Scaling::of(coordinates, &nodes, Scale::Columns).rows(coordinates, &nodes);
        for (column, spread) in [1.0, 1.0, 0.0].into_iter().enumerate() {
            let entries = || rows.chunks_exact(4).map(|row| row[column]);
            assert!(entries().sum::<f64>().abs() < 1e-8);
            assert!((entries().map(|x| x * x).sum::<f64>() / 1400.0 - spread).abs() < 1e-10);
        }
        assert!(rows.chunks_exact(4).all(|row| row[3] == 1.0));
    }

    #[test]
    fn a_common_scale_keeps_angles_and_gives_rows_their_length() {
        let values: Vec<f32> = (0..300).flat_map(|k| [(k % 7) as f32, 100.0 * (k % 3) as f32]).collect();
        let coordinates = Coordinates::new(&values, 2);
        let nodes: Vec<NodeId> = (0..300).map(NodeId::new).collect();
        let rows: Vec<f64> = Scaling::of(coordinates, &nodes, Scale::Common).rows(coordinates, &nodes);
        let squares: f64 = rows.chunks_exact(3).map(|row| row[0] * row[0] + row[1] * row[1]).sum();
        assert!((squares / 300.0 - ROW_LENGTH * ROW_LENGTH).abs() < 1e-9);
        let step = |column: usize| rows[3 * 4 + column] - rows[column];
        // From node 0 to node 4: 4 along the first column, 100 along the second.
        assert!((step(1) / step(0) - 25.0).abs() < 1e-9);
        let zeros = Coordinates::new(&[0.0; 20], 2);
        let rows: Vec<f64> = Scaling::of(zeros, &nodes[..10], Scale::Common).rows(zeros, &nodes[..10]);
        assert!(rows.iter().all(|x| x.is_finite()));
    }
}
