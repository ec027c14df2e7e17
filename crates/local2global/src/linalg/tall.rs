//! Products with tall matrices: many rows, few columns.
//!
//! The rows are cut into at most `PIECES` pieces, worked on in parallel; sums over
//! rows are added up in the order of the pieces, so the result does not depend on the
//! number of threads. Cost: that of the plain products.

use rayon::prelude::*;

use super::dense::{lower_product, multiply, multiply_add, view, view_mut};
use super::real::Real;

/// Rows are cut into at most this many pieces.
const PIECES: usize = 16;

/// A piece with fewer rows is not worth a task.
const MIN_PIECE_ROWS: usize = 512;

/// The number of rows in a piece.
fn piece_rows(rows: usize) -> usize {
    rows.div_ceil(PIECES).max(MIN_PIECE_ROWS)
}

/// `Aᵀ B` for row-major `A` (n x k) and `B` (n x m).
///
/// # Examples
/// ```
/// use local2global::linalg::tall::gram;
///
/// assert_eq!(gram(&[1.0, 2.0], 1, &[3.0, 4.0], 1), [11.0]);
/// ```
pub fn gram(a: &[f64], a_columns: usize, b: &[f64], b_columns: usize) -> Vec<f64> {
    let rows = piece_rows(a.len() / a_columns);
    let pieces: Vec<Vec<f64>> = a
        .par_chunks(rows * a_columns)
        .zip(b.par_chunks(rows * b_columns))
        .map(|(a, b)| {
            let count = a.len() / a_columns;
            let mut product = vec![0.0; a_columns * b_columns];
            multiply(
                view_mut(&mut product, a_columns, b_columns),
                view(a, count, a_columns).transpose(),
                view(b, count, b_columns),
            );
            product
        })
        .collect();
    let mut sum = vec![0.0; a_columns * b_columns];
    for piece in pieces {
        sum.iter_mut().zip(piece).for_each(|(total, part)| *total += part);
    }
    sum
}

/// As [`gram`] of matrices of the same size in either precision, where it is known to be symmetric.
///
/// The product is summed up in double precision.
pub(crate) fn symmetric_gram<F: Real>(a: &[F], b: &[F], columns: usize) -> Vec<f64> {
    let piece = piece_rows(a.len() / columns) * columns;
    let part = MIN_PIECE_ROWS * columns;
    let pieces = a.par_chunks(piece).zip(b.par_chunks(piece)).map(|(a, b)| {
        let (mut sum, mut product) = (vec![0.0; columns * columns], vec![0.0; columns * columns]);
        for (a, b) in a.chunks(part).zip(b.chunks(part)) {
            let rows = a.len() / columns;
            let (a, b) = (F::all_to_f64(a), F::all_to_f64(b));
            let target = view_mut(&mut product, columns, columns);
            lower_product(target, view(&a, rows, columns), view(&b, rows, columns));
            sum.iter_mut().zip(&product).for_each(|(total, part)| *total += part);
        }
        sum
    });
    let mut sum = vec![0.0; columns * columns];
    for piece in pieces.collect::<Vec<_>>() {
        sum.iter_mut().zip(piece).for_each(|(total, part)| *total += part);
    }
    for row in 0..columns {
        for column in row + 1..columns {
            sum[row * columns + column] = sum[column * columns + row];
        }
    }
    sum
}

/// The first columns of a row-major matrix.
pub(super) fn first_columns<F: Real>(a: &[F], columns: usize, wanted: usize) -> Vec<f64> {
    let rows = piece_rows(a.len() / columns);
    let mut first = vec![0.0; a.len() / columns * wanted];
    first.par_chunks_mut(rows * wanted).zip(a.par_chunks(rows * columns)).for_each(|(first, a)| {
        for (first, row) in first.chunks_exact_mut(wanted).zip(a.chunks_exact(columns)) {
            first.iter_mut().zip(row).for_each(|(first, value)| *first = value.to_f64());
        }
    });
    first
}

