//! Features and labels from files of their own.
//!
//! A table either names the node of each row, in a column or array of ids, or has one
//! row per node in the order of the nodes. Which row goes to which node is settled in
//! [`rows_by_node`], once the nodes are numbered.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::archive::Archive;
use super::error::{Place, Problem, ReadError};
use super::parquet::{Column, Ids, Table};
use super::source::{LineBlocks, open_unpacked};
use super::sparse::SparseMatrix;
use super::text::fields::{Separator, split};
use super::text::layout::is_comment;
use super::{Format, ReadOptions, npy, npz};
use crate::graph::features::DenseFeatures;
use crate::graph::ids::IdRef;
use crate::graph::labels::UNKNOWN;
use crate::graph::{Features, Labels, NodeId, NodeIds};

/// The names a table may give its column of ids.
const ID_NAMES: [&str; 6] = ["id", "ids", "node", "node_id", "nodeId", "node_ids"];

/// Features as a file gives them.
#[derive(Debug)]
pub(crate) struct FeatureTable {
    path: PathBuf,
    /// The node of each row; without it, rows are in the order of the nodes.
    ids: Option<NodeIds>,
    features: Features,
}

/// Labels as a file gives them.
#[derive(Debug)]
pub(crate) enum LabelTable {
    /// One row per node, in the order of the nodes.
    InOrder(PathBuf, Labels),
    /// Pairs of a node and one of its classes, by name.
    Keyed(PathBuf, NodeIds, Vec<String>),
}

/// Reads features from `.npy` (in order), `.npz` or `.parquet`.
pub(crate) fn read_features(path: &Path, options: &ReadOptions) -> Result<FeatureTable, ReadError> {
    let limit = options.limit();
    let (ids, features) = match Format::of_name(path) {
        Format::Npy => (None, npy_features(path, limit)?),
        Format::Npz => npz_features(Archive::open(path, limit)?)?,
        Format::Parquet => parquet_features(path, limit)?,
        _ => {
            let problem = "features come as .npy, .npz or .parquet".to_owned();
            return Err(Problem::Inconsistent(problem).in_file(path));
        }
    };
    features.check_finite().map_err(|error| Problem::from(error).in_file(path))?;
    Ok(FeatureTable { path: path.to_owned(), ids, features })
}

fn npy_features(path: &Path, limit: u64) -> Result<Features, ReadError> {
    let (shape, values) = npy::with_reader(path, limit, |reader| {
        let shape = reader.header().shape.clone();
        Ok((shape, reader.floats::<f32>()?))
    })?;
    let (rows, columns) = match shape[..] {
        [rows] => (rows, 1),
        [rows, columns] => (rows, columns),
        _ => {
            let needed = "two axes: nodes and features".into();
            return Err(Problem::Array(crate::npy::NpyError::Shape { found: shape, needed }).in_file(path));
        }
    };
    let dense = DenseFeatures::new(rows, columns, values.into());
    dense.map(Features::Dense).map_err(|error| Problem::from(error).in_file(path))
}

fn npz_features(mut archive: Archive) -> Result<(Option<NodeIds>, Features), ReadError> {
    let features = if archive.has("attr_indptr") {
        Features::Sparse(SparseMatrix::read(&mut archive, "attr_")?.into_features())
    } else if archive.has("indptr") {
        Features::Sparse(SparseMatrix::read(&mut archive, "")?.into_features())
    } else {
        let known = ["x", "features", "attr_matrix", "arr_0"];
        let name = known.into_iter().find(|name| archive.has(name)).unwrap_or("x");
        npz::read_dense(&mut archive, name)?
    };
    let ids = match ID_NAMES.into_iter().find(|name| archive.has(name)) {
        None => None,
        Some(name) => Some(npz::read_names(&mut archive, name)?),
    };
    Ok((ids, features))
}

