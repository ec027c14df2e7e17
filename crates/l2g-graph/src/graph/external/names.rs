//! Text ids whose table does not fit into memory: numbered by sorts outside it.
//!
//! Nodes are numbered by first appearance. While the table of names fits, it gives the numbers. The
//! names that it holds when it is full have their numbers for good; all others come later. Their
//! places, counted along the input, are sorted by name, which tells the first place of each name; then
//! by first place, which tells its number; then by place again, in the order of the edges that wait
//! for them:
//!
//! ```text
//! (name, place) --by name--> (first place, place) --by first place--> (number, place) --by place--> number
//!                       \--> (first place, name)  --by first place--> names in the order of their numbers
//! ```
//!
//! Cost: three sorts of the places of later names and two of the names; a name counts once a piece.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};

use super::error::ExternalError;
use super::scratch::Scratch;
use super::sort::{ExternalSort, Keyed, Sorted};
use super::spill::Spill;
use super::text_sort::TextSort;
use crate::graph::StringTable;

/// One end of an edge that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitingEnd {
    /// A node whose number is known.
    Number(u64),
    /// A name of the piece, by its place there.
    Name(u64),
}

/// Edges some of whose ends have no number yet.
#[derive(Debug)]
pub(crate) struct WaitingEdges {
    names: TextSort,
    num_places: u64,
    edges: BufWriter<File>,
    pieces: Vec<Piece>,
    memory: u64,
}

/// The names and edges of a piece.
#[derive(Clone, Copy, Debug)]
struct Piece {
    num_names: u64,
    num_edges: u64,
    weighted: bool,
}

impl WaitingEdges {
    /// No edges yet; each sort takes an eighth of the memory that `spill` has.
    pub(crate) fn new(spill: &Spill) -> Result<Self, ExternalError> {
        let memory = spill.limit() / 8;
        let scratch = spill.scratch();
        let names = TextSort::new(scratch.nameless()?, memory);
        let edges = BufWriter::with_capacity(1 << 18, scratch.nameless()?);
        Ok(Self { names, num_places: 0, edges, pieces: Vec::new(), memory })
    }

    /// Adds a piece: names that have no number yet, each once, and edges.
    pub(crate) fn push<'a>(
        &mut self,
        names: impl ExactSizeIterator<Item = &'a str>,
        pairs: &[[WaitingEnd; 2]],
        weights: &[f32],
        spill: &Spill,
    ) -> Result<(), ExternalError> {
        let (num_names, num_edges) = (names.len() as u64, pairs.len() as u64);
        self.pieces.push(Piece { num_names, num_edges, weighted: !weights.is_empty() });
        self.write(names, pairs, weights).map_err(spill.scratch().failed())
    }

    fn write<'a>(
        &mut self,
        names: impl Iterator<Item = &'a str>,
        pairs: &[[WaitingEnd; 2]],
        weights: &[f32],
    ) -> std::io::Result<()> {
        for name in names {
            self.names.push(&[name.as_bytes()], self.num_places)?;
            self.num_places += 1;
        }
        // The last bit tells which of the two it is.
        let code = |end: WaitingEnd| match end {
            WaitingEnd::Number(number) => number << 1,
            WaitingEnd::Name(place) => place << 1 | 1,
        };
        for &end in pairs.iter().flatten() {
            self.edges.write_all(&code(end).to_le_bytes())?;
        }
        self.edges.write_all(bytemuck::cast_slice(weights))
    }

    /// Numbers all names after the `known` ones, and hands the edges over to `spill`. All names are
    /// left in a file, mapped.
    pub(crate) fn number(self, known: StringTable, spill: &mut Spill) -> Result<StringTable, ExternalError> {
        let Self { names, edges, pieces, memory, .. } = self;
        let failed = spill.scratch().failed();
        let mut table = spill.scratch().names_writer()?;
        known.iter().try_for_each(|name| table.push(name)).map_err(&failed)?;
        let num_known = known.len() as u64;
        drop(known);
        let (by_first, mut first_names) = first_places(names, spill.scratch(), memory)?;
        while let Some((name, _)) = first_names.next().map_err(&failed)? {
            table.push_bytes(&name[size_of::<u64>()..]).map_err(&failed)?;
        }
        drop(first_names);
        let names = table.finish()?;
        let numbers = numbers_by_place(by_first, num_known, spill.scratch(), memory)?;
        release(edges, &pieces, numbers, spill)?;
        Ok(names)
    }
}

