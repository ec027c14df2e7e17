//! Embed a graph in overlapping patches, and stitch the patches into one embedding.
//!
//! ```text
//! graph -> partition -> patch -> embed -> align -> evaluate -> report
//! ```
//!
//! Each stage is a module, and they are listed below in the order of the data. Stages
//! exchange plain data that can be saved, so each can run alone, resume, or move to
//! another machine; [`run_dir`] tells which files they leave. The method is that of
//! Jeub, Colavizza, Dong, Bazzi and Cucuringu, "Local2Global: Scaling global
//! representation learning on graphs via local training".
//!
//! # Examples
//! ```
//! use local2global::graph::{builtin, load::GraphConfig, store};
//! use local2global::progress::Silent;
//! use local2global::run_dir::RunDir;
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let run = RunDir::new(folder.join("cora"));
//! let cora = builtin::open("cora", &[], &GraphConfig::default(), &Silent)?;
//! store::write(&run.graph(), &cora.graph, &cora.summary)?;
//!
//! // Opened, not loaded: the arrays are mapped.
//! let (graph, description) = store::open(&run.graph())?;
//! assert_eq!(graph.num_nodes(), 2485);
//! assert_eq!(description.summary.features, 1433);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// The first stage, graphs for others, and what the stages are built on: a crate of its own.

pub use l2g_graph::{buffer, digest, generate, graph, memory, npy, progress, run_dir, seed, write};

// The other stages, in the order of the data.

pub mod partition;

pub mod patch;

pub mod embed;

pub mod align;

// Alignment of sites that keep their graphs.

pub mod federated;

pub mod evaluate;

// What is made of the result.

pub mod layout;

pub mod export;

pub mod near;

pub mod experiment;

// The run as a whole: the stages joined, and its settings.

pub mod pipeline;

pub mod config;

// What the stages are built on.

pub mod score;

pub mod linalg;

#[cfg(test)]
#[path = "../../l2g-graph/src/scratch.rs"]
pub(crate) mod scratch;
