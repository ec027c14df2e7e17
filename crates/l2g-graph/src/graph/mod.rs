//! Stage 1: what we embed.
//!
//! A [`Graph`] keeps its edges as compressed sparse rows: the neighbours of node `v`
//! are `targets[offsets[v]..offsets[v + 1]]`, ascending. An undirected edge stands in
//! both rows. With the edges come, optionally, weights, [`Features`] and [`Labels`];
//! always the user's own node names, [`NodeIds`]. Every array is either in memory or
//! mapped from a run folder, and targets take 4 bytes, or 8 where there are more than
//! 2³² nodes; no caller needs to know which.
//!
//! ```text
//! file --io--> EdgeList --builder--> Graph --component--> Graph --subgraph--> patch
//! ```

mod targets;

mod node_lists;

pub mod ids;

pub mod table;

pub mod features;

pub mod labels;

pub mod edge_list;

mod digest;

#[doc(hidden)]
pub mod id_set;

pub mod builder;

pub mod external;

pub mod component;

pub mod sample;

pub mod held_out;

pub mod subgraph;

pub mod io;

pub mod input;

pub mod load;

pub mod arrays;

pub mod builtin;

pub mod store;

use std::fmt;
use std::sync::OnceLock;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use builder::{BuildOptions, Duplicates, build};
pub use edge_list::EdgeList;
pub use features::Features;
pub use held_out::HeldOut;
pub use ids::{NodeIds, StringTable};
pub use labels::Labels;
pub use node_lists::NodeLists;
pub use targets::{Neighbors, NodeIndex, Targets};

use crate::buffer::Buffer;

/// A node, by its row in the graph: `0..num_nodes`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable, Serialize, Deserialize,
)]
#[repr(transparent)]
#[serde(transparent)]
pub struct NodeId(pub u64);

impl NodeId {
    /// The node in row `index`.
    pub fn new(index: usize) -> Self {
        Self(index as u64)
    }

    /// The row of the node, to index arrays with.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A graph with its node names and, optionally, weights, features and labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    offsets: Buffer<u64>,
    targets: Targets,
    weights: Option<Buffer<f32>>,
    symmetric: bool,
    ids: NodeIds,
    features: Option<Features>,
    labels: Option<Labels>,
    held_out: Option<HeldOut>,
    self_loops: SelfLoops,
}

/// The number of edges from a node to itself, counted when it is asked for. It follows from the edges,
/// so it is the same wherever they are.
#[derive(Clone, Debug, Default)]
struct SelfLoops(OnceLock<usize>);

impl PartialEq for SelfLoops {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Why arrays do not make a graph.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum GraphError {
    /// The offsets do not describe rows.
    #[error("row offsets are not ascending from 0 to the number of targets, {num_targets}")]
    Offsets { num_targets: usize },

    /// A target is not a node.
    #[error("edge {position} leads to node {target}, but there are {num_nodes} nodes")]
    Target { position: usize, target: u64, num_nodes: usize },

    /// A row is not sorted, or names a node twice.
    #[error("neighbours of node {node} are not strictly ascending")]
    Unsorted { node: NodeId },

    /// Something that belongs to the nodes or edges has the wrong length.
    #[error("found {found} {what}, needed {needed}")]
    Length { what: &'static str, found: usize, needed: usize },
}

impl Graph {
    /// A graph from its rows, unweighted, with nodes named 0, 1, 2, ...
    ///
    /// `symmetric` says that every edge stands in both rows; it is trusted.
    ///
    /// # Errors
    /// [`GraphError`] if the offsets are not ascending, or rows are not strictly
    /// ascending lists of nodes.
    ///
    /// # Examples
    /// ```
    /// use l2g_graph::graph::{Graph, NodeId};
    ///
    /// // The path 0 - 1 - 2.
    /// let graph = Graph::from_rows(vec![0, 1, 3, 4].into(), vec![1_u32, 0, 2, 1].into(), true)?;
    /// assert_eq!(graph.num_edges(), 2);
    /// assert!(graph.neighbors(NodeId(1)).eq([NodeId(0), NodeId(2)]));
    /// # Ok::<(), l2g_graph::graph::GraphError>(())
    /// ```
    pub fn from_rows(offsets: Buffer<u64>, targets: Targets, symmetric: bool) -> Result<Self, GraphError> {
        let graph = Self::from_rows_unchecked(offsets, targets, symmetric)?;
        graph.check_rows()?;
        Ok(graph)
    }

