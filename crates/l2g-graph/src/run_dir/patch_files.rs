//! Which patches a folder holds.
//!
//! The patch stage numbers its patches and says in `patches.json` how many there are: then a
//! missing file and one too many are errors that name it. A folder without this report may have been
//! filled by anybody, with any names; all its node lists are patches. Patches come by number, so that
//! `patch-100000` comes after `patch-99999`; names without a number come after those, by name.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{FileError, PatchFolder, patch_name, patch_number, read_json};

/// Patches that are not what their folder promises.
#[derive(Debug, thiserror::Error)]
pub enum PatchFilesError {
    /// The folder could not be read.
    #[error(transparent)]
    File(#[from] FileError),

    /// There are no node lists.
    #[error("no node lists `NAME.npy` in `{}`", folder.display())]
    None {
        /// The folder.
        folder: PathBuf,
    },

    /// A patch is missing.
    #[error("`{}` is missing: {there} of {count} patches are there; `l2g patch` makes them again", path.display())]
    Missing {
        /// The first one.
        path: PathBuf,
        /// How many there are.
        there: usize,
        /// How many there should be.
        count: usize,
    },

    /// A node list that belongs to no patch.
    #[error("`{}` is none of the {count} patches of this folder; move it elsewhere", path.display())]
    Stray {
        /// The file.
        path: PathBuf,
        /// How many patches there are.
        count: usize,
    },
}

/// The patches of a folder, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchFiles {
    folder: PatchFolder,
    names: Vec<String>,
}

/// The part of the report that is needed here.
#[derive(Deserialize)]
struct Count {
    patches: usize,
}

impl PatchFiles {
    /// Looks into a folder.
    ///
    /// # Errors
    /// [`PatchFilesError`] if there are no patches, or not those that the report tells of.
    pub fn find(folder: &Path) -> Result<Self, PatchFilesError> {
        let folder = &PatchFolder::at(folder);
        let mut names = node_lists(folder)?;
        names.sort_by_cached_key(|name| (patch_number(name).unwrap_or(usize::MAX), name.clone()));
        if let Some(count) = reported_count(folder)? {
            check(folder, &names, count)?;
        }
        match names.is_empty() {
            true => Err(PatchFilesError::None { folder: folder.to_path_buf() }),
            false => Ok(Self { folder: folder.clone(), names }),
        }
    }

    /// As [`PatchFiles::find`], where patches must be numbered from 0 on, report or not.
    ///
    /// # Errors
    /// [`PatchFilesError`] if there are no patches, or a number is missing.
    pub fn numbered(folder: &Path) -> Result<Self, PatchFilesError> {
        let found = Self::find(folder)?;
        check(&found.folder, &found.names, found.len())?;
        Ok(found)
    }

    /// The names of all patches.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of patches.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none, which never happens.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The nodes of one patch.
    pub fn nodes(&self, index: usize) -> PathBuf {
        self.folder.nodes(&self.names[index])
    }

    /// The weights of its nodes; the file need not exist in folders of other programs.
    pub fn weights(&self, index: usize) -> PathBuf {
        self.folder.weights(&self.names[index])
    }
}

/// Removes what the patch stage leaves in a folder: the report first, so that it never vouches for
/// half of the files.
///
/// # Errors
/// [`FileError`] if a file cannot be removed.
pub fn remove_patches(folder: &Path) -> Result<(), FileError> {
    let folder = &PatchFolder::at(folder);
    if !folder.exists() {
        return Ok(());
    }
    let remove = |path: PathBuf| match path.exists() {
        true => fs::remove_file(&path).map_err(FileError::at("remove", &path)),
        false => Ok(()),
    };
    remove(folder.report())?;
    remove(folder.patch_graph())?;
    remove(folder.landmarks())?;
    for name in node_lists(folder)?.into_iter().filter(|name| patch_number(name).is_some()) {
        remove(folder.nodes(&name))?;
        remove(folder.weights(&name))?;
    }
    Ok(())
}

