//! The linear algebra that alignment needs: dense kernels, block-sparse products,
//! sparse Cholesky factors and the leading eigenvectors of a block matrix; and the
//! minimum of a convex function, which classifiers need.
//!
//! Matrices are plain slices in row-major order, of `f64`, or of `f32` where that will do, so
//! that the block of one patch lies in one piece and a tall matrix is at the same time a list of
//! blocks. The arithmetic is done by `faer`, always on the calling thread; the functions here
//! split the work into pieces whose number depends on the size alone and put the results together
//! in the order of the pieces. So one thread and sixteen give the same bits.

pub(crate) mod lanes;

pub mod dense;

pub mod polar;

pub mod tall;

pub mod block_matrix;

pub mod laplacian;

mod ritz;

pub mod eigen;

pub mod filtered;

pub mod lbfgs;

pub mod subspace;