/// A column of lists, or one column per feature; and a column of ids, if there is one.
fn parquet_features(path: &Path, limit: u64) -> Result<(Option<NodeIds>, Features), ReadError> {
    let table = Table::open(path, limit)?;
    let names = table.column_names();
    let id_column = names.iter().position(|name| ID_NAMES.contains(&name.as_str()));
    let value_columns: Vec<usize> = (0..names.len()).filter(|&column| Some(column) != id_column).collect();
    let num_rows = table.num_rows();
    let mut ids = IdCollector::default();
    let mut width = None;
    let mut values: Vec<f32> = Vec::new();
    let mut first_row = 0;
    let all: Vec<usize> = (0..names.len()).collect();
    table.for_each_batch(&all, |batch| {
        if let Some(column) = id_column {
            ids.extend(Column::new(path, &names[column], batch, first_row)?.ids()?);
        }
        let (batch_width, batch_values) = match value_columns[..] {
            [only] if batch.column(only).data_type().is_nested() => {
                Column::new(path, &names[only], batch, first_row)?.vectors()?
            }
            _ => {
                let columns = value_columns
                    .iter()
                    .map(|&column| Column::new(path, &names[column], batch, first_row)?.floats())
                    .collect::<Result<Vec<_>, _>>()?;
                (columns.len(), interleaved(&columns, batch.num_rows()))
            }
        };
        if *width.get_or_insert(batch_width) != batch_width {
            let problem = Problem::Fields { needed: format!("{width:?}"), found: batch_width };
            return Err(problem.in_file(path));
        }
        values.extend(batch_values);
        first_row += batch.num_rows();
        Ok(())
    })?;
    let dense = DenseFeatures::new(num_rows, width.unwrap_or(0), values.into());
    let features = dense.map_err(|error| Problem::from(error).in_file(path))?;
    Ok((id_column.map(|_| ids.finish()), Features::Dense(features)))
}

/// Columns of numbers as rows.
fn interleaved(columns: &[Vec<f32>], num_rows: usize) -> Vec<f32> {
    (0..num_rows).flat_map(|row| columns.iter().map(move |column| column[row])).collect()
}

/// Ids of several batches, all integers or all text.
#[derive(Default)]
struct IdCollector {
    integers: Vec<u64>,
    strings: Vec<String>,
}

impl IdCollector {
    fn extend(&mut self, ids: Ids) {
        match ids {
            Ids::Integers(more) => self.integers.extend(more),
            Ids::Strings(more) => self.strings.extend(more.iter().map(str::to_owned)),
        }
    }

    fn finish(self) -> NodeIds {
        match self.strings.is_empty() {
            true => NodeIds::Integers(self.integers.into()),
            false => NodeIds::Strings(self.strings.into_iter().collect()),
        }
    }
}

/// Reads labels from `.npy` or `.npz` (in order), `.parquet` or text `id label`.
pub(crate) fn read_labels(path: &Path, options: &ReadOptions) -> Result<LabelTable, ReadError> {
    let limit = options.limit();
    match Format::of_name(path) {
        Format::Npy => {
            let labels = npy::with_reader(path, limit, |reader| npy::labels(reader, Vec::new()))?;
            Ok(LabelTable::InOrder(path.to_owned(), labels))
        }
        Format::Npz => {
            let mut archive = Archive::open(path, limit)?;
            let known = ["labels", "y", "arr_0"];
            let name = known.into_iter().find(|name| archive.has(name)).unwrap_or("labels");
            let labels = archive.read(name, |reader| npy::labels(reader, Vec::new()))?;
            Ok(LabelTable::InOrder(path.to_owned(), labels))
        }
        Format::Parquet => parquet_labels(path, limit),
        _ => text_labels(path),
    }
}

fn parquet_labels(path: &Path, limit: u64) -> Result<LabelTable, ReadError> {
    let table = Table::open(path, limit)?;
    let names = table.column_names();
    let column = |known: &[&str]| {
        let found = names.iter().position(|name| known.contains(&name.as_str()));
        let missing =
            || Problem::NoColumn { found: names.clone() }.at(path, Place::Column(known[0].to_owned()));
        found.ok_or_else(missing)
    };
    let (id, label) = (column(&ID_NAMES)?, column(&["label", "labels", "class", "y"])?);
    let mut ids = IdCollector::default();
    let mut classes = Vec::new();
    let mut first_row = 0;
    table.for_each_batch(&[id, label], |batch| {
        ids.extend(Column::new(path, &names[id], batch, first_row)?.ids()?);
        classes.extend(Column::new(path, &names[label], batch, first_row)?.strings()?);
        first_row += batch.num_rows();
        Ok(())
    })?;
    Ok(LabelTable::Keyed(path.to_owned(), ids.finish(), classes))
}

