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

// The stages, in the order of the data.

pub mod graph;

pub mod partition;

pub mod patch;

pub mod embed;

pub mod align;

pub mod evaluate;

// Graphs for others: written in the formats that the first stage reads, or synthetic.

pub mod write;

pub mod generate;

// What is made of the result.

pub mod export;

pub mod experiment;

// The run as a whole: the stages joined, its settings, its folder, its chance.

pub mod pipeline;

pub mod config;

pub mod run_dir;

pub mod seed;

pub mod progress;

// What the stages are built on.

pub mod score;

pub mod linalg;

pub mod npy;

pub mod digest;

pub mod buffer;

pub mod memory;

mod disk;

mod positioned;

#[cfg(test)]
pub(crate) mod scratch;
