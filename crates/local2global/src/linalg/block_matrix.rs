//! A symmetric matrix of square blocks, most of them zero.
//!
//! Block `(i, j)` belongs to an edge of the patch graph and block `(j, i)` is its
//! transpose. The product with a tall matrix `X`, whose block `i` has `d` rows, is
//!
//! ```text
//! Yᵢ = Σⱼ Aᵢⱼ Xⱼ
//! ```
//!
//! Small blocks are too small for a fast matrix product. So up to `JOINED_DIM` rows
//! the blocks of a row lie side by side, the blocks of `X` are gathered below each
//! other, and one product does the row. Larger blocks are stored once per edge and
//! multiplied one by one, as they are or transposed.
//!
//! Cost: `4 E d² m` operations for `E` edges and `m` columns; memory `E d²` numbers, or
//! twice that where blocks are joined. No randomness.

use std::borrow::Cow;

use rayon::prelude::*;

use super::dense::{multiply, multiply_add, view, view_mut};
use super::real::Real;

/// Up to this dimension, the blocks of a row are stored side by side.
const JOINED_DIM: usize = 32;

/// A symmetric matrix of `d` x `d` blocks without diagonal blocks.
#[derive(Clone, Debug)]
pub struct BlockMatrix<'a, F: Real = f64> {
    dim: usize,
    /// Where the entries of each block row begin in `entries`.
    offsets: Vec<usize>,
    entries: Vec<Entry>,
    /// The number each edge's block is multiplied by.
    factors: Vec<F>,
    blocks: Blocks<'a, F>,
}

/// One non-zero block of a block row.
#[derive(Clone, Copy, Debug)]
struct Entry {
    column: u32,
    edge: u32,
    transposed: bool,
}

#[derive(Clone, Debug)]
enum Blocks<'a, F: Real> {
    /// One row-major block per edge, without its factor.
    PerEdge(Cow<'a, [F]>),
    /// For each block row the blocks side by side, row-major `d` x `(degree d)`, with
    /// their factors.
    Joined(Vec<F>),
}

impl<'a, F: Real> BlockMatrix<'a, F> {
    /// The matrix whose block `(i, j)`, for the `k`-th edge `(i, j)`, is the `k`-th of
    /// `blocks` times the `k`-th factor.
    ///
    /// # Panics
    /// If an edge joins a block row with itself or leads out of the matrix, or if
    /// there is not one block and one factor per edge.
    pub fn new(num_rows: usize, dim: usize, edges: &[(u32, u32)], blocks: &'a [F], factors: Vec<F>) -> Self {
        assert_eq!(blocks.len(), edges.len() * dim * dim, "one block per edge");
        assert_eq!(factors.len(), edges.len(), "one factor per edge");
        assert!(edges.iter().all(|&(i, j)| i != j), "a block row is not joined with itself");
        let mut offsets = vec![0; num_rows + 1];
        for &(i, j) in edges {
            offsets[i as usize + 1] += 1;
            offsets[j as usize + 1] += 1;
        }
        (0..num_rows).for_each(|row| offsets[row + 1] += offsets[row]);
        let mut next = offsets.clone();
        let mut entries = vec![Entry { column: 0, edge: 0, transposed: false }; 2 * edges.len()];
        for (edge, &(i, j)) in (0_u32..).zip(edges) {
            for (row, column, transposed) in [(i, j, false), (j, i, true)] {
                entries[next[row as usize]] = Entry { column, edge, transposed };
                next[row as usize] += 1;
            }
        }
        let matrix = Self { dim, offsets, entries, factors, blocks: Blocks::PerEdge(Cow::Borrowed(blocks)) };
        if dim <= JOINED_DIM { matrix.joined() } else { matrix }
    }

    /// Lays the blocks of each row side by side.
    fn joined(self) -> Self {
        let Blocks::PerEdge(blocks) = &self.blocks else { return self };
        let size = self.dim * self.dim;
        let mut joined = vec![F::default(); self.entries.len() * size];
        for row in 0..self.num_rows() {
            let entries = self.row(row);
            let target = &mut joined[self.offsets[row] * size..][..entries.len() * size];
            let mut target = view_mut(target, self.dim, entries.len() * self.dim);
            for (position, entry) in entries.iter().enumerate() {
                let block = self.block_of(blocks, entry);
                let factor = self.factors[entry.edge as usize];
                let mut place = target.as_mut().subcols_mut(position * self.dim, self.dim);
                place.copy_from(faer::Scale(factor) * block);
            }
        }
        Self { blocks: Blocks::Joined(joined), ..self }
    }

