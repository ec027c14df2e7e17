//! What a finished stage was made from, and what it left: the stamp, `stage.json` in its folder.
//!
//! ```text
//! inputs   version, seed, settings, and digests of the files outside the run folder and of
//!          the outputs of the stages that it was made from
//! files    name, size and digest of every file in the folder
//! output   digest of the arrays among them, which is what later stages read
//! ```
//!
//! Before a stage starts, its stamp is marked as unfinished; after its last file, the new stamp is
//! written. So a folder whose stamp says finished is finished. If the stage fails before it has
//! changed a file, the old stamp is written back.
//!
//! `output` leaves JSON records out: they hold times, which differ from run to run.

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Inputs;
use crate::digest::{self, Digest};
use crate::memory;
use crate::run_dir::{
    FileError, GraphFolder, SchemaError, read_json, read_sealed_json, stamp_path, write_sealed_json,
};

/// The stamp of a finished stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stamp {
    /// What the stage was made from.
    pub inputs: Inputs,
    /// The digest of what it left for later stages.
    pub output: String,
    /// How long it took.
    pub seconds: f64,
    /// The most memory that the program had taken when the stage was over, earlier stages of the same process
    /// included; none where the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// Whether the stage is done; if not, `inputs` are those of what was there before.
    finished: bool,
    files: Vec<StampedFile>,
}

/// A file that a stage left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StampedFile {
    name: String,
    bytes: u64,
    digest: String,
}

/// Why a stage has to be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// It was never begun.
    #[error("not done yet")]
    Missing,
    /// It was begun and not finished.
    #[error("was not finished")]
    Unfinished,
    /// It was made from other inputs or settings: which, in words.
    #[error("{0}")]
    Changed(String),
    /// A file is not what the stage left.
    #[error("`{0}` is damaged or missing")]
    Damaged(String),
    /// A stage before it will be done.
    #[error("{0} is done anew")]
    After(&'static str),
    /// Its coordinates come from files that others write.
    #[error("given coordinates are read anew")]
    Given,
}

impl Stamp {
    /// The stamp of a folder, if it is finished, made from these inputs, and undamaged.
    ///
    /// # Errors
    /// The reason why the stage has to be done.
    pub fn check(folder: &Path, inputs: &Inputs) -> Result<Self, Reason> {
        let path = stamp_path(folder);
        if !path.exists() {
            let begun = names(folder).is_ok_and(|names| !names.is_empty());
            return Err(if begun { Reason::Unfinished } else { Reason::Missing });
        }
        let stamp: Self = read_sealed_json(&path).map_err(|error| match SchemaError::behind(&error) {
            Some(newer) => Reason::Changed(format!("its stamp is newer: {newer}")),
            None => Reason::Damaged(name_of(&path)),
        })?;
        if !stamp.finished {
            return Err(Reason::Unfinished);
        }
        if stamp.inputs != *inputs {
            return Err(Reason::Changed(inputs.changes_since(&stamp.inputs)));
        }
        match stamp.damaged(folder) {
            Some(file) => Err(Reason::Damaged(file)),
            None => Ok(stamp),
        }
    }

    /// The first file that is not what the stage left.
    pub(super) fn damaged(&self, folder: &Path) -> Option<String> {
        let damaged = self.files.par_iter().find_first(|file| !file.is_intact(folder));
        damaged.map(|file| file.name.clone())
    }

    /// Whether a file of the folder is one that the stage left, unchanged.
    pub(super) fn vouches_for(&self, path: &Path) -> bool {
        let (folder, name) = (path.parent().unwrap_or(path), name_of(path));
        self.files.iter().any(|file| file.name == name && file.is_intact(folder))
    }

