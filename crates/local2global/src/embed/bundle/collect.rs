//! Results that came back -> `4-embeddings`.

use std::fs::File;
use std::io;
use std::path::Path;

use serde::Serialize;

use super::returned::{Wanted, check};
use super::{BundleError, BundleSource};
use crate::embed::schedule::{begin, foreign};
use crate::progress::Progress;
use crate::run_dir::{EmbeddingFolder, FileError, patch_name, patch_number, write_atomically};

/// What became of results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// Patches that were taken.
    pub taken: Vec<usize>,
    /// Patches that were there already.
    pub kept: Vec<usize>,
    /// Results that were not taken.
    pub refused: Vec<Refusal>,
}

/// A result that was not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The patch.
    pub patch: usize,
    /// Why, in a sentence.
    pub problem: String,
}

impl BundleSource {
    /// Takes the results in a folder that are what they should be, as if they had been trained here. A
    /// file is copied under a temporary name first, and the record last, so nobody ever sees half.
    ///
    /// # Errors
    /// [`BundleError`] if the folder holds no results, a file cannot be written, or somebody asks to stop. Results that are not
    /// what they should be are no error: they are told, and the others are taken.
    pub fn collect(&self, from: &Path, progress: &dyn Progress) -> Result<Collected, BundleError> {
        let from = EmbeddingFolder::at(from);
        let mut patches: Vec<usize> = from.recorded()?.iter().filter_map(|name| patch_number(name)).collect();
        if patches.is_empty() {
            return Err(BundleError::NoResults { folder: from.into() });
        }
        patches.sort_unstable();
        let mut collected = Collected::default();
        progress.begin("collect", patches.len() as u64, "patches");
        for patch in patches {
            if progress.is_cancelled() {
                return Err(BundleError::Cancelled);
            }
            match self.take(&from, patch)? {
                Taken::Now => collected.taken.push(patch),
                Taken::Before => collected.kept.push(patch),
                Taken::Never(problem) => collected.refused.push(Refusal { patch, problem }),
            }
            progress.advance(1);
        }
        progress.end();
        Ok(collected)
    }

    fn take(&self, from: &EmbeddingFolder, patch: usize) -> Result<Taken, FileError> {
        let name = patch_name(patch);
        let Some(digest) = self.digests.get(patch) else {
            let problem = format!("there is no {name} among the {} patches of the run", self.num_patches());
            return Ok(Taken::Never(problem));
        };
        let settings = self.config.of_patch(&name).settled();
        let wanted = Wanted {
            name: &name,
            num_nodes: self.num_nodes_of(patch),
            dim: settings.dim,
            settings,
            seed: self.seed,
            digest,
        };
        if let Err(problem) = check(from, &wanted) {
            return Ok(Taken::Never(problem));
        }
        if self.is_done(patch) {
            return Ok(Taken::Before);
        }
        if let Some(path) = foreign(&self.folder, &name) {
            let problem =
                format!("`{}` was made by another program, and would be overwritten", path.display());
            return Ok(Taken::Never(problem));
        }
        begin(&self.folder, &name)?;
        // The record vouches for the other files, so it comes last.
        let files = from.files_of(&name).into_iter().zip(self.folder.files_of(&name));
        for (from, to) in files.rev().filter(|(from, _)| from.exists()) {
            copy(&from, &to)?;
        }
        Ok(Taken::Now)
    }
}

/// What became of one result.
enum Taken {
    Now,
    Before,
    Never(String),
}

fn copy(from: &Path, to: &Path) -> Result<(), FileError> {
    let mut source = File::open(from).map_err(FileError::at("read", from))?;
    write_atomically(to, |sink| io::copy(&mut source, sink).map(drop))
}
