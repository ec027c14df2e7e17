//! `l2g embed RUN`: local coordinates for every patch, into `4-embeddings`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use local2global::config::Config;
use local2global::embed::{EmbedConfig, EmbedMethod, embed_run};
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
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  l2g embed runs/cora --dim 16\n  l2g embed runs/cora \
    --only 0-3,7 --memory 4G\n  l2g embed runs/cora --method spectral --json")]
pub(crate) struct EmbedArgs {
    /// The run folder
    run: PathBuf,

    /// Only these patches, as in 0-3,7
    #[arg(long, value_name = "PATCHES")]
    only: Option<String>,

    /// How many coordinates a node gets [default: 128]
    #[arg(long, value_name = "D")]
    dim: Option<usize>,

    #[command(flatten)]
    training: TrainingArgs,
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
    let only = args.only.as_deref().map(parse_patches).transpose()?;
    open_graph(&RunDir::new(&args.run))?;
    // Several processes may embed patches of one run at the same time.
    let mut work = StageWork::begin(&args.run, StageName::Embed, Sharing::Shared, context)?;
    work.config.embed.dim = args.dim.unwrap_or(work.config.embed.dim);
    args.training.put_into(&mut work.config.embed);
    work.check_commands(context)?;
    work.prepare()?;
    let (embed, seed) = (work.config.embed_within_memory(), work.config.seed);
    let summary = embed_run(&work.run, &embed, only.as_deref(), seed, &context.progress)
        .with_context(|| format!("could not embed run `{}`", args.run.display()))?;
    let folder = work.run.embeddings();
    if only.is_none() {
        work.finish(&[], context)?;
    }
    let record = Record::new(&summary, &folder, context);
    let mut rows = vec![
        ("embedded", format!("{} patches", grouped(summary.embedded.len()))),
        ("kept", format!("{} patches that were there already", grouped(summary.kept.len()))),
    ];
    rows.extend(record.cost.rows());
    rows.push(("embeddings", folder.display().to_string()));
    context.output.show(&record, &rows)
}

/// `0-3,7` as 0, 1, 2, 3, 7.
fn parse_patches(text: &str) -> Result<Vec<usize>, UsageError> {
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
