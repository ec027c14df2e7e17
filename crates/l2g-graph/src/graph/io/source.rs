//! Inputs, opened once: files, pipes and standard input, unpacked if need be.
//!
//! What has been read from a pipe is gone. So an input is opened in [`Source::open`] alone, the bytes
//! that were looked at to tell its format are kept, and readers are handed the open source, never a
//! path.

use std::fs::File;
use std::io::{self, BufReader, Cursor, IsTerminal, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::{Problem, ReadError};
use crate::npy::NpyError;

/// What users call standard input.
const STANDARD_INPUT: &str = "-";

/// Whether a path means standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path == Path::new(STANDARD_INPUT)
}

/// Whether a path leads to something that can be read only once, such as a pipe.
pub fn is_stream(path: &Path) -> bool {
    is_standard_input(path) || path.metadata().is_ok_and(|data| !data.is_file() && !data.is_dir())
}

/// How an input is packed, told by its first bytes, not by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
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

/// An open input, unpacked, whose first bytes may have been looked at.
pub(crate) struct Source {
    name: PathBuf,
    /// Bytes that were looked at, and come before `rest`.
    peeked: Vec<u8>,
    rest: Box<dyn Read + Send>,
    /// The file, if it is one that can be read from its beginning again, and not packed.
    plain_file: Option<File>,
    is_stream: bool,
    /// How far the file has been read, if it is one, and its bytes; packed ones are counted packed.
    reading: Option<Reading>,
    /// Where temporary copies go, if not where the system has them.
    room: Option<PathBuf>,
}

/// Opens a file, a pipe, or standard input (`-`), to be read once from its first byte; unpacked where it is
/// packed.
///
/// # Errors
/// [`ReadError`] if there is nothing to read, or it cannot be unpacked.
pub fn open_stream(path: &Path) -> Result<Box<dyn Read + Send>, ReadError> {
    Ok(Source::open(path)?.into_reader())
}

impl Source {
    /// Opens a file, a pipe, or standard input (`-`).
    pub(crate) fn open(path: &Path) -> Result<Self, ReadError> {
        let is_stdin = is_standard_input(path);
        let name = if is_stdin { Path::new("standard input") } else { path };
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => Problem::Missing.in_file(name),
            _ => Problem::Io(error).in_file(name),
        };
        let mut file = if is_stdin { standard_input() } else { File::open(path) }.map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(Problem::Folder.in_file(name));
        }
        if file.is_terminal() {
            return Err(Problem::Terminal.in_file(name));
        }
        let rewinds = metadata.is_file() && file.stream_position().is_ok_and(|position| position == 0);
        let mut start = Vec::new();
        (&mut file).take(4).read_to_end(&mut start).map_err(failed)?;
        if start.is_empty() && !metadata.is_file() {
            return Err(Problem::EmptyStream.in_file(name));
        }
        let packing = Packing::of(&start);
        let plain_file = match rewinds && packing == Packing::Plain {
            true => Some(file.try_clone().map_err(failed)?),
            false => None,
        };
        let reading = metadata.is_file().then(|| Reading { read: Arc::default(), num_bytes: metadata.len() });
        let read = reading.as_ref().map_or_else(Arc::default, |reading| Arc::clone(&reading.read));
        let raw = Cursor::new(start).chain(Counted { file, read });
        let raw = BufReader::with_capacity(1 << 18, raw);
        let rest: Box<dyn Read + Send> = match packing {
            Packing::Plain => Box::new(raw),
            Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(raw)),
            Packing::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(raw).map_err(failed)?),
        };
        let is_stream = !metadata.is_file();
        Ok(Self {
            name: name.to_owned(),
            peeked: Vec::new(),
            rest,
            plain_file,
            is_stream,
            reading,
            room: None,
        })
    }

    /// How far the file has been read, if it is one.
    pub(crate) fn reading(&self) -> Option<Reading> {
        self.reading.clone()
    }

    /// Puts temporary copies into a folder, if it is there.
    pub(crate) fn with_room(self, folder: &Path) -> Self {
        Self { room: folder.is_dir().then(|| folder.to_owned()), ..self }
    }

    /// Where temporary copies go, if not where the system has them.
    pub(crate) fn room(&self) -> Option<&Path> {
        self.room.as_deref()
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Whether it is a pipe or the like, whose name tells nothing.
    pub(crate) fn is_stream(&self) -> bool {
        self.is_stream
    }

    /// The number of bytes to read, if that is known.
    pub(crate) fn num_bytes(&self) -> Option<u64> {
        Some(self.plain_file.as_ref()?.metadata().ok()?.len())
    }

    /// The first bytes: `len`, or fewer if the source is shorter. They are read again later.
    pub(crate) fn peek(&mut self, len: usize) -> Result<&[u8], ReadError> {
        let missing = len.saturating_sub(self.peeked.len()) as u64;
        let read = (&mut self.rest).take(missing).read_to_end(&mut self.peeked);
        read.map_err(|error| read_problem(error).in_file(&self.name))?;
        Ok(&self.peeked[..len.min(self.peeked.len())])
    }

    /// All bytes, from the first.
    pub(crate) fn into_reader(self) -> Box<dyn Read + Send> {
        match self.peeked.is_empty() {
            true => self.rest,
            false => Box::new(Cursor::new(self.peeked).chain(self.rest)),
        }
    }

    /// A file in which one can seek: the file itself, or a temporary copy of at most `limit` bytes
    /// of what comes out of a pipe or is unpacked.
    pub(crate) fn into_file(self, limit: u64) -> Result<File, ReadError> {
        let name = self.name.clone();
        let failed = |error: io::Error| Problem::Io(error).in_file(&name);
        if let Some(mut file) = self.plain_file {
            file.rewind().map_err(failed)?;
            return Ok(file);
        }
        let mut file = temporary_file(self.room()).map_err(failed)?;
        let mut source = self.into_reader();
        let mut block = vec![0; 1 << 18];
        let mut bytes = 0_u64;
        loop {
            let found = match source.read(&mut block) {
                Ok(0) => break,
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(read_problem(error).in_file(&name)),
            };
            bytes += found as u64;
            if bytes > limit {
                return Err(Problem::TooLarge { bytes, limit }.in_file(&name));
            }
            file.write_all(&block[..found]).map_err(failed)?;
        }
        file.rewind().map_err(failed)?;
        Ok(file)
    }
}

