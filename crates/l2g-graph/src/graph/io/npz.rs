//! Graphs in `.npz` archives.
//!
//! Three layouts are known by the names of their arrays: the gnn-benchmark sets
//! (`adj_*`, `attr_*`, `labels`, `node_names`, `class_names`), scipy's sparse matrices
//! (`format`, `indptr`, `indices`, `data`, `shape`), and arrays as in PyTorch Geometric
//! (`edge_index`, and optionally `x` and `y`).

use super::archive::Archive;
use super::error::{Problem, ReadError};
use super::raw::RawEdgesBuilder;
use super::source::Source;
use super::sparse::{SparseMatrix, push_adjacency};
use super::{About, ReadOptions, npy};
use crate::graph::features::DenseFeatures;
use crate::graph::{Features, Labels, NodeIds};
use crate::npy::Kind;
use crate::progress::Silent;

/// Reads a graph from an archive.
pub(crate) fn read(
    source: Source,
    options: &ReadOptions,
    builder: &mut RawEdgesBuilder,
) -> Result<About, ReadError> {
    read_archive(Archive::open(source, options.edge_limit())?, builder)
}

/// Reads a graph from an open archive, whichever layout it has; its edges go to the builder.
pub(crate) fn read_archive(mut archive: Archive, builder: &mut RawEdgesBuilder) -> Result<About, ReadError> {
    if archive.has("adj_indptr") {
        return read_benchmark(&mut archive, builder);
    }
    if archive.has("edge_index") {
        return read_edge_index(&mut archive, builder);
    }
    if archive.has("indptr") && archive.has("format") {
        return read_scipy(&mut archive, builder);
    }
    let found = archive.names().join(", ");
    let problem = format!(
        "found no graph among the arrays [{found}]; needed adj_indptr, adj_indices, adj_data, adj_shape \
         or indptr, indices, data, shape, format or edge_index"
    );
    Err(Problem::Inconsistent(problem).in_file(archive.path()))
}

fn read_benchmark(archive: &mut Archive, builder: &mut RawEdgesBuilder) -> Result<About, ReadError> {
    let num_nodes = push_adjacency(archive, "adj_", false, builder)?;
    let features = match (archive.has("attr_indptr"), archive.has("attr_matrix")) {
        (true, _) => Some(Features::Sparse(SparseMatrix::read(archive, "attr_")?.into_features())),
        (false, true) => Some(read_dense(archive, "attr_matrix")?),
        (false, false) => None,
    };
    let class_names = read_texts(archive, "class_names")?;
    let labels = read_labels(archive, "labels", class_names)?;
    let ids = match archive.has("node_names") {
        true => Some(read_node_names(archive, num_nodes)?),
        false => None,
    };
    Ok(About { num_nodes: Some(num_nodes), ids, features, labels, ..weighted("adj_data") })
}

/// Edges whose weights, if they have any, come from an array.
fn weighted(array: &str) -> About {
    About::weights_from(Some(format!("array `{array}`")))
}

fn read_scipy(archive: &mut Archive, builder: &mut RawEdgesBuilder) -> Result<About, ReadError> {
    let format = archive.read("format", |reader| reader.strings())?.join("");
    if !matches!(&format[..], "csr" | "csc") {
        let problem = format!("sparse format `{format}`, needed csr or csc");
        return Err(archive.problem("format", Problem::Inconsistent(problem)));
    }
    // A csc matrix read as csr is the transpose: every edge the other way round.
    let num_nodes = push_adjacency(archive, "", format == "csc", builder)?;
    Ok(About { num_nodes: Some(num_nodes), ..weighted("data") })
}

fn read_edge_index(archive: &mut Archive, builder: &mut RawEdgesBuilder) -> Result<About, ReadError> {
    let edges = archive.blocks("edge_index")?;
    npy::push_edges(&edges, builder, &Silent).map_err(|problem| archive.problem("edge_index", problem))?;
    let features = match archive.has("x") {
        true => Some(read_dense(archive, "x")?),
        false => None,
    };
    let labels = read_labels(archive, "y", Vec::new())?;
    let rows = features.as_ref().map(Features::num_rows).or(labels.as_ref().map(Labels::num_rows));
    Ok(About { num_nodes: rows, features, labels, ..About::default() })
}

/// A dense matrix with one row per node.
pub(crate) fn read_dense(archive: &mut Archive, name: &str) -> Result<Features, ReadError> {
    let (shape, values) = archive.shaped_floats(name)?;
    let &[rows, columns] = &shape[..] else {
        let needed = "two axes: nodes and features".into();
        let problem = crate::npy::NpyError::Shape { found: shape, needed };
        return Err(archive.problem(name, problem));
    };
    let features = DenseFeatures::new(rows, columns, values.into());
    Ok(Features::Dense(features.map_err(|error| archive.problem(name, error))?))
}

/// Texts, or nothing if there is no such array.
fn read_texts(archive: &mut Archive, name: &str) -> Result<Vec<String>, ReadError> {
    match archive.has(name) {
        true => archive.read(name, |reader| reader.strings()),
        false => Ok(Vec::new()),
    }
}

fn read_node_names(archive: &mut Archive, num_nodes: usize) -> Result<NodeIds, ReadError> {
    let ids = read_names(archive, "node_names")?;
    if ids.len() != num_nodes {
        let problem = format!("found {} names, but the graph has {num_nodes} nodes", ids.len());
        return Err(archive.problem("node_names", Problem::Inconsistent(problem)));
    }
    Ok(ids)
}

/// Names of nodes, integers or text.
pub(crate) fn read_names(archive: &mut Archive, name: &str) -> Result<NodeIds, ReadError> {
    let is_text = matches!(archive.header(name)?.dtype.kind, Kind::Unicode | Kind::Bytes);
    Ok(match is_text {
        true => NodeIds::Strings(archive.read(name, |reader| reader.strings())?.into_iter().collect()),
        false => NodeIds::Integers(archive.integers::<u64>(name)?.into()),
    })
}

/// Labels, or nothing if there is no such array.
fn read_labels(
    archive: &mut Archive,
    name: &str,
    class_names: Vec<String>,
) -> Result<Option<Labels>, ReadError> {
    if !archive.has(name) {
        return Ok(None);
    }
    archive.read(name, |reader| npy::labels(reader, class_names)).map(Some)
}