/// Lines `id label`; a first line that names its columns is passed over.
fn text_labels(path: &Path) -> Result<LabelTable, ReadError> {
    let mut blocks = LineBlocks::new(open_unpacked(path)?, Vec::new(), 1 << 20);
    let mut ids = Vec::new();
    let mut classes = Vec::new();
    let mut separator = None;
    let mut number = 0;
    while let Some(block) = blocks.next_block().map_err(|problem| problem.in_file(path))? {
        for line in block.split_inclusive(|&byte| byte == b'\n') {
            number += 1;
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            if is_comment(line) {
                continue;
            }
            let separator = *separator.get_or_insert_with(|| Separator::guess(line));
            let at_line = |problem: Problem| problem.at(path, Place::Line(number));
            let fields = split(line, separator).map_err(at_line)?;
            let [id, class] = <[String; 2]>::try_from(fields)
                .map_err(|fields| at_line(Problem::Fields { needed: "2".into(), found: fields.len() }))?;
            if ids.is_empty() && ID_NAMES.contains(&id.to_ascii_lowercase().as_str()) {
                continue;
            }
            ids.push(id);
            classes.push(class);
        }
    }
    Ok(LabelTable::Keyed(path.to_owned(), NodeIds::Strings(ids.into_iter().collect()), classes))
}

impl FeatureTable {
    /// The number of rows, if they are in the order of the nodes.
    pub(crate) fn rows_in_order(&self) -> Option<usize> {
        self.ids.is_none().then(|| self.features.num_rows())
    }

    /// The features of the nodes, every one of which must have a row.
    pub(crate) fn attach(self, nodes: &NodeIds) -> Result<Features, ReadError> {
        let at_file = |problem: Problem| problem.in_file(&self.path);
        let Some(ids) = &self.ids else {
            let found = self.features.num_rows();
            return match found == nodes.len() {
                true => Ok(self.features),
                false => Err(at_file(Problem::Rows { found, needed: nodes.len() })),
            };
        };
        if ids.len() != self.features.num_rows() {
            let problem = format!("has {} ids for {} rows", ids.len(), self.features.num_rows());
            return Err(at_file(Problem::Inconsistent(problem)));
        }
        let rows = rows_by_node(nodes, ids).map_err(at_file)?;
        let mut by_node: Vec<Option<NodeId>> = vec![None; nodes.len()];
        for (row, &node) in rows.iter().enumerate() {
            if by_node[node.index()].replace(NodeId::new(row)).is_some() {
                return Err(at_file(Problem::RepeatedNode(nodes.get(node).to_string())));
            }
        }
        let found: Option<Vec<NodeId>> = by_node.iter().copied().collect();
        let missing = || {
            let first = by_node.iter().position(Option::is_none).map(NodeId::new).expect("one is missing");
            let missing = by_node.iter().filter(|row| row.is_none()).count();
            Problem::Incomplete { missing, total: nodes.len(), first: nodes.get(first).to_string() }
        };
        Ok(self.features.select(&found.ok_or_else(|| at_file(missing()))?))
    }
}

impl LabelTable {
    /// The number of rows, if they are in the order of the nodes.
    pub(crate) fn rows_in_order(&self) -> Option<usize> {
        match self {
            Self::InOrder(_, labels) => Some(labels.num_rows()),
            Self::Keyed(..) => None,
        }
    }

    /// The labels of the nodes; a node without one has an unknown class, a node with
    /// several makes all labels multiple.
    pub(crate) fn attach(self, nodes: &NodeIds) -> Result<Labels, ReadError> {
        match self {
            Self::InOrder(path, labels) => match labels.num_rows() == nodes.len() {
                true => Ok(labels),
                false => Err(Problem::Rows { found: labels.num_rows(), needed: nodes.len() }.in_file(&path)),
            },
            Self::Keyed(path, ids, classes) => {
                let rows = rows_by_node(nodes, &ids).map_err(|problem| problem.in_file(&path))?;
                let class_names = sorted_classes(&classes);
                let class = |name: &String| {
                    class_names.iter().position(|known| known == name).expect("all names were collected")
                };
                let pairs: Vec<(NodeId, usize)> = rows.into_iter().zip(classes.iter().map(class)).collect();
                Ok(labels_of(&pairs, nodes.len(), class_names))
            }
        }
    }
}

