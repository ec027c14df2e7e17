//! Graphs whose edges do not fit into memory.
//!
//! ```text
//! pieces of a file --spill--> edges on disk by range of rows --rows--> indptr.npy indices.npy ...
//! ```
//!
//! Readers hand over pieces of edges in any order. While they fit, they stay in memory and the graph
//! is built there ([`build`](super::build)). When they do not, everything goes to disk: each edge into
//! the lists of its two rows' ranges, `EdgeBuckets`. One range after the other
//! is then read back, sorted into rows and merged by the same code as in memory, and appended to the
//! arrays of the graph, which are mapped. So the bytes are the same, whatever the limit.
//!
//! Nodes are numbered on the way. Integers below 2³² are ranked in a bitmap; larger ones are sorted
//! outside memory, in `wide.rs`. Text is numbered by a table of all names while that fits, and by
//! sorting those that do not, in `names.rs`.
//!
//! Sorts are our own: on 50 million pairs of 8-byte integers and two shared cores, `ext-sort` took 65 s
//! where `sort.rs` took 36, and `rdst` 8.5 s against 9.8 of rayon's sort of a run in memory, but 7.3
//! against 5.4 of the counting sort into rows.
//!
//! Disk: 8 bytes for each entry of a row (12 with weights), that is 16 an undirected edge, besides
//! the graph; how much it will be is told and checked first (`space.rs`). Memory: the limit. Time: each
//! edge is written and read once more than in memory.

mod buckets;

mod error;

mod keep;

mod names;

mod rows;

mod scratch;

mod sort;

mod space;

mod spill;

#[cfg(test)]
mod tests;

mod text_sort;

mod wide;

mod writer;

use std::path::PathBuf;

pub use error::ExternalError;
pub(crate) use keep::keep_nodes;
pub(crate) use names::{WaitingEdges, WaitingEnd};
pub(crate) use rows::build_on_disk;
pub use scratch::Scratch;
pub(crate) use space::Space;
pub(crate) use spill::Spill;

/// How much memory making a graph may take, and where there is room for what does not fit.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// Bytes of memory.
    pub limit: u64,
    /// Temporary files go into a folder of their own in this one.
    pub folder: PathBuf,
}

impl Default for Workspace {
    /// No limit.
    fn default() -> Self {
        Self { limit: u64::MAX, folder: std::env::temp_dir() }
    }
}
