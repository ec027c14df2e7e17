//! A value for each node, from a file of its own: labels, clusters, the parts of a split.
//!
//! A `.npy` array has one value per node, in the order of the graph. Text has a node, by the
//! user's own id, and its value on each line, by one set of rules:
//!
//! - fields are separated by a tab, comma, semicolon, `|` or blanks, as the first line shows, and
//!   may be quoted unless blanks separate them;
//! - a first line whose first field is a usual name for ids, as in `id,label`, is a header;
//! - empty lines are passed over, and lines that begin with `#` unless there is a header; before
//!   the first line of data those that begin with `%` too;
//! - an empty value says nothing about its node;
//! - nodes that are not in the graph are passed over, but one of them at least must be in it;
//! - the same value may be given twice. Whether a node may have several is for the caller to say.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::error::{Problem, ReadError};
use super::fields::{Separator, split};
use super::lines::{Block, LineBlocks, at_line};
use super::npy::OpenArray;
use super::source::Source;
use super::text::layout::is_comment;
use super::text::parse::check_text;
use super::{Format, npy};
use crate::graph::{NodeId, NodeIds};

/// The names a table may give its column of ids.
pub(crate) const ID_NAMES: [&str; 6] = ["id", "ids", "node", "node_id", "nodeId", "node_ids"];

/// Whether a column of that name holds node ids.
pub(crate) fn names_ids(name: &str) -> bool {
    ID_NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Values of nodes, as a file gives them.
pub enum NodeValues {
    /// One value per node, in the order of the nodes, not read yet.
    InOrder(OpenArray),
    /// Nodes and their values.
    Keyed(IdValues),
}

impl NodeValues {
    /// Opens an array, or reads text.
    ///
    /// # Errors
    /// [`ReadError`] with file, place and reason.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let mut source = Source::open(path)?;
        match Format::of_source(&mut source, None)? {
            Format::Npy => npy::open(source, u64::MAX).map(Self::InOrder),
            Format::EdgeList | Format::Csv | Format::Tsv => IdValues::read(source).map(Self::Keyed),
            other => {
                let problem = format!("looks like {other}, needed text or a NumPy array (.npy)");
                Err(Problem::Inconsistent(problem).in_file(source.name()))
            }
        }
    }
}

/// One line: a node and its value.
#[derive(Clone, Debug)]
pub struct ValueRow {
    /// The line, counted from 1.
    pub line: u64,
    pub(crate) id: String,
    /// The value.
    pub value: String,
}

/// Nodes and their values, in the order of a file.
#[derive(Debug)]
pub struct IdValues {
    path: PathBuf,
    rows: Vec<ValueRow>,
}

impl IdValues {
    /// Rows that were read already.
    pub(crate) fn new(path: PathBuf, rows: Vec<ValueRow>) -> Self {
        Self { path, rows }
    }

    /// Reads text.
    pub(crate) fn read(source: Source) -> Result<Self, ReadError> {
        let path = source.name().to_owned();
        let mut blocks = LineBlocks::new(source)?;
        let mut rules = Rules::default();
        let mut rows = Vec::new();
        while let Some(block) = blocks.next_block()? {
            rules.read(&block, &mut rows).map_err(|(line, problem)| at_line(&path, line, problem))?;
        }
        Ok(Self { path, rows })
    }

    /// The file, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows whose node is in the graph.
    ///
    /// # Errors
    /// If there are rows, and none of their nodes is in the graph.
    pub(crate) fn of_nodes(&self, nodes: &NodeIds) -> Result<Vec<(NodeId, &ValueRow)>, ReadError> {
        let numbers = NodeNumbers::of(nodes);
        let found: Vec<_> = self.rows.iter().filter_map(|row| Some((numbers.get(&row.id)?, row))).collect();
        match found.is_empty() && !self.rows.is_empty() {
            true => Err(Problem::ForeignNodes { nodes: self.rows.len() }.in_file(&self.path)),
            false => Ok(found),
        }
    }

    /// The row of each node, if it has one.
    ///
    /// # Errors
    /// If a node has two different values; as [`IdValues::of_nodes`].
    pub fn one_per_node(&self, nodes: &NodeIds) -> Result<Vec<Option<&ValueRow>>, ReadError> {
        let mut by_node: Vec<Option<&ValueRow>> = vec![None; nodes.len()];
        for (node, row) in self.of_nodes(nodes)? {
            match by_node[node.index()].replace(row) {
                Some(before) if before.value != row.value => {
                    let ValueRow { line, id: node, value } = row.clone();
                    let problem =
                        Problem::TwoValues { node, value, before: before.value.clone(), line: before.line };
                    return Err(at_line(&self.path, line - 1, problem));
                }
                _ => {}
            }
        }
        Ok(by_node)
    }
}

