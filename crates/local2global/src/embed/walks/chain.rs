//! Walks between clusters.
//!
//! ```text
//! P = D_C^-1 C,    W_0 = I,    W_{t+1} = I + P W_t,    so W_t = P^0 + .. + P^t
//! ```
//!
//! The sums are what patches need: see [`super::patch`]. Cost: `O(T K³)` time for dense
//! matrices, `4 K²` bytes a step.

use super::ClusterLinks;
use super::rows::Blocks;
use crate::embed::nn::{Matrix, dense};

/// The random walk between clusters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chain {
    /// The summed degrees of each cluster, `D_C`.
    pub(super) volumes: Vec<f64>,
    /// The probability of each step, `P`; zeros from clusters without edges.
    pub(super) transitions: Matrix<f32>,
}

impl Chain {
    pub(super) fn of(links: &ClusterLinks) -> Self {
        let num_clusters = links.num_clusters();
        let volumes: Vec<f64> = (0..num_clusters).map(|cluster| links.row(cluster).iter().sum()).collect();
        let mut transitions = Matrix::zeros(num_clusters, num_clusters);
        for (cluster, &volume) in volumes.iter().enumerate().filter(|&(_, &volume)| volume > 0.0) {
            let row = transitions.row_mut(cluster).iter_mut().zip(links.row(cluster));
            row.for_each(|(probability, weight)| *probability = (weight / volume) as f32);
        }
        Self { volumes, transitions }
    }
}

/// The sums `W_0 .. W_{window - 1}`, and the walk `P W_{window - 1} = P^1 + .. + P^window`.
pub(super) fn walk_sums(transitions: &Matrix<f32>, window: usize) -> (Vec<Blocks>, Matrix<f32>) {
    let num_clusters = transitions.num_rows();
    let mut sum = with_identity(Matrix::zeros(num_clusters, num_clusters));
    let mut sums = vec![Blocks::of(&sum)];
    let mut walks = transitions.clone();
    for _ in 1..window {
        sum = with_identity(walks.clone());
        sums.push(Blocks::of(&sum));
        dense::multiply(transitions, &sum, &mut walks);
    }
    (sums, walks)
}

/// The same matrix plus the identity.
fn with_identity(mut matrix: Matrix<f32>) -> Matrix<f32> {
    (0..matrix.num_rows()).for_each(|row| matrix.row_mut(row)[row] += 1.0);
    matrix
}

/// What turns a sum of probabilities to reach each cluster into a ratio to chance,
/// `vol / (b T D_C)`; zero for clusters without edges.
pub(super) fn chance_scales(volumes: &[f64], window: usize, shift: f64) -> Vec<f32> {
    let total: f64 = volumes.iter().sum();
    let scale = |&volume: &f64| match volume > 0.0 {
        true => (total / (shift * window as f64 * volume)) as f32,
        false => 0.0,
    };
    volumes.iter().map(scale).collect()
}
