//! `l2g run [GRAPH]`: the whole way.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;
use local2global::align::align_run;
use local2global::align::diagnostics::Diagnostics;
use local2global::config::Config;
use local2global::embed::embed_run;
use local2global::graph::load::{Loaded, Summary};
use local2global::graph::store;
use local2global::memory;
use local2global::partition::{PartitionReport, partition, write_partition};
use local2global::patch::{PatchReport, make_patches, write_patches};
use local2global::run_dir::{FileError, RunDir, write_atomically};
use serde::Serialize;

use super::graph::{InputArgs, default_folder, rows};
use crate::context::Context;
use crate::output::{bytes, grouped};

/// Go the whole way, from a graph to its global embedding.
///
/// Reads the graph, splits it into clusters, grows them into overlapping patches, embeds
/// every patch on its own, and stitches the patches together. Patches that are embedded
/// already, with the same inputs and settings, are kept. The embedding is
/// `5-alignment/embedding.npy`, one row per node of `1-graph`. Scores are still to come.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  l2g run\n  l2g run edges.csv.gz --out runs/mine --set embed.dim=64\n  \
    l2g run --config runs/mine/run.toml")]
pub(crate) struct RunArgs {
    /// A data set by name, or a file; `l2g graph --help` lists the formats [default: cora]
    graph: Option<String>,

    /// The run folder [default: runs/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    #[command(flatten)]
    input: InputArgs,
}

/// How long each stage took.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Seconds {
    graph: f64,
    partition: f64,
    patch: f64,
    embed: f64,
    align: f64,
}

#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    dim: usize,
    patches: usize,
    oversampling: f64,
    verdict: &'a str,
    worst_patch: Option<&'a str>,
    seconds: Seconds,
    peak_bytes: Option<u64>,
    out: &'a Path,
}

/// Writes the settings, flags and defaults filled in, so that the run can be repeated.
fn write_settings(run: &RunDir, config: &Config) -> Result<(), FileError> {
    let version = env!("CARGO_PKG_VERSION");
    write_atomically(&run.settings(), |sink| {
        writeln!(
            sink,
            "# local2global {version}; repeat with `l2g run --config run.toml`\n{}",
            config.to_toml()
        )
    })
}

pub(crate) fn execute(args: &RunArgs, context: &Context) -> anyhow::Result<()> {
    let mut config = context.config.clone();
    let input = args.graph.clone().or(config.graph.input.take()).unwrap_or_else(|| "cora".to_owned());
    config.graph = args.input.settings(&input, context);
    let run = RunDir::new(args.out.clone().unwrap_or_else(|| default_folder(&input)));
    let mut seconds = Seconds::default();

    let loaded = timed(&mut seconds.graph, || {
        let loaded = args.input.load(&config.graph, context)?;
        write_settings(&run, &config)?;
        store::write(&run.graph(), &loaded.graph, &loaded.summary)?;
        Ok(loaded)
    })?;
    let report = split(&loaded, &run, &config, context, &mut seconds)?;
    timed(&mut seconds.embed, || {
        embed_run(&run, &config.embed, None, config.seed, &context.progress)
            .context("could not embed the patches")
    })?;
    let found = timed(&mut seconds.align, || {
        align_run(&run, &config.align, config.seed, &context.progress).context("could not align the patches")
    })?;
    show(&run, &config, &loaded.summary, &report, &found, seconds, context)
}

/// Does some work and notes how long it took.
fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let started = Instant::now();
    let result = work();
    *seconds = started.elapsed().as_secs_f64();
    result
}

/// Graph -> clusters -> patches.
fn split(
    loaded: &Loaded,
    run: &RunDir,
    config: &Config,
    context: &Context,
    seconds: &mut Seconds,
) -> anyhow::Result<PatchReport> {
    let Config { seed, embed, patch, .. } = config;
    let graph = &loaded.graph;
    let clusters = timed(&mut seconds.partition, || {
        let smallest = patch.overlap_bounds(embed.dim)?.half_min();
        let clusters = partition(graph, &config.partition, smallest, *seed, &context.progress)
            .context("could not split the graph into clusters")?;
        write_partition(run, &clusters, &PartitionReport::of(graph, &clusters))?;
        Ok(clusters)
    })?;
    timed(&mut seconds.patch, || {
        let (patches, report) = make_patches(graph, &clusters, patch, embed.dim, *seed, &context.progress)
            .context("could not make patches")?;
        write_patches(run, &patches, &report)?;
        Ok(report)
    })
}

fn show(
    run: &RunDir,
    config: &Config,
    summary: &Summary,
    report: &PatchReport,
    found: &Diagnostics,
    seconds: Seconds,
    context: &Context,
) -> anyhow::Result<()> {
    let record = Record {
        summary,
        dim: config.embed.dim,
        patches: report.patches,
        oversampling: report.oversampling,
        verdict: &found.verdict,
        worst_patch: found.worst_patch.as_deref(),
        seconds,
        peak_bytes: memory::peak_bytes(),
        out: run.root(),
    };
    let mut table = rows(summary);
    table.push(("patches", format!("{}, oversampling {:.2}", grouped(report.patches), report.oversampling)));
    table.push(("alignment", found.verdict.clone()));
    table.push((
        "seconds",
        format!(
            "graph {:.2}, partition {:.2}, patch {:.2}, embed {:.2}, align {:.2}",
            seconds.graph, seconds.partition, seconds.patch, seconds.embed, seconds.align
        ),
    ));
    table.extend(record.peak_bytes.map(|peak| ("peak memory", bytes(peak))));
    let embedding = run.alignment().join("embedding.npy");
    let shape = format!("{} x {}", grouped(summary.nodes), config.embed.dim);
    table.push(("embedding", format!("{} ({shape})", embedding.display())));
    context.output.show(&record, &table)
}
