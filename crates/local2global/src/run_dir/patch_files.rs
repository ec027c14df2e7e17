//! Which patches a folder holds, and what their files are called.
//!
//! ```text
//! NAME.npy           the nodes of one patch          patch-00000.npy
//! NAME.weights.npy   a weight for each of its nodes  patch-00000.weights.npy
//! patch_graph.npy, landmarks.npy, patches.json       of all patches
//! ```
//!
//! The patch stage numbers its patches and says in `patches.json` how many there are: then a
//! missing file and one too many are errors that name it. A folder without this report may have been
//! filled by anybody, with any names; all its node lists are patches. Patches come by number, so that
//! `patch-100000` comes after `patch-99999`; names without a number come after those, by name.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::FileError;

/// The report of the patch stage, in the folder of the patches.
pub const PATCH_REPORT: &str = "patches.json";
/// Which patches are joined.
pub const PATCH_GRAPH: &str = "patch_graph.npy";
/// The nodes that every patch holds.
pub const LANDMARKS: &str = "landmarks.npy";

/// The name of a patch in file names: `patch-00003`.
pub fn patch_name(index: usize) -> String {
    format!("patch-{index:05}")
}

/// The number of a patch that the patch stage has named; none for other names.
pub fn patch_number(name: &str) -> Option<usize> {
    let number = name.strip_prefix("patch-")?.parse().ok()?;
    (patch_name(number) == name).then_some(number)
}

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
    folder: PathBuf,
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
        let mut names = node_lists(folder)?;
        names.sort_by_cached_key(|name| (patch_number(name).unwrap_or(usize::MAX), name.clone()));
        if let Some(count) = reported_count(folder)? {
            check(folder, &names, count)?;
        }
        match names.is_empty() {
            true => Err(PatchFilesError::None { folder: folder.to_owned() }),
            false => Ok(Self { folder: folder.to_owned(), names }),
        }
    }

    /// As [`PatchFiles::find`], where patches must be numbered from 0 on, report or not.
    ///
    /// # Errors
    /// [`PatchFilesError`] if there are no patches, or a number is missing.
    pub fn numbered(folder: &Path) -> Result<Self, PatchFilesError> {
        let found = Self::find(folder)?;
        check(folder, &found.names, found.len())?;
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
        nodes_path(&self.folder, &self.names[index])
    }

    /// The weights of its nodes; the file need not exist in folders of other programs.
    pub fn weights(&self, index: usize) -> PathBuf {
        weights_path(&self.folder, &self.names[index])
    }
}

/// The file with the nodes of a patch, or with its coordinates in another folder.
pub fn nodes_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.npy"))
}

/// The file with the weights of a patch.
pub fn weights_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.weights.npy"))
}

/// Removes what the patch stage leaves in a folder: the report first, so that it never vouches for
/// half of the files.
///
/// # Errors
/// [`FileError`] if a file cannot be removed.
pub fn remove_patches(folder: &Path) -> Result<(), FileError> {
    if !folder.exists() {
        return Ok(());
    }
    let remove = |path: PathBuf| match path.exists() {
        true => fs::remove_file(&path).map_err(FileError::at("remove", &path)),
        false => Ok(()),
    };
    remove(folder.join(PATCH_REPORT))?;
    remove(folder.join(PATCH_GRAPH))?;
    remove(folder.join(LANDMARKS))?;
    for name in node_lists(folder)?.into_iter().filter(|name| patch_number(name).is_some()) {
        remove(nodes_path(folder, &name))?;
        remove(weights_path(folder, &name))?;
    }
    Ok(())
}

/// The names of all node lists, in no order.
fn node_lists(folder: &Path) -> Result<Vec<String>, FileError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(FileError::at("read", folder))? {
        let file = entry.map_err(FileError::at("read", folder))?.file_name();
        let file = file.to_string_lossy();
        let Some(name) = file.strip_suffix(".npy") else { continue };
        if !name.starts_with('.')
            && !name.ends_with(".weights")
            && ![PATCH_GRAPH, LANDMARKS].contains(&&*file)
        {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// How many patches the report tells of, if there is one.
fn reported_count(folder: &Path) -> Result<Option<usize>, FileError> {
    let path = folder.join(PATCH_REPORT);
    if !path.exists() {
        return Ok(None);
    }
    let bytes = fs::read(&path).map_err(FileError::at("read", &path))?;
    let count: Count =
        serde_json::from_slice(&bytes).map_err(|error| FileError::at("understand", &path)(error.into()))?;
    Ok(Some(count.patches))
}

/// Checks that exactly the first `count` numbered patches are there.
fn check(folder: &Path, names: &[String], count: usize) -> Result<(), PatchFilesError> {
    let numbers: BTreeSet<usize> = names.iter().filter_map(|name| patch_number(name)).collect();
    if let Some(gap) = (0..count).find(|index| !numbers.contains(index)) {
        let there = numbers.range(..count).count();
        return Err(PatchFilesError::Missing { path: nodes_path(folder, &patch_name(gap)), there, count });
    }
    let is_stray = |name: &&String| patch_number(name).is_none_or(|number| number >= count);
    match names.iter().find(is_stray) {
        Some(name) => Err(PatchFilesError::Stray { path: nodes_path(folder, name), count }),
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
            fs::write(folder.path().join(PATCH_REPORT), report).unwrap();
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
        let files =
            ["patch-00000.npy", "patch-00000.weights.npy", PATCH_GRAPH, LANDMARKS, ".writing-1.npy", "x.txt"];
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
        let ours = ["patch-00000.npy", "patch-00000.weights.npy", "patch-100000.npy", PATCH_GRAPH, LANDMARKS];
        let folder = folder_with(&[&ours[..], &["mine.npy", "notes.txt"]].concat(), Some(1));
        remove_patches(folder.path()).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["mine.npy", "notes.txt"]);
    }
}
