//! The class or classes of each node.

use super::NodeId;
use crate::buffer::Buffer;

/// The class of a node whose class is not known.
pub const UNKNOWN: i32 = -1;

/// Labels of all nodes, and the names of the classes.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    kind: LabelKind,
    class_names: Vec<String>,
}

/// How many classes a node can have.
#[derive(Clone, Debug, PartialEq)]
pub enum LabelKind {
    /// One class per node, or [`UNKNOWN`].
    Single(Buffer<i32>),
    /// Any number: row `v` has a 1 in the column of each class of node `v`.
    Multi(Buffer<u8>),
}

impl Labels {
    /// One class per node, given by number, [`UNKNOWN`] where it is missing.
    ///
    /// Classes without a name are named by their number.
    pub fn single(classes: Buffer<i32>, class_names: Vec<String>) -> Self {
        let num_classes = classes.iter().max().map_or(0, |&largest| (largest + 1).max(0) as usize);
        Self { kind: LabelKind::Single(classes), class_names: padded(class_names, num_classes) }
    }

    /// Any number of classes per node: `num_classes` zeros and ones for each.
    ///
    /// # Panics
    /// If `indicators` are not whole rows of `num_classes`.
    pub fn multi(indicators: Buffer<u8>, num_classes: usize, class_names: Vec<String>) -> Self {
        assert!(num_classes > 0 && indicators.len().is_multiple_of(num_classes), "whole rows are needed");
        Self { kind: LabelKind::Multi(indicators), class_names: padded(class_names, num_classes) }
    }

    /// The labels themselves.
    pub fn kind(&self) -> &LabelKind {
        &self.kind
    }

    /// The number of classes.
    pub fn num_classes(&self) -> usize {
        self.class_names.len()
    }

    /// The names of the classes.
    pub fn class_names(&self) -> &[String] {
        &self.class_names
    }

    /// The number of rows: one per node.
    pub fn num_rows(&self) -> usize {
        match &self.kind {
            LabelKind::Single(classes) => classes.len(),
            LabelKind::Multi(indicators) => indicators.len() / self.num_classes(),
        }
    }

    /// The classes of a node, ascending; none where they are not known.
    pub fn classes_of(&self, node: NodeId) -> impl Iterator<Item = usize> {
        let (single, multi) = match &self.kind {
            LabelKind::Single(classes) => (usize::try_from(classes[node.index()]).ok(), &[][..]),
            LabelKind::Multi(indicators) => {
                (None, &indicators[node.index() * self.num_classes()..][..self.num_classes()])
            }
        };
        single.into_iter().chain((0..multi.len()).filter(|&class| multi[class] != 0))
    }

    /// The labels of some nodes, in their order; the classes stay the same.
    pub fn select(&self, nodes: &[NodeId]) -> Self {
        let kind = match &self.kind {
            LabelKind::Single(classes) => {
                LabelKind::Single(nodes.iter().map(|node| classes[node.index()]).collect::<Vec<_>>().into())
            }
            LabelKind::Multi(indicators) => {
                let width = self.num_classes();
                let row = |node: &NodeId| &indicators[node.index() * width..][..width];
                LabelKind::Multi(nodes.iter().flat_map(row).copied().collect::<Vec<_>>().into())
            }
        };
        Self { kind, class_names: self.class_names.clone() }
    }
}

fn padded(mut names: Vec<String>, num_classes: usize) -> Vec<String> {
    let first_unnamed = names.len();
    names.extend((first_unnamed..num_classes).map(|class| class.to_string()));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_labels_are_selected() {
        let labels = Labels::single(vec![0, UNKNOWN, 2].into(), vec!["a".into()]);
        assert_eq!(labels.class_names(), ["a", "1", "2"]);
        let selected = labels.select(&[NodeId(2), NodeId(1)]);
        assert_eq!(selected.kind(), &LabelKind::Single(vec![2, UNKNOWN].into()));
        assert_eq!(selected.num_classes(), 3);
        assert!(labels.classes_of(NodeId(2)).eq([2]) && labels.classes_of(NodeId(1)).count() == 0);
    }

    #[test]
    fn multi_labels_are_selected() {
        let labels = Labels::multi(vec![1, 0, 1, 0, 1, 1].into(), 3, vec![]);
        let selected = labels.select(&[NodeId(1)]);
        assert_eq!((selected.num_rows(), selected.num_classes()), (1, 3));
        assert_eq!(selected.kind(), &LabelKind::Multi(vec![0, 1, 1].into()));
        assert!(labels.classes_of(NodeId(0)).eq([0, 2]));
    }
}
