//! Files as streams of bytes, unpacked if need be.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::error::{Problem, ReadError};

/// How a file is packed, told by its first bytes, not by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
}

/// Opens a file, with a clear word where it is missing or a folder.
pub(crate) fn open_file(path: &Path) -> Result<File, ReadError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Problem::Missing.in_file(path),
        _ => Problem::Io(error).in_file(path),
    };
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(Problem::Folder.in_file(path));
    }
    Ok(file)
}

impl Packing {
    fn of(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            _ => Self::Plain,
        }
    }
}

/// Opens a file and unpacks gzip or Zstandard on the way.
pub(crate) fn open_unpacked(path: &Path) -> Result<Box<dyn Read + Send>, ReadError> {
    let failed = |error: io::Error| Problem::Io(error).in_file(path);
    let mut file = BufReader::with_capacity(1 << 18, open_file(path)?);
    Ok(match Packing::of(file.fill_buf().map_err(failed)?) {
        Packing::Plain => Box::new(file),
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        Packing::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(file).map_err(failed)?),
    })
}

/// Whether a file will be unpacked, so that its length says little about its contents.
pub(crate) fn is_packed(path: &Path) -> Result<bool, ReadError> {
    let mut start = Vec::new();
    let read = open_file(path)?.take(4).read_to_end(&mut start);
    read.map_err(|error| Problem::Io(error).in_file(path))?;
    Ok(Packing::of(&start) != Packing::Plain)
}

/// The first bytes of a file after unpacking, at most `len`.
pub(crate) fn first_bytes(path: &Path, len: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    open_unpacked(path)?
        .take(len)
        .read_to_end(&mut bytes)
        .map_err(|error| read_problem(error).in_file(path))?;
    Ok(bytes)
}

/// What an error of a decompressor or of the system means for the user.
pub(crate) fn read_problem(error: io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            Problem::Damaged(error.to_string())
        }
        // Zstandard reports damage without a kind of its own.
        io::ErrorKind::Other => Problem::Damaged(error.to_string()),
        _ => Problem::Io(error),
    }
}

/// Cuts a stream into blocks of whole lines.
pub(crate) struct LineBlocks {
    source: Box<dyn Read + Send>,
    block_bytes: usize,
    /// The beginning of a line whose end has not been read yet.
    carry: Vec<u8>,
    ended: bool,
}

impl LineBlocks {
    /// Blocks of about `block_bytes` bytes; `start` is put before the stream.
    pub(crate) fn new(source: Box<dyn Read + Send>, start: Vec<u8>, block_bytes: usize) -> Self {
        Self { source, block_bytes, carry: start, ended: false }
    }

    /// The next block; it ends with a line break, unless the file does not.
    pub(crate) fn next_block(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        if self.ended && self.carry.is_empty() {
            return Ok(None);
        }
        let mut block = std::mem::take(&mut self.carry);
        let wanted = self.block_bytes.saturating_sub(block.len()).max(1) as u64;
        if !self.ended {
            let found = (&mut self.source).take(wanted).read_to_end(&mut block).map_err(read_problem)?;
            self.ended = (found as u64) < wanted;
        }
        if self.ended {
            return Ok(Some(block).filter(|block| !block.is_empty()));
        }
        match memchr::memrchr(b'\n', &block) {
            Some(last_break) => {
                self.carry = block.split_off(last_break + 1);
                Ok(Some(block))
            }
            None if block.len() >= self.block_bytes => Err(Problem::LongLine { limit: self.block_bytes }),
            None => {
                self.carry = block;
                self.next_block()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &str, block_bytes: usize) -> Result<Vec<String>, Problem> {
        let source = Box::new(io::Cursor::new(text.as_bytes().to_vec()));
        let mut blocks = LineBlocks::new(source, Vec::new(), block_bytes);
        let mut found = Vec::new();
        while let Some(block) = blocks.next_block()? {
            found.push(String::from_utf8(block).unwrap());
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
    fn a_line_longer_than_a_block_is_refused() {
        assert!(matches!(blocks("aaaaaaaaaaaaaaaaaaaa\n", 8), Err(Problem::LongLine { limit: 8 })));
    }

    #[test]
    fn an_empty_stream_has_no_blocks() {
        assert!(blocks("", 8).unwrap().is_empty());
    }
}
