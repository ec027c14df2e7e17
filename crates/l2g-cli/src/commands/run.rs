//! `l2g run [GRAPH]`: the whole way.

use std::path::PathBuf;

use clap::Args;
use local2global::config::Config;
use local2global::export::ExportFormat;
use local2global::layout::LayoutMethod;
use local2global::partition::NumClusters;
use local2global::pipeline::{
    GraphSource, Pipeline, Plan, PlannedStage, StageEstimate, StageName, StageReport,
};
use local2global::run_dir::{RunDir, stamp_path};

use super::closing::Closing;
use super::embed::TrainingArgs;
use super::export::{ExportFormatArg, export};
use super::graph::{InputArgs, default_folder, input_of};
use super::patch::DimArgs;
use super::report::report;
use crate::context::Context;
use crate::output::{bytes, grouped};

/// Go the whole way, from a graph to its global embedding and scores.
///
/// Reads the graph, splits it into clusters, grows them into overlapping patches, embeds
/// every patch on its own, stitches the patches together, and scores the result. What an
/// earlier run left in the folder is kept where its inputs and settings are the same and its
/// files are undamaged; everything else is done, and the reason is told. So an interrupted run
/// goes on where it was, and a changed option costs only the stages that depend on it.
///
/// The embedding is `5-alignment/embedding.npy`, one row per node of `1-graph`; the node ids
/// lie in `1-graph`, and `--export` writes both into one file.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  l2g run\n  l2g run edges.csv.gz --out runs/mine --dim 64 --patches 20\n  \
    l2g run --config runs/mine/run.toml --export parquet\n  l2g run edges.tsv --dry-run"
)]
pub(crate) struct RunArgs {
    /// A data set by name, files, folders, or `-`; `l2g graph --help` lists the formats [default: cora]
    graph: Vec<String>,

    /// The run folder [default: runs/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Train on the whole graph too, and score that beside the stitched embedding
    #[arg(long)]
    full: bool,

    /// Write the embedding with its node ids, into `export/` of the run folder
    #[arg(long, value_name = "FORMAT")]
    export: Vec<ExportFormatArg>,

    /// Write the run as one page for a browser, `report.html` in the run folder
    #[arg(long)]
    report: bool,

    /// Only tell what would be done, with an estimate of memory, disk and time for each stage
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    shape: ShapeArgs,

    #[command(flatten)]
    input: InputArgs,
}

/// The settings that people change most, as options.
#[derive(Debug, Args)]
pub(crate) struct ShapeArgs {
    #[command(flatten)]
    dim: DimArgs,

    #[command(flatten)]
    training: TrainingArgs,

    /// How many patches [default: of 2000 nodes each, but ten or more]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    patches: Option<u32>,
}

impl ShapeArgs {
    /// Puts the options into the settings of a run.
    fn put_into(&self, config: &mut Config) {
        self.dim.put_into(config);
        self.training.put_into(&mut config.embed);
        if let Some(patches) = self.patches {
            config.partition.size = NumClusters::Clusters(patches as usize);
        }
    }
}

pub(crate) fn execute(args: &RunArgs, context: &Context) -> anyhow::Result<()> {
    let mut config = context.config.clone();
    let input = input_of(&args.graph, &config);
    config.graph = args.input.settings(&input, context);
    config.evaluate.full |= args.full;
    args.shape.put_into(&mut config);
    let run = RunDir::new(args.out.clone().unwrap_or_else(|| default_folder(&input)));
    let folders = args.input.data_folders();
    let mut pipeline = Pipeline::new(&run, config, GraphSource::Settings(&folders));
    if args.dry_run {
        let plan = pipeline.plan(&context.progress)?;
        return context.output.show(&plan, &plan_rows(&plan));
    }
    context.check_commands(&pipeline.config)?;
    let reports = pipeline.run(&context.progress, |report| {
        let note = report.note.as_ref().map_or(String::new(), |note| format!(": {note}"));
        let line = format!("{:9}  {}{note}", report.stage.name(), outcome(report));
        context.progress.tell(&line, "stage", report);
    })?;
    let mut exported = Vec::new();
    for format in formats(args, &run) {
        exported.extend(export(&run, format, None, None, context)?.files);
    }
    if args.report {
        exported.push(report(&run, LayoutMethod::Auto, None, context)?.file);
    }
    let closing = Closing::read(&run, &pipeline.config, &reports, &exported)?;
    context.output.show(&closing.record()?, &closing.rows())
}

