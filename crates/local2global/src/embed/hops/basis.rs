//! The directions in which features differ most: leading right singular vectors.
//!
//! ```text
//! X̂ ≈ U Σ Bᵀ,    B: width x k, orthonormal columns by falling singular value
//! ```
//!
//! Narrow features are decomposed exactly: `B` are eigenvectors of `X̂ᵀ X̂`. Of wide ones, the
//! row space is found by random projection: a random matrix is multiplied by `X̂ᵀ`, then a few
//! times by `X̂ᵀ X̂`, made orthonormal each time by Cholesky factors of its Gram matrix; `X̂` is
//! then decomposed within it. A sample of rows is enough.
//!
//! Convention: the entry of a column that is largest in size is positive.
//! Cost: `O(stored values * k + width k²)` a multiplication, `O(k³)` once.
//!
//! Source: Halko, Martinsson, Tropp, "Finding structure with randomness", SIAM Review 53, 2011;
//! Fukaya et al., "Shifted Cholesky QR for computing the QR factorization of ill-conditioned
//! matrices", SIAM J. Sci. Comput. 42, 2020.

use super::features::Scaled;
use crate::embed::nn::Matrix;
use crate::embed::nn::dense::{self, TransposedProduct};
use crate::embed::nn::noise::fill_normal;
use crate::linalg::dense::{inverse_cholesky, symmetric_eigen};
use crate::linalg::real::Real;
use crate::seed::Seed;

/// Up to this width features are decomposed exactly.
const EXACT_WIDTH: usize = 600;
/// Columns of the random matrix beyond those that are wanted.
const OVERSAMPLING: usize = 10;
/// How often the random matrix is multiplied by `X̂ᵀ X̂`.
const POWER_ITERATIONS: usize = 2;
/// Added to the diagonal of a Gram matrix of trace 1 per column, so that it can be factored.
const SHIFT: f64 = 1e-6;

/// The `count` leading directions of some rows, or all if there are fewer.
pub fn leading_basis(rows: Scaled, count: usize, seed: Seed) -> Matrix<f32> {
    let width = rows.width();
    let mut basis = match width <= EXACT_WIDTH.max(count) {
        true => within(&rows, identity(width), count),
        false => {
            let range = row_space(rows.clone(), (count + OVERSAMPLING).min(width), seed);
            within(&rows, range, count)
        }
    };
    fix_signs(&mut basis);
    basis
}

/// About how many bytes [`leading_basis`] needs, besides its rows.
pub fn memory_bytes(num_rows: usize, width: usize, count: usize) -> u64 {
    let is_exact = width <= EXACT_WIDTH.max(count);
    let size = if is_exact { width } else { (count + OVERSAMPLING).min(width) };
    let blocks = if is_exact { num_rows } else { 2 * num_rows + width };
    let partial = TransposedProduct::<f32>::num_partial(num_rows) * size;
    // The basis twice, Gram matrix and eigenvectors in double precision.
    4 * ((blocks + 2 * width + partial) * size) as u64 + 6 * 8 * (size * size) as u64
}

fn identity(width: usize) -> Matrix<f32> {
    let mut identity = Matrix::zeros(width, width);
    (0..width).for_each(|k| identity.row_mut(k)[k] = 1.0);
    identity
}

/// An orthonormal basis of nearly the space that the rows span.
fn row_space(rows: Scaled, size: usize, seed: Seed) -> Matrix<f32> {
    let (num_rows, width) = (rows.num_rows(), rows.width());
    let mut input = rows.into_input(size);
    let mut sample = Matrix::zeros(num_rows, size);
    fill_normal(sample.values_mut(), seed, 0);
    let mut basis = Matrix::zeros(width, size);
    input.multiply_transposed(&sample, &mut basis);
    orthonormalise(&mut basis);
    for _ in 0..POWER_ITERATIONS {
        let product = input.multiply(&basis, &mut sample).clone();
        input.multiply_transposed(&product, &mut basis);
        orthonormalise(&mut basis);
    }
    basis
}

/// The leading directions of the rows within an orthonormal basis.
fn within(rows: &Scaled, basis: Matrix<f32>, count: usize) -> Matrix<f32> {
    let size = basis.num_columns();
    let inside = rows.multiply(&basis);
    let eigen = symmetric_eigen(gram(&inside).values(), size).expect("features are finite numbers");
    let count = count.min(size);
    let leading = (0..size).flat_map(|row| &eigen.vectors[row * size..][..count]).map(|&x| x as f32);
    let leading = Matrix::from_values(size, count, leading.collect());
    let mut turned = Matrix::zeros(basis.num_rows(), count);
    dense::multiply(&basis, &leading, &mut turned);
    turned
}

/// `MᵀM` in double precision.
fn gram(matrix: &Matrix<f32>) -> Matrix<f64> {
    let size = matrix.num_columns();
    let mut product = Matrix::zeros(size, size);
    TransposedProduct::new(matrix.num_rows(), (size, size)).multiply(matrix, matrix, &mut product);
    product.cast()
}

