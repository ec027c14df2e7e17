//! What is in a bundle, written and read.

use std::io::{self, Seek, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::BundleError;
use super::part::{Part, Surroundings};
use crate::embed::{EmbedConfig, EmbedError, EmbedMethod, Frame};
use crate::graph::features::{DenseFeatures, SparseFeatures};
use crate::graph::{Features, Graph, NodeId, Targets};
use crate::npy::Element;
use crate::run_dir::{ArrayArchive, ArrayFile, FileError, SCHEMA, patch_name};
use crate::seed::Seed;

/// The text beside the arrays.
const HEADER: &str = "bundle.json";

/// `bundle.json`: everything but arrays.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Header {
    schema: u32,
    /// The version of the program.
    version: String,
    pub(super) seed: Seed,
    /// The method that `auto` stands for.
    pub(super) method: EmbedMethod,
    pub(super) settings: EmbedConfig,
    /// The digest of the common frame.
    pub(super) frame: Option<String>,
    pub(super) patches: Vec<PatchEntry>,
}

/// What is known of a patch beside its arrays.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PatchEntry {
    /// Its number.
    pub(super) patch: usize,
    /// Whether every edge stands in both rows.
    pub(super) symmetric: bool,
    /// The number of columns, where features are sparse.
    pub(super) columns: Option<usize>,
    /// The memory that training takes.
    pub(super) training_bytes: u64,
    /// The digest of everything that the coordinates are made from.
    pub(super) digest: String,
}

/// The part of the header that every version has.
#[derive(Deserialize)]
struct MadeBy {
    version: String,
}

impl Header {
    pub(super) fn new(
        (settings, seed): (EmbedConfig, Seed),
        frame: &Frame,
        patches: Vec<PatchEntry>,
    ) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let (method, frame) = (frame.method(), frame.digest().map(str::to_owned));
        Self { schema: SCHEMA, version, seed, method, settings, frame, patches }
    }
}

/// Writes a bundle, one patch after the other; `part_of` cuts a patch out.
pub(super) fn write(
    sink: impl Write + Seek,
    header: &Header,
    frame: &Frame,
    mut part_of: impl FnMut(usize) -> io::Result<Part>,
) -> io::Result<()> {
    let mut archive = ArrayArchive::compressed(sink);
    archive.add_text(HEADER, &serde_json::to_string(header)?)?;
    frame.add_to(&mut archive)?;
    for entry in &header.patches {
        let part = part_of(entry.patch)?;
        PartWriter { archive: &mut archive, name: patch_name(entry.patch) }.add_all(&part)?;
    }
    archive.finish()
}

struct PartWriter<'a, W: Write + Seek> {
    archive: &'a mut ArrayArchive<W>,
    name: String,
}

impl<W: Write + Seek> PartWriter<'_, W> {
    fn add<T: Element>(&mut self, name: &str, values: &[T]) -> io::Result<()> {
        self.archive.add(&format!("{}/{name}", self.name), &[values.len()], values)
    }

    fn add_all(&mut self, part: &Part) -> io::Result<()> {
        self.add::<u64>("nodes", bytemuck::cast_slice(&part.nodes))?;
        let rows = match &part.surroundings {
            Some(Surroundings { rows, places, clusters }) => {
                self.add::<u64>("rows", bytemuck::cast_slice(places))?;
                if !clusters.is_empty() {
                    self.add("clusters", clusters)?;
                }
                rows
            }
            None => &part.graph,
        };
        self.add("indptr", rows.offsets())?;
        match rows.targets() {
            Targets::Narrow(targets) => self.add("indices", targets)?,
            Targets::Wide(_) => unreachable!("a part has fewer than 2^32 nodes"),
        }
        if let Some(weights) = rows.weights() {
            self.add("weights", weights)?;
        }
        match part.graph.features() {
            None => Ok(()),
            Some(Features::Dense(dense)) => self.add("features", dense.values()),
            Some(Features::Sparse(sparse)) => {
                self.add("features_indptr", sparse.offsets())?;
                self.add("features_indices", sparse.columns())?;
                self.add("features_data", sparse.values())
            }
        }
    }
}

/// A bundle, read.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) header: Header,
    /// The common frame, without the clusters of nodes.
    pub(super) frame: Frame,
    /// The patches that the header names.
    pub(super) parts: Vec<Part>,
}

