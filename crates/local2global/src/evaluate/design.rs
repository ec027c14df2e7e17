//! What a classifier sees of a node: a row of numbers, and a 1 for the intercept.
//!
//! Coordinates are scaled by what the training nodes have of them. Sparse
//! features stay sparse, because a mean taken away would fill them: their rows are brought to
//! the length that scaled coordinates have on average, so that the penalty on weights bears on both alike.

use super::Coordinates;
use super::feature_rows::FeatureRows;
use super::scaling::{ROW_LENGTH, Scale, Scaling};
use crate::graph::{Features, NodeId};
use crate::linalg::dense::{multiply, multiply_add, view, view_mut};
use crate::linalg::real::Real;

/// What nodes are classified by.
#[derive(Clone, Copy, Debug)]
pub enum ClassifierInput<'a> {
    /// Coordinates, or dense features.
    Dense(Coordinates<'a>, Scale),
    /// Sparse features.
    Sparse(&'a FeatureRows<'a>),
}

impl<'a> ClassifierInput<'a> {
    /// The features of a graph, as a classifier takes them.
    pub fn of_features(rows: &'a FeatureRows<'a>) -> Self {
        match rows.features() {
            // Columns of features have units of their own.
            Features::Dense(dense) => {
                Self::Dense(Coordinates::new(dense.values(), rows.width()), Scale::Columns)
            }
            Features::Sparse(_) => Self::Sparse(rows),
        }
    }

    /// The number of columns, without the 1.
    pub fn width(self) -> usize {
        match self {
            Self::Dense(coordinates, _) => coordinates.dim(),
            Self::Sparse(rows) => rows.width(),
        }
    }
}

/// The rows of nodes as one classifier sees them.
#[derive(Clone, Debug)]
pub(super) enum Design<'a> {
    Dense(Coordinates<'a>, Scaling),
    Sparse(&'a FeatureRows<'a>),
}

/// The rows of some nodes.
pub(super) enum DesignRows<'a, F> {
    /// With the 1, row after row.
    Dense(Vec<F>),
    Sparse(&'a FeatureRows<'a>, &'a [NodeId]),
}

impl<'a> Design<'a> {
    pub(super) fn new(source: ClassifierInput<'a>, training: &[NodeId]) -> Self {
        match source {
            ClassifierInput::Dense(coordinates, scale) => {
                Self::Dense(coordinates, Scaling::of(coordinates, training, scale))
            }
            ClassifierInput::Sparse(rows) => Self::Sparse(rows),
        }
    }

    /// The number of columns, with the 1.
    pub(super) fn width(&self) -> usize {
        1 + match self {
            Self::Dense(coordinates, _) => coordinates.dim(),
            Self::Sparse(rows) => rows.width(),
        }
    }

    pub(super) fn rows<'n, F: Real>(&'n self, nodes: &'n [NodeId]) -> DesignRows<'n, F> {
        match self {
            Self::Dense(coordinates, scaling) => DesignRows::Dense(scaling.rows(*coordinates, nodes)),
            Self::Sparse(rows) => DesignRows::Sparse(rows, nodes),
        }
    }
}

impl<F: Real> DesignRows<'_, F> {
    /// `Z W` for these rows `Z`, and `W` with a row for each column and one for the 1.
    pub(super) fn multiply(&self, weights: &[F], columns: usize) -> Vec<F> {
        let width = weights.len() / columns;
        match self {
            Self::Dense(rows) => {
                let count = rows.len() / width;
                let mut product = vec![F::default(); count * columns];
                let target = view_mut(&mut product, count, columns);
                multiply(target, view(rows, count, width), view(weights, width, columns));
                product
            }
            Self::Sparse(rows, nodes) => {
                let (weights, intercepts) = weights.split_at((width - 1) * columns);
                let mut product = rows.multiply(nodes, weights, columns);
                let length = F::of(ROW_LENGTH);
                for row in product.chunks_exact_mut(columns) {
                    row.iter_mut().zip(intercepts).for_each(|(x, &b)| *x = length * *x + b);
                }
                product
            }
        }
    }

    /// `target ← target + Zᵀ R` for these rows `Z`.
    pub(super) fn add_transposed(&self, right: &mut [F], columns: usize, target: &mut [F]) {
        let width = target.len() / columns;
        match self {
            Self::Dense(rows) => {
                let count = rows.len() / width;
                let rows = view(rows, count, width).transpose();
                let right = view(right, count, columns);
                multiply_add(view_mut(target, width, columns), rows, right, F::of(1.0));
            }
            Self::Sparse(rows, nodes) => {
                let (weights, intercepts) = target.split_at_mut((width - 1) * columns);
                for row in right.chunks_exact(columns) {
                    intercepts.iter_mut().zip(row).for_each(|(sum, &x)| *sum += x);
                }
                let length = F::of(ROW_LENGTH);
                right.iter_mut().for_each(|x| *x = length * *x);
                rows.add_transposed(nodes, right, columns, weights);
            }
        }
    }
}
