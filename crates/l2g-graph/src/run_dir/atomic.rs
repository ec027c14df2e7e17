//! Files that appear complete or not at all.
//!
//! A file is written under a temporary name in the folder it belongs to, fsynced, and renamed; then
//! the folder is fsynced, so that the rename survives a power cut too. Left alone, the system would
//! begin to write a large file to the disk at the fsync, after its last byte. So large files are
//! fsynced by another thread every [`SYNC_BYTES`], while the rest is still being computed.
//!
//! What is no plain file is not replaced: a symbolic link is followed, and its target replaced; a
//! device, a pipe or standard output (`-`) is written to as the bytes come.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread::{Scope, ScopedJoinHandle};

use super::FileError;
use super::destination::{Destination, parent};

/// Large files are fsynced every so many bytes while they are written; smaller ones once, at the
/// end.
const SYNC_BYTES: usize = 32 << 20;

/// Names of unfinished files and folders begin with this.
pub(super) const UNFINISHED: &str = ".writing-";

/// What an unfinished file is written to.
pub type AtomicSink<'scope, 'env> = BufWriter<Unfinished<'scope, 'env>>;

/// A file that is fsynced while it is written.
pub struct Unfinished<'scope, 'env> {
    file: &'env File,
    /// Whether it is a plain file, which can be fsynced and written out of order.
    is_plain: bool,
    /// Bytes written since the last fsync began.
    unsynced: usize,
    scope: &'scope Scope<'scope, 'env>,
    /// The fsync under way.
    syncing: Option<ScopedJoinHandle<'scope, io::Result<()>>>,
}

impl Unfinished<'_, '_> {
    /// Waits for the fsync under way. The system reports an error of the disk only once, so the
    /// result must not be dropped.
    fn wait(&mut self) -> io::Result<()> {
        match self.syncing.take() {
            None => Ok(()),
            Some(syncing) => syncing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        }
    }
}

impl Write for Unfinished<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.unsynced += written;
        let idle = self.syncing.as_ref().is_none_or(ScopedJoinHandle::is_finished);
        if self.is_plain && self.unsynced >= SYNC_BYTES && idle {
            self.wait()?;
            let file = self.file;
            self.syncing = Some(self.scope.spawn(|| file.sync_data()));
            self.unsynced = 0;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Unfinished<'_, '_> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match self.is_plain {
            true => self.file.seek(position),
            false => Err(io::Error::other("this format is not written in order; needed a plain file")),
        }
    }
}

/// Writes a file that appears complete or not at all, making its folder if need be. Devices, pipes
/// and standard output, which is called `-`, are written to as they are.
///
/// # Errors
/// [`FileError`] if the folder or file cannot be written; then no file appears.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut AtomicSink<'_, '_>) -> io::Result<()>,
) -> Result<(), FileError> {
    let mut write = Some(write);
    write_by(path, &mut |sink| write.take().expect("a file is filled once")(sink))
}

/// As [`write_atomically`], a plain file that nobody but its owner may read or write.
///
/// # Errors
/// [`FileError`] if the folder or file cannot be written, or is no plain file.
pub(super) fn write_privately(
    path: &Path,
    write: impl FnOnce(&mut AtomicSink<'_, '_>) -> io::Result<()>,
) -> Result<(), FileError> {
    let mut write = Some(write);
    match Destination::of(path).map_err(FileError::at("write", path))? {
        Destination::Stream(_) => {
            Err(FileError::at("write", path)(io::Error::other("a secret needs a plain file")))
        }
        Destination::Replace(target) => {
            replace(&target, 0o600, &mut |sink| write.take().expect("a file is filled once")(sink))
        }
    }
}

/// The mode of any new file; the system takes away what the umask says.
const USUAL_MODE: u32 = 0o666;

/// What fills a file; not generic, so that what follows is compiled once for all callers.
type Fill<'a> = &'a mut dyn FnMut(&mut AtomicSink<'_, '_>) -> io::Result<()>;

fn write_by(path: &Path, write: Fill<'_>) -> Result<(), FileError> {
    match Destination::of(path).map_err(FileError::at("write", path))? {
        Destination::Stream(file) => fill(&file, false, write).map_err(FileError::at("write", path)),
        Destination::Replace(target) => replace(&target, USUAL_MODE, write),
    }
}

