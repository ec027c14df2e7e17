//! Sparse matrix times full matrix, the kernel of every graph convolution.
//!
//! ```text
//! out[i] = finish(sum over entries k of row i: value[k] * dense[column[k]])
//! ```
//!
//! Convention: compressed rows. Each row of the output is summed in the order of the
//! entries, a strip of columns at a time: the sums of a strip stay in registers, and
//! the strip of the full matrix that a block of rows reads stays in the cache. What
//! comes after the sum, such as bias and activation, is applied by `finish` while the
//! block is still in the cache.
//! Cost: `O(entries * width)`.

use super::Matrix;
use super::kernel::{for_blocks, rows_per_block, vectorized};
use crate::linalg::grouping::group_offsets;
use crate::linalg::real::Real;

/// Columns whose sums are held in registers at a time.
const STRIP: usize = 64;

/// A sparse matrix in compressed rows.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseMatrix<F> {
    num_columns: usize,
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<F>,
}

impl<F: Real> SparseMatrix<F> {
    /// A matrix from its rows: row `i` has the entries `offsets[i]..offsets[i + 1]`.
    ///
    /// # Panics
    /// If the offsets do not fit the entries, or a column does not exist.
    pub fn new(num_columns: usize, offsets: Vec<usize>, columns: Vec<u32>, values: Vec<F>) -> Self {
        assert!(offsets.first() == Some(&0) && offsets.last() == Some(&columns.len()), "offsets must fit");
        assert!(offsets.is_sorted() && columns.len() == values.len(), "one value per column");
        assert!(columns.iter().all(|&column| (column as usize) < num_columns), "columns must exist");
        Self { num_columns, offsets, columns, values }
    }

    /// The number of rows.
    pub fn num_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of columns.
    pub fn num_columns(&self) -> usize {
        self.num_columns
    }

    /// The number of stored values.
    pub fn num_entries(&self) -> usize {
        self.columns.len()
    }

    /// The columns and values of one row.
    #[inline(always)]
    pub fn row(&self, row: usize) -> (&[u32], &[F]) {
        let range = self.offsets[row]..self.offsets[row + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Lets `change` put other rows in the place of the old ones: offsets, columns and values,
    /// as [`SparseMatrix::new`] has them. The memory is used again.
    pub(super) fn refill(&mut self, change: impl FnOnce(&mut Vec<usize>, &mut Vec<u32>, &mut Vec<F>)) {
        change(&mut self.offsets, &mut self.columns, &mut self.values);
        let len = self.columns.len();
        assert!(self.offsets.last() == Some(&len) && self.values.len() == len, "offsets must fit");
    }

    /// The same matrix with rows and columns exchanged.
    pub fn transposed(&self) -> Self {
        let offsets = group_offsets(self.num_columns, self.columns.iter().map(|&column| column as usize));
        let mut next = offsets.clone();
        let mut columns = vec![0; self.num_entries()];
        let mut values = vec![F::ZERO; self.num_entries()];
        for row in 0..self.num_rows() {
            let (row_columns, row_values) = self.row(row);
            for (&column, &value) in row_columns.iter().zip(row_values) {
                let slot = &mut next[column as usize];
                columns[*slot] = row as u32;
                values[*slot] = value;
                *slot += 1;
            }
        }
        Self { num_columns: self.num_rows(), offsets, columns, values }
    }

    /// Computes `out = self * dense`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn multiply(&self, dense: &Matrix<F>, out: &mut Matrix<F>) {
        self.multiply_then(dense, out, |_, _| {});
    }

    /// Computes `out = self * dense`, then calls `finish` with the number of each row
    /// and the row.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn multiply_then(
        &self,
        dense: &Matrix<F>,
        out: &mut Matrix<F>,
        finish: impl Fn(usize, &mut [F]) + Sync,
    ) {
        self.multiply_renumbered(dense, |column| column as usize, out, finish);
    }

