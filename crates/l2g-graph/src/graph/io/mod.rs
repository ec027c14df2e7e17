//! Readers: one file per format, and what they have in common.
//!
//! An input is opened once, in `source`. Its format follows from the name of the file, or the
//! user says it; if the first bytes tell otherwise, that is an error and not a guess. The name of
//! a pipe tells nothing, so there the first bytes decide. A reader delivers edges named as in the
//! file; [`load`](super::load) numbers the nodes, attaches features
//! and labels, and builds the graph.

mod archive;

mod attachment;

mod columns;

mod error;

mod fields;

mod graphml;

mod json_lines;

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

mod table;

mod text;

mod text_features;

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use columns::{Delimiter, EdgeColumns, Weights};
pub use error::{Place, Problem, ReadError};
pub use node_values::{NodeValues, ValueRow};
pub use source::{is_standard_input, is_stream};
pub use text::layout::{HeaderRow, IdKind};

pub(crate) use attachment::{FeatureTable, LabelTable, read_features, read_labels};
pub(crate) use columns::ColumnOptions;
pub(crate) use numbering::{Numbered, NumberedEdges, number};
pub(crate) use raw::{RawEdges, RawEdgesBuilder, RawPairs, SpillOptions};
pub(crate) use table::edges_of_table;
pub(crate) use text::parse::check_weight;

