//! Which nodes a classifier is trained on, and which it is tested on.
//!
//! A random split draws the training share of each class by itself, so that rare classes
//! are in it too: of every class one node at least is trained on, and one is tested on if
//! there are two. Where nodes can have several classes, nodes are drawn as they are.
//!
//! A given split is a file. Text has on each line a node, by the user's own id, and its
//! part: `train`, `test` or `validation`, by the rules of
//! [`graph::io::node_values`](crate::graph::io); a `.npy` array has one such text for each node, in
//! the order of the graph, empty where there is none. Nodes for validation, nodes without a
//! part and nodes that are not in the graph are not used.

use std::path::Path;

use rand::Rng;
use rand::seq::SliceRandom;

use super::EvaluateError;
use crate::graph::io::{NodeValues, ValueRow};
use crate::graph::labels::LabelKind;
use crate::graph::{Graph, Labels, NodeId};
use crate::npy::NpyError;

/// Nodes to train on and nodes to test on, both ascending and disjoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// What a classifier sees.
    pub train: Vec<NodeId>,
    /// What it is scored on.
    pub test: Vec<NodeId>,
}

impl Split {
    /// A random split of some labelled nodes.
    pub fn random(labels: &Labels, nodes: &[NodeId], train_share: f64, random: &mut impl Rng) -> Self {
        let groups = match labels.kind() {
            LabelKind::Multi(_) => vec![nodes.to_vec()],
            LabelKind::Single(classes) => {
                let mut groups = vec![Vec::new(); labels.num_classes()];
                nodes.iter().for_each(|&node| groups[classes[node.index()] as usize].push(node));
                groups
            }
        };
        let mut split = Self::default();
        for mut group in groups {
            group.shuffle(random);
            let most = group.len().saturating_sub(1).max(1);
            let count = ((train_share * group.len() as f64).round() as usize).clamp(1, most);
            let (train, test) = group.split_at(count.min(group.len()));
            split.train.extend(train);
            split.test.extend(test);
        }
        split.sorted()
    }

    /// Reads a split from a file, for the nodes of a graph.
    ///
    /// # Errors
    /// [`EvaluateError`] with the line that is not understood, that puts a node into a second
    /// part, or if no node is in the graph.
    pub fn read(path: &Path, graph: &Graph) -> Result<Self, EvaluateError> {
        let parts = match NodeValues::open(path)? {
            NodeValues::InOrder(array) => parts_in_order(path, array.strings(), graph)?,
            NodeValues::Keyed(values) => {
                let rows = graph.nodes().zip(values.one_per_node(graph.ids())?);
                let part = |(node, row): (_, Option<&ValueRow>)| {
                    row.map(|row| Ok((node, Part::of(&row.value, values.path(), row.line)?)))
                };
                rows.filter_map(part).collect::<Result<_, EvaluateError>>()?
            }
        };
        let of_part =
            |wanted| parts.iter().filter(move |(_, part)| *part == wanted).map(|&(node, _)| node).collect();
        Ok(Self { train: of_part(Part::Train), test: of_part(Part::Test) }.sorted())
    }

    /// The same split without the nodes that have no class.
    pub(super) fn labelled(mut self, labels: &Labels) -> Self {
        self.train.retain(|&node| is_labelled(labels, node));
        self.test.retain(|&node| is_labelled(labels, node));
        self
    }

    fn sorted(mut self) -> Self {
        self.train.sort_unstable();
        self.test.sort_unstable();
        self
    }
}

/// Whether a node has a class.
pub(super) fn is_labelled(labels: &Labels, node: NodeId) -> bool {
    match labels.kind() {
        LabelKind::Single(classes) => classes[node.index()] >= 0,
        LabelKind::Multi(indicators) => {
            let width = labels.num_classes();
            indicators[node.index() * width..][..width].iter().any(|&has| has != 0)
        }
    }
}

/// What a node is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Train,
    Test,
    Unused,
}

impl Part {
    /// The part of a name; `line` is where it stands.
    fn of(name: &str, path: &Path, line: u64) -> Result<Self, EvaluateError> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "train" | "training" => Self::Train,
            "test" => Self::Test,
            "validation" | "valid" | "val" | "" => Self::Unused,
            _ => {
                return Err(EvaluateError::SplitPart { path: path.to_owned(), line, found: name.to_owned() });
            }
        })
    }
}

