//! The folder `1-graph/`: a graph on disk, opened without being read.
//!
//! ```text
//! graph.json                 counts, written last: a folder without it is not finished
//! indptr.npy (u64)           where the row of each node begins
//! indices.npy (u32 or u64)   the neighbours, row after row
//! weights.npy (f32)          their weights, if any
//! features.npy (f32)         dense features; or sparse ones as
//! features_{indptr,indices,data}.npy
//! labels.npy                 i32 classes, -1 unknown; or u8 rows of zeros and ones
//! ids.npy (u64) | ids.parquet   the user's own node ids
//! held_out_edges.npy (u64)   edges held out for link prediction, E x 2; and pairs
//! held_out_non_edges.npy     that never were edges
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::features::{DenseFeatures, SparseFeatures};
use super::labels::LabelKind;
use super::load::{GraphSummary, Loaded};
use super::sample::Pair;
use super::table::{ColumnData, ParquetTable, ParquetWriter, TableReader, Values, WriterColumn};
use super::{Features, Graph, GraphError, HeldOut, Labels, NodeIds, StringTable, Targets};
use crate::npy::{self, Element, NpyError};
use crate::run_dir::{
    FileError, GraphFolder, move_file, read_json, write_array, write_atomically, write_json,
};

/// Text ids are written in groups of this many rows.
const ID_ROWS: usize = 1 << 20;

/// Why a stored graph could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum StoreError {
    /// A file is missing or cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),

    /// A file is damaged.
    #[error("{}: {problem}", path.display())]
    Damaged { path: PathBuf, problem: String },

    /// The folder does not hold a finished graph.
    #[error("`{}` holds no finished graph", path.display())]
    Unfinished { path: PathBuf },
}

/// What `graph.json` says: counts, and which arrays there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The counts.
    #[serde(flatten)]
    pub summary: GraphSummary,
    /// How features are stored.
    pub feature_layout: Layout,
}

/// How features are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// There are none.
    None,
    /// As one full matrix.
    Dense,
    /// As compressed sparse rows.
    Sparse,
}

/// Writes a graph into a folder, replacing what was there.
///
/// # Errors
/// [`FileError`] if a file cannot be written; the folder then holds no finished graph.
pub fn write(folder: &Path, graph: &Graph, summary: &GraphSummary) -> Result<(), FileError> {
    write_from(None, folder, graph, summary)
}

/// As [`write()`]; arrays that were made on disk are moved, once.
///
/// # Errors
/// As [`write()`].
pub fn write_loaded(folder: &Path, loaded: &Loaded) -> Result<(), FileError> {
    let arrays = loaded.scratch.as_ref().map(|scratch| scratch.arrays());
    let there = arrays.filter(|arrays| arrays.indices().exists());
    write_from(there.as_ref(), folder, &loaded.graph, &loaded.summary)
}

fn write_from(
    arrays: Option<&GraphFolder>,
    folder: &Path,
    graph: &Graph,
    summary: &GraphSummary,
) -> Result<(), FileError> {
    let folder = &GraphFolder::at(folder);
    for stale in folder.all() {
        remove_if_there(&stale)?;
    }
    match arrays {
        Some(arrays) => move_arrays(arrays, folder)?,
        None => write_rows(folder, graph)?,
    }
    let feature_layout = write_features(folder, graph.features())?;
    write_labels(&folder.labels(), graph.labels())?;
    if !folder.ids().exists() {
        write_ids(folder, graph.ids())?;
    }
    if let Some(pairs) = graph.held_out() {
        write_pairs(&folder.held_out_edges(), pairs.edges())?;
        write_pairs(&folder.held_out_non_edges(), pairs.non_edges())?;
    }
    write_json(&folder.description(), &Description { summary: summary.clone(), feature_layout })
}

fn write_rows(folder: &GraphFolder, graph: &Graph) -> Result<(), FileError> {
    write_flat(&folder.indptr(), graph.offsets())?;
    match graph.targets() {
        Targets::Narrow(targets) => write_flat(&folder.indices(), targets)?,
        Targets::Wide(targets) => write_flat(&folder.indices(), targets)?,
    }
    graph.weights().map_or(Ok(()), |weights| write_flat(&folder.weights(), weights))
}

/// Moves the arrays of a graph that was made on disk to where they belong.
fn move_arrays(from: &GraphFolder, to: &GraphFolder) -> Result<(), FileError> {
    let moves = [
        (from.indptr(), to.indptr()),
        (from.indices(), to.indices()),
        (from.weights(), to.weights()),
        (from.ids(), to.ids()),
    ];
    moves.iter().filter(|(from, _)| from.exists()).try_for_each(|(from, to)| move_file(from, to))
}