/// `A ← A - X C` for row-major `A` and `X` (n x m) and `C` (m x m).
pub fn subtract_product(a: &mut [f64], x: &[f64], c: &[f64], columns: usize) {
    let piece = piece_rows(a.len() / columns) * columns;
    a.par_chunks_mut(piece).zip(x.par_chunks(piece)).for_each(|(a, x)| {
        let rows = a.len() / columns;
        multiply_add(view_mut(a, rows, columns), view(x, rows, columns), view(c, columns, columns), -1.0);
    });
}

/// `A ← A C` for row-major `A` (n x m) and `C` (m x m).
pub fn multiply_right<F: Real>(a: &mut [F], c: &[f64], columns: usize) {
    let c = F::of_all(c);
    let piece = piece_rows(a.len() / columns) * columns;
    a.par_chunks_mut(piece).for_each_init(Vec::new, |old, a| {
        for a in a.chunks_mut(MIN_PIECE_ROWS * columns) {
            let rows = a.len() / columns;
            old.clear();
            old.extend_from_slice(a);
            multiply(view_mut(a, rows, columns), view(old, rows, columns), view(&c, columns, columns));
        }
    });
}

/// `P ← W C + P D`, then `X ← X B + P`, all n x m, `B`, `C` and `D` m x m.
///
/// With `d` absent, the old `P` is ignored.
pub fn recombine([x, w, p]: [&mut [f64]; 3], [b, c]: [&[f64]; 2], d: Option<&[f64]>, columns: usize) {
    let piece = piece_rows(x.len() / columns) * columns;
    let square = |values| view(values, columns, columns);
    x.par_chunks_mut(piece).zip(w.par_chunks(piece)).zip(p.par_chunks_mut(piece)).for_each(|((x, w), p)| {
        let rows = x.len() / columns;
        let mut direction = vec![0.0; x.len()];
        multiply(view_mut(&mut direction, rows, columns), view(w, rows, columns), square(c));
        if let Some(d) = d {
            let old = view(p, rows, columns);
            multiply_add(view_mut(&mut direction, rows, columns), old, square(d), 1.0);
        }
        p.copy_from_slice(&direction);
        multiply_add(view_mut(&mut direction, rows, columns), view(x, rows, columns), square(b), 1.0);
        x.copy_from_slice(&direction);
    });
}

/// The Euclidean norm of each column of a row-major matrix.
pub fn column_norms(a: &[f64], columns: usize) -> Vec<f64> {
    let piece = piece_rows(a.len() / columns) * columns;
    let pieces = a.par_chunks(piece).map(|rows| {
        let mut squares = vec![0.0; columns];
        for row in rows.chunks_exact(columns) {
            squares.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * value);
        }
        squares
    });
    roots_of_sums(pieces.collect(), columns)
}

/// The Euclidean norm of each column of `A X - X Λ`, as in [`residual`].
pub fn residual_norms<F: Real>(ax: &[F], x: &[F], values: &[f64]) -> Vec<f64> {
    let columns = values.len();
    let piece = piece_rows(x.len() / columns) * columns;
    let pieces = ax.par_chunks(piece).zip(x.par_chunks(piece)).map(|(ax, x)| {
        let mut squares = vec![0.0; columns];
        for (ax, x) in ax.chunks_exact(columns).zip(x.chunks_exact(columns)) {
            for k in 0..columns {
                let entry = ax[k].to_f64() - x[k].to_f64() * values[k];
                squares[k] += entry * entry;
            }
        }
        squares
    });
    roots_of_sums(pieces.collect(), columns)
}

/// The roots of sums over pieces, added in their order.
fn roots_of_sums(pieces: Vec<Vec<f64>>, columns: usize) -> Vec<f64> {
    let mut norms = vec![0.0; columns];
    for piece in pieces {
        norms.iter_mut().zip(piece).for_each(|(sum, part)| *sum += part);
    }
    norms.iter_mut().for_each(|norm| *norm = norm.sqrt());
    norms
}

/// Multiplies each column by its factor.
pub fn scale_columns(a: &mut [f64], factors: &[f64]) {
    let piece = piece_rows(a.len() / factors.len()) * factors.len();
    a.par_chunks_mut(piece).for_each(|rows| {
        for row in rows.chunks_exact_mut(factors.len()) {
            row.iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
        }
    });
}