/// The formats to export: those asked for, and those that are there but older than the embedding
/// or the ids.
fn formats(args: &RunArgs, run: &RunDir) -> Vec<ExportFormat> {
    let asked: Vec<ExportFormat> = args.export.iter().map(|&format| format.into()).collect();
    let written = |path: PathBuf| path.metadata().and_then(|data| data.modified()).ok();
    let stamps = [StageName::Graph, StageName::Align].map(|stage| stamp_path(&stage.folder(run)));
    let newest = stamps.into_iter().filter_map(written).max();
    let outdated = |format: &ExportFormat| {
        written(format.default_path(run)).is_some_and(|exported| Some(exported) <= newest)
    };
    ExportFormat::ALL.into_iter().filter(|format| asked.contains(format) || outdated(format)).collect()
}

/// The reason that goes without saying.
const FIRST_TIME: &str = "not done yet";

/// What became of a stage, in words.
fn outcome(report: &StageReport) -> String {
    let by = report.method.map_or(String::new(), |method| format!(" by {method}"));
    match &report.reason {
        None => "kept".to_owned(),
        Some(reason) if reason == FIRST_TIME => format!("done in {:.2} s{by}", report.seconds),
        Some(reason) => format!("done in {:.2} s{by} ({reason})", report.seconds),
    }
}

fn plan_rows(plan: &Plan) -> Vec<(&'static str, String)> {
    let mut rows = stage_rows(plan);
    let estimate = &plan.estimate;
    rows.push(("nodes", grouped(estimate.nodes)));
    let size = grouped(estimate.patch_nodes);
    rows.push(("clusters", format!("by {}", plan.partitioner)));
    rows.push(("patches", format!("{}, of about {size} nodes", grouped(estimate.patches))));
    let (needed, mapped) = (bytes(estimate.memory_bytes), bytes(estimate.mapped_bytes));
    rows.push(("memory", format!("about {needed}; mapped files use up to {mapped} more, where it is free")));
    let temporary = match estimate.temporary_bytes {
        0 => String::new(),
        temporary => format!(", and {} meanwhile", bytes(temporary)),
    };
    rows.push(("disk", format!("about {} if every stage is done{temporary}", bytes(estimate.written_bytes))));
    rows.push(("time", format!("about {} for what would be done", duration(estimate.seconds))));
    rows.extend(plan.refused.iter().map(|sentence| ("refused", sentence.clone())));
    rows
}

/// A line for each stage: what it takes, and what would be done about it.
fn stage_rows(plan: &Plan) -> Vec<(&'static str, String)> {
    let outcome = |reason: &Option<String>| match reason {
        None => "would be kept".to_owned(),
        Some(reason) if reason == FIRST_TIME => "would be done".to_owned(),
        Some(reason) => format!("would be done ({reason})"),
    };
    let cells = |planned: &PlannedStage| {
        let StageEstimate { memory_bytes, disk_bytes, seconds, .. } = planned.estimate;
        let time = if planned.reason.is_some() { duration(seconds) } else { "-".to_owned() };
        [bytes(memory_bytes), bytes(disk_bytes), time]
    };
    let mut lines = vec![("", ["memory", "disk", "time"].map(str::to_owned), String::new())];
    lines.extend(plan.stages.iter().map(|stage| (stage.stage.name(), cells(stage), outcome(&stage.reason))));
    let width = |column: usize| lines.iter().map(|(_, cells, _)| cells[column].len()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let line = |(name, cells, outcome): &(&'static str, [String; 3], String)| {
        let cells = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}  "));
        (*name, format!("{}{outcome}", cells.collect::<String>()).trim_end().to_owned())
    };
    lines.iter().map(line).collect()
}

/// Seconds as people say them.
fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 10.0 => format!("{seconds:.1} s"),
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}
