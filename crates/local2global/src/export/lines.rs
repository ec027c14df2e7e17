//! Lines of text, one per node: formatted on all threads, written in order.

use std::io::{self, Write};
use std::path::Path;

use rayon::prelude::*;

use super::Vectors;
use crate::graph::NodeId;
use crate::progress::Progress;
use crate::run_dir::{FileError, write_atomically};
use crate::write::{Packed, Packing};

/// Lines that one thread formats at a time.
const PIECE: usize = 256;

/// Pieces that are held in memory at a time.
const PIECES_AT_ONCE: usize = 32;

/// Writes a first line, if it is not empty, and then a line for each node; packed if the
/// name ends in `.gz` or `.zst`.
pub(super) fn write_lines(
    path: &Path,
    header: &str,
    num_nodes: usize,
    progress: &dyn Progress,
    push_line: impl Fn(&mut Vec<u8>, NodeId) + Sync,
) -> Result<(), FileError> {
    let piece = |first: &usize| {
        let mut lines = Vec::new();
        for row in *first..(first + PIECE).min(num_nodes) {
            push_line(&mut lines, NodeId::new(row));
            lines.push(b'\n');
        }
        lines
    };
    let firsts: Vec<usize> = (0..num_nodes).step_by(PIECE).collect();
    write_atomically(path, |file| {
        let mut packed = Packed::new(file, Packing::of_name(path))?;
        packed.write_all(header.as_bytes())?;
        for wave in firsts.chunks(PIECES_AT_ONCE) {
            let blocks: Vec<Vec<u8>> = wave.par_iter().map(piece).collect();
            blocks.iter().try_for_each(|block| packed.write_all(block))?;
            advance(progress, (PIECE * wave.len()).min(num_nodes - wave[0]))?;
        }
        packed.finish()
    })
}

/// Tells that so many nodes are done, and stops if somebody asked for it.
pub(super) fn advance(progress: &dyn Progress, nodes: usize) -> io::Result<()> {
    progress.advance(nodes as u64);
    match progress.is_cancelled() {
        true => Err(io::Error::other("cancelled")),
        false => Ok(()),
    }
}

/// Appends the coordinates of a node, in the shortest form that reads back the same.
pub(super) fn push_row(line: &mut Vec<u8>, vectors: &Vectors<'_>, node: NodeId, separator: u8) {
    for (column, value) in vectors.row(node).iter().enumerate() {
        if column > 0 {
            line.push(separator);
        }
        push_number(line, *value);
    }
}

/// Appends a number, in the shortest form that reads back the same.
pub(super) fn push_number(line: &mut Vec<u8>, value: f32) {
    write!(line, "{value:?}").expect("memory takes every number");
}
