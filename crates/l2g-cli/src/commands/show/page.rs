//! The page about a run: a line for each stage, then what the stages found out.

use std::path::Path;

use local2global::align::diagnostics::{Diagnostics, PatchFit};
use local2global::config::Config;
use local2global::evaluate::Scores;
use local2global::graph::load::GraphSummary;
use local2global::graph::store::Description;
use local2global::patch::PatchReport;
use local2global::pipeline::{StageName, StageStatus, State};
use local2global::run_dir::{FileError, RunDir, folder_bytes, read_json};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::{evaluate, graph, patch};
use crate::output::{bytes, columns, grouped};

/// So many patches that fit badly are named.
const WORST: usize = 3;

/// What a run folder holds. Records of stages that are missing are none; what is stale is told as it is.
pub(super) struct Page<'a> {
    run: &'a RunDir,
    config: &'a Config,
    stages: Vec<StageStatus>,
    bytes: u64,
    summary: Option<GraphSummary>,
    patches: Option<PatchReport>,
    /// The number of patches that have coordinates.
    embedded: usize,
    found: Option<Diagnostics>,
    scores: Option<Scores>,
}

/// What `--json` prints.
#[derive(Serialize)]
pub(super) struct Record<'a> {
    run: &'a Path,
    seed: u64,
    method: Value,
    dim: usize,
    stages: &'a [StageStatus],
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    graph: Option<&'a GraphSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patches: Option<usize>,
    embedded_patches: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    oversampling: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'a str>,
    worst_patches: Vec<&'a PatchFit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<&'a Scores>,
}

impl<'a> Page<'a> {
    pub(super) fn read(
        run: &'a RunDir,
        config: &'a Config,
        stages: Vec<StageStatus>,
    ) -> Result<Self, FileError> {
        let summary: Option<Description> = read_if_there(&run.graph().description())?;
        let embeddings = run.embeddings();
        let recorded = if embeddings.exists() { embeddings.recorded()? } else { Vec::new() };
        Ok(Self {
            bytes: folder_bytes(run.root())?,
            summary: summary.map(|description| description.summary),
            patches: read_if_there(&run.patches().report())?,
            embedded: recorded.iter().filter(|name| embeddings.coordinates(name).exists()).count(),
            found: read_if_there(&run.alignment().report())?,
            scores: read_if_there(&run.evaluation().scores())?,
            run,
            config,
            stages,
        })
    }

    /// For programs.
    pub(super) fn record(&self) -> anyhow::Result<Record<'_>> {
        Ok(Record {
            run: self.run.root(),
            seed: self.config.seed.0,
            method: serde_json::to_value(self.config.embed.method)?,
            dim: self.config.embed.dim,
            stages: &self.stages,
            bytes: self.bytes,
            graph: self.summary.as_ref(),
            patches: self.patches.as_ref().map(|patches| patches.patches),
            embedded_patches: self.embedded,
            oversampling: self.patches.as_ref().map(|patches| patches.oversampling),
            verdict: self.found.as_ref().map(|found| found.verdict.as_str()),
            worst_patches: self.worst_patches(),
            scores: self.scores.as_ref(),
        })
    }

    /// For people.
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![("run", self.run.root().display().to_string())];
        let lines = columns(&self.stage_lines());
        let names = std::iter::once("stages").chain(std::iter::repeat(""));
        rows.extend(names.zip(lines.lines().map(str::to_owned)));
        rows.extend(self.summary.iter().flat_map(graph::rows));
        rows.extend(self.patches.as_ref().map(|patches| ("patches", self.patches_text(patches))));
        rows.extend(self.found.as_ref().map(|found| ("alignment", found.verdict.clone())));
        let worst = self.worst_patches().into_iter().map(fit_text);
        rows.extend(std::iter::once("worst patches").chain(std::iter::repeat("")).zip(worst));
        rows.extend(self.scores.iter().flat_map(evaluate::rows));
        rows.push(("settings", self.run.settings().display().to_string()));
        rows.push(("disk", bytes(self.bytes)));
        rows
    }

    /// A line for each stage: name, state, seconds, disk, and why it would be done.
    fn stage_lines(&self) -> Vec<Vec<String>> {
        let line = |status: &StageStatus| {
            let seconds = status.seconds.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.2} s"));
            let state = match status.state {
                State::Done => "done",
                State::Missing => "missing",
                State::Stale => "stale",
            };
            let why = self.why(status).unwrap_or_default();
            vec![status.stage.name().to_owned(), state.to_owned(), seconds, bytes(status.bytes), why]
        };
        self.stages.iter().map(line).collect()
    }

    /// Why a stage would be done, where that does not go without saying.
    fn why(&self, status: &StageStatus) -> Option<String> {
        let count = self.patches.as_ref().map_or(0, |patches| patches.patches);
        if status.stage == StageName::Embed && status.state == State::Missing && self.embedded > 0 {
            return Some(format!("{} of {} patches are there", grouped(self.embedded), grouped(count)));
        }
        status.reason.clone().filter(|reason| reason != "not done yet")
    }

    fn patches_text(&self, report: &PatchReport) -> String {
        match report.patches {
            1 => "1: the whole graph".into(),
            count => format!("{}, {}", grouped(count), patch::sizes_and_copies(report)),
        }
    }

    /// The patches that fit their neighbours worst, the worst first.
    fn worst_patches(&self) -> Vec<&PatchFit> {
        let Some(found) = self.found.as_ref().filter(|found| found.patches > 1) else { return Vec::new() };
        let mut fits: Vec<&PatchFit> = found.patch_list.iter().collect();
        fits.sort_by(|a, b| b.misfit.total_cmp(&a.misfit));
        fits.truncate(WORST);
        fits
    }
}

/// How a patch fits, in words.
pub(super) fn fit_text(fit: &PatchFit) -> String {
    let (percent, neighbors) = (100.0 * fit.misfit, fit.neighbors);
    let plural = if neighbors == 1 { "" } else { "s" };
    format!(
        "{}: copies of the nodes that it shares with {neighbors} neighbour{plural} are {percent:.1} % of their spread \
         apart",
        fit.patch
    )
}

/// A record that a stage has left; none if it has not.
pub(super) fn read_if_there<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FileError> {
    path.exists().then(|| read_json(path)).transpose()
}
