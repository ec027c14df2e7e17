//! Solving with the Laplacian of a sparse graph, by its Cholesky factor.
//!
//! One node of each component is grounded: its potential is zero, its row and column go.
//! What is left is positive definite. With a fill-reducing order the factor of a path,
//! tree or planar graph stays sparse, and those are the graphs on which conjugate gradients
//! are slow. All on one thread, so that rounding does not depend on threads.
//!
//! Cost: time and memory by the entries of the factor; it is made only where they are few.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::linalg::cholesky::{LltRef, SymbolicCholesky, factorize_symbolic_cholesky};
use faer::sparse::{SparseColMat, Triplet};
use faer::{Conj, Mat, Par, Side};

use super::forest::Forest;
use super::laplacian::{Block, COLUMNS};

/// The most edges a node for which a factor is tried.
const MAX_EDGES: usize = 12;

/// The most entries of the factor for each node.
const MAX_FILL: usize = 256;

/// The Cholesky factor of a grounded Laplacian.
#[derive(Debug)]
pub(super) struct Factor {
    symbolic: SymbolicCholesky<usize>,
    values: Vec<f64>,
    grounded: Vec<bool>,
}

/// The nodes that are grounded: the first of each component.
pub(super) fn grounded_nodes(num_nodes: usize, pairs: &[[u32; 2]]) -> Vec<bool> {
    let mut forest = Forest::new(num_nodes);
    pairs.iter().for_each(|&[a, b]| _ = forest.join(a, b));
    (0..num_nodes as u32).map(|node| forest.root(node) == node).collect()
}

impl Factor {
    /// Factors the Laplacian of a graph; none if the graph or its factor is not sparse.
    pub(super) fn of(num_nodes: usize, pairs: &[[u32; 2]], weights: &[f64]) -> Option<Self> {
        if pairs.len() > MAX_EDGES * num_nodes {
            return None;
        }
        let grounded = grounded_nodes(num_nodes, pairs);
        let matrix = grounded_laplacian(&grounded, pairs, weights);
        let order = Default::default();
        let symbolic =
            factorize_symbolic_cholesky(matrix.symbolic(), Side::Lower, order, Default::default()).ok()?;
        if symbolic.len_val() > MAX_FILL * num_nodes {
            return None;
        }
        let mut values = vec![0.0; symbolic.len_val()];
        let space = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default());
        let mut memory = MemBuffer::new(space);
        symbolic
            .factorize_numeric_llt(
                &mut values,
                matrix.as_ref(),
                Side::Lower,
                Default::default(),
                Par::Seq,
                MemStack::new(&mut memory),
                Default::default(),
            )
            .ok()?;
        Some(Self { symbolic, values, grounded })
    }

    /// Solves `L x = b` for columns that sum to zero on every component; `x` is zero at
    /// the first node of each.
    pub(super) fn solve(&self, b: &Block) -> Block {
        let mut x = Mat::from_fn(
            b.len(),
            COLUMNS,
            |row, column| {
                if self.grounded[row] { 0.0 } else { b[row][column] }
            },
        );
        let mut memory = MemBuffer::new(self.symbolic.solve_in_place_scratch::<f64>(COLUMNS, Par::Seq));
        let factor = LltRef::new(&self.symbolic, &self.values);
        factor.solve_in_place_with_conj(Conj::No, x.as_mut(), Par::Seq, MemStack::new(&mut memory));
        (0..b.len()).map(|row| std::array::from_fn(|column| x[(row, column)])).collect()
    }
}

/// The lower half of the Laplacian; a grounded node keeps only a one on the diagonal.
fn grounded_laplacian(grounded: &[bool], pairs: &[[u32; 2]], weights: &[f64]) -> SparseColMat<usize, f64> {
    let mut diagonal: Vec<f64> = grounded.iter().map(|&grounded| f64::from(u8::from(grounded))).collect();
    let mut entries = Vec::with_capacity(pairs.len() + diagonal.len());
    for (pair, &weight) in pairs.iter().zip(weights) {
        let [a, b] = pair.map(|node| node as usize);
        for node in [a, b].into_iter().filter(|&node| !grounded[node]) {
            diagonal[node] += weight;
        }
        if !grounded[a] && !grounded[b] {
            entries.push(Triplet::new(a.max(b), a.min(b), -weight));
        }
    }
    entries.extend(diagonal.iter().enumerate().map(|(node, &value)| Triplet::new(node, node, value)));
    SparseColMat::try_new_from_triplets(grounded.len(), grounded.len(), &entries)
        .expect("nodes of edges are below the number of nodes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::laplacian::Laplacian;

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
        let direct = Factor::of(43, &pairs, &weights).unwrap().solve(&b);
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
