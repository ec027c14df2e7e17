//! Coordinates trained elsewhere: files that are already there.
//!
//! For each patch a file `NAME.npy`, numbers of any type, one row per node in the
//! order of the patch. Shape and values are checked like those of any other method.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::memory::PatchSize;
use super::nn::Matrix;
use super::{EmbedError, EmbedTask, Embedder, Embedding, PatchInput, Record};
use crate::npy;
use crate::run_dir::EmbeddingFolder;

/// Reads coordinates from a folder.
#[derive(Clone, Debug)]
pub struct GivenCoordinates {
    folder: EmbeddingFolder,
}

impl GivenCoordinates {
    /// Coordinates in `folder`.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder: EmbeddingFolder::at(folder) }
    }
}

impl Embedder for GivenCoordinates {
    fn embed(&self, patch: &PatchInput<'_>, task: &EmbedTask<'_>) -> Result<Embedding, EmbedError> {
        let &EmbedTask { dim, progress, .. } = task;
        let start = Instant::now();
        let coordinates = read_coordinates(&self.folder.coordinates(patch.name), patch, dim)?;
        progress.advance(1);
        let record = Record { seconds: start.elapsed().as_secs_f64(), ..Record::default() };
        Ok(Embedding { coordinates, record, encoder: None })
    }

    fn is_random(&self) -> bool {
        false
    }

    fn memory_bytes(&self, size: &PatchSize, dim: usize) -> u64 {
        size.graph_bytes() + size.coordinate_bytes(dim)
    }
}

/// Reads the coordinates of a patch and checks their shape and values.
pub(super) fn read_coordinates(
    path: &Path,
    patch: &PatchInput<'_>,
    dim: usize,
) -> Result<Matrix<f32>, EmbedError> {
    let unreadable =
        |source| EmbedError::Unreadable { patch: patch.name.to_owned(), path: path.to_owned(), source };
    let reader = npy::open(path).map_err(unreadable)?;
    let (rows, columns) = match reader.header().shape[..] {
        [rows, columns] => (rows, columns),
        // One coordinate may come without its axis.
        [rows] => (rows, 1),
        _ => (0, 0),
    };
    let num_nodes = patch.graph.num_nodes();
    if (rows, columns) != (num_nodes, dim) {
        let patch = patch.name.to_owned();
        return Err(EmbedError::Shape { patch, rows, columns, num_nodes, dim });
    }
    let values = reader.floats().map_err(unreadable)?;
    Ok(Matrix::from_values(rows, columns, values))
}