/// The parts of all nodes, in their order.
fn parts_in_order(
    path: &Path,
    parts: Result<Vec<String>, NpyError>,
    graph: &Graph,
) -> Result<Vec<(NodeId, Part)>, EvaluateError> {
    let parts = parts.map_err(|source| EvaluateError::Array { path: path.to_owned(), source })?;
    let (found, needed) = (parts.len(), graph.num_nodes());
    if found != needed {
        return Err(EvaluateError::SplitLength { path: path.to_owned(), found, needed });
    }
    let part = |(node, part): (NodeId, String)| Ok((node, Part::of(&part, path, node.0 + 1)?));
    graph.nodes().zip(parts).map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::graph::labels::UNKNOWN;
    use crate::graph::{BuildOptions, EdgeList, NodeIds, build};
    use crate::scratch::scratch;
    use crate::seed::{Seed, Stage};

    #[test]
    fn random_splits_are_disjoint_and_keep_the_shares_of_classes() {
        let classes: Vec<i32> = (0..400).map(|k| if k < 300 { 0 } else { 1 + k % 2 }).collect();
        let labels = Labels::single(classes.clone().into(), vec![]);
        let nodes: Vec<NodeId> = (0..400).map(NodeId::new).collect();
        for seed in 0..20 {
            let mut random = Seed(seed).stream(Stage::Evaluate, 0);
            let Split { train, test } = Split::random(&labels, &nodes, 0.1, &mut random);
            let mut together = [train.clone(), test].concat();
            together.sort_unstable();
            assert_eq!(together, nodes);
            let of_class = |class| train.iter().filter(|node| classes[node.index()] == class).count();
            assert_eq!([of_class(0), of_class(1), of_class(2)], [30, 5, 5]);
        }
    }

    #[test]
    fn rare_classes_are_trained_on_and_tested_on_where_they_can_be() {
        let labels = Labels::single(vec![0, 0, 0, 0, 0, 1, 1, 2].into(), vec![]);
        let nodes: Vec<NodeId> = (0..8).map(NodeId::new).collect();
        for share in [0.01, 0.99] {
            let split = Split::random(&labels, &nodes, share, &mut Seed(1).stream(Stage::Evaluate, 0));
            let test = &split.test;
            assert!(split.train.contains(&NodeId(7)), "the only node of its class is trained on");
            assert_eq!(test.iter().filter(|&&node| node == NodeId(5) || node == NodeId(6)).count(), 1);
            assert_eq!(test.iter().filter(|node| node.0 < 5).count(), if share < 0.5 { 4 } else { 1 });
        }
    }

    #[test]
    fn given_splits_name_nodes_by_their_ids() {
        let graph = build(EdgeList::from_pairs(vec![[0_u32, 1], [1, 2]]), 3, &BuildOptions::default()).graph;
        let graph = graph.with_ids(NodeIds::Strings(["ann", "bob", "eve"].iter().collect())).unwrap();
        let path = scratch("split.csv");
        let read = |text: &str| {
            fs::write(&path, text).unwrap();
            Split::read(&path, &graph)
        };
        let split = read("# who is what\nbob,Test\nann,train\neve,val\nnobody,train\n").unwrap();
        assert_eq!(split, Split { train: vec![NodeId(0)], test: vec![NodeId(1)] });
        let error = |text| read(text).unwrap_err().to_string();
        assert!(error("ann train now\n").ends_with("split.csv:1: expected 2 fields, found 3"));
        assert!(
            error("ann test\nbob exam\n")
                .ends_with("split.csv:2: part `exam` is none of train, test, validation")
        );
        assert!(
            error("ann test\n\nann train\n")
                .ends_with("split.csv:3: node `ann` has `train` here, and `test` in line 1")
        );
        read("ann test\nann test\n").unwrap();
        assert!(error("1 test\n2 train\n").ends_with("split.csv: none of its 2 nodes is in the graph"));
    }

    #[test]
    fn nodes_without_a_class_are_left_out() {
        let labels = Labels::single(vec![0, UNKNOWN, 1].into(), vec![]);
        let split = Split { train: vec![NodeId(0), NodeId(1)], test: vec![NodeId(2)] }.labelled(&labels);
        assert_eq!(split.train, [NodeId(0)]);
        let multi = Labels::multi(vec![0, 0, 1, 0].into(), 2, vec![]);
        assert!(!is_labelled(&multi, NodeId(0)) && is_labelled(&multi, NodeId(1)));
    }
}