/// The names of all node lists, in no order.
fn node_lists(folder: &PatchFolder) -> Result<Vec<String>, FileError> {
    let others = [folder.patch_graph(), folder.landmarks()];
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(FileError::at("read", folder))? {
        let path = entry.map_err(FileError::at("read", folder))?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(name) = file.strip_suffix(".npy") else { continue };
        if !name.starts_with('.') && !name.ends_with(".weights") && !others.contains(&path) {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// How many patches the report tells of, if there is one.
fn reported_count(folder: &PatchFolder) -> Result<Option<usize>, FileError> {
    let path = folder.report();
    match path.exists() {
        true => read_json(&path).map(|Count { patches }| Some(patches)),
        false => Ok(None),
    }
}

/// Checks that exactly the first `count` numbered patches are there.
fn check(folder: &PatchFolder, names: &[String], count: usize) -> Result<(), PatchFilesError> {
    let numbers: BTreeSet<usize> = names.iter().filter_map(|name| patch_number(name)).collect();
    if let Some(gap) = (0..count).find(|index| !numbers.contains(index)) {
        let there = numbers.range(..count).count();
        return Err(PatchFilesError::Missing { path: folder.nodes(&patch_name(gap)), there, count });
    }
    let is_stray = |name: &&String| patch_number(name).is_none_or(|number| number >= count);
    match names.iter().find(is_stray) {
        Some(name) => Err(PatchFilesError::Stray { path: folder.nodes(name), count }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(files: &[&str], count: Option<usize>) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|file| fs::write(folder.path().join(file), b"").unwrap());
        if let Some(count) = count {
            let report = format!("{{\"patches\": {count}, \"sizes\": []}}");
            fs::write(PatchFolder::at(folder.path()).report(), report).unwrap();
        }
        folder
    }

    fn found(files: &[&str], count: Option<usize>) -> Result<Vec<String>, String> {
        let folder = folder_with(files, count);
        match PatchFiles::find(folder.path()) {
            Ok(files) => Ok(files.names),
            Err(error) => Err(error.to_string().replace(&format!("{}/", folder.path().display()), "")),
        }
    }

    #[test]
    fn patches_come_by_number_above_100_000_too() {
        let files = ["patch-100000.npy", "patch-99999.npy", "site-b.npy", "patch-00001.npy", "a.npy"];
        let wanted = ["patch-00001", "patch-99999", "patch-100000", "a", "site-b"];
        assert_eq!(found(&files, None).unwrap(), wanted);
    }

    #[test]
    fn other_files_are_no_patches() {
        let files = [
            "patch-00000.npy",
            "patch-00000.weights.npy",
            "patch_graph.npy",
            "landmarks.npy",
            ".writing-1.npy",
            "x.txt",
        ];
        assert_eq!(found(&files, Some(1)).unwrap(), ["patch-00000"]);
    }

    #[test]
    fn gaps_and_strays_are_named() {
        let error = found(&["patch-00000.npy", "patch-00002.npy"], Some(3)).unwrap_err();
        assert!(error.starts_with("`patch-00001.npy` is missing: 2 of 3 patches are there"), "{error}");
        let error = found(&["patch-00000.npy", "patch-00001.npy"], Some(1)).unwrap_err();
        assert!(error.starts_with("`patch-00001.npy` is none of the 1 patches"), "{error}");
        assert!(found(&["patch-00000.npy", "mine.npy"], Some(1)).unwrap_err().starts_with("`mine.npy`"));
        assert!(found(&[], None).unwrap_err().starts_with("no node lists"));
    }

    #[test]
    fn what_the_stage_left_is_removed_and_nothing_else() {
        let ours = [
            "patch-00000.npy",
            "patch-00000.weights.npy",
            "patch-100000.npy",
            "patch_graph.npy",
            "landmarks.npy",
        ];
        let folder = folder_with(&[&ours[..], &["mine.npy", "notes.txt"]].concat(), Some(1));
        remove_patches(folder.path()).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["mine.npy", "notes.txt"]);
    }
}
