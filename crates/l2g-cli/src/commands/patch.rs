//! `l2g patch RUN`: grow the clusters of a run into overlapping patches, write `3-patches`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use local2global::config::Config;
use local2global::partition::read_partition;
use local2global::patch::{
    Cover, Landmarks, PatchConfig, PatchReport, PatchTask, Sparsify, make_patch_files,
};
use local2global::pipeline::StageName;

use super::partition::{open_graph, open_stage};
use crate::advice;
use crate::choice::choice;
use crate::context::Context;
use crate::cost::Record;
use crate::output::grouped;

/// What overlaps follow from.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct DimArgs {
    /// How many coordinates a node gets; overlaps that are not set follow from it [default: 128]
    #[arg(long, value_name = "D")]
    dim: Option<usize>,

    /// The least number of nodes that joined patches share [default: 129, less in
    /// small clusters, but at least max(D + 1, 32)]
    #[arg(long, value_name = "L")]
    min_overlap: Option<usize>,
}

impl DimArgs {
    /// Puts the flags into the settings of a run. Overlaps that followed from another
    /// dimension, or another overlap, follow from this one.
    pub(crate) fn put_into(&self, config: &mut Config) {
        let patch = &mut config.patch;
        if let Some(dim) = self.dim.filter(|&dim| dim != config.embed.dim) {
            config.embed.dim = dim;
            (patch.min_overlap, patch.max_overlap) = (None, None);
        }
        if self.min_overlap.is_some() {
            (patch.min_overlap, patch.max_overlap) = (self.min_overlap, None);
        }
    }
}

/// Grow the clusters of a run into overlapping patches.
///
/// Of the clusters that touch, some pairs are joined, K for each cluster on average. Then every
/// cluster takes nodes from those it is joined with, so that joined patches share at least L nodes,
/// by which they are aligned later. With `--cover edges` nodes that bring edges which would lie in no
/// patch become guests, up to `patch.cover_budget` of all nodes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  l2g patch runs/cora --min-overlap 129 --max-overlap 256\n  \
    l2g patch runs/web --dim 64 --degree 5 --cover nodes --json")]
pub(crate) struct PatchArgs {
    /// The run folder, with the clusters in `2-partition`
    run: PathBuf,

    #[command(flatten)]
    dim: DimArgs,

    /// The largest number of shared nodes that is asked for [default: 2 L - 2]
    #[arg(long, value_name = "U")]
    max_overlap: Option<usize>,

    /// With how many others a patch is joined, on average [default: 4]
    #[arg(long, value_name = "K")]
    degree: Option<f64>,

    /// What the patches must cover [default: edges]
    #[arg(long, value_name = "WHAT")]
    cover: Option<CoverArg>,

    /// Which pairs of touching clusters are joined [default: resistance]
    #[arg(long, value_name = "METHOD")]
    sparsify: Option<SparsifyArg>,

    /// Leave parts of the graph apart that no edge joins, instead of joining them through random nodes
    #[arg(long)]
    no_bridge: bool,

    /// Nodes from all over the graph that every patch holds: up to 1 a share of the mean cluster,
    /// above a number of nodes [default: by the method]
    #[arg(long, value_name = "N", value_parser = parse_landmarks)]
    landmarks: Option<Landmarks>,
}

fn parse_landmarks(text: &str) -> Result<Landmarks, String> {
    let number: Option<f64> = text.parse().ok();
    let needed = "needed a share from 0 to 1 or a whole number of nodes";
    number.and_then(Landmarks::from_number).ok_or_else(|| needed.into())
}

choice! {
    CoverArg for Cover {
        /// Edges lie in some patch, as far as the budget of guests reaches
        Edges,
        /// Every node lies in some patch, as in the paper
        Nodes,
    }
}

choice! {
    SparsifyArg for Sparsify {
        /// Drawn by effective resistance times conductance, as in the paper
        Resistance,
        /// Drawn by conductance: the share of edges that two clusters have in common
        Conductance,
        /// The strongest of each patch
        Nearest,
        /// All
        None,
    }
}

