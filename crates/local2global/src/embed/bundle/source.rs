//! The run that bundles are made from, and that results come back to.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Seek, Write};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::BundleError;
use super::contents::{self, Header, PatchEntry};
use super::part::Part;
use super::shares::{Load, Share, share_out};
use crate::embed::memory::PatchSize;
use crate::embed::node_lists::NodeList;
use crate::embed::schedule::{Job, Room, is_made_from};
use crate::embed::stage::StageInput;
use crate::embed::{EmbedConfig, EmbedError, EmbedMethod, Frame};
use crate::graph::{Features, Graph, NodeId};
use crate::memory::BASE_BYTES;
use crate::partition::undirected;
use crate::progress::Progress;
use crate::run_dir::{BundleFolder, EmbeddingFolder, FileBatch, FileError, RunDir, patch_name, write_json};
use crate::seed::Seed;

/// How many jobs there are if nobody says.
pub const DEFAULT_JOBS: usize = 64;

/// A run whose patches are trained on other machines.
pub struct BundleSource {
    graph: Graph,
    patches: Vec<NodeList>,
    frame: Frame,
    pub(super) config: EmbedConfig,
    pub(super) seed: Seed,
    pub(super) folder: EmbeddingFolder,
    pub(super) digests: Vec<String>,
    loads: Vec<Load>,
}

/// A bundle, as the index of its folder tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleRecord {
    /// The file, in the folder of the index.
    pub file: String,
    /// Its patches.
    pub patches: Vec<usize>,
    /// How much work they are, in no particular unit.
    pub work: u64,
    /// The size of the file.
    pub bytes: u64,
    /// The memory that training takes, the program included.
    pub memory_bytes: u64,
}

/// The index of a folder of bundles.
#[derive(Debug, Serialize)]
struct Index<'a> {
    version: &'static str,
    jobs: &'a [BundleRecord],
}

impl BundleSource {
    /// Opens graph and patches of a run, makes the common frame if need be, and the digest of every
    /// patch.
    ///
    /// # Errors
    /// [`BundleError::Method`] for methods that need more than the patch; or as
    /// [`embed_run`](crate::embed::embed_run).
    pub fn open(
        run: &RunDir,
        config: &EmbedConfig,
        seed: Seed,
        progress: &dyn Progress,
    ) -> Result<Self, BundleError> {
        for of_patch in config.each() {
            match of_patch.method {
                EmbedMethod::Command => return Err(BundleError::Method { method: "command" }),
                EmbedMethod::Given => return Err(BundleError::Method { method: "given" }),
                _ => {}
            }
        }
        let StageInput { graph, patches, frame } = StageInput::open(run, config, None, seed, progress)?;
        let names_a_patch = |name: &&String| (0..patches.len()).any(|index| patch_name(index) == **name);
        if let Some(name) = config.patches.keys().find(|name| !names_a_patch(name)) {
            let num_patches = patches.len();
            return Err(EmbedError::NoSuchPatch { name: name.clone(), num_patches }.into());
        }
        // Methods that read rows of the whole graph see edges in both directions.
        let made = match config.reads_whole_rows() {
            true => match undirected(&graph) {
                Cow::Owned(made) => Some(made),
                Cow::Borrowed(_) => None,
            },
            false => None,
        };
        let graph = made.unwrap_or(graph);
        let known = patches.par_iter().enumerate().map(|(patch, nodes)| {
            let job = Job::new(&graph, patch, nodes.as_ref(), (config, &frame), seed);
            let held = held_bytes(&graph, nodes.as_ref());
            let load = Load { patch, work: job.work(), held, training: job.bytes };
            (job.digest, load)
        });
        let (digests, loads) = known.unzip();
        let (config, folder) = (config.clone(), run.embeddings());
        Ok(Self { graph, patches, frame, config, seed, folder, digests, loads })
    }

    /// How many patches there are.
    pub fn num_patches(&self) -> usize {
        self.patches.len()
    }

    /// The number of nodes of a patch.
    pub(super) fn num_nodes_of(&self, patch: usize) -> usize {
        self.patches[patch].as_ref().len()
    }

    /// The patches, of all or of those in `only`, that are not there yet, ascending.
    ///
    /// # Errors
    /// [`EmbedError::NoSuchIndex`] if `only` names a patch that is not there;
    /// [`EmbedError::Foreign`] if coordinates of another program are.
    pub fn waiting(&self, only: Option<&[usize]>) -> Result<Vec<usize>, EmbedError> {
        let num_patches = self.num_patches();
        let mut asked = only.map_or_else(|| (0..num_patches).collect(), <[usize]>::to_vec);
        asked.sort_unstable();
        asked.dedup();
        if let Some(&index) = asked.last().filter(|&&index| index >= num_patches) {
            return Err(EmbedError::NoSuchIndex { index, num_patches });
        }
        let foreign = |&patch: &usize| crate::embed::schedule::foreign(&self.folder, &patch_name(patch));
        match asked.iter().find_map(foreign) {
            Some(path) => Err(EmbedError::Foreign { path }),
            None => Ok(asked.into_par_iter().filter(|&patch| !self.is_done(patch)).collect()),
        }
    }

