//! Clusters that somebody else made, for data that is already split.
//!
//! They come from a file or from the labels of the graph. A `.npy` array has one integer or text
//! for each node, in the order of the graph. Any other file is text: on each line a node, by the
//! user's own id, and the name of its cluster, as in
//! [`graph::io::node_values`](crate::graph::io). Nodes that are not in the graph may be listed,
//! nodes of the graph must be, each in one cluster.
//!
//! Clusters are numbered in the order of their names: integers by value, then texts.
//!
//! Cost: `O(n log n)` time. No randomness.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Partition, PartitionError, PartitionTask, Partitioner};
use crate::graph::io::NodeValues;
use crate::graph::labels::{LabelKind, UNKNOWN};
use crate::graph::{Graph, NodeId};
use crate::npy::Kind;

/// Where given clusters are found: in the labels, unless there is a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GivenClusters {
    /// A file with a cluster for each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

impl Partitioner for GivenClusters {
    fn partition(&self, graph: &Graph, _: &PartitionTask<'_>) -> Result<Partition, PartitionError> {
        let names = match &self.file {
            None => labels_of(graph)?,
            Some(path) => read(path, graph)?,
        };
        if names.len() != graph.num_nodes() {
            return Err(PartitionError::Length { found: names.len(), needed: graph.num_nodes() });
        }
        Ok(numbered(&names))
    }
}

/// The name of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Integer(i128),
    Text(String),
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Text(text.to_owned()), Self::Integer)
    }
}

fn numbered(names: &[Name]) -> Partition {
    let mut distinct: Vec<&Name> = names.iter().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let number = |name| distinct.binary_search(&name).expect("every name is among the distinct ones") as u32;
    Partition::from_labels(names.iter().map(number).collect())
}

fn labels_of(graph: &Graph) -> Result<Vec<Name>, PartitionError> {
    let classes = match graph.labels().map(|labels| labels.kind()) {
        Some(LabelKind::Single(classes)) => classes,
        Some(LabelKind::Multi(_)) => return Err(PartitionError::Labels { found: "several classes a node" }),
        None => return Err(PartitionError::Labels { found: "no labels" }),
    };
    let named = classes.iter().enumerate().map(|(row, &class)| match class {
        UNKNOWN => Err(unassigned(graph, NodeId::new(row), "the labels")),
        class => Ok(Name::Integer(class.into())),
    });
    named.collect()
}

fn unassigned(graph: &Graph, node: NodeId, place: &str) -> PartitionError {
    PartitionError::Unassigned { id: graph.ids().get(node).to_string(), place: place.to_owned() }
}

fn read(path: &Path, graph: &Graph) -> Result<Vec<Name>, PartitionError> {
    match NodeValues::open(path)? {
        NodeValues::InOrder(array) => {
            let names = match array.header().dtype.kind {
                Kind::Unicode | Kind::Bytes => {
                    array.strings().map(|texts| texts.into_iter().map(Name::Text).collect())
                }
                _ => array.integers().map(|numbers| numbers.into_iter().map(Name::Integer).collect()),
            };
            names.map_err(|source| PartitionError::Array { path: path.to_owned(), source })
        }
        NodeValues::Keyed(values) => {
            let place = || format!("`{}`", values.path().display());
            let found = values.one_per_node(graph.ids())?;
            let names = graph.nodes().zip(found).map(|(node, row)| match row {
                Some(row) => Ok(Name::from(row.value.as_str())),
                None => Err(unassigned(graph, node, &place())),
            });
            names.collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, EdgeList, Labels, build};
    use crate::run_dir::write_array;
    use crate::scratch::scratch;
    use crate::seed::Seed;

    fn path_of_three() -> Graph {
        let edges = EdgeList::from_pairs(vec![[0_u32, 1], [1, 2]]);
        build(edges, 3, &BuildOptions::default()).graph
    }

    fn clusters(given: &GivenClusters, graph: &Graph) -> Result<Vec<u32>, String> {
        let found = given.partition(graph, &PartitionTask::silent(1, Seed(0)));
        found.map(|found| found.clusters().to_vec()).map_err(|error| error.to_string())
    }

    #[test]
    fn labels_are_clusters() {
        let with = |classes: Vec<i32>| {
            path_of_three().with_labels(Some(Labels::single(classes.into(), vec![]))).unwrap()
        };
        assert_eq!(clusters(&GivenClusters::default(), &with(vec![5, 0, 5])).unwrap(), [1, 0, 1]);
        let missing = clusters(&GivenClusters::default(), &with(vec![5, UNKNOWN, 5])).unwrap_err();
        assert_eq!(missing, "node `1` has no cluster in the labels");
        assert!(clusters(&GivenClusters::default(), &path_of_three()).unwrap_err().contains("no labels"));
    }

    #[test]
    fn an_array_gives_a_cluster_for_each_row() {
        let path = scratch("clusters.npy");
        let given = GivenClusters { file: Some(path.to_path_buf()) };
        write_array(&path, &[3], &[7_i64, -2, 7]).unwrap();
        assert_eq!(clusters(&given, &path_of_three()).unwrap(), [1, 0, 1]);
        write_array(&path, &[2], &[7_i64, 2]).unwrap();
        let error = clusters(&given, &path_of_three()).unwrap_err();
        assert_eq!(error, "found clusters for 2 nodes, but the graph has 3");
    }

    #[test]
    fn a_text_names_nodes_and_clusters() {
        let path = scratch("clusters.csv");
        let given = GivenClusters { file: Some(path.to_path_buf()) };
        std::fs::write(&path, "# node,cluster\n2, sales\n0 ,10\n\n1,9\n99,sales\n").unwrap();
        assert_eq!(clusters(&given, &path_of_three()).unwrap(), [1, 0, 2]);
        std::fs::write(&path, "0 a\n1 a\n").unwrap();
        assert!(clusters(&given, &path_of_three()).unwrap_err().starts_with("node `2` has no cluster in"));
        std::fs::write(&path, "0 a\n1 a b\n").unwrap();
        assert!(clusters(&given, &path_of_three()).unwrap_err().contains(":2: expected 2 fields, found 3"));
        std::fs::write(&path, "0 a\n1 a\n2 b\n0 b\n").unwrap();
        assert!(clusters(&given, &path_of_three()).unwrap_err().ends_with("has `b` here, and `a` in line 1"));
    }
}
