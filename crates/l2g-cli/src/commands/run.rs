//! `l2g run [GRAPH]`: the whole way.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use local2global::config::Config;
use local2global::graph::load::Summary;
use local2global::graph::store;
use local2global::memory;
use local2global::run_dir::{FileError, RunDir, write_atomically};
use serde::Serialize;

use super::graph::{InputArgs, default_folder, rows};
use crate::context::Context;
use crate::output::bytes;

/// Go the whole way, from a graph to its global embedding.
///
/// So far the way ends after the graph stage: the graph is read, cleaned and written.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  l2g run\n  l2g run edges.csv.gz --out runs/mine\n  \
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

#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    stages: &'static [&'static str],
    seconds: f64,
    peak_bytes: Option<u64>,
    out: &'a PathBuf,
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
    let out = args.out.clone().unwrap_or_else(|| default_folder(&input));
    let run = RunDir::new(&out);
    let loaded = args.input.load(&config.graph, context)?;
    write_settings(&run, &config)?;
    store::write(&run.graph(), &loaded.graph, &loaded.summary)?;
    let record = Record {
        summary: &loaded.summary,
        stages: &["graph"],
        seconds: context.started.elapsed().as_secs_f64(),
        peak_bytes: memory::peak_bytes(),
        out: &out,
    };
    let mut rows = rows(&loaded.summary);
    rows.push(("stages", "graph (partition, patch, embed, align and evaluate are still to come)".into()));
    rows.push(("seconds", format!("{:.2}", record.seconds)));
    rows.extend(record.peak_bytes.map(|peak| ("peak memory", bytes(peak))));
    rows.push(("run folder", out.display().to_string()));
    context.output.show(&record, &rows)
}
