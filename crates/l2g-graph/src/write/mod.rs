//! Writers: one file per format, and what they have in common.
//!
//! The format follows from the name of the file, or the caller says it. A [`GraphSink`]
//! takes edges chunk by chunk, so that a graph larger than memory can be written while
//! it is made; [`write_graph`] writes one that exists. A file appears complete or not
//! at all.
//!
//! | format | names of nodes | weights | features, labels |
//! | --- | --- | --- | --- |
//! | text, Parquet | integers, strings | yes | no |
//! | `.npy` edge index | integers | no | no |
//! | `.npz`, gnn-benchmark layout | integers, strings | yes | yes |
//! | `.npz`, scipy | integers, strings | yes | no |
//! | Matrix Market | 0, 1, 2, ... | yes | no |
//!
//! Whatever a format cannot hold is refused, not dropped; [`write_features`] and
//! [`write_labels`] have files of their own for the rest.

mod archive;

mod csr;

mod features;

mod labels;

mod matrix_market;

mod npy;

mod npz;

mod packed;

mod parquet;

mod text;

pub use features::{FeatureSink, write_features, write_features_with};
pub use labels::write_labels;
pub use packed::{Packed, Packing};
pub use text::{push_field, push_name};

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::graph::edge_list::EdgeChunk;
use crate::graph::features::SparseFeatures;
use crate::graph::{Features, Graph, Labels, NodeId, NodeIds};
use crate::run_dir::{AtomicSink, FileError, is_standard_output, write_atomically};

/// A format that graphs are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OutputFormat {
    /// Text, one edge a line, separated by tabs, without a header.
    EdgeList,
    /// Text, separated by commas, with a header.
    Csv,
    /// Text, separated by tabs, with a header.
    Tsv,
    /// A Parquet table with columns `src`, `dst` and, if there are weights, `weight`.
    Parquet,
    /// A NumPy array of edges, E x 2.
    Npy,
    /// An archive of NumPy arrays in the gnn-benchmark layout.
    Npz,
    /// An archive of NumPy arrays as scipy stores a sparse matrix.
    ScipyNpz,
    /// A Matrix Market coordinate file.
    MatrixMarket,
}

impl OutputFormat {
    /// The format the name of a file tells, as in `edges.csv.gz`.
    ///
    /// Nothing if the extension is not known.
    pub fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let (_, extension) = Packing::strip(&name).rsplit_once('.')?;
        Some(match extension {
            "txt" | "edges" | "edgelist" | "el" => Self::EdgeList,
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            "parquet" | "pq" => Self::Parquet,
            "npy" => Self::Npy,
            "npz" => Self::Npz,
            "mtx" => Self::MatrixMarket,
            _ => return None,
        })
    }

    /// How files end that hold a part of the edges, if that can be.
    pub(crate) fn part_extension(self) -> Option<&'static str> {
        match self {
            Self::EdgeList => Some("txt"),
            Self::Csv => Some("csv"),
            Self::Tsv => Some("tsv"),
            Self::Parquet => Some("parquet"),
            Self::Npy => Some("npy"),
            Self::Npz | Self::ScipyNpz | Self::MatrixMarket => None,
        }
    }

    /// Whether files of this format hold features and labels.
    pub fn holds_attributes(self) -> bool {
        matches!(self, Self::Npz)
    }

    /// Whether edges are kept as the rows of a matrix: then they must come row by row,
    /// and a symmetric graph has every edge in both rows.
    fn is_matrix(self) -> bool {
        matches!(self, Self::Npz | Self::ScipyNpz)
    }

    /// Whether files are written from beginning to end, as a pipe needs it.
    fn is_in_order(self) -> bool {
        self.is_text() || self == Self::Parquet
    }

    fn is_text(self) -> bool {
        matches!(self, Self::EdgeList | Self::Csv | Self::Tsv)
    }
}

