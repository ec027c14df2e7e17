//! What the first layer reads: node features, sparse, dense, or none.
//!
//! The first layer needs two products, `X W` and, for the gradient, `Xᵀ G`. Sparse
//! features are used as sparse in both. Without features `X` is the identity, or a multiple of
//! it where rows are to have a length: then `X W = a W` and `Xᵀ G = a G`, so the first layer is a
//! look-up, never a product.
//! Cost: `O(stored values * width)`; nothing for the identity.

use super::dense::{self, TransposedProduct};
use super::{Matrix, SparseMatrix};
use crate::graph::{Features, Graph};
use crate::linalg::real::Real;

/// How feature values enter training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// As they are.
    #[default]
    None,
    /// Divided by the sum of the row, so that each row adds up to 1.
    Row,
    /// Multiplied so that each row has the length 4, which is that of sixteen ones: a learning
    /// rate then means the same for bags of words as for hundreds of counts.
    Length,
}

/// The length that [`Scaling::Length`] gives to rows.
const LENGTH: f64 = 4.0;

/// The features of a patch, ready for training.
#[derive(Clone, Debug)]
pub enum Input<F> {
    /// Sparse features, and the same by columns.
    Sparse {
        /// `X`.
        rows: SparseMatrix<F>,
        /// `Xᵀ`.
        columns: SparseMatrix<F>,
    },
    /// Every value is stored.
    Dense {
        /// `X`.
        values: Matrix<F>,
        /// For `Xᵀ G`; made for the width of the first layer.
        gradient: TransposedProduct<F>,
    },
    /// No features: every node is its own.
    Identity {
        /// The number of nodes.
        num_nodes: usize,
        /// The multiple `a`, which is left to whoever propagates `W`.
        multiple: F,
    },
}

impl<F: Real> Input<F> {
    /// The features of a graph, for a first layer of `width` columns.
    pub fn new(graph: &Graph, scaling: Scaling, width: usize) -> Self {
        let num_rows = graph.num_nodes();
        match graph.features() {
            None => {
                let mut row = [F::ONE];
                scale_row(&mut row, scaling);
                Self::Identity { num_nodes: num_rows, multiple: row[0] }
            }
            Some(Features::Dense(dense)) => {
                let num_columns = dense.values().len().checked_div(num_rows).unwrap_or(0);
                let mut values = convert(dense.values());
                if num_columns > 0 {
                    values.chunks_mut(num_columns).for_each(|row| scale_row(row, scaling));
                }
                let values = Matrix::from_values(num_rows, num_columns, values);
                Self::Dense { values, gradient: TransposedProduct::new(num_rows, (num_columns, width)) }
            }
            Some(features @ Features::Sparse(sparse)) => {
                let offsets: Vec<usize> = sparse.offsets().iter().map(|&offset| offset as usize).collect();
                let mut values = convert(sparse.values());
                offsets.windows(2).for_each(|row| scale_row(&mut values[row[0]..row[1]], scaling));
                let columns = sparse.columns().to_vec();
                let rows = SparseMatrix::new(features.width(), offsets, columns, values);
                Self::Sparse { columns: rows.transposed(), rows }
            }
        }
    }

    /// The number of nodes.
    pub fn num_rows(&self) -> usize {
        match self {
            Self::Sparse { rows, .. } => rows.num_rows(),
            Self::Dense { values, .. } => values.num_rows(),
            Self::Identity { num_nodes, .. } => *num_nodes,
        }
    }

    /// The number of features: the rows of the first weight matrix.
    pub fn num_features(&self) -> usize {
        match self {
            Self::Sparse { rows, .. } => rows.num_columns(),
            Self::Dense { values, .. } => values.num_columns(),
            Self::Identity { num_nodes, .. } => *num_nodes,
        }
    }

    /// `X W`, put into `scratch`; without features it is `W`, still to be multiplied by
    /// [`Input::multiple`].
    pub fn multiply<'a>(&self, weights: &'a Matrix<F>, scratch: &'a mut Matrix<F>) -> &'a Matrix<F> {
        match self {
            Self::Sparse { rows, .. } => rows.multiply(weights, scratch),
            Self::Dense { values, .. } => dense::multiply(values, weights, scratch),
            Self::Identity { .. } => return weights,
        }
        scratch
    }

