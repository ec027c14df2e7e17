//! `l2g report RUN`: a run folder as one page for a browser.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use l2g_report::{Reported, is_experiment, write_experiment, write_report};
use local2global::layout::LayoutMethod;
use local2global::pipeline::{StageName, check_unchanged};
use local2global::run_dir::{ExperimentFolder, RunDir};
use serde::Serialize;

use crate::choice::choice;
use crate::context::Context;
use crate::cost::Cost;
use crate::output::{bytes, grouped};

/// Show a run as one page for a browser.
///
/// Writes `report.html` into the run folder: one file that needs no network, no server and no other file.
/// It holds a map of all nodes (zoom, select, search, colour by label, patch, degree, community or alignment
/// spread), the patches and how well they fit, training curves, scores beside their baselines, and what was
/// done. The folder of an experiment becomes a page with its figure and tables.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  l2g report runs/cora\n  l2g report runs/big --layout pca --out big.html\n  \
    l2g run edges.csv --report"
)]
pub(crate) struct ReportArgs {
    /// The run folder, with the embedding in `5-alignment`; or the folder of an experiment
    run: PathBuf,

    #[command(flatten)]
    layout: LayoutArgs,

    /// The file to write [default: RUN/report.html]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// How nodes are put into the plane.
#[derive(Debug, Args)]
pub(crate) struct LayoutArgs {
    /// How nodes are put into the plane [default: auto]
    #[arg(long, value_name = "METHOD")]
    layout: Option<LayoutArg>,
}

impl LayoutArgs {
    pub(crate) fn is_given(&self) -> bool {
        self.layout.is_some()
    }

    pub(crate) fn method(&self) -> LayoutMethod {
        self.layout.map_or(LayoutMethod::Auto, LayoutMethod::from)
    }
}

choice! {
    pub(crate) LayoutArg for LayoutMethod {
        /// UMAP up to 200000 nodes, PCA above
        Auto,
        /// The two directions of largest variance
        Pca,
        /// Nearest neighbours near each other
        Umap,
    }
}

#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    reported: &'a Reported,
    #[serde(flatten)]
    cost: Cost,
}

pub(crate) fn execute(args: &ReportArgs, context: &Context) -> anyhow::Result<()> {
    if is_experiment(&args.run) {
        return report_experiment(args, context);
    }
    let run = RunDir::new(&args.run);
    let reported = report(&run, args.layout.method(), args.out.as_deref(), context)?;
    let record = Record { reported: &reported, cost: Cost::so_far(context) };
    let shown = match reported.shown < reported.nodes {
        true => format!("a sample of {} of {}", grouped(reported.shown), grouped(reported.nodes)),
        false => grouped(reported.nodes),
    };
    let mut rows =
        vec![("nodes", shown), ("layout", reported.layout.to_owned()), ("size", bytes(reported.bytes))];
    rows.extend(record.cost.rows());
    rows.push(("written", reported.file.display().to_string()));
    context.output.show(&record, &rows)
}

/// Writes the report of a run; without a path, into the run folder.
pub(crate) fn report(
    run: &RunDir,
    method: LayoutMethod,
    out: Option<&Path>,
    context: &Context,
) -> anyhow::Result<Reported> {
    let could_not = || format!("could not report on run `{}`", run.root().display());
    check_unchanged(run, StageName::Align).with_context(could_not)?;
    let out = out.map_or_else(|| run.report(), Path::to_owned);
    write_report(run, method, &out, &context.progress).with_context(could_not)
}

/// What `--json` prints of the page of an experiment.
#[derive(Serialize)]
struct ExperimentRecord {
    file: PathBuf,
    bytes: u64,
}

fn report_experiment(args: &ReportArgs, context: &Context) -> anyhow::Result<()> {
    let folder = ExperimentFolder::at(&args.run);
    let file = args.out.clone().unwrap_or_else(|| folder.report());
    let size = write_experiment(&folder, &file)
        .with_context(|| format!("could not report on experiment `{}`", args.run.display()))?;
    let rows = [("size", bytes(size)), ("written", file.display().to_string())];
    context.output.show(&ExperimentRecord { file, bytes: size }, &rows)
}
