//! `l2g align RUN`: stitch the patch embeddings into one.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use local2global::align::diagnostics::Diagnostics;
use local2global::align::{
    Accuracy, AlignFilesError, AlignPaths, EmbeddingRows, UpdateReport, align_files, update_files_then,
};
use local2global::config::Config;
use local2global::linalg::polar::Precision;
use local2global::pipeline::{GraphSource, Pipeline, Sharing, StageName};
use local2global::run_dir::{PatchFilesError, RunDir, read_json};
use serde::Serialize;

use crate::advice;
use crate::context::{Context, UsageError};
use crate::cost::Cost;
use crate::output::grouped;
use crate::stage::StageWork;

use super::frame;

/// Stitch the patch embeddings into one global embedding.
///
/// RUN is a run folder with `3-patches` and `4-embeddings`. Patches from anywhere are aligned
/// with `--nodes` and `--coords`: two folders with a file NAME.npy for each patch, in the first
/// its nodes (any non-negative integers), in the second their coordinates, row by row. The result
/// then has `nodes.npy` beside `embedding.npy`.
///
/// Sites that keep their graphs are aligned with `--shares`: a folder with a share of `l2g share` for
/// each. The result is a frame for `l2g join`, with the motion of each site and no coordinates.
///
/// Settings are those of the table `[align]`, as in `--set align.weights=robust`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  l2g align runs/cora\n  l2g align --nodes nodes --coords coords --out \
    aligned\n  l2g align runs/cora --set align.weights=robust\n  l2g align runs/cora --update patch-00003\n  \
    l2g align --shares shares --out frame")]
pub(crate) struct AlignArgs {
    /// A run folder
    #[arg(required_unless_present_any = ["nodes", "shares"])]
    run: Option<PathBuf>,

    /// A folder of node lists, one NAME.npy per patch
    #[arg(long, value_name = "DIR", requires_all = ["coords", "out"], conflicts_with = "run")]
    nodes: Option<PathBuf>,

    /// A folder of coordinates, one NAME.npy per patch
    #[arg(long, value_name = "DIR", requires = "nodes", conflicts_with = "run")]
    coords: Option<PathBuf>,

    /// Use these pairs of patches only: E x 2 positions in the sorted list of names
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    edges: Option<PathBuf>,

    /// The folder to write into
    #[arg(long, value_name = "DIR", conflicts_with = "run")]
    out: Option<PathBuf>,

    /// A folder of shares, one of each site
    #[arg(long, value_name = "DIR", requires = "out", conflicts_with_all = ["run", "nodes", "coords", "edges"])]
    shares: Option<PathBuf>,

    /// Put this one new or changed patch or site into the finished frame, all others held fixed, with the
    /// settings that the frame was made with
    #[arg(long, value_name = "NAME")]
    update: Option<String>,
}

/// What `--json` prints: the alignment without its lists, which are in `alignment.json`.
#[derive(Serialize)]
struct Record<'a> {
    verdict: &'a str,
    patches: usize,
    patch_edges: usize,
    dim: usize,
    levels: usize,
    misfit_before: f64,
    misfit_after: f64,
    worst_patch: Option<&'a str>,
    /// Patches whose coordinates have collapsed to one point.
    collapsed: &'a [String],
    residual: Option<f64>,
    accuracy: Option<Accuracy>,
    #[serde(flatten)]
    cost: Cost,
    out: &'a Path,
}

#[derive(Serialize)]
struct UpdateRecord<'a> {
    #[serde(flatten)]
    report: &'a UpdateReport,
    seconds: f64,
    out: &'a Path,
}

pub(crate) fn execute(args: &AlignArgs, context: &Context) -> anyhow::Result<()> {
    if let (Some(shares), Some(out)) = (&args.shares, &args.out) {
        return frame::execute(shares, out, args.update.as_deref(), context);
    }
    let paths = paths(args)?;
    let work = match &args.run {
        Some(run) => {
            let mut work = open_stage(run, context)?;
            // Patches of somebody else come without a graph, and are checked when they are opened.
            if work.run.graph().exists() {
                work.prepare()?;
            }
            Some(work)
        }
        None => None,
    };
    let finish = || match &work {
        Some(work) => {
            let sources = GraphSource::Settings(&[]);
            Ok(Pipeline::new(&work.run, work.config.clone(), sources).finish_alignment()?)
        }
        None => Ok(false),
    };
    match &args.update {
        // The frame is no longer what the patches alone give, so it is not noted as done.
        Some(name) => update(name, &paths, finish, context),
        None => {
            align(&paths, work.as_ref().map_or(&context.config, |work| &work.config), context)?;
            finish()?;
            work.map_or(Ok(()), |work| work.finish(&[], context))
        }
    }
}

/// Takes a run folder into use; it must hold patches.
fn open_stage(run: &Path, context: &Context) -> anyhow::Result<StageWork> {
    let patches = RunDir::new(run).patches();
    if !patches.exists() {
        anyhow::bail!(AlignFilesError::Patches(PatchFilesError::None { folder: patches.into() }));
    }
    StageWork::begin(run, StageName::Align, Sharing::Alone, context)
}

