//! Edges as a reader finds them, before nodes are numbered.
//!
//! They stay in memory while that is enough to make the graph there, and go to disk when it is not.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::error::Problem;
use crate::graph::builder::BuildOptions;
use crate::graph::edge_list::{EdgeChunk, EdgeList};
use crate::graph::external::{ExternalError, Space, Spill, WaitingEdges, WaitingEnd, Workspace};
use crate::graph::{NodeIndex, StringTable};
use crate::progress::Progress;

/// Making a graph in memory takes this many times the bytes of its listed edges.
const BUILD_FACTOR: u64 = 3;

/// The table of text ids takes at most one part of this many of the memory there is.
const NAMES_SHARE: u64 = 4;

/// A piece of a file.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) pairs: RawPairs,
    /// One weight an edge, or none at all.
    pub(crate) weights: Vec<f32>,
    /// The share of the file that has been read when this piece is over, if that is known.
    pub(crate) share: Option<f64>,
}

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
    /// Edges between integers, 4 bytes each if that is enough for all of them.
    pub(crate) fn narrowest(pairs: Vec<[u64; 2]>) -> Self {
        match pairs.iter().flatten().all(|&id| id <= u64::from(u32::MAX)) {
            true => Self::Narrow(pairs.iter().map(|pair| pair.map(|id| id as u32)).collect()),
            false => Self::Wide(pairs),
        }
    }

    /// The number of edges.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Narrow(pairs) | Self::Names(pairs, _) => pairs.len(),
            Self::Wide(pairs) => pairs.len(),
        }
    }

    /// The bytes of the edges.
    fn num_bytes(&self) -> u64 {
        match self {
            Self::Narrow(pairs) | Self::Names(pairs, _) => size_of_val(&pairs[..]) as u64,
            Self::Wide(pairs) => size_of_val(&pairs[..]) as u64,
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
    /// Integer ids, on disk.
    Spilled(Box<Spill>),
    /// Text ids, on disk: numbers into one table, by first appearance.
    SpilledNames(Box<Spill>, StringTable),
    /// Text ids, on disk, not all of which are in the table; edges of the others wait for numbers.
    WaitingNames(Box<Spill>, StringTable, Box<WaitingEdges>),
}

/// What happens to edges that do not fit into memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpillOptions {
    /// The memory there is, and where there is room.
    pub(crate) workspace: Workspace,
    /// What the graph is made of the edges by.
    pub(crate) build: BuildOptions,
    /// Whether weights are forgotten.
    pub(crate) drop_weights: bool,
}

/// Collects the pieces of one file or several, in order.
#[derive(Debug, Default)]
pub(crate) struct RawEdgesBuilder {
    narrow: EdgeList<u32>,
    wide: Option<EdgeList<u64>>,
    names: Option<NameTable>,
    /// Bytes of all edges in memory.
    held_bytes: u64,
    options: SpillOptions,
    spill: Option<Box<Spill>>,
    /// Edges with names that the table does not hold any more.
    waiting: Option<Box<WaitingEdges>>,
    /// The number of edges so far.
    num_edges: u64,
    /// The share of all files that has been read, if that is known.
    share: Option<f64>,
    /// Where the file that pieces come from now begins and ends in all files, as shares.
    file_range: Option<[f64; 2]>,
    /// What people are to be told.
    note: Option<String>,
    /// The file that pieces come from now.
    file: PathBuf,
    /// What the first edges look like, and the file that they come from.
    first: Option<(Look, PathBuf)>,
}

/// What all files have to agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    weighted: bool,
    named: bool,
}

impl Look {
    /// How this differs from the first edges, which come from another file.
    fn difference_from(self, first: Self, file: &Path) -> String {
        let file = file.display();
        match (self.weighted == first.weighted, self.named, self.weighted) {
            (false, _, true) => format!("edges have weights, but those of `{file}` have none"),
            (false, _, false) => format!("edges have no weights, but those of `{file}` do"),
            (true, true, _) => format!("node ids are text, but those of `{file}` are integers"),
            (true, false, _) => format!("node ids are integers, but those of `{file}` are text"),
        }
    }
}

/// All names met so far. Looked up, never iterated.
#[derive(Debug, Default)]
pub(crate) struct NameTable {
    numbers: FxHashMap<Box<str>, u32>,
    names: StringTable,
}

impl NameTable {
    /// The number of a name that was met.
    fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The number of a name: how many others were met before it.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.find(name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).expect("fewer than 2^32 text ids fit into memory");
        self.names.push(name);
        self.numbers.insert(name.into(), number);
        number
    }

    /// About the bytes it takes.
    pub(crate) fn num_bytes(&self) -> u64 {
        // Each name stands in the table and in the map, which is at least seven sixteenths full.
        const PER_NAME: usize = size_of::<usize>() + 2 * (size_of::<(Box<str>, u32)>() + 1) + 16;
        (2 * self.names.num_bytes() + PER_NAME * self.names.len()) as u64
    }

    /// All names, by their numbers.
    pub(crate) fn into_names(self) -> StringTable {
        self.names
    }
}

