//! Readers: one file per format, and what they have in common.
//!
//! The format follows from the name of the file, or the user says it; if the first
//! bytes tell otherwise, that is an error and not a guess. A reader delivers edges
//! named as in the file; [`load`](super::load) numbers the nodes, attaches features
//! and labels, and builds the graph.

mod archive;

mod attachment;

mod error;

mod matrix_market;

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
pub(crate) use numbering::{Numbered, NumberedEdges, number};
pub(crate) use parquet::edges_of_batches;
pub(crate) use raw::{RawEdges, RawEdgesBuilder, RawPairs};
pub(crate) use text::parse::check_weight;

use super::{Features, Labels, NodeIds};
use crate::progress::Progress;
use text::fields::Separator;
use text::layout::LayoutOptions;

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

    /// Checks a format against the first bytes of a file.
    fn check(self, path: &Path) -> Result<(), ReadError> {
        // Without a signature it may still be text, or damaged: the reader will say.
        match Self::of_bytes(&source::first_bytes(path, 16)?) {
            Some(found) if found != self => Err(Problem::WrongFormat { found, taken: self }.in_file(path)),
            _ => Ok(()),
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

/// Reads the graph in a file.
pub(crate) fn read(path: &Path, options: &ReadOptions, progress: &dyn Progress) -> Result<Input, ReadError> {
    let file = source::open_file(path)?;
    let format = options.format.unwrap_or_else(|| Format::of_name(path));
    format.check(path)?;
    let num_bytes = file.metadata().map_or(0, |metadata| metadata.len());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_packed = num_bytes > 0 && source::is_packed(path)?;
    progress.begin(&format!("reading {name}"), if is_packed { 0 } else { num_bytes }, "bytes");
    let limit = options.limit();
    let input = match format {
        Format::Parquet => parquet::read(path, limit, progress),
        Format::Npy => npy::read(path, limit),
        Format::Npz => npz::read(path, limit),
        Format::MatrixMarket => matrix_market::read(path, progress),
        Format::EdgeList => read_text(path, None, options, progress),
        Format::Csv => read_text(path, Some(Separator::Byte(b',')), options, progress),
        Format::Tsv => read_text(path, Some(Separator::Byte(b'\t')), options, progress),
    };
    progress.end();
    input
}

/// Reads a graph from an archive that is part of the program.
pub(crate) fn read_built_in(name: &str, bytes: &'static [u8]) -> Result<Input, ReadError> {
    npz::read_archive(archive::Archive::built_in(Path::new(name), bytes)?)
}

fn read_text(
    path: &Path,
    separator: Option<Separator>,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Input, ReadError> {
    let layout = LayoutOptions { separator, header: options.header, ids: options.ids };
    let edges = text::read_edge_list(path, layout, progress)?;
    Ok(Input { edges, num_nodes: None, ids: None, features: None, labels: None })
}