    /// What a multiple of the identity multiplies by; 1 with features.
    pub fn multiple(&self) -> F {
        match self {
            Self::Identity { multiple, .. } => *multiple,
            _ => F::ONE,
        }
    }

    /// Computes the gradient by the weights: `out = Xᵀ G`, without features for the identity
    /// itself.
    pub fn multiply_transposed(&mut self, gradient: &Matrix<F>, out: &mut Matrix<F>) {
        match self {
            Self::Sparse { columns, .. } => columns.multiply(gradient, out),
            Self::Dense { values, gradient: product } => product.multiply(values, gradient, out),
            Self::Identity { .. } => out.values_mut().copy_from_slice(gradient.values()),
        }
    }
}

fn convert<F: Real>(values: &[f32]) -> Vec<F> {
    values.iter().map(|&value| F::of(f64::from(value))).collect()
}

/// Scales a row; one that adds up to nothing, or has no length, stays as it is.
fn scale_row<F: Real>(row: &mut [F], scaling: Scaling) {
    let size: F = match scaling {
        Scaling::None => return,
        Scaling::Row => row.iter().copied().sum(),
        Scaling::Length => row.iter().map(|&value| value * value).sum::<F>().sqrt() / F::of(LENGTH),
    };
    if size != F::ZERO {
        row.iter_mut().for_each(|value| *value /= size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::features::{DenseFeatures, SparseFeatures};
    use crate::graph::{BuildOptions, EdgeList, build};

    fn inputs(scaling: Scaling) -> [Input<f64>; 2] {
        let sparse =
            SparseFeatures::new(3, vec![0, 2, 2, 3].into(), vec![0, 2, 1].into(), vec![1.0, 3.0, 5.0].into());
        let full = vec![1.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0];
        let dense = DenseFeatures::new(3, 3, full.into());
        [Features::Sparse(sparse.unwrap()), Features::Dense(dense.unwrap())].map(|features| {
            let path =
                build(EdgeList::from_pairs(vec![[0_u32, 1], [1, 2]]), 3, &BuildOptions::default()).graph;
            Input::new(&path.with_features(Some(features)).unwrap(), scaling, 2)
        })
    }

    #[test]
    fn sparse_and_dense_features_give_the_same_products() {
        let weights = Matrix::from_values(3, 2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        for mut input in inputs(Scaling::Row) {
            let mut scratch = Matrix::zeros(3, 2);
            assert_eq!(input.multiply(&weights, &mut scratch).values(), [4.0, 5.0, 0.0, 0.0, 3.0, 4.0]);
            let mut gradient = Matrix::zeros(3, 2);
            input.multiply_transposed(&weights, &mut gradient);
            assert_eq!(gradient.values(), [0.25, 0.5, 5.0, 6.0, 0.75, 1.5]);
        }
    }

    #[test]
    fn rows_can_have_equal_lengths() {
        let mut row = [3.0, 0.0, -4.0];
        scale_row(&mut row, Scaling::Length);
        assert_eq!(row, [2.4, 0.0, -3.2]);
        let mut nothing = [0.0, 0.0];
        scale_row(&mut nothing, Scaling::Length);
        assert_eq!(nothing, [0.0, 0.0]);
    }

    #[test]
    fn without_features_the_first_layer_is_a_look_up() {
        let graph = build(EdgeList::from_pairs(vec![[0_u32, 1]]), 2, &BuildOptions::default()).graph;
        let mut input = Input::<f64>::new(&graph, Scaling::None, 1);
        let weights = Matrix::from_values(2, 1, vec![3.0, 4.0]);
        let mut scratch = Matrix::default();
        assert!(std::ptr::eq(input.multiply(&weights, &mut scratch), &weights));
        let mut gradient = Matrix::zeros(2, 1);
        input.multiply_transposed(&weights, &mut gradient);
        assert_eq!(gradient, weights);
    }
}