impl RawEdgesBuilder {
    /// Collects edges in memory, or on disk if they do not fit.
    pub(crate) fn new(options: SpillOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Says which file the next pieces come from, and which part of all files it is, if that is known.
    pub(crate) fn begin_file(&mut self, file: &Path, range: Option<[f64; 2]>) {
        file.clone_into(&mut self.file);
        self.file_range = range;
        self.share = None;
    }

    /// Appends a piece that was read from a file.
    pub(crate) fn push_read(&mut self, piece: Piece, progress: &dyn Progress) -> Result<(), Problem> {
        let Piece { pairs, weights, share } = piece;
        let within = |[start, end]: [f64; 2]| share.map(|share| start + (end - start) * share.min(1.0));
        self.share = self.file_range.and_then(within);
        let pushed = self.push(pairs, weights);
        if let Some(note) = self.note.take() {
            progress.note(&note);
        }
        pushed
    }

    /// Whether nodes are named by text so far.
    pub(crate) fn has_names(&self) -> bool {
        self.first.as_ref().is_some_and(|(look, _)| look.named)
    }

    /// Appends a piece; all pieces of a file have weights, or none.
    pub(crate) fn push(&mut self, pairs: RawPairs, mut weights: Vec<f32>) -> Result<(), Problem> {
        if pairs.len() == 0 {
            return Ok(());
        }
        if self.options.drop_weights {
            weights = Vec::new();
        }
        let look = Look { weighted: !weights.is_empty(), named: matches!(pairs, RawPairs::Names(..)) };
        let (first, file) = self.first.get_or_insert_with(|| (look, self.file.clone()));
        if look != *first {
            return Err(Problem::Inconsistent(look.difference_from(*first, file)));
        }
        self.num_edges += pairs.len() as u64;
        Ok(self.collect(pairs, weights)?)
    }

    fn collect(&mut self, pairs: RawPairs, weights: Vec<f32>) -> Result<(), ExternalError> {
        let (pairs, weights) = match pairs {
            RawPairs::Names(pairs, names) => self.numbered(pairs, &names, weights)?,
            pairs => (pairs, weights),
        };
        if let Some(spill) = &mut self.spill {
            return push_to(spill, &pairs, &weights);
        }
        let weighted = !weights.is_empty();
        self.held_bytes += pairs.num_bytes() + 4 * weights.len() as u64;
        self.keep(pairs, weights);
        match self.held_bytes.saturating_mul(BUILD_FACTOR) > self.options.workspace.limit {
            true => self.go_to_disk(weighted),
            false => Ok(()),
        }
    }

    /// Replaces numbers into the table of a piece by numbers into one table. When that table is full,
    /// edges with other names are put aside, and those that are left are given back.
    fn numbered(
        &mut self,
        mut pairs: Vec<[u32; 2]>,
        names: &StringTable,
        weights: Vec<f32>,
    ) -> Result<(RawPairs, Vec<f32>), ExternalError> {
        let most_bytes = self.options.workspace.limit / NAMES_SHARE;
        let table = self.names.get_or_insert_default();
        let mut is_full = self.waiting.is_some();
        let mut later = LaterNames::default();
        let ends: Vec<WaitingEnd> = names
            .iter()
            .map(|name| match table.find(name) {
                Some(number) => WaitingEnd::Number(number.into()),
                // A name that is put aside comes before all that follow, so the table takes no more.
                None if is_full || table.num_bytes() > most_bytes => {
                    is_full = true;
                    WaitingEnd::Name(later.place(name))
                }
                None => WaitingEnd::Number(table.number(name).into()),
            })
            .collect();
        if is_full {
            return self.put_aside(&pairs, &ends, weights, later);
        }
        let number = |local: u32| match ends[local as usize] {
            WaitingEnd::Number(number) | WaitingEnd::Name(number) => number as u32,
        };
        pairs.iter_mut().for_each(|pair| *pair = pair.map(number));
        Ok((RawPairs::Narrow(pairs), weights))
    }

    /// Puts the edges with later names aside; gives back the others.
    fn put_aside(
        &mut self,
        pairs: &[[u32; 2]],
        ends: &[WaitingEnd],
        weights: Vec<f32>,
        later: LaterNames<'_>,
    ) -> Result<(RawPairs, Vec<f32>), ExternalError> {
        if self.spill.is_none() {
            self.go_to_disk(!weights.is_empty())?;
        }
        let spill = self.spill.as_ref().expect("edges are on disk");
        let waiting = match &mut self.waiting {
            Some(waiting) => waiting,
            none => none.insert(Box::new(WaitingEdges::new(spill)?)),
        };
        let mut numbered = EdgeChunk::<u32>::default();
        let (mut aside, mut aside_weights) = (Vec::new(), Vec::new());
        for (edge, pair) in pairs.iter().enumerate() {
            let weight = weights.get(edge).copied();
            match pair.map(|local| ends[local as usize]) {
                [WaitingEnd::Number(source), WaitingEnd::Number(target)] => {
                    numbered.pairs.push([source as u32, target as u32]);
                    numbered.weights.extend(weight);
                }
                pair => {
                    aside.push(pair);
                    aside_weights.extend(weight);
                }
            }
        }
        waiting.push(later.names.into_iter(), &aside, &aside_weights, spill)?;
        Ok((RawPairs::Narrow(numbered.pairs), numbered.weights))
    }

    fn keep(&mut self, pairs: RawPairs, weights: Vec<f32>) {
        match (pairs, &mut self.wide) {
            (RawPairs::Wide(pairs), _) => {
                let narrow = &mut self.narrow;
                let wide = self.wide.get_or_insert_with(|| widen_all(std::mem::take(narrow)));
                wide.push(EdgeChunk { pairs, weights });
            }
            (RawPairs::Narrow(pairs) | RawPairs::Names(pairs, _), Some(wide)) => {
                wide.push(widen(EdgeChunk { pairs, weights }));
            }
            (RawPairs::Narrow(pairs) | RawPairs::Names(pairs, _), None) => {
                self.narrow.push(EdgeChunk { pairs, weights });
            }
        }
    }

    /// Moves all edges to disk, where later ones go too.
    fn go_to_disk(&mut self, weighted: bool) -> Result<(), ExternalError> {
        let wide = self.wide.take();
        let num_edges = self.share.map(|share| (self.num_edges as f64 / share.max(1e-9)) as u64);
        let space = Space { num_edges, weighted, wide: wide.is_some() };
        self.note = space.check(&self.options.workspace, &self.options.build)?;
        let mut spill = Spill::new(&self.options.workspace, self.options.build, weighted)?;
        move_chunks(std::mem::take(&mut self.narrow), &mut spill)?;
        move_chunks(wide.unwrap_or_default(), &mut spill)?;
        self.spill = Some(Box::new(spill));
        Ok(())
    }

    /// All edges pushed.
    pub(crate) fn finish(self) -> RawEdges {
        let names = self.names.map(NameTable::into_names);
        match (self.spill, self.wide, names, self.waiting) {
            (Some(spill), _, Some(names), Some(waiting)) => RawEdges::WaitingNames(spill, names, waiting),
            (Some(spill), _, Some(names), None) => RawEdges::SpilledNames(spill, names),
            (Some(spill), _, None, _) => RawEdges::Spilled(spill),
            (None, Some(wide), ..) => RawEdges::Wide(wide),
            (None, None, Some(names), _) => RawEdges::Names(self.narrow, names),
            (None, None, None, _) => RawEdges::Narrow(self.narrow),
        }
    }
}

/// The names of a piece that are not in the table, each once, in the order in which they come.
#[derive(Default)]
struct LaterNames<'a> {
    places: FxHashMap<&'a str, u64>,
    names: Vec<&'a str>,
}

