//! Embeddings and transforms into files.

use std::io;
use std::path::Path;

use super::centroid::{Block, Wanted, stream_at_once};
use super::places::KeptRows;
use super::{AlignError, AlignFilesError, AlignPaths, Alignment, EmbeddingRows, LocalPatch, Transforms};
use crate::npy;
use crate::progress::Progress;
use crate::run_dir::{FileError, write_array, write_arrays, write_atomically};

/// Writes everything but the diagnostics.
pub(super) fn write_alignment(
    paths: &AlignPaths,
    patches: &[LocalPatch],
    nodes: &[u64],
    alignment: &Alignment,
    kept: Option<&KeptRows<'_>>,
    progress: &dyn Progress,
) -> Result<(), AlignFilesError> {
    let out = paths.results();
    progress.begin("embedding", nodes.len() as u64, "nodes");
    let mut spread: Vec<f32> = Vec::with_capacity(nodes.len());
    write_embeddings([&out.embedding(), &out.unaligned()], patches, nodes, alignment, |block| {
        progress.advance(block.spread.len() as u64);
        let first = spread.len();
        spread.extend(block.spread.iter().map(|&value| value as f32));
        if let Some(kept) = kept {
            kept.put_into(&nodes[first..spread.len()], block, &mut spread[first..]);
        }
    })?;
    // After the embedding, which cannot be written if a coordinate is not finite.
    if paths.rows == EmbeddingRows::Listed {
        write_array(&out.nodes(), &[nodes.len()], nodes)?;
    }
    write_array(&out.spread(), &[spread.len()], &spread)?;
    progress.end();
    let trust = alignment.solution.patch_trust.as_deref();
    Ok(write_transforms(&out.transforms(), &alignment.transforms, trust)?)
}

/// An error on the way of a stream: of the patches, or of the file.
enum StreamError {
    Align(AlignError),
    Io(io::Error),
}

impl From<io::Error> for StreamError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<AlignError> for StreamError {
    fn from(error: AlignError) -> Self {
        Self::Align(error)
    }
}

/// Writes the embedding with and without transforms.
fn write_embeddings(
    [path, unmoved_path]: [&Path; 2],
    patches: &[LocalPatch],
    nodes: &[u64],
    alignment: &Alignment,
    mut see: impl FnMut(&mut Block<f32>),
) -> Result<(), AlignFilesError> {
    let dim = patches[0].dim();
    let wanted = Wanted { unmoved: true, ..alignment.wanted() };
    let mut failed = None;
    let written = write_atomically(path, |sink| {
        let mut rows = npy::Writer::new(sink, &[dim])?;
        let unmoved_written = write_atomically(unmoved_path, |sink| {
            let mut unmoved_rows = npy::Writer::new(sink, &[dim])?;
            let result = stream_at_once::<f32, StreamError>(
                patches,
                nodes,
                wanted,
                alignment.blocks_at_once,
                |block| {
                    see(block);
                    rows.push(&block.coords)?;
                    Ok(unmoved_rows.push(&block.unmoved)?)
                },
            );
            match result {
                Ok(()) => unmoved_rows.finish().map(|_| ()),
                Err(StreamError::Io(error)) => Err(error),
                Err(StreamError::Align(error)) => {
                    failed = Some(error.into());
                    Err(io::Error::other("the patches cannot be aligned"))
                }
            }
        });
        if let Err(error) = unmoved_written {
            failed.get_or_insert(AlignFilesError::File(error));
            return Err(io::Error::other("the other embedding cannot be written"));
        }
        rows.finish().map(|_| ())
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(written?),
    }
}

/// Writes the transforms, and from robust alignment how far each patch is trusted, as an archive of
/// arrays; the same transforms give the same bytes.
///
/// # Errors
/// [`FileError`] if the file cannot be written.
pub fn write_transforms(
    path: &Path,
    transforms: &Transforms,
    trust: Option<&[f64]>,
) -> Result<(), FileError> {
    let (p, d) = (transforms.num_patches(), transforms.dim);
    write_arrays(path, |archive| {
        archive.add("scales", &[p], &transforms.scales)?;
        archive.add("rotations", &[p, d, d], &transforms.rotations)?;
        archive.add("translations", &[p, d], &transforms.translations)?;
        trust.map_or(Ok(()), |trust| archive.add("trust", &[p], trust))
    })
}