    /// Whether a patch is there, made from the same inputs.
    pub(super) fn is_done(&self, patch: usize) -> bool {
        is_made_from(&self.folder, &patch_name(patch), &self.digests[patch])
    }

    /// Divides patches among so many jobs of about equal length, or more where memory asks for it; the
    /// longest job comes first.
    ///
    /// # Errors
    /// [`EmbedError::Memory`] if a single patch needs more memory than there may be used.
    pub fn share_out(&self, patches: &[usize], num_jobs: usize) -> Result<Vec<Share>, EmbedError> {
        let loads = patches.iter().map(|&patch| self.loads[patch].clone()).collect();
        let room = Room { limit: self.config.memory_bytes, taken: self.frame.memory_bytes() };
        share_out(loads, num_jobs, room)
    }

    /// Some patches as one job, whatever memory that takes.
    ///
    /// # Panics
    /// If there is no such patch.
    pub fn as_one(&self, patches: &[usize]) -> Share {
        let mut share = Share::default();
        patches.iter().for_each(|&patch| share.add(&self.loads[patch]));
        share
    }

    /// The memory that training a job takes, the program included.
    pub fn memory_bytes(&self, share: &Share) -> u64 {
        BASE_BYTES + self.frame.memory_bytes() + share.bytes()
    }

    /// Writes the bundle of a job.
    ///
    /// # Errors
    /// What the system said.
    pub fn write(&self, share: &Share, sink: impl Write + Seek) -> io::Result<()> {
        let names: Vec<String> = share.patches.iter().map(|&patch| patch_name(patch)).collect();
        let mut settings = self.config.clone();
        settings.patches.retain(|name, _| names.contains(name));
        let patches = share.patches.iter().map(|&patch| self.entry(patch)).collect();
        let header = Header::new((settings, self.seed), &self.frame, patches);
        let frame = self.frame.for_nodes(Vec::new()).map_err(io::Error::other)?;
        contents::write(sink, &header, &frame, |patch| self.cut(patch))
    }

    fn entry(&self, patch: usize) -> PatchEntry {
        PatchEntry {
            patch,
            symmetric: self.graph.is_symmetric(),
            columns: match self.graph.features() {
                Some(features @ Features::Sparse(_)) => Some(features.width()),
                _ => None,
            },
            training_bytes: self.loads[patch].training,
            digest: self.digests[patch].clone(),
        }
    }

    fn cut(&self, patch: usize) -> io::Result<Part> {
        let nodes: &[NodeId] = self.patches[patch].as_ref();
        let config = self.config.of_patch(&patch_name(patch));
        let clusters = self.frame.walks.as_ref().map(|walks| walks.clusters());
        let part = match config.reads_whole_rows() {
            true => Part::surrounded(&self.graph, nodes, clusters),
            false => Part::alone(&self.graph, nodes),
        };
        part.map_err(io::Error::other)
    }

    /// Writes the bundles of all jobs into a folder, and an index that says which there are; older
    /// bundles there are removed.
    ///
    /// # Errors
    /// [`BundleError`] if a file cannot be written, or somebody asks to stop; then the folder is as it
    /// was.
    pub fn write_all(
        &self,
        shares: &[Share],
        folder: &BundleFolder,
        progress: &dyn Progress,
    ) -> Result<Vec<BundleRecord>, BundleError> {
        let names: Vec<String> = (0..shares.len()).map(BundleFolder::file_name).collect();
        progress.begin("write bundles", names.len() as u64, "bundles");
        let batch =
            FileBatch::write(folder, names, progress, |index, sink| self.write(&shares[index], sink))?;
        progress.end();
        let index = folder.index();
        for old in folder.bundles()?.into_iter().chain(index.exists().then(|| index.clone())) {
            fs::remove_file(&old).map_err(FileError::at("remove", &old))?;
        }
        batch.publish()?;
        let records = (0..).zip(shares).map(|(index, share)| {
            let path = folder.bundle(index);
            let bytes = fs::metadata(&path).map_err(FileError::at("read", &path))?.len();
            let file = BundleFolder::file_name(index);
            let memory_bytes = self.memory_bytes(share);
            Ok(BundleRecord { file, patches: share.patches.clone(), work: share.work, bytes, memory_bytes })
        });
        let records: Vec<BundleRecord> = records.collect::<Result<_, FileError>>()?;
        write_json(&index, &Index { version: env!("CARGO_PKG_VERSION"), jobs: &records })?;
        Ok(records)
    }
}

/// About how many bytes a patch takes as a bundle brings it: its graph, and its rows.
fn held_bytes(graph: &Graph, nodes: &[NodeId]) -> u64 {
    let size = PatchSize::new(graph, nodes);
    // Every edge may lead to a node of its own.
    let rows = 12 * size.num_nodes as u64 + 20 * size.num_edges as u64;
    size.graph_bytes() + rows
}