    /// The same matrix in single precision.
    pub fn to_single(&self) -> BlockMatrix<'static, f32> {
        let single =
            |values: &[F]| -> Vec<f32> { values.par_iter().map(|value| value.to_f64() as f32).collect() };
        let blocks = match &self.blocks {
            Blocks::PerEdge(blocks) => Blocks::PerEdge(Cow::Owned(single(blocks))),
            Blocks::Joined(joined) => Blocks::Joined(single(joined)),
        };
        BlockMatrix {
            dim: self.dim,
            offsets: self.offsets.clone(),
            entries: self.entries.clone(),
            factors: single(&self.factors),
            blocks,
        }
    }

    /// The number of block rows.
    pub fn num_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of rows and columns of one block.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The operations one product with `columns` columns takes.
    pub fn product_flops(&self, columns: usize) -> f64 {
        2.0 * (self.entries.len() * self.dim * self.dim * columns) as f64
    }

    /// Writes the product with the row-major matrix `x` of `columns` columns into `y`.
    pub fn multiply(&self, x: &[F], columns: usize, y: &mut [F]) {
        let block = self.dim * columns;
        y.par_chunks_mut(block).enumerate().with_min_len(4).for_each_init(Vec::new, |gathered, (row, y)| {
            match &self.blocks {
                Blocks::Joined(joined) => self.multiply_joined(joined, row, x, columns, gathered, y),
                Blocks::PerEdge(blocks) => {
                    y.fill(F::default());
                    for entry in self.row(row) {
                        let xj = view(&x[entry.column as usize * block..][..block], self.dim, columns);
                        let factor = self.factors[entry.edge as usize];
                        multiply_add(
                            view_mut(y, self.dim, columns),
                            self.block_of(blocks, entry),
                            xj,
                            factor,
                        );
                    }
                }
            }
        });
    }

    fn multiply_joined(
        &self,
        joined: &[F],
        row: usize,
        x: &[F],
        columns: usize,
        gathered: &mut Vec<F>,
        y: &mut [F],
    ) {
        let block = self.dim * columns;
        gathered.clear();
        for entry in self.row(row) {
            gathered.extend_from_slice(&x[entry.column as usize * block..][..block]);
        }
        let inner = self.row(row).len() * self.dim;
        let size = self.dim * self.dim;
        let left = &joined[self.offsets[row] * size..self.offsets[row + 1] * size];
        multiply(view_mut(y, self.dim, columns), view(left, self.dim, inner), view(gathered, inner, columns));
    }

    /// The matrix with all its zeros, row-major; for small problems.
    pub fn to_dense(&self) -> Vec<F> {
        let size = self.num_rows() * self.dim;
        let mut unit = vec![F::default(); size * size];
        unit.iter_mut().step_by(size + 1).for_each(|entry| *entry = F::of(1.0));
        let mut dense = vec![F::default(); size * size];
        self.multiply(&unit, size, &mut dense);
        dense
    }

    fn row(&self, row: usize) -> &[Entry] {
        &self.entries[self.offsets[row]..self.offsets[row + 1]]
    }

    fn block_of<'b>(&self, blocks: &'b [F], entry: &Entry) -> faer::MatRef<'b, F> {
        let size = self.dim * self.dim;
        let block = view(&blocks[entry.edge as usize * size..][..size], self.dim, self.dim);
        if entry.transposed { block.transpose() } else { block }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product computed entry by entry.
    fn plain(edges: &[(u32, u32)], blocks: &[f64], dim: usize, x: &[f64], columns: usize) -> Vec<f64> {
        let mut y = vec![0.0; x.len()];
        for (edge, &(i, j)) in edges.iter().enumerate() {
            for r in 0..dim {
                for c in 0..dim {
                    let entry = blocks[edge * dim * dim + r * dim + c];
                    for k in 0..columns {
                        y[(i as usize * dim + r) * columns + k] +=
                            entry * x[(j as usize * dim + c) * columns + k];
                        y[(j as usize * dim + c) * columns + k] +=
                            entry * x[(i as usize * dim + r) * columns + k];
                    }
                }
            }
        }
        y
    }

    #[test]
    fn joined_and_single_blocks_give_the_plain_product() {
        let edges = [(0, 1), (2, 1), (0, 3), (3, 2)];
        for dim in [1, 3, JOINED_DIM + 1] {
            let columns = dim + 2;
            let blocks: Vec<f64> = (0..4 * dim * dim).map(|k| (k as f64).sin()).collect();
            let x: Vec<f64> = (0..4 * dim * columns).map(|k| (k as f64).cos()).collect();
            let mut y = vec![f64::NAN; x.len()];
            BlockMatrix::new(4, dim, &edges, &blocks, vec![2.0; 4]).multiply(&x, columns, &mut y);
            let expected = plain(&edges, &blocks, dim, &x, columns);
            assert!(y.iter().zip(&expected).all(|(a, b)| (a - 2.0 * b).abs() < 1e-12), "dim {dim}");
        }
    }

    #[test]
    fn single_precision_gives_the_same_product_to_its_digits() {
        let edges = [(0, 1), (2, 1)];
        for dim in [2, JOINED_DIM + 1] {
            let blocks: Vec<f64> = (0..2 * dim * dim).map(|k| (k as f64).sin()).collect();
            let x: Vec<f64> = (0..3 * dim).map(|k| (k as f64).cos()).collect();
            let matrix = BlockMatrix::new(3, dim, &edges, &blocks, vec![0.5, 3.0]);
            let single_x: Vec<f32> = x.iter().map(|&value| value as f32).collect();
            let (mut y, mut single_y) = (vec![0.0; x.len()], vec![0.0_f32; x.len()]);
            matrix.multiply(&x, 1, &mut y);
            matrix.to_single().multiply(&single_x, 1, &mut single_y);
            assert!(y.iter().zip(single_y).all(|(a, b)| (a - f64::from(b)).abs() < 1e-4), "dim {dim}");
        }
    }

    #[test]
    fn the_dense_matrix_is_symmetric() {
        let blocks: Vec<f64> = (0..8).map(f64::from).collect();
        let dense = BlockMatrix::new(3, 2, &[(0, 1), (1, 2)], &blocks, vec![1.0; 2]).to_dense();
        for i in 0..6 {
            for j in 0..6 {
                assert_eq!(dense[i * 6 + j], dense[j * 6 + i]);
            }
        }
        assert_eq!(dense[3], 1.0);
    }
}
