//! Files that appear complete or not at all.
//!
//! A file is written under a temporary name in the folder it belongs to, stored on the disk,
//! and renamed. The system would begin to store a large file when asked to, after its last
//! byte; here it is asked every so often while the rest is still being computed, so that
//! little is left to wait for in the end.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread::{Scope, ScopedJoinHandle};

use super::FileError;

/// So many bytes are stored at a time; smaller files are stored at their end.
const STORE_BYTES: usize = 32 << 20;

/// Names of unfinished files and folders begin with this.
const UNFINISHED: &str = ".writing-";

/// What an unfinished file is written to.
pub type AtomicSink<'scope, 'env> = BufWriter<Unfinished<'scope, 'env>>;

/// A file that is stored while it is written.
pub struct Unfinished<'scope, 'env> {
    file: &'env File,
    /// Bytes written since storing began last.
    unstored: usize,
    scope: &'scope Scope<'scope, 'env>,
    storing: Option<ScopedJoinHandle<'scope, io::Result<()>>>,
}

impl Unfinished<'_, '_> {
    /// Waits for what is being stored. An error of the disk is told only once by the system,
    /// so it must not be dropped here.
    fn wait(&mut self) -> io::Result<()> {
        match self.storing.take() {
            None => Ok(()),
            Some(storing) => storing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        }
    }
}

impl Write for Unfinished<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.unstored += written;
        let idle = self.storing.as_ref().is_none_or(ScopedJoinHandle::is_finished);
        if self.unstored >= STORE_BYTES && idle {
            self.wait()?;
            let file = self.file;
            self.storing = Some(self.scope.spawn(|| file.sync_data()));
            self.unstored = 0;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Unfinished<'_, '_> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.file.seek(position)
    }
}

/// Writes a file that appears complete or not at all, making its folder if need be.
///
/// # Errors
/// [`FileError`] if the folder or file cannot be written; then no file appears.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut AtomicSink<'_, '_>) -> io::Result<()>,
) -> Result<(), FileError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(FileError::at("create", folder))?;
    let temporary = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempfile_in(folder)
        .map_err(FileError::at("write in", folder))?;
    fill(temporary.as_file(), write).map_err(FileError::at("write", path))?;
    temporary.persist(path).map_err(|error| FileError::at("write", path)(error.error))?;
    Ok(())
}

fn fill(file: &File, write: impl FnOnce(&mut AtomicSink<'_, '_>) -> io::Result<()>) -> io::Result<()> {
    std::thread::scope(|scope| {
        let unfinished = Unfinished { file, unstored: 0, scope, storing: None };
        let mut sink = BufWriter::with_capacity(1 << 20, unfinished);
        write(&mut sink)?;
        sink.into_inner().map_err(io::IntoInnerError::into_error)?.wait()
    })?;
    set_usual_permissions(file)?;
    file.sync_all()
}

/// Removes what interrupted writes have left in a folder. Nobody else may be writing there.
///
/// # Errors
/// [`FileError`] if something cannot be removed.
pub fn remove_unfinished(folder: &Path) -> Result<(), FileError> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(FileError::at("read", folder))? {
        let path = entry.map_err(FileError::at("read", folder))?.path();
        if !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(UNFINISHED)) {
            continue;
        }
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(FileError::at("remove", &path))?;
    }
    Ok(())
}

/// Temporary files are private; finished ones get the permissions of any other file.
#[cfg(unix)]
fn set_usual_permissions(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_usual_permissions(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/down/file.txt");
        let error = write_atomically(&path, |sink| {
            sink.write_all(b"half")?;
            Err(io::Error::other("out of luck"))
        });
        assert!(error.unwrap_err().to_string().ends_with("file.txt`: out of luck"));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn a_large_file_is_stored_on_the_way_and_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        let block: Vec<u8> = (0..=250).cycle().take(3 << 20).collect();
        let num_blocks = 3 * STORE_BYTES / block.len();
        write_atomically(&path, |sink| {
            sink.write_all(b"before ")?;
            (0..num_blocks).try_for_each(|_| sink.write_all(&block))?;
            assert!(sink.get_ref().storing.is_some());
            // As the header of an array whose length is known at its end.
            sink.rewind()?;
            sink.write_all(b"after: ")
        })
        .unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(&bytes[..7], b"after: ");
        assert_eq!(bytes.len(), 7 + num_blocks * block.len());
        assert!(bytes[7..].chunks_exact(block.len()).all(|chunk| chunk == block));
    }

    #[test]
    fn a_failure_while_a_large_file_is_stored_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_atomically(&folder.path().join("large"), |sink| {
            sink.write_all(&vec![1; STORE_BYTES + 1])?;
            Err(io::Error::other("out of luck"))
        });
        assert!(error.is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
