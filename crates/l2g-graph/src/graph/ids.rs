//! The user's own names for the nodes: integers or strings.

use std::fmt;

use super::NodeId;
use crate::buffer::Buffer;

/// The user's name of each node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeIds {
    /// Nodes are named 0, 1, 2, ... up to this number.
    Range(usize),
    /// Nodes are named by integers.
    Integers(Buffer<u64>),
    /// Nodes are named by strings.
    Strings(StringTable),
}

/// Many strings in one block of memory, or of a mapped file.
#[derive(Clone, Debug, PartialEq)]
pub struct StringTable {
    bytes: Buffer<u8>,
    ends: Buffer<u64>,
}

impl StringTable {
    /// A table without strings.
    pub fn new() -> Self {
        Self { bytes: Buffer::default(), ends: Buffer::default() }
    }

    /// Strings that lie one after the other, and where each ends.
    ///
    /// The bytes of each have to be text.
    ///
    /// # Errors
    /// If an end is out of order.
    pub(crate) fn from_parts(bytes: Buffer<u8>, ends: Buffer<u64>) -> Result<Self, String> {
        if !ends.is_sorted() || ends.last().copied().unwrap_or(0) != bytes.len() as u64 {
            return Err("names do not end where their bytes do".into());
        }
        Ok(Self { bytes, ends })
    }

    /// Appends a string.
    pub fn push(&mut self, string: &str) {
        let bytes = self.bytes.to_mut();
        bytes.extend_from_slice(string.as_bytes());
        let end = bytes.len() as u64;
        self.ends.to_mut().push(end);
    }

    /// The bytes of memory that the strings take.
    pub fn memory_bytes(&self) -> u64 {
        (self.bytes.len() + size_of::<usize>() * self.ends.len()) as u64
    }

    /// The number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of all strings.
    pub fn num_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The string at `index`.
    pub fn get(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        let bytes = &self.bytes[start..self.ends[index] as usize];
        std::str::from_utf8(bytes).expect("only text is put into a table")
    }

    /// All strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index))
    }
}

impl Default for StringTable {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: AsRef<str>> FromIterator<S> for StringTable {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Self {
        let mut table = Self::new();
        strings.into_iter().for_each(|string| table.push(string.as_ref()));
        table
    }
}

/// One name, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdRef<'a> {
    /// An integer name.
    Integer(u64),
    /// A string name.
    String(&'a str),
}

impl fmt::Display for IdRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(id) => id.fmt(f),
            Self::String(id) => id.fmt(f),
        }
    }
}

impl NodeIds {
    /// The number of nodes.
    pub fn len(&self) -> usize {
        match self {
            Self::Range(len) => *len,
            Self::Integers(ids) => ids.len(),
            Self::Strings(table) => table.len(),
        }
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of a node.
    pub fn get(&self, node: NodeId) -> IdRef<'_> {
        match self {
            Self::Range(_) => IdRef::Integer(node.0),
            Self::Integers(ids) => IdRef::Integer(ids[node.index()]),
            Self::Strings(table) => IdRef::String(table.get(node.index())),
        }
    }

    /// The names of some nodes, in their order.
    pub fn select(&self, nodes: &[NodeId]) -> Self {
        match self {
            Self::Range(_) => Self::Integers(nodes.iter().map(|node| node.0).collect::<Vec<_>>().into()),
            Self::Integers(ids) => {
                Self::Integers(nodes.iter().map(|node| ids[node.index()]).collect::<Vec<_>>().into())
            }
            Self::Strings(table) => Self::Strings(nodes.iter().map(|node| table.get(node.index())).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_selected() {
        let ids = NodeIds::Strings(["ann", "", "bob"].into_iter().collect());
        assert_eq!(ids.get(NodeId(2)), IdRef::String("bob"));
        assert_eq!(ids.get(NodeId(1)).to_string(), "");
        let selected = ids.select(&[NodeId(2), NodeId(0)]);
        assert_eq!(selected, NodeIds::Strings(["bob", "ann"].into_iter().collect()));
    }

    #[test]
    fn a_selected_range_keeps_the_numbers() {
        let selected = NodeIds::Range(5).select(&[NodeId(1), NodeId(4)]);
        assert_eq!(selected.get(NodeId(1)), IdRef::Integer(4));
    }
}
