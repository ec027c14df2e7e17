//! `l2g experiment [GRAPH]`: the comparison of the paper's section 4.4.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use local2global::config::{Config, ExperimentConfig};
use local2global::evaluate::Spread;
use local2global::experiment::{Curves, Finished, Table, experiment};
use local2global::graph::input::GraphInput;
use local2global::pipeline::{RunLock, Sharing};
use local2global::run_dir::{ExperimentFolder, RunDir};
use serde::Serialize;

use super::graph::{InputArgs, default_folder, input_of};
use crate::context::{Context, UsageError};
use crate::cost::Cost;
use crate::output::{self, grouped};

/// Compare stitched patches with training on the whole graph, as the paper does.
///
/// For each dimension, the graph is embedded as a whole (full), in patches that are stitched
/// (l2g), and in patches that are averaged as they are (no-trans), and each embedding is scored
/// by how well it tells edges from non-edges. Patches come in two settings: that of the paper
/// (they cover the nodes, eigenvectors, plain mean), and as set, which is what `l2g run` does
/// with the same settings. Of several runs the best is kept, of the whole graph and of each patch.
///
/// Reconstruction is what the paper compares. Beside it stand link prediction and, for graphs with
/// labels, classification: for each of several splits, a tenth of the edges is held out, what is
/// left gets clusters, patches and embeddings of its own, and these are scored as `l2g evaluate`
/// does. Mean and standard deviation over splits are shown. Each split takes about as long as
/// reconstruction does; `--splits 0` leaves splits out.
///
/// DIR gets scores.json, table.md, figure.svg, rewritten after each dimension, and all trained
/// patches: the same command again does only what is missing. `--dims` and `--runs` take the
/// place of embed.dim and embed.runs.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  l2g experiment cora --dims 2,8,32 --runs 3\n  l2g experiment --config \
    benchmarks/cora.toml --splits 3\n  l2g experiment edges.csv.gz --dims 64 --set embed.method=dgi --out runs/mine")]
pub(crate) struct ExperimentArgs {
    /// A data set by name, files or folders; `l2g graph --help` lists the formats [default: cora]
    graph: Vec<String>,

    /// The dimensions [default: 2,4,8,16,32,64,128]
    #[arg(long, value_name = "D,D,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    dims: Vec<u32>,

    /// How often the graph and each patch are embedded; the best is kept [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,

    /// How many splits of the edges links and classes are predicted on; 0 compares reconstruction
    /// alone, as the paper does [default: 3]
    #[arg(long, value_name = "N")]
    splits: Option<u32>,

    /// The folder to write into [default: runs/NAME-experiment]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    #[command(flatten)]
    input: InputArgs,
}

#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    table: &'a Table,
    embedded: usize,
    kept: usize,
    #[serde(flatten)]
    cost: Cost,
    out: &'a Path,
}

pub(crate) fn execute(args: &ExperimentArgs, context: &Context) -> anyhow::Result<()> {
    let config = settings(args, context);
    context.check_commands(&config)?;
    let input = config.graph.graph_input();
    let out = args.out.clone().unwrap_or_else(|| folder_for(&input));
    let loaded = args.input.load(&config.graph, &std::env::temp_dir(), context)?;
    let run = RunDir::new(&out);
    if run.patches().exists() {
        anyhow::bail!(UsageError(format!("`{}` is the folder of a run; choose another one", out.display())));
    }
    let _lock = RunLock::take(&run, Sharing::Alone)?;
    let (mut embedded, mut kept) = (0, 0);
    let table = experiment(&loaded.graph, &config, &out, &context.progress, |finished| {
        (embedded, kept) = (embedded + finished.embedded, kept + finished.kept);
        context.progress.tell(&sentence(finished), "dimension", finished.row);
    })
    .with_context(|| format!("could not finish the experiment on `{input}`"))?;
    let record = Record { table: &table, embedded, kept, cost: Cost::so_far(context), out: &out };
    context.output.show_page(&record, &format!("{}\n{}", table.to_markdown(), output::table(&rows(&record))))
}

/// All settings, flags included.
fn settings(args: &ExperimentArgs, context: &Context) -> Config {
    let mut config = context.config.clone();
    let input = input_of(&args.graph, &config);
    config.graph = args.input.settings(&input, context);
    let set: ExperimentConfig = config.experiment.take().unwrap_or_default();
    let dims: Vec<usize> = args.dims.iter().map(|&dim| dim as usize).collect();
    config.experiment = Some(ExperimentConfig {
        dims: if dims.is_empty() { set.dims } else { dims },
        runs: args.runs.unwrap_or(set.runs),
        splits: args.splits.unwrap_or(set.splits),
    });
    config
}

/// `runs/cora-experiment` for `cora`.
fn folder_for(input: &GraphInput) -> PathBuf {
    let mut name = default_folder(input).into_os_string();
    name.push("-experiment");
    name.into()
}

/// What people read when a dimension is done.
fn sentence(finished: &Finished<'_>) -> String {
    let Finished { row, embedded, kept } = finished;
    let mut text = format!("d = {}: {}", row.dim, curves(row.reconstruction));
    for (task, scores) in [("links", row.link_prediction), ("classes", row.classification)] {
        let means = |scores: Curves<Spread>| Curves::from(scores.in_order().map(|score| score.mean));
        text += &scores.map_or(String::new(), |scores| format!("; {task}: {}", curves(means(scores))));
    }
    format!("{text}; {embedded} patches embedded, {kept} kept")
}

fn curves(scores: Curves<f64>) -> String {
    let Curves { full, l2g, no_trans, l2g_paper, no_trans_paper } = scores;
    format!(
        "full {full:.4}, l2g {l2g:.4} (as in the paper {l2g_paper:.4}), no-trans {no_trans:.4} \
         ({no_trans_paper:.4})"
    )
}

fn rows(record: &Record<'_>) -> Vec<(&'static str, String)> {
    let table = record.table;
    let lost = |share: f64| format!("{:.2} % of the edges in none", 100.0 * share);
    let (paper, ours) = (table.paper.edges_in_no_patch.share, table.ours.edges_in_no_patch.share);
    let mut rows = vec![
        ("patches", format!("{}, joined in {} pairs", grouped(table.ours.patches), table.ours.patch_edges)),
        (
            "as set",
            format!("an edge is in {:.1} patches on average, {}", table.ours.oversampling, lost(ours)),
        ),
        (
            "paper",
            format!("an edge is in {:.1} patches on average, {}", table.paper.oversampling, lost(paper)),
        ),
    ];
    if let Some(first) = table.splits.first() {
        rows.push(("splits", format!("{}, {} edges held out", table.splits.len(), grouped(first.held_out))));
    }
    rows.extend(
        table.left_out.iter().map(|(task, reason)| ("left out", format!("{}: {reason}", task.name()))),
    );
    rows.extend([
        ("embedded", format!("{} patches", grouped(record.embedded))),
        ("kept", format!("{} patches that were there already", grouped(record.kept))),
    ]);
    rows.extend(record.cost.rows());
    rows.push(("figure", ExperimentFolder::at(record.out).figure().display().to_string()));
    rows
}