fn paths(args: &AlignArgs) -> Result<AlignPaths, UsageError> {
    match (&args.run, &args.nodes, &args.coords, &args.out) {
        (Some(run), None, None, None) => Ok(AlignPaths::of_run(&RunDir::new(run))),
        (None, Some(nodes), Some(coords), Some(out)) => Ok(AlignPaths {
            nodes: nodes.clone(),
            coords: coords.clone(),
            edges: args.edges.clone(),
            out: out.clone(),
            rows: EmbeddingRows::Listed,
        }),
        _ => {
            Err(UsageError("name a run folder, or --nodes, --coords and --out, or --shares and --out".into()))
        }
    }
}

fn align(paths: &AlignPaths, config: &Config, context: &Context) -> anyhow::Result<()> {
    let within = config.align_within_memory(&existing_folder(&paths.out));
    let found = align_files(paths, &within, config.seed, &context.progress)
        .with_context(|| format!("could not align the patches in `{}`", paths.nodes.display()))?;
    show(&found, &paths.out, context)
}

/// Shows how well patches or sites fit.
pub(super) fn show(found: &Diagnostics, out: &Path, context: &Context) -> anyhow::Result<()> {
    let record = Record {
        verdict: &found.verdict,
        patches: found.patches,
        patch_edges: found.patch_edges,
        dim: found.dim,
        levels: found.levels,
        misfit_before: found.misfit_before,
        misfit_after: found.misfit_after,
        worst_patch: found.worst_patch.as_deref(),
        collapsed: &found.collapsed,
        accuracy: found.accuracy,
        residual: found.certificate.map(|certificate| certificate.residual),
        cost: Cost::so_far(context),
        out,
    };
    let mut rows = rows(found);
    rows.extend(record.cost.rows());
    rows.push(("alignment", out.display().to_string()));
    context.output.show(&record, &rows)
}

/// A folder that is there already: the one given, or one above it.
fn existing_folder(folder: &Path) -> PathBuf {
    let there = folder.ancestors().find(|folder| folder.is_dir());
    there.map_or_else(|| PathBuf::from("."), Path::to_owned)
}

fn rows(found: &Diagnostics) -> Vec<(&'static str, String)> {
    let percent = |value: f64| format!("{:.1} %", 100.0 * value);
    let (before, after) = (percent(found.misfit_before), percent(found.misfit_after));
    let mut rows = vec![
        ("patches", grouped(found.patches)),
        ("joined", format!("{} pairs of patches", grouped(found.patch_edges))),
        (
            "misfit",
            format!(
                "copies of shared nodes are {before} of their spread apart before aligning, {after} after"
            ),
        ),
    ];
    if let Some(certificate) = &found.certificate {
        let steps = match certificate.steps {
            0 => "exact".to_owned(),
            steps => format!("{steps} steps"),
        };
        let text = format!("residual {:.1e}, gap {:.1e}, {steps}", certificate.residual, certificate.gap);
        rows.push(("eigenvectors", text));
    }
    if let Some(accuracy) = &found.accuracy {
        let precision = match accuracy.precision {
            Precision::Double => "double precision",
            Precision::Mixed => "partly single precision",
        };
        rows.push(("rotations", format!("{precision}, exact to an angle of {:.0e}", accuracy.rotations)));
    }
    if !found.collapsed.is_empty() {
        rows.push(("collapsed", found.collapsed.join(", ")));
    }
    rows.push(("verdict", found.verdict.clone()));
    rows.extend(advice::on_any_fit(found).map(|advice| ("advice", advice)));
    rows
}

/// Updates one patch, with the settings that the frame was made with, changed by `--set`.
fn update(
    name: &str,
    paths: &AlignPaths,
    finish: impl FnOnce() -> anyhow::Result<bool>,
    context: &Context,
) -> anyhow::Result<()> {
    let failed = || format!("could not put patch `{name}` into the frame of `{}`", paths.out.display());
    let record: Diagnostics = read_json(&paths.results().report()).with_context(failed)?;
    let made_with = Config { align: record.settings, ..Config::default() };
    let config = context.config_over(&made_with)?;
    let report = update_files_then(paths, name, Some(&config.align), &context.progress, finish)
        .with_context(failed)?;
    let seconds = context.started.elapsed().as_secs_f64();
    let mut rows = update_rows(&report);
    rows.push(("seconds", format!("{seconds:.2}")));
    rows.push(("alignment", paths.out.display().to_string()));
    context.output.show(&UpdateRecord { report: &report, seconds, out: &paths.out }, &rows)
}

fn update_rows(report: &UpdateReport) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("patch", report.patch.clone()),
        ("shared nodes", grouped(report.update.shared)),
        (
            "misfit",
            format!("copies of shared nodes are {:.1} % of their spread apart", 100.0 * report.update.misfit),
        ),
    ];
    rows.extend(report.update.trust.map(|trust| ("trust", format!("{:.1} %", 100.0 * trust))));
    let (changed, nodes) = (grouped(report.changed_nodes), grouped(report.nodes));
    let (mean, most) = (report.moved, report.moved_most);
    rows.push(("nodes moved", format!("{changed} of {nodes}, {mean:.3e} on average, {most:.3e} at most")));
    if report.changed_outside > 0 {
        let outside = grouped(report.changed_outside);
        let text = format!("{outside} of them are not in the patch, {:.3e} at most", report.moved_outside);
        rows.push(("outside", text));
    }
    rows.push(("new nodes", grouped(report.new_nodes)));
    if report.gone_nodes > 0 {
        rows.push(("nodes gone", grouped(report.gone_nodes)));
    }
    rows
}