fn remove_if_there(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(FileError::at("replace", path)(error))
        }
        _ => Ok(()),
    }
}

fn write_flat<T: Element>(path: &Path, values: &[T]) -> Result<(), FileError> {
    write_array(path, &[values.len()], values)
}

fn write_pairs(path: &Path, pairs: &[Pair]) -> Result<(), FileError> {
    write_array::<u64>(path, &[pairs.len(), 2], bytemuck::cast_slice(pairs))
}

fn write_features(folder: &GraphFolder, features: Option<&Features>) -> Result<Layout, FileError> {
    match features {
        None => Ok(Layout::None),
        Some(all @ Features::Dense(dense)) => {
            write_array(&folder.features(), &[all.num_rows(), all.width()], dense.values())?;
            Ok(Layout::Dense)
        }
        Some(Features::Sparse(sparse)) => {
            write_flat(&folder.features_indptr(), sparse.offsets())?;
            write_flat(&folder.features_indices(), sparse.columns())?;
            write_flat(&folder.features_data(), sparse.values())?;
            Ok(Layout::Sparse)
        }
    }
}

fn write_labels(path: &Path, labels: Option<&Labels>) -> Result<(), FileError> {
    let Some(labels) = labels else { return Ok(()) };
    match labels.kind() {
        LabelKind::Single(classes) => write_flat(path, classes),
        LabelKind::Multi(rows) => write_array(path, &[labels.num_rows(), labels.num_classes()], rows),
    }
}

/// Writes the user's ids: `ids.npy`, or `ids.parquet` if they are text.
///
/// # Errors
/// [`FileError`] if the file cannot be written.
pub fn write_ids(folder: &GraphFolder, ids: &NodeIds) -> Result<(), FileError> {
    match ids {
        NodeIds::Range(len) => write_atomically(&folder.ids(), |sink| {
            let mut writer = npy::Writer::<u64, _>::new(sink, &[])?;
            (0..*len as u64).try_for_each(|id| writer.push(&[id]))?;
            writer.finish().map(drop)
        }),
        NodeIds::Integers(ids) => write_flat(&folder.ids(), ids),
        NodeIds::Strings(table) => write_atomically(&folder.text_ids(), |sink| {
            let mut writer = ParquetWriter::new(sink, &[WriterColumn::Text("id")])?;
            for first in (0..table.len()).step_by(ID_ROWS) {
                let rows = first..(first + ID_ROWS).min(table.len());
                let ids: Vec<&str> = rows.map(|row| table.get(row)).collect();
                writer.write_group(&[ColumnData::Text(&ids)])?;
            }
            writer.close()
        }),
    }
}

/// Opens a stored graph; its arrays are mapped and read when they are used.
///
/// # Errors
/// [`StoreError`] if the folder holds no finished graph, or files do not fit together.
pub fn open(folder: &Path) -> Result<(Graph, Description), StoreError> {
    let folder = &GraphFolder::at(folder);
    let description = read_description(folder)?;
    let offsets = map(&folder.indptr())?;
    let targets = match npy::map::<u32>(&folder.indices()) {
        Ok(array) => Targets::Narrow(array.values),
        Err(NpyError::Type { .. }) => Targets::Wide(map(&folder.indices())?),
        Err(error) => return Err(damaged(&folder.indices())(error)),
    };
    let weights = description.summary.weighted.then(|| map(&folder.weights())).transpose()?;
    let features = open_features(folder, &description)?;
    let labels = match description.summary.classes {
        0 => None,
        _ => Some(open_labels(folder, &description.summary.class_names)?),
    };
    let ids = open_ids(folder)?;
    let held_out = match description.summary.held_out_edges {
        0 => None,
        _ => Some(open_held_out(folder)?),
    };
    // One wild number would end every later stage in a panic; the pass costs less than a read.
    let graph = Graph::from_rows(offsets, targets, description.summary.symmetric)
        .and_then(|graph| graph.with_weights(weights))
        .and_then(|graph| graph.with_ids(ids))
        .and_then(|graph| graph.with_features(features))
        .and_then(|graph| graph.with_labels(labels))
        .and_then(|graph| check_counts(graph, &description.summary))
        .map_err(damaged(folder))?;
    Ok((graph.with_held_out(held_out), description))
}

/// What the nodes of a stored graph are called, and their classes.
#[derive(Clone, Debug)]
pub struct NodeNames {
    /// The user's name of each node.
    pub ids: NodeIds,
    /// The class of each node, if classes are known.
    pub labels: Option<Labels>,
}

