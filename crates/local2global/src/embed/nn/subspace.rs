//! Leading eigenvectors of a symmetric matrix that is known by its products.
//!
//! A random basis is multiplied by the matrix several times and made orthonormal each time; then
//! the matrix is restricted to the basis and solved exactly.
//! Cost: a product and `O(n k²)` a step, for `k` columns.
//!
//! Source: Halko, Martinsson, Tropp, "Finding structure with randomness", SIAM Review
//! 53, 2011.

use super::Matrix;
use super::dense::{self, TransposedProduct};
use super::noise::fill_normal;
use crate::linalg::dense::symmetric_eigen;
use crate::seed::Seed;

/// Columns of the basis beyond those that are wanted.
pub const OVERSAMPLING: usize = 10;
/// Directions that are shorter than this, relative to the longest, are left out.
const RANK_TOLERANCE: f64 = 1e-12;

/// A basis that turns towards the leading eigenvectors of a matrix.
#[derive(Debug)]
pub struct Subspace {
    basis: Matrix<f64>,
    product: Matrix<f64>,
    gram: TransposedProduct<f64>,
}

impl Subspace {
    /// A random basis of `width` columns.
    pub fn new(num_rows: usize, width: usize, seed: Seed) -> Self {
        let mut basis = Matrix::zeros(num_rows, width);
        fill_normal(basis.values_mut(), seed, 0);
        let gram = TransposedProduct::new(num_rows, (width, width));
        Self { basis, product: Matrix::zeros(num_rows, width), gram }
    }

    /// Multiplies the basis by the matrix and makes it orthonormal.
    pub fn step(&mut self, multiply: impl FnOnce(&Matrix<f64>, &mut Matrix<f64>)) {
        multiply(&self.basis, &mut self.product);
        self.orthonormalise();
    }

    /// Makes the columns of `product` orthonormal, and the new basis: with
    /// `productᵀ product = W Λ Wᵀ`, the new basis is `product W Λ^-½`. Twice, since the
    /// first time loses digits where columns are nearly parallel.
    fn orthonormalise(&mut self) {
        for _ in 0..2 {
            let width = self.product.num_columns();
            let mut gram = Matrix::zeros(width, width);
            self.gram.multiply(&self.product, &self.product, &mut gram);
            let (values, mut vectors) = eigenvectors(&gram);
            let longest = values.iter().copied().fold(0.0, f64::max);
            for (k, &value) in values.iter().enumerate() {
                let scale = if value > RANK_TOLERANCE * longest { 1.0 / value.sqrt() } else { 0.0 };
                (0..width).for_each(|row| vectors.row_mut(row)[k] *= scale);
            }
            dense::multiply(&self.product, &vectors, &mut self.basis);
            std::mem::swap(&mut self.product, &mut self.basis);
        }
        std::mem::swap(&mut self.product, &mut self.basis);
    }

    /// The best eigenpairs within the basis, in no order: values, and vectors as columns.
    pub fn eigenpairs(mut self, multiply: impl FnOnce(&Matrix<f64>, &mut Matrix<f64>)) -> Eigenpairs {
        multiply(&self.basis, &mut self.product);
        let width = self.basis.num_columns();
        let mut restricted = Matrix::zeros(width, width);
        self.gram.multiply(&self.basis, &self.product, &mut restricted);
        let (values, vectors) = eigenvectors(&restricted);
        dense::multiply(&self.basis, &vectors, &mut self.product);
        Eigenpairs { values, vectors: self.product }
    }
}

/// Eigenvalues, and eigenvectors as columns.
#[derive(Clone, Debug)]
pub struct Eigenpairs {
    values: Vec<f64>,
    vectors: Matrix<f64>,
}

impl Eigenpairs {
    /// Eigenpairs that are known, in any order.
    ///
    /// # Panics
    /// If there is not one value for each column.
    pub fn new(values: Vec<f64>, vectors: Matrix<f64>) -> Self {
        assert_eq!(values.len(), vectors.num_columns(), "one value for each vector");
        Self { values, vectors }
    }

    /// The size of the eigenvalue largest in size; zero if there are none.
    pub fn largest(&self) -> f64 {
        self.values.iter().fold(0.0, |largest, value| value.abs().max(largest))
    }

    /// The eigenvectors as columns by falling size of their value, each multiplied by what `scale`
    /// makes of the size, and by the sign that makes its largest entry positive. Columns beyond the
    /// number of pairs are zero.
    pub fn scaled(&self, dim: usize, scale: impl Fn(f64) -> f64) -> Matrix<f32> {
        let Self { values, vectors } = self;
        let num_rows = vectors.num_rows();
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[b].abs().total_cmp(&values[a].abs()).then(a.cmp(&b)));
        order.truncate(dim);
        let mut scaled = Matrix::zeros(num_rows, dim);
        for (column, &k) in order.iter().enumerate() {
            let entry = |row: usize| vectors.row(row)[k];
            let largest = (0..num_rows)
                .map(entry)
                .fold(0.0_f64, |largest, value| if value.abs() > largest.abs() { value } else { largest });
            let factor = scale(values[k].abs()) * if largest < 0.0 { -1.0 } else { 1.0 };
            (0..num_rows).for_each(|row| scaled.row_mut(row)[column] = (entry(row) * factor) as f32);
        }
        scaled
    }
}

/// Eigenvalues, ascending, and eigenvectors as columns.
fn eigenvectors(matrix: &Matrix<f64>) -> (Vec<f64>, Matrix<f64>) {
    let width = matrix.num_columns();
    let eigen = symmetric_eigen(matrix.values(), width).expect("a finite symmetric matrix has eigenvectors");
    let ascending = eigen.vectors.chunks_exact(width).flat_map(|row| row.iter().rev().copied()).collect();
    (eigen.values.into_iter().rev().collect(), Matrix::from_values(width, width, ascending))
}
