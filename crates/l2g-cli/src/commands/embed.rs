//! `l2g embed RUN`: local coordinates for every patch, into `4-embeddings`; or for the patches of a
//! bundle, into a folder.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use local2global::config::Config;
use local2global::embed::bundle::embed_bundle;
use local2global::embed::{EmbedConfig, EmbedMethod, EmbedSummary, embed_run};
use local2global::pipeline::{Sharing, StageName};
use local2global::run_dir::RunDir;

use super::partition::open_graph;
use crate::context::{Context, UsageError};
use crate::cost::Record;
use crate::output::grouped;
use crate::stage::StageWork;

/// Embed every patch of a run on its own.
///
/// Reads `1-graph` and `3-patches`, and writes NAME.npy (one row per node of the patch) and
/// NAME.json (losses, score, seconds, settings) into `4-embeddings`, each as soon as it is
/// done. Patches that are there already, made from the same inputs, are kept. The method is
/// `--method`: auto (hops with features, walks without), hops, walks, both, vgae, gae,
/// dgi, spectral, command or given.
///
/// With `--bundle`, the patches are those of a file that `l2g bundle` wrote, perhaps on another machine;
/// their coordinates go into `--out`, and `l2g collect` takes them back.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  l2g embed runs/cora --dim 16\n  l2g embed runs/cora \
    --only 0-3,7 --memory 4G\n  l2g embed runs/cora --method spectral --json\n  l2g embed \
    --bundle bundles/job-00000.l2g --out results")]
pub(crate) struct EmbedArgs {
    /// The run folder
    #[arg(required_unless_present = "bundle")]
    run: Option<PathBuf>,

    /// Only these patches, as in 0-3,7
    #[arg(long, value_name = "PATCHES")]
    only: Option<String>,

    #[command(flatten)]
    method: MethodArgs,

    /// Embed the patches of this bundle, without a run folder
    #[arg(long, value_name = "FILE", requires = "out", conflicts_with_all = ["run", "only", "dim", "method", "epochs"])]
    bundle: Option<PathBuf>,

    /// The folder that coordinates of a bundle go into
    #[arg(long, value_name = "DIR", requires = "bundle")]
    out: Option<PathBuf>,
}

/// How patches are embedded, as options.
#[derive(Debug, Args)]
pub(crate) struct MethodArgs {
    /// How many coordinates a node gets [default: 128]
    #[arg(long, value_name = "D")]
    dim: Option<usize>,

    #[command(flatten)]
    training: TrainingArgs,
}

impl MethodArgs {
    /// Puts the options into the settings of the stage.
    pub(crate) fn put_into(&self, embed: &mut EmbedConfig) {
        embed.dim = self.dim.unwrap_or(embed.dim);
        self.training.put_into(embed);
    }

    /// The options as words that repeat them.
    pub(crate) fn words(&self) -> Vec<String> {
        let TrainingArgs { method, epochs } = self.training;
        let dim = self.dim.map(|dim| ("--dim", dim.to_string()));
        // Its name in settings, a text in JSON.
        let name = |method| serde_json::json!(method).as_str().unwrap_or_default().to_owned();
        let method = method.map(|method: EmbedMethod| ("--method", name(method)));
        let epochs = epochs.map(|epochs| ("--epochs", epochs.to_string()));
        let given = [dim, method, epochs].into_iter().flatten();
        given.flat_map(|(option, value)| [option.to_owned(), value]).collect()
    }
}

/// How patches are trained, as options.
#[derive(Debug, Args)]
pub(crate) struct TrainingArgs {
    /// How patches are embedded: auto, hops, walks, both, vgae, gae, dgi, spectral, command or given;
    /// `l2g settings embed.method` tells what they are [default: auto]
    #[arg(long, value_name = "METHOD", value_parser = parse_method)]
    method: Option<EmbedMethod>,

    /// How often training goes over a patch [default: by the method]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    epochs: Option<u32>,
}