    /// As [`Graph::from_rows`], trusting that rows are sorted and targets are nodes.
    ///
    /// Looks at the offsets only, so a mapped graph is opened without reading it.
    ///
    /// # Errors
    /// [`GraphError::Offsets`] if first and last offset do not fit the targets.
    pub fn from_rows_unchecked(
        offsets: Buffer<u64>,
        targets: Targets,
        symmetric: bool,
    ) -> Result<Self, GraphError> {
        let num_targets = targets.len();
        if offsets.first() != Some(&0) || offsets.last() != Some(&(num_targets as u64)) {
            return Err(GraphError::Offsets { num_targets });
        }
        let ids = NodeIds::Range(offsets.len() - 1);
        let (weights, features, labels, held_out) = (None, None, None, None);
        let self_loops = SelfLoops::default();
        Ok(Self { offsets, targets, weights, symmetric, ids, features, labels, held_out, self_loops })
    }

    /// The same graph, of which it is known how many edges lead from a node to itself.
    pub(crate) fn with_self_loops(self, count: usize) -> Self {
        Self { self_loops: SelfLoops(count.into()), ..self }
    }

    /// Checks every row: ascending offsets, strictly ascending targets that exist.
    ///
    /// # Errors
    /// The first violation found.
    pub fn check_rows(&self) -> Result<(), GraphError> {
        let num_nodes = self.num_nodes();
        if !self.offsets.is_sorted() {
            return Err(GraphError::Offsets { num_targets: self.targets.len() });
        }
        let check = |node: NodeId| {
            if !self.neighbors(node).is_sorted_by(|a, b| a < b) {
                return Some(GraphError::Unsorted { node });
            }
            // The row is ascending, so its last target is the largest.
            let last = self.neighbors(node).next_back()?;
            let position = self.offsets[node.index() + 1] as usize - 1;
            (last.index() >= num_nodes).then_some(GraphError::Target { position, target: last.0, num_nodes })
        };
        let nodes = (0..num_nodes).into_par_iter().with_min_len(1 << 12).map(NodeId::new);
        nodes.find_map_first(check).map_or(Ok(()), Err)
    }

    /// The same graph with a weight for every stored edge, in row order.
    ///
    /// # Errors
    /// [`GraphError::Length`] if there are more or fewer weights than edges.
    pub fn with_weights(mut self, weights: Option<Buffer<f32>>) -> Result<Self, GraphError> {
        if let Some(weights) = &weights {
            check_length("weights", weights.len(), self.targets.len())?;
        }
        self.weights = weights;
        Ok(self)
    }

    /// The same graph with the user's names for the nodes.
    ///
    /// # Errors
    /// [`GraphError::Length`] if there is not one name per node.
    pub fn with_ids(mut self, ids: NodeIds) -> Result<Self, GraphError> {
        check_length("node ids", ids.len(), self.num_nodes())?;
        self.ids = ids;
        Ok(self)
    }

    /// The same graph with features.
    ///
    /// # Errors
    /// [`GraphError::Length`] if there is not one row per node.
    pub fn with_features(mut self, features: Option<Features>) -> Result<Self, GraphError> {
        if let Some(features) = &features {
            check_length("rows of features", features.num_rows(), self.num_nodes())?;
        }
        self.features = features;
        Ok(self)
    }

    /// The same graph with labels.
    ///
    /// # Errors
    /// [`GraphError::Length`] if there is not one row per node.
    pub fn with_labels(mut self, labels: Option<Labels>) -> Result<Self, GraphError> {
        if let Some(labels) = &labels {
            check_length("labels", labels.num_rows(), self.num_nodes())?;
        }
        self.labels = labels;
        Ok(self)
    }

    /// The same graph with edges that were taken out of it; see [`held_out`].
    pub fn with_held_out(mut self, held_out: Option<HeldOut>) -> Self {
        self.held_out = held_out;
        self
    }

    /// The number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of stored edges: an undirected edge counts twice, a loop once.
    pub fn num_directed_edges(&self) -> usize {
        self.targets.len()
    }

    /// The number of edges: an undirected edge counts once.
    pub fn num_edges(&self) -> usize {
        match self.symmetric {
            true => (self.targets.len() + self.num_self_loops()) / 2,
            false => self.targets.len(),
        }
    }

    /// The number of edges from a node to itself; they are counted once.
    pub fn num_self_loops(&self) -> usize {
        let count = || {
            let nodes = (0..self.num_nodes()).into_par_iter().map(NodeId::new);
            nodes.filter(|&node| self.has_edge(node, node)).count()
        };
        *self.self_loops.0.get_or_init(count)
    }

    /// Whether every edge stands in both rows, so that the graph is undirected.
    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// All nodes, in row order.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + use<> {
        (0..self.num_nodes()).map(NodeId::new)
    }

