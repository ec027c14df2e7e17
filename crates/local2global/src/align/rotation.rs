//! All rotations at once: eigenvector synchronisation.
//!
//! Every patch has an unknown orthogonal matrix `Sᵢ`, every patch edge a measurement
//! `Rᵢⱼ ≈ Sᵢ Sⱼᵀ` of weight `wᵢⱼ`. With `wᵢ = Σⱼ wᵢⱼ`, the `d` leading eigenvectors of
//!
//! ```text
//! Aᵢⱼ = wᵢⱼ Rᵢⱼ / √(wᵢ wⱼ)
//! ```
//!
//! form a tall matrix with blocks `Uᵢ`, and `Sᵢ` is the orthogonal matrix nearest to
//! `Uᵢ / √wᵢ` (Singer 2011). Without noise the leading eigenvalues are 1, `d` times.
//!
//! *Frames.* With a first guess `Fᵢ` from a spanning tree, `Fᵢᵀ Rᵢⱼ Fⱼ` is near the
//! identity, so `A` is near `G ⊗ 1`, where `G` is the normalised adjacency matrix of the
//! patch graph alone. That gives a start, `√wᵢ` times the identity, and a
//! preconditioner, `(1 + σ - G)⁻¹`: a sparse Cholesky factor of a p x p matrix, in place
//! of the one of a pd x pd matrix that shift-and-invert would need. It is just as good
//! on a ring of a thousand patches as on a random patch graph.
//!
//! *Spreading.* On a long cycle the tree leaves all inconsistency to the one edge that closes
//! it. Before the eigen-solver starts, it is spread evenly, by least squares over the skew
//! parts of the measurements: the same p x p Laplacian as for translations.
//!
//! *Noise.* Where overlaps fit badly, as those of real embeddings do, the leading eigenvalues
//! spread out and the gap after them is narrow. The vectors are then found by filtering
//! ([`leading_filtered`]), and a problem that is not large is decomposed as a whole, which
//! takes less time.
//!
//! Cost: `O(E d³)` per step and some ten steps, with noise some thirty, for `E` patch
//! edges. Randomness: the guard vectors of the eigen-solver, from the stream 0 of the stage.
//!
//! Source: A. Singer, "Angular synchronization by eigenvectors and semidefinite
//! programming", Appl. Comput. Harmon. Anal. 30, 2011; section 3.1 of the paper.

use rand::RngExt;
use rayon::prelude::*;

use super::relative::Relatives;
use super::tree::{frames, spanning_tree, total_weights};
use super::{AlignError, translation};
use crate::linalg::block_matrix::BlockMatrix;
use crate::linalg::dense::{DenseError, multiply, view, view_mut};
use crate::linalg::eigen::{Certificate, EigenError, EigenOptions, LeadingEigen, leading, leading_dense};
use crate::linalg::filtered::leading_filtered;
use crate::linalg::laplacian::Cholesky;
use crate::linalg::polar::{Precision, Workspace};
use crate::seed::{Seed, Stage};

/// Up to this many rows, or this many patches, the whole matrix is decomposed.
const DENSE_ROWS: usize = 256;
const DENSE_PATCHES: usize = 6;

/// Vectors more than wanted that the eigen-solver carries along.
const GUARDS: usize = 2;

/// From this inconsistency on the leading eigenvalues spread out and the gap after them
/// is small, and the vectors are found by filtering, with half as many guards as wanted ones.
const NOISY: f64 = 0.05;

/// Columns that the kernels of matrix products take at a time, in single precision.
const KERNEL_COLUMNS: usize = 24;

/// Filtering gives up after so many products.
const MAX_PRODUCTS: usize = 5000;

/// Filtering a noisy problem costs about this many times `n m (2 d E / p + m)` operations: some sixty
/// block products and fourteen products of tall matrices a round. It is compared with the `n³` of a
/// dense decomposition.
const FILTER_COST: f64 = 40.0;

/// The eigen-solver gives up after so many steps, and the vectors are found as in noisy problems.
const MAX_STEPS: usize = 60;

/// From this inconsistency on nothing is spread: first-order corrections are of no use there.
const FIRST_ORDER: f64 = 0.3;

/// From this inconsistency on spreading is repeated, since it is exact to first order only.
const LARGE_CYCLE: f64 = 0.05;

/// The preconditioner is never closer to singular than this.
const MIN_SHIFT: f64 = 1e-6;

/// Eigenvectors that may be off by more than this angle leave only a few digits of the rotations, and
/// single precision may be used for those.
const OPEN_ANGLE: f64 = 1e-2;

