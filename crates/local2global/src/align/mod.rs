//! Stage 5: local coordinates -> one global frame.
//!
//! Every patch was embedded in its own coordinate system. Where patches overlap, the
//! copies of the shared nodes tell how the systems lie to each other, and from all
//! overlaps together follows one rigid motion per patch:
//!
//! ```text
//! patches -> overlaps -> relative rotations -> rotations -> [scales] -> translations
//!         -> [generalised Procrustes] -> centroids
//! ```
//!
//! Motions are judged on shared nodes that are left out of fitting, and applied where they help
//! ([`judge`]).
//!
//! [`align`] finds the motions, [`Alignment::stream`] puts every node at the centre of
//! its moved copies. The stage never sees the graph, only node lists and coordinates:
//! its cost depends on the number of patches, the size of overlaps and the dimension,
//! and, in the last step, on the number of rows.
//!
//! Points are rows, and `aligned = scale * X @ rotation + translation`. Up to the last
//! step only rows of shared nodes are read, once. Source: section 3 of the paper.

mod config;
mod error;

pub mod patch;

pub mod overlap;

pub mod procrustes;

mod outliers;

pub mod transforms;

pub mod relative;

pub mod tree;

pub mod translation;

pub mod scale;

pub mod rotation;

mod accuracy;

pub mod robust;

pub mod solution;

pub mod hierarchy;

mod memory;

mod generalised;

mod left_out;

pub mod judge;

mod copies;

pub mod centroid;

mod alignment;

mod cloud;

mod record;

mod words;

pub mod diagnostics;

pub mod update;

mod paths;

mod read;

mod places;

mod write;

pub mod files;

pub mod refit;

pub mod synthetic;

pub use accuracy::Accuracy;
pub use alignment::{Alignment, align, align_overlaps};
pub use config::{AlignConfig, AlignMethod, Centroid, EdgeWeights};
pub use diagnostics::{Diagnostics, diagnose};
pub use error::AlignError;
pub use files::{align_files, align_run};
pub use judge::{Judgement, Motion};
pub use memory::AlignSize;
pub use overlap::Overlap;
pub use patch::{Coords, LocalPatch};
pub use paths::{AlignFilesError, AlignPaths, EmbeddingRows};
pub use refit::{UpdateReport, diagnose_updated, restored, update_files, update_files_then};
pub use solution::Solution;
pub use transforms::Transforms;
