//! The numerics that stages share: dense kernels, block-sparse products, systems with graph
//! Laplacians, leading eigenvectors, the minimum of a convex function; and union-find and
//! counting sort.
//!
//! Matrices are plain slices in row-major order, of `f64`, or of `f32` where that will do, so
//! that the block of one patch lies in one piece and a tall matrix is at the same time a list of
//! blocks. The arithmetic is done by `faer`, always on the calling thread; the functions here
//! split the work into pieces whose number depends on the size alone and put the results together
//! in the order of the pieces. So one thread and sixteen give the same bits.

pub use l2g_graph::{disjoint_sets, grouping};

pub mod real;

pub(crate) mod lanes;

pub mod dense;

mod newton_schulz;

pub mod polar;

pub mod tall;

pub mod block_matrix;

pub mod laplacian;

pub mod conjugate_gradient;

mod ritz;

pub mod eigen;

pub mod filtered;

pub mod lbfgs;

pub mod subspace;
