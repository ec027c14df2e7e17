//! Patches and transforms from files.

use std::path::Path;

use super::memory::MAPPED_PATCHES;
use super::{
    AlignError, AlignFilesError, AlignPaths, Coords, EmbeddingRows, LocalPatch, Transforms, centroid,
};
use crate::buffer::Buffer;
use crate::npy::{self, ArrayReader, Kind, NpyError};
use crate::run_dir::{ArrayFile, EmbeddingFolder, PatchFiles};

pub(super) fn in_array(path: &Path) -> impl FnOnce(NpyError) -> AlignFilesError {
    let path = path.to_owned();
    move |source| AlignFilesError::Array { path, source }
}

/// Opens all patches, in order.
///
/// # Errors
/// [`AlignFilesError`], naming the file or the patch.
pub fn read_patches(paths: &AlignPaths) -> Result<Vec<LocalPatch>, AlignFilesError> {
    let files = PatchFiles::find(&paths.nodes)?;
    (0..files.len()).map(|index| read_patch(paths, &files, index)).collect()
}

fn read_patch(paths: &AlignPaths, files: &PatchFiles, index: usize) -> Result<LocalPatch, AlignFilesError> {
    let name = files.names()[index].clone();
    let nodes = read_nodes(&files.nodes(index))?;
    let coords_path = EmbeddingFolder::at(&paths.coords).coordinates(&name);
    if !coords_path.exists() {
        return Err(AlignFilesError::MissingCoords { patch: name, path: coords_path });
    }
    let (coords, dim) = read_coords(&coords_path)?;
    let weights_path = files.weights(index);
    let patch = LocalPatch::new(name, nodes, coords, dim)?;
    if !weights_path.exists() {
        return Ok(patch);
    }
    let weights = read_weights(&weights_path, files.len() <= MAPPED_PATCHES);
    Ok(patch.with_weights(weights.map_err(in_array(&weights_path))?)?)
}

/// Node weights; mapped if they can be used as they lie, and there are not too many files.
fn read_weights(path: &Path, mapped: bool) -> Result<Buffer<f32>, NpyError> {
    match npy::map::<f32>(path) {
        Ok(array) if mapped && array.shape.len() == 1 => Ok(array.values),
        Err(error) if !matches!(error, NpyError::Type { .. }) => Err(error),
        _ => Ok(npy::open(path).and_then(ArrayReader::floats::<f32>)?.into()),
    }
}

fn read_nodes(path: &Path) -> Result<Buffer<u64>, AlignFilesError> {
    match npy::map::<u64>(path) {
        Ok(array) => Ok(array.values),
        Err(NpyError::Type { .. }) => Ok(read_integers(path)?.into()),
        Err(error) => Err(in_array(path)(error)),
    }
}

pub(super) fn read_integers(path: &Path) -> Result<Vec<u64>, AlignFilesError> {
    npy::open(path).and_then(ArrayReader::integers::<u64>).map_err(in_array(path))
}

/// The coordinates and the number of columns; mapped if they can be used as they lie.
///
/// # Errors
/// [`AlignFilesError::Array`] if the file is missing, damaged, or has not two axes.
pub fn read_coords(path: &Path) -> Result<(Coords, usize), AlignFilesError> {
    let read = || {
        let reader = npy::open(path)?;
        let header = reader.header().clone();
        let [_, columns] = header.shape[..] else {
            return Err(NpyError::Shape { found: header.shape, needed: "two axes".into() });
        };
        let plain = header.dtype.kind == Kind::Float && !header.dtype.big_endian && !header.fortran_order;
        let coords = match header.dtype.size {
            4 if plain => Coords::F32(npy::map::<f32>(path)?.values),
            8 if plain => Coords::F64(npy::map::<f64>(path)?.values),
            _ => Coords::F64(reader.floats::<f64>()?.into()),
        };
        Ok((coords, columns))
    };
    read().map_err(in_array(path))
}

/// The patch edges, one pair per row.
pub(super) fn read_edges(path: &Path) -> Result<Vec<[u64; 2]>, AlignFilesError> {
    let read = || {
        let reader = npy::open(path)?;
        if !matches!(reader.header().shape[..], [_, 2]) {
            let found = reader.header().shape.clone();
            return Err(NpyError::Shape { found, needed: "two columns".into() });
        }
        reader.integers::<u64>()
    };
    let values = read().map_err(in_array(path))?;
    Ok(values.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect())
}

/// Reads transforms back.
///
/// # Errors
/// [`AlignFilesError`] if the file is missing, or is not what
/// [`write_transforms`](super::files::write_transforms) writes.
pub fn read_transforms(path: &Path) -> Result<Transforms, AlignFilesError> {
    let mut archive = ArrayFile::open(path)?;
    let (_, scales) = archive.doubles("scales")?;
    let (_, rotations) = archive.doubles("rotations")?;
    let (_, translations) = archive.doubles("translations")?;
    let dim = translations.len() / scales.len().max(1);
    if translations.len() != scales.len() * dim || rotations.len() != scales.len() * dim * dim {
        let found = vec![scales.len(), rotations.len(), translations.len()];
        let needed = "scales p, rotations p x d x d, translations p x d".into();
        return Err(in_array(path)(NpyError::Shape { found, needed }));
    }
    Ok(Transforms { dim, scales, rotations, translations })
}

/// Reads how far each patch was trusted, from the file with the transforms; none if alignment was
/// not robust.
///
/// # Errors
/// [`AlignFilesError`] if the file is missing or damaged.
pub fn read_trust(path: &Path) -> Result<Option<Vec<f64>>, AlignFilesError> {
    let mut archive = ArrayFile::open(path)?;
    match archive.has("trust") {
        true => Ok(Some(archive.doubles("trust")?.1)),
        false => Ok(None),
    }
}

/// The nodes of the embedding, ascending.
pub(super) fn global_nodes(patches: &[LocalPatch], rows: EmbeddingRows) -> Result<Vec<u64>, AlignError> {
    let nodes = centroid::all_nodes(patches);
    let gap = nodes.iter().zip(0..).position(|(&node, row)| node != row);
    match (rows, gap, nodes.last()) {
        (EmbeddingRows::EveryNode, Some(gap), Some(&last)) => {
            Err(AlignError::Uncovered { node: gap as u64, last })
        }
        _ => Ok(nodes),
    }
}