/// Opens the names of a stored graph alone, without a look at its edges.
///
/// # Errors
/// As [`open`].
pub fn open_names(folder: &Path) -> Result<NodeNames, StoreError> {
    let folder = &GraphFolder::at(folder);
    let summary = read_description(folder)?.summary;
    let ids = open_ids(folder)?;
    let labels = match summary.classes {
        0 => None,
        _ => Some(open_labels(folder, &summary.class_names)?),
    };
    let rows = [("node ids", Some(ids.len())), ("labels", labels.as_ref().map(Labels::num_rows))];
    let odd =
        rows.into_iter().find_map(|(what, rows)| Some((what, rows.filter(|&rows| rows != summary.nodes)?)));
    match odd {
        Some((what, found)) => {
            Err(damaged(folder)(GraphError::Length { what, found, needed: summary.nodes }))
        }
        None => Ok(NodeNames { ids, labels }),
    }
}

fn read_description(folder: &GraphFolder) -> Result<Description, StoreError> {
    let path = folder.description();
    match path.exists() {
        true => Ok(read_json(&path)?),
        false => Err(StoreError::Unfinished { path: folder.to_path_buf() }),
    }
}

fn check_counts(graph: Graph, summary: &GraphSummary) -> Result<Graph, GraphError> {
    let counts = [
        ("nodes", graph.num_nodes(), summary.nodes),
        ("stored edges", graph.num_directed_edges(), summary.directed_edges),
    ];
    match counts.into_iter().find(|(_, found, needed)| found != needed) {
        Some((what, found, needed)) => Err(GraphError::Length { what, found, needed }),
        // An undirected edge stands in two rows, a loop in one.
        None => match (summary.symmetric, (2 * summary.edges).checked_sub(summary.directed_edges)) {
            (true, Some(loops)) => Ok(graph.with_self_loops(loops)),
            _ => Ok(graph),
        },
    }
}

/// Turns any error about a file into one that names the file.
fn damaged<E: std::fmt::Display>(path: &Path) -> impl FnOnce(E) -> StoreError {
    let path = path.to_owned();
    move |error| StoreError::Damaged { path, problem: error.to_string() }
}

fn map<T: Element>(path: &Path) -> Result<crate::buffer::Buffer<T>, StoreError> {
    npy::map::<T>(path).map(|array| array.values).map_err(damaged(path))
}

fn open_features(folder: &GraphFolder, description: &Description) -> Result<Option<Features>, StoreError> {
    let width = description.summary.features;
    match description.feature_layout {
        Layout::None => Ok(None),
        Layout::Dense => {
            let dense = DenseFeatures::new(description.summary.nodes, width, map(&folder.features())?);
            dense.map(|dense| Some(Features::Dense(dense))).map_err(damaged(&folder.features()))
        }
        Layout::Sparse => {
            let offsets = map(&folder.features_indptr())?;
            let columns = map(&folder.features_indices())?;
            let sparse = SparseFeatures::new(width, offsets, columns, map(&folder.features_data())?);
            sparse.map(|sparse| Some(Features::Sparse(sparse))).map_err(damaged(&folder.features_indptr()))
        }
    }
}

fn open_labels(folder: &GraphFolder, class_names: &[String]) -> Result<Labels, StoreError> {
    let path = folder.labels();
    match npy::map::<i32>(&path) {
        Ok(array) => Ok(Labels::single(array.values, class_names.to_vec())),
        Err(NpyError::Type { .. }) => {
            Ok(Labels::multi(map(&folder.labels())?, class_names.len(), class_names.to_vec()))
        }
        Err(error) => Err(damaged(&folder.labels())(error)),
    }
}

fn open_ids(folder: &GraphFolder) -> Result<NodeIds, StoreError> {
    let path = folder.text_ids();
    if !path.exists() {
        return Ok(NodeIds::Integers(map(&folder.ids())?));
    }
    let file = fs::File::open(&path).map_err(FileError::at("read", &path))?;
    let mut rows = ParquetTable::open(file).map_err(damaged(&folder.text_ids()))?;
    let mut table = StringTable::new();
    while let Some(batch) = rows.next_batch(&[0]).map_err(damaged(&folder.text_ids()))? {
        for column in batch.columns {
            match (column.values, column.first_null) {
                (Values::Text(ids), None) => ids.iter().for_each(|id| table.push(id)),
                (Values::Text(_), Some(row)) => {
                    return Err(damaged(&folder.text_ids())(format!("row {row} is empty")));
                }
                _ => return Err(damaged(&folder.text_ids())("ids are not text")),
            }
        }
    }
    Ok(NodeIds::Strings(table))
}

