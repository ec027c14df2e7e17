//! Text in blocks of whole lines, parsed on all threads.
//!
//! While one batch of blocks is parsed, the next is read and unpacked, so a `.gz` file takes as
//! long as its unpacking. Memory beyond the result is a few blocks.
//!
//! Lines end with `\n` or `\r\n`, or, where there is no `\n` in sight, with `\r` alone.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::error::{Place, Problem, ReadError};
use super::source::{Reading, Source, read_problem};
use crate::progress::Progress;

/// Bytes of a block; no line may be longer.
const BLOCK_BYTES: usize = 1 << 20;

/// Whether lines end with `\r` alone is told by this many bytes.
const ENDING_BYTES: usize = 1 << 16;

/// The line of a block, counted from 0, and what is wrong with it.
pub(crate) type LineProblem = (u64, Problem);

/// Whole lines of a file.
#[derive(Debug)]
pub(crate) struct Block {
    /// The number of the first line, counted from 0.
    pub(crate) first_line: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Block {
    /// All lines without their ends, with their numbers in the block.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let whole = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        (0_u64..).zip(whole.split(|&byte| byte == b'\n'))
    }
}

/// Cuts a stream into blocks of whole lines.
pub(crate) struct LineBlocks {
    name: PathBuf,
    source: Box<dyn Read + Send>,
    block_bytes: usize,
    /// A block that was put back.
    held: Option<Block>,
    /// The beginning of a line whose end has not been read yet.
    carry: Vec<u8>,
    next_line: u64,
    ended: bool,
    reading: Option<Reading>,
}

impl LineBlocks {
    /// The lines of a source, without its byte order mark.
    pub(crate) fn new(mut source: Source) -> Result<Self, ReadError> {
        let name = source.name().to_owned();
        let reading = source.reading();
        let start = source.peek(ENDING_BYTES)?;
        let has = |byte| memchr::memchr(byte, start).is_some();
        let returns_only = has(b'\r') && !has(b'\n');
        let mark = if start.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut reader = source.into_reader();
        let skipped = io::copy(&mut (&mut reader).take(mark), &mut io::sink());
        skipped.map_err(|error| read_problem(error).in_file(&name))?;
        let reader: Box<dyn Read + Send> = match returns_only {
            true => Box::new(ReturnsAsBreaks(reader)),
            false => reader,
        };
        Ok(Self { reading, ..Self::of_reader(name, reader, BLOCK_BYTES) })
    }

    /// Blocks of about `block_bytes` bytes.
    pub(crate) fn of_reader(name: PathBuf, source: Box<dyn Read + Send>, block_bytes: usize) -> Self {
        let (held, carry, reading) = (None, Vec::new(), None);
        Self { name, source, block_bytes, held, carry, next_line: 0, ended: false, reading }
    }

    /// What messages call the source.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Puts a block back, which comes next again.
    pub(crate) fn put_back(&mut self, block: Block) {
        self.held = Some(block);
    }

    /// The next block; it ends with a line break, unless the file does not.
    pub(crate) fn next_block(&mut self) -> Result<Option<Block>, ReadError> {
        if let Some(block) = self.held.take() {
            return Ok(Some(block));
        }
        let next_line = self.next_line;
        let bytes = self.next_bytes().map_err(|problem| at_line(&self.name, next_line, problem))?;
        Ok(bytes.map(|bytes| {
            self.next_line += memchr::memchr_iter(b'\n', &bytes).count() as u64;
            Block { first_line: next_line, bytes }
        }))
    }

    /// The first block that holds lines for which `is_comment` is false: two of them at least, if
    /// there are two. Comments before them may be left out.
    pub(crate) fn first_data(&mut self, is_comment: fn(&[u8]) -> bool) -> Result<Option<Block>, ReadError> {
        let mut first: Option<Block> = None;
        while let Some(next) = self.next_block()? {
            let block = match first.take() {
                None => next,
                Some(Block { first_line, mut bytes }) => {
                    bytes.extend(next.bytes);
                    Block { first_line, bytes }
                }
            };
            match block.lines().filter(|(_, line)| !is_comment(line)).take(2).count() {
                0 => {}
                1 => first = Some(block),
                _ => return Ok(Some(block)),
            }
        }
        Ok(first)
    }

    fn next_bytes(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        loop {
            if self.ended && self.carry.is_empty() {
                return Ok(None);
            }
            let mut bytes = std::mem::take(&mut self.carry);
            let wanted = self.block_bytes.saturating_sub(bytes.len()).max(1) as u64;
            if !self.ended {
                let found = (&mut self.source).take(wanted).read_to_end(&mut bytes).map_err(read_problem)?;
                self.ended = (found as u64) < wanted;
            }
            if self.ended {
                return Ok(Some(bytes).filter(|bytes| !bytes.is_empty()));
            }
            match memchr::memrchr(b'\n', &bytes) {
                Some(last_break) => {
                    self.carry = bytes.split_off(last_break + 1);
                    return Ok(Some(bytes));
                }
                None if bytes.len() >= self.block_bytes => {
                    return Err(Problem::LongLine { limit: self.block_bytes });
                }
                None => self.carry = bytes,
            }
        }
    }
}

