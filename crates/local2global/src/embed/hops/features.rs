//! Node features, scaled and projected onto a basis that all patches share.
//!
//! ```text
//! X̂ = unit rows of (X - shift) ∘ factor,    Y = unit rows of X̂ B
//! ```
//!
//! Columns are weighed first ([`FeatureScaling`]), then every row gets length 1, so that a node
//! with many words does not outweigh one with few. `B` ([`basis`](super::basis)) keeps the
//! directions in which rows differ most, and makes all that follows as cheap for a hundred
//! thousand columns as for five hundred. A row without values stays zero.
//! Cost: `O(stored values * k)` for a basis of `k` columns.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::embed::nn::dense;
use crate::embed::nn::input::Input;
use crate::embed::nn::{Matrix, SparseMatrix};
use crate::graph::Features;

/// How the columns of features are weighed before rows get length 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureScaling {
    /// All alike.
    #[default]
    Unit,
    /// By `ln(n / number of rows with a value)`, for counts: rare words tell more.
    Idf,
    /// Brought to mean 0 and spread 1, for measured values of different size.
    Standard,
}

impl FeatureScaling {
    /// The name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unit => "unit",
            Self::Idf => "idf",
            Self::Standard => "standard",
        }
    }
}

/// What turns features into the input of a patch; the same for all patches.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureMap {
    /// One factor per column.
    pub factors: Vec<f32>,
    /// What is taken from each column first; empty if nothing is.
    pub shift: Vec<f32>,
    /// The basis `B`, one row per column of the features.
    pub basis: Matrix<f32>,
}

/// The weights of columns under a scaling, from some rows: factors and shift.
pub fn column_weights(features: &Features, scaling: FeatureScaling) -> (Vec<f32>, Vec<f32>) {
    let (num_rows, width) = (features.num_rows(), features.width());
    match scaling {
        FeatureScaling::Unit => (vec![1.0; width], vec![]),
        FeatureScaling::Idf => {
            let mut counts = vec![0_u64; width];
            for_entries(features, |column, _| counts[column] += 1);
            let idf = |&count: &u64| (num_rows as f64 / count.max(1) as f64).ln() as f32;
            (counts.iter().map(idf).collect(), vec![])
        }
        FeatureScaling::Standard => {
            let mut moments = vec![[0.0_f64; 2]; width];
            for_entries(features, |column, value| {
                moments[column][0] += f64::from(value);
                moments[column][1] += f64::from(value) * f64::from(value);
            });
            let count = num_rows.max(1) as f64;
            let mean = |[sum, _]: &[f64; 2]| sum / count;
            let spread = |all: &[f64; 2]| (all[1] / count - mean(all).powi(2)).max(0.0).sqrt();
            // A column that never changes tells nothing, and is all zeros without its mean.
            let factor = |all: &[f64; 2]| if spread(all) > 1e-12 { 1.0 / spread(all) } else { 0.0 };
            let factors = moments.iter().map(|all| factor(all) as f32).collect();
            (factors, moments.iter().map(|all| mean(all) as f32).collect())
        }
    }
}

/// Calls `visit` with the column and value of every entry that is not zero.
fn for_entries(features: &Features, mut visit: impl FnMut(usize, f32)) {
    match features {
        Features::Sparse(sparse) => {
            let entries = sparse.columns().iter().zip(sparse.values());
            entries.filter(|(_, value)| **value != 0.0).for_each(|(&c, &value)| visit(c as usize, value));
        }
        Features::Dense(dense) => {
            let rows = dense.values().chunks_exact(features.width().max(1));
            rows.for_each(|row| {
                let entries = row.iter().enumerate().filter(|(_, value)| **value != 0.0);
                entries.for_each(|(column, &value)| visit(column, value));
            });
        }
    }
}

/// Whether all values are whole numbers from 0, as counts of words are.
pub fn are_counts(features: &Features) -> bool {
    features.values().par_iter().all(|value| *value >= 0.0 && value.fract() == 0.0)
}

/// The rows `X̂` of some features: weighed, each of length 1.
pub fn scaled(features: &Features, factors: &[f32], shift: &[f32]) -> Scaled {
    match features {
        Features::Sparse(sparse) if shift.is_empty() => {
            let offsets: Vec<usize> = sparse.offsets().iter().map(|&offset| offset as usize).collect();
            let columns = sparse.columns().to_vec();
            let weighed = sparse.values().iter().zip(&columns);
            let mut values: Vec<f32> = weighed.map(|(&x, &column)| x * factors[column as usize]).collect();
            offsets.windows(2).for_each(|row| unit(&mut values[row[0]..row[1]]));
            Scaled::Sparse(SparseMatrix::new(features.width(), offsets, columns, values))
        }
        _ => {
            let width = features.width();
            let mut values = features.filled();
            if width > 0 {
                values.par_chunks_mut(width).for_each(|row| {
                    shift.iter().zip(&mut *row).for_each(|(&shift, x)| *x -= shift);
                    row.iter_mut().zip(factors).for_each(|(x, &factor)| *x *= factor);
                    unit(row);
                });
            }
            Scaled::Full(Matrix::from_values(features.num_rows(), width, values))
        }
    }
}

