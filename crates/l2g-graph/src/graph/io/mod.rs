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

#[cfg_attr(not(feature = "webgraph"), path = "without_webgraph.rs")]
mod webgraph;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use columns::{Delimiter, EdgeColumns, Weights};
pub use error::{Place, Problem, ReadError};
pub use node_values::{NodeValues, ValueRow};
pub use source::{is_standard_input, is_stream, open_stream};
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
    /// A compressed graph of WebGraph (BvGraph).
    #[serde(rename = "webgraph")]
    WebGraph,
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
            Self::WebGraph => "a compressed graph of WebGraph",
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
            Some("graph") => Self::WebGraph,
            _ => Self::EdgeList,
        }
    }

    /// The file beside a graph that describes it, for formats that have one.
    pub fn description_of(path: &Path) -> Option<PathBuf> {
        (Self::of_name(path) == Self::WebGraph).then(|| path.with_extension("properties"))
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

/// What readers find in files.
type ReadResult = Result<Input, ReadError>;

/// What files say about a graph.
#[derive(Debug)]
pub(crate) struct Input {
    /// The edges, named as in the files.
    pub(crate) edges: RawEdges,
    /// What else they say.
    pub(crate) about: About,
}

/// What a file says about a graph besides its edges, which are handed over piece by piece.
#[derive(Debug, Default)]
pub(crate) struct About {
    /// Where the weights come from, if edges have some.
    pub(crate) weights_from: Option<String>,
    /// The number of nodes, if the file says; ids are then below it.
    pub(crate) num_nodes: Option<usize>,
    /// What the nodes are called, if not by their number.
    pub(crate) ids: Option<NodeIds>,
    pub(crate) features: Option<Features>,
    pub(crate) labels: Option<Labels>,
}

impl About {
    /// Edges whose weights, if they have any, come from there.
    fn weights_from(from: Option<String>) -> Self {
        Self { weights_from: from, ..Self::default() }
    }

    /// What of this belongs to a graph as a whole, so that other files cannot add to it.
    fn whole(&self) -> Option<&'static str> {
        let parts = [
            (self.ids.is_some(), "the names of all nodes"),
            (self.features.is_some(), "features"),
            (self.labels.is_some(), "labels"),
        ];
        parts.into_iter().find(|&(is_there, _)| is_there).map(|(_, what)| what)
    }

    /// Checks that a further file says the same about all nodes as the first one.
    fn check_with(&self, first: &Self, first_name: &Path) -> Result<(), Problem> {
        if let Some(what) = self.whole().or(first.whole()) {
            return Err(Problem::WholeGraph(what));
        }
        let nodes = |found: Option<usize>| match found {
            Some(num_nodes) => format!("says that there are {num_nodes} nodes"),
            None => "does not say how many nodes there are".to_owned(),
        };
        match self.num_nodes == first.num_nodes {
            true => Ok(()),
            false => {
                let (this, first) = (nodes(self.num_nodes), nodes(first.num_nodes));
                let problem = format!("{this}, but `{}` {first}", first_name.display());
                Err(Problem::Inconsistent(problem))
            }
        }
    }
}

/// Reads the graph in some files or pipes, one after the other, as if they were one. A file without
/// edges adds nothing, if there are others.
pub(crate) fn read(paths: &[PathBuf], options: &ReadOptions, progress: &dyn Progress) -> ReadResult {
    let mut builder = RawEdgesBuilder::new(options.spill.clone());
    let ranges = ranges_of(paths);
    let mut first: Option<(&Path, About)> = None;
    for (number, path) in paths.iter().enumerate() {
        let mut options = options.clone();
        // Text that looks like integers is text, after text that does not; as in one file.
        if options.ids == IdKind::Auto && builder.has_names() {
            options.ids = IdKind::String;
        }
        let place =
            if paths.len() > 1 { format!(" ({} of {})", number + 1, paths.len()) } else { String::new() };
        builder.begin_file(path, ranges.as_ref().map(|ranges| ranges[number]));
        let about = match read_file(path, &place, &options, &mut builder, progress) {
            Err(error) if paths.len() > 1 && matches!(*error.problem, Problem::NoEdges) => continue,
            about => about?,
        };
        match &first {
            None => first = Some((path, about)),
            Some((first_path, said)) => {
                about.check_with(said, first_path).map_err(|problem| problem.in_file(path))?;
            }
        }
    }
    match first {
        Some((_, about)) => Ok(Input { edges: builder.finish(), about }),
        None => Err(Problem::NoEdges.in_file(&label_of(paths))),
    }
}

