//! Features smoothed twice over the graph: what one has without any training.
//!
//! ```text
//! Y = X B,    Z = unit rows of Â² Y,    Â = D^-1/2 (A + I) D^-1/2
//! ```
//!
//! where `X` are the features with rows of length 1, and `B` their leading right singular
//! vectors ([`leading_subspace`]), as many as the embedding has columns; narrower features are
//! taken as they are. `B` comes from up to 10 000 rows, drawn once; a basis from a fifth of the rows
//! has been seen to be as good as one from all. A model that is trained and scores no higher than
//! this has learnt nothing that counts.
//!
//! Convention: edges count in both directions, with their weights; a node without edges
//! keeps its own features, and one without features and featureless neighbours is zero.
//! Cost: `O(x d + m d)` time for `x` stored feature values and `m` edges, two matrices of
//! `n` x `d` in single precision, and `Â`.
//!
//! Source: F. Wu et al., "Simplifying graph convolutional networks", ICML 2019.

use rand::Rng;
use rand::seq::index;
use rayon::prelude::*;

use super::feature_rows::FeatureRows;
use crate::embed::nn::Matrix;
use crate::embed::nn::propagation::propagation;
use crate::graph::{Graph, NodeId};
use crate::linalg::dense::DenseError;
use crate::linalg::lanes::squared_norm;
use crate::linalg::subspace::leading_subspace;

/// The basis comes from at most this many rows.
const BASIS_ROWS: usize = 10_000;

/// Rows that are worked on at a time.
const CHUNK: usize = 256;

/// Sums over rows go over at most this many pieces, in order.
const PIECES: usize = 8;

/// The features of a graph in at most `dim` columns, smoothed twice, as rows of length 1.
///
/// # Errors
/// [`DenseError`] if a feature is not finite.
pub fn smoothed(
    graph: &Graph,
    rows: &FeatureRows<'_>,
    dim: usize,
    random: &mut impl Rng,
) -> Result<Matrix<f32>, DenseError> {
    let mut values = reduced(rows, dim, random)?;
    let (_, spread) = propagation::<f32>(graph);
    let mut other = Matrix::zeros(values.num_rows(), values.num_columns());
    spread.multiply(&values, &mut other);
    spread.multiply_then(&other, &mut values, |_, row| {
        let length = squared_norm(row).sqrt();
        if length > 0.0 {
            row.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
        }
    });
    Ok(values)
}

/// Features with rows of length 1, in at most `dim` columns.
fn reduced(rows: &FeatureRows<'_>, dim: usize, random: &mut impl Rng) -> Result<Matrix<f32>, DenseError> {
    let nodes: Vec<NodeId> = (0..rows.num_rows()).map(NodeId::new).collect();
    let basis = match rows.width() > dim {
        true => Some(basis(rows, dim, random)?.iter().map(|&entry| entry as f32).collect::<Vec<f32>>()),
        false => None,
    };
    let columns = dim.min(rows.width());
    let mut values = Matrix::zeros(nodes.len(), columns);
    values.values_mut().par_chunks_mut(CHUNK * columns).zip(nodes.par_chunks(CHUNK)).for_each(
        |(target, nodes)| {
            target.copy_from_slice(&match &basis {
                Some(basis) => rows.multiply(nodes, basis, columns),
                None => rows.dense(nodes),
            });
        },
    );
    Ok(values)
}

/// The leading right singular vectors of the features, as columns.
fn basis(rows: &FeatureRows<'_>, dim: usize, random: &mut impl Rng) -> Result<Vec<f64>, DenseError> {
    let mut drawn: Vec<NodeId> = match rows.num_rows() <= BASIS_ROWS {
        true => (0..rows.num_rows()).map(NodeId::new).collect(),
        false => index::sample(random, rows.num_rows(), BASIS_ROWS).into_iter().map(NodeId::new).collect(),
    };
    drawn.sort_unstable();
    let piece = drawn.len().div_ceil(PIECES).max(CHUNK);
    leading_subspace(rows.width(), dim, random, |block, columns| {
        let parts = drawn.par_chunks(piece).map(|nodes| {
            let mut sum = vec![0.0; rows.width() * columns];
            for nodes in nodes.chunks(CHUNK) {
                rows.add_transposed(nodes, &rows.multiply(nodes, block, columns), columns, &mut sum);
            }
            sum
        });
        super::scaling::total(parts.collect(), rows.width() * columns)
    })
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::graph::features::{DenseFeatures, SparseFeatures};
    use crate::graph::{BuildOptions, EdgeList, Features, build};
    use crate::seed::{Seed, Stage};

    fn graph(pairs: Vec<[u32; 2]>, num_nodes: usize) -> Graph {
        build(EdgeList::from_pairs(pairs), num_nodes, &BuildOptions::default()).graph
    }

    fn smooth(graph: &Graph, features: &Features, dim: usize) -> Matrix<f32> {
        smoothed(graph, &FeatureRows::new(features), dim, &mut Seed(1).stream(Stage::Evaluate, 0)).unwrap()
    }

    #[test]
    fn two_nodes_meet_in_the_middle_and_lonely_or_empty_ones_stay() {
        let features = DenseFeatures::new(4, 2, vec![5.0, 0.0, 0.0, 2.0, 0.0, 3.0, 0.0, 0.0].into());
        let found = smooth(&graph(vec![[0, 1]], 4), &Features::Dense(features.unwrap()), 8);
        let half = 0.5_f32.sqrt();
        let expected = [half, half, half, half, 0.0, 1.0, 0.0, 0.0];
        assert!(found.values().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
    }

    #[test]
    fn wide_features_keep_their_angles_in_as_many_columns_as_they_need() {
        // Features of rank 3 in 40 columns.
        let mut random = Seed(3).stream(Stage::Evaluate, 0);
        let factors: Vec<f32> = (0..120).map(|_| random.random::<f32>() - 0.5).collect();
        let parts: Vec<f32> = (0..600).map(|_| random.random::<f32>()).collect();
        let entry = |i: usize, j: usize| (0..3).map(|k| parts[i * 3 + k] * factors[k * 40 + j]).sum::<f32>();
        let values: Vec<f32> = (0..200 * 40).map(|at| entry(at / 40, at % 40)).collect();
        let ring = graph((0..200).map(|k| [k, (k + 1) % 200]).collect(), 200);
        let dense = Features::Dense(DenseFeatures::new(200, 40, values.clone().into()).unwrap());
        let offsets: Vec<u64> = (0..=200).map(|row| row * 40).collect();
        let columns: Vec<u32> = (0..200 * 40).map(|at| at % 40).collect();
        let sparse = SparseFeatures::new(40, offsets.into(), columns.into(), values.into()).unwrap();
        let wide = smooth(&ring, &dense, 40);
        for features in [dense, Features::Sparse(sparse)] {
            let narrow = smooth(&ring, &features, 3);
            assert_eq!((narrow.num_rows(), narrow.num_columns()), (200, 3));
            let inner =
                |m: &Matrix<f32>, i, j| m.row(i).iter().zip(m.row(j)).map(|(a, b)| a * b).sum::<f32>();
            for k in 0..190 {
                assert!((inner(&wide, k, k + 7) - inner(&narrow, k, k + 7)).abs() < 1e-4);
            }
        }
    }
}
