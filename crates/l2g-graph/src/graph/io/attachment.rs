//! Features and labels from files of their own.
//!
//! A table either names the node of each row, in a column or array of ids, or has one
//! row per node in the order of the nodes. Which row goes to which node is settled when it is
//! attached, once the nodes are numbered.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::archive::Archive;
use super::error::{Place, Problem, ReadError};
use super::node_values::{ID_NAMES, IdValues, NodeNumbers, ValueRow};
use super::source::{Source, array_problem};
use super::sparse::SparseMatrix;
use super::table::{Column, Ids, for_each_batch};
use super::text_features::{self, TextFeatures};
use super::{Format, ReadOptions, npy, npz, parquet};
use crate::buffer::{Buffer, Spool};
use crate::graph::external::Workspace;
use crate::graph::features::DenseFeatures;
use crate::graph::labels::UNKNOWN;
use crate::graph::table::TableReader;
use crate::graph::{Features, Labels, NodeId, NodeIds};
use crate::npy::{ArrayBlocks, NpyError};

/// Features as a file gives them.
#[derive(Debug)]
pub(crate) struct FeatureTable {
    path: PathBuf,
    /// The node of each row; without it, rows are in the order of the nodes.
    ids: Option<NodeIds>,
    features: Features,
    /// Whether the first column may be the nodes, for all that the file says.
    is_bare: bool,
}

/// Labels as a file gives them.
#[derive(Debug)]
pub(crate) enum LabelTable {
    /// One row per node, in the order of the nodes.
    InOrder(PathBuf, Labels),
    /// Nodes and their classes, by name.
    Keyed(IdValues),
}

/// Reads features from `.npy` (in order), `.npz`, `.parquet` or text.
pub(crate) fn read_features(path: &Path, options: &ReadOptions) -> Result<FeatureTable, ReadError> {
    let mut source = Source::open(path)?;
    let format = Format::of_source(&mut source, None)?;
    let path = source.name().to_owned();
    let limit = options.limit();
    let (ids, features) = match format {
        Format::Npy => (None, npy_features(source, options)?),
        Format::Npz => npz_features(Archive::open(source, limit)?)?,
        Format::Parquet => parquet_features(source, limit)?,
        Format::EdgeList | Format::Csv | Format::Tsv => {
            let TextFeatures { ids, features, is_bare } =
                text_features::read(source, format.separator(), limit)?;
            return Ok(FeatureTable { path, ids, features: Features::Dense(features), is_bare });
        }
        Format::MatrixMarket | Format::JsonLines | Format::GraphMl | Format::WebGraph => {
            let problem = format!("looks like {format}, but features come as .npy, .npz, .parquet or text");
            return Err(Problem::Inconsistent(problem).in_file(&path));
        }
    };
    features.check_finite().map_err(|error| Problem::from(error).in_file(&path))?;
    Ok(FeatureTable { path, ids, features, is_bare: false })
}

/// A matrix that takes more than a quarter of the memory there is is copied into a file and mapped.
fn npy_features(source: Source, options: &ReadOptions) -> Result<Features, ReadError> {
    let path = source.name().to_owned();
    let Workspace { limit: memory, folder } = &options.spill.workspace;
    let (shape, values) = match source.num_bytes() {
        Some(bytes) if bytes > memory / 4 && folder.is_dir() => {
            let mapped = source.into_file(options.edge_limit()).and_then(|file| {
                let mapped = ArrayBlocks::of_file(file).and_then(|array| mapped_floats(&array, folder));
                mapped.map_err(|error| array_problem(error).in_file(&path))
            });
            mapped?
        }
        _ => npy::with_reader(source, options.limit(), |reader| {
            let shape = reader.header().shape.clone();
            Ok((shape, reader.floats::<f32>()?.into()))
        })?,
    };
    let (rows, columns) = match shape[..] {
        [rows] => (rows, 1),
        [rows, columns] => (rows, columns),
        _ => {
            let needed = "two axes: nodes and features".into();
            return Err(Problem::Array(crate::npy::NpyError::Shape { found: shape, needed }).in_file(&path));
        }
    };
    let dense = DenseFeatures::new(rows, columns, values);
    dense.map(Features::Dense).map_err(|error| Problem::from(error).in_file(&path))
}

