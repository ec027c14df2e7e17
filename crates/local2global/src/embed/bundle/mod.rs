//! Patches on other machines: bundles go out, results come back.
//!
//! ```text
//! run folder --source--> job-00000.l2g --train--> NAME.npy NAME.json --collect--> 4-embeddings
//! ```
//!
//! A bundle is one job for a few patches, and all that they need: the rows of their nodes, features,
//! settings, seed, and the common frame. Whoever trains it sees neither run folder nor graph, and gets
//! the bytes that [`embed_run`](super::embed_run) would get. A job may be done twice, or begun again:
//! patches that are there, made from the same inputs, are kept.
//!
//! A bundle is a zip archive of `.npy` arrays, compressed by Zstandard, with `bundle.json` beside them
//! (`contents.rs`):
//!
//! ```text
//! bundle.json                     version, seed, settings, what each patch is made from
//! factors.npy basis.npy ...       the common frame, as in frame.npz, without the clusters of nodes
//! NAME/nodes.npy                  the nodes of a patch in the whole graph
//! NAME/indptr.npy indices.npy     rows of the patch, its nodes renumbered; with edges that lead out of
//!     weights.npy rows.npy        it where the method reads them, and then where its own rows are
//! NAME/features*.npy              features of its nodes
//! NAME/clusters.npy               for walks: the cluster of every node that a row names
//! ```
//!
//! `shares.rs` divides patches among jobs, `part.rs` is one patch cut out of the graph.
//! What comes back is checked before it is taken (`returned.rs`): version, digest of what it was made
//! from, shape, that every number is finite, and that files are what they were.
//!
//! Cost: the rows of the patches are read twice, once for their digests and once to write them.

mod error;

mod shares;

mod part;

mod contents;

mod returned;

mod source;

mod collect;

mod train;

pub use collect::{Collected, Refusal};
pub use error::BundleError;
pub use shares::Share;
pub use source::{BundleRecord, BundleSource, DEFAULT_JOBS};
pub use train::embed_bundle;
