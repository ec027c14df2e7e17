//! The stage on disk: graph and patches from a run folder, coordinates back into it.

use std::path::Path;

use super::frame::Sources;
use super::hops::HopsFrame;
use super::hops::late::{Late, Learned, late_embedding, turned};
use super::hops::model::Encoder;
use super::nn::Matrix;
use super::schedule::{encoder_path, is_own};
use super::{EmbedConfig, EmbedError, Frame, Summary, embed_framed};
use crate::graph::{Graph, NodeId, store};
use crate::npy;
use crate::partition::{read_partition, undirected};
use crate::progress::Progress;
use crate::run_dir::{RunDir, patch_name, write_array};
use crate::seed::Seed;

/// Embeds the patches of a run folder, or just those listed in `only`.
///
/// # Errors
/// [`EmbedError`] if graph or patches cannot be read, `only` names a patch that is not
/// there, or as [`embed_framed`].
pub fn embed_run(
    run: &RunDir,
    config: &EmbedConfig,
    only: Option<&[usize]>,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Summary, EmbedError> {
    let (graph, _) = store::open(&run.graph())?;
    let patches = read_patches(&run.patches(), &graph)?;
    let num_patches = patches.len();
    if let Some(&index) = only.unwrap_or_default().iter().find(|&&index| index >= num_patches) {
        return Err(EmbedError::NoSuchIndex { index, num_patches });
    }
    config.check()?;
    let frame = run_frame(run, &graph, config, seed, progress)?;
    embed_framed(&graph, &patches, only, (config, &frame), seed, &run.embeddings(), progress)
}

/// The common frame of a run, as it lies there or made anew.
fn run_frame(
    run: &RunDir,
    graph: &Graph,
    config: &EmbedConfig,
    seed: Seed,
    progress: &dyn Progress,
) -> Result<Frame, EmbedError> {
    // Patches of somebody else may come without clusters.
    let clusters = read_partition(run, graph.num_nodes()).ok();
    let sources = Sources { graph, clusters: clusters.as_ref() };
    Frame::prepare(&sources, config, seed, &run.embeddings(), progress)
}

/// Where the files of stitched patches lie.
#[derive(Clone, Copy, Debug)]
pub struct StitchedFolders<'a> {
    /// The node list and the weights of each patch.
    pub patches: &'a Path,
    /// The coordinates of each patch, and what it learned.
    pub embeddings: &'a Path,
    /// The stitched embedding.
    pub alignment: &'a Path,
}

/// Applies what the patches of a run have learned to its whole graph, as [`embed_late_in`] does.
/// The graph is opened only if it is needed.
///
/// # Errors
/// [`EmbedError`] if a file cannot be read or written.
pub fn embed_late(run: &RunDir, config: &EmbedConfig, rotations: &[f64]) -> Result<bool, EmbedError> {
    let frame = Frame::stored(&run.embeddings())?;
    if late_part(&frame, config).is_none() {
        return Ok(false);
    }
    let (graph, _) = store::open(&run.graph())?;
    let (patches, embeddings, alignment) = (run.patches(), run.embeddings(), run.alignment());
    let folders = StitchedFolders { patches: &patches, embeddings: &embeddings, alignment: &alignment };
    embed_late_in(&graph, &folders, (config, &frame), rotations)
}

