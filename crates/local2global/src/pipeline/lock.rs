//! Who works in a run folder.
//!
//! A lock on the file `.lock` in the folder, which the system gives back however its holder
//! ends. A run holds it alone; processes that embed different patches of the same run share it.
//!
//! Work that is refused before it has written anything leaves no folder behind: if the folder was
//! made for the lock and holds nothing else in the end, both are removed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::PipelineError;
use crate::run_dir::{FileError, RunDir};

/// How a run folder is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// By nobody else meanwhile.
    Alone,
    /// Together with others that share it too.
    Shared,
}

/// A run folder in use, until this is dropped.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
    path: PathBuf,
    /// The folders that were made for the lock, from the run folder up.
    made: Vec<PathBuf>,
}

impl RunLock {
    /// Takes a run folder into use, making it if need be.
    ///
    /// # Errors
    /// [`PipelineError::Locked`] if somebody else uses it; [`PipelineError::File`] if the
    /// folder cannot be written.
    pub fn take(run: &RunDir, sharing: Sharing) -> Result<Self, PipelineError> {
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let made = run.root().ancestors().take_while(is_missing).map(Path::to_owned).collect();
        let path = run.lock();
        let mut file = loop {
            fs::create_dir_all(run.root()).map_err(FileError::at("create", run.root()))?;
            let mut options = OpenOptions::new();
            let opened = options.read(true).write(true).create(true).truncate(false).open(&path);
            let mut file = opened.map_err(FileError::at("write", &path))?;
            let locked = match sharing {
                Sharing::Alone => file.try_lock(),
                Sharing::Shared => file.try_lock_shared(),
            };
            match locked {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let holder = holder(&mut file);
                    return Err(PipelineError::Locked { run: run.root().to_owned(), holder });
                }
                Err(TryLockError::Error(source)) => return Err(FileError::at("lock", &path)(source).into()),
            }
            // Whoever had it before may have removed it in between; then nobody would see this lock.
            if is_still_there(&file, &path) {
                break file;
            }
        };
        if sharing == Sharing::Alone {
            let noted = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
            noted.map_err(FileError::at("write", &path))?;
        }
        Ok(Self { _file: file, path, made })
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        let Some(run) = self.made.first() else { return };
        let is_bare = fs::read_dir(run).is_ok_and(|entries| entries.count() == 1);
        if is_bare && fs::remove_file(&self.path).is_ok() {
            // A folder that somebody has put something into meanwhile stays, and so do those above.
            let _ = self.made.iter().try_for_each(fs::remove_dir);
        }
    }
}

/// The process that holds a lock, if it says so and is still there.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    // Who holds it is told if it can be read; that it is held is enough.
    let _ = file.read_to_string(&mut text);
    // A process that embeds does not note itself; what stands there may be long over.
    let is_over = |id: &u32| Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{id}")).exists();
    text.trim().parse().ok().filter(|id| !is_over(id))
}

/// Whether a path still leads to this open file.
#[cfg(unix)]
fn is_still_there(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |data: fs::Metadata| (data.dev(), data.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => place(ours) == place(there),
        _ => false,
    }
}

/// Other systems do not remove a file that is open.
#[cfg(not(unix))]
fn is_still_there(_: &File, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_used_by_one_alone_or_by_several_that_share() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path().join("run"));
        let alone = RunLock::take(&run, Sharing::Alone).unwrap();
        let error = RunLock::take(&run, Sharing::Shared).unwrap_err().to_string();
        assert!(error.contains("is in use"), "{error}");
        assert!(error.contains(&std::process::id().to_string()), "{error}");
        drop(alone);
        let _first = RunLock::take(&run, Sharing::Shared).unwrap();
        let _second = RunLock::take(&run, Sharing::Shared).unwrap();
        assert!(RunLock::take(&run, Sharing::Alone).is_err());
    }

    #[test]
    fn work_that_leaves_nothing_leaves_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path().join("runs/nosuch"));
        drop(RunLock::take(&run, Sharing::Alone).unwrap());
        assert!(!folder.path().join("runs").exists());
        let lock = RunLock::take(&run, Sharing::Alone).unwrap();
        fs::write(run.settings(), b"").unwrap();
        drop(lock);
        assert!(run.settings().exists() && run.lock().exists());
        // A folder that was there stays, with or without a lock.
        let own = RunDir::new(folder.path());
        drop(RunLock::take(&own, Sharing::Alone).unwrap());
        assert!(folder.path().exists());
    }
}