pub(crate) fn execute(args: &PatchArgs, context: &Context) -> anyhow::Result<()> {
    let mut work = open_stage(&args.run, StageName::Patch, context)?;
    let failed = || format!("could not make patches of `{}`", args.run.display());
    let graph = open_graph(&work.run)?;
    let clusters = read_partition(&work.run, graph.num_nodes()).with_context(failed)?;
    args.dim.put_into(&mut work.config);
    work.config.patch = settings(args, &work.config.patch);
    let usual = work.config.embed.usual_landmarks(&graph, clusters.num_clusters());
    work.config.patch.landmarks.get_or_insert(usual);
    work.prepare()?;
    let Config { patch: config, embed, seed, .. } = &work.config;
    let task = PatchTask {
        graph: &graph,
        partition: &clusters,
        config,
        dim: embed.dim,
        seed: *seed,
        memory_limit: work.config.memory_limit(),
    };
    let report = make_patch_files(&work.run, &task, &context.progress).with_context(failed)?;
    work.finish(&[], context)?;
    let record = Record::new(&report, &args.run, context);
    context.output.show(&record, &rows(&record))
}

/// The settings of the stage, flags included.
fn settings(args: &PatchArgs, config: &PatchConfig) -> PatchConfig {
    let mut config = config.clone();
    config.max_overlap = args.max_overlap.or(config.max_overlap);
    config.degree = args.degree.unwrap_or(config.degree);
    config.cover = args.cover.map(Into::into).or(config.cover);
    config.sparsify = args.sparsify.map_or(config.sparsify, Into::into);
    config.bridge &= !args.no_bridge;
    config.landmarks = args.landmarks.or(config.landmarks);
    config
}

fn rows(record: &Record<'_, PatchReport>) -> Vec<(&'static str, String)> {
    let report = record.result;
    let lost = report.edges_in_no_patch;
    let (pairs, joined) = (grouped(report.patch_edges), report.mean_degree);
    let overlap = report.overlap;
    let mut rows = vec![
        ("patches", format!("{}, {}", grouped(report.patches), sizes_and_copies(report))),
        (
            "joined",
            format!("{pairs} pairs of patches, which are aligned; each patch is in {joined:.1} of them"),
        ),
        (
            "overlap",
            format!("joined patches share {} nodes or more; {} were needed", overlap.found, overlap.needed),
        ),
        ("in no patch", format!("{} edges, {:.2} %", grouped(lost.count), 100.0 * lost.share)),
    ];
    if !report.connected {
        let groups = grouped(report.groups.len());
        let text = format!("{groups} groups of patches share no nodes; without --no-bridge they are joined");
        rows.push(("groups", text));
    }
    if !report.bridges.is_empty() {
        rows.push(("bridges", format!("{}, through random nodes", grouped(report.bridges.len()))));
    }
    if report.landmarks > 0 {
        let (nodes, edges) = (grouped(report.landmarks), grouped(report.landmark_edges.len()));
        rows.push((
            "landmarks",
            format!("{nodes} nodes that every patch holds, which join {edges} more pairs"),
        ));
    }
    if report.dropped_pairs > 0 {
        let text = format!(
            "{} pairs of clusters that hardly touch were not considered",
            grouped(report.dropped_pairs)
        );
        rows.push(("dropped", text));
    }
    rows.extend(advice::on_sizes(report, "l2g partition --clusters 1").map(|advice| ("advice", advice)));
    rows.extend(record.cost.rows());
    rows
}

/// How large patches are, and how often they hold the same: `of 545 to 785 nodes; ...`.
pub(crate) fn sizes_and_copies(report: &PatchReport) -> String {
    let smallest = grouped(report.sizes.iter().min().copied().unwrap_or(0));
    let largest = grouped(report.sizes.iter().max().copied().unwrap_or(0));
    let (copies, edge_copies) = (report.copies(), report.oversampling);
    format!(
        "of {smallest} to {largest} nodes; a node is in {copies:.1} of them on average, an edge in {edge_copies:.1}"
    )
}