/// What is known of a graph before its first edge.
#[derive(Clone, Copy, Debug)]
pub struct Outline<'a> {
    /// The name of each node.
    pub ids: &'a NodeIds,
    /// The labels, if there are any.
    pub labels: Option<&'a Labels>,
    /// What features there will be.
    pub features: FeatureOutline<'a>,
    /// Whether edges have weights.
    pub weighted: bool,
    /// Whether an edge means both directions; it is then pushed once.
    pub undirected: bool,
}

/// What is known of the features of a graph before its first edge.
#[derive(Clone, Copy, Debug)]
pub enum FeatureOutline<'a> {
    /// There are none.
    None,
    /// All of them.
    Dense {
        /// The number of columns.
        width: usize,
        /// All values, row after row.
        values: &'a [f32],
    },
    /// They will be pushed row by row.
    Rows {
        /// The number of columns.
        width: usize,
    },
}

impl Outline<'_> {
    fn num_nodes(&self) -> usize {
        self.ids.len()
    }
}

/// A file that takes the edges of a graph.
pub trait GraphSink: Send {
    /// Appends edges between nodes, given by row.
    ///
    /// Formats that keep a matrix need sources in ascending order.
    ///
    /// # Errors
    /// If writing fails, or the order is wrong.
    fn push_edges(&mut self, edges: &EdgeChunk<u64>) -> io::Result<()>;

    /// Appends the features of the next nodes.
    ///
    /// # Errors
    /// If writing fails, or the format holds no features.
    fn push_features(&mut self, rows: &SparseFeatures) -> io::Result<()> {
        let _ = rows;
        Err(invalid("this format holds no features"))
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// If writing fails, or rows are missing.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// Why a graph could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum WriteError {
    /// The file could not be written.
    #[error(transparent)]
    File(#[from] FileError),

    /// The name of the file does not tell the format.
    #[error(
        "cannot tell the format of `{}` from its name; known are .txt .csv .tsv .parquet .npy .npz .mtx",
        path.display()
    )]
    UnknownFormat { path: PathBuf },

    /// The format cannot hold features, and there is no other file for them.
    #[error("`{}` cannot hold features, and no file is named for them", path.display())]
    FeaturesHomeless { path: PathBuf },

    /// The format cannot hold this.
    #[error("cannot write `{}`: {problem}", path.display())]
    Refused { path: PathBuf, problem: String },
}

fn invalid(problem: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem.into())
}

/// Writes a graph that `fill` pushes chunk by chunk.
///
/// # Errors
/// [`WriteError`] if the format cannot hold such a graph, or `fill` or writing fails;
/// then no file appears.
pub fn write_with(
    path: &Path,
    format: OutputFormat,
    outline: &Outline<'_>,
    fill: impl FnOnce(&mut dyn GraphSink) -> io::Result<()>,
) -> Result<(), WriteError> {
    check(format, path, outline)
        .map_err(|problem| WriteError::Refused { path: path.to_owned(), problem: problem.into() })?;
    write_atomically(path, |file| {
        let mut sink = open(file, path, format, outline)?;
        fill(&mut *sink)?;
        sink.finish()
    })?;
    Ok(())
}

/// Writes a graph with all that belongs to it.
///
/// Without a `format`, the name of the file tells it. An undirected edge is listed
/// once, from its smaller end; archives have it in both rows.
///
/// # Errors
/// [`WriteError`] if the format cannot hold the names of the nodes or the weights;
/// features and labels are written if the format holds them, see
/// [`OutputFormat::holds_attributes`].
///
/// # Examples
/// ```
/// # let folder = tempfile::tempdir()?;
/// use l2g_graph::graph::Graph;
/// use l2g_graph::write::write_graph;
///
/// let path = folder.path().join("path.csv");
/// let graph = Graph::from_rows(vec![0, 1, 3, 4].into(), vec![1_u32, 0, 2, 1].into(), true)?;
/// write_graph(&graph, &path, None)?;
/// assert_eq!(std::fs::read_to_string(&path)?, "src,dst\n0,1\n1,2\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_graph(graph: &Graph, path: &Path, format: Option<OutputFormat>) -> Result<(), WriteError> {
    let format = format_for(path, format)?;
    let once = graph.is_symmetric() && !format.is_matrix();
    let outline = Outline {
        ids: graph.ids(),
        labels: graph.labels(),
        features: match graph.features() {
            None => FeatureOutline::None,
            Some(features @ Features::Dense(dense)) => {
                FeatureOutline::Dense { width: features.width(), values: dense.values() }
            }
            Some(features) => FeatureOutline::Rows { width: features.width() },
        },
        weighted: graph.weights().is_some(),
        undirected: once,
    };
    write_with(path, format, &outline, |sink| {
        push_rows(graph, once, sink)?;
        match graph.features() {
            Some(Features::Sparse(rows)) if format.holds_attributes() => sink.push_features(rows),
            _ => Ok(()),
        }
    })
}