/// Applies what patches have learned to their whole graph, if the settings and the method ask for
/// it: the stitched embedding is replaced. Says whether it was. `rotations` are those of all patches
/// into the common frame, one row-major matrix after the other. Nothing happens where a patch has
/// coordinates of another program.
///
/// # Errors
/// [`EmbedError`] if a file cannot be read or written.
pub fn embed_late_in(
    graph: &Graph,
    folders: &StitchedFolders<'_>,
    (config, common): (&EmbedConfig, &Frame),
    rotations: &[f64],
) -> Result<bool, EmbedError> {
    let Some(frame) = late_part(common, config) else { return Ok(false) };
    let patches = read_patches(folders.patches, graph)?;
    // Coordinates that somebody else has put there are not what the encoders would give.
    if !(0..patches.len()).all(|index| is_own(folders.embeddings, &patch_name(index))) {
        return Ok(false);
    }
    let weights = (0..patches.len()).map(|index| read_weights(folders.patches, index));
    let weights: Vec<Vec<f32>> = weights.collect::<Result<_, _>>()?;
    let size = config.dim * config.dim;
    let learned = patches.iter().zip(&weights).enumerate().map(|(index, (nodes, weights))| {
        let encoder = Encoder::read(&encoder_path(folders.embeddings, &patch_name(index)))?;
        // Rotations of both parts together say nothing about the first alone.
        let encoder = match common.walks {
            Some(_) => encoder,
            None => turned(encoder, frame, &rotations[index * size..][..size]),
        };
        Ok(Learned { nodes, weights, encoder })
    });
    let learned: Vec<Learned<'_>> = learned.collect::<Result<_, EmbedError>>()?;
    let mut embedding = late_embedding(&undirected(graph), frame, &learned, config.late);
    if common.walks.is_some() {
        let structure = read_structure(folders.alignment, embedding.num_columns())?;
        embedding = common.with_structure(&embedding, &structure);
    }
    let shape = [embedding.num_rows(), embedding.num_columns()];
    write_array(&folders.alignment.join("embedding.npy"), &shape, embedding.values())?;
    Ok(true)
}

/// The part of a frame whose encoders can be applied to the whole graph, if the settings ask for it.
fn late_part<'a>(frame: &'a Frame, config: &EmbedConfig) -> Option<&'a HopsFrame> {
    frame.hops.as_deref().filter(|_| config.late != Late::Off)
}

/// The columns of `no_trans.npy` from `first` on: the part of `both` that walks made.
fn read_structure(alignment: &Path, first: usize) -> Result<Matrix<f32>, EmbedError> {
    let path = alignment.join("no_trans.npy");
    let array = npy::read::<f32>(&path)
        .map_err(|error| EmbedError::Patch { path: path.clone(), problem: error.to_string() })?;
    let (rows, columns) = (array.shape[0], array.shape[1]);
    let values = array.values.chunks_exact(columns).flat_map(|row| &row[first..]).copied().collect();
    Ok(Matrix::from_values(rows, columns - first, values))
}

fn read_weights(folder: &Path, index: usize) -> Result<Vec<f32>, EmbedError> {
    let path = folder.join(format!("{}.weights.npy", patch_name(index)));
    let array = npy::read::<f32>(&path)
        .map_err(|error| EmbedError::Patch { path: path.clone(), problem: error.to_string() })?;
    Ok(array.values.to_vec())
}

/// The nodes of each patch, from `patch-00000.npy` on.
fn read_patches(folder: &Path, graph: &Graph) -> Result<Vec<Vec<NodeId>>, EmbedError> {
    let paths = (0..).map(|index| folder.join(format!("{}.npy", patch_name(index))));
    let patches: Vec<_> = paths
        .take_while(|path| path.exists())
        .map(|path| read_patch(&path, graph))
        .collect::<Result<_, _>>()?;
    match patches.is_empty() {
        true => Err(EmbedError::NoPatches { folder: folder.to_owned() }),
        false => Ok(patches),
    }
}

fn read_patch(path: &Path, graph: &Graph) -> Result<Vec<NodeId>, EmbedError> {
    let unusable = |problem: String| EmbedError::Patch { path: path.to_owned(), problem };
    let array = npy::read::<u64>(path).map_err(|error| unusable(error.to_string()))?;
    let nodes: Vec<NodeId> = array.values.iter().map(|&node| NodeId(node)).collect();
    let exist = nodes.last().is_none_or(|last| last.index() < graph.num_nodes());
    match exist && !nodes.is_empty() && nodes.is_sorted_by(|a, b| a < b) {
        true => Ok(nodes),
        false => Err(unusable(format!("needed nodes below {}, ascending, at least one", graph.num_nodes()))),
    }
}
