//! `l2g cluster script RUN`: a ready script for the cluster that is there.
//!
//! A script is a text with places in braces (`slurm.sh`, `shell.sh`, `hyperqueue.sh`,
//! `kubernetes.yaml`), filled with the figures of the run: how many jobs there are, what they need.

mod figures;

mod template;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};
use local2global::embed::bundle::{BundleSource, DEFAULT_JOBS};
use local2global::pipeline::{GraphSource, Pipeline};
use serde::Serialize;

use super::embed::{MethodArgs, begin};
use crate::context::{Context, UsageError};
use crate::output::print;
use figures::Figures;
use template::{filled, in_yaml, quoted};

/// Train patches on a cluster: Slurm, Kubernetes, HyperQueue, or machines within reach of a shell.
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
enum ClusterCommand {
    Script(ScriptArgs),
}

/// Print a script that packs the patches of a run, trains them on a cluster, and takes them back.
///
/// How many jobs there are, how much memory one needs and how long it takes come from the run itself.
/// The script is plain and commented: read it, change it, keep it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  l2g cluster script runs/cora --for slurm --jobs 20 > train.sh\n  \
    bash train.sh\n  l2g cluster script runs/cora --for kubernetes --jobs 20 --folder /cluster > job.yaml\n\n\
    Settings such as `--dim`, `--method`, `--seed` and `--set` go into the script.")]
struct ScriptArgs {
    /// The run folder, with graph and patches
    run: PathBuf,

    /// What the script is for
    #[arg(long = "for", value_name = "ENGINE")]
    engine: Engine,

    /// How many jobs there are, at most one a patch [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,

    /// The folder of bundles and results, which all machines see [default: RUN.cluster]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    /// For Kubernetes: the image, which has `l2g`
    #[arg(long, value_name = "IMAGE", default_value = "local2global")]
    image: String,

    /// For Kubernetes: the claim of the volume that the folder is on
    #[arg(long, value_name = "NAME", default_value = "l2g")]
    volume: String,

    #[command(flatten)]
    method: MethodArgs,
}

/// What a script is for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Engine {
    /// An array of jobs for `sbatch`
    Slurm,
    /// An Indexed Job, for `kubectl apply`
    Kubernetes,
    /// An array of tasks for `hq submit`
    Hyperqueue,
    /// GNU parallel, or xargs
    Shell,
}

impl Engine {
    fn template(self) -> &'static str {
        match self {
            Self::Slurm => include_str!("slurm.sh"),
            Self::Kubernetes => include_str!("kubernetes.yaml"),
            Self::Hyperqueue => include_str!("hyperqueue.sh"),
            Self::Shell => include_str!("shell.sh"),
        }
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Printed<'a> {
    script: &'a str,
    #[serde(flatten)]
    figures: &'a Figures,
}

pub(crate) fn execute(args: &ClusterArgs, context: &Context) -> anyhow::Result<()> {
    let ClusterCommand::Script(args) = &args.command;
    let work = begin(&args.run, &args.method, context)?;
    let could_not = || format!("could not write a script for run `{}`", args.run.display());
    let (embed, seed) = (work.config.embed_within_memory(), work.config.seed);
    let source = BundleSource::open(&work.run, &embed, seed, &context.progress).with_context(could_not)?;
    let pipeline = Pipeline::new(&work.run, work.config.clone(), GraphSource::Settings(&[]));
    let seconds = pipeline.training_seconds().with_context(could_not)?;
    let jobs = args.jobs.map_or(DEFAULT_JOBS, |jobs| jobs as usize);
    let figures = Figures::of(&source, jobs, (seconds, context.threads_or_one())).with_context(could_not)?;
    let script = script(args, &figures, context)?;
    if context.output.json {
        return context.output.show(&Printed { script: &script, figures: &figures }, &[]);
    }
    print(&script)
}

fn script(args: &ScriptArgs, figures: &Figures, context: &Context) -> anyhow::Result<String> {
    let run = absolute(&args.run)?;
    let folder = match &args.folder {
        Some(folder) => absolute(folder)?,
        None => format!("{}.cluster", run.trim_end_matches('/')),
    };
    let settings = args.method.words().into_iter().chain(context.repeated());
    let settings: String = settings.map(|word| format!(" {}", quoted(&word))).collect();
    // What the scripts share comes first, since it has places of its own.
    let mut places = vec![("PACK", include_str!("pack.sh").trim_end().to_owned())];
    places.extend(figures.places());
    places.extend([
        ("RUN", quoted(&run)),
        ("FOLDER", quoted(&folder)),
        ("FOLDER_YAML", in_yaml(&folder)),
        ("SETTINGS", settings),
        ("IMAGE", in_yaml(&args.image)),
        ("VOLUME", in_yaml(&args.volume)),
        ("VERSION", env!("CARGO_PKG_VERSION").to_owned()),
    ]);
    Ok(filled(args.engine.template(), &places))
}

/// A path from the root, as text that has one line.
fn absolute(path: &Path) -> anyhow::Result<String> {
    let path = std::path::absolute(path).with_context(|| format!("could not find `{}`", path.display()))?;
    match path.to_str().filter(|text| !text.contains('\n')) {
        Some(text) => Ok(text.to_owned()),
        None => {
            let problem = format!("`{}` cannot stand in a script; needed a path in UTF-8", path.display());
            Err(UsageError(problem).into())
        }
    }
}