/// The format that is asked for, or else the one the name of the file tells.
///
/// # Errors
/// [`WriteError::UnknownFormat`] if there is neither.
pub fn format_for(path: &Path, format: Option<OutputFormat>) -> Result<OutputFormat, WriteError> {
    format
        .or_else(|| OutputFormat::of_name(path))
        .ok_or_else(|| WriteError::UnknownFormat { path: path.to_owned() })
}

/// Pushes the edges of a graph, each `once` or as they stand in the rows.
fn push_rows(graph: &Graph, once: bool, sink: &mut dyn GraphSink) -> io::Result<()> {
    const CHUNK: usize = 1 << 16;
    let mut chunk = EdgeChunk::default();
    for node in graph.nodes() {
        let row: Vec<NodeId> = graph.neighbors(node).collect();
        let first = if once { row.partition_point(|&target| target < node) } else { 0 };
        chunk.pairs.extend(row[first..].iter().map(|target| [node.0, target.0]));
        if let Some(weights) = graph.neighbor_weights(node) {
            chunk.weights.extend_from_slice(&weights[first..]);
        }
        if chunk.pairs.len() >= CHUNK {
            sink.push_edges(&chunk)?;
            chunk.pairs.clear();
            chunk.weights.clear();
        }
    }
    sink.push_edges(&chunk)
}

/// What the format cannot hold, if anything.
fn check(format: OutputFormat, path: &Path, outline: &Outline<'_>) -> Result<(), &'static str> {
    if Packing::of_name(path) != Packing::None && !format.is_text() {
        return Err("only text is packed as .gz or .zst");
    }
    if is_standard_output(path) && !format.is_in_order() {
        return Err("this format is not written in order; needed a file, or text or Parquet");
    }
    match (format, outline.ids) {
        (OutputFormat::Npy, NodeIds::Strings(_)) => {
            Err("nodes are named by strings, which an edge index cannot hold")
        }
        (OutputFormat::Npy, _) if outline.weighted => Err("an edge index cannot hold weights"),
        (OutputFormat::MatrixMarket, NodeIds::Strings(_) | NodeIds::Integers(_)) => {
            Err("nodes have names of their own, which a Matrix Market file cannot hold")
        }
        _ => Ok(()),
    }
}

/// The sink of one format.
fn open<'a>(
    file: &'a mut AtomicSink<'_, '_>,
    path: &Path,
    format: OutputFormat,
    outline: &Outline<'a>,
) -> io::Result<Box<dyn GraphSink + 'a>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(match format {
        OutputFormat::EdgeList | OutputFormat::Csv | OutputFormat::Tsv => {
            Box::new(text::TextSink::new(file, Packing::of_name(path), format, outline)?)
        }
        OutputFormat::Parquet => Box::new(parquet::ParquetSink::new(file, outline)?),
        OutputFormat::Npy => npy::open(file, outline)?,
        OutputFormat::Npz => Box::new(npz::BenchmarkSink::new(file, folder, outline)?),
        OutputFormat::ScipyNpz => Box::new(npz::ScipySink::new(file, folder, outline)?),
        OutputFormat::MatrixMarket => Box::new(matrix_market::MatrixMarketSink::new(file, outline)?),
    })
}