use super::{Features, Labels, NodeIds};
use crate::progress::Progress;
use fields::Separator;
use source::Source;
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
    /// Text, one JSON object a line for each edge.
    JsonLines,
    /// GraphML.
    #[serde(rename = "graphml")]
    GraphMl,
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
            Self::JsonLines => "JSON lines",
            Self::GraphMl => "GraphML",
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
            Some("jsonl" | "ndjson") => Self::JsonLines,
            Some("graphml") => Self::GraphMl,
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
            _ => Self::of_text(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start()),
        }
    }

    /// The format of text that begins as no edge does.
    fn of_text(start: &[u8]) -> Option<Self> {
        match start {
            [b'{', rest @ ..] if rest.trim_ascii_start().starts_with(b"\"") => Some(Self::JsonLines),
            _ if start.starts_with(b"<?xml") || start.starts_with(b"<graphml") => Some(Self::GraphMl),
            _ => None,
        }
    }

    /// What separates fields, if the format says it.
    fn separator(self) -> Option<Separator> {
        match self {
            Self::Csv => Some(Separator::Byte(b',')),
            Self::Tsv => Some(Separator::Byte(b'\t')),
            _ => None,
        }
    }

    /// Whether edges are lines of fields.
    fn is_fields(self) -> bool {
        matches!(self, Self::EdgeList | Self::Csv | Self::Tsv)
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
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadOptions {
    /// The format; if not given, the name tells.
    pub(crate) format: Option<Format>,
    /// Which columns to read.
    pub(crate) columns: ColumnOptions,
    /// What separates the fields of text.
    pub(crate) delimiter: Option<Delimiter>,
    /// Whether the first line names the columns, for text.
    pub(crate) header: HeaderRow,
    /// Whether node ids are integers or text, for text.
    pub(crate) ids: IdKind,
    /// Whether edges stay as they are directed, so that undirected ones must be put both ways.
    pub(crate) keep_directions: bool,
    /// The most bytes to unpack or set aside; if not given, the machine's memory.
    pub(crate) max_bytes: Option<u64>,
    /// What happens to edges that do not fit into memory.
    pub(crate) spill: SpillOptions,
}

impl ReadOptions {
    pub(crate) fn limit(&self) -> u64 {
        self.max_bytes.or_else(crate::memory::total_bytes).unwrap_or(u64::MAX)
    }

    /// As [`ReadOptions::limit`], for edges that are read piece by piece: those that do not fit go to
    /// disk, if there is a place for them.
    fn edge_limit(&self) -> u64 {
        match (self.max_bytes, self.spill.workspace.limit) {
            (None, u64::MAX) => self.limit(),
            (None, _) => u64::MAX,
            (Some(max_bytes), _) => max_bytes,
        }
    }

    /// Checks that what the user says about the file means something in its format.
    fn check_for(&self, format: Format) -> Result<(), Problem> {
        let has_columns = format.is_fields() || matches!(format, Format::Parquet | Format::JsonLines);
        let names_weights = matches!(self.columns.weights, Weights::Column(_));
        if self.columns.columns.is_some() && !has_columns {
            return Err(Problem::UselessOption { what: "columns", format });
        }
        if names_weights && !has_columns && format != Format::GraphMl {
            return Err(Problem::UselessOption { what: "the column of weights", format });
        }
        match self.delimiter.is_some() && !format.is_fields() {
            true => Err(Problem::UselessOption { what: "a delimiter", format }),
            false => Ok(()),
        }
    }

    /// Checks that nothing is said about a file where there is none.
    fn check_for_built_in(&self) -> Result<(), Problem> {
        let said = [
            (self.format.is_some(), "a format"),
            (self.columns.columns.is_some(), "columns"),
            (self.columns.weights != Weights::Auto, "weights"),
            (self.delimiter.is_some(), "a delimiter"),
        ];
        match said.into_iter().find(|&(is_said, _)| is_said) {
            Some((_, what)) => Err(Problem::UselessForBuiltIn { what }),
            None => Ok(()),
        }
    }
}

/// What a reader finds in a file.
type ReadResult = Result<Input, ReadError>;

/// What a file says about a graph.
#[derive(Debug)]
pub(crate) struct Input {
    /// The edges, named as in the file.
    pub(crate) edges: RawEdges,
    /// Where the weights come from, if edges have some.
    pub(crate) weights_from: Option<String>,
    /// The number of nodes, if the file says; ids are then below it.
    pub(crate) num_nodes: Option<usize>,
    /// What the nodes are called, if not by their number.
    pub(crate) ids: Option<NodeIds>,
    pub(crate) features: Option<Features>,
    pub(crate) labels: Option<Labels>,
}

impl Input {
    /// Edges, and nothing said about the nodes.
    pub(crate) fn of_edges(edges: RawEdges) -> Self {
        Self { edges, weights_from: None, num_nodes: None, ids: None, features: None, labels: None }
    }
}

/// Reads the graph in a file or a pipe.
pub(crate) fn read(path: &Path, options: &ReadOptions, progress: &dyn Progress) -> ReadResult {
    let mut source = Source::open(path)?;
    let format = Format::of_source(&mut source, options.format)?;
    let name = source.name().file_name().unwrap_or_default().to_string_lossy().into_owned();
    progress.begin(&format!("reading {name}"), source.num_bytes().unwrap_or(0), "bytes");
    let limit = options.limit();
    options.check_for(format).map_err(|problem| problem.in_file(source.name()))?;
    let input = match format {
        Format::Parquet => parquet::read(source, options, progress),
        Format::Npy => npy::read(source, limit),
        Format::Npz => npz::read(source, limit),
        Format::MatrixMarket => matrix_market::read(source, options, progress),
        Format::JsonLines => json_lines::read(source, options, progress),
        Format::GraphMl => graphml::read(source, options, progress),
        Format::EdgeList | Format::Csv | Format::Tsv => {
            read_text(source, format.separator(), options, progress)
        }
    };
    progress.end();
    let mut input = input?;
    if options.columns.weights == Weights::None {
        input.edges.drop_weights();
    }
    Ok(input)
}

/// Reads a graph from an archive that is part of the program.
pub(crate) fn read_built_in(
    name: &str,
    bytes: &'static [u8],
    options: &ReadOptions,
) -> Result<Input, ReadError> {
    options.check_for_built_in().map_err(|problem| problem.in_file(Path::new(name)))?;
    npz::read_archive(archive::Archive::built_in(Path::new(name), bytes)?)
}

fn read_text(
    source: Source,
    separator: Option<Separator>,
    options: &ReadOptions,
    progress: &dyn Progress,
) -> Result<Input, ReadError> {
    let ReadOptions { header, ids, .. } = *options;
    let separator = options.delimiter.map(Delimiter::separator).or(separator);
    let layout = LayoutOptions { separator, columns: options.columns.clone(), header, ids };
    let (edges, weights_from) = text::read_edge_list(source, &layout, options.spill.clone(), progress)?;
    Ok(Input { weights_from, ..Input::of_edges(edges) })
}
