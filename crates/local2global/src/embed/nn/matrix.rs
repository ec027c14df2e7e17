//! A full matrix, row after row.

use crate::linalg::real::Real;
use faer::{MatMut, MatRef};

/// A row-major matrix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix<F> {
    num_rows: usize,
    num_columns: usize,
    values: Vec<F>,
}

impl<F: Real> Matrix<F> {
    /// A matrix of zeros.
    pub fn zeros(num_rows: usize, num_columns: usize) -> Self {
        Self { num_rows, num_columns, values: vec![F::ZERO; num_rows * num_columns] }
    }

    /// A matrix from its values, row after row.
    ///
    /// # Panics
    /// If there are more or fewer values.
    pub fn from_values(num_rows: usize, num_columns: usize, values: Vec<F>) -> Self {
        assert_eq!(values.len(), num_rows * num_columns, "values must fill the matrix");
        Self { num_rows, num_columns, values }
    }

    /// The number of rows.
    pub fn num_rows(&self) -> usize {
        self.num_rows
    }

    /// The number of columns.
    pub fn num_columns(&self) -> usize {
        self.num_columns
    }

    /// One row.
    #[inline(always)]
    pub fn row(&self, index: usize) -> &[F] {
        &self.values[index * self.num_columns..][..self.num_columns]
    }

    /// One row, to be changed.
    pub fn row_mut(&mut self, index: usize) -> &mut [F] {
        &mut self.values[index * self.num_columns..][..self.num_columns]
    }

    /// All values, row after row.
    #[inline(always)]
    pub fn values(&self) -> &[F] {
        &self.values
    }

    /// All values, to be changed.
    pub fn values_mut(&mut self) -> &mut [F] {
        &mut self.values
    }

    /// All values, row after row, without the matrix.
    pub fn into_values(self) -> Vec<F> {
        self.values
    }

    /// The first columns of each row.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn first_columns(&self, num_columns: usize) -> Self {
        let rows = (0..self.num_rows).flat_map(|row| &self.row(row)[..num_columns]);
        Self { num_rows: self.num_rows, num_columns, values: rows.copied().collect() }
    }

    /// The same numbers in another precision.
    pub fn cast<G: Real>(&self) -> Matrix<G> {
        let values = self.values.iter().map(|value| G::of(value.to_f64())).collect();
        Matrix { num_rows: self.num_rows, num_columns: self.num_columns, values }
    }

    /// The matrix as faer sees it.
    pub fn as_faer(&self) -> MatRef<'_, F> {
        MatRef::from_row_major_slice(&self.values, self.num_rows, self.num_columns)
    }

    /// The matrix as faer sees it, to be changed.
    pub fn as_faer_mut(&mut self) -> MatMut<'_, F> {
        MatMut::from_row_major_slice_mut(&mut self.values, self.num_rows, self.num_columns)
    }
}
