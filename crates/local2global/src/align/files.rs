//! Alignment from files to files.
//!
//! In go, for every patch NAME, its node list and its coordinates; out come
//!
//! ```text
//! transforms.npz    scales (p), rotations (p x d x d), translations (p x d)
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


use super::centroid;
use super::diagnostics::{Diagnostics, diagnose};
use super::read::{in_array, read_edges, read_integers};
pub use super::read::{read_patches, read_transforms};
use super::update::{Update, update};
use super::write::write_alignment;
pub use super::write::write_transforms;
use super::{
    AlignConfig, AlignError, AlignFilesError, AlignPaths, Alignment, EmbeddingRows, LocalPatch, align,
};
use crate::buffer::Buffer;
use crate::npy;
use crate::progress::Progress;
use crate::run_dir::{AlignmentFolder, RunDir, read_json, write_json};
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
    let nodes = global_nodes(&patches, paths.rows)?;
    let alignment = align(&patches, edges.as_deref(), config, seed, progress)?;
    let diagnostics = diagnose(&patches, &alignment, config)?;
    write_alignment(paths, &patches, &nodes, &alignment, progress)?;
    write_json(&paths.results().report(), &diagnostics)?;
    Ok(diagnostics)
}

/// What an update changed.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct UpdateReport {
    /// The patch.
    pub patch: String,
    /// How it fits.
    #[serde(flatten)]
    pub update: Update,
    /// Root mean square distance by which its nodes moved in the embedding.
    pub moved: f64,
    /// The largest such distance.
    pub moved_most: f64,
    /// Its nodes that had no place in the embedding before.
    pub new_nodes: usize,
}

/// Puts one new or changed patch into a finished frame, all others held fixed.
///
/// # Errors
/// [`AlignFilesError`], naming the file or the patch.
pub fn update_files(
    paths: &AlignPaths,
    name: &str,
    config: &AlignConfig,
    progress: &dyn Progress,
) -> Result<UpdateReport, AlignFilesError> {
    let patches = read_patches(paths)?;
    let index = patches
        .iter()
        .position(|patch| patch.name() == name)
        .ok_or_else(|| AlignFilesError::NoSuchPatch { patch: name.into(), path: paths.nodes.clone() })?;
    let mut transforms = read_transforms(&paths.results().transforms())?;
    if transforms.num_patches() + 1 == patches.len() {
        transforms.insert(index);
    }
    if transforms.num_patches() != patches.len() {
        let (found, needed) = (transforms.num_patches(), patches.len());
        let path = paths.results().transforms();
        return Err(AlignFilesError::OtherTransforms { path, found, needed });
    }
    check_names(&paths.results(), &patches, index)?;
    let before = Places::read(&paths.results())?;
    let found = update(&patches, index, &mut transforms, config)?;
    let nodes = global_nodes(&patches, paths.rows)?;
    let alignment = Alignment::from_transforms(transforms, &patches, config)?;
    write_alignment(paths, &patches, &nodes, &alignment, progress)?;
    let after = Places::read(&paths.results())?;
    Ok(before.compare(&after, &patches[index], found))
}

/// Checks that the transforms that are there belong to the other patches, as far as it is known.
fn check_names(out: &AlignmentFolder, patches: &[LocalPatch], updated: usize) -> Result<(), AlignFilesError> {
    let path = out.report();
    let Ok(record) = read_json::<Diagnostics>(&path) else { return Ok(()) };
    let is_other = |name: &&str| *name != patches[updated].name();
    let known: Vec<&str> =
        record.patch_list.iter().map(|patch| patch.patch.as_str()).filter(is_other).collect();
    let others: Vec<&str> = patches.iter().map(LocalPatch::name).filter(is_other).collect();
    // A patch that an earlier update brought in is in no record.
    match known.iter().find(|name| !others.contains(name)) {
        None => Ok(()),
        Some(name) => Err(AlignFilesError::OtherPatches { path, patch: (*name).to_owned() }),
    }
}

/// The places of all nodes, as an alignment left them.
struct Places {
    nodes: Option<Vec<u64>>,
    dim: usize,
    coords: Buffer<f32>,
}

impl Places {
    fn read(out: &AlignmentFolder) -> Result<Self, AlignFilesError> {
        let path = out.embedding();
        // Read, not mapped: the file is about to be replaced.
        let array = npy::read::<f32>(&path).map_err(in_array(&path))?;
        let (_, dim) = array.rows_and_columns().map_err(in_array(&path))?;
        let listed = out.nodes();
        let nodes = listed.exists().then(|| read_integers(&listed)).transpose()?;
        Ok(Self { nodes, dim, coords: array.values })
    }

    fn row(&self, node: u64) -> Option<&[f32]> {
        let row = match &self.nodes {
            Some(nodes) => nodes.binary_search(&node).ok()?,
            None => usize::try_from(node).ok()?,
        };
        self.coords.get(row * self.dim..(row + 1) * self.dim)
    }

    fn compare(&self, after: &Self, patch: &LocalPatch, update: Update) -> UpdateReport {
        let distance = |(a, b): (&[f32], &[f32])| {
            let parts = a.iter().zip(b).map(|(a, b)| f64::from(a - b));
            parts.map(|part| part * part).sum::<f64>()
        };
        let squares: Vec<f64> = patch
            .nodes()
            .iter()
            .filter_map(|&node| Some(distance((self.row(node)?, after.row(node)?))))
            .collect();
        UpdateReport {
            patch: patch.name().into(),
            update,
            moved: (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt(),
            moved_most: squares.iter().copied().fold(0.0, f64::max).sqrt(),
            new_nodes: patch.num_nodes() - squares.len(),
        }
    }
}

/// The nodes of the embedding, ascending.
fn global_nodes(patches: &[LocalPatch], rows: EmbeddingRows) -> Result<Vec<u64>, AlignError> {
    let nodes = centroid::all_nodes(patches);
    let gap = nodes.iter().zip(0..).position(|(&node, row)| node != row);
    match (rows, gap, nodes.last()) {
        (EmbeddingRows::EveryNode, Some(gap), Some(&last)) => {
            Err(AlignError::Uncovered { node: gap as u64, last })
        }
        _ => Ok(nodes),
    }
}
