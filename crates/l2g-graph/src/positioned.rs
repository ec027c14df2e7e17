//! Reading and writing at a place of a file, from several threads.

use std::fs::File;
use std::io;

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
    use std::io::{Read, Seek, SeekFrom};
    let _held = POSITION.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(bytes)
}

/// A file has one position, so one thread at a time may move it.
#[cfg(not(unix))]
static POSITION: std::sync::Mutex<()> = std::sync::Mutex::new(());