fn open_held_out(folder: &GraphFolder) -> Result<HeldOut, StoreError> {
    let edges = map(&folder.held_out_edges())?;
    HeldOut::new(edges, map(&folder.held_out_non_edges())?).map_err(damaged(&folder.held_out_edges()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::builtin;
    use crate::graph::load::{GraphConfig, Loaded, load};
    use crate::progress::Silent;

    fn stored(loaded: &Loaded) -> (tempfile::TempDir, Graph) {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &loaded.graph, &loaded.summary).unwrap();
        let (graph, description) = open(folder.path()).unwrap();
        assert_eq!(description.summary, loaded.summary);
        (folder, graph)
    }

    fn graph_of(text: &str) -> Loaded {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        load(file.path(), &GraphConfig::default(), &Silent).unwrap()
    }

    #[test]
    fn cora_comes_back_as_it_was() {
        let cora = builtin::open("cora", &[], &GraphConfig::default(), &Silent).unwrap();
        let (_folder, graph) = stored(&cora);
        assert_eq!(graph, cora.graph);
    }

    #[test]
    fn weights_and_text_ids_come_back() {
        let loaded = graph_of("ann bob 0.5\nbob eve 2\n");
        let (folder, graph) = stored(&loaded);
        assert_eq!(graph, loaded.graph);
        assert!(folder.path().join("ids.parquet").exists());
    }

    #[test]
    fn names_are_opened_without_edges() {
        let cora = builtin::open("cora", &[], &GraphConfig::default(), &Silent).unwrap();
        let (folder, graph) = stored(&cora);
        fs::remove_file(folder.path().join("indices.npy")).unwrap();
        let names = open_names(folder.path()).unwrap();
        assert_eq!((&names.ids, names.labels.as_ref()), (graph.ids(), graph.labels()));
        write_array(&folder.path().join("ids.npy"), &[2], &[7_u64, 9]).unwrap();
        let error = open_names(folder.path()).unwrap_err().to_string();
        assert!(error.contains("node ids") && error.contains("2485"), "{error}");
    }

    #[test]
    fn held_out_pairs_come_back_and_do_not_outlive_their_graph() {
        let cora = builtin::open("cora", &[], &GraphConfig::default(), &Silent).unwrap();
        let training = cora.clone().hold_out(0.1, crate::seed::Seed(4)).unwrap();
        assert_eq!((training.summary.held_out_edges, training.summary.edges), (507, 4562));
        let (folder, graph) = stored(&training);
        assert_eq!(graph, training.graph);
        write(folder.path(), &cora.graph, &cora.summary).unwrap();
        assert_eq!(open(folder.path()).unwrap().0, cora.graph);
        assert!(!GraphFolder::at(folder.path()).held_out_edges().exists());
    }

    #[test]
    fn a_new_graph_replaces_all_of_the_old_one() {
        let (folder, _) = stored(&graph_of("ann bob 0.5\nbob eve 2\n"));
        let unweighted = graph_of("7 8\n8 9\n");
        write(folder.path(), &unweighted.graph, &unweighted.summary).unwrap();
        assert_eq!(open(folder.path()).unwrap().0, unweighted.graph);
        assert!(!folder.path().join("weights.npy").exists());
    }

    #[test]
    fn wild_numbers_are_told_on_opening() {
        let (folder, _) = stored(&graph_of("0 1\n1 2\n2 0\n"));
        let path = |name: &str| folder.path().join(name);
        for (name, values) in [("indices.npy", [9_u32, 2, 0, 2, 0, 1]), ("indices.npy", [2, 1, 0, 2, 0, 1])] {
            let good = fs::read(path(name)).unwrap();
            write_array(&path(name), &[6], &values).unwrap();
            assert!(matches!(open(folder.path()), Err(StoreError::Damaged { .. })), "{values:?}");
            fs::write(path(name), good).unwrap();
        }
        write_array(&path("indptr.npy"), &[4], &[0_u64, 1 << 60, 4, 6]).unwrap();
        assert!(matches!(open(folder.path()), Err(StoreError::Damaged { .. })));
    }

    #[test]
    fn missing_cut_and_foreign_files_are_named() {
        let (folder, _) = stored(&graph_of("0 1 0.5\n1 2 2\n"));
        let error = || open(folder.path()).unwrap_err().to_string();
        fs::copy(folder.path().join("ids.npy"), folder.path().join("weights.npy")).unwrap();
        assert!(error().ends_with("weights.npy: array has type <u8, needed f32"), "{}", error());
        fs::OpenOptions::new()
            .write(true)
            .open(folder.path().join("indptr.npy"))
            .unwrap()
            .set_len(140)
            .unwrap();
        assert!(error().ends_with("indptr.npy: array ends after 1 of 4 values"), "{}", error());
        fs::remove_file(folder.path().join("graph.json")).unwrap();
        assert!(error().ends_with("holds no finished graph"));
    }
}