    /// The stamp of a folder, finished or not, without a look at its other files.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        read_sealed_json(&stamp_path(folder)).ok()
    }

    /// The stamp of a finished folder, without a look at its other files.
    pub fn finished(folder: &Path) -> Option<Self> {
        Self::read(folder).filter(|stamp| stamp.finished)
    }

    /// Whether the stage was done when the stamp was written.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Stamps a finished folder.
    ///
    /// # Errors
    /// [`FileError`] if a file cannot be read, or the stamp cannot be written.
    pub fn make(folder: &Path, inputs: Inputs, seconds: f64) -> Result<Self, FileError> {
        let names = names(folder)?;
        let stamped: Result<Vec<StampedFile>, FileError> =
            names.into_par_iter().map(|name| StampedFile::of(folder, name)).collect();
        let files = stamped?;
        let mut output = Digest::default();
        for file in files.iter().filter(|file| file.is_array()) {
            output.add_text(&file.name);
            output.add_text(&file.digest);
        }
        // Later stages also depend on the number of feature columns. Sparse arrays do not tell it
        // (trailing columns may be empty), so it is taken from the description of the graph. Folders
        // of other stages have none, and count as 0 columns.
        let described: serde_json::Value =
            read_json(&GraphFolder::at(folder).description()).unwrap_or_default();
        output.add(described["features"].as_u64().unwrap_or(0));
        let (output, peak_bytes) = (output.to_string(), memory::peak_bytes());
        let stamp = Self { inputs, output, seconds, peak_bytes, finished: true, files };
        write_sealed_json(&stamp_path(folder), &stamp)?;
        Ok(stamp)
    }

    /// Marks a folder that is to be worked in as not finished. What it was made from stays known,
    /// for as long as its files may be those that were there before.
    ///
    /// # Errors
    /// [`FileError`] if the stamp cannot be written.
    pub fn take_off(folder: &Path) -> Result<Unstamped, FileError> {
        let old = Self::read(folder);
        if let Some(old) = &old {
            write_sealed_json(&stamp_path(folder), &Self { finished: false, ..old.clone() })?;
        }
        Ok(Unstamped { folder: folder.to_owned(), old: old.filter(|old| old.finished) })
    }
}

/// A folder that is worked in. Dropped without [`Unstamped::finish`] it gets its old stamp back,
/// if all that was there is still there.
#[derive(Debug)]
pub struct Unstamped {
    folder: PathBuf,
    old: Option<Stamp>,
}

impl Unstamped {
    /// Stamps the folder, whose stage is done.
    ///
    /// # Errors
    /// As [`Stamp::make`].
    pub fn finish(mut self, inputs: Inputs, seconds: f64) -> Result<Stamp, FileError> {
        self.old = None;
        Stamp::make(&self.folder, inputs, seconds)
    }
}

impl Drop for Unstamped {
    fn drop(&mut self) {
        let Some(old) = self.old.take() else { return };
        let stamped = old.files.iter().map(|file| &file.name);
        if names(&self.folder).is_ok_and(|names| stamped.eq(&names)) && old.damaged(&self.folder).is_none() {
            // Without a stamp the stage would be done again, so nothing is lost if this fails.
            let _ = write_sealed_json(&stamp_path(&self.folder), &old);
        }
    }
}

impl StampedFile {
    fn of(folder: &Path, name: String) -> Result<Self, FileError> {
        let path = folder.join(&name);
        let bytes = fs::metadata(&path).map_err(FileError::at("read", &path))?.len();
        let digest = digest::of_file(&path).map_err(FileError::at("read", &path))?;
        Ok(Self { name, bytes, digest })
    }

    fn is_intact(&self, folder: &Path) -> bool {
        let path = folder.join(&self.name);
        let size = fs::metadata(&path).map(|data| data.len());
        size.is_ok_and(|bytes| bytes == self.bytes)
            && digest::of_file(&path).is_ok_and(|digest| digest == self.digest)
    }

    fn is_array(&self) -> bool {
        [".npy", ".npz", ".parquet"].iter().any(|end| self.name.ends_with(end))
    }
}

