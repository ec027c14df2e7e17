//! Sums over all rows, the same bytes for any number of threads.
//!
//! The rows are cut into blocks whose size depends on their number alone; each block
//! is summed in order, then the blocks are added in order.

use super::Matrix;
use super::kernel::{for_blocks, vectorized};
use crate::linalg::real::Real;

/// The most blocks that rows are cut into, and the fewest rows of a block.
const MAX_BLOCKS: usize = 64;
const MIN_BLOCK_ROWS: usize = 128;

/// Sums the columns of a matrix: the gradient of a bias.
#[derive(Clone, Debug)]
pub struct ColumnSums<F> {
    block_rows: usize,
    partial: Vec<F>,
}

impl<F: Real> ColumnSums<F> {
    /// For matrices of the given shape.
    pub fn new(num_rows: usize, num_columns: usize) -> Self {
        let block_rows = num_rows.div_ceil(MAX_BLOCKS).max(MIN_BLOCK_ROWS);
        Self { block_rows, partial: vec![F::ZERO; num_rows.div_ceil(block_rows) * num_columns] }
    }

    /// Computes the sum of each column of `matrix`.
    ///
    /// # Panics
    /// If the shape is not the one this was made for.
    pub fn sum(&mut self, matrix: &Matrix<F>, sums: &mut [F]) {
        self.sum_rows(matrix.num_rows(), sums, |row, sums| add(sums, matrix.row(row)));
    }

    /// Computes sums over `num_rows` rows, to which `add_row` adds one row at a time.
    ///
    /// # Panics
    /// If the shape is not the one this was made for.
    pub fn sum_rows(&mut self, num_rows: usize, sums: &mut [F], add_row: impl Fn(usize, &mut [F]) + Sync) {
        let width = sums.len();
        let block_rows = self.block_rows;
        assert_eq!(self.partial.len(), num_rows.div_ceil(block_rows) * width, "one sum for each column");
        for_blocks(&mut self.partial, width, 1, |index, partial| {
            let rows = index * block_rows..((index + 1) * block_rows).min(num_rows);
            vectorized(
                #[inline(always)]
                || {
                    partial.fill(F::ZERO);
                    rows.for_each(|row| add_row(row, partial));
                },
            );
        });
        sums.fill(F::ZERO);
        self.partial.chunks_exact(width.max(1)).for_each(|partial| add(sums, partial));
    }
}

#[inline(always)]
fn add<F: Real>(sums: &mut [F], terms: &[F]) {
    sums.iter_mut().zip(terms).for_each(|(sum, &term)| *sum += term);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_summed() {
        for num_rows in [0, 1, 127, 1000, 20_000] {
            let values = (0..num_rows * 3).map(|i| (i % 3) as f64 + 1.0).collect();
            let mut sums = [9.0; 3];
            ColumnSums::new(num_rows, 3).sum(&Matrix::from_values(num_rows, 3, values), &mut sums);
            let n = num_rows as f64;
            assert_eq!(sums, [n, 2.0 * n, 3.0 * n]);
        }
    }
}
