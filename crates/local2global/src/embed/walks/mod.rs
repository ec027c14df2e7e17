//! Coordinates from random walks, for graphs without features.
//!
//! Two nodes are alike if short random walks from both reach the same parts of the graph.
//! With transition probabilities `P = D^-1 A`, a window `T` and a shift `b`, the matrix
//!
//! ```text
//! M = log max(1, vol / (b T) · Σ_{r=1..T} P^r D^-1)
//! ```
//!
//! says how much likelier a walk from `i` meets `j` than chance has it; its leading
//! eigenvectors are what skip-gram models of walks approximate (Qiu et al. 2018). `M` is far too
//! large and dense to make, so walks end in `K` small clusters instead of nodes, and what is
//! outside of a patch is known by clusters only:
//!
//! ```text
//! clusters.rs  the clusters: those of the partition, split further
//! links.rs     C = SᵀAS, the weight of the edges between clusters
//! chain.rs     P = D_C^-1 C, and the sums W_t = P^0 + .. + P^t
//! factor.rs    M of the clusters, its d leading eigenpairs V, L, and H = V |L|^-1/4
//! frame.rs     all of this: what every patch is sent, once
//! patch.rs     one patch: walks from its nodes to clusters, X = log max(1, ..) H
//! local.rs     one patch that is sent nothing: eigenvectors of its own M
//! embedder.rs  both as an embedder
//! window.rs    which window suits a graph, by hiding edges and predicting them
//! ```
//!
//! All patches use the same `H`, so their coordinates lie in one frame before they are aligned.
//!
//! Convention: edges count in both directions, by weight if there are weights, loops once. Nodes
//! without edges get zeros, and so do columns beyond the number of clusters.
//!
//! Sources: Qiu et al., "Network embedding as matrix factorization", WSDM 2018; Levy, Goldberg,
//! "Neural word embedding as implicit matrix factorization", NIPS 2014.

mod chain;

mod clusters;

mod embedder;

mod factor;

mod frame;

mod links;

mod local;

mod patch;

mod rows;

mod window;

pub use clusters::{fine_clusters, usual_clusters};
pub use embedder::WalkEmbedder;
pub use frame::WalkFrame;
pub use links::ClusterLinks;
pub use local::{local_memory_bytes, local_walk_coordinates};
pub use patch::{walk_coordinates, walk_memory_bytes};
pub use window::{CANDIDATES, WindowChoice, choose_window};

use crate::embed::EmbedError;
use crate::progress::Progress;

/// The settings of walks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WalkSettings {
    /// The number of steps of a walk, `T`.
    pub window: usize,
    /// How much likelier than `b` times chance a meeting must be to count.
    pub shift: f64,
    /// The number of coordinates.
    pub dim: usize,
}

impl WalkSettings {
    /// The usual shift.
    pub const USUAL_SHIFT: f64 = 0.2;

    /// The usual settings with this window and dimension.
    pub fn new(window: usize, dim: usize) -> Self {
        Self { window, shift: Self::USUAL_SHIFT, dim }
    }

    /// Checks that the settings make sense.
    fn check(&self) -> Result<(), EmbedError> {
        let setting = |key, found, needed| Err(EmbedError::Setting { key, found, needed });
        match self.shift > 0.0 && self.shift.is_finite() {
            _ if self.window == 0 => setting("window", "0".into(), "at least 1"),
            true => Ok(()),
            false => setting("shift", self.shift.to_string(), "above 0"),
        }
    }
}

/// Stops if somebody asked to.
fn check_cancelled(progress: &dyn Progress) -> Result<(), EmbedError> {
    match progress.is_cancelled() {
        true => Err(EmbedError::Cancelled { done: 0, total: 1 }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
