//! `l2g show [RUN]`: a run folder told in a page.

mod page;

mod patch;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use clap::Args;
use local2global::pipeline::{GraphSource, Pipeline, StageName};
use local2global::run_dir::{RunDir, stamp_path};

use crate::context::Context;

/// Where runs go unless told otherwise.
const RUNS: &str = "runs";

/// Tell what a run folder holds: which stages are done, stale or missing, sizes, scores, and the
/// patches that fit worst.
///
/// States are those that `l2g run` goes by: every file is read, so damage is seen, and nothing is
/// changed. With --patch, one patch is told: its nodes and edges, how well it was trained, what it
/// shares with its neighbours, and how it fits them.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  l2g show\n  l2g show runs/cora\n  l2g show runs/cora --patch 7\n  l2g show runs/cora \
    --json"
)]
pub(crate) struct ShowArgs {
    /// The run folder [default: the one in `runs` that was worked in last]
    run: Option<PathBuf>,

    /// Tell about one patch, by its number
    #[arg(long, value_name = "N")]
    patch: Option<usize>,
}

pub(crate) fn execute(args: &ShowArgs, context: &Context) -> anyhow::Result<()> {
    let root = args.run.clone().map_or_else(newest_run, Ok)?;
    let run = RunDir::new(&root);
    if worked_in(&root).is_none() {
        let found = if root.exists() { "holds no run" } else { "does not exist" };
        return Err(NoRun(format!("`{}` {found}; needed the folder of a run", root.display())).into());
    }
    let could_not = || format!("could not show run `{}`", root.display());
    match args.patch {
        Some(number) => patch::show(&run, number, context).with_context(could_not),
        None => {
            let (config, _) = context.config_of(&run)?;
            let mut pipeline = Pipeline::new(&run, config, GraphSource::Settings(&[]));
            let stages = pipeline.status().with_context(could_not)?;
            let page = page::Page::read(&run, &pipeline.config, stages).with_context(could_not)?;
            context.output.show(&page.record()?, &page.rows())
        }
    }
}

/// A folder that is no run.
#[derive(Debug)]
pub(crate) struct NoRun(String);

impl std::fmt::Display for NoRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoRun {}

/// The run that was worked in last; by name, if two were at the same time.
fn newest_run() -> anyhow::Result<PathBuf> {
    let entries = fs::read_dir(RUNS).into_iter().flatten().flatten();
    let runs = entries.filter_map(|entry| Some((worked_in(&entry.path())?, entry.path())));
    let none = || NoRun(format!("there is no run in `{RUNS}`; needed the folder of a run")).into();
    runs.max().map(|(_, path)| path).ok_or_else(none)
}

/// When a run was worked in last; none if the folder is no run.
fn worked_in(root: &Path) -> Option<SystemTime> {
    let run = RunDir::new(root);
    let stamps = StageName::ALL.map(|stage| stamp_path(&stage.folder(&run)));
    let written = |path: PathBuf| path.metadata().and_then(|data| data.modified()).ok();
    stamps.into_iter().chain([run.settings(), run.graph().description()]).filter_map(written).max()
}
