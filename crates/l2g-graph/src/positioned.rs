//! Reading and writing at a place of a file, from several threads.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

/// A reader of a file with a place of its own: clones of a `File` share theirs.
#[derive(Debug)]
pub(crate) struct ReaderAt {
    pub(crate) file: Arc<File>,
    pub(crate) place: u64,
}

impl Read for ReaderAt {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let len = read_at(&self.file, bytes, self.place)?;
        self.place += len as u64;
        Ok(len)
    }
}

/// Reads some bytes from a place of a file.
#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, start)
}

/// Reads some bytes from a place of a file.
#[cfg(not(unix))]
fn read_at(mut file: &File, bytes: &mut [u8], start: u64) -> io::Result<usize> {
    use std::io::{Seek, SeekFrom};
    let _held = POSITION.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    file.seek(SeekFrom::Start(start))?;
    file.read(bytes)
}

/// Writes bytes at a place of a file.
#[cfg(unix)]
pub(crate) fn write_all_at(file: &File, bytes: &[u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, start)
}

/// Writes bytes at a place of a file.
#[cfg(not(unix))]
pub(crate) fn write_all_at(mut file: &File, bytes: &[u8], start: u64) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    let _held = POSITION.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    file.seek(SeekFrom::Start(start))?;
    file.write_all(bytes)
}

/// Reads bytes from a place of a file.
#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, start)
}

/// Reads bytes from a place of a file.
#[cfg(not(unix))]
pub(crate) fn read_exact_at(mut file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    use std::io::{Seek, SeekFrom};
    let _held = POSITION.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(bytes)
}

/// A file has one position, so one thread at a time may move it.
#[cfg(not(unix))]
static POSITION: std::sync::Mutex<()> = std::sync::Mutex::new(());
