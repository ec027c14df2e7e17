//! Coordinates brought to mean 0 and spread 1, and sums over many rows.
//!
//! A penalty on weights means the same for every coordinate only if all have the same
//! spread. Mean and spread come from the training nodes, so that a test node has no say.
//! Rows are summed in pieces whose number depends on that of the rows alone, the pieces
//! in order; so threads do not change a bit. Cost: two passes. No randomness.

use rayon::prelude::*;

use super::Coordinates;
use crate::graph::NodeId;

/// Rows are cut into at most this many pieces.
const PIECES: usize = 64;

/// Rows that are worked on at a time.
pub(super) const CHUNK: usize = 256;

/// What brings every coordinate to mean 0 and spread 1 over the training nodes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scaling {
    mean: Vec<f64>,
    inverse_spread: Vec<f64>,
}

impl Scaling {
    pub(super) fn of(coordinates: Coordinates<'_>, nodes: &[NodeId]) -> Self {
        let count = nodes.len().max(1) as f64;
        let mean =
            column_sums(coordinates, nodes, |_, x| x).iter().map(|sum| sum / count).collect::<Vec<_>>();
        let squares = column_sums(coordinates, nodes, |column, x| (x - mean[column]).powi(2));
        let inverse = |square: &f64| match (square / count).sqrt() {
            // A column that never changes is all zeros once its mean is taken away.
            spread if spread > 0.0 => 1.0 / spread,
            _ => 1.0,
        };
        let inverse_spread = squares.iter().map(inverse).collect();
        Self { mean, inverse_spread }
    }

    /// The standardised coordinates of some nodes, each row followed by a 1.
    pub(super) fn rows(&self, coordinates: Coordinates<'_>, nodes: &[NodeId]) -> Vec<f64> {
        let mut rows = Vec::with_capacity(nodes.len() * (coordinates.dim() + 1));
        for &node in nodes {
            let scaled = coordinates.row(node).iter().zip(&self.mean).zip(&self.inverse_spread);
            rows.extend(scaled.map(|((&x, mean), inverse)| (f64::from(x) - mean) * inverse));
            rows.push(1.0);
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

/// The sum of some vectors, in their order.
pub(super) fn total(parts: Vec<Vec<f64>>, len: usize) -> Vec<f64> {
    let mut sum = vec![0.0; len];
    parts.iter().for_each(|part| sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part));
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
        let rows = Scaling::of(coordinates, &nodes).rows(coordinates, &nodes);
        for (column, spread) in [1.0, 1.0, 0.0].into_iter().enumerate() {
            let entries = || rows.chunks_exact(4).map(|row| row[column]);
            assert!(entries().sum::<f64>().abs() < 1e-8);
            assert!((entries().map(|x| x * x).sum::<f64>() / 1400.0 - spread).abs() < 1e-10);
        }
        assert!(rows.chunks_exact(4).all(|row| row[3] == 1.0));
    }
}
