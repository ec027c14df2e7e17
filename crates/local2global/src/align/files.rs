//! Alignment from files to files.
//!
//! In go, for every patch NAME, its node list and its coordinates; out come
//!
//! ```text
//! transforms.npz    scales (p), rotations (p x d x d), translations (p x d); trust (p) if robust
//! alignment.json    how well the patches fit
//! embedding.npy     one row per node, f32        no_trans.npy   the same without transforms
//! spread.npy        how far the copies of each node lie apart, f32
//! nodes.npy         the node of each row, if nodes are not 0, 1, 2, ...
//! ```
//!
//! Coordinates of exactly `f32` or `f64` are mapped, not read; the embedding is streamed.
//! A run folder is the special case where the node lists lie in `3-patches`, the
//! coordinates in `4-embeddings` and the patch graph in `3-patches/patch_graph.npy`.
//! Every file appears complete or not at all.

use super::diagnostics::{Diagnostics, diagnose};
use super::read::{global_nodes, read_edges};
pub use super::read::{read_coords, read_patches, read_transforms, read_trust};
use super::write::write_alignment;
pub use super::write::write_transforms;
use super::{AlignConfig, AlignFilesError, AlignPaths, AlignSize, EmbeddingRows, align};
use crate::progress::Progress;
use crate::run_dir::{RunDir, write_json};
use crate::seed::Seed;

/// Aligns the patches of a run folder.
///
/// # Errors
/// [`AlignFilesError`], naming the file or the patch.
pub fn align_run(
    run: &RunDir,
    config: &AlignConfig,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Diagnostics, AlignFilesError> {
    align_files(&AlignPaths::of_run(run), config, seed, progress)
}

/// Aligns patches that lie in files, and writes the results.
///
/// # Errors
/// [`AlignFilesError`], naming the file or the patch.
pub fn align_files(
    paths: &AlignPaths,
    config: &AlignConfig,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Diagnostics, AlignFilesError> {
    let patches = read_patches(paths)?;
    let edges = paths.edges.as_deref().map(read_edges).transpose()?;
    if paths.rows == EmbeddingRows::Listed {
        AlignSize::of(&patches, &[]).check(config)?;
    }
    let nodes = global_nodes(&patches, paths.rows)?;
    let alignment = align(&patches, edges.as_deref(), config, seed, progress)?;
    let diagnostics = diagnose(&patches, &alignment, config)?;
    write_alignment(paths, &patches, &nodes, &alignment, None, progress)?;
    write_json(&paths.results().report(), &diagnostics)?;
    Ok(diagnostics)
}
