//! What the stage leaves in the run folder.
//!
//! ```text
//! 3-patches/patch-00000.npy          nodes of one patch, ascending (u64)
//! 3-patches/patch-00000.weights.npy  share of each node's edges inside the patch (f32)
//! 3-patches/patch_graph.npy          patch pairs that are joined (E x 2, u64)
//! 3-patches/landmarks.npy            nodes that every patch holds, ascending (u64); if there are any
//! 3-patches/patches.json             the report; written last, so that it vouches for the rest
//! ```

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::{Patch, PatchError, PatchGraph, PatchId, PatchReport, Patches};
use crate::graph::NodeId;
use crate::npy;
use crate::progress::Progress;
use crate::run_dir::{
    BatchError, FileBatch, PatchFiles, PatchFolder, RunDir, patch_name, read_json, remove_patches,
    write_array, write_json,
};

/// Writes patches, patch graph and report; removes what an earlier run left there.
///
/// # Errors
/// [`PatchError::File`] if the folder cannot be written; [`PatchError::Cancelled`] if `progress` says
/// to stop, and then what was there before is still there.
pub fn write_patches(
    run: &RunDir,
    patches: &Patches,
    report: &PatchReport,
    progress: &dyn Progress,
) -> Result<(), PatchError> {
    let of = |patch: usize| Cow::Borrowed(&patches.patches()[patch]);
    let files = PatchesToBe::write(run, patches.num_patches(), progress, of)?;
    progress.end();
    files.publish(patches.graph(), patches.landmarks(), report)
}

/// The files of all patches, complete, but not under their names yet.
pub(super) struct PatchesToBe {
    folder: PatchFolder,
    files: FileBatch,
}

impl PatchesToBe {
    /// Writes each patch as soon as it is there; `patch_of` is called on several threads, and what it
    /// gives is forgotten when it is written. Progress goes on: the caller ends it.
    pub(super) fn write<'a>(
        run: &RunDir,
        num_patches: usize,
        progress: &dyn Progress,
        patch_of: impl Fn(usize) -> Cow<'a, Patch> + Sync,
    ) -> Result<Self, PatchError> {
        let folder = run.patches();
        let names: Vec<[String; 2]> =
            (0..num_patches).map(|patch| folder.file_names(&patch_name(patch))).collect();
        progress.begin("write patches", num_patches as u64, "patches");
        let files = FileBatch::write_groups(&folder, names, progress, |patch, [nodes, weights]| {
            let patch = patch_of(patch);
            npy::write::<u64>(nodes, &[patch.nodes.len()], bytemuck::cast_slice(&patch.nodes))?;
            npy::write(weights, &[patch.weights.len()], &patch.weights)
        })?;
        Ok(Self { folder, files })
    }

    /// Removes what an earlier run left, and gives the files their names; then comes the rest.
    pub(super) fn publish(
        self,
        graph: &PatchGraph,
        landmarks: &[NodeId],
        report: &PatchReport,
    ) -> Result<(), PatchError> {
        let Self { folder, files } = self;
        remove_patches(&folder)?;
        files.publish()?;
        let pairs: Vec<u64> = graph.edges().iter().flatten().map(|patch| patch.0.into()).collect();
        write_array(&folder.patch_graph(), &[pairs.len() / 2, 2], &pairs)?;
        if !landmarks.is_empty() {
            write_array::<u64>(&folder.landmarks(), &[landmarks.len()], bytemuck::cast_slice(landmarks))?;
        }
        Ok(write_json(&folder.report(), report)?)
    }
}

impl From<BatchError> for PatchError {
    fn from(error: BatchError) -> Self {
        match error {
            BatchError::File(error) => error.into(),
            BatchError::Cancelled => Self::Cancelled,
        }
    }
}

/// Reads the patches and the patch graph of a run.
///
/// # Errors
/// [`PatchError`] if a file is missing or does not fit the others.
pub fn read_patches(run: &RunDir) -> Result<Patches, PatchError> {
    let files = PatchFiles::numbered(&run.patches())?;
    let patches =
        (0..files.len()).into_par_iter().map(|index| read_patch(&files, index)).collect::<Result<_, _>>()?;
    let (graph, landmarks) = (read_patch_graph(run, files.len())?, read_landmarks(run)?);
    Ok(Patches { patches, graph, landmarks })
}

/// Reads the landmarks of a run, ascending; empty if there are none.
///
/// # Errors
/// [`PatchError`] if the file cannot be read, or the nodes are not ascending.
pub fn read_landmarks(run: &RunDir) -> Result<Vec<NodeId>, PatchError> {
    let path = run.patches().landmarks();
    if path.exists() { read_node_list(path) } else { Ok(Vec::new()) }
}

/// Reads the report of a run.
///
/// # Errors
/// [`PatchError`] if it is missing or cannot be understood.
pub fn read_report(run: &RunDir) -> Result<PatchReport, PatchError> {
    Ok(read_json(&run.patches().report())?)
}

/// Reads the nodes of each patch of a folder.
///
/// # Errors
/// [`PatchError`] if a file is missing, or nodes are not ascending.
pub fn read_node_lists(folder: &Path) -> Result<Vec<Vec<NodeId>>, PatchError> {
    let files = PatchFiles::numbered(folder)?;
    (0..files.len()).into_par_iter().map(|index| read_node_list(files.nodes(index))).collect()
}

/// Reads the weights of the nodes of each patch of a folder.
///
/// # Errors
/// [`PatchError`] if a file is missing or broken.
pub fn read_node_weights(folder: &Path) -> Result<Vec<Vec<f32>>, PatchError> {
    let files = PatchFiles::numbered(folder)?;
    (0..files.len()).into_par_iter().map(|index| read_weights(&files.weights(index))).collect()
}

