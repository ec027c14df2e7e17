//! What every patch is sent before it is embedded.
//!
//! Size: `4 n` bytes for the clusters, `4 K²` for the steps between them, `4 K d` for the factor.
//! The sums of steps that patches need, `4 T K²` bytes, are made again from these.

use std::sync::Arc;

use super::chain::{Chain, chance_scales, walk_sums};
use super::factor::{log_matrix, mixed, scaled_eigenvectors};
use super::rows::Blocks;
use super::{ClusterLinks, WalkSettings, check_cancelled};
use crate::embed::EmbedError;
use crate::embed::nn::Matrix;
use crate::graph::{Graph, NodeId};
use crate::partition::Partition;
use crate::progress::Progress;
use crate::seed::Seed;

/// The power of eigenvalues that eigenvectors are multiplied by to make the factor.
const FACTOR_POWER: f64 = -0.25;

/// Clusters, the walk between them, and the factor that turns walks to coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct WalkFrame {
    clusters: Vec<u32>,
    walk: Arc<ClusterWalk>,
}

/// All of a frame that does not depend on single nodes.
#[derive(Debug, PartialEq)]
struct ClusterWalk {
    window: usize,
    shift: f64,
    volumes: Vec<f64>,
    transitions: Matrix<f32>,
    factor: Matrix<f32>,
    /// `W_0 .. W_{window - 1}`.
    sums: Vec<Blocks>,
}

impl WalkFrame {
    /// The frame of a graph with these clusters.
    ///
    /// # Errors
    /// [`EmbedError::Cancelled`] if somebody asks to stop; [`EmbedError::Setting`] if the window
    /// is zero or the shift not positive.
    pub fn new(
        graph: &Graph,
        clusters: &Partition,
        settings: &WalkSettings,
        seed: Seed,
        progress: &dyn Progress,
    ) -> Result<Self, EmbedError> {
        Self::from_links(
            &ClusterLinks::of(graph, clusters),
            clusters.clusters().to_vec(),
            settings,
            seed,
            progress,
        )
    }

    /// The frame of clusters whose links are known.
    ///
    /// # Errors
    /// As [`WalkFrame::new`].
    pub fn from_links(
        links: &ClusterLinks,
        clusters: Vec<u32>,
        settings: &WalkSettings,
        seed: Seed,
        progress: &dyn Progress,
    ) -> Result<Self, EmbedError> {
        let WalkSettings { window, shift, dim } = *settings;
        settings.check()?;
        check_cancelled(progress)?;
        let Chain { volumes, transitions } = Chain::of(links);
        let (sums, walks) = walk_sums(&transitions, window);
        check_cancelled(progress)?;
        let logs = log_matrix(walks, &chance_scales(&volumes, window, shift));
        let factor = mixed(&scaled_eigenvectors(&logs, dim, FACTOR_POWER, seed, progress)?, seed);
        let walk = Arc::new(ClusterWalk { window, shift, volumes, transitions, factor, sums });
        Ok(Self { clusters, walk })
    }

    /// The frame from its parts, as they were written.
    ///
    /// # Errors
    /// [`EmbedError::Setting`] if the parts do not fit each other.
    pub fn from_parts(
        (window, shift): (usize, f64),
        clusters: Vec<u32>,
        volumes: Vec<f64>,
        transitions: Matrix<f32>,
        factor: Matrix<f32>,
    ) -> Result<Self, EmbedError> {
        WalkSettings { window, shift, dim: factor.num_columns() }.check()?;
        let num_clusters = volumes.len();
        let fits = transitions.num_rows() == num_clusters
            && transitions.num_columns() == num_clusters
            && factor.num_rows() == num_clusters;
        if !fits {
            return Err(misfit(num_clusters));
        }
        let (sums, _) = walk_sums(&transitions, window);
        let walk = ClusterWalk { window, shift, volumes, transitions, factor, sums };
        Self { clusters: Vec::new(), walk: Arc::new(walk) }.for_nodes(clusters)
    }

    /// The same frame for other nodes of the same graph: those whose clusters these are.
    ///
    /// # Errors
    /// [`EmbedError::Setting`] if there is no such cluster.
    pub fn for_nodes(&self, clusters: Vec<u32>) -> Result<Self, EmbedError> {
        match clusters.iter().all(|&cluster| (cluster as usize) < self.num_clusters()) {
            true => Ok(Self { clusters, walk: Arc::clone(&self.walk) }),
            false => Err(misfit(self.num_clusters())),
        }
    }

    /// The number of steps of a walk.
    pub fn window(&self) -> usize {
        self.walk.window
    }

    /// How much likelier than so many times chance a meeting must be to count.
    pub fn shift(&self) -> f64 {
        self.walk.shift
    }

    /// The cluster of each node of the graph.
    pub fn clusters(&self) -> &[u32] {
        &self.clusters
    }

    /// The summed degrees of each cluster.
    pub fn volumes(&self) -> &[f64] {
        &self.walk.volumes
    }

    /// The probability of a step from each cluster to each.
    pub fn transitions(&self) -> &Matrix<f32> {
        &self.walk.transitions
    }

    /// What turns log ratios, one for each cluster, into coordinates.
    pub fn factor(&self) -> &Matrix<f32> {
        &self.walk.factor
    }

    /// The number of clusters.
    pub fn num_clusters(&self) -> usize {
        self.walk.volumes.len()
    }

    /// The number of coordinates.
    pub fn dim(&self) -> usize {
        self.walk.factor.num_columns()
    }

    /// About how many bytes the frame takes while it is used.
    pub fn memory_bytes(num_nodes: usize, num_clusters: usize, settings: &WalkSettings) -> u64 {
        let (clusters, dim) = (num_clusters as u64, settings.dim as u64);
        4 * num_nodes as u64 + 4 * clusters * (clusters * (settings.window as u64 + 1) + dim)
    }

    pub(super) fn cluster_of(&self, node: NodeId) -> u32 {
        self.clusters[node.index()]
    }

    /// `W_step = P^0 + .. + P^step`.
    pub(super) fn sum(&self, step: usize) -> &Blocks {
        &self.walk.sums[step]
    }

    pub(super) fn scales(&self) -> Vec<f32> {
        chance_scales(&self.walk.volumes, self.walk.window, self.walk.shift)
    }
}

fn misfit(num_clusters: usize) -> EmbedError {
    let found = format!("a walk frame whose parts do not fit its {num_clusters} clusters");
    EmbedError::Setting { key: "frame", found, needed: "one frame, unchanged" }
}
