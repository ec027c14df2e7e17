//! Edges between large integers: numbered by two sorts outside memory.
//!
//! Every end of an edge has a place: twice the number of the edge, plus one for its target. Sorted by
//! id, the ends number the distinct ids, ascending; sorted by place again, the numbers come in the
//! order of the edges, in pairs.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};

use super::error::ExternalError;
use super::scratch::Scratch;
use super::sort::{ExternalSort, Keyed, Sorted};

/// The place of a node that is not the end of an edge.
const NO_PLACE: u64 = u64::MAX;

/// Edges that are collected.
#[derive(Debug)]
pub(super) struct WideEdges {
    ends: ExternalSort,
    /// One weight an edge, if edges have weights.
    weights: Option<BufWriter<File>>,
    num_edges: u64,
    /// One more than the largest id of an edge.
    bound: u64,
    memory: u64,
}

/// Edges whose nodes are numbered, in the order in which they were pushed.
#[derive(Debug)]
pub(super) struct NumberedEdges {
    rows: Sorted,
    weights: Option<BufReader<File>>,
    /// The number of distinct ids, which are in the file of ids.
    pub(super) num_nodes: usize,
}

impl WideEdges {
    /// No edges yet; sorting takes about `memory` bytes.
    pub(super) fn new(scratch: &Scratch, weighted: bool, memory: u64) -> Result<Self, ExternalError> {
        let ends = ExternalSort::new(scratch.nameless()?, memory / 2);
        let weights = weighted.then(|| scratch.nameless().map(BufWriter::new)).transpose()?;
        Ok(Self { ends, weights, num_edges: 0, bound: 0, memory })
    }

    /// Adds an edge.
    pub(super) fn push(&mut self, pair: [u64; 2], weight: f32) -> std::io::Result<()> {
        for (end, id) in (0..).zip(pair) {
            self.ends.push(Keyed { key: id, value: 2 * self.num_edges + end })?;
        }
        self.num_edges += 1;
        self.bound = self.bound.max(pair[0].max(pair[1]).saturating_add(1));
        match &mut self.weights {
            Some(file) => file.write_all(&weight.to_le_bytes()),
            None => Ok(()),
        }
    }

    /// One more than the largest id of an edge; 0 without edges.
    pub(super) fn bound(&self) -> u64 {
        self.bound
    }

    /// Adds a node that may have no edges.
    pub(super) fn push_node(&mut self, id: u64) -> std::io::Result<()> {
        self.ends.push(Keyed { key: id, value: NO_PLACE })
    }

    /// Numbers the nodes, and writes the id of each into the file of ids, unless ids are rows already.
    pub(super) fn number(self, scratch: &Scratch) -> Result<NumberedEdges, ExternalError> {
        let failed = scratch.failed();
        let mut by_id = self.ends.finish().map_err(&failed)?;
        let mut by_place = ExternalSort::new(scratch.nameless()?, self.memory / 2);
        let mut ids = scratch.writer::<u64>(&scratch.arrays().ids())?;
        let (mut num_nodes, mut last, mut are_rows) = (0_u64, None, true);
        while let Some(Keyed { key: id, value: place }) = by_id.next().map_err(&failed)? {
            if last != Some(id) {
                last = Some(id);
                are_rows &= id == num_nodes;
                num_nodes += 1;
                ids.push(&[id]).map_err(&failed)?;
            }
            if place != NO_PLACE {
                by_place.push(Keyed { key: place, value: num_nodes - 1 }).map_err(&failed)?;
            }
        }
        drop(by_id);
        ids.finish().map_err(&failed)?;
        if are_rows {
            std::fs::remove_file(scratch.arrays().ids()).map_err(&failed)?;
        }
        let weights = self.weights.map(|file| {
            let mut file = file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
            file.rewind()?;
            Ok(BufReader::new(file))
        });
        Ok(NumberedEdges {
            rows: by_place.finish().map_err(&failed)?,
            weights: weights.transpose().map_err(&failed)?,
            num_nodes: num_nodes as usize,
        })
    }
}

impl NumberedEdges {
    /// The rows of the next edge, and its weight.
    pub(super) fn next(&mut self) -> std::io::Result<Option<([u64; 2], f32)>> {
        let (Some(source), Some(target)) = (self.rows.next()?, self.rows.next()?) else { return Ok(None) };
        let weight = match &mut self.weights {
            None => 1.0,
            Some(file) => {
                let mut bytes = [0; 4];
                file.read_exact(&mut bytes)?;
                f32::from_le_bytes(bytes)
            }
        };
        Ok(Some(([source.value, target.value], weight)))
    }
}