    /// As [`SparseMatrix::multiply_then`], but column `c` meets row `source(c)`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[inline(always)]
    pub fn multiply_renumbered(
        &self,
        dense: &Matrix<F>,
        source: impl Fn(u32) -> usize + Sync,
        out: &mut Matrix<F>,
        finish: impl Fn(usize, &mut [F]) + Sync,
    ) {
        let width = dense.num_columns();
        assert_eq!(self.num_columns, dense.num_rows(), "inner dimensions must agree");
        assert_eq!((self.num_rows(), width), (out.num_rows(), out.num_columns()), "output must fit");
        let entries_per_row = self.num_entries() / self.num_rows().max(1) + 1;
        let block_rows = rows_per_block(self.num_rows(), entries_per_row * width);
        for_blocks(out.values_mut(), width, block_rows, |first_row, block| {
            vectorized(
                #[inline(always)]
                || {
                    self.multiply_block(dense, &source, first_row, block, &finish);
                },
            );
        });
    }

    /// Sums all rows of a block, then finishes each.
    #[inline(always)]
    fn multiply_block(
        &self,
        dense: &Matrix<F>,
        source: &impl Fn(u32) -> usize,
        first_row: usize,
        block: &mut [F],
        finish: &impl Fn(usize, &mut [F]),
    ) {
        let width = dense.num_columns();
        for (row, out) in (first_row..).zip(block.chunks_exact_mut(width)) {
            let mut start = 0;
            while start < width {
                start += match width - start {
                    64.. => self.multiply_strip::<STRIP>(dense, source, row, out, start),
                    32.. => self.multiply_strip::<32>(dense, source, row, out, start),
                    16.. => self.multiply_strip::<16>(dense, source, row, out, start),
                    8.. => self.multiply_strip::<8>(dense, source, row, out, start),
                    _ => self.multiply_strip::<1>(dense, source, row, out, start),
                };
            }
            finish(row, out);
        }
    }

    /// Sums columns `start..start + N` of one row; returns `N`.
    #[inline(always)]
    fn multiply_strip<const N: usize>(
        &self,
        dense: &Matrix<F>,
        source: &impl Fn(u32) -> usize,
        row: usize,
        out: &mut [F],
        start: usize,
    ) -> usize {
        let width = dense.num_columns();
        let (columns, values) = self.row(row);
        let mut sums = [F::ZERO; N];
        for (&column, &value) in columns.iter().zip(values) {
            let terms: &[F] = &dense.values()[source(column) * width + start..][..N];
            for lane in 0..N {
                sums[lane] += value * terms[lane];
            }
        }
        out[start..start + N].copy_from_slice(&sums);
        N
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::seed::{Seed, Stage};

    fn random(num_rows: usize, num_columns: usize) -> SparseMatrix<f64> {
        let mut random = Seed(1).stream(Stage::Embed, num_rows as u64);
        let (mut offsets, mut columns, mut values) = (vec![0], vec![], vec![]);
        for _ in 0..num_rows {
            for column in 0..num_columns {
                if random.random_bool(0.2) {
                    columns.push(column as u32);
                    values.push(random.random_range(-1.0..1.0));
                }
            }
            offsets.push(columns.len());
        }
        SparseMatrix::new(num_columns, offsets, columns, values)
    }

    fn full(sparse: &SparseMatrix<f64>) -> Matrix<f64> {
        let mut out = Matrix::zeros(sparse.num_rows(), sparse.num_columns());
        for row in 0..sparse.num_rows() {
            let (columns, values) = sparse.row(row);
            columns
                .iter()
                .zip(values)
                .for_each(|(&column, &value)| out.row_mut(row)[column as usize] = value);
        }
        out
    }

    #[test]
    fn products_equal_those_of_full_matrices() {
        let sparse = random(37, 29);
        for width in [1, 7, 8, 31, 100, 256] {
            let values = (0..29 * width).map(|i| (i as f64 * 0.37).sin()).collect();
            let dense = Matrix::from_values(29, width, values);
            let mut out = Matrix::zeros(37, width);
            sparse.multiply_then(&dense, &mut out, |row, sums| sums[0] += row as f64);
            let mut expected = Matrix::zeros(37, width);
            crate::embed::nn::dense::multiply(&full(&sparse), &dense, &mut expected);
            (0..37).for_each(|row| expected.row_mut(row)[0] += row as f64);
            for (a, b) in out.values().iter().zip(expected.values()) {
                assert!((a - b).abs() < 1e-12, "width {width}");
            }
        }
    }

    #[test]
    fn transposing_twice_changes_nothing() {
        let sparse = random(11, 23);
        assert_eq!(sparse.transposed().transposed(), sparse);
        assert_eq!(full(&sparse).as_faer().transpose(), full(&sparse.transposed()).as_faer());
    }
}
