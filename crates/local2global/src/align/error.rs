//! Why patch embeddings could not be aligned.

use std::path::PathBuf;

use crate::linalg::dense::DenseError;
use crate::linalg::eigen::EigenError;
use crate::linalg::laplacian::NotPositiveDefinite;
use crate::memory::ByteSize;

/// Why patch embeddings could not be aligned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum AlignError {
    /// There is nothing to align.
    #[error("found no patches; alignment needs at least one")]
    NoPatches,

    /// A patch and its coordinates have different lengths.
    #[error("embedding of patch `{patch}` has {rows} rows, but the patch has {nodes} nodes")]
    RowCount { patch: String, rows: usize, nodes: usize },

    /// A patch has a different number of weights than nodes.
    #[error("patch `{patch}` has {weights} node weights, but {nodes} nodes")]
    WeightCount { patch: String, weights: usize, nodes: usize },

    /// A node weight is negative, NaN or infinite.
    #[error("weight {weight} of node {node} in patch `{patch}` is negative or not finite")]
    Weight { patch: String, node: u64, weight: f32 },

    /// Two patches have different numbers of coordinates.
    #[error("patch `{patch}` has {found} dimensions, but patch `{first}` has {needed}")]
    Dimension { patch: String, found: usize, first: String, needed: usize },

    /// A coordinate array without columns.
    #[error("embedding of patch `{patch}` has no columns")]
    NoDimensions { patch: String },

    /// A node stands twice in one patch.
    #[error("node {node} stands twice in patch `{patch}`")]
    DuplicateNode { patch: String, node: u64 },

    /// A coordinate is NaN or infinite.
    #[error("node {node} of patch `{patch}` has a coordinate that is NaN or infinite")]
    NotFinite { patch: String, node: u64 },

    /// The limit of memory is too small.
    #[error("alignment needs about {} of memory, but the limit is {}", needed.rounded_up(), limit.rounded_up())]
    Memory { needed: ByteSize, limit: ByteSize },

    /// There is no room for what does not fit into memory.
    #[error("could not set {bytes} bytes aside in `{}`: {problem}", folder.display())]
    Room { bytes: u64, folder: PathBuf, problem: String },

    /// A coordinate of the embedding overflows.
    #[error("aligned coordinates are too large for single precision, above 3e38")]
    TooLarge,

    /// An end of a patch edge is not the index of a patch, or both ends are the same.
    #[error("patch edge ({a}, {b}) is not between two of the {num_patches} patches")]
    Edge { a: u64, b: u64, num_patches: usize },

    /// The overlap is too small to fix a rotation in `dim` dimensions.
    #[error("patches `{a}` and `{b}` share {shared} nodes; aligning in {dim} dimensions needs {}", dim + 1)]
    OverlapTooSmall { a: String, b: String, shared: usize, dim: usize },

    /// Some patches cannot be reached from the others through overlaps.
    #[error(
        "patch graph has {components} connected components; alignment needs one: patch `{outside}` \
         is not joined to patch `{inside}` by overlaps of {needed} nodes or more"
    )]
    Disconnected { components: usize, inside: String, outside: String, needed: usize },

    /// Weights are given for some patches only.
    #[error("patch `{patch}` has no node weights, but others have")]
    MissingWeights { patch: String },

    /// A node of the graph is in no patch.
    #[error("node {node} is in no patch, but node {last} is; the patches must cover all nodes")]
    Uncovered { node: u64, last: u64 },

    /// A setting is out of range.
    #[error("setting `align.{key}` is {found}; needed {needed}")]
    Setting { key: &'static str, found: String, needed: &'static str },

    /// The patch that is to be updated shares too little with the others.
    #[error("patch `{patch}` shares {shared} nodes with the other patches; in {dim} dimensions it needs {}", dim + 1)]
    UpdateTooSmall { patch: String, shared: usize, dim: usize },

    /// The rotations could not be synchronised.
    #[error("rotations: {0}")]
    Rotations(#[from] EigenError),

    /// A relative rotation could not be estimated.
    #[error(transparent)]
    Dense(#[from] DenseError),

    /// The translations or scales could not be solved for.
    #[error("translations: {0}")]
    Translations(#[from] NotPositiveDefinite),
}