/// What the first line of data told.
#[derive(Default)]
struct Rules {
    separator: Option<Separator>,
    has_header: bool,
}

impl Rules {
    /// Reads the rows of a block.
    ///
    /// # Errors
    /// The line, counted from 0 in the file, and what is wrong there.
    fn read(&mut self, block: &Block, rows: &mut Vec<ValueRow>) -> Result<(), (u64, Problem)> {
        for (number, line) in block.lines() {
            let number = block.first_line + number;
            if self.passes_over(line) {
                continue;
            }
            let row = self.fields(line).map_err(|problem| (number, problem))?;
            if let Some([id, value]) = row.filter(|[_, value]| !value.is_empty()) {
                rows.push(ValueRow { line: number + 1, id, value });
            }
        }
        Ok(())
    }

    fn passes_over(&self, line: &[u8]) -> bool {
        match line.trim_ascii_start() {
            [] => true,
            _ if self.separator.is_none() => is_comment(line),
            [b'#', ..] => !self.has_header,
            _ => false,
        }
    }

    /// The node and its value; nothing if this is the header.
    fn fields(&mut self, line: &[u8]) -> Result<Option<[String; 2]>, Problem> {
        check_text(line)?;
        let is_first = self.separator.is_none();
        let separator = *self.separator.get_or_insert_with(|| Separator::guess(line));
        let fields = <[String; 2]>::try_from(split(line, separator)?)
            .map_err(|fields| Problem::Fields { needed: "2".into(), found: fields.len() })?;
        if is_first && names_ids(&fields[0]) {
            self.has_header = true;
            return Ok(None);
        }
        match fields[0].is_empty() {
            true => Err(Problem::EmptyId),
            false => Ok(Some(fields)),
        }
    }
}

/// The row of each node, by its name. Looked up, never iterated.
pub(crate) struct NodeNumbers(FxHashMap<String, NodeId>);

impl NodeNumbers {
    pub(crate) fn of(nodes: &NodeIds) -> Self {
        let numbers = (0..nodes.len()).map(NodeId::new);
        Self(numbers.map(|node| (nodes.get(node).to_string(), node)).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<NodeId> {
        self.0.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<[String; 2]>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("y.csv");
        std::fs::write(&path, bytes).unwrap();
        let values = IdValues::read(Source::open(&path).unwrap());
        let rows = values.map(|values| values.rows.into_iter().map(|row| [row.id, row.value]).collect());
        rows.map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
    }

    #[test]
    fn all_spellings_give_the_same_rows() {
        let expected = [["a".to_owned(), "x".to_owned()], ["b".to_owned(), "y".to_owned()]];
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(b"a\tx\nb\ty\n").unwrap();
        let spellings: [&[u8]; 12] = [
            b"a x\nb y\n",
            b"a\tx\nb\ty",
            b"a,x\r\n b , y \r\n",
            b"a;x\nb;y\n",
            b"a|x\nb|y\n",
            b"# c\n% c\n\nid,label\na,\"x\"\n\"b\",y\n",
            b"Node part\na x\nb y\n",
            b"a x\n# c\nb y\n",
            b"\xef\xbb\xbfa x\nb y\n",
            b"a x\rb y\r",
            b"a,x\nc,\nb,y\n",
            &gzip.finish().unwrap(),
        ];
        for bytes in spellings {
            assert_eq!(read(bytes).unwrap(), expected, "{}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(read(b"id,v\n#a,x\n").unwrap(), [["#a".to_owned(), "x".to_owned()]]);
    }

    #[test]
    fn bad_lines_are_named() {
        assert_eq!(read(b"a x\nb y z\n").unwrap_err(), "y.csv:2: expected 2 fields, found 3");
        assert_eq!(read(b"a,x\n,y\n").unwrap_err(), "y.csv:2: expected a node id, found nothing");
        assert_eq!(read(b"a x\nb \0\n").unwrap_err(), "y.csv:2: found a zero byte, so this is not text");
    }

    #[test]
    fn a_node_with_two_values_is_named() {
        let row = |line, id: &str, value: &str| ValueRow { line, id: id.into(), value: value.into() };
        let values = |last: ValueRow| IdValues::new("y.csv".into(), vec![row(1, "5", "a"), last]);
        let error = values(row(4, "5", "b")).one_per_node(&NodeIds::Range(6)).unwrap_err();
        assert_eq!(error.to_string(), "y.csv:4: node `5` has `b` here, and `a` in line 1");
        let same = values(row(4, "5", "a"));
        assert!(same.one_per_node(&NodeIds::Range(6)).unwrap()[5].is_some());
    }
}
