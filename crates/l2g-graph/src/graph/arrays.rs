//! Arrays or a table in memory -> the graph to embed, as [`load`](super::load) makes it
//! from a file.
//!
//! This is how a program that has its graph already, such as one in Python, hands it over.
//! Nodes are numbered by the same rules as those of a file, so the same edges give the same
//! graph either way. Nothing is believed: lengths, ids, weights and features are checked.

use std::path::Path;
use std::time::Instant;

use super::external::Workspace;
use super::io::{self, About, Input, Problem, RawEdgesBuilder, RawPairs, ReadError};
use super::load::{GraphConfig, Loaded, finish};
use super::table::TableReader;
use super::{Features, Labels, NodeIds};
use crate::progress::Progress;

/// What messages call a graph that is in no file.
const NAME: &str = "graph in memory";

/// Edges are handed over in pieces of this many.
const CHUNK: usize = 1 << 20;

/// The parts of a graph.
pub struct GraphArrays<'a> {
    /// The edges.
    pub edges: EdgeArrays<'a>,
    /// The number of nodes, if it is known; ids are then below it, and every number below
    /// it is a node, whether it has edges or not. Without it, rows of features or labels
    /// tell it, or else the nodes are those that have edges.
    pub num_nodes: Option<usize>,
    /// What the nodes are called, if not by their number.
    pub ids: Option<NodeIds>,
    /// One row per node.
    pub features: Option<Features>,
    /// One class or row per node.
    pub labels: Option<Labels>,
}

/// Edges in memory.
pub enum EdgeArrays<'a> {
    /// Both ends of each edge, and its weight; no weights at all mean that all are 1.
    Pairs {
        /// Where each edge begins.
        sources: &'a [u64],
        /// Where each edge ends.
        targets: &'a [u64],
        /// What each edge weighs.
        weights: &'a [f32],
    },
    /// A table with the columns `src`, `dst` and perhaps `weight`.
    Table(Box<dyn TableReader + 'a>),
}

/// Makes the graph of parts in memory, and cleans it.
///
/// # Errors
/// [`ReadError`] with what does not fit.
///
/// # Examples
/// ```
/// use l2g_graph::graph::arrays::{EdgeArrays, GraphArrays, load_arrays};
/// use l2g_graph::graph::load::GraphConfig;
/// use l2g_graph::progress::Silent;
///
/// let edges = EdgeArrays::Pairs { sources: &[0, 1, 5], targets: &[1, 2, 0], weights: &[] };
/// let parts = GraphArrays { edges, num_nodes: None, ids: None, features: None, labels: None };
/// let loaded = load_arrays(parts, &GraphConfig::default(), &Silent)?;
/// assert_eq!((loaded.graph.num_nodes(), loaded.graph.num_edges()), (4, 3));
/// # Ok::<(), l2g_graph::graph::io::ReadError>(())
/// ```
pub fn load_arrays(
    parts: GraphArrays<'_>,
    config: &GraphConfig,
    progress: &dyn Progress,
) -> Result<Loaded, ReadError> {
    let started = Instant::now();
    let name = Path::new(NAME);
    if let Some(features) = &parts.features {
        features.check_finite().map_err(|error| Problem::from(error).in_file(name))?;
    }
    let rows =
        parts.features.as_ref().map(Features::num_rows).or(parts.labels.as_ref().map(Labels::num_rows));
    let options = config.read_options(&Workspace::default());
    let mut builder = RawEdgesBuilder::default();
    let (about, num_nodes) = match parts.edges {
        EdgeArrays::Pairs { sources, targets, weights } => {
            let num_nodes = parts.num_nodes.or(parts.ids.as_ref().map(NodeIds::len)).or(rows);
            check_pairs(sources, targets, weights, num_nodes).map_err(|problem| problem.in_file(name))?;
            push_pairs(sources, targets, weights, &mut builder);
            (About::default(), num_nodes)
        }
        EdgeArrays::Table(mut table) => {
            let about = io::edges_of_table(name, &mut *table, &options, &mut builder, progress)?;
            (about, parts.num_nodes.or(rows))
        }
    };
    let GraphArrays { ids, features, labels, .. } = parts;
    let about = About { num_nodes, ids, features, labels, ..about };
    let input = Input { edges: builder.finish(), about };
    finish(input, name, config, &options, started, progress)
}

fn check_pairs(
    sources: &[u64],
    targets: &[u64],
    weights: &[f32],
    num_nodes: Option<usize>,
) -> Result<(), Problem> {
    let inconsistent = |text: String| Err(Problem::Inconsistent(text));
    if sources.len() != targets.len() {
        return inconsistent(format!("edges have {} sources, but {} targets", sources.len(), targets.len()));
    }
    if !weights.is_empty() && weights.len() != sources.len() {
        return inconsistent(format!("found {} weights for {} edges", weights.len(), sources.len()));
    }
    let ids = || sources.iter().chain(targets);
    if let Some((id, num_nodes)) = num_nodes.and_then(|n| Some((ids().find(|&&id| id >= n as u64)?, n))) {
        return inconsistent(format!("an edge names node {id}, but there are {num_nodes} nodes, from 0 on"));
    }
    for (row, &weight) in weights.iter().enumerate() {
        io::check_weight(weight).map_err(|problem| Problem::Value { row, problem: Box::new(problem) })?;
    }
    Ok(())
}

