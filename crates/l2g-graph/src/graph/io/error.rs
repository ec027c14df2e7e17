//! Why a file could not be read, with the place in the file.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::Format;
use crate::graph::external::ExternalError;
use crate::graph::features::FeatureError;
use crate::graph::table::TableError;
use crate::npy::NpyError;

/// Why a graph, its features or its labels could not be read.
///
/// The message names the file, the line or array, what was found and what was needed:
///
/// ```text
/// edges.tsv:1041: expected 2 fields, found 5
/// cora.npz: array `adj_indices`: value -1 at position 17 is negative
/// ```
#[derive(Debug)]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// Where in the file.
    pub place: Place,
    /// What is wrong there.
    pub problem: Box<Problem>,
}

/// A place in an input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line, counted from 1.
    Line(u64),
    /// An array of an archive.
    Array(String),
    /// A column of a table.
    Column(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.place {
            Place::File => write!(f, "{path}: {}", self.problem),
            Place::Line(line) => write!(f, "{path}:{line}: {}", self.problem),
            Place::Array(name) => write!(f, "{path}: array `{name}`: {}", self.problem),
            Place::Column(name) => write!(f, "{path}: column `{name}`: {}", self.problem),
        }
    }
}

impl std::error::Error for ReadError {}

/// What is wrong with an input file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum Problem {
    #[error("{0}")]
    Io(#[from] io::Error),

    #[error("reading was stopped")]
    Cancelled,

    #[error("this is a folder, needed a file")]
    Folder,

    #[error("this folder holds no files that are read")]
    EmptyFolder,

    #[error("this folder holds the folder `{name}`, needed files, or folders such as `year=2024`")]
    StrayFolder { name: String },

    #[error("no file matches this pattern")]
    NoMatch,

    #[error("this is no pattern of file names: {0}")]
    Pattern(&'static str),

    #[error("this file is named twice")]
    NamedTwice,

    #[error("holds {0}, and so a whole graph, which cannot be joined with other files")]
    WholeGraph(&'static str),

    #[error("file is not there")]
    Missing,

    #[error("this is a terminal, needed a file or a pipe")]
    Terminal,

    #[error("nothing came through")]
    EmptyStream,

    #[error("`{name}` is not built in; needed the file {file} in one of: {}", places.join(", "))]
    UnknownName { name: String, file: String, places: Vec<String> },

    #[error("looks like {found}, but was taken for {taken}")]
    WrongFormat { found: Format, taken: Format },

    #[error("found no edges")]
    NoEdges,

    #[error("file is cut off or damaged: {0}")]
    Damaged(String),

    #[error("this program was built without Parquet")]
    WithoutParquet,

    #[error("this program was built without WebGraph")]
    WithoutWebGraph,

    #[error("line is longer than {limit} bytes")]
    LongLine { limit: usize },

    #[error("found a zero byte, so this is not text")]
    NotText,

    #[error("found a carriage return inside a line")]
    StrayReturn,

    #[error("found bytes that are not UTF-8")]
    NotUtf8,

    #[error("expected {needed} fields, found {found}")]
    Fields { needed: String, found: usize },

    #[error("expected a header, found numbers: `{0}`")]
    NoHeader(String),

    #[error("expected a node id, found nothing")]
    EmptyId,

    #[error("node id `{0}` is not a plain integer, as the others are")]
    NotInteger(String),

    #[error("node id {0} is negative")]
    NegativeId(String),

    #[error("node id {0} is too large; integers go up to 18446744073709551615")]
    HugeId(String),

    #[error("node id {id} is outside 1..={num_nodes}")]
    OutsideMatrix { id: u64, num_nodes: u64 },

    #[error("weight `{0}` is not a number")]
    NotNumber(String),

    #[error("weight {0} is not finite")]
    WeightNotFinite(f32),

    #[error("weight {0} is negative")]
    WeightNegative(f32),

    #[error("{0}")]
    Array(#[from] NpyError),

    #[error("array is missing; found {}", found.join(", "))]
    NoArray { found: Vec<String> },

    #[error("found no column `{name}` among {found}")]
    MissingColumn { name: String, found: String },

    #[error("{what} cannot be chosen in {format}")]
    UselessOption { what: &'static str, format: Format },

    #[error("{what} cannot be chosen in a graph that is built in")]
    UselessForBuiltIn { what: &'static str },

    #[error("column is missing; found {}", found.join(", "))]
    NoColumn { found: Vec<String> },

    #[error("column has type {found}, needed {needed}")]
    ColumnType { found: String, needed: &'static str },

    #[error("row {row} is empty")]
    NullValue { row: usize },

    #[error("value at row {row}: {problem}")]
    Value { row: usize, problem: Box<Problem> },

    #[error("needs {bytes} bytes unpacked, but the limit is {limit}")]
    TooLarge { bytes: u64, limit: u64 },

    #[error("{0}")]
    External(#[from] ExternalError),

    #[error("{0}")]
    Features(#[from] FeatureError),

    #[error("feature `{0}` is not a finite number")]
    FeatureNotNumber(String),

    #[error("first column holds the node ids, but no header says so; needed a first line such as `id,...`")]
    BareIds,

    #[error("feature value {value} in row {row} is not a finite number")]
    FeatureNotFinite { row: usize, value: String },

    #[error("adjacency matrix has {rows} rows and {columns} columns, needed a square one")]
    NotSquare { rows: u64, columns: u64 },

    #[error("{0}")]
    Inconsistent(String),

    #[error("names node `{0}`, which is not in the graph")]
    UnknownNode(String),

    #[error("none of its {nodes} nodes is in the graph")]
    ForeignNodes { nodes: usize },

    #[error("node `{node}` has `{value}` here, and `{before}` in line {line}")]
    TwoValues { node: String, value: String, before: String, line: u64 },

    #[error("names node `{0}` twice")]
    RepeatedNode(String),

    #[error("has {found} rows in order, but the graph has {needed} nodes")]
    Rows { found: usize, needed: usize },

    #[error("says nothing about {missing} of {total} nodes, the first of them `{first}`")]
    Incomplete { missing: usize, total: usize, first: String },
}

impl From<TableError> for Problem {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Damaged(message) => Self::Damaged(message),
            TableError::WithoutParquet => Self::WithoutParquet,
        }
    }
}

impl Problem {
    /// The problem in the file as a whole.
    pub fn in_file(self, path: &Path) -> ReadError {
        self.at(path, Place::File)
    }

    /// The problem at a place of the file.
    pub fn at(self, path: &Path, place: Place) -> ReadError {
        ReadError { path: path.to_owned(), place, problem: Box::new(self) }
    }

    /// The problem in an array of the file.
    pub fn in_array(self, path: &Path, name: &str) -> ReadError {
        self.at(path, Place::Array(name.to_owned()))
    }
}
