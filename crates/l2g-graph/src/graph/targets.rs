//! The neighbour lists, 4 or 8 bytes an entry, behind one type.

use bytemuck::Pod;

use super::NodeId;
use crate::buffer::Buffer;
use crate::npy::Element;

/// The integer types that can stand for a node inside large arrays.
///
/// Code that is hot enough to care matches on [`Targets`] once and is generic over
/// this trait inside; everything else uses [`NodeId`].
pub trait NodeIndex: Element + Pod + Default + Ord + Send + Sync + std::hash::Hash + std::fmt::Debug {
    /// From a row number that is known to fit.
    fn from_index(index: usize) -> Self;

    /// The row number.
    fn index(self) -> usize;

    /// Wraps a list of targets.
    fn into_targets(values: Vec<Self>) -> Targets;
}

macro_rules! node_index {
    ($ty:ty, $variant:ident) => {
        impl NodeIndex for $ty {
            fn from_index(index: usize) -> Self {
                index as $ty
            }

            fn index(self) -> usize {
                self as usize
            }

            fn into_targets(values: Vec<Self>) -> Targets {
                Targets::$variant(values.into())
            }
        }

        impl From<Vec<$ty>> for Targets {
            fn from(values: Vec<$ty>) -> Self {
                Self::$variant(values.into())
            }
        }
    };
}

node_index!(u32, Narrow);
node_index!(u64, Wide);

/// The neighbours of all nodes, one row after the other.
#[derive(Clone, Debug)]
pub enum Targets {
    /// Up to 2³² nodes.
    Narrow(Buffer<u32>),
    /// More.
    Wide(Buffer<u64>),
}

impl Targets {
    /// The number of entries.
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(values) => values.len(),
            Self::Wide(values) => values.len(),
        }
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries from `start` to before `end`.
    pub fn slice(&self, start: usize, end: usize) -> Neighbors<'_> {
        match self {
            Self::Narrow(values) => Neighbors::Narrow(values[start..end].iter()),
            Self::Wide(values) => Neighbors::Wide(values[start..end].iter()),
        }
    }
}

impl PartialEq for Targets {
    fn eq(&self, other: &Self) -> bool {
        self.slice(0, self.len()).eq(other.slice(0, other.len()))
    }
}

/// Iterates over the neighbours of one node, ascending.
#[derive(Clone, Debug)]
pub enum Neighbors<'a> {
    /// Of a graph with up to 2³² nodes.
    Narrow(std::slice::Iter<'a, u32>),
    /// Of a larger one.
    Wide(std::slice::Iter<'a, u64>),
}

impl Neighbors<'_> {
    /// Whether `node` is among them, by binary search.
    pub fn contains_sorted(&self, node: NodeId) -> bool {
        self.position_sorted(node).is_some()
    }

    /// Which of them `node` is, by binary search.
    pub fn position_sorted(&self, node: NodeId) -> Option<usize> {
        match self {
            Self::Narrow(iter) => iter.as_slice().binary_search(&u32::try_from(node.0).ok()?).ok(),
            Self::Wide(iter) => iter.as_slice().binary_search(&node.0).ok(),
        }
    }
}

impl Iterator for Neighbors<'_> {
    type Item = NodeId;

    #[inline]
    fn next(&mut self) -> Option<NodeId> {
        match self {
            Self::Narrow(iter) => iter.next().map(|&node| NodeId(u64::from(node))),
            Self::Wide(iter) => iter.next().map(|&node| NodeId(node)),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Narrow(iter) => iter.size_hint(),
            Self::Wide(iter) => iter.size_hint(),
        }
    }

    // The width is looked at once, not at every step.
    #[inline]
    fn fold<B, F: FnMut(B, NodeId) -> B>(self, init: B, mut f: F) -> B {
        match self {
            Self::Narrow(iter) => iter.fold(init, |acc, &node| f(acc, NodeId(u64::from(node)))),
            Self::Wide(iter) => iter.fold(init, |acc, &node| f(acc, NodeId(node))),
        }
    }
}

impl DoubleEndedIterator for Neighbors<'_> {
    fn next_back(&mut self) -> Option<NodeId> {
        match self {
            Self::Narrow(iter) => iter.next_back().map(|&node| NodeId(u64::from(node))),
            Self::Wide(iter) => iter.next_back().map(|&node| NodeId(node)),
        }
    }
}

impl ExactSizeIterator for Neighbors<'_> {}