fn push_pairs(sources: &[u64], targets: &[u64], weights: &[f32], builder: &mut RawEdgesBuilder) {
    let narrow = sources.iter().chain(targets).all(|&id| id <= u64::from(u32::MAX));
    for start in (0..sources.len()).step_by(CHUNK) {
        let range = start..(start + CHUNK).min(sources.len());
        let ends = || sources[range.clone()].iter().zip(&targets[range.clone()]);
        let pairs = match narrow {
            true => RawPairs::Narrow(ends().map(|(&from, &to)| [from as u32, to as u32]).collect()),
            false => RawPairs::Wide(ends().map(|(&from, &to)| [from, to]).collect()),
        };
        let pushed = builder.push(pairs, weights.get(range.clone()).unwrap_or_default().to_vec());
        pushed.expect("without a limit, edges stay in memory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::NodeId;
    use crate::graph::table::{Batch, TableColumn, TableError, Values};
    use crate::progress::Silent;

    fn pairs<'a>(sources: &'a [u64], targets: &'a [u64], weights: &'a [f32]) -> GraphArrays<'a> {
        let edges = EdgeArrays::Pairs { sources, targets, weights };
        GraphArrays { edges, num_nodes: None, ids: None, features: None, labels: None }
    }

    fn graph(parts: GraphArrays<'_>) -> Result<Loaded, String> {
        load_arrays(parts, &GraphConfig::default(), &Silent).map_err(|error| error.to_string())
    }

    #[test]
    fn a_path_of_names_keeps_its_names() {
        let mut parts = pairs(&[0, 1], &[1, 2], &[0.5, 2.0]);
        parts.ids = Some(NodeIds::Strings(["ann", "bob", "eve"].into_iter().collect()));
        let loaded = graph(parts).unwrap();
        assert_eq!(loaded.graph.ids().get(NodeId(2)).to_string(), "eve");
        assert_eq!(loaded.graph.neighbor_weights(NodeId(1)), Some(&[0.5, 2.0][..]));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let mut outside = pairs(&[0], &[7], &[]);
        outside.num_nodes = Some(5);
        let message = "graph in memory: an edge names node 7, but there are 5 nodes, from 0 on";
        assert_eq!(graph(outside).unwrap_err(), message);
        assert!(graph(pairs(&[0, 1], &[1], &[])).unwrap_err().contains("2 sources, but 1 targets"));
        assert!(graph(pairs(&[0], &[1], &[-1.0])).unwrap_err().ends_with("row 0: weight -1 is negative"));
        assert!(graph(pairs(&[], &[], &[])).unwrap_err().ends_with("found no edges"));
    }

    /// A table in memory: names and values of columns, one row after the other.
    struct Columns(Vec<(&'static str, Values)>, std::vec::IntoIter<usize>);

    impl TableReader for Columns {
        fn column_names(&self) -> Vec<String> {
            self.0.iter().map(|(name, _)| (*name).to_owned()).collect()
        }

        fn next_batch(&mut self, columns: &[usize]) -> Result<Option<Batch>, TableError> {
            let Some(row) = self.1.next() else { return Ok(None) };
            let one = |column: &usize| TableColumn {
                values: match &self.0[*column].1 {
                    Values::Text(texts) => Values::Text([texts.get(row)].into_iter().collect()),
                    Values::Double(floats) => Values::Double(vec![floats[row]]),
                    Values::Unsigned(integers) => Values::Unsigned(vec![integers[row]]),
                    _ => Values::Other,
                },
                type_name: "strange".into(),
                first_null: None,
            };
            Ok(Some(Batch { num_rows: 1, columns: columns.iter().map(one).collect() }))
        }
    }

    fn graph_of_columns(columns: Vec<(&'static str, Values)>) -> Result<Loaded, String> {
        let edges = EdgeArrays::Table(Box::new(Columns(columns, vec![0, 1].into_iter())));
        graph(GraphArrays { edges, num_nodes: None, ids: None, features: None, labels: None })
    }

    fn text(values: [&str; 2]) -> Values {
        Values::Text(values.into_iter().collect())
    }

    #[test]
    fn a_table_is_read_by_its_column_names() {
        let weights = Values::Double(vec![1.0, 3.0]);
        let columns = vec![("weight", weights), ("dst", text(["b", "c"])), ("src", text(["a", "b"]))];
        let loaded = graph_of_columns(columns).unwrap();
        assert_eq!(loaded.graph.num_edges(), 2);
        assert_eq!(loaded.graph.ids().get(NodeId(1)).to_string(), "b");
        assert_eq!(loaded.graph.neighbor_weights(NodeId(1)), Some(&[1.0, 3.0][..]));
    }

    #[test]
    fn a_bad_column_is_named_with_its_row() {
        let error = |columns| graph_of_columns(columns).unwrap_err();
        let negative = Values::Double(vec![1.0, -3.0]);
        let columns = vec![("src", text(["a", "b"])), ("dst", text(["b", "c"])), ("weight", negative)];
        let message = "graph in memory: column `weight`: value at row 1: weight -3 is negative";
        assert_eq!(error(columns), message);
        let strange = vec![("src", text(["a", "b"])), ("dst", Values::Other)];
        assert!(error(strange).ends_with("column `dst`: column has type strange, needed integers or text"));
        let mixed = vec![("src", text(["a", "b"])), ("dst", Values::Unsigned(vec![1, 2]))];
        assert!(error(mixed).ends_with("needed the same kind of ids as the source column"));
    }
}
