//! Edge lists as text: a line per edge, `source target [weight]`.
//!
//! A name is put in quotes, as in CSV, where it could be taken for something else; a
//! name with a line break cannot be written. Lines are formatted on all threads and
//! written in order.

use std::io::{self, Write};

use rayon::prelude::*;

use super::packed::{Packed, Packing};
use super::{GraphSink, Outline, OutputFormat, invalid};
use crate::graph::edge_list::EdgeChunk;
use crate::graph::{NodeId, NodeIds};

/// Edges that one thread formats at a time.
const PIECE: usize = 1 << 14;

/// An edge list in the making.
pub(super) struct TextSink<'a, W: Write> {
    file: Packed<W>,
    ids: &'a NodeIds,
    separator: u8,
}

impl<'a, W: Write> TextSink<'a, W> {
    pub(super) fn new(
        file: W,
        packing: Packing,
        format: OutputFormat,
        outline: &Outline<'a>,
    ) -> io::Result<Self> {
        check_names(outline.ids)?;
        let separator = if format == OutputFormat::Csv { b',' } else { b'\t' };
        let mut sink = Self { file: Packed::new(file, packing)?, ids: outline.ids, separator };
        let header = match (format, outline.weighted) {
            (OutputFormat::EdgeList, _) => format!("# nodes: {}\n", outline.num_nodes()),
            (OutputFormat::Csv, false) => "src,dst\n".to_owned(),
            (OutputFormat::Csv, true) => "src,dst,weight\n".to_owned(),
            (_, false) => "src\tdst\n".to_owned(),
            (_, true) => "src\tdst\tweight\n".to_owned(),
        };
        sink.file.write_all(header.as_bytes())?;
        Ok(sink)
    }
}

impl<W: Write + Send> GraphSink for TextSink<'_, W> {
    fn push_edges(&mut self, edges: &EdgeChunk<u64>) -> io::Result<()> {
        let (ids, separator) = (self.ids, self.separator);
        let pieces = edges.pairs.par_chunks(PIECE).enumerate().map(|(index, pairs)| {
            let weights = edges.weights.get(index * PIECE..).unwrap_or_default();
            lines(pairs, weights, ids, separator)
        });
        let blocks: Vec<Vec<u8>> = pieces.collect();
        blocks.iter().try_for_each(|block| self.file.write_all(block))
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.file.finish()
    }
}

/// Some edges as lines.
fn lines(pairs: &[[u64; 2]], weights: &[f32], ids: &NodeIds, separator: u8) -> Vec<u8> {
    let mut lines = Vec::with_capacity(20 * pairs.len());
    for (index, &[source, target]) in pairs.iter().enumerate() {
        push_name(&mut lines, ids, NodeId(source), separator);
        lines.push(separator);
        push_name(&mut lines, ids, NodeId(target), separator);
        if let Some(weight) = weights.get(index) {
            lines.push(separator);
            lines.extend_from_slice(weight.to_string().as_bytes());
        }
        lines.push(b'\n');
    }
    lines
}

/// Refuses names that would break a line.
pub(super) fn check_names(ids: &NodeIds) -> io::Result<()> {
    let NodeIds::Strings(names) = ids else { return Ok(()) };
    match names.iter().find(|name| name.contains(['\n', '\r'])) {
        Some(name) => Err(invalid(format!("node name {name:?} has a line break, which text cannot hold"))),
        None => Ok(()),
    }
}

/// Appends the name of a node, in quotes where it is not plain.
pub fn push_name(line: &mut Vec<u8>, ids: &NodeIds, node: NodeId, separator: u8) {
    let integer = match ids {
        NodeIds::Range(_) => node.0,
        NodeIds::Integers(ids) => ids[node.index()],
        NodeIds::Strings(names) => return push_field(line, names.get(node.index()), separator),
    };
    line.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes());
}

/// Appends text, in quotes where it is not plain.
pub fn push_field(line: &mut Vec<u8>, field: &str, separator: u8) {
    let is_special = |byte: u8| byte == separator || matches!(byte, b'"' | b'#' | b'%' | b'\n' | b'\r');
    let is_plain = !field.is_empty() && field.trim().len() == field.len() && !field.bytes().any(is_special);
    match is_plain {
        true => line.extend_from_slice(field.as_bytes()),
        false => line.extend_from_slice(format!("\"{}\"", field.replace('"', "\"\"")).as_bytes()),
    }
}