/// What messages call some files.
pub(crate) fn label_of(files: &[PathBuf]) -> PathBuf {
    match files {
        [] => PathBuf::new(),
        [file] => file.clone(),
        [first, others @ ..] => format!("{} and {} more", first.display(), others.len()).into(),
    }
}

/// Where each file begins and ends in all of them, as shares; unknown if one is a pipe.
fn ranges_of(paths: &[PathBuf]) -> Option<Vec<[f64; 2]>> {
    let size = |path: &PathBuf| path.metadata().ok().filter(|data| data.is_file()).map(|data| data.len());
    let sizes: Vec<u64> = paths.iter().map(size).collect::<Option<_>>()?;
    let total = sizes.iter().sum::<u64>().max(1) as f64;
    let mut before = 0;
    let range = sizes.into_iter().map(|bytes| {
        let start = before;
        before += bytes;
        [start as f64 / total, before as f64 / total]
    });
    Some(range.collect())
}

/// How a file is read, and where its edges go.
pub(crate) struct Reading<'a> {
    pub(crate) options: &'a ReadOptions,
    pub(crate) builder: &'a mut RawEdgesBuilder,
    pub(crate) progress: &'a dyn Progress,
}

/// Reads the graph in a file or a pipe; its edges go to the builder.
fn read_file(
    path: &Path,
    place: &str,
    options: &ReadOptions,
    builder: &mut RawEdgesBuilder,
    progress: &dyn Progress,
) -> Result<About, ReadError> {
    let mut source = Source::open(path)?.with_room(&options.spill.workspace.folder);
    let format = Format::of_source(&mut source, options.format)?;
    let name = source.name().file_name().unwrap_or_default().to_string_lossy().into_owned();
    progress.begin(&format!("reading {name}{place}"), source.num_bytes().unwrap_or(0), "bytes");
    options.check_for(format).map_err(|problem| problem.in_file(source.name()))?;
    let reading = Reading { options, builder, progress };
    let about = match format {
        Format::Parquet => parquet::read(source, reading),
        Format::Npy => npy::read(source, reading),
        Format::Npz => npz::read(source, reading.options, reading.builder),
        Format::MatrixMarket => matrix_market::read(source, reading),
        Format::JsonLines => json_lines::read(source, reading),
        Format::GraphMl => graphml::read(source, reading),
        Format::WebGraph => webgraph::read(source, reading),
        Format::EdgeList | Format::Csv | Format::Tsv => read_text(source, format.separator(), reading),
    };
    progress.end();
    about
}

/// Reads a graph from an archive that is part of the program.
pub(crate) fn read_built_in(
    name: &str,
    bytes: &'static [u8],
    options: &ReadOptions,
) -> Result<Input, ReadError> {
    options.check_for_built_in().map_err(|problem| problem.in_file(Path::new(name)))?;
    let mut builder = RawEdgesBuilder::default();
    let about = npz::read_archive(archive::Archive::built_in(Path::new(name), bytes)?, &mut builder)?;
    Ok(Input { edges: builder.finish(), about })
}

fn read_text(source: Source, separator: Option<Separator>, reading: Reading<'_>) -> Result<About, ReadError> {
    let Reading { options, builder, progress } = reading;
    let ReadOptions { header, ids, .. } = *options;
    let separator = options.delimiter.map(Delimiter::separator).or(separator);
    let layout = LayoutOptions { separator, columns: options.columns.clone(), header, ids };
    let weights_from = text::read_edge_list(source, &layout, builder, progress)?;
    Ok(About::weights_from(weights_from))
}