/// The names of all classes, numbers in numerical order before words in theirs.
fn sorted_classes(classes: &[String]) -> Vec<String> {
    let mut names = classes.to_vec();
    names.sort_by(|a, b| {
        let key = |name: &str| name.parse::<i64>().map_or((1, 0), |number| (0, number));
        key(a).cmp(&key(b)).then_with(|| a.cmp(b))
    });
    names.dedup();
    names
}

fn labels_of(pairs: &[(NodeId, usize)], num_nodes: usize, class_names: Vec<String>) -> Labels {
    let mut single = vec![UNKNOWN; num_nodes];
    let mut repeated = false;
    for &(node, class) in pairs {
        let slot = &mut single[node.index()];
        repeated |= *slot != UNKNOWN && *slot != class as i32;
        *slot = class as i32;
    }
    if !repeated {
        return Labels::single(single.into(), class_names);
    }
    let mut indicators = vec![0; num_nodes * class_names.len()];
    pairs.iter().for_each(|&(node, class)| indicators[node.index() * class_names.len() + class] = 1);
    Labels::multi(indicators.into(), class_names.len(), class_names)
}

/// The node of each row of a table.
///
/// # Errors
/// [`Problem::UnknownNode`] if a row names a node that is not in the graph.
fn rows_by_node(nodes: &NodeIds, ids: &NodeIds) -> Result<Vec<NodeId>, Problem> {
    // Looked up, never iterated.
    let numbers: FxHashMap<String, NodeId> =
        (0..nodes.len()).map(NodeId::new).map(|node| (nodes.get(node).to_string(), node)).collect();
    (0..ids.len())
        .map(|row| {
            let id: IdRef<'_> = ids.get(NodeId::new(row));
            let name = id.to_string();
            numbers.get(&name).copied().ok_or(Problem::UnknownNode(name))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::labels::LabelKind;

    fn integers(ids: &[u64]) -> NodeIds {
        NodeIds::Integers(ids.to_vec().into())
    }

    fn table(ids: &[u64], values: &[f32]) -> FeatureTable {
        let features = DenseFeatures::new(ids.len(), 1, values.to_vec().into()).unwrap();
        FeatureTable { path: "x.npz".into(), ids: Some(integers(ids)), features: Features::Dense(features) }
    }

    #[test]
    fn keyed_features_find_their_nodes() {
        let features = table(&[30, 10, 20], &[3.0, 1.0, 2.0]).attach(&integers(&[10, 20, 30])).unwrap();
        assert_eq!(features.values(), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn unknown_repeated_and_missing_nodes_are_named() {
        let nodes = integers(&[10, 20]);
        let error = |ids: &[u64]| table(ids, &vec![0.0; ids.len()]).attach(&nodes).unwrap_err().to_string();
        assert_eq!(error(&[10, 30]), "x.npz: names node `30`, which is not in the graph");
        assert_eq!(error(&[10, 20, 10]), "x.npz: names node `10` twice");
        assert_eq!(error(&[20]), "x.npz: says nothing about 1 of 2 nodes, the first of them `10`");
    }

    #[test]
    fn several_classes_of_a_node_make_multiple_labels() {
        let nodes = integers(&[1, 2, 3]);
        let keyed = |ids: &[&str], classes: &[&str]| {
            let ids = NodeIds::Strings(ids.iter().collect());
            LabelTable::Keyed("y.csv".into(), ids, classes.iter().map(|&class| class.to_owned()).collect())
        };
        let single = keyed(&["3", "1"], &["10", "9"]).attach(&nodes).unwrap();
        assert_eq!(single.kind(), &LabelKind::Single(vec![0, UNKNOWN, 1].into()));
        assert_eq!(single.class_names(), ["9", "10"]);
        let multi = keyed(&["3", "1", "3"], &["b", "a", "a"]).attach(&nodes).unwrap();
        assert_eq!(multi.kind(), &LabelKind::Multi(vec![1, 0, 0, 0, 1, 1].into()));
    }
}