/// The rotations of all patches.
#[derive(Clone, Debug)]
pub struct Rotations {
    /// One row-major orthogonal matrix per patch; `Xᵢ Sᵢ` undoes the rotation of patch
    /// `i`.
    pub matrices: Vec<f64>,
    /// For each edge the inconsistency of the cycle that it closes over the spanning
    /// tree; zero for edges of the tree.
    pub cycles: Vec<f64>,
    /// The leading eigenvalues, descending.
    pub eigenvalues: Vec<f64>,
    /// How well the eigenvectors are known.
    pub certificate: Certificate,
    /// How far the rotations are from the nearest ones to the blocks of the eigenvectors, as an angle.
    pub projection_error: f64,
}

/// How rotations are sought.
#[derive(Clone, Copy, Debug)]
pub struct RotationOptions {
    /// The largest angle by which the eigenvectors may be off.
    pub tolerance: f64,
    /// The seed of the guard vectors.
    pub seed: Seed,
    /// Which eigen-solver is used.
    pub solver: Solver,
}

/// An eigen-solver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solver {
    /// The dense one for small problems, otherwise the iteration.
    #[default]
    BySize,
    /// The whole matrix is decomposed, at a cost of `O((p d)³)`; for comparison.
    Dense,
}

/// Finds all rotations.
///
/// The measurements are turned in place into the frames of a spanning tree, and
/// turned back into those of the solution: afterwards `relatives` holds `Sᵢᵀ Rᵢⱼ Sⱼ`,
/// whose distance to the identity is what the solution leaves unexplained.
///
/// # Errors
/// [`AlignError::Rotations`] if the eigenvectors cannot be found to the tolerance.
pub fn synchronise(
    relatives: &mut Relatives,
    weights: &[f64],
    options: &RotationOptions,
) -> Result<Rotations, AlignError> {
    let dim = relatives.dim;
    let tree = spanning_tree(relatives.num_patches, &relatives.edges, weights);
    let mut matrices = frames(&tree, relatives);
    turn_into(&matrices, relatives);
    let cycles = inconsistencies(relatives);
    if !is_small(relatives) && mean_inconsistency(relatives, weights) < FIRST_ORDER {
        let laplacian = translation::factored(relatives.num_patches, &relatives.edges, weights)?;
        let worst = cycles.iter().copied().fold(0.0, f64::max);
        let rounds = if worst > LARGE_CYCLE { 2 } else { 1 };
        for _ in 0..rounds {
            let turns = spreading_turns(relatives, weights, &laplacian)?;
            turn_into(&turns, relatives);
            chain(&mut matrices, &turns, dim);
        }
    }
    let eigen = eigenvectors(relatives, weights, options)?;
    let open = eigen.certificate.angle > OPEN_ANGLE;
    let precision = if open { relatives.precision } else { Precision::Double };
    let (turns, projection_error) = nearest_blocks(&eigen.vectors, dim, precision)?;
    turn_into(&turns, relatives);
    chain(&mut matrices, &turns, dim);
    let (eigenvalues, certificate) = (eigen.values, eigen.certificate);
    Ok(Rotations { matrices, cycles, eigenvalues, certificate, projection_error })
}

/// How far each measurement, seen in the frames of its patches, is from the identity:
/// `‖Rᵢⱼ - 1‖ / 2√d`, from 0 to 1; two random rotations give about 0.7.
pub fn inconsistencies(relatives: &Relatives) -> Vec<f64> {
    let dim = relatives.dim;
    let distance = |rotation: &[f64]| {
        let squares = rotation.iter().enumerate().map(|(at, entry)| {
            let unit = f64::from(u8::from(at % (dim + 1) == 0));
            (entry - unit) * (entry - unit)
        });
        squares.sum::<f64>().sqrt() / (2.0 * (dim as f64).sqrt())
    };
    relatives.rotations.par_chunks(dim * dim).map(distance).collect()
}

/// Whether the whole matrix is decomposed.
fn is_small(relatives: &Relatives) -> bool {
    let num_patches = relatives.num_patches;
    num_patches * relatives.dim <= DENSE_ROWS || num_patches <= DENSE_PATCHES
}

/// Small turns of all patches that spread what the frames leave unexplained evenly over
/// the patch graph: to first order, turns `1 + aᵢ` make `Rᵢⱼ = 1 + Eᵢⱼ` into
/// `1 + Eᵢⱼ - aᵢ + aⱼ`, and least squares over the skew parts of `E` gives the `a`.
fn spreading_turns(
    relatives: &Relatives,
    weights: &[f64],
    laplacian: &Cholesky,
) -> Result<Vec<f64>, AlignError> {
    let (num_patches, dim) = (relatives.num_patches, relatives.dim);
    let size = dim * dim;
    let mut turns = vec![0.0; num_patches * size];
    for (edge, (&(i, j), weight)) in relatives.edges.iter().zip(weights).enumerate() {
        let rotation = relatives.rotation(edge);
        for at in 0..size {
            let skew = 0.5 * weight * (rotation[at] - rotation[at % dim * dim + at / dim]);
            turns[i as usize * size + at] += skew;
            turns[j as usize * size + at] -= skew;
        }
    }
    laplacian.solve(&mut turns);
    turns
        .par_chunks_mut(size)
        .for_each(|turn| turn.iter_mut().step_by(dim + 1).for_each(|entry| *entry += 1.0));
    Ok(nearest_blocks(&turns, dim, Precision::Double)?.0)
}