impl<'a> LaterNames<'a> {
    fn place(&mut self, name: &'a str) -> u64 {
        *self.places.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() as u64 - 1
        })
    }
}

fn push_to(spill: &mut Spill, pairs: &RawPairs, weights: &[f32]) -> Result<(), ExternalError> {
    match pairs {
        RawPairs::Narrow(pairs) | RawPairs::Names(pairs, _) => spill.push(pairs, weights),
        RawPairs::Wide(pairs) => spill.push(pairs, weights),
    }
}

fn move_chunks<I: NodeIndex>(edges: EdgeList<I>, spill: &mut Spill) -> Result<(), ExternalError> {
    edges.into_chunks().into_iter().try_for_each(|chunk| spill.push(&chunk.pairs, &chunk.weights))
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
        builder.push(RawPairs::Names(vec![[0, 1]], ["a", "b"].into_iter().collect()), vec![]).unwrap();
        builder.push(RawPairs::Names(vec![[0, 1]], ["c", "a"].into_iter().collect()), vec![]).unwrap();
        let RawEdges::Names(edges, names) = builder.finish() else { panic!("names") };
        assert_eq!(names.iter().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(edges.chunks()[1].pairs, [[2, 0]]);
    }

    #[test]
    fn one_large_id_widens_everything() {
        let mut builder = RawEdgesBuilder::default();
        builder.push(RawPairs::Narrow(vec![[0, 1]]), vec![]).unwrap();
        builder.push(RawPairs::Wide(vec![[1, 1 << 40]]), vec![]).unwrap();
        builder.push(RawPairs::Narrow(vec![[2, 3]]), vec![]).unwrap();
        let RawEdges::Wide(edges) = builder.finish() else { panic!("wide") };
        assert_eq!(edges.chunks()[0].pairs, [[0, 1]]);
        assert_eq!(edges.len(), 3);
    }
}