    /// The number of neighbours of a node.
    pub fn degree(&self, node: NodeId) -> usize {
        let (start, end) = self.row(node);
        end - start
    }

    /// The neighbours of a node, ascending.
    pub fn neighbors(&self, node: NodeId) -> Neighbors<'_> {
        let (start, end) = self.row(node);
        self.targets.slice(start, end)
    }

    /// Whether there is an edge from `from` to `to`, by binary search.
    pub fn has_edge(&self, from: NodeId, to: NodeId) -> bool {
        let (start, end) = self.row(from);
        self.targets.slice(start, end).contains_sorted(to)
    }

    /// The weights of a node's edges, in the order of its neighbours; none if the
    /// graph is unweighted.
    pub fn neighbor_weights(&self, node: NodeId) -> Option<&[f32]> {
        let (start, end) = self.row(node);
        self.weights.as_ref().map(|weights| &weights[start..end])
    }

    /// Where each row begins in [`Graph::targets`]; one more entry than nodes.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The neighbours of all nodes, one row after the other.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// The weights of all edges, in the order of [`Graph::targets`].
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// The user's names for the nodes.
    pub fn ids(&self) -> &NodeIds {
        &self.ids
    }

    /// What is known about each node.
    pub fn features(&self) -> Option<&Features> {
        self.features.as_ref()
    }

    /// The class or classes of each node.
    pub fn labels(&self) -> Option<&Labels> {
        self.labels.as_ref()
    }

    /// Edges that were taken out of the graph before anything else saw it, if any were.
    pub fn held_out(&self) -> Option<&HeldOut> {
        self.held_out.as_ref()
    }

    /// Where the edge stands in [`Graph::targets`], if there is one.
    fn place_of(&self, from: NodeId, to: NodeId) -> Option<usize> {
        let (start, end) = self.row(from);
        self.targets.slice(start, end).position_sorted(to).map(|place| start + place)
    }

    fn row(&self, node: NodeId) -> (usize, usize) {
        let row = node.index();
        (self.offsets[row] as usize, self.offsets[row + 1] as usize)
    }
}

fn check_length(what: &'static str, found: usize, needed: usize) -> Result<(), GraphError> {
    match found == needed {
        true => Ok(()),
        false => Err(GraphError::Length { what, found, needed }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path_of_three() -> Graph {
        Graph::from_rows(vec![0, 1, 3, 4].into(), vec![1_u32, 0, 2, 1].into(), true).unwrap()
    }

    #[test]
    fn rows_give_neighbours_and_degrees() {
        let graph = path_of_three();
        assert_eq!((graph.num_nodes(), graph.num_edges(), graph.num_directed_edges()), (3, 2, 4));
        assert_eq!(graph.degree(NodeId(1)), 2);
        assert!(graph.has_edge(NodeId(2), NodeId(1)));
        assert!(!graph.has_edge(NodeId(2), NodeId(0)));
    }

    #[test]
    fn wide_and_narrow_targets_behave_alike() {
        let wide = Graph::from_rows(vec![0, 1, 3, 4].into(), vec![1_u64, 0, 2, 1].into(), true).unwrap();
        let narrow = path_of_three();
        for node in narrow.nodes() {
            assert!(wide.neighbors(node).eq(narrow.neighbors(node)));
        }
    }

    #[test]
    fn broken_rows_are_refused() {
        let from_rows =
            |offsets: Vec<u64>, targets: Vec<u32>| Graph::from_rows(offsets.into(), targets.into(), false);
        assert_eq!(from_rows(vec![0, 1], vec![]), Err(GraphError::Offsets { num_targets: 0 }));
        assert_eq!(from_rows(vec![], vec![]), Err(GraphError::Offsets { num_targets: 0 }));
        assert_eq!(from_rows(vec![0, 2, 1, 2], vec![1, 2]), Err(GraphError::Offsets { num_targets: 2 }));
        assert_eq!(
            from_rows(vec![0, 1, 1], vec![5]),
            Err(GraphError::Target { position: 0, target: 5, num_nodes: 2 })
        );
        assert_eq!(from_rows(vec![0, 2, 2], vec![1, 0]), Err(GraphError::Unsorted { node: NodeId(0) }));
    }

    #[test]
    fn attachments_of_the_wrong_length_are_refused() {
        let error = path_of_three().with_weights(Some(vec![1.0; 3].into())).unwrap_err();
        assert_eq!(error.to_string(), "found 3 weights, needed 4");
        assert!(path_of_three().with_ids(NodeIds::Range(4)).is_err());
    }
}
