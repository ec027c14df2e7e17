//! Parquet tables of edges: `src`, `dst` and, if there are weights, `weight`.
//!
//! Ids are signed 64-bit integers, which every reader knows, or strings. Integer
//! columns store differences, packed to as few bits as they need: sources ascend.

use std::io::{self, Write};

use super::{GraphSink, Outline, invalid};
use crate::graph::edge_list::EdgeChunk;
use crate::graph::table::{ColumnData, ParquetWriter, WriterColumn};
use crate::graph::{NodeIds, StringTable};

/// A row group has about this many edges.
const GROUP_EDGES: usize = 1 << 20;

/// A table of edges in the making.
pub(super) struct ParquetSink<'a, W: Write + Send> {
    writer: ParquetWriter<W>,
    ids: &'a NodeIds,
    weighted: bool,
    /// Edges that wait until they fill a row group.
    waiting: EdgeChunk<u64>,
}

impl<'a, W: Write + Send> ParquetSink<'a, W> {
    pub(super) fn new(file: W, outline: &Outline<'a>) -> io::Result<Self> {
        let id = match outline.ids {
            NodeIds::Strings(_) => WriterColumn::Text,
            _ => WriterColumn::Integers,
        };
        let mut columns = vec![id("src"), id("dst")];
        if outline.weighted {
            columns.push(WriterColumn::Floats("weight"));
        }
        let writer = ParquetWriter::new(file, &columns)?;
        Ok(Self { writer, ids: outline.ids, weighted: outline.weighted, waiting: EdgeChunk::default() })
    }

    /// Writes the edges that wait.
    fn write_group(&mut self) -> io::Result<()> {
        let edges = std::mem::take(&mut self.waiting);
        let ends = |end: usize| edges.pairs.iter().map(move |pair| pair[end]);
        let mut group = Vec::new();
        let (integers, texts);
        match self.ids {
            NodeIds::Strings(names) => {
                texts = [text_column(names, ends(0)), text_column(names, ends(1))];
                group.extend(texts.iter().map(|texts| ColumnData::Text(texts)));
            }
            ids => {
                integers = [integer_column(ids, ends(0))?, integer_column(ids, ends(1))?];
                group.extend(integers.iter().map(|integers| ColumnData::Integers(integers)));
            }
        }
        if self.weighted {
            group.push(ColumnData::Floats(&edges.weights));
        }
        self.writer.write_group(&group)
    }
}

/// The names of nodes.
fn text_column(names: &StringTable, nodes: impl Iterator<Item = u64>) -> Vec<&str> {
    nodes.map(|node| names.get(node as usize)).collect()
}

/// The numbers that nodes are called by.
fn integer_column(ids: &NodeIds, nodes: impl Iterator<Item = u64>) -> io::Result<Vec<i64>> {
    let signed = |id| i64::try_from(id).map_err(|_| invalid(format!("node id {id} is above 2^63 - 1")));
    match ids {
        NodeIds::Integers(ids) => nodes.map(|node| signed(ids[node as usize])).collect(),
        _ => nodes.map(signed).collect(),
    }
}

impl<W: Write + Send> GraphSink for ParquetSink<'_, W> {
    fn push_edges(&mut self, edges: &EdgeChunk<u64>) -> io::Result<()> {
        self.waiting.pairs.extend_from_slice(&edges.pairs);
        self.waiting.weights.extend_from_slice(&edges.weights);
        match self.waiting.pairs.len() >= GROUP_EDGES {
            true => self.write_group(),
            false => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if !self.waiting.pairs.is_empty() {
            self.write_group()?;
        }
        self.writer.close()
    }
}
