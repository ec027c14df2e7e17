//! Systems with the weighted Laplacian of a graph, solved by sparse Cholesky.
//!
//! With edge weights `w` and a positive number `δᵢ` added to the diagonal, the matrix
//!
//! ```text
//! Lᵢᵢ = δᵢ + Σⱼ wᵢⱼ,    Lᵢⱼ = -wᵢⱼ
//! ```
//!
//! is positive definite if every component of the graph has one `δᵢ > 0`. It is
//! factored once, after a fill-reducing ordering, and solved for many right-hand sides;
//! their columns are independent, so they are done in parallel. Rings, grids and trees
//! fill in little; random graphs of `n` nodes give a dense core of some `n / 4` rows.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::linalg::cholesky::{LltRef, SymbolicCholesky, factorize_symbolic_cholesky};
use faer::sparse::{SparseColMat, Triplet};
use faer::{Conj, MatMut, Par, Side, Spec};
use rayon::prelude::*;

/// Right-hand sides are solved in groups of this many columns.
const GROUP_COLUMNS: usize = 64;

/// As many groups are held in memory at a time.
const GROUPS_AT_ONCE: usize = 16;

/// The matrix could not be factored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("graph Laplacian is not positive definite: some part of the graph has no node that is held fixed")]
pub struct NotPositiveDefinite;

/// A factored Laplacian.
#[derive(Debug)]
pub struct Cholesky {
    symbolic: SymbolicCholesky<usize>,
    factor: Vec<f64>,
}

impl Cholesky {
    /// Factors the matrix with the given diagonal and, for each edge, `-weight` off the
    /// diagonal.
    ///
    /// # Errors
    /// [`NotPositiveDefinite`] if it is not.
    pub fn new(diagonal: &[f64], edges: &[(u32, u32)], weights: &[f64]) -> Result<Self, NotPositiveDefinite> {
        let lower = edges.iter().copied().zip(weights.iter().copied());
        Self::within(diagonal, lower, usize::MAX)?.ok_or(NotPositiveDefinite)
    }

    /// As [`Cholesky::new`], from edges with their weights; none if the factor would have more
    /// than `max_entries` entries.
    ///
    /// # Errors
    /// As [`Cholesky::new`].
    pub fn within(
        diagonal: &[f64],
        edges: impl Iterator<Item = ((u32, u32), f64)>,
        max_entries: usize,
    ) -> Result<Option<Self>, NotPositiveDefinite> {
        let size = diagonal.len();
        let mut entries: Vec<Triplet<usize, usize, f64>> =
            diagonal.iter().enumerate().map(|(row, &value)| Triplet::new(row, row, value)).collect();
        entries.extend(edges.map(|((i, j), weight)| {
            // Only the lower triangle is read.
            Triplet::new(i.max(j) as usize, i.min(j) as usize, -weight)
        }));
        let matrix = SparseColMat::try_new_from_triplets(size, size, &entries)
            .expect("edges lead to nodes of the graph");
        let symbolic = factorize_symbolic_cholesky(
            matrix.symbolic(),
            Side::Lower,
            Default::default(),
            Default::default(),
        )
        .map_err(|_| NotPositiveDefinite)?;
        if symbolic.len_val() > max_entries {
            return Ok(None);
        }
        let mut factor = vec![0.0; symbolic.len_val()];
        let needed = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Spec::default());
        symbolic
            .factorize_numeric_llt(
                &mut factor,
                matrix.as_ref(),
                Side::Lower,
                Default::default(),
                Par::Seq,
                MemStack::new(&mut MemBuffer::new(needed)),
                Spec::default(),
            )
            .map_err(|_| NotPositiveDefinite)?;
        Ok(Some(Self { symbolic, factor }))
    }

    /// The number of entries in the factor.
    pub fn num_entries(&self) -> usize {
        self.factor.len()
    }

    /// Replaces the row-major right-hand sides by the solutions.
    pub fn solve(&self, right: &mut [f64]) {
        let columns = right.len() / self.symbolic.nrows();
        let firsts: Vec<usize> = (0..columns).step_by(GROUP_COLUMNS).collect();
        for wave in firsts.chunks(GROUPS_AT_ONCE) {
            let shared = &*right;
            let solved: Vec<Vec<f64>> =
                wave.par_iter().map(|&first| self.solve_group(shared, columns, first)).collect();
            let width = |first: usize| GROUP_COLUMNS.min(columns - first);
            right.par_chunks_mut(columns).enumerate().with_min_len(64).for_each(|(row, target)| {
                for (group, &first) in solved.iter().zip(wave) {
                    let rows = self.symbolic.nrows();
                    for column in 0..width(first) {
                        target[first + column] = group[column * rows + row];
                    }
                }
            });
        }
    }

    /// Solves some columns, and returns them column-major.
    fn solve_group(&self, right: &[f64], columns: usize, first: usize) -> Vec<f64> {
        let rows = self.symbolic.nrows();
        let width = GROUP_COLUMNS.min(columns - first);
        let mut group = vec![0.0; rows * width];
        for (row, values) in right.chunks_exact(columns).enumerate() {
            for (column, &value) in values[first..first + width].iter().enumerate() {
                group[column * rows + row] = value;
            }
        }
        let needed = self.symbolic.solve_in_place_scratch::<f64>(width, Par::Seq);
        LltRef::new(&self.symbolic, &self.factor).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(&mut group, rows, width),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(needed)),
        );
        group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(size: u32) -> Vec<(u32, u32)> {
        (0..size).map(|node| (node, (node + 1) % size)).collect()
    }

    #[test]
    fn solutions_satisfy_the_equations() {
        let (size, columns) = (50, 150);
        let edges = ring(size as u32);
        let weights: Vec<f64> = (1..=size).map(|k| k as f64).collect();
        let mut diagonal = vec![0.5; size];
        for (&(i, j), weight) in edges.iter().zip(&weights) {
            diagonal[i as usize] += weight;
            diagonal[j as usize] += weight;
        }
        let right: Vec<f64> = (0..size * columns).map(|k| (k as f64).sin()).collect();
        let mut x = right.clone();
        Cholesky::new(&diagonal, &edges, &weights).unwrap().solve(&mut x);
        for column in 0..columns {
            let at = |row: usize| x[row * columns + column];
            let mut product: Vec<f64> = (0..size).map(|row| diagonal[row] * at(row)).collect();
            for (&(i, j), weight) in edges.iter().zip(&weights) {
                product[i as usize] -= weight * at(j as usize);
                product[j as usize] -= weight * at(i as usize);
            }
            for row in 0..size {
                assert!((product[row] - right[row * columns + column]).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn a_graph_held_by_nothing_is_refused() {
        let error = Cholesky::new(&[1.0, 1.0, 0.0], &[(0, 1)], &[1.0]).unwrap_err();
        assert_eq!(error, NotPositiveDefinite);
    }
}
