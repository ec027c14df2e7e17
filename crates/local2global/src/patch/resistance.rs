//! Effective resistance between joined patches.
//!
//! Let every edge be a wire that conducts `c(i, j)`. The effective resistance is the
//! voltage between `i` and `j` when one unit of current flows from one to the other,
//!
//! ```text
//! r(i, j) = (eᵢ - eⱼ)ᵀ L⁺ (eᵢ - eⱼ),    L the Laplacian with weights c.
//! ```
//!
//! Up to [`EXACT_LIMIT`] patches it is exact: one patch of each group is grounded, and
//! what is left of `L` is inverted through its Cholesky factor. Above, a random
//! projection estimates it: with `Q` a matrix of `q` rows of random signs over `√q`, and
//! `B` the signed incidence matrix,
//!
//! ```text
//! r(i, j) ≈ ‖Z eᵢ - Z eⱼ‖²,    Z = Q C^½ B L⁺,
//! ```
//!
//! where the rows of `Z` are solutions of Laplacian systems: by a sparse Cholesky factor
//! where the graph has few edges and the factor stays sparse, else by preconditioned
//! conjugate gradients. The relative standard deviation is `√(2/q)`, 12.5 % for the 128
//! rows used: enough for the weights of a draw.
//!
//! Cost: `O(p³)` time and `p²` numbers up to the limit; above, 128 solves, `O(E)` a step,
//! and some 16 numbers a patch and thread, never `p x p`. The same on any number of threads.
//!
//! Source: Spielman, Srivastava, "Graph sparsification by effective resistances", SIAM J.
//! Comput. 40, 2011.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::{factor, inverse};
use faer::{Mat, Par};
use rand::Rng;
use rayon::prelude::*;

use super::PatchError;
use super::direct::{Factor, grounded_nodes};
use crate::linalg::conjugate_gradient::{Block, COLUMNS, Laplacian};

/// Resistances are exact up to this many patches.
pub const EXACT_LIMIT: usize = 1000;

/// How many times 64 rows the projection has.
const ROUNDS: usize = 2;

/// The relative residual to which the systems are solved; far below the deviation of
/// the projection.
const TOLERANCE: f64 = 1e-4;

/// The effective resistance of every edge.
///
/// `random` is used only where the number of patches is above [`EXACT_LIMIT`].
///
/// # Errors
/// [`PatchError::NotConverged`] if a system cannot be solved.
///
/// # Examples
/// ```
/// use local2global::patch::resistance::effective_resistances;
/// use local2global::seed::{Seed, Stage};
///
/// // Two wires of resistance 1 beside one of resistance 2: r = 1.
/// let triangle = [[0, 1], [0, 2], [1, 2]];
/// let mut random = Seed(1).stream(Stage::Sparsify, 0);
/// let r = effective_resistances(3, &triangle, &[0.5, 1.0, 1.0], &mut random)?;
/// assert!((r[0] - 1.0).abs() < 1e-12);
/// # Ok::<(), local2global::patch::PatchError>(())
/// ```
pub fn effective_resistances(
    num_patches: usize,
    pairs: &[[u32; 2]],
    conductances: &[f64],
    random: &mut impl Rng,
) -> Result<Vec<f64>, PatchError> {
    match num_patches <= EXACT_LIMIT {
        true => Ok(exact(num_patches, pairs, conductances)),
        false => projected(num_patches, pairs, conductances, random),
    }
}

/// Exact resistances, by the inverse of the grounded Laplacian.
fn exact(num_patches: usize, pairs: &[[u32; 2]], conductances: &[f64]) -> Vec<f64> {
    let grounded = grounded_nodes(num_patches, pairs);
    let mut laplacian = Mat::<f64>::zeros(num_patches, num_patches);
    for (&[a, b], &conductance) in pairs.iter().zip(conductances) {
        let (a, b) = (a as usize, b as usize);
        laplacian[(a, a)] += conductance;
        laplacian[(b, b)] += conductance;
        if !grounded[a] && !grounded[b] {
            laplacian[(a, b)] -= conductance;
            laplacian[(b, a)] -= conductance;
        }
    }
    // A grounded patch has potential zero: no column, and no part in the others.
    (0..num_patches).filter(|&patch| grounded[patch]).for_each(|patch| laplacian[(patch, patch)] = 1.0);
    let inverse = inverse_of(laplacian);
    let potential = |a: usize, b: usize| if grounded[a] || grounded[b] { 0.0 } else { inverse[(a, b)] };
    let resistance = |&[a, b]: &[u32; 2]| {
        let (a, b) = (a as usize, b as usize);
        potential(a, a) + potential(b, b) - 2.0 * potential(a.max(b), a.min(b))
    };
    pairs.iter().map(resistance).collect()
}