impl Contents {
    /// Reads a bundle, every byte of which is checked.
    pub(super) fn read(path: &Path) -> Result<Self, BundleError> {
        let damaged = |problem: String| BundleError::Damaged { path: path.to_owned(), problem };
        let unreadable = |error: FileError| match path.is_file() {
            true => damaged(error.source.to_string()),
            false => error.into(),
        };
        let mut file = ArrayFile::open(path).map_err(unreadable)?;
        let text = file.text(HEADER).map_err(unreadable)?;
        let MadeBy { version } = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if version != env!("CARGO_PKG_VERSION") {
            return Err(BundleError::Version { path: path.to_owned(), found: version });
        }
        let header: Header = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        let frame = Frame::read_from(&mut file).map_err(|error| match error {
            EmbedError::File(error) => unreadable(error),
            other => damaged(other.to_string()),
        })?;
        let frame = frame.known_as(header.method, header.frame.clone());
        let parts = header.patches.iter().map(|entry| {
            PartReader { file: &mut file, name: patch_name(entry.patch) }.read(entry).map_err(&damaged)
        });
        Ok(Self { parts: parts.collect::<Result<_, _>>()?, frame, header })
    }
}

struct PartReader<'a> {
    file: &'a mut ArrayFile,
    name: String,
}

impl PartReader<'_> {
    fn has(&self, name: &str) -> bool {
        self.file.has(&format!("{}/{name}", self.name))
    }

    fn array<T: Element>(&mut self, name: &str) -> Result<Vec<T>, String> {
        let array = self.file.exact::<T>(&format!("{}/{name}", self.name));
        Ok(array.map_err(|error| error.source.to_string())?.values.to_vec())
    }

    fn nodes(&mut self, name: &str) -> Result<Vec<NodeId>, String> {
        let nodes: Vec<NodeId> = self.array::<u64>(name)?.into_iter().map(NodeId).collect();
        match nodes.is_sorted_by(|a, b| a < b) {
            true => Ok(nodes),
            false => Err(format!("`{name}` of {} are not ascending", self.name)),
        }
    }

    /// The patch; or, in words, what does not fit.
    fn read(mut self, entry: &PatchEntry) -> Result<Part, String> {
        let nodes = self.nodes("nodes")?;
        let rows = self.rows(entry)?;
        let features = self.features(entry.columns, nodes.len())?;
        let part = if self.has("rows") {
            let places = self.nodes("rows")?;
            let clusters = if self.has("clusters") { self.array("clusters")? } else { Vec::new() };
            let fits = places.len() == nodes.len()
                && places.last().is_none_or(|last| last.index() < rows.num_nodes())
                && (clusters.is_empty() || clusters.len() == rows.num_nodes());
            if !fits {
                return Err(format!("rows of {} do not fit its nodes", self.name));
            }
            Part::of_surroundings(nodes, Surroundings { rows, places, clusters }, features)
        } else {
            rows.with_features(features).map(|graph| Part { nodes, graph, surroundings: None })
        };
        let part = part.map_err(|error| error.to_string())?;
        match part.graph.num_nodes() == part.nodes.len() {
            true => Ok(part),
            false => Err(format!("rows of {} do not fit its nodes", self.name)),
        }
    }

    fn rows(&mut self, entry: &PatchEntry) -> Result<Graph, String> {
        let weights = if self.has("weights") { Some(self.array::<f32>("weights")?) } else { None };
        let (offsets, targets) = (self.array::<u64>("indptr")?, self.array::<u32>("indices")?);
        Graph::from_rows(offsets.into(), targets.into(), entry.symmetric)
            .and_then(|graph| graph.with_weights(weights.map(Into::into)))
            .map_err(|error| error.to_string())
    }

    fn features(&mut self, columns: Option<usize>, num_nodes: usize) -> Result<Option<Features>, String> {
        let features = if let Some(columns) = columns {
            let offsets = self.array::<u64>("features_indptr")?;
            let (indices, values) =
                (self.array::<u32>("features_indices")?, self.array::<f32>("features_data")?);
            let sparse = SparseFeatures::new(columns, offsets.into(), indices.into(), values.into());
            sparse.and_then(|sparse| sparse.check_rows().map(|()| Features::Sparse(sparse)))
        } else if self.has("features") {
            let values = self.array::<f32>("features")?;
            let columns = values.len() / num_nodes.max(1);
            DenseFeatures::new(num_nodes, columns, values.into()).map(Features::Dense)
        } else {
            return Ok(None);
        };
        features.map(Some).map_err(|error| error.to_string())
    }
}
