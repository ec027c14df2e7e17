//! `l2g partition RUN`: split the graph of a run into clusters, write `2-partition`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use local2global::config::Config;
use local2global::graph::{Graph, store};
use local2global::partition::{
    Buffered, Fennel, GivenClusters, Louvain, Metis, NumClusters, PartitionConfig, PartitionMethod,
    PartitionReport, partition, write_partition,
};
use local2global::pipeline::{Sharing, StageName};
use local2global::run_dir::RunDir;
use serde::Serialize;

use super::patch::DimArgs;
use crate::context::Context;
use crate::cost::Cost;
use crate::output::grouped;
use crate::stage::StageWork;

/// Split the graph of a run into disjoint clusters.
///
/// Clusters are what `l2g patch` grows patches from.
/// Clusters too small for the overlap that `l2g patch` will ask for are merged into the
/// neighbour they share most edges with. A method's own settings go with its name, as in
/// `--set partition.method=fennel --set partition.passes=10`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  l2g partition runs/cora --clusters 10\n  \
    l2g partition runs/web --method buffered --patch-size 5000\n  \
    l2g partition runs/firm --method given --file departments.csv")]
pub(crate) struct PartitionArgs {
    /// The run folder, with the graph in `1-graph`
    run: PathBuf,

    /// The partitioner [default: auto]
    #[arg(long, value_name = "METHOD")]
    method: Option<MethodArg>,

    /// How many clusters [default: one per 2000 nodes, but at least 10]
    #[arg(long, value_name = "N", conflicts_with = "patch_size")]
    clusters: Option<usize>,

    /// As many clusters as it takes for about N nodes in each
    #[arg(long, value_name = "N")]
    patch_size: Option<usize>,

    /// Clusters from a file: .npy (in order), or text with `id cluster` in each line
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    dim: DimArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum MethodArg {
    /// `metis` while it fits in memory, `buffered` above
    Auto,
    /// Balanced clusters with few edges between them
    Metis,
    /// The same with a tenth of the memory, for graphs larger than memory
    Buffered,
    /// Streaming, with the least memory
    Fennel,
    /// Communities: dense inside, of any size
    Louvain,
    /// Clusters from a file, or from the labels
    Given,
}

#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    report: &'a PartitionReport,
    method: &'static str,
    #[serde(flatten)]
    cost: Cost,
    out: &'a Path,
}

pub(crate) fn execute(args: &PartitionArgs, context: &Context) -> anyhow::Result<()> {
    let mut work = open_stage(&args.run, StageName::Partition, context)?;
    let graph = open_graph(&work.run)?;
    work.config.partition = settings(args, &work.config.partition);
    args.dim.put_into(&mut work.config);
    work.prepare()?;
    let Config { partition: config, patch, embed, seed, .. } = &work.config;
    let smallest = patch.overlap_bounds(embed.dim)?.half_min();
    let found = partition(&graph, config, smallest, *seed, &context.progress)
        .with_context(|| format!("could not partition the graph of `{}`", args.run.display()))?;
    let report = PartitionReport::of(&graph, &found);
    write_partition(&work.run, &found, &report)?;
    let record =
        Record { report: &report, method: config.method.name(), cost: Cost::so_far(context), out: &args.run };
    let rows = rows(&record, config, graph.num_nodes(), smallest);
    work.finish(&[], context)?;
    context.output.show(&record, &rows)
}

/// Takes a run folder into use for one stage; the folder must hold a graph.
pub(crate) fn open_stage(run: &Path, stage: StageName, context: &Context) -> anyhow::Result<StageWork> {
    open_graph(&RunDir::new(run))?;
    StageWork::begin(run, stage, Sharing::Alone, context)
}

/// Opens the graph of a run, without reading it.
pub(crate) fn open_graph(run: &RunDir) -> anyhow::Result<Graph> {
    let opened = store::open(&run.graph());
    let opened = opened.map(|(graph, _)| graph);
    opened.with_context(|| format!("could not open the graph of `{}`", run.root().display()))
}

/// The settings of the stage, flags included.
fn settings(args: &PartitionArgs, config: &PartitionConfig) -> PartitionConfig {
    let mut config = config.clone();
    match args.method {
        Some(MethodArg::Auto) => keep(&mut config, PartitionMethod::default()),
        Some(MethodArg::Buffered) => keep(&mut config, PartitionMethod::Buffered(Buffered::default())),
        Some(MethodArg::Metis) => keep(&mut config, PartitionMethod::Metis(Metis::default())),
        Some(MethodArg::Fennel) => keep(&mut config, PartitionMethod::Fennel(Fennel::default())),
        Some(MethodArg::Louvain) => keep(&mut config, PartitionMethod::Louvain(Louvain::default())),
        Some(MethodArg::Given) => keep(&mut config, PartitionMethod::Given(GivenClusters::default())),
        None => {}
    }
    if let Some(file) = &args.file {
        config.method = PartitionMethod::Given(GivenClusters { file: Some(file.clone()) });
    }
    config.size = args.clusters.map(NumClusters::Clusters).unwrap_or(config.size);
    config.size = args.patch_size.map(NumClusters::PatchSize).unwrap_or(config.size);
    config
}

/// Takes another method, but keeps the settings if it is the same.
fn keep(config: &mut PartitionConfig, method: PartitionMethod) {
    if config.method.name() != method.name() {
        config.method = method;
    }
}

fn rows(
    record: &Record<'_>,
    config: &PartitionConfig,
    num_nodes: usize,
    min_size: usize,
) -> Vec<(&'static str, String)> {
    let report = record.report;
    let smallest = report.sizes.iter().min().copied().unwrap_or(0);
    let largest = report.sizes.iter().max().copied().unwrap_or(0);
    let asked = match &config.method {
        PartitionMethod::Given(_) => None,
        _ => config.num_clusters(num_nodes, min_size).ok().filter(|&asked| asked != report.clusters),
    };
    let cut = 100.0 * report.cut_share;
    let note = asked.map_or(String::new(), |asked| format!(" ({} were asked for)", grouped(asked)));
    let mut rows = vec![
        ("method", record.method.to_owned()),
        ("clusters", grouped(report.clusters) + &note),
        ("sizes", format!("{} to {} nodes", grouped(smallest), grouped(largest))),
        ("balance", format!("the largest has {:.3} times the nodes of the mean", report.balance)),
        ("cut", format!("{} edges lie between clusters, {cut:.2} %", grouped(report.cut_edges))),
    ];
    rows.extend(record.cost.rows());
    rows
}