impl TrainingArgs {
    /// Puts the options into the settings of the stage.
    pub(crate) fn put_into(&self, embed: &mut EmbedConfig) {
        embed.method = self.method.unwrap_or(embed.method);
        embed.epochs = self.epochs.or(embed.epochs);
    }
}

/// A method by its name, as settings call it.
fn parse_method(name: &str) -> Result<EmbedMethod, String> {
    let config = Config::new("", &[format!("embed.method={name}")]).map_err(|error| error.to_string())?;
    Ok(config.embed.method)
}

pub(crate) fn execute(args: &EmbedArgs, context: &Context) -> anyhow::Result<()> {
    match (&args.bundle, &args.out, &args.run) {
        (Some(bundle), Some(out), _) => execute_bundle(bundle, out, context),
        (_, _, Some(run)) => execute_run(args, run, context),
        _ => Err(UsageError("there is no run folder and no `--bundle`; needed one of them".into()).into()),
    }
}

/// Embeds the patches of a run folder.
fn execute_run(args: &EmbedArgs, run: &Path, context: &Context) -> anyhow::Result<()> {
    let only = args.only.as_deref().map(parse_patches).transpose()?;
    let work = begin(run, &args.method, context)?;
    let (embed, seed) = (work.config.embed_within_memory(), work.config.seed);
    let summary = embed_run(&work.run, &embed, only.as_deref(), seed, &context.progress)
        .with_context(|| format!("could not embed run `{}`", run.display()))?;
    let folder = work.run.embeddings();
    if only.is_none() {
        work.finish(&[], context)?;
    }
    show(&summary, &folder, context)
}

/// Takes a run folder into use for embedding, with the settings of the run and the options. Several
/// processes may embed patches of one run at the same time.
pub(crate) fn begin(run: &Path, method: &MethodArgs, context: &Context) -> anyhow::Result<StageWork> {
    open_graph(&RunDir::new(run))?;
    let mut work = StageWork::begin(run, StageName::Embed, Sharing::Shared, context)?;
    method.put_into(&mut work.config.embed);
    work.check_commands(context)?;
    work.prepare()?;
    Ok(work)
}

/// Embeds the patches of a bundle; the limit of memory is this machine's.
fn execute_bundle(bundle: &Path, out: &Path, context: &Context) -> anyhow::Result<()> {
    let limit = context.config.memory.map(|_| context.config.memory_room());
    let summary = embed_bundle(bundle, limit, out, &context.progress)
        .with_context(|| format!("could not embed bundle `{}`", bundle.display()))?;
    show(&summary, out, context)
}

fn show(summary: &EmbedSummary, folder: &Path, context: &Context) -> anyhow::Result<()> {
    let record = Record::new(summary, folder, context);
    let mut rows = vec![
        ("embedded", format!("{} patches", grouped(summary.embedded.len()))),
        ("kept", format!("{} patches that were there already", grouped(summary.kept.len()))),
    ];
    rows.extend(record.cost.rows());
    rows.push(("embeddings", folder.display().to_string()));
    context.output.show(&record, &rows)
}

/// `0-3,7` as 0, 1, 2, 3, 7.
pub(crate) fn parse_patches(text: &str) -> Result<Vec<usize>, UsageError> {
    let wrong = || UsageError(format!("`--only {text}` is not a list of patches such as 0-3,7"));
    let mut patches = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
        let (first, last) = (number(first)?, number(last)?);
        if first > last || last > 10_000_000 {
            return Err(wrong());
        }
        patches.extend(first..=last);
    }
    Ok(patches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_numbers_and_ranges() {
        assert_eq!(parse_patches("0-3,7").unwrap(), [0, 1, 2, 3, 7]);
        for wrong in ["", "3-1", "a", "1,,2", "-1"] {
            assert!(parse_patches(wrong).is_err(), "{wrong}");
        }
    }
}