/// The inverse of a positive definite matrix, in its lower half; on one thread, so that
/// rounding does not depend on threads.
fn inverse_of(mut matrix: Mat<f64>) -> Mat<f64> {
    let len = matrix.nrows();
    let mut inverted = Mat::zeros(len, len);
    let space = factor::cholesky_in_place_scratch::<f64>(len, Par::Seq, Default::default())
        .or(inverse::inverse_scratch::<f64>(len, Par::Seq));
    let mut memory = MemBuffer::new(space);
    let stack = MemStack::new(&mut memory);
    factor::cholesky_in_place(matrix.as_mut(), Default::default(), Par::Seq, stack, Default::default())
        .expect("a grounded Laplacian is positive definite");
    inverse::inverse(inverted.as_mut(), matrix.as_ref(), Par::Seq, stack);
    inverted
}

/// Estimated resistances, by random projection.
fn projected(
    num_patches: usize,
    pairs: &[[u32; 2]],
    conductances: &[f64],
    random: &mut impl Rng,
) -> Result<Vec<f64>, PatchError> {
    let solver = Solver::of(num_patches, pairs, conductances);
    let mut resistances = vec![0.0; pairs.len()];
    for _ in 0..ROUNDS {
        // One bit a row of the projection.
        let signs: Vec<u64> = pairs.iter().map(|_| random.next_u64()).collect();
        let solved: Result<Vec<Block>, PatchError> = (0..64 / COLUMNS)
            .into_par_iter()
            .map(|part| {
                let bits = |edge: usize| (signs[edge] >> (part * COLUMNS)) as u16;
                solver.solve(projection(num_patches, pairs, conductances, bits))
            })
            .collect();
        for rows in solved? {
            resistances.par_iter_mut().zip(pairs).for_each(|(resistance, &[a, b])| {
                let (za, zb) = (&rows[a as usize], &rows[b as usize]);
                *resistance += za.iter().zip(zb).map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
            });
        }
    }
    Ok(resistances)
}

/// What solves the Laplacian systems.
enum Solver {
    Direct(Box<Factor>),
    Iterative(Laplacian),
}

impl Solver {
    fn of(num_patches: usize, pairs: &[[u32; 2]], conductances: &[f64]) -> Self {
        match Factor::of(num_patches, pairs, conductances) {
            Some(factor) => Self::Direct(Box::new(factor)),
            None => Self::Iterative(Laplacian::new(num_patches, pairs, conductances)),
        }
    }

    fn solve(&self, b: Block) -> Result<Block, PatchError> {
        match self {
            Self::Direct(factor) => Ok(factor.solve(b)),
            Self::Iterative(laplacian) => Ok(laplacian.solve(b, TOLERANCE)?),
        }
    }
}

/// Columns of `Bᵀ C^½ Qᵀ`: each edge sends a current of random sign.
fn projection(
    num_patches: usize,
    pairs: &[[u32; 2]],
    conductances: &[f64],
    bits: impl Fn(usize) -> u16,
) -> Block {
    let mut block: Block = vec![[0.0; COLUMNS]; num_patches];
    for (edge, (&[a, b], &conductance)) in pairs.iter().zip(conductances).enumerate() {
        let current = (conductance / (64 * ROUNDS) as f64).sqrt();
        let bits = bits(edge);
        let signed = |column: usize| if bits >> column & 1 == 1 { current } else { -current };
        (0..COLUMNS).for_each(|column| {
            block[a as usize][column] += signed(column);
            block[b as usize][column] -= signed(column);
        });
    }
    block
}