/// The values of an array in C order, copied into a file in a folder and mapped.
fn mapped_floats(array: &ArrayBlocks, folder: &Path) -> Result<(Vec<usize>, Buffer<f32>), NpyError> {
    const BLOCK: usize = 1 << 18;
    let header = array.header();
    let num_values = header.num_values()?;
    if header.fortran_order && header.shape.len() > 1 {
        let found = format!("{} in Fortran order", header.type_name);
        return Err(NpyError::Type { found, needed: "C order, since it does not fit the limit of memory" });
    }
    let mut spool = Spool::new(folder)?;
    for start in (0..num_values).step_by(BLOCK) {
        spool.push(&array.floats(start..(start + BLOCK).min(num_values))?)?;
    }
    Ok((header.shape.clone(), spool.finish()?))
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
fn parquet_features(source: Source, limit: u64) -> Result<(Option<NodeIds>, Features), ReadError> {
    let name = source.name().to_owned();
    let path = name.as_path();
    let mut table = parquet::open(path, source, limit)?;
    let names = table.column_names();
    let id_column = names.iter().position(|name| ID_NAMES.contains(&name.as_str()));
    let num_rows = table.count_rows();
    let mut ids = IdCollector::default();
    let mut width = None;
    let mut values: Vec<f32> = Vec::new();
    let mut first_row = 0;
    let all: Vec<usize> = (0..names.len()).collect();
    for_each_batch(path, &mut table, &all, |batch| {
        let mut columns = Vec::new();
        for (index, column) in batch.columns.into_iter().enumerate() {
            let column = Column::new(path, &names[index], column, first_row)?;
            match Some(index) == id_column {
                true => ids.extend(column.ids()?),
                false => columns.push(column),
            }
        }
        let (batch_width, batch_values) = joined(columns, batch.num_rows)?;
        let needed = *width.get_or_insert(batch_width);
        if needed != batch_width {
            let problem = Problem::Fields { needed: needed.to_string(), found: batch_width };
            return Err(problem.in_file(path));
        }
        values.extend(batch_values);
        first_row += batch.num_rows;
        Ok(())
    })?;
    let dense = DenseFeatures::new(num_rows, width.unwrap_or(0), values.into());
    let features = dense.map_err(|error| Problem::from(error).in_file(path))?;
    Ok((id_column.map(|_| ids.finish()), Features::Dense(features)))
}

/// One column of lists, or columns of numbers, as rows; and the length of a row.
fn joined(mut columns: Vec<Column<'_>>, num_rows: usize) -> Result<(usize, Vec<f32>), ReadError> {
    if columns.len() == 1 {
        return columns.remove(0).vectors();
    }
    let columns = columns.into_iter().map(Column::floats).collect::<Result<Vec<_>, _>>()?;
    let rows = (0..num_rows).flat_map(|row| columns.iter().map(move |column| column[row]));
    Ok((columns.len(), rows.collect()))
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
    let mut source = Source::open(path)?;
    let format = Format::of_source(&mut source, None)?;
    let path = source.name().to_owned();
    let limit = options.limit();
    match format {
        Format::Npy => {
            let labels = npy::with_reader(source, limit, |reader| npy::labels(reader, Vec::new()))?;
            Ok(LabelTable::InOrder(path, labels))
        }
        Format::Npz => {
            let mut archive = Archive::open(source, limit)?;
            let known = ["labels", "y", "arr_0"];
            let name = known.into_iter().find(|name| archive.has(name)).unwrap_or("labels");
            let labels = archive.read(name, |reader| npy::labels(reader, Vec::new()))?;
            Ok(LabelTable::InOrder(path, labels))
        }
        Format::Parquet => parquet_labels(source, limit),
        Format::EdgeList | Format::Csv | Format::Tsv => Ok(LabelTable::Keyed(IdValues::read(source)?)),
        Format::MatrixMarket | Format::JsonLines | Format::GraphMl | Format::WebGraph => {
            let problem = format!("looks like {format}, but labels come as .npy, .npz, .parquet or text");
            Err(Problem::Inconsistent(problem).in_file(&path))
        }
    }
}

fn parquet_labels(source: Source, limit: u64) -> Result<LabelTable, ReadError> {
    let name = source.name().to_owned();
    let path = name.as_path();
    let mut table = parquet::open(path, source, limit)?;
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
    for_each_batch(path, &mut table, &[id, label], |batch| {
        for (index, column) in [id, label].into_iter().zip(batch.columns) {
            let column = Column::new(path, &names[index], column, first_row)?;
            match index == id {
                true => ids.extend(column.ids()?),
                false => classes.extend(column.strings()?),
            }
        }
        first_row += batch.num_rows;
        Ok(())
    })?;
    let ids = ids.finish();
    let row =
        |(row, value)| ValueRow { line: row as u64 + 1, id: ids.get(NodeId::new(row)).to_string(), value };
    let rows = classes.into_iter().enumerate().map(row).collect();
    Ok(LabelTable::Keyed(IdValues::new(name, rows)))
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
            if found != nodes.len() {
                return Err(at_file(Problem::Rows { found, needed: nodes.len() }));
            }
            if self.is_bare && first_column_is(&self.features, nodes) {
                return Err(at_file(Problem::BareIds));
            }
            return Ok(self.features);
        };
        if ids.len() != self.features.num_rows() {
            let problem = format!("has {} ids for {} rows", ids.len(), self.features.num_rows());
            return Err(at_file(Problem::Inconsistent(problem)));
        }
        let rows = rows_of(ids, nodes).map_err(at_file)?;
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

/// Whether the first of several columns holds every node id once.
fn first_column_is(features: &Features, nodes: &NodeIds) -> bool {
    let Features::Dense(dense) = features else { return false };
    let width = features.width();
    if width < 2 {
        return false;
    }
    let numbers = NodeNumbers::of(nodes);
    let mut met = vec![false; nodes.len()];
    dense.values().iter().step_by(width).all(|id| {
        let node = numbers.get(&id.to_string());
        node.is_some_and(|node| !std::mem::replace(&mut met[node.index()], true))
    })
}

impl LabelTable {
    /// The number of rows, if they are in the order of the nodes.
    pub(crate) fn rows_in_order(&self) -> Option<usize> {
        match self {
            Self::InOrder(_, labels) => Some(labels.num_rows()),
            Self::Keyed(..) => None,
        }
    }

    /// The labels of the nodes, and how many rows name nodes that are not in the graph. A node
    /// without a label has an unknown class; a node with several makes all labels multiple, which
    /// may take up to `limit` bytes.
    pub(crate) fn attach(self, nodes: &NodeIds, limit: u64) -> Result<(Labels, usize), ReadError> {
        match self {
            Self::InOrder(path, labels) => match labels.num_rows() == nodes.len() {
                true => Ok((labels, 0)),
                false => Err(Problem::Rows { found: labels.num_rows(), needed: nodes.len() }.in_file(&path)),
            },
            Self::Keyed(values) => {
                let rows = values.of_nodes(nodes)?;
                let num_foreign = values.len() - rows.len();
                let class_names = sorted_classes(rows.iter().map(|(_, row)| row.value.as_str()));
                // Looked up, never iterated.
                let numbers: FxHashMap<&str, usize> =
                    class_names.iter().map(String::as_str).zip(0..).collect();
                let pairs: Vec<(NodeId, usize)> =
                    rows.iter().map(|(node, row)| (*node, numbers[row.value.as_str()])).collect();
                let labels = labels_of(&pairs, nodes.len(), class_names, limit);
                Ok((labels.map_err(|problem| problem.in_file(values.path()))?, num_foreign))
            }
        }
    }
}

/// The names of all classes, numbers in numerical order before words in theirs.
fn sorted_classes<'a>(classes: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<&str> = classes.collect();
    let key = |name: &str| name.parse::<i64>().map_or((1, 0), |number| (0, number));
    names.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.cmp(b)));
    names.dedup();
    names.into_iter().map(str::to_owned).collect()
}

