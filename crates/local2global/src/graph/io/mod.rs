//! Readers: one file per format, and what they have in common.
//!
//! An input is opened once, in [`source`]. Its format follows from the name of the file, or the
//! user says it; if the first bytes tell otherwise, that is an error and not a guess. The name of
//! a pipe tells nothing, so there the first bytes decide. A reader delivers edges named as in the
//! file; [`load`](super::load) numbers the nodes, attaches features
//! and labels, and builds the graph.

mod archive;

mod attachment;

mod error;

mod lines;

mod matrix_market;

mod node_values;

mod npy;

mod npz;

mod numbering;

mod parquet;

mod raw;

mod source;

mod sparse;

mod text;

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use error::{Place, Problem, ReadError};
pub use text::layout::{HeaderRow, IdKind};

pub(crate) use attachment::{FeatureTable, LabelTable, read_features, read_labels};
pub(crate) use node_values::{NodeValues, ValueRow};
pub(crate) use numbering::{Numbered, NumberedEdges, number};
pub(crate) use parquet::edges_of_batches;
pub(crate) use raw::{RawEdges, RawEdgesBuilder, RawPairs};
pub(crate) use source::{is_standard_input, is_stream};
pub(crate) use text::parse::check_weight;

use super::{Features, Labels, NodeIds};
use crate::progress::Progress;
use source::Source;
use text::fields::Separator;
use text::layout::LayoutOptions;

/// The format is told by this many bytes.
const SIGNATURE_BYTES: usize = 1 << 10;

/// A file format that graphs come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Text, one edge a line; the separator is found out.
    EdgeList,
    /// Text, separated by commas.
    Csv,
    /// Text, separated by tabs.
    Tsv,
    /// A Parquet table.
    Parquet,
    /// A NumPy array of edges.
    Npy,
    /// An archive of NumPy arrays.
    Npz,
    /// A Matrix Market coordinate file.
    MatrixMarket,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EdgeList => "an edge list",
            Self::Csv => "comma-separated text",
            Self::Tsv => "tab-separated text",
            Self::Parquet => "a Parquet file",
            Self::Npy => "a NumPy array (.npy)",
            Self::Npz => "an archive of arrays (.npz)",
            Self::MatrixMarket => "a Matrix Market file",
        })
    }
}

impl Format {
    /// The format the name of a file tells: `edges.csv.gz` is comma-separated text.
    ///
    /// Whatever is not known is taken for an edge list.
    pub fn of_name(path: &Path) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let plain = [".gz", ".zst"].into_iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(&name);
        match plain.rsplit_once('.').map(|(_, extension)| extension) {
            Some("csv") => Self::Csv,
            Some("tsv") => Self::Tsv,
            Some("parquet" | "pq") => Self::Parquet,
            Some("npy") => Self::Npy,
            Some("npz") => Self::Npz,
            Some("mtx") => Self::MatrixMarket,
            _ => Self::EdgeList,
        }
    }

    /// The format the first bytes tell, if they are unmistakable.
    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [b'P', b'A', b'R', b'1', ..] => Some(Self::Parquet),
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(Self::Npy),
            [b'P', b'K', 3 | 5, 4 | 6, ..] => Some(Self::Npz),
            _ if bytes.starts_with(b"%%MatrixMarket") => Some(Self::MatrixMarket),
            _ => None,
        }
    }

    /// The format of an open source: what the user says or else the name, checked against the
    /// first bytes; for a pipe, the first bytes before the name.
    fn of_source(source: &mut Source, told: Option<Self>) -> Result<Self, ReadError> {
        let is_stream = source.is_stream();
        let found = Self::of_bytes(source.peek(SIGNATURE_BYTES)?);
        let named = Self::of_name(source.name());
        let taken = told.unwrap_or(if is_stream { found.unwrap_or(named) } else { named });
        // Without a signature it may still be text, or damaged: the reader will say.
        match found {
            Some(found) if found != taken => {
                Err(Problem::WrongFormat { found, taken }.in_file(source.name()))
            }
            _ => Ok(taken),
        }
    }
}

/// How to read a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// The format; if not given, the name tells.
    pub format: Option<Format>,
    /// Whether the first line names the columns, for text.
    pub header: HeaderRow,
    /// Whether node ids are integers or text, for text.
    pub ids: IdKind,
    /// The most bytes to unpack or set aside; if not given, the machine's memory.
    pub max_bytes: Option<u64>,
}

impl ReadOptions {
    pub(crate) fn limit(&self) -> u64 {
        self.max_bytes.or_else(crate::memory::total_bytes).unwrap_or(u64::MAX)
    }
}

/// What a file says about a graph.
#[derive(Debug)]
pub(crate) struct Input {
    /// The edges, named as in the file.
    pub(crate) edges: RawEdges,
    /// The number of nodes, if the file says; ids are then below it.
    pub(crate) num_nodes: Option<usize>,
    /// What the nodes are called, if not by their number.
    pub(crate) ids: Option<NodeIds>,
    pub(crate) features: Option<Features>,
    pub(crate) labels: Option<Labels>,
}

impl Input {
    /// Edges, and nothing said about the nodes.
    fn of_edges(edges: RawEdges) -> Self {
        Self { edges, num_nodes: None, ids: None, features: None, labels: None }
    }
}

/// Reads the graph in a file or a pipe.
pub(crate) fn read(path: &Path, options: &ReadOptions, progress: &dyn Progress) -> Result<Input, ReadError> {
    let mut source = Source::open(path)?;
    let format = Format::of_source(&mut source, options.format)?;
    let name = source.name().file_name().unwrap_or_default().to_string_lossy().into_owned();
    progress.begin(&format!("reading {name}"), source.num_bytes().unwrap_or(0), "bytes");
    let limit = options.limit();
    let input = match format {
        Format::Parquet => parquet::read(source, limit, progress),
        Format::Npy => npy::read(source, limit),
        Format::Npz => npz::read(source, limit),
        Format::MatrixMarket => matrix_market::read(source, progress),
        Format::EdgeList => read_text(source, None, options, progress),
        Format::Csv => read_text(source, Some(Separator::Byte(b',')), options, progress),
        Format::Tsv => read_text(source, Some(Separator::Byte(b'\t')), options, progress),
    };
    progress.end();
    input
}

/// Reads a graph from an archive that is part of the program.
pub(crate) fn read_built_in(name: &str, bytes: &'static [u8]) -> Result<Input, ReadError> {
    npz::read_archive(archive::Archive::built_in(Path::new(name), bytes)?)
}

fn read_text(
    source: Source,
    separator: Option<Separator>,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Input, ReadError> {
    let layout = LayoutOptions { separator, header: options.header, ids: options.ids };
    Ok(Input::of_edges(text::read_edge_list(source, layout, progress)?))
}