/// The first place of the name at each place, and the names in the order of their first places; before
/// each name stands its first place.
fn first_places(
    names: TextSort,
    scratch: &Scratch,
    memory: u64,
) -> Result<(Sorted, super::text_sort::SortedTexts), ExternalError> {
    let failed = scratch.failed();
    let mut by_first = ExternalSort::new(scratch.nameless()?, memory);
    let mut first_names = TextSort::new(scratch.nameless()?, memory);
    let mut by_name = names.finish().map_err(&failed)?;
    let mut last: Option<(Vec<u8>, u64)> = None;
    while let Some((name, place)) = by_name.next().map_err(&failed)? {
        let first = match &last {
            Some((text, first)) if *text == name => *first,
            _ => {
                // Most significant byte first, so that texts sort as places do.
                first_names.push(&[&place.to_be_bytes(), &name], 0).map_err(&failed)?;
                last = Some((name, place));
                place
            }
        };
        by_first.push(Keyed { key: first, value: place }).map_err(&failed)?;
    }
    drop(by_name);
    Ok((by_first.finish().map_err(&failed)?, first_names.finish().map_err(&failed)?))
}

/// The number of the name at each place, in the order of the places.
fn numbers_by_place(
    mut by_first: Sorted,
    num_known: u64,
    scratch: &Scratch,
    memory: u64,
) -> Result<Sorted, ExternalError> {
    let failed = scratch.failed();
    let mut by_place = ExternalSort::new(scratch.nameless()?, memory);
    let (mut next_number, mut last) = (num_known, None);
    while let Some(Keyed { key: first, value: place }) = by_first.next().map_err(&failed)? {
        if last != Some(first) {
            last = Some(first);
            next_number += 1;
        }
        by_place.push(Keyed { key: place, value: next_number - 1 }).map_err(&failed)?;
    }
    drop(by_first);
    by_place.finish().map_err(&failed)
}

/// Hands the edges over, now that all their ends have numbers.
fn release(
    edges: BufWriter<File>,
    pieces: &[Piece],
    mut numbers: Sorted,
    spill: &mut Spill,
) -> Result<(), ExternalError> {
    let failed = spill.scratch().failed();
    let mut file = edges.into_inner().map_err(|error| failed(error.into_error()))?;
    file.rewind().map_err(&failed)?;
    let mut file = BufReader::with_capacity(1 << 18, file);
    for piece in pieces {
        let mut names = Vec::with_capacity(piece.num_names as usize);
        for _ in 0..piece.num_names {
            let next = numbers.next().map_err(&failed)?;
            names.push(next.expect("every place has a number").value);
        }
        let mut codes = vec![[0_u64; 2]; piece.num_edges as usize];
        file.read_exact(bytemuck::cast_slice_mut(&mut codes)).map_err(&failed)?;
        let mut weights = vec![0.0_f32; if piece.weighted { codes.len() } else { 0 }];
        file.read_exact(bytemuck::cast_slice_mut(&mut weights)).map_err(&failed)?;
        let number = |code: u64| match u64::from_le(code) {
            name if name & 1 == 1 => names[(name >> 1) as usize],
            number => number >> 1,
        };
        codes.iter_mut().for_each(|pair| *pair = pair.map(number));
        spill.push(&codes, &weights)?;
    }
    Ok(())
}