fn labels_of(
    pairs: &[(NodeId, usize)],
    num_nodes: usize,
    class_names: Vec<String>,
    limit: u64,
) -> Result<Labels, Problem> {
    let mut single = vec![UNKNOWN; num_nodes];
    let mut repeated = false;
    for &(node, class) in pairs {
        let slot = &mut single[node.index()];
        repeated |= *slot != UNKNOWN && *slot != class as i32;
        *slot = class as i32;
    }
    if !repeated {
        return Ok(Labels::single(single.into(), class_names));
    }
    let bytes = (num_nodes as u64).saturating_mul(class_names.len() as u64);
    if bytes > limit {
        return Err(Problem::TooLarge { bytes, limit });
    }
    let mut indicators = vec![0; num_nodes * class_names.len()];
    pairs.iter().for_each(|&(node, class)| indicators[node.index() * class_names.len() + class] = 1);
    Ok(Labels::multi(indicators.into(), class_names.len(), class_names))
}

/// The node of each row of a table.
///
/// # Errors
/// [`Problem::UnknownNode`] if a row names a node that is not in the graph.
fn rows_of(ids: &NodeIds, nodes: &NodeIds) -> Result<Vec<NodeId>, Problem> {
    let numbers = NodeNumbers::of(nodes);
    let node_of = |row| {
        let name = ids.get(NodeId::new(row)).to_string();
        numbers.get(&name).ok_or(Problem::UnknownNode(name))
    };
    (0..ids.len()).map(node_of).collect()
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
        FeatureTable {
            path: "x.npz".into(),
            ids: Some(integers(ids)),
            features: Features::Dense(features),
            is_bare: false,
        }
    }

    #[test]
    fn keyed_features_find_their_nodes() {
        let features = table(&[30, 10, 20], &[3.0, 1.0, 2.0]).attach(&integers(&[10, 20, 30])).unwrap();
        assert_eq!(features.values(), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn a_first_column_of_ids_that_nothing_names_is_refused() {
        let table = |values: Vec<f32>| FeatureTable {
            path: "x.csv".into(),
            ids: None,
            features: Features::Dense(DenseFeatures::new(3, 2, values.into()).unwrap()),
            is_bare: true,
        };
        let nodes = integers(&[10, 20, 30]);
        let error = table(vec![30.0, 0.5, 10.0, 0.5, 20.0, 0.5]).attach(&nodes).unwrap_err().to_string();
        assert!(error.starts_with("x.csv: first column holds the node ids"), "{error}");
        table(vec![30.0, 0.5, 10.0, 0.5, 10.0, 0.5]).attach(&nodes).unwrap();
    }

    #[test]
    fn unknown_repeated_and_missing_nodes_are_named() {
        let nodes = integers(&[10, 20]);
        let error = |ids: &[u64]| table(ids, &vec![0.0; ids.len()]).attach(&nodes).unwrap_err().to_string();
        assert_eq!(error(&[10, 30]), "x.npz: names node `30`, which is not in the graph");
        assert_eq!(error(&[10, 20, 10]), "x.npz: names node `10` twice");
        assert_eq!(error(&[20]), "x.npz: says nothing about 1 of 2 nodes, the first of them `10`");
    }

    fn keyed(rows: &[[&str; 2]]) -> LabelTable {
        let row = |(line, [id, value]): (u64, &[&str; 2])| ValueRow {
            line,
            id: (*id).to_owned(),
            value: (*value).to_owned(),
        };
        LabelTable::Keyed(IdValues::new("y.csv".into(), (1..).zip(rows).map(row).collect()))
    }

    #[test]
    fn several_classes_of_a_node_make_multiple_labels() {
        let nodes = integers(&[1, 2, 3]);
        let (single, foreign) = keyed(&[["3", "10"], ["1", "9"], ["7", "8"]]).attach(&nodes, 100).unwrap();
        assert_eq!(single.kind(), &LabelKind::Single(vec![0, UNKNOWN, 1].into()));
        assert_eq!((single.class_names(), foreign), (&["9".to_owned(), "10".to_owned()][..], 1));
        let several = [["3", "b"], ["1", "a"], ["3", "a"]];
        let (multi, _) = keyed(&several).attach(&nodes, 100).unwrap();
        assert_eq!(multi.kind(), &LabelKind::Multi(vec![1, 0, 0, 0, 1, 1].into()));
        let error = keyed(&several).attach(&nodes, 5).unwrap_err();
        assert_eq!(error.to_string(), "y.csv: needs 6 bytes unpacked, but the limit is 5");
    }

    #[test]
    fn many_classes_are_attached_in_no_time() {
        let names: Vec<String> = (0..200_000).map(|k| k.to_string()).collect();
        let rows: Vec<[&str; 2]> = names.iter().map(|name| [name.as_str(), name.as_str()]).collect();
        let started = std::time::Instant::now();
        let (labels, _) = keyed(&rows).attach(&NodeIds::Range(200_000), 0).unwrap();
        assert_eq!(labels.num_classes(), 200_000);
        assert!(started.elapsed().as_secs() < 60, "rows times classes takes minutes");
    }

    #[test]
    fn labels_of_another_graph_are_refused() {
        let error = keyed(&[["a", "x"], ["b", "y"]]).attach(&integers(&[1, 2]), 100).unwrap_err();
        assert_eq!(error.to_string(), "y.csv: none of its 2 nodes is in the graph");
    }
}
