//! Who works in a run folder.
//!
//! A lock on the file `.lock` in the folder, which the system gives back however its holder
//! ends. A run holds it alone; processes that embed different patches of the same run share it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

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
}

impl RunLock {
    /// Takes a run folder into use, making it if need be.
    ///
    /// # Errors
    /// [`PipelineError::Locked`] if somebody else uses it; [`PipelineError::File`] if the
    /// folder cannot be written.
    pub fn take(run: &RunDir, sharing: Sharing) -> Result<Self, PipelineError> {
        fs::create_dir_all(run.root()).map_err(FileError::at("create", run.root()))?;
        let path = run.lock();
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
                let mut holder = String::new();
                // Who holds it is told if it can be read; that it is held is enough.
                let _ = file.read_to_string(&mut holder);
                // A process that embeds does not note itself; what stands there may be long over.
                let is_over = |id: &u32| {
                    Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{id}")).exists()
                };
                let holder = holder.trim().parse().ok().filter(|id| !is_over(id));
                return Err(PipelineError::Locked { run: run.root().to_owned(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(FileError::at("lock", &path)(source).into()),
        }
        if sharing == Sharing::Alone {
            let noted = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
            noted.map_err(FileError::at("write", &path))?;
        }
        Ok(Self { _file: file })
    }
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
}
