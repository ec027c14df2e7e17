//! Which nodes a classifier is trained on, and which it is tested on.
//!
//! A random split draws the training share of each class by itself, so that rare classes
//! are in it too: of every class one node at least is trained on, and one is tested on if
//! there are two. Where nodes can have several classes, nodes are drawn as they are.
//!
//! A given split is a file. Text has on each line a node, by the user's own id, and its
//! part: `train`, `test` or `validation`; `*.npy` has one such text for each node, in the
//! order of the graph, empty where there is none. Nodes for validation, nodes without a
//! part and nodes that are not in the graph are not used.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use rand::Rng;
use rand::seq::SliceRandom;
use rustc_hash::FxHashMap;

use super::EvaluateError;
use crate::graph::labels::LabelKind;
use crate::graph::{Graph, Labels, NodeId};
use crate::npy;
use crate::partition::given::two_fields;
use crate::run_dir::FileError;

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
        let parts = match path.extension().is_some_and(|extension| extension == "npy") {
            true => read_array(path, graph)?,
            false => read_text(path, graph)?,
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
    fn of(name: &str, path: &Path, line: usize) -> Result<Self, EvaluateError> {
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

fn read_array(path: &Path, graph: &Graph) -> Result<Vec<(NodeId, Part)>, EvaluateError> {
    let parts = npy::open(path).and_then(|reader| reader.strings());
    let parts = parts.map_err(|source| EvaluateError::Array { path: path.to_owned(), source })?;
    let (found, needed) = (parts.len(), graph.num_nodes());
    if found != needed {
        return Err(EvaluateError::SplitLength { path: path.to_owned(), found, needed });
    }
    graph
        .nodes()
        .zip(parts)
        .map(|(node, part)| Ok((node, Part::of(&part, path, node.index() + 1)?)))
        .collect()
}

fn read_text(path: &Path, graph: &Graph) -> Result<Vec<(NodeId, Part)>, EvaluateError> {
    let file = File::open(path).map_err(FileError::at("read", path))?;
    // Looked up by node, never iterated.
    let mut parts: FxHashMap<String, Part> = FxHashMap::default();
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(FileError::at("read", path))?;
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let line = index + 1;
        let (id, part) = two_fields(text).ok_or_else(|| EvaluateError::SplitLine {
            path: path.to_owned(),
            line,
            text: text.to_owned(),
        })?;
        let part = Part::of(part, path, line)?;
        if parts.insert(id.to_owned(), part).is_some_and(|before| before != part) {
            return Err(EvaluateError::SplitTwice { path: path.to_owned(), line, node: id.to_owned() });
        }
    }
    let nodes = parts.len();
    let of_node = |node: NodeId| Some((node, parts.remove(&graph.ids().get(node).to_string())?));
    let found: Vec<_> = graph.nodes().filter_map(of_node).collect();
    match found.is_empty() && nodes > 0 {
        true => Err(EvaluateError::SplitElsewhere { path: path.to_owned(), nodes }),
        false => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::graph::labels::UNKNOWN;
    use crate::graph::{BuildOptions, EdgeList, NodeIds, build};
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
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("split.csv");
        let read = |text: &str| {
            fs::write(&path, text).unwrap();
            Split::read(&path, &graph)
        };
        let split = read("# who is what\nbob,Test\nann,train\neve,val\nnobody,train\n").unwrap();
        assert_eq!(split, Split { train: vec![NodeId(0)], test: vec![NodeId(1)] });
        let error = |text| read(text).unwrap_err().to_string();
        assert!(
            error("ann train now\n")
                .ends_with("split.csv:1: expected a node and its part, found `ann train now`")
        );
        assert!(
            error("ann test\nbob exam\n")
                .ends_with("split.csv:2: part `exam` is none of train, test, validation")
        );
        assert!(
            error("ann test\n\nann train\n").ends_with("split.csv:3: node `ann` is already in another part")
        );
        read("ann test\nann test\n").unwrap();
        assert!(
            error("1 test\n2 train\n")
                .ends_with("split.csv: none of the 2 nodes of the split is in the graph")
        );
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
