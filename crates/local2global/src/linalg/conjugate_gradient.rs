//! Systems with the Laplacian of a weighted graph, solved by conjugate gradients.
//!
//! `L = D - W`, with the sums of weights on the diagonal. `L` is singular: its null space
//! is spanned by the indicators of the components. For right-hand sides that sum to zero
//! on every component, conjugate gradients never leave the complement and converge as if
//! it were not. The preconditioner is the diagonal, which does well where the graph has
//! many edges a node; graphs with few are better solved by their factor.
//!
//! Sixteen columns are solved at once, each with its own step lengths, so that a look at
//! a weight serves all of them.
//!
//! Cost: `O(E)` a step and column; steps grow with the square root of the condition number.
//!
//! Source: Hestenes, Stiefel, "Methods of conjugate gradients for solving linear systems",
//! J. Res. Natl. Bur. Stand. 49, 1952.

use super::grouping::Grouped;

/// The number of columns solved at once.
pub const COLUMNS: usize = 16;

/// Some columns of a matrix, row by row.
pub type Block = Vec<[f64; COLUMNS]>;

/// Conjugate gradients came not close enough to the solution.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "conjugate gradients did not converge in {iterations} steps (residual {residual:.1e}, needed {tolerance:.1e})"
)]
pub struct NotConverged {
    /// Steps that were taken.
    pub iterations: usize,
    /// The largest residual of a column, relative to its right-hand side.
    pub residual: f64,
    /// The largest residual that is accepted.
    pub tolerance: f64,
}

/// The Laplacian of a weighted graph, in compressed rows.
#[derive(Debug)]
pub struct Laplacian {
    rows: Grouped<(u32, f64)>,
    diagonal: Vec<f64>,
}

impl Laplacian {
    /// The Laplacian of a graph with the given edges and positive weights.
    pub fn new(num_nodes: usize, pairs: &[[u32; 2]], weights: &[f64]) -> Self {
        let ends = pairs.iter().zip(weights).flat_map(|(&[a, b], &weight)| [(a, b, weight), (b, a, weight)]);
        let mut diagonal = vec![0.0; num_nodes];
        ends.clone().for_each(|(from, _, weight)| diagonal[from as usize] += weight);
        let rows = Grouped::new(num_nodes, ends.map(|(from, to, weight)| (from as usize, (to, weight))));
        Self { rows, diagonal }
    }

    /// `y = L x`.
    fn apply(&self, x: &Block, y: &mut Block) {
        for (row, out) in y.iter_mut().enumerate() {
            let mut sum = x[row].map(|value| value * self.diagonal[row]);
            for &(to, weight) in self.rows.group(row) {
                let other = &x[to as usize];
                (0..COLUMNS).for_each(|column| sum[column] -= weight * other[column]);
            }
            *out = sum;
        }
    }

    /// Solves `L x = b` for columns that sum to zero on every component.
    ///
    /// # Errors
    /// [`NotConverged`] if some residual stays above `tolerance ‖b‖`.
    pub fn solve(&self, b: Block, tolerance: f64) -> Result<Block, NotConverged> {
        let num_nodes = self.diagonal.len();
        let max_iterations = 200 + 20 * num_nodes;
        let inverse: Vec<f64> = self.diagonal.iter().map(|&d| if d > 0.0 { 1.0 / d } else { 0.0 }).collect();
        let goal = dot(&b, &b).map(|square| square * tolerance * tolerance);
        let mut x: Block = vec![[0.0; COLUMNS]; num_nodes];
        let mut residual = b;
        let mut direction = preconditioned(&inverse, &residual);
        let mut energy = dot(&residual, &direction);
        let mut image = vec![[0.0; COLUMNS]; num_nodes];
        let mut worst = f64::INFINITY;
        for _ in 0..max_iterations {
            self.apply(&direction, &mut image);
            let step = ratio(energy, dot(&direction, &image));
            add(&mut x, step, &direction);
            add(&mut residual, step.map(|step| -step), &image);
            let squares = dot(&residual, &residual);
            worst = (0..COLUMNS).map(|column| ratio_of(squares[column], goal[column])).fold(0.0, f64::max);
            if worst <= 1.0 {
                return Ok(x);
            }
            let scaled = preconditioned(&inverse, &residual);
            let next_energy = dot(&residual, &scaled);
            let factor = ratio(next_energy, energy);
            energy = next_energy;
            for (row, scaled) in direction.iter_mut().zip(&scaled) {
                (0..COLUMNS).for_each(|column| row[column] = scaled[column] + factor[column] * row[column]);
            }
        }
        let residual = worst.sqrt() * tolerance;
        Err(NotConverged { iterations: max_iterations, residual, tolerance })
    }
}

/// The products of corresponding columns.
fn dot(a: &Block, b: &Block) -> [f64; COLUMNS] {
    let mut sums = [0.0; COLUMNS];
    for (a, b) in a.iter().zip(b) {
        (0..COLUMNS).for_each(|column| sums[column] += a[column] * b[column]);
    }
    sums
}

/// `x += step y`, with a step for each column.
fn add(x: &mut Block, step: [f64; COLUMNS], y: &Block) {
    for (x, y) in x.iter_mut().zip(y) {
        (0..COLUMNS).for_each(|column| x[column] += step[column] * y[column]);
    }
}

fn preconditioned(inverse: &[f64], x: &Block) -> Block {
    x.iter().zip(inverse).map(|(row, &scale)| row.map(|value| value * scale)).collect()
}

/// Quotients; zero where a column is solved already and both are zero.
fn ratio(a: [f64; COLUMNS], b: [f64; COLUMNS]) -> [f64; COLUMNS] {
    std::array::from_fn(|column| ratio_of(a[column], b[column]))
}

fn ratio_of(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a / b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_satisfy_the_equations_on_every_component() {
        // A triangle with a tail, and a pair apart, and a lone node.
        let pairs = [[0, 1], [1, 2], [0, 2], [2, 3], [4, 5]];
        let laplacian = Laplacian::new(7, &pairs, &[1.0, 2.0, 0.5, 0.1, 3.0]);
        let mut b = vec![[0.0; COLUMNS]; 7];
        for column in 0..COLUMNS - 1 {
            b[0][column] += 1.0;
            b[column % 4][column] -= 1.0;
            b[4][column] += column as f64;
            b[5][column] -= column as f64;
        }
        let x = laplacian.solve(b.clone(), 1e-10).unwrap();
        let mut image = b.clone();
        laplacian.apply(&x, &mut image);
        for (found, wanted) in image.iter().flatten().zip(b.iter().flatten()) {
            assert!((found - wanted).abs() < 1e-8);
        }
    }
}
