//! Many small files of one folder, written in one go.
//!
//! One fsync takes the disk some milliseconds, whether it is about one file or about many that wait
//! at the same time. So all files are written into a temporary folder first, fsynced by several
//! threads at once, renamed into their folder, and the folder is fsynced once. Until the renames
//! begin, the folder is as it was.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rayon::prelude::*;
use tempfile::TempDir;

use super::FileError;
use super::atomic::{UNFINISHED, sync_folder};
use crate::progress::Progress;

/// So many fsyncs wait for the disk at a time, however many processors there are.
const SYNC_THREADS: usize = 16;

/// Why a batch of files was not written.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] FileError),

    /// Somebody asked to stop.
    #[error("writing was cancelled")]
    Cancelled,
}

/// Files that are complete and fsynced, but do not have their names yet. Dropped, they are gone.
#[derive(Debug)]
pub struct FileBatch {
    folder: PathBuf,
    names: Vec<String>,
    written: TempDir,
}

impl FileBatch {
    /// Writes files for a folder, which is made if need be; `write` is given the position of a name.
    /// Progress counts files.
    ///
    /// # Errors
    /// [`BatchError`] if a file cannot be written, or somebody asked to stop; then nothing is left.
    pub fn write(
        folder: &Path,
        names: Vec<String>,
        progress: &dyn Progress,
        write: impl Fn(usize, &mut BufWriter<File>) -> io::Result<()> + Sync,
    ) -> Result<Self, BatchError> {
        let alone = names.into_iter().map(|name| [name]).collect();
        Self::write_groups(folder, alone, progress, |index, [file]| write(index, file))
    }

    /// As [`FileBatch::write`] for groups of files that are written at the same time, such as the
    /// two of a patch. Progress counts groups.
    ///
    /// # Errors
    /// As [`FileBatch::write`].
    pub fn write_groups<const FILES: usize>(
        folder: &Path,
        groups: Vec<[String; FILES]>,
        progress: &dyn Progress,
        write: impl Fn(usize, [&mut BufWriter<File>; FILES]) -> io::Result<()> + Sync,
    ) -> Result<Self, BatchError> {
        fs::create_dir_all(folder).map_err(FileError::at("create", folder))?;
        let written = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(folder)
            .map_err(FileError::at("write in", folder))?;
        let batch = Self { folder: folder.to_owned(), names: groups.into_flattened(), written };
        batch.names.par_chunks_exact(FILES).enumerate().try_for_each(|(index, names)| {
            go_on(progress)?;
            let names: &[String; FILES] = names.try_into().expect("chunks have the length of a group");
            batch.fill(names, |files| write(index, files))?;
            progress.advance(1);
            Ok::<_, BatchError>(())
        })?;
        batch.sync(progress)?;
        Ok(batch)
    }

    /// Writes a group of files; an error names the first of them.
    fn fill<const FILES: usize>(
        &self,
        names: &[String; FILES],
        write: impl FnOnce([&mut BufWriter<File>; FILES]) -> io::Result<()>,
    ) -> Result<(), FileError> {
        let mut sinks = Vec::with_capacity(FILES);
        for name in names {
            let created = File::create_new(self.written.path().join(name));
            sinks.push(BufWriter::new(created.map_err(FileError::at("write", &self.folder.join(name)))?));
        }
        let mut sinks: [BufWriter<File>; FILES] =
            sinks.try_into().unwrap_or_else(|_| unreachable!("there is a sink for each name"));
        let filled = write(sinks.each_mut()).and_then(|()| sinks.iter_mut().try_for_each(Write::flush));
        filled.map_err(FileError::at("write", &self.folder.join(&names[0])))
    }

    /// Fsyncs all files, several at a time.
    fn sync(&self, progress: &dyn Progress) -> Result<(), BatchError> {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(name) = self.names.get(next.fetch_add(1, Ordering::Relaxed)) {
                go_on(progress)?;
                let path = self.written.path().join(name);
                let synced = OpenOptions::new().write(true).open(&path).and_then(|file| file.sync_all());
                synced.map_err(FileError::at("write", &self.folder.join(name)))?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let num_threads = SYNC_THREADS.min(self.names.len());
            let workers: Vec<_> = (0..num_threads).map(|_| scope.spawn(work)).collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    /// Gives all files their names.
    ///
    /// # Errors
    /// [`FileError`] if one cannot be renamed; then those before it are there.
    pub fn publish(self) -> Result<(), FileError> {
        // The first name comes last: a folder that was left in the middle lacks it, and nobody takes
        // what is there for all.
        for name in self.names.iter().rev() {
            let path = self.folder.join(name);
            fs::rename(self.written.path().join(name), &path).map_err(FileError::at("write", &path))?;
        }
        sync_folder(&self.folder)
    }
}

fn go_on(progress: &dyn Progress) -> Result<(), BatchError> {
    if progress.is_cancelled() { Err(BatchError::Cancelled) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::progress::Silent;

    /// Asks to stop after so many files.
    struct StopAfter(usize, AtomicUsize);

    impl Progress for StopAfter {
        fn is_cancelled(&self) -> bool {
            self.1.fetch_add(1, Ordering::Relaxed) >= self.0
        }
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|index| format!("{index:06}")).collect()
    }

    fn entries(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn files_appear_together_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let write = |index: usize, sink: &mut BufWriter<File>| write!(sink, "{index}");
        let batch = FileBatch::write(folder.path(), names(100), &Silent, write).unwrap();
        assert_eq!(entries(folder.path()), 1);
        batch.publish().unwrap();
        assert_eq!(entries(folder.path()), 100);
        assert_eq!(fs::read(folder.path().join("000042")).unwrap(), b"42");
    }

    #[test]
    fn cancelling_in_the_middle_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        // While files are written, and while they are fsynced.
        for after in [0, 50, 150] {
            let stop = StopAfter(after, AtomicUsize::new(0));
            let stopped = FileBatch::write(folder.path(), names(100), &stop, |_, sink| sink.write_all(b"x"));
            assert!(matches!(stopped, Err(BatchError::Cancelled)), "{after}");
            assert_eq!(entries(folder.path()), 0);
        }
    }

    #[test]
    fn a_failure_leaves_nothing_behind_and_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let failed = FileBatch::write(folder.path(), names(9), &Silent, |index, _| match index {
            7 => Err(io::Error::other("out of luck")),
            _ => Ok(()),
        });
        let error = failed.unwrap_err().to_string();
        assert!(error.ends_with("000007`: out of luck"), "{error}");
        assert_eq!(entries(folder.path()), 0);
    }

    /// `cargo test --release -p l2g-graph --lib -- --ignored --nocapture files_per_second`
    #[test]
    #[ignore = "measures; takes minutes"]
    fn files_per_second() {
        let folder = tempfile::tempdir().unwrap();
        let content = [7_u8; 1000];
        let (single, all) = (names(2000), names(200_000));
        let started = Instant::now();
        single.par_iter().for_each(|name| {
            let path = folder.path().join("single").join(name);
            crate::run_dir::write_atomically(&path, |sink| sink.write_all(&content)).unwrap();
        });
        eprintln!("one by one: {:.0} files/s", 2000.0 / started.elapsed().as_secs_f64());
        let started = Instant::now();
        let batch =
            FileBatch::write(&folder.path().join("all"), all, &Silent, |_, sink| sink.write_all(&content));
        batch.unwrap().publish().unwrap();
        eprintln!("in one go: {:.0} files/s", 200_000.0 / started.elapsed().as_secs_f64());
    }
}
