//! `l2g bundle RUN`: patches out to other machines, as files that hold all they need.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use local2global::embed::bundle::{BundleRecord, BundleSource, DEFAULT_JOBS};
use local2global::run_dir::BundleFolder;
use serde::Serialize;

use super::embed::{MethodArgs, begin, parse_patches};
use crate::context::Context;
use crate::cost::Record;
use crate::output::{bytes, grouped};

/// Pack patches for other machines, a few in each file.
///
/// A bundle holds all that its patches need: their rows of the graph, features, settings, seed, and what
/// every patch is sent. `l2g embed --bundle FILE --out DIR` trains it anywhere, without run folder or
/// graph, and `l2g collect RUN DIR` takes the results back: same bytes as `l2g embed RUN`. Patches that
/// are there already are left out. Bundles take about equally long, the longest is the first, and
/// with `--memory` none needs more than that to be trained.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  l2g bundle runs/cora --out bundles --jobs 8\n  l2g bundle \
    runs/cora --out bundles --only 0-9 --memory 4G\n  l2g embed --bundle bundles/job-00000.l2g --out results\n  \
    l2g collect runs/cora results")]
pub(crate) struct BundleArgs {
    /// The run folder
    run: PathBuf,

    /// The folder that bundles go into: job-00000.l2g, job-00001.l2g, ..., and bundles.json
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Only these patches, as in 0-3,7
    #[arg(long, value_name = "PATCHES")]
    only: Option<String>,

    /// How many bundles there are, at most one a patch; more if memory asks for it [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,

    #[command(flatten)]
    method: MethodArgs,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Bundled {
    /// The patches that were packed.
    patches: usize,
    /// The patches that were there already.
    kept: usize,
    jobs: Vec<BundleRecord>,
}

pub(crate) fn execute(args: &BundleArgs, context: &Context) -> anyhow::Result<()> {
    let only = args.only.as_deref().map(parse_patches).transpose()?;
    let work = begin(&args.run, &args.method, context)?;
    let could_not = || format!("could not bundle run `{}`", args.run.display());
    let (embed, seed) = (work.config.embed_within_memory(), work.config.seed);
    let source = BundleSource::open(&work.run, &embed, seed, &context.progress).with_context(could_not)?;
    let waiting = source.waiting(only.as_deref()).with_context(could_not)?;
    let num_jobs = args.jobs.map_or(DEFAULT_JOBS, |jobs| jobs as usize);
    let shares = source.share_out(&waiting, num_jobs).with_context(could_not)?;
    let folder = BundleFolder::at(&args.out);
    let jobs = source.write_all(&shares, &folder, &context.progress).with_context(could_not)?;
    let asked = only.map_or(source.num_patches(), |mut only| {
        only.sort_unstable();
        only.dedup();
        only.len()
    });
    let bundled = Bundled { patches: waiting.len(), kept: asked - waiting.len(), jobs };
    let record = Record::new(&bundled, &args.out, context);
    let size = bundled.jobs.iter().map(|job| job.bytes).sum();
    let memory = bundled.jobs.iter().map(|job| job.memory_bytes).max().unwrap_or(0);
    let mut rows = vec![
        ("bundled", format!("{} patches in {} bundles", grouped(waiting.len()), grouped(bundled.jobs.len()))),
        ("left out", format!("{} patches that were there already", grouped(bundled.kept))),
        ("size", bytes(size)),
        ("training", format!("{} of memory at most", bytes(memory))),
    ];
    rows.extend(record.cost.rows());
    rows.push(("bundles", args.out.display().to_string()));
    context.output.show(&record, &rows)
}