/// Replaces every `Rᵢⱼ` by `Fᵢᵀ Rᵢⱼ Fⱼ`.
pub(super) fn turn_into(frames: &[f64], relatives: &mut Relatives) {
    let dim = relatives.dim;
    let frame = |patch: u32| view(&frames[patch as usize * dim * dim..][..dim * dim], dim, dim);
    relatives.rotations.par_chunks_mut(dim * dim).zip(&relatives.edges).for_each_init(
        || vec![0.0; dim * dim],
        |half, (rotation, &(i, j))| {
            multiply(view_mut(half, dim, dim), frame(i).transpose(), view(rotation, dim, dim));
            multiply(view_mut(rotation, dim, dim), view(half, dim, dim), frame(j));
        },
    );
}

/// Takes the rounding errors out of orthogonal matrices. Rotations that are chained over the tree
/// and turned into its frames again and again would lose orthogonality by a factor each time.
pub(super) fn straighten(matrices: &mut [f64], dim: usize) {
    let blocks = matrices.par_chunks_mut(dim * dim);
    blocks.for_each_init(|| Workspace::new(dim), |workspace, matrix| workspace.straighten(matrix));
}

/// `Sᵢ ← Sᵢ Qᵢ` for all patches.
pub(super) fn chain(matrices: &mut [f64], turns: &[f64], dim: usize) {
    let size = dim * dim;
    let pairs = matrices.par_chunks_mut(size).zip(turns.par_chunks(size));
    pairs.for_each_init(Vec::new, |old, (matrix, turn)| turn_by(matrix, turn, dim, old));
}

/// `S ← S Q`; `old` is memory.
fn turn_by(matrix: &mut [f64], turn: &[f64], dim: usize, old: &mut Vec<f64>) {
    old.clear();
    old.extend_from_slice(matrix);
    multiply(view_mut(matrix, dim, dim), view(old, dim, dim), view(turn, dim, dim));
}

/// Turns all patches together so that the first keeps its orientation.
pub(super) fn keep_first(matrices: &mut [f64], dim: usize) {
    let first = view(&matrices[..dim * dim], dim, dim).transpose().to_owned();
    let back: Vec<f64> = (0..dim * dim).map(|at| first[(at / dim, at % dim)]).collect();
    let blocks = matrices.par_chunks_mut(dim * dim);
    blocks.for_each_init(Vec::new, |old, matrix| turn_by(matrix, &back, dim, old));
}

fn eigenvectors(
    relatives: &Relatives,
    weights: &[f64],
    options: &RotationOptions,
) -> Result<LeadingEigen, AlignError> {
    let (num_patches, dim) = (relatives.num_patches, relatives.dim);
    let totals = total_weights(num_patches, &relatives.edges, weights);
    let factors: Vec<f64> = relatives
        .edges
        .iter()
        .zip(weights)
        .map(|(&(i, j), weight)| weight / (totals[i as usize] * totals[j as usize]).sqrt())
        .collect();
    let matrix = BlockMatrix::new(num_patches, dim, &relatives.edges, &relatives.rotations, factors.clone());
    let eigen_options = EigenOptions {
        wanted: dim,
        tolerance: options.tolerance,
        max_steps: MAX_STEPS,
        precision: relatives.precision,
    };
    if is_small(relatives) || options.solver == Solver::Dense {
        return Ok(leading_dense(&matrix, &eigen_options)?);
    }
    let roots = unit_roots(&totals);
    let inconsistency = mean_inconsistency(relatives, weights);
    let noisy = inconsistency > NOISY;
    let shift = (0.1 * inconsistency).max(MIN_SHIFT);
    let scalar = Cholesky::new(&vec![1.0 + shift; num_patches], &relatives.edges, &factors)?;
    let start = |num_guards| start(&roots, dim, num_guards, &scalar, options.seed);
    if !noisy {
        let precondition = |residual: &mut [f64]| scalar.solve(residual);
        match leading(&matrix, start(GUARDS), dim + GUARDS, precondition, &eigen_options) {
            // Measurements that agree in most directions and contradict each other in a few.
            Err(EigenError::NotConverged { .. }) => {}
            found => return Ok(found?),
        }
    }
    let num_guards = guards_for_filtering(dim);
    if dense_is_cheaper(relatives, dim + num_guards) {
        return Ok(leading_dense(&matrix, &eigen_options)?);
    }
    let options = EigenOptions { max_steps: MAX_PRODUCTS, ..eigen_options };
    Ok(leading_filtered(&matrix, start(num_guards), dim + num_guards, &options)?)
}