fn read_node_list(path: PathBuf) -> Result<Vec<NodeId>, PatchError> {
    let nodes: Vec<NodeId> = read_integers(&path)?.1.into_iter().map(NodeId).collect();
    match nodes.is_sorted_by(|a, b| a < b) {
        true => Ok(nodes),
        false => {
            Err(PatchError::Content { path, problem: "does not list its nodes in ascending order".into() })
        }
    }
}

fn read_weights(path: &Path) -> Result<Vec<f32>, PatchError> {
    let read = npy::open(path).and_then(|reader| reader.floats());
    read.map_err(|source| PatchError::Array { path: path.to_owned(), source })
}

fn read_patch(files: &PatchFiles, index: usize) -> Result<Patch, PatchError> {
    let nodes = read_node_list(files.nodes(index))?;
    let path = files.weights(index);
    let weights = read_weights(&path)?;
    if weights.len() != nodes.len() {
        let problem = format!("has {} weights, but the patch has {} nodes", weights.len(), nodes.len());
        return Err(PatchError::Content { path, problem });
    }
    Ok(Patch { nodes, weights })
}

fn read_patch_graph(run: &RunDir, num_patches: usize) -> Result<PatchGraph, PatchError> {
    let path = run.patches().patch_graph();
    let (shape, numbers) = read_integers(&path)?;
    let wrong = |problem: String| PatchError::Content { path: path.clone(), problem };
    if shape.len() != 2 || shape[1] != 2 {
        return Err(wrong(format!("has shape {shape:?}, needed two columns")));
    }
    let edges: Vec<[u64; 2]> = numbers.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    let bad = edges.iter().find(|[a, b]| a == b || a.max(b) >= &(num_patches as u64));
    if let Some([a, b]) = bad {
        return Err(wrong(format!("joins patches {a} and {b}, but there are {num_patches} patches")));
    }
    Ok(PatchGraph::new(num_patches, edges.into_iter().map(|pair| pair.map(|patch| PatchId(patch as u32)))))
}

fn read_integers(path: &Path) -> Result<(Vec<usize>, Vec<u64>), PatchError> {
    let read = || {
        let reader = npy::open(path)?;
        Ok((reader.header().shape.clone(), reader.integers()?))
    };
    read().map_err(|source| PatchError::Array { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::graph::{BuildOptions, EdgeList, build};
    use crate::partition::Partition;
    use crate::patch::{PatchConfig, make_patches};
    use crate::progress::Silent;
    use crate::seed::Seed;

    fn arcs(num_clusters: u32) -> (Patches, PatchReport) {
        let ring = EdgeList::from_pairs((0..60_u32).map(|node| [node, (node + 1) % 60]).collect());
        let graph = build(ring, 60, &BuildOptions::default()).graph;
        let partition = Partition::from_labels((0..60).map(|node| node * num_clusters / 60).collect());
        let config = PatchConfig { min_overlap: Some(4), ..Default::default() };
        make_patches(&graph, &partition, &config, 2, Seed(1), &Silent).unwrap()
    }

    #[test]
    fn written_patches_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path());
        for num_clusters in [6, 4] {
            let (patches, report) = arcs(num_clusters);
            write_patches(&run, &patches, &report, &Silent).unwrap();
            assert_eq!(read_patches(&run).unwrap(), patches);
        }
        // Nothing of the six patches is left where four were written later.
        assert!(!run.patches().nodes(&patch_name(4)).exists());
        assert_eq!(read_report(&run).unwrap(), arcs(4).1);
    }

    #[test]
    fn cancelling_while_patches_are_written_leaves_the_old_ones() {
        struct Stop(AtomicUsize);
        impl Progress for Stop {
            fn is_cancelled(&self) -> bool {
                self.0.fetch_add(1, Ordering::Relaxed) >= 5
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path());
        let (patches, report) = arcs(4);
        write_patches(&run, &patches, &report, &Silent).unwrap();
        let (others, other_report) = arcs(6);
        let stopped = write_patches(&run, &others, &other_report, &Stop(AtomicUsize::new(0)));
        assert!(matches!(stopped, Err(PatchError::Cancelled)), "{stopped:?}");
        assert_eq!(read_patches(&run).unwrap(), patches);
        let is_litter = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with('.');
        assert!(!fs::read_dir(run.patches()).unwrap().any(|entry| is_litter(entry.unwrap())));
    }

    #[test]
    fn landmarks_are_read_back_and_do_not_outlive_their_run() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path());
        let (mut patches, report) = arcs(4);
        patches.landmarks = vec![NodeId(3), NodeId(9)];
        write_patches(&run, &patches, &report, &Silent).unwrap();
        assert_eq!(read_patches(&run).unwrap().landmarks(), [NodeId(3), NodeId(9)]);
        write_patches(&run, &arcs(4).0, &report, &Silent).unwrap();
        assert!(read_landmarks(&run).unwrap().is_empty());
        assert!(!run.patches().landmarks().exists());
    }

    #[test]
    fn files_that_do_not_fit_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path());
        let (patches, report) = arcs(4);
        write_patches(&run, &patches, &report, &Silent).unwrap();
        write_array(&run.patches().patch_graph(), &[1, 2], &[0_u64, 9]).unwrap();
        let error = read_patches(&run).unwrap_err().to_string();
        assert!(
            error.ends_with("patch_graph.npy` joins patches 0 and 9, but there are 4 patches"),
            "{error}"
        );
        write_array(&run.patches().nodes(&patch_name(2)), &[2], &[5_u64, 3]).unwrap();
        assert!(read_patches(&run).unwrap_err().to_string().contains("ascending"));
    }
}
