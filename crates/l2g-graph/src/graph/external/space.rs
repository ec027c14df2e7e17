//! The room that a graph on disk takes, told and checked before anything is written.

use std::path::Path;

use super::super::builder::{BuildOptions, Duplicates};
use super::Workspace;
use super::error::{ExternalError, in_words};
use crate::disk;

/// What decides how much room edges take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    /// The number of listed edges, if it can be told.
    pub(crate) num_edges: Option<u64>,
    /// Whether they have weights.
    pub(crate) weighted: bool,
    /// Whether they are between integers that have to be sorted.
    pub(crate) wide: bool,
}

impl Space {
    /// About the bytes that are on disk at a time at most: entries in lists, and the arrays of the
    /// graph.
    fn num_bytes(self, options: &BuildOptions) -> Option<u64> {
        let weighted = match options.duplicates {
            Duplicates::Auto => self.weighted,
            Duplicates::Sum => true,
            Duplicates::One => false,
        };
        let weight = if weighted { 4 } else { 0 };
        let entries = if options.symmetrise { 2 } else { 1 };
        let graph = entries * (8 + weight + 4 + weight);
        // Two sorts of both ends, 16 bytes each.
        let sorts = if self.wide { 64 + weight } else { 0 };
        Some(self.num_edges?.saturating_mul(graph.max(sorts)))
    }

    /// Checks that there is room, and says in words how much is needed.
    ///
    /// # Errors
    /// [`ExternalError::Space`] if there is not.
    pub(crate) fn check(
        self,
        workspace: &Workspace,
        options: &BuildOptions,
    ) -> Result<Option<String>, ExternalError> {
        let Some(needed) = self.num_bytes(options) else { return Ok(None) };
        let path = existing(&workspace.folder);
        match disk::free_bytes(path) {
            Some(free) if free < needed => Err(ExternalError::Space { path: path.to_owned(), needed, free }),
            _ => {
                let words = in_words(needed);
                Ok(Some(format!(
                    "(needs about {words} of temporary space in {})",
                    workspace.folder.display()
                )))
            }
        }
    }
}

/// The folder, or the nearest one above that exists already.
fn existing(folder: &Path) -> &Path {
    let mut above = folder.ancestors().filter(|folder| !folder.as_os_str().is_empty());
    above.find(|folder| folder.exists()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_is_told_and_too_little_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace { limit: 1 << 20, folder: folder.path().join("run") };
        let options = BuildOptions::default();
        let check = |num_edges| Space { num_edges, weighted: false, wide: false }.check(&workspace, &options);
        assert_eq!(check(None).unwrap(), None);
        let told = check(Some(100_000)).unwrap().unwrap();
        assert!(told.starts_with("(needs about 2.4 MB of temporary space in "), "{told}");
        let refused = check(Some(1 << 58)).unwrap_err().to_string();
        assert!(refused.contains("needs about 6917529.0 TB of temporary space in `"), "{refused}");
    }
}