fn replace(path: &Path, mode: u32, write: Fill<'_>) -> Result<(), FileError> {
    let folder = parent(path);
    fs::create_dir_all(folder).map_err(FileError::at("create", folder))?;
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(<fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    let temporary =
        builder.prefix(UNFINISHED).tempfile_in(folder).map_err(FileError::at("write in", folder))?;
    fill(temporary.as_file(), true, write).map_err(FileError::at("write", path))?;
    temporary.persist(path).map_err(|error| FileError::at("write", path)(error.error))?;
    sync_folder(folder)
}

/// A folder that appears complete or not at all: it has a temporary name beside the final one until it
/// is finished, and is gone if it is not.
#[derive(Debug)]
pub struct UnfinishedFolder {
    temporary: tempfile::TempDir,
    path: PathBuf,
}

impl UnfinishedFolder {
    /// Begins a folder; where it goes there may be an empty one.
    ///
    /// # Errors
    /// [`FileError`] if it cannot be made.
    pub fn new(path: &Path) -> Result<Self, FileError> {
        let path = std::path::absolute(path).map_err(FileError::at("find", path))?;
        let folder = parent(&path);
        fs::create_dir_all(folder).map_err(FileError::at("create", folder))?;
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(<fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o777));
        let temporary = builder.prefix(UNFINISHED).tempdir_in(folder);
        Ok(Self { temporary: temporary.map_err(FileError::at("write in", folder))?, path })
    }

    /// Where files go for now.
    pub fn path(&self) -> &Path {
        self.temporary.path()
    }

    /// Gives the folder its name.
    ///
    /// # Errors
    /// [`FileError`] if there is something already.
    pub fn finish(self) -> Result<(), FileError> {
        fs::rename(self.temporary.path(), &self.path).map_err(FileError::at("write", &self.path))?;
        // It has moved, so there is nothing to remove.
        _ = self.temporary.keep();
        sync_folder(parent(&self.path))
    }
}

/// Moves a finished file to where it belongs, making its folder if need be; it appears there complete
/// or not at all. A file on another disk is copied.
///
/// # Errors
/// [`FileError`] if it cannot be moved.
pub fn move_file(from: &Path, to: &Path) -> Result<(), FileError> {
    fs::create_dir_all(parent(to)).map_err(FileError::at("create", parent(to)))?;
    let synced = File::open(from).and_then(|file| file.sync_all());
    synced.map_err(FileError::at("fsync", from))?;
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let mut source = File::open(from).map_err(FileError::at("read", from))?;
            write_atomically(to, |sink| io::copy(&mut source, sink).map(drop))?;
            fs::remove_file(from).map_err(FileError::at("remove", from))
        }
        Err(error) => Err(FileError::at("write", to)(error)),
        Ok(()) => sync_folder(parent(to)),
    }
}

fn fill(file: &File, is_plain: bool, write: Fill<'_>) -> io::Result<()> {
    std::thread::scope(|scope| {
        let unfinished = Unfinished { file, is_plain, unsynced: 0, scope, syncing: None };
        let mut sink = BufWriter::with_capacity(1 << 20, unfinished);
        write(&mut sink)?;
        sink.into_inner().map_err(io::IntoInnerError::into_error)?.wait()
    })?;
    if is_plain { file.sync_all() } else { Ok(()) }
}

/// Makes renames in a folder survive a power cut. File systems that cannot fsync a folder say so by
/// an invalid argument; they are left to their own ways.
#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> Result<(), FileError> {
    let synced = File::open(folder).and_then(|opened| opened.sync_all());
    match synced {
        Err(error) if !matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Err(FileError::at("fsync", folder)(error))
        }
        _ => Ok(()),
    }
}

/// Other systems cannot open a folder as a file.
#[cfg(not(unix))]
pub(super) fn sync_folder(_: &Path) -> Result<(), FileError> {
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::scratch;

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let path = scratch("deep/down/file.txt");
        let error = write_atomically(&path, |sink| {
            sink.write_all(b"half")?;
            Err(io::Error::other("out of luck"))
        });
        assert!(error.unwrap_err().to_string().ends_with("file.txt`: out of luck"));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn a_large_file_is_fsynced_on_the_way_and_complete() {
        let path = scratch("large");
        let block: Vec<u8> = (0..=250).cycle().take(3 << 20).collect();
        let num_blocks = 3 * SYNC_BYTES / block.len();
        write_atomically(&path, |sink| {
            sink.write_all(b"before ")?;
            (0..num_blocks).try_for_each(|_| sink.write_all(&block))?;
            assert!(sink.get_ref().syncing.is_some());
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
    fn a_failure_while_a_large_file_is_fsynced_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_atomically(&folder.path().join("large"), |sink| {
            sink.write_all(&vec![1; SYNC_BYTES + 1])?;
            Err(io::Error::other("out of luck"))
        });
        assert!(error.is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_has_the_permissions_of_any_other_new_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let [ours, usual] = ["ours", "usual"].map(|name| folder.path().join(name));
        write_atomically(&ours, |sink| sink.write_all(b"x")).unwrap();
        File::create(&usual).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&usual));
        write_privately(&ours, |sink| sink.write_all(b"x")).unwrap();
        assert_eq!(mode(&ours) & 0o777, 0o600);
    }
}
