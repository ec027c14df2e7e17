//! For tests: a path in a folder of its own.

use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A path where there is nothing yet. Whatever is put there goes when this does.
pub(crate) struct Scratch {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

/// A path with a name.
pub(crate) fn scratch(name: &str) -> Scratch {
    let folder = tempfile::tempdir().unwrap();
    Scratch { path: folder.path().join(name), _folder: folder }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        self
    }
}
