//! Edge lists as text: one edge a line, with any of the usual separators.
//!
//! The file is read in blocks of whole lines. While one batch of blocks is parsed, on
//! all threads, the next is read and unpacked, so a `.gz` file takes as long as its
//! unpacking. Memory beyond the edges is a few blocks.

pub(crate) mod fields;

pub(crate) mod layout;

pub(crate) mod parse;

use std::path::Path;

use rayon::prelude::*;

use super::error::{Place, Problem, ReadError};
use super::raw::{RawEdges, RawEdgesBuilder};
use super::source::{LineBlocks, first_bytes, open_unpacked};
use crate::progress::Progress;
use layout::{Layout, LayoutOptions, detect};
use parse::{ParsedBlock, parse_block};

/// Bytes of a block; no line may be longer.
const BLOCK_BYTES: usize = 1 << 20;

/// The layout is found out from this many bytes.
const SAMPLE_BYTES: u64 = 1 << 18;

/// Reads an edge list.
pub(crate) fn read_edge_list(
    path: &Path,
    options: LayoutOptions,
    progress: &dyn Progress,
) -> Result<RawEdges, ReadError> {
    let mut sample = first_bytes(path, SAMPLE_BYTES)?;
    let sample_is_whole = (sample.len() as u64) < SAMPLE_BYTES;
    if !sample_is_whole {
        // The last line is probably cut.
        let end = memchr::memrchr(b'\n', &sample).map_or(0, |last_break| last_break + 1);
        sample.truncate(end);
    }
    let start = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&sample);
    if memchr::memchr(0, start).is_some() {
        return Err(Problem::NotText.in_file(path));
    }
    let layout = detect(start, options).map_err(|(line, problem)| {
        problem.at(path, line.map_or(Place::File, |line| Place::Line(line + 1)))
    })?;
    let mut builder = RawEdgesBuilder::default();
    for_each_block(path, Start::default(), &layout, progress, |parsed| {
        builder.push(parsed.pairs, parsed.weights);
    })?;
    let edges = builder.finish();
    match edges.len() {
        0 => Err(Problem::NoEdges.in_file(path)),
        _ => Ok(edges),
    }
}

/// Where the edges of a file begin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Start {
    /// Bytes to skip.
    pub(crate) bytes: usize,
    /// Lines those bytes hold.
    pub(crate) lines: u64,
}

/// Parses a file in batches of blocks, and hands the blocks over in order.
pub(crate) fn for_each_block(
    path: &Path,
    start: Start,
    layout: &Layout,
    progress: &dyn Progress,
    mut take: impl FnMut(ParsedBlock),
) -> Result<(), ReadError> {
    let mut source = open_unpacked(path)?;
    let mut beginning = vec![0; start.bytes.max(3)];
    let found = read_up_to(&mut source, &mut beginning).map_err(|problem| problem.in_file(path))?;
    beginning.truncate(found);
    let skipped = match start.bytes {
        0 if beginning.starts_with(b"\xef\xbb\xbf") => 3,
        bytes => bytes.min(found),
    };
    let mut blocks = LineBlocks::new(source, beginning.split_off(skipped), BLOCK_BYTES);
    let batch_len = 4 * rayon::current_num_threads();
    let mut next_line = start.lines;
    let at_line = |line: u64, problem: Problem| problem.at(path, Place::Line(line + 1));

    let mut batch = read_batch(&mut blocks, batch_len);
    loop {
        // A line that cannot be read is reported after the lines before it.
        let (current, broken) = batch;
        if current.is_empty() && broken.is_none() {
            return Ok(());
        }
        if progress.is_cancelled() {
            return Err(Problem::Cancelled.in_file(path));
        }
        let first_lines: Vec<u64> = current
            .iter()
            .map(|block| {
                let first = next_line;
                next_line += memchr::memchr_iter(b'\n', block).count() as u64;
                first
            })
            .collect();
        let parse = || -> Vec<_> {
            let numbered = current.par_iter().zip(&first_lines);
            numbered.map(|(block, &first_line)| parse_block(block, first_line, layout)).collect()
        };
        let (parsed, following) = rayon::join(parse, || match broken.is_some() {
            true => (Vec::new(), None),
            false => read_batch(&mut blocks, batch_len),
        });
        for (block, first_line) in parsed.into_iter().zip(first_lines) {
            take(block.map_err(|(line, problem)| at_line(first_line + line, problem))?);
        }
        if let Some(problem) = broken {
            return Err(at_line(next_line, problem));
        }
        progress.advance(current.iter().map(|block| block.len() as u64).sum());
        batch = following;
    }
}

/// Up to `len` blocks, and the problem that ended them early.
fn read_batch(blocks: &mut LineBlocks, len: usize) -> (Vec<Vec<u8>>, Option<Problem>) {
    let mut batch = Vec::with_capacity(len);
    while batch.len() < len {
        match blocks.next_block() {
            Ok(Some(block)) => batch.push(block),
            Ok(None) => break,
            Err(problem) => return (batch, Some(problem)),
        }
    }
    (batch, None)
}

fn read_up_to(source: &mut dyn std::io::Read, buffer: &mut [u8]) -> Result<usize, Problem> {
    use std::io::Read;
    let mut bytes = Vec::new();
    source.take(buffer.len() as u64).read_to_end(&mut bytes).map_err(super::source::read_problem)?;
    buffer[..bytes.len()].copy_from_slice(&bytes);
    Ok(bytes.len())
}
