//! The stage on disk: graph and patches from a run folder, coordinates back into it.

use std::path::Path;

use super::{EmbedConfig, EmbedError, Summary, embed_patches};
use crate::graph::{Graph, NodeId, store};
use crate::npy;
use crate::progress::Progress;
use crate::run_dir::{RunDir, patch_name};
use crate::seed::Seed;

/// Embeds the patches of a run folder, or just those listed in `only`.
///
/// # Errors
/// [`EmbedError`] if graph or patches cannot be read, `only` names a patch that is not
/// there, or as [`embed_patches`].
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
    embed_patches(&graph, &patches, only, config, seed, &run.embeddings(), progress)
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
