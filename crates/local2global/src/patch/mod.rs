//! Stage 3: clusters -> patch graph -> overlapping patches.
//!
//! ```text
//! Partition --patch_graph--> weighted patch graph --sparsify--> patch graph
//!           --overlap--> patches that share nodes --landmarks--> some of them with all others
//!           --cover--> patches that hold the edges, within a budget
//! ```
//!
//! [`make_patch_files`] is the stage, [`make_patches`] the same in memory. What they give satisfies
//! the conditions of section 3 of the paper, and [`PatchReport`] has them verified: the patches cover
//! all nodes, every two patches joined by a patch edge share at least `l` nodes, and the patch graph
//! is connected as far as the graph is. With `cover = "edges"` and a budget that is large enough, every
//! edge lies in a patch; how many do not is told.
//!
//! If the graph has several components, no edge joins patches of different ones. The largest
//! clusters of such groups are joined through nodes drawn at random, which both patches embed and
//! alignment places the smaller group by; with enough landmarks all patches are joined through
//! them. With `bridge = false` groups stay apart.
//!
//! Direction is ignored: patches of a directed graph are those of the undirected one.

pub mod patch_graph;

pub mod resistance;

pub mod sparsify;

pub mod overlap;

mod pair_cover;

pub mod cover;

pub mod landmarks;

mod lists;

mod memberships;

mod weigh;

mod memory;

mod make;

mod bounds;

mod config;

mod direct;

mod files;

mod report;

pub use bounds::OverlapBounds;
pub use config::{Cover, PatchConfig};
pub use files::{
    read_landmarks, read_node_lists, read_node_weights, read_patches, read_report, write_patches,
};
pub use landmarks::Landmarks;
pub use make::{PatchTask, make_patch_files, make_patches};
pub use memory::{PatchSizes, memory_bytes};
pub use patch_graph::PatchGraph;
pub use report::{EdgeCover, NodeCover, OverlapReport, PatchReport};
pub use sparsify::Sparsify;

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::graph::NodeId;
use crate::linalg::conjugate_gradient::NotConverged;
use crate::memory::ByteSize;
use crate::npy::NpyError;
use crate::run_dir::{FileError, PatchFilesError};

/// A patch, by its number: `0..num_patches`. It grew from the cluster of that number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PatchId(pub u32);

impl PatchId {
    /// The number of the patch, to index arrays with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for PatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why patches could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum PatchError {
    /// A setting has an impossible value.
    #[error("setting `patch.{key}` is {found}; needed {needed}")]
    Setting { key: &'static str, found: String, needed: String },

    /// The limit that the user has set is too small.
    #[error("`patch` needs about {needed} of memory, but the limit is {limit}")]
    Limit { needed: ByteSize, limit: ByteSize },

    /// Overlaps need more nodes than a cluster has.
    #[error(
        "cluster {cluster} has {size} nodes; an overlap of {min_overlap} needs {needed} \
         ({count} clusters are too small)"
    )]
    ClusterTooSmall { cluster: u32, size: usize, min_overlap: usize, needed: usize, count: usize },

    /// Clusters do not fit the graph.
    #[error("found clusters for {found} nodes, but the graph has {needed}")]
    Length { found: usize, needed: usize },

    /// The solver for effective resistances did not converge.
    #[error("could not compute effective resistances: {0}")]
    NotConverged(#[from] NotConverged),

    /// An array could not be read.
    #[error("could not read `{}`: {source}", path.display())]
    Array { path: PathBuf, source: NpyError },

    /// An array of the run folder does not say what it should.
    #[error("`{}` {problem}", path.display())]
    Content { path: PathBuf, problem: String },

    /// A file could not be used.
    #[error(transparent)]
    File(#[from] FileError),

    /// The folder does not hold the patches that it should.
    #[error(transparent)]
    Files(#[from] PatchFilesError),

    /// Somebody asked to stop.
    #[error("making patches was cancelled")]
    Cancelled,
}

/// One patch: some nodes of the graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    /// Its nodes, ascending.
    pub nodes: Vec<NodeId>,
    /// For each node the share of its edges that lie inside the patch.
    pub weights: Vec<f32>,
}

/// Overlapping patches, and which of them may be aligned with each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Patches {
    patches: Vec<Patch>,
    graph: PatchGraph,
    landmarks: Vec<NodeId>,
}

impl Patches {
    /// All patches, by number.
    pub fn patches(&self) -> &[Patch] {
        &self.patches
    }

    /// The number of patches.
    pub fn num_patches(&self) -> usize {
        self.patches.len()
    }

    /// The patch graph.
    pub fn graph(&self) -> &PatchGraph {
        &self.graph
    }

    /// The nodes that every patch holds because they are landmarks, ascending.
    pub fn landmarks(&self) -> &[NodeId] {
        &self.landmarks
    }

    /// The number of nodes two patches share.
    pub fn overlap(&self, a: PatchId, b: PatchId) -> usize {
        num_shared(&self.patches[a.index()].nodes, &self.patches[b.index()].nodes)
    }
}

/// The number of nodes in both of two ascending lists.
fn num_shared(a: &[NodeId], b: &[NodeId]) -> usize {
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        shared += usize::from(x == y);
        (i, j) = (i + usize::from(x <= y), j + usize::from(y <= x));
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_nodes_are_counted() {
        let nodes = |ids: &[u64]| ids.iter().copied().map(NodeId).collect::<Vec<_>>();
        assert_eq!(num_shared(&nodes(&[1, 3, 5, 9]), &nodes(&[0, 3, 4, 9, 10])), 2);
        assert_eq!(num_shared(&nodes(&[]), &nodes(&[1])), 0);
    }
}