/// Scaled features, stored as they came.
#[derive(Clone, Debug)]
pub enum Scaled {
    /// Only entries that are not zero.
    Sparse(SparseMatrix<f32>),
    /// All entries.
    Full(Matrix<f32>),
}

impl Scaled {
    /// The number of rows.
    pub fn num_rows(&self) -> usize {
        match self {
            Self::Sparse(rows) => rows.num_rows(),
            Self::Full(rows) => rows.num_rows(),
        }
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        match self {
            Self::Sparse(rows) => rows.num_columns(),
            Self::Full(rows) => rows.num_columns(),
        }
    }

    /// `X̂ M`.
    pub fn multiply(&self, right: &Matrix<f32>) -> Matrix<f32> {
        let mut product = Matrix::zeros(self.num_rows(), right.num_columns());
        match self {
            Self::Sparse(rows) => rows.multiply(right, &mut product),
            Self::Full(rows) => dense::multiply(rows, right, &mut product),
        }
        product
    }

    /// The same rows in a form that can also be multiplied transposed, by `width` columns.
    pub fn into_input(self, width: usize) -> Input<f32> {
        match self {
            Self::Sparse(rows) => Input::Sparse { columns: rows.transposed(), rows },
            Self::Full(values) => {
                let shape = (values.num_columns(), width);
                let gradient = dense::TransposedProduct::new(values.num_rows(), shape);
                Input::Dense { values, gradient }
            }
        }
    }
}

impl FeatureMap {
    /// The input `Y` of the nodes that have these features.
    pub fn project(&self, features: &Features) -> Matrix<f32> {
        let mut rows = scaled(features, &self.factors, &self.shift).multiply(&self.basis);
        let width = rows.num_columns();
        if width > 0 {
            rows.values_mut().par_chunks_mut(width).for_each(unit);
        }
        rows
    }

    /// The number of columns of the input.
    pub fn width(&self) -> usize {
        self.basis.num_columns()
    }
}

/// Brings a row to length 1; zeros stay zeros.
pub fn unit(row: &mut [f32]) {
    let norm = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    if norm > 0.0 {
        let factor = (1.0 / norm) as f32;
        row.iter_mut().for_each(|x| *x *= factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::features::{DenseFeatures, SparseFeatures};

    fn sparse() -> Features {
        let (offsets, columns) = (vec![0, 2, 3, 3], vec![0, 2, 2]);
        Features::Sparse(
            SparseFeatures::new(3, offsets.into(), columns.into(), vec![3.0, 4.0, 2.0].into()).unwrap(),
        )
    }

    fn dense() -> Features {
        let values = vec![3.0, 0.0, 4.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0];
        Features::Dense(DenseFeatures::new(3, 3, values.into()).unwrap())
    }

    fn identity(width: usize) -> Matrix<f32> {
        let mut basis = Matrix::zeros(width, width);
        (0..width).for_each(|k| basis.row_mut(k)[k] = 1.0);
        basis
    }

    #[test]
    fn rows_have_length_one_however_they_are_stored() {
        for features in [sparse(), dense()] {
            let (factors, shift) = column_weights(&features, FeatureScaling::Unit);
            let map = FeatureMap { factors, shift, basis: identity(3) };
            let rows = map.project(&features);
            assert_eq!(rows.row(0), [0.6, 0.0, 0.8]);
            assert_eq!(rows.row(2), [0.0; 3], "a row without values stays zero");
        }
    }

    #[test]
    fn rare_columns_count_more_under_idf() {
        for features in [sparse(), dense()] {
            let (factors, _) = column_weights(&features, FeatureScaling::Idf);
            assert!((factors[0] - 3.0_f32.ln()).abs() < 1e-6 && (factors[2] - 1.5_f32.ln()).abs() < 1e-6);
        }
    }

    #[test]
    fn standard_columns_have_mean_0_and_spread_1() {
        for features in [sparse(), dense()] {
            let (factors, shift) = column_weights(&features, FeatureScaling::Standard);
            assert_eq!(factors[1], 0.0, "a constant column tells nothing");
            let third = [4.0_f32, 2.0, 0.0].map(|x| (x - shift[2]) * factors[2]);
            assert!(third.iter().sum::<f32>().abs() < 1e-6);
            assert!((third.iter().map(|x| x * x).sum::<f32>() - 3.0).abs() < 1e-5);
        }
    }

    #[test]
    fn counts_are_told_from_measurements() {
        assert!(are_counts(&sparse()) && are_counts(&dense()));
        let measured = DenseFeatures::new(1, 2, vec![0.5, 1.0].into()).unwrap();
        assert!(!are_counts(&Features::Dense(measured)));
    }
}