/// `A X - X Λ`, given `A X`, `X` and the diagonal of `Λ`.
pub fn residual(ax: &[f64], x: &[f64], values: &[f64]) -> Vec<f64> {
    let columns = values.len();
    let piece = piece_rows(x.len() / columns) * columns;
    let mut residual = vec![0.0; x.len()];
    residual.par_chunks_mut(piece).zip(ax.par_chunks(piece)).zip(x.par_chunks(piece)).for_each(
        |((residual, ax), x)| {
            let rows = residual.chunks_exact_mut(columns).zip(ax.chunks_exact(columns));
            for ((residual, ax), x) in rows.zip(x.chunks_exact(columns)) {
                for k in 0..columns {
                    residual[k] = ax[k] - x[k] * values[k];
                }
            }
        },
    );
    residual
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(len: usize, step: f64) -> Vec<f64> {
        (0..len).map(|k| (k as f64 * step).sin()).collect()
    }

    #[test]
    fn products_over_pieces_equal_plain_sums() {
        let (rows, columns) = (3000, 3);
        let (a, b) = (wave(rows * columns, 0.7), wave(rows * columns, 1.3));
        let product = gram(&a, columns, &b, columns);
        for i in 0..columns {
            for j in 0..columns {
                let plain: f64 = (0..rows).map(|r| a[r * columns + i] * b[r * columns + j]).sum();
                assert!((product[i * columns + j] - plain).abs() < 1e-10);
            }
            let norm = column_norms(&a, columns)[i];
            assert!((norm * norm - gram(&a, columns, &a, columns)[i * columns + i]).abs() < 1e-10);
        }
    }

    #[test]
    fn symmetric_products_in_single_precision_are_summed_up_in_double() {
        let (rows, columns) = (3000, 3);
        let single: Vec<f32> = wave(rows * columns, 0.7).iter().map(|&value| value as f32).collect();
        let double: Vec<f64> = single.iter().map(|&value| f64::from(value)).collect();
        let expected = gram(&double, columns, &double, columns);
        for found in [symmetric_gram(&single, &single, columns), symmetric_gram(&double, &double, columns)] {
            assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-10));
        }
    }

    #[test]
    fn recombining_moves_along_both_directions() {
        let (mut x, mut w, mut p) = (vec![1.0, 2.0], vec![10.0, 20.0], vec![100.0, 200.0]);
        recombine([&mut x, &mut w, &mut p], [&[2.0], &[3.0]], Some(&[4.0]), 1);
        assert_eq!(p, [430.0, 860.0]);
        assert_eq!(x, [432.0, 864.0]);
        recombine([&mut x, &mut w, &mut p], [&[1.0], &[1.0]], None, 1);
        assert_eq!(p, [10.0, 20.0]);
    }

    #[test]
    fn a_product_in_place_is_the_plain_product() {
        let (rows, columns) = (1500, 2);
        let a = wave(rows * columns, 0.9);
        let mut product = a.clone();
        multiply_right(&mut product, &[1.0, 2.0, 3.0, 4.0], columns);
        for (a, product) in a.chunks_exact(2).zip(product.chunks_exact(2)) {
            assert!((product[0] - a[0] - 3.0 * a[1]).abs() < 1e-14);
            assert!((product[1] - 2.0 * a[0] - 4.0 * a[1]).abs() < 1e-14);
        }
    }

    #[test]
    fn the_first_columns_of_all_rows_are_taken() {
        let a = wave(3 * 1500, 0.4);
        let first = first_columns(&a, 3, 2);
        assert!(a.chunks_exact(3).zip(first.chunks_exact(2)).all(|(row, first)| row[..2] == *first));
        assert_eq!(first.len(), 2 * 1500);
    }

    #[test]
    fn lengths_of_residuals_are_those_of_the_columns() {
        let (ax, x, values) = (wave(6000, 0.3), wave(6000, 1.1), [0.5, 2.0, -1.0]);
        assert_eq!(residual_norms(&ax, &x, &values), column_norms(&residual(&ax, &x, &values), 3));
    }

    #[test]
    fn the_residual_of_an_eigenvector_is_zero() {
        assert_eq!(residual(&[2.0, 3.0, 4.0, 6.0], &[1.0, 1.0, 2.0, 2.0], &[2.0, 3.0]), [0.0; 4]);
    }
}
