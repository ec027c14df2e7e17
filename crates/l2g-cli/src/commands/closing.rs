//! What `l2g run` ends with: the table for people, and the record for programs.

use std::path::{Path, PathBuf};

use local2global::align::diagnostics::Diagnostics;
use local2global::config::Config;
use local2global::embed::FrameRecord;
use local2global::embed::choose::Choice;
use local2global::evaluate::Scores;
use local2global::graph::load::GraphSummary;
use local2global::graph::store;
use local2global::memory;
use local2global::partition::NumClusters;
use local2global::patch::PatchReport;
use local2global::pipeline::StageReport;
use local2global::run_dir::{RunDir, read_json};
use serde::Serialize;

use super::{evaluate, graph, patch};
use crate::advice;
use crate::output::{bytes, grouped};

type Rows = Vec<(&'static str, String)>;

/// What the stages of a run left, and what happened in this one.
pub(crate) struct Closing<'a> {
    run: &'a RunDir,
    config: &'a Config,
    reports: &'a [StageReport],
    exported: &'a [PathBuf],
    summary: GraphSummary,
    patches: PatchReport,
    choices: Vec<Choice>,
    found: Diagnostics,
    scores: Scores,
    peak_bytes: Option<u64>,
}

/// What `--json` prints.
#[derive(Serialize)]
pub(crate) struct Record<'a> {
    #[serde(flatten)]
    summary: &'a GraphSummary,
    dim: usize,
    patches: usize,
    oversampling: f64,
    copies: f64,
    choices: &'a [Choice],
    verdict: &'a str,
    worst_patch: Option<&'a str>,
    advice: Vec<String>,
    #[serde(flatten)]
    scores: serde_json::Map<String, serde_json::Value>,
    stages: &'a [StageReport],
    seconds: serde_json::Map<String, serde_json::Value>,
    peak_bytes: Option<u64>,
    exported: &'a [PathBuf],
    out: &'a Path,
}

impl<'a> Closing<'a> {
    /// Reads what the stages left.
    pub(crate) fn read(
        run: &'a RunDir,
        config: &'a Config,
        reports: &'a [StageReport],
        exported: &'a [PathBuf],
    ) -> anyhow::Result<Self> {
        Ok(Self {
            run,
            config,
            reports,
            exported,
            summary: store::open(&run.graph())?.1.summary,
            patches: read_json(&run.patches().report())?,
            choices: FrameRecord::read(&run.embeddings()).map_or(Vec::new(), |record| record.choices),
            found: read_json(&run.alignment().report())?,
            scores: read_json(&run.evaluation().scores())?,
            peak_bytes: memory::peak_bytes(),
        })
    }

    /// For programs.
    pub(crate) fn record(&self) -> anyhow::Result<Record<'_>> {
        let seconds =
            self.reports.iter().map(|report| (report.stage.name().to_owned(), report.seconds.into()));
        Ok(Record {
            summary: &self.summary,
            dim: self.config.embed.dim,
            patches: self.patches.patches,
            oversampling: self.patches.oversampling,
            copies: self.patches.copies(),
            choices: &self.choices,
            verdict: &self.found.verdict,
            worst_patch: self.found.worst_patch.as_deref(),
            advice: self.advice(),
            scores: only_scores(&self.scores)?,
            stages: self.reports,
            seconds: seconds.collect(),
            peak_bytes: self.peak_bytes,
            exported: self.exported,
            out: self.run.root(),
        })
    }

    /// For people.
    pub(crate) fn rows(&self) -> Rows {
        let mut rows = graph::rows(&self.summary);
        rows.push(("patches", self.patches_text()));
        let chosen =
            |choice: &Choice| format!("embed.{} = {}: {}", choice.setting, choice.chosen, choice.reason);
        rows.extend(self.choices.iter().map(|choice| ("chosen", chosen(choice))));
        rows.push(("alignment", self.found.verdict.clone()));
        rows.extend(self.worst_patch_text().map(|text| ("worst patch", text)));
        rows.extend(evaluate::rows(&self.scores));
        rows.extend(self.advice().into_iter().map(|advice| ("advice", advice)));
        rows.push(("seconds", seconds_text(self.reports)));
        rows.extend(self.peak_bytes.map(|peak| ("peak memory", bytes(peak))));
        let embedding = self.run.alignment().embedding();
        let shape = format!("{} nodes x {} coordinates", grouped(self.summary.nodes), self.config.embed.dim);
        rows.push(("embedding", format!("{} ({shape})", embedding.display())));
        rows.extend(self.exported.iter().map(|path| ("exported", path.display().to_string())));
        rows
    }

    fn advice(&self) -> Vec<String> {
        advice::on_run(self.config, &self.patches, &self.found)
    }

    fn patches_text(&self) -> String {
        let asked = match self.config.partition.size {
            NumClusters::Clusters(asked) if asked != self.patches.patches => {
                format!(" ({} clusters were asked for; small ones were merged)", grouped(asked))
            }
            _ => String::new(),
        };
        let lost = match self.patches.edges_in_no_patch.share {
            0.0 => String::new(),
            share => format!("; {:.1} % of the edges in none", 100.0 * share),
        };
        match self.patches.patches {
            1 => format!("1{asked}: the whole graph"),
            count => format!("{}{asked}, {}{lost}", grouped(count), patch::sizes_and_copies(&self.patches)),
        }
    }

    /// The patch that fits worst, where there are several.
    fn worst_patch_text(&self) -> Option<String> {
        let worst = self.found.worst_patch.as_ref().filter(|_| self.found.patches > 1)?;
        let patch = self.found.patch_list.iter().find(|patch| patch.patch == *worst)?;
        let percent = 100.0 * patch.misfit;
        Some(format!("{worst}: copies of its shared nodes are {percent:.1} % of their spread apart"))
    }
}

/// The scores without the nodes and seed that the record has already.
fn only_scores(scores: &Scores) -> anyhow::Result<serde_json::Map<String, serde_json::Value>> {
    let mut record = serde_json::to_value(scores)?.as_object().cloned().unwrap_or_default();
    record.retain(|key, _| key != "nodes" && key != "seed");
    Ok(record)
}

fn seconds_text(reports: &[StageReport]) -> String {
    let text = |report: &StageReport| match report.reason {
        None => format!("{} kept", report.stage.name()),
        Some(_) => format!("{} {:.2}", report.stage.name(), report.seconds),
    };
    reports.iter().map(text).collect::<Vec<_>>().join(", ")
}