/// Half as many guards as wanted vectors; in higher dimensions a few less, so that the kernels of
/// products, which take `KERNEL_COLUMNS` columns at a time, have no rest.
fn guards_for_filtering(dim: usize) -> usize {
    let columns = dim + dim / 2 + GUARDS;
    if dim < 2 * KERNEL_COLUMNS { columns - dim } else { columns / KERNEL_COLUMNS * KERNEL_COLUMNS - dim }
}

/// Whether decomposing a noisy problem as a whole, `n³`, costs less than filtering.
fn dense_is_cheaper(relatives: &Relatives, columns: usize) -> bool {
    let (n, m) = ((relatives.num_patches * relatives.dim) as f64, columns as f64);
    let row_entries = 2.0 * (relatives.num_edges() * relatives.dim) as f64 / relatives.num_patches as f64;
    n.powi(3) < FILTER_COST * n * m * (row_entries + m)
}

/// `√wᵢ`, as a unit vector: the leading eigenvector of the patch graph alone.
fn unit_roots(totals: &[f64]) -> Vec<f64> {
    let sum: f64 = totals.iter().sum();
    totals.iter().map(|total| (total / sum).sqrt()).collect()
}

/// One minus the mean Ritz value of the start: what the frames leave unexplained.
fn mean_inconsistency(relatives: &Relatives, weights: &[f64]) -> f64 {
    let dim = relatives.dim;
    let sum: f64 = weights.iter().sum();
    let unexplained: f64 = (0..relatives.num_edges())
        .map(|edge| {
            let trace: f64 = relatives.rotation(edge).iter().step_by(dim + 1).sum();
            weights[edge] * (1.0 - trace / dim as f64)
        })
        .sum();
    unexplained / sum
}

/// The start of the eigen-solver: `√wᵢ` times the identity, and as guards slow modes of
/// the patch graph in random directions.
fn start(roots: &[f64], dim: usize, num_guards: usize, scalar: &Cholesky, seed: Seed) -> Vec<f64> {
    let mut random = seed.stream(Stage::Align, 0);
    let mut modes: Vec<f64> = (0..roots.len() * num_guards).map(|_| random.random::<f64>() - 0.5).collect();
    for _ in 0..3 {
        scalar.solve(&mut modes);
        remove_and_scale(&mut modes, roots);
    }
    let directions: Vec<f64> =
        (0..dim * num_guards).map(|_| random.sample::<f64, _>(rand_distr::StandardNormal)).collect();
    let columns = dim + num_guards;
    let mut start = vec![0.0; roots.len() * dim * columns];
    start.par_chunks_exact_mut(dim * columns).enumerate().for_each(|(patch, block)| {
        for (k, row) in block.chunks_exact_mut(columns).enumerate() {
            row[k] = roots[patch];
            for guard in 0..num_guards {
                row[dim + guard] = modes[patch * num_guards + guard] * directions[k * num_guards + guard];
            }
        }
    });
    start
}

/// Takes the leading vector out of each mode, and scales the modes to length one.
fn remove_and_scale(modes: &mut [f64], roots: &[f64]) {
    let num_guards = modes.len() / roots.len();
    for guard in 0..num_guards {
        let along: f64 = modes.iter().skip(guard).step_by(num_guards).zip(roots).map(|(a, b)| a * b).sum();
        let mut column: Vec<&mut f64> = modes.iter_mut().skip(guard).step_by(num_guards).collect();
        column.iter_mut().zip(roots).for_each(|(value, root)| **value -= along * root);
        let norm = column.iter().map(|value| **value * **value).sum::<f64>().sqrt();
        column.iter_mut().for_each(|value| **value /= norm);
    }
}

/// The orthogonal matrices nearest to the blocks of a tall matrix, and the largest error of one.
fn nearest_blocks(vectors: &[f64], dim: usize, precision: Precision) -> Result<(Vec<f64>, f64), DenseError> {
    let size = dim * dim;
    let mut nearest = vec![0.0; vectors.len()];
    let errors: Vec<f64> = nearest
        .par_chunks_mut(size)
        .zip(vectors.par_chunks(size))
        .map_init(
            || Workspace::with_precision(dim, precision),
            |workspace, (nearest, block)| {
                workspace.nearest_roughly(block, nearest)?;
                Ok(workspace.error_of(block, nearest))
            },
        )
        .collect::<Result<_, DenseError>>()?;
    Ok((nearest, errors.into_iter().fold(0.0, f64::max)))
}