/// Parses all blocks in batches, and hands the results over in order, each with the share of the file
/// that has been read by then, if that is known. One batch is parsed while the one after it is read and
/// the one before it is taken.
///
/// # Errors
/// The first bad line of the file.
pub(crate) fn for_each_block<T: Send>(
    mut blocks: LineBlocks,
    progress: &dyn Progress,
    parse: impl Fn(&Block) -> Result<T, LineProblem> + Sync,
    mut take: impl FnMut(T, Option<f64>) -> Result<(), ReadError> + Send,
) -> Result<(), ReadError> {
    let name = blocks.name().to_owned();
    let reading = blocks.reading.clone();
    let mut batch = Batch::read(&mut blocks);
    let mut ready: Vec<(T, Option<f64>)> = Vec::new();
    let (mut read, mut parsed_bytes) = (batch.num_bytes(), 0_u64);
    while !batch.blocks.is_empty() || batch.broken.is_some() || !ready.is_empty() {
        if progress.is_cancelled() {
            return Err(Problem::Cancelled.in_file(&name));
        }
        let ((parsed, following), taken) = rayon::join(
            || {
                rayon::join(
                    || batch.blocks.par_iter().map(&parse).collect::<Vec<_>>(),
                    || if batch.broken.is_some() { Batch::default() } else { Batch::read(&mut blocks) },
                )
            },
            || ready.drain(..).try_for_each(|(piece, share)| take(piece, share)),
        );
        taken?;
        read += following.num_bytes();
        for (block, parsed) in batch.blocks.iter().zip(parsed) {
            let piece = parsed.map_err(|(line, problem)| at_line(&name, block.first_line + line, problem))?;
            parsed_bytes += block.bytes.len() as u64;
            // The file has been read further than blocks have been parsed.
            let share = |reading: &Reading| reading.share() * parsed_bytes as f64 / read as f64;
            ready.push((piece, reading.as_ref().map(share)));
        }
        // A line that cannot be read is reported after the lines before it.
        if let Some(error) = batch.broken {
            return Err(error);
        }
        progress.advance(batch.num_bytes());
        batch = following;
    }
    Ok(())
}

/// Blocks to parse together, and why there are not more of them.
#[derive(Default)]
struct Batch {
    blocks: Vec<Block>,
    broken: Option<ReadError>,
}

impl Batch {
    fn num_bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.bytes.len() as u64).sum()
    }

    fn read(source: &mut LineBlocks) -> Self {
        let len = 4 * rayon::current_num_threads();
        let mut blocks = Vec::with_capacity(len);
        while blocks.len() < len {
            match source.next_block() {
                Ok(Some(block)) => blocks.push(block),
                Ok(None) => break,
                Err(error) => return Self { blocks, broken: Some(error) },
            }
        }
        Self { blocks, broken: None }
    }
}

/// A problem in a line that is counted from 0.
pub(crate) fn at_line(name: &Path, line: u64, problem: Problem) -> ReadError {
    problem.at(name, Place::Line(line + 1))
}

/// Turns every `\r` into `\n`.
struct ReturnsAsBreaks(Box<dyn Read + Send>);

impl Read for ReturnsAsBreaks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let found = self.0.read(buffer)?;
        buffer[..found].iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_blocks(text: &str, block_bytes: usize) -> LineBlocks {
        let source = Box::new(io::Cursor::new(text.as_bytes().to_vec()));
        LineBlocks::of_reader("a.txt".into(), source, block_bytes)
    }

    fn blocks(text: &str, block_bytes: usize) -> Result<Vec<String>, ReadError> {
        let mut blocks = line_blocks(text, block_bytes);
        let mut found = Vec::new();
        while let Some(block) = blocks.next_block()? {
            found.push(String::from_utf8(block.bytes).unwrap());
        }
        Ok(found)
    }

    #[test]
    fn blocks_end_with_lines_and_join_to_the_whole() {
        let text = "1 2\n3 4\n55 66\n7 8";
        for size in 6..30 {
            let found = blocks(text, size).unwrap();
            assert_eq!(found.concat(), text);
            assert!(found[..found.len() - 1].iter().all(|block| block.ends_with('\n')), "size {size}");
        }
    }

    #[test]
    fn a_line_longer_than_a_block_is_refused_by_its_number() {
        let error = blocks("a\nb\naaaaaaaaaaaaaaaaaaaa\n", 8).unwrap_err();
        assert_eq!(error.to_string(), "a.txt:3: line is longer than 8 bytes");
    }

    #[test]
    fn an_empty_stream_has_no_blocks() {
        assert!(blocks("", 8).unwrap().is_empty());
    }

    #[test]
    fn data_are_found_behind_any_number_of_comments() {
        let text = format!("{}\n1 2\n{}3 4\n", "# comment\n".repeat(50), "# more\n".repeat(20));
        let mut blocks = line_blocks(&text, 16);
        let is_comment = |line: &[u8]| line.is_empty() || line.starts_with(b"#");
        let block = blocks.first_data(is_comment).unwrap().unwrap();
        let lines = block.lines().filter(|(_, line)| !is_comment(line));
        let numbers: Vec<u64> = lines.map(|(line, _)| block.first_line + line).collect();
        assert_eq!(numbers, [51, 72]);
    }
}