/// Makes the columns of a tall matrix orthonormal, by Cholesky factors of its Gram matrix: the
/// first with a shift, which any matrix allows, two more for the digits that it costs. Columns
/// that depend on others become whatever the rounding errors leave.
fn orthonormalise(matrix: &mut Matrix<f32>) {
    for round in 0..3 {
        let size = matrix.num_columns();
        let mut gram = gram(matrix);
        let trace: f64 = (0..size).map(|k| gram.row(k)[k]).sum();
        let shift = if round == 0 { SHIFT * trace.max(f64::MIN_POSITIVE) } else { SHIFT * 1e-4 };
        (0..size).for_each(|k| gram.row_mut(k)[k] += shift);
        let Some(inverse) = inverse_cholesky(gram.values(), size, 0.0) else { return };
        let inverse = Matrix::from_values(size, size, inverse.iter().map(|&x| x as f32).collect());
        let mut turned = Matrix::zeros(matrix.num_rows(), size);
        dense::multiply(matrix, &inverse, &mut turned);
        *matrix = turned;
    }
}

/// A random orthogonal matrix, row-major.
pub fn random_rotation(dim: usize, seed: Seed) -> Matrix<f32> {
    let mut matrix = Matrix::zeros(dim, dim);
    fill_normal(matrix.values_mut(), seed, 1);
    orthonormalise(&mut matrix);
    matrix
}

/// Turns each column so that its largest entry is positive.
fn fix_signs<F: Real>(basis: &mut Matrix<F>) {
    for column in 0..basis.num_columns() {
        let entries = (0..basis.num_rows()).map(|row| basis.row(row)[column]);
        let largest = entries.fold(F::ZERO, |best, x| if x.abs() > best.abs() { x } else { best });
        if largest < F::ZERO {
            (0..basis.num_rows()).for_each(|row| {
                let entry = &mut basis.row_mut(row)[column];
                *entry = -*entry;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::seed::Stage;

    /// Rows that lie in a space of `rank` dimensions, with falling spread, and a little noise.
    fn rows(num_rows: usize, width: usize, rank: usize) -> Matrix<f32> {
        let mut random = Seed(3).stream(Stage::Embed, 9);
        let mut normal = |len: usize| (0..len).map(|_| random.random_range(-1.0_f32..1.0)).collect();
        let scores = Matrix::from_values(num_rows, rank, normal(num_rows * rank));
        let mut directions = Matrix::from_values(rank, width, normal(rank * width));
        for k in 0..rank {
            directions.row_mut(k).iter_mut().for_each(|x| *x /= (k + 1) as f32);
        }
        let mut product = Matrix::zeros(num_rows, width);
        dense::multiply(&scores, &directions, &mut product);
        product
    }

    fn off_identity(basis: &Matrix<f32>) -> f64 {
        let gram = gram(basis);
        let size = gram.num_columns();
        let entries = (0..size * size).map(|at| {
            let wanted = if at / size == at % size { 1.0 } else { 0.0 };
            (gram.values()[at] - wanted).abs()
        });
        entries.fold(0.0, f64::max)
    }

    /// The squared length that is left after projection on a basis.
    fn unexplained(rows: &Matrix<f32>, basis: &Matrix<f32>) -> f64 {
        let inside = Scaled::Full(rows.clone()).multiply(basis);
        let square = |m: &Matrix<f32>| m.values().iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
        1.0 - square(&inside) / square(rows)
    }

    #[test]
    fn a_wide_matrix_of_low_rank_is_explained_as_well_as_by_the_exact_basis() {
        let rows = rows(300, 900, 40);
        let found = leading_basis(Scaled::Full(rows.clone()), 20, Seed(1));
        assert_eq!((found.num_rows(), found.num_columns()), (900, 20));
        assert!(off_identity(&found) < 1e-4, "{}", off_identity(&found));
        let exact = within(&Scaled::Full(rows.clone()), identity(900), 20);
        assert!(unexplained(&rows, &found) < 1.01 * unexplained(&rows, &exact) + 1e-6);
        assert_eq!(found, leading_basis(Scaled::Full(rows), 20, Seed(1)));
    }

    #[test]
    fn dependent_columns_do_no_harm() {
        let rows = rows(200, 700, 5);
        let found = leading_basis(Scaled::Full(rows.clone()), 30, Seed(1));
        assert!(found.values().iter().all(|x| x.is_finite()));
        assert!(unexplained(&rows, &found) < 1e-5);
    }

    #[test]
    fn a_random_rotation_keeps_lengths() {
        for dim in [1, 2, 16, 128] {
            assert!(off_identity(&random_rotation(dim, Seed(4))) < 1e-5);
        }
    }

    #[test]
    fn narrow_features_keep_all_they_have() {
        let rows = rows(50, 8, 8);
        let found = leading_basis(Scaled::Full(rows.clone()), 512, Seed(1));
        assert_eq!(found.num_columns(), 8);
        assert!(off_identity(&found) < 1e-5 && unexplained(&rows, &found).abs() < 1e-5);
    }
}
