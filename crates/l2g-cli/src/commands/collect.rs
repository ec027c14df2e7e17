//! `l2g collect RUN DIR...`: results of bundles back into the run folder.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use local2global::embed::bundle::{BundleSource, Collected};
use serde::Serialize;

use super::embed::{MethodArgs, begin};
use crate::context::Context;
use crate::cost::Record;
use crate::output::grouped;

/// Take back what other machines have trained.
///
/// Every result is checked first: version, what it was made from, shape, that every number is finite,
/// and that the files are what they were. What is wrong is told in a sentence and left out; the rest
/// goes into `4-embeddings` as if it had been trained here. When all patches are there, `l2g run` keeps
/// them; else it trains those that are missing.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  l2g collect runs/cora results\n  l2g collect runs/cora \
    from-machine-1 from-machine-2 --json\n\nSettings must be those of `l2g bundle`: give the same \
    `--dim`, `--method`, `--epochs`, `--seed` and `--set` to both, or none.")]
pub(crate) struct CollectArgs {
    /// The run folder
    run: PathBuf,

    /// Folders that `l2g embed --bundle FILE --out DIR` has filled
    #[arg(required = true, value_name = "DIR")]
    results: Vec<PathBuf>,

    #[command(flatten)]
    method: MethodArgs,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    collected: Collected,
    /// Patches that are still to be trained.
    missing: Vec<usize>,
}

pub(crate) fn execute(args: &CollectArgs, context: &Context) -> anyhow::Result<()> {
    let work = begin(&args.run, &args.method, context)?;
    let could_not = || format!("could not collect into run `{}`", args.run.display());
    let (embed, seed) = (work.config.embed_within_memory(), work.config.seed);
    let source = BundleSource::open(&work.run, &embed, seed, &context.progress).with_context(could_not)?;
    let mut collected = Collected::default();
    for folder in &args.results {
        let Collected { taken, kept, refused } =
            source.collect(folder, &context.progress).with_context(could_not)?;
        for refusal in &refused {
            context.progress.tell(&format!("left out: {}", refusal.problem), "refused", refusal);
        }
        collected.taken.extend(taken);
        collected.kept.extend(kept);
        collected.refused.extend(refused);
    }
    if let [first, ..] = &collected.refused[..]
        && collected.taken.is_empty()
        && collected.kept.is_empty()
    {
        anyhow::bail!("no result could be taken: {}", first.problem);
    }
    let missing = source.waiting(None).with_context(could_not)?;
    let folder = work.run.embeddings();
    if missing.is_empty() {
        work.finish(&[], context)?;
    }
    let report = Report { collected, missing };
    let record = Record::new(&report, &folder, context);
    let mut rows = vec![
        ("taken", format!("{} patches", grouped(report.collected.taken.len()))),
        ("kept", format!("{} patches that were there already", grouped(report.collected.kept.len()))),
        ("left out", format!("{} results", grouped(report.collected.refused.len()))),
        ("missing", format!("{} patches", grouped(report.missing.len()))),
    ];
    rows.extend(record.cost.rows());
    rows.push(("embeddings", folder.display().to_string()));
    context.output.show(&record, &rows)
}