/// How far a file has been read.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    read: Arc<AtomicU64>,
    num_bytes: u64,
}

impl Reading {
    /// The share of the file that has been read.
    pub(crate) fn share(&self) -> f64 {
        self.read.load(Ordering::Relaxed) as f64 / self.num_bytes.max(1) as f64
    }
}

/// A file that counts what is read.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let found = self.file.read(buffer)?;
        self.read.fetch_add(found as u64, Ordering::Relaxed);
        Ok(found)
    }
}

/// A file without a name in a folder, or where the system has such files.
pub(crate) fn temporary_file(room: Option<&Path>) -> io::Result<File> {
    room.map_or_else(tempfile::tempfile, tempfile::tempfile_in)
}

/// Standard input as a file, so that one can seek in it where it is one.
#[cfg(unix)]
fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Standard input as a file, so that one can seek in it where it is one.
#[cfg(windows)]
fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
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

/// What an error of an array means for the user.
pub(crate) fn array_problem(error: NpyError) -> Problem {
    match error {
        NpyError::Io(error) => read_problem(error),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    #[test]
    fn what_was_looked_at_is_read_again() {
        let packed = zstd::encode_all(&b"0 1\n1 2\n"[..], 3).unwrap();
        for bytes in [&b"0 1\n1 2\n"[..], &packed] {
            let (_folder, path) = written(bytes);
            let mut source = Source::open(&path).unwrap();
            assert_eq!(source.peek(3).unwrap(), b"0 1");
            assert_eq!(source.peek(5).unwrap(), b"0 1\n1");
            assert_eq!(source.peek(2).unwrap(), b"0 ");
            assert_eq!(source.peek(100).unwrap(), b"0 1\n1 2\n");
            let mut text = String::new();
            source.into_reader().read_to_string(&mut text).unwrap();
            assert_eq!(text, "0 1\n1 2\n");
        }
    }

    #[test]
    fn a_packed_source_becomes_a_file_within_the_limit() {
        let packed = zstd::encode_all(&vec![7; 1 << 20][..], 3).unwrap();
        let (_folder, path) = written(&packed);
        let mut source = Source::open(&path).unwrap();
        source.peek(10).unwrap();
        assert_eq!(source.into_file(1 << 20).unwrap().metadata().unwrap().len(), 1 << 20);
        let error = Source::open(&path).unwrap().into_file(1 << 19).unwrap_err();
        assert!(matches!(*error.problem, Problem::TooLarge { .. }), "{error}");
    }
}
