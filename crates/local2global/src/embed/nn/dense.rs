//! Products of full matrices, on all threads, the same bytes for any number of them.
//!
//! faer multiplies on one thread at a time; here the work is cut into pieces whose
//! size depends on the shapes alone. Products with many rows are cut into panels of
//! rows. A product `leftᵀ right` over many rows is cut along the sum, and the partial
//! sums are added in order.
//! Cost: `O(rows * inner * columns)`.

use crate::linalg::real::Real;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatRef, Par};
use rayon::prelude::*;

use super::Matrix;
use super::kernel::{for_blocks, vectorized};

/// The most rows of one panel: enough that packing the other factor costs little.
const PANEL_ROWS: usize = 512;
/// Terms of a sum that are added at a time: so many rows of both factors fit the cache.
const CHUNK_ROWS: usize = 320;
/// The most terms of a sum that are not cut into pieces.
const PIECE_ROWS: usize = 768;
/// The most pieces a sum is cut into.
const MAX_PIECES: usize = 16;

/// How many rows each part has when rows are divided evenly into parts of at most `most`
/// rows; an even number of parts, if there are several.
fn even_parts(num_rows: usize, most: usize) -> usize {
    match num_rows.div_ceil(most) {
        0 | 1 => num_rows.max(1),
        parts => num_rows.div_ceil(parts.next_multiple_of(2)),
    }
}

/// Computes `out = left * right`.
///
/// # Panics
/// If the shapes do not fit.
pub fn multiply<F: Real>(left: &Matrix<F>, right: &Matrix<F>, out: &mut Matrix<F>) {
    multiply_panels(left, right.as_faer(), Accum::Replace, out, |_, _| {});
}

/// Computes `out = out + left * right`.
///
/// # Panics
/// If the shapes do not fit.
pub fn multiply_add<F: Real>(left: &Matrix<F>, right: &Matrix<F>, out: &mut Matrix<F>) {
    multiply_panels(left, right.as_faer(), Accum::Add, out, |_, _| {});
}

/// Computes `out = left * rightᵀ`, then calls `finish` with the number of the first
/// row and the values of each panel of rows.
///
/// # Panics
/// If the shapes do not fit.
pub fn multiply_transposed_then<F: Real>(
    left: &Matrix<F>,
    right: &Matrix<F>,
    out: &mut Matrix<F>,
    finish: impl Fn(usize, &mut [F]) + Sync,
) {
    multiply_panels(left, right.as_faer().transpose(), Accum::Replace, out, finish);
}

fn multiply_panels<F: Real>(
    left: &Matrix<F>,
    right: MatRef<'_, F>,
    accum: Accum,
    out: &mut Matrix<F>,
    finish: impl Fn(usize, &mut [F]) + Sync,
) {
    let width = out.num_columns();
    assert_eq!((left.num_rows(), right.ncols()), (out.num_rows(), width), "output must fit");
    let panel_rows = even_parts(left.num_rows(), PANEL_ROWS);
    for_blocks(out.values_mut(), width, panel_rows, |first_row, panel| {
        let num_rows = panel.len() / width;
        let rows = left.as_faer().subrows(first_row, num_rows);
        let out = faer::MatMut::from_row_major_slice_mut(panel, num_rows, width);
        matmul(out, accum, rows, right, F::ONE, Par::Seq);
        vectorized(
            #[inline(always)]
            || finish(first_row, panel),
        );
    });
}

/// The product `leftᵀ * right`, with the memory its partial sums need.
#[derive(Clone, Debug)]
pub struct TransposedProduct<F> {
    piece_rows: usize,
    partial: Vec<Matrix<F>>,
}

impl<F: Real> TransposedProduct<F> {
    /// For factors of `num_rows` rows each, and a product of the given shape.
    pub fn new(num_rows: usize, shape: (usize, usize)) -> Self {
        let partial = vec![Matrix::zeros(shape.0, shape.1); Self::num_partial(num_rows)];
        Self { piece_rows: Self::piece_rows(num_rows), partial }
    }

    /// How many partial sums there are besides the result.
    pub fn num_partial(num_rows: usize) -> usize {
        num_rows.div_ceil(Self::piece_rows(num_rows)).saturating_sub(1)
    }

    fn piece_rows(num_rows: usize) -> usize {
        even_parts(num_rows, num_rows.div_ceil(MAX_PIECES).max(PIECE_ROWS))
    }

    /// Computes `out = leftᵀ * right`.
    ///
    /// # Panics
    /// If the shapes are not those the product was made for.
    pub fn multiply(&mut self, left: &Matrix<F>, right: &Matrix<F>, out: &mut Matrix<F>) {
        assert_eq!(left.num_rows(), right.num_rows(), "inner dimensions must agree");
        let piece_rows = self.piece_rows;
        let piece = |index: usize, out: &mut Matrix<F>| {
            let start = (index * piece_rows).min(left.num_rows());
            let len = piece_rows.min(left.num_rows() - start);
            let mut accum = Accum::Replace;
            for first in (start..start + len).step_by(CHUNK_ROWS) {
                let rows = CHUNK_ROWS.min(start + len - first);
                let left = left.as_faer().subrows(first, rows).transpose();
                let right = right.as_faer().subrows(first, rows);
                matmul(out.as_faer_mut(), accum, left, right, F::ONE, Par::Seq);
                accum = Accum::Add;
            }
        };
        rayon::join(
            || piece(0, out),
            || {
                let others = self.partial.par_iter_mut().enumerate();
                others.for_each(|(index, partial)| piece(index + 1, partial));
            },
        );
        for partial in &self.partial {
            vectorized(
                #[inline(always)]
                || add(out.values_mut(), partial.values()),
            );
        }
    }
}

#[inline(always)]
fn add<F: Real>(sums: &mut [F], terms: &[F]) {
    sums.iter_mut().zip(terms).for_each(|(sum, &term)| *sum += term);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(num_rows: usize, num_columns: usize) -> Matrix<f64> {
        let values = (0..num_rows * num_columns).map(|i| (i as f64 * 0.7).sin()).collect();
        Matrix::from_values(num_rows, num_columns, values)
    }

    fn assert_close(a: &Matrix<f64>, b: faer::Mat<f64>) {
        assert!((a.as_faer() - b).norm_max() < 1e-9);
    }

    #[test]
    fn panels_and_pieces_make_up_the_product() {
        for num_rows in [1, 5, 700, 2500] {
            let (a, b, c) = (wave(num_rows, 7), wave(7, 5), wave(num_rows, 5));
            let mut product = Matrix::zeros(num_rows, 5);
            multiply(&a, &b, &mut product);
            assert_close(&product, a.as_faer() * b.as_faer());

            multiply_add(&a, &b, &mut product);
            assert_close(&product, faer::Scale(2.0) * (a.as_faer() * b.as_faer()));

            let mut back = Matrix::zeros(num_rows, 7);
            multiply_transposed_then(&c, &b, &mut back, |_, panel| panel[0] *= 1.0);
            assert_close(&back, c.as_faer() * b.as_faer().transpose());

            let mut sum = Matrix::zeros(7, 5);
            TransposedProduct::new(num_rows, (7, 5)).multiply(&a, &c, &mut sum);
            assert_close(&sum, a.as_faer().transpose() * c.as_faer());
        }
    }
}
