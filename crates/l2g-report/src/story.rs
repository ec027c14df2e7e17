//! What a run folder tells of itself, besides its nodes: settings, records of all stages, sizes on disk.
//!
//! All but the graph may be missing; the page says so in the place of what is missing.

use std::fs;
use std::path::Path;

use local2global::align::diagnostics::Diagnostics;
use local2global::embed::FrameRecord;
use local2global::embed::choose::Choice;
use local2global::evaluate::Scores;
use local2global::graph::load::GraphSummary;
use local2global::graph::store;
use local2global::patch::PatchReport;
use local2global::pipeline::{StageName, Stamp};
use local2global::run_dir::{FileError, RunDir, read_json};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::ReportError;

/// All that is told.
pub(crate) struct Story {
    /// The name of the run folder.
    pub(crate) name: String,
    /// The folder as it was given.
    pub(crate) folder: String,
    /// `run.toml`, if it is there.
    pub(crate) settings: Option<String>,
    pub(crate) stages: Vec<StageStory>,
    pub(crate) graph: GraphSummary,
    pub(crate) patches: Option<PatchReport>,
    pub(crate) choices: Vec<Choice>,
    pub(crate) training: Vec<Training>,
    pub(crate) alignment: Option<Diagnostics>,
    pub(crate) scores: Option<Scores>,
}

/// A stage, as far as it is done.
pub(crate) struct StageStory {
    pub(crate) stage: StageName,
    /// None if it was not finished, or by another program.
    pub(crate) stamp: Option<Stamp>,
    /// The size of all its files.
    pub(crate) bytes: u64,
}

/// How the training of one patch went.
#[derive(Deserialize)]
pub(crate) struct Training {
    pub(crate) patch: String,
    #[serde(default)]
    pub(crate) nodes: usize,
    #[serde(default)]
    pub(crate) edges: usize,
    /// The reconstruction AUC of the patch; none for other programs.
    pub(crate) auc: Option<f64>,
    pub(crate) seconds: Option<f64>,
    /// The loss of each epoch; none for methods without epochs.
    #[serde(default)]
    pub(crate) losses: Vec<f64>,
}

impl Story {
    /// Reads a run folder.
    pub(crate) fn read(run: &RunDir) -> Result<Self, ReportError> {
        let (_, description) = store::open(&run.graph())?;
        let absolute = fs::canonicalize(run.root()).unwrap_or_else(|_| run.root().to_owned());
        let name = absolute.file_name().unwrap_or(absolute.as_os_str());
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            folder: run.root().display().to_string(),
            settings: read_text(&run.settings())?,
            stages: StageName::ALL.map(|stage| StageStory::of(run, stage)).into(),
            graph: description.summary,
            patches: record(&run.patches().report())?,
            choices: FrameRecord::read(&run.embeddings()).map_or(Vec::new(), |record| record.choices),
            training: training(run)?,
            alignment: record(&run.alignment().report())?,
            scores: record(&run.evaluation().scores())?,
        })
    }
}

impl StageStory {
    fn of(run: &RunDir, stage: StageName) -> Self {
        let folder = stage.folder(run);
        let bytes = size_of(&folder);
        Self { stage, stamp: Stamp::finished(&folder), bytes }
    }
}

/// The records of all patches, in their order.
fn training(run: &RunDir) -> Result<Vec<Training>, FileError> {
    let folder = run.embeddings();
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut names = folder.recorded()?;
    names.sort();
    names.iter().map(|name| read_json(&folder.record(name))).collect()
}

/// A record, if it is there.
fn record<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FileError> {
    if path.exists() { read_json(path).map(Some) } else { Ok(None) }
}

fn read_text(path: &Path) -> Result<Option<String>, FileError> {
    match path.exists() {
        true => fs::read_to_string(path).map(Some).map_err(FileError::at("read", path)),
        false => Ok(None),
    }
}

/// The size of all files in a folder and below; what cannot be read does not count.
fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(data) if data.is_dir() => size_of(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
