//! Edges as a reader finds them, before nodes are numbered.

use rustc_hash::FxHashMap;

use crate::graph::StringTable;
use crate::graph::edge_list::{EdgeChunk, EdgeList};

/// The edges of one piece of a file, named as in the file.
#[derive(Debug)]
pub(crate) enum RawPairs {
    /// Integer ids below 2³².
    Narrow(Vec<[u32; 2]>),
    /// Integer ids.
    Wide(Vec<[u64; 2]>),
    /// Text ids: numbers into a table of this piece.
    Names(Vec<[u32; 2]>, StringTable),
}

impl RawPairs {
    /// The number of edges.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Narrow(pairs) | Self::Names(pairs, _) => pairs.len(),
            Self::Wide(pairs) => pairs.len(),
        }
    }

    /// Puts every edge into the other direction too, with its weight. A self-loop has only one.
    pub(crate) fn put_both_ways(&mut self, weights: &mut Vec<f32>) {
        match self {
            Self::Narrow(pairs) | Self::Names(pairs, _) => put_both_ways(pairs, weights),
            Self::Wide(pairs) => put_both_ways(pairs, weights),
        }
    }
}

fn put_both_ways<Id: Copy + PartialEq>(pairs: &mut Vec<[Id; 2]>, weights: &mut Vec<f32>) {
    for edge in 0..pairs.len() {
        let [from, to] = pairs[edge];
        if from != to {
            pairs.push([to, from]);
            weights.extend(weights.get(edge).copied());
        }
    }
}

/// All edges of a file, named as in the file.
#[derive(Debug)]
pub(crate) enum RawEdges {
    /// Integer ids below 2³².
    Narrow(EdgeList<u32>),
    /// Integer ids.
    Wide(EdgeList<u64>),
    /// Text ids: numbers into one table, by first appearance.
    Names(EdgeList<u32>, StringTable),
}

impl RawEdges {
    /// The number of edges.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Narrow(edges) | Self::Names(edges, _) => edges.len(),
            Self::Wide(edges) => edges.len(),
        }
    }

    /// Forgets the weights.
    pub(crate) fn drop_weights(&mut self) {
        match self {
            Self::Narrow(edges) | Self::Names(edges, _) => {
                edges.chunks_mut().iter_mut().for_each(|chunk| chunk.weights = Vec::new());
            }
            Self::Wide(edges) => edges.chunks_mut().iter_mut().for_each(|chunk| chunk.weights = Vec::new()),
        }
    }
}

/// Collects the pieces of a file, in order.
#[derive(Debug, Default)]
pub(crate) struct RawEdgesBuilder {
    narrow: EdgeList<u32>,
    wide: Option<EdgeList<u64>>,
    names: Option<NameTable>,
}

/// All names met so far. Looked up, never iterated.
#[derive(Debug, Default)]
pub(crate) struct NameTable {
    numbers: FxHashMap<Box<str>, u32>,
    names: StringTable,
}

impl NameTable {
    /// The number of a name: how many others were met before it.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).expect("fewer than 2^32 text ids fit into memory");
        self.names.push(name);
        self.numbers.insert(name.into(), number);
        number
    }

    /// All names, by their numbers.
    pub(crate) fn into_names(self) -> StringTable {
        self.names
    }
}

impl RawEdgesBuilder {
    /// Appends a piece; all pieces have weights, or none.
    pub(crate) fn push(&mut self, pairs: RawPairs, weights: Vec<f32>) {
        match pairs {
            RawPairs::Names(mut pairs, names) => {
                let table = self.names.get_or_insert_default();
                let numbers: Vec<u32> = names.iter().map(|name| table.number(name)).collect();
                pairs.iter_mut().for_each(|pair| *pair = pair.map(|local| numbers[local as usize]));
                self.narrow.push(EdgeChunk { pairs, weights });
            }
            RawPairs::Narrow(pairs) => match &mut self.wide {
                None => self.narrow.push(EdgeChunk { pairs, weights }),
                Some(wide) => wide.push(widen(EdgeChunk { pairs, weights })),
            },
            RawPairs::Wide(pairs) => {
                let narrow = &mut self.narrow;
                let wide = self.wide.get_or_insert_with(|| widen_all(std::mem::take(narrow)));
                wide.push(EdgeChunk { pairs, weights });
            }
        }
    }

    /// All edges pushed.
    pub(crate) fn finish(self) -> RawEdges {
        match (self.wide, self.names) {
            (Some(wide), _) => RawEdges::Wide(wide),
            (None, Some(table)) => RawEdges::Names(self.narrow, table.names),
            (None, None) => RawEdges::Narrow(self.narrow),
        }
    }
}

fn widen(chunk: EdgeChunk<u32>) -> EdgeChunk<u64> {
    let pairs = chunk.pairs.into_iter().map(|pair| pair.map(u64::from)).collect();
    EdgeChunk { pairs, weights: chunk.weights }
}

fn widen_all(narrow: EdgeList<u32>) -> EdgeList<u64> {
    let mut wide = EdgeList::new();
    narrow.into_chunks().into_iter().for_each(|chunk| wide.push(widen(chunk)));
    wide
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_across_pieces() {
        let mut builder = RawEdgesBuilder::default();
        builder.push(RawPairs::Names(vec![[0, 1]], ["a", "b"].into_iter().collect()), vec![]);
        builder.push(RawPairs::Names(vec![[0, 1]], ["c", "a"].into_iter().collect()), vec![]);
        let RawEdges::Names(edges, names) = builder.finish() else { panic!("names") };
        assert_eq!(names.iter().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(edges.chunks()[1].pairs, [[2, 0]]);
    }

    #[test]
    fn one_large_id_widens_everything() {
        let mut builder = RawEdgesBuilder::default();
        builder.push(RawPairs::Narrow(vec![[0, 1]]), vec![]);
        builder.push(RawPairs::Wide(vec![[1, 1 << 40]]), vec![]);
        builder.push(RawPairs::Narrow(vec![[2, 3]]), vec![]);
        let RawEdges::Wide(edges) = builder.finish() else { panic!("wide") };
        assert_eq!(edges.chunks()[0].pairs, [[0, 1]]);
        assert_eq!(edges.len(), 3);
    }
}
