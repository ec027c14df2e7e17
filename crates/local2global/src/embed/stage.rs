//! The stage on disk: graph and patches from a run folder, coordinates back into it.

use super::frame::Sources;
use super::hops::HopsFrame;
use super::hops::late::{Late, Learned, late_embedding, turned};
use super::hops::model::HopsEncoder;
use super::nn::Matrix;
use super::node_lists::{NodeList, open_node_lists};
use super::schedule::is_own;
use super::{EmbedConfig, EmbedError, EmbedSummary, Frame, embed_framed};
use crate::graph::{Graph, store};
use crate::npy;
use crate::partition::{read_partition, undirected};
use crate::patch::{read_node_weights, read_report};
use crate::progress::Progress;
use crate::run_dir::{AlignmentFolder, EmbeddingFolder, PatchFolder, RunDir, patch_name, write_array};
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
) -> Result<EmbedSummary, EmbedError> {
    let StageInput { graph, patches, frame } = StageInput::open(run, config, only, seed, progress)?;
    embed_framed(&graph, &patches, only, (config, &frame), seed, &run.embeddings(), progress)
}

/// What the stage works on.
pub(super) struct StageInput {
    pub(super) graph: Graph,
    /// The nodes of each patch.
    pub(super) patches: Vec<NodeList>,
    /// What every patch is sent.
    pub(super) frame: Frame,
}

impl StageInput {
    /// Opens graph and patches of a run, checks that the settings suit them and that the patches in
    /// `only` are there, and makes the common frame if need be.
    pub(super) fn open(
        run: &RunDir,
        config: &EmbedConfig,
        only: Option<&[usize]>,
        seed: Seed,
        progress: &dyn Progress,
    ) -> Result<Self, EmbedError> {
        let (graph, _) = store::open(&run.graph())?;
        let patches = patches_of(&run.patches(), &graph)?;
        let num_patches = patches.len();
        if let Some(&index) = only.unwrap_or_default().iter().find(|&&index| index >= num_patches) {
            return Err(EmbedError::NoSuchIndex { index, num_patches });
        }
        config.check()?;
        check_overlaps(run, config.dim)?;
        let frame = run_frame(run, &graph, config, seed, progress)?;
        Ok(Self { graph, patches, frame })
    }
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
    pub patches: &'a PatchFolder,
    /// The coordinates of each patch, and what it learned.
    pub embeddings: &'a EmbeddingFolder,
    /// The stitched embedding.
    pub alignment: &'a AlignmentFolder,
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
    let patches = patches_of(folders.patches, graph)?;
    // Coordinates that somebody else has put there are not what the encoders would give.
    if !(0..patches.len()).all(|index| is_own(folders.embeddings, &patch_name(index))) {
        return Ok(false);
    }
    let weights = read_node_weights(folders.patches)?;
    let size = config.dim * config.dim;
    let learned = patches.iter().zip(&weights).enumerate().map(|(index, (nodes, weights))| {
        let encoder = HopsEncoder::read(&folders.embeddings.encoder(&patch_name(index)))?;
        // Rotations of both parts together say nothing about the first alone.
        let encoder = match common.walks {
            Some(_) => encoder,
            None => turned(encoder, frame, &rotations[index * size..][..size]),
        };
        Ok(Learned { nodes: nodes.as_ref(), weights, encoder })
    });
    let learned: Vec<Learned<'_>> = learned.collect::<Result<_, EmbedError>>()?;
    let mut embedding = late_embedding(&undirected(graph), frame, &learned, config.late);
    if common.walks.is_some() {
        let structure = read_structure(folders.alignment, embedding.num_columns())?;
        embedding = common.with_structure(&embedding, &structure);
    }
    let shape = [embedding.num_rows(), embedding.num_columns()];
    write_array(&folders.alignment.embedding(), &shape, embedding.values())?;
    Ok(true)
}

/// The part of a frame whose encoders can be applied to the whole graph, if the settings ask for it.
fn late_part<'a>(frame: &'a Frame, config: &EmbedConfig) -> Option<&'a HopsFrame> {
    frame.hops.as_deref().filter(|_| config.late != Late::Off)
}

/// The columns of `no_trans.npy` from `first` on: the part of `both` that walks made.
fn read_structure(alignment: &AlignmentFolder, first: usize) -> Result<Matrix<f32>, EmbedError> {
    let path = alignment.unaligned();
    let array = npy::read::<f32>(&path)
        .map_err(|error| EmbedError::Patch { path: path.clone(), problem: error.to_string() })?;
    let (rows, columns) = (array.shape[0], array.shape[1]);
    let values = array.values.chunks_exact(columns).flat_map(|row| &row[first..]).copied().collect();
    Ok(Matrix::from_values(rows, columns - first, values))
}

/// The nodes of each patch, all of them in the graph; mapped where they can be used as they lie.
fn patches_of(folder: &PatchFolder, graph: &Graph) -> Result<Vec<NodeList>, EmbedError> {
    let patches = open_node_lists(folder)?;
    let beyond =
        |nodes: &NodeList| nodes.as_ref().last().is_none_or(|last| last.index() >= graph.num_nodes());
    match patches.iter().position(beyond) {
        None => Ok(patches),
        Some(index) => {
            let path = folder.nodes(&patch_name(index));
            let problem = format!("needed nodes below {}, at least one", graph.num_nodes());
            Err(EmbedError::Patch { path, problem })
        }
    }
}

/// Checks that patches share enough nodes to be aligned in so many dimensions, before hours of
/// training. Patches of somebody else come without a report, and are not checked.
fn check_overlaps(run: &RunDir, dim: usize) -> Result<(), EmbedError> {
    if !run.patches().report().exists() {
        return Ok(());
    }
    let report = read_report(run)?;
    let found = report.overlap.found;
    match report.patch_edges > 0 && found <= dim {
        true => Err(EmbedError::SmallOverlaps { found, dim }),
        false => Ok(()),
    }
}
