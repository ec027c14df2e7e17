//! Solving with the Laplacian of a sparse graph, by its Cholesky factor.
//!
//! One node of each component is grounded: its potential is zero, its row and column go.
//! What is left is positive definite. With a fill-reducing order the factor of a path,
//! tree or planar graph stays sparse, and those are the graphs on which conjugate gradients
//! are slow. Each factor and each group of columns is one thread's work, so that rounding does not
//! depend on threads.
//!
//! Cost: time and memory by the entries of the factor; it is made only where they are few.

use crate::linalg::conjugate_gradient::Block;
use crate::linalg::disjoint_sets::DisjointSets;
use crate::linalg::laplacian::Cholesky;

/// The most edges a node for which a factor is tried.
const MAX_EDGES: usize = 12;

/// The most entries of the factor for each node.
const MAX_FILL: usize = 256;

/// The Cholesky factor of a grounded Laplacian.
#[derive(Debug)]
pub(super) struct Factor {
    factor: Cholesky,
    grounded: Vec<bool>,
}

/// The nodes that are grounded: the first of each component.
pub(super) fn grounded_nodes(num_nodes: usize, pairs: &[[u32; 2]]) -> Vec<bool> {
    let mut sets = DisjointSets::<u32>::new(num_nodes);
    pairs.iter().for_each(|&[a, b]| _ = sets.join(a as usize, b as usize));
    (0..num_nodes).map(|node| sets.is_root(node)).collect()
}

impl Factor {
    /// Factors the Laplacian of a graph; none if the graph or its factor is not sparse.
    pub(super) fn of(num_nodes: usize, pairs: &[[u32; 2]], weights: &[f64]) -> Option<Self> {
        if pairs.len() > MAX_EDGES * num_nodes {
            return None;
        }
        let grounded = grounded_nodes(num_nodes, pairs);
        // A grounded node keeps only a one on the diagonal.
        let mut diagonal: Vec<f64> = grounded.iter().map(|&grounded| f64::from(u8::from(grounded))).collect();
        for (pair, &weight) in pairs.iter().zip(weights) {
            for node in pair.map(|node| node as usize).into_iter().filter(|&node| !grounded[node]) {
                diagonal[node] += weight;
            }
        }
        let is_free = |&(&[a, b], _): &(&[u32; 2], &f64)| !grounded[a as usize] && !grounded[b as usize];
        let free = pairs.iter().zip(weights).filter(is_free).map(|(&[a, b], &weight)| ((a, b), weight));
        let factor = Cholesky::within(&diagonal, free, MAX_FILL * num_nodes).ok()??;
        Some(Self { factor, grounded })
    }

    /// Solves `L x = b` for columns that sum to zero on every component; `x` is zero at
    /// the first node of each.
    pub(super) fn solve(&self, mut b: Block) -> Block {
        for (row, _) in b.iter_mut().zip(&self.grounded).filter(|&(_, &grounded)| grounded) {
            row.fill(0.0);
        }
        self.factor.solve(b.as_flattened_mut());
        b
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::conjugate_gradient::{COLUMNS, Laplacian};

    #[test]
    fn the_factor_and_conjugate_gradients_agree_up_to_a_constant_on_each_component() {
        // A ladder, and a pair apart.
        let mut pairs: Vec<[u32; 2]> =
            (0..20).flat_map(|rung| [[2 * rung, 2 * rung + 1], [2 * rung, 2 * rung + 2]]).collect();
        pairs.push([41, 42]);
        pairs.retain(|pair| pair[1] != 40);
        let weights: Vec<f64> = (0..pairs.len()).map(|edge| 0.1 + edge as f64).collect();
        let mut b = vec![[0.0; COLUMNS]; 43];
        // In each column, some current in at a node of its own and out at another.
        (0..COLUMNS).for_each(|column| b[column][column] += 1.0);
        b[30].iter_mut().for_each(|value| *value -= 1.0);
        b[41].iter_mut().for_each(|value| *value += 2.0);
        b[42].iter_mut().for_each(|value| *value -= 2.0);
        let direct = Factor::of(43, &pairs, &weights).unwrap().solve(b.clone());
        let iterated = Laplacian::new(43, &pairs, &weights).solve(b, 1e-12).unwrap();
        for &[i, j] in &pairs {
            for column in 0..COLUMNS {
                let (i, j) = (i as usize, j as usize);
                let one = direct[i][column] - direct[j][column];
                let other = iterated[i][column] - iterated[j][column];
                assert!((one - other).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn dense_graphs_are_not_factored() {
        let complete: Vec<[u32; 2]> = (0..40).flat_map(|b| (0..b).map(move |a| [a, b])).collect();
        assert!(Factor::of(40, &complete, &vec![1.0; complete.len()]).is_none());
    }
}