#[cfg(test)]
mod tests {
    use faer::Side;
    use rand::RngExt;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::seed::{Seed, Stage};

    fn random(index: u64) -> ChaCha8Rng {
        Seed(4).stream(Stage::Sparsify, index)
    }

    /// Every pair with some probability, in `groups` groups that are not joined.
    fn random_graph(num_patches: u32, groups: u32, index: u64) -> (Vec<[u32; 2]>, Vec<f64>) {
        let mut random = random(index);
        let all = (0..num_patches).flat_map(|b| (0..b).map(move |a| [a, b]));
        let pairs: Vec<_> =
            all.filter(|[a, b]| a % groups == b % groups && random.random_bool(0.3)).collect();
        let weights = pairs.iter().map(|_| random.random_range(0.01..1.0)).collect();
        (pairs, weights)
    }

    /// By the definition: eigenvectors of the Laplacian whose eigenvalue is not zero.
    fn by_pseudo_inverse(num_patches: usize, pairs: &[[u32; 2]], weights: &[f64]) -> Vec<f64> {
        let mut laplacian = Mat::<f64>::zeros(num_patches, num_patches);
        for (&[a, b], &weight) in pairs.iter().zip(weights) {
            for (i, j, sign) in [(a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)] {
                laplacian[(i as usize, j as usize)] += sign * weight;
            }
        }
        let eigen = laplacian.self_adjoint_eigen(Side::Lower).unwrap();
        let (vectors, values) = (eigen.U(), eigen.S());
        let resistance = |&[a, b]: &[u32; 2]| {
            let part = |k: usize| {
                let difference = vectors[(a as usize, k)] - vectors[(b as usize, k)];
                if values[k] > 1e-9 { difference * difference / values[k] } else { 0.0 }
            };
            (0..num_patches).map(part).sum()
        };
        pairs.iter().map(resistance).collect()
    }

    #[test]
    fn exact_resistances_equal_the_pseudo_inverse() {
        for (case, groups) in [(0, 1), (1, 1), (2, 3)] {
            let (pairs, weights) = random_graph(40, groups, case);
            let expected = by_pseudo_inverse(40, &pairs, &weights);
            for (found, expected) in exact(40, &pairs, &weights).iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-9 * expected.max(1.0), "case {case}");
            }
        }
    }

    #[test]
    fn projected_resistances_are_close_to_exact_ones() {
        for (case, groups) in [(0, 1), (2, 3)] {
            let (pairs, weights) = random_graph(80, groups, case);
            let expected = exact(80, &pairs, &weights);
            let found = projected(80, &pairs, &weights, &mut random(9)).unwrap();
            let errors: Vec<f64> = found.iter().zip(&expected).map(|(f, e)| f / e - 1.0).collect();
            let mean = errors.iter().sum::<f64>() / errors.len() as f64;
            let deviation = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt();
            assert!(mean.abs() < 0.03 && deviation < 0.15, "case {case}: {mean} {deviation}");
            // Six standard deviations.
            assert!(errors.iter().all(|error| error.abs() < 0.75), "case {case}");
        }
    }

    #[test]
    fn a_long_chain_is_estimated_as_well() {
        let pairs: Vec<[u32; 2]> = (1..3000).map(|patch| [patch - 1, patch]).collect();
        let weights: Vec<f64> = (1..3000).map(|edge| 0.5 + f64::from(edge % 7)).collect();
        let found = effective_resistances(3000, &pairs, &weights, &mut random(3)).unwrap();
        assert!(found.iter().zip(&weights).all(|(r, c)| (r * c - 1.0).abs() < 0.75));
    }

    #[test]
    fn weights_times_resistances_add_up_to_the_edges_of_a_tree() {
        let (pairs, weights) = random_graph(50, 1, 5);
        let total: f64 = exact(50, &pairs, &weights).iter().zip(&weights).map(|(r, c)| r * c).sum();
        assert!((total - 49.0).abs() < 1e-9);
    }
}