/// The files that a stage left, by name.
fn names(folder: &Path) -> Result<Vec<String>, FileError> {
    let names = all_names(folder)?;
    let stamp = name_of(&stamp_path(folder));
    Ok(names.into_iter().filter(|name| *name != stamp && !name.starts_with('.')).collect())
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn all_names(folder: &Path) -> Result<Vec<String>, FileError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(FileError::at("read", folder))? {
        let entry = entry.map_err(FileError::at("read", folder))?;
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_dir::remove_unfinished;

    fn stamped() -> (tempfile::TempDir, Stamp) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.npy"), b"numbers").unwrap();
        fs::write(folder.path().join("a.json"), b"seconds").unwrap();
        let stamp = Stamp::make(folder.path(), Inputs::default(), 1.0).unwrap();
        (folder, stamp)
    }

    #[test]
    fn a_finished_stage_is_recognised() {
        let (folder, stamp) = stamped();
        assert_eq!(Stamp::check(folder.path(), &Inputs::default()), Ok(stamp));
        let others = Inputs::of_seed(7);
        assert_eq!(Stamp::check(folder.path(), &others), Err(Reason::Changed("seed is 7, was 0".into())));
    }

    #[test]
    fn damage_of_every_kind_is_seen() {
        type Damage = fn(&Path);
        let damages: [(&str, Damage); 5] = [
            ("a.npy", |path| fs::remove_file(path).unwrap()),
            ("a.npy", |path| fs::write(path, b"numbens").unwrap()),
            ("a.json", |path| fs::write(path, b"").unwrap()),
            ("stage.json", |path| fs::write(path, b"{\"inputs\":").unwrap()),
            ("stage.json", |path| {
                let text = fs::read_to_string(path).unwrap();
                fs::write(path, text.replace("\"seconds\": 1.0", "\"seconds\": 2.0")).unwrap();
            }),
        ];
        for (name, damage) in damages {
            let (folder, _) = stamped();
            damage(&folder.path().join(name));
            assert_eq!(Stamp::check(folder.path(), &Inputs::default()), Err(Reason::Damaged(name.into())));
        }
    }

    #[test]
    fn a_stage_of_a_newer_program_is_done_anew_and_the_reason_is_told() {
        let (folder, _) = stamped();
        fs::write(stamp_path(folder.path()), b"{\"schema\": 7}").unwrap();
        let reason = Stamp::check(folder.path(), &Inputs::default()).unwrap_err().to_string();
        assert!(reason.contains("it has schema version 7"), "{reason}");
    }

    #[test]
    fn records_do_not_enter_the_output() {
        let (folder, stamp) = stamped();
        fs::write(folder.path().join("a.json"), b"other seconds").unwrap();
        let again = Stamp::make(folder.path(), Inputs::default(), 2.0).unwrap();
        assert_eq!(again.output, stamp.output);
        fs::write(folder.path().join("a.npy"), b"other numbers").unwrap();
        assert_ne!(Stamp::make(folder.path(), Inputs::default(), 2.0).unwrap().output, stamp.output);
    }

    #[test]
    fn what_an_interrupted_write_left_is_removed() {
        let (folder, _) = stamped();
        fs::write(folder.path().join(".writing-x1"), b"half").unwrap();
        remove_unfinished(folder.path()).unwrap();
        assert_eq!(all_names(folder.path()).unwrap(), ["a.json", "a.npy", "stage.json"]);
    }

    #[test]
    fn work_that_fails_before_it_touches_a_file_leaves_the_stage_finished() {
        let (folder, stamp) = stamped();
        let folder = folder.path();
        let check = || Stamp::check(folder, &Inputs::default());
        let work = Stamp::take_off(folder).unwrap();
        assert_eq!(check(), Err(Reason::Unfinished));
        drop(work);
        assert_eq!(check(), Ok(stamp));
        let work = Stamp::take_off(folder).unwrap();
        fs::write(folder.join("b.npy"), b"more").unwrap();
        drop(work);
        assert_eq!(check(), Err(Reason::Unfinished));
        let empty = tempfile::tempdir().unwrap();
        drop(Stamp::take_off(empty.path()).unwrap());
        assert_eq!(Stamp::check(empty.path(), &Inputs::default()), Err(Reason::Missing));
    }
}
