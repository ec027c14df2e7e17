//! The training engine: layers, losses and an optimiser, with gradients by hand.
//!
//! A model is a few matrices and a handful of calls to the parts below; each part
//! computes its result forward and, given the gradient of the loss by that result,
//! the gradient by its inputs. There is no tape: a model file spells its backward
//! pass out, in the reverse order of its forward pass.
//!
//! ```text
//! input.rs        X W and its gradient: sparse, dense or identity features
//! encoder.rs      two graph convolutions, made of layer.rs and dense.rs
//! layer.rs        the first convolution, from features
//! propagation.rs  D^-1/2 (A + I) D^-1/2, with bias and activation in the same pass
//! edges.rs        which edges are seen when; validation.rs  those kept out of training
//! masking.rs      the same with some edges hidden, others in every epoch
//! dense.rs        products of full matrices, by faer
//! discriminator.rs  true from shuffled coordinates
//! decoder.rs      the loss on edges and non-edges, forward and backward in one pass
//! pairs.rs        pairs of nodes in an order that suits the cache
//! sampling.rs     non-edges; noise.rs  normal numbers; init.rs  first weights
//! variational.rs  coordinates drawn from means and deviations
//! subspace.rs     leading eigenvectors, from products with a matrix
//! adam.rs         the optimiser; train.rs  the loop over the epochs
//! ```
//!
//! Convention: matrices are row-major, a row is a node, and weights are input x output.
//! Everything is generic over [`Real`](crate::linalg::real::Real): training runs in `f32`, tests compare in `f64`.
//!
//! Threads: work is split by rows of the output, and every number is summed by one
//! thread in an order that does not depend on how many threads there are. So the
//! bytes of a result do not either.

pub(super) mod kernel;

mod matrix;

pub mod adam;

pub mod clock;

pub mod decoder;

pub mod dense;

pub mod discriminator;

pub mod edges;

pub mod encoder;

pub mod init;

pub mod input;

pub mod layer;

pub mod masking;

pub mod noise;

pub mod pairs;

pub mod propagation;

pub mod reduce;

pub mod sampling;

pub mod sparse;

pub mod subspace;

pub mod train;

pub mod validation;

pub mod variational;

#[cfg(test)]
pub(crate) mod fixture;

pub use matrix::Matrix;
pub use sparse::SparseMatrix;
