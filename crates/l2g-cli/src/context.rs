//! What all subcommands share: settings, progress, the way results are shown.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use local2global::config::{Config, Preset};
use local2global::run_dir::RunDir;
use local2global::seed::Seed;

use crate::output::{Log, Output};
use crate::progress::Terminal;

/// Options that every subcommand takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct CommonArgs {
    /// Read settings from a TOML file, such as the `run.toml` of an earlier run
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Start from settings that belong together instead of the defaults: `paper` is the paper to
    /// the letter
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) preset: Option<PresetArg>,

    /// Change one setting; may be given several times, as in `--set graph.component=all`
    #[arg(long, global = true, value_name = "TABLE.KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// The seed of all chance: same seed, same bytes [default: 0]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,

    /// Threads to use [default: all cores]; never changes a result
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// Print one JSON object on standard output, and nothing else
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// How progress, notes and errors are written to standard error: for people, or as one JSON
    /// object a line
    #[arg(long, global = true, value_name = "FORM", default_value = "text")]
    pub(crate) log: Log,

    /// Results and errors only: no progress, no notes
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PresetArg {
    /// VGAE on every patch, overlaps and alignment as in the paper
    Paper,
}

impl From<PresetArg> for Preset {
    fn from(preset: PresetArg) -> Self {
        match preset {
            PresetArg::Paper => Self::Paper,
        }
    }
}

/// What a subcommand works with.
pub(crate) struct Context {
    /// The settings of `--config` and `--set`.
    pub(crate) config: Config,
    args: CommonArgs,
    pub(crate) progress: Terminal,
    pub(crate) output: Output,
    pub(crate) started: Instant,
}

/// Arguments that do not go together.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

impl Context {
    pub(crate) fn new(args: CommonArgs) -> anyhow::Result<Self> {
        let config = settings(args.config.as_deref(), &args)?;
        let mut pool = rayon::ThreadPoolBuilder::new();
        if let Some(threads) = args.threads {
            pool = pool.num_threads(usize::from(threads));
        }
        pool.build_global().context("could not start threads")?;
        Ok(Self {
            config,
            args: args.clone(),
            progress: Terminal::new(args.quiet, args.log),
            output: Output { json: args.json, quiet: args.quiet, log: args.log },
            started: Instant::now(),
        })
    }

    /// The settings for a stage of a finished or half-finished run: those that the run was made
    /// with, unless `--config` names others, changed by `--set` and `--seed`.
    pub(crate) fn config_of(&self, run: &RunDir) -> anyhow::Result<Config> {
        let own = run.settings();
        match self.args.config.is_none() && own.exists() {
            true => settings(Some(&own), &self.args),
            false => Ok(self.config.clone()),
        }
    }

    /// The settings that something was made with, unless `--config` names others, changed by `--set`.
    pub(crate) fn config_over(&self, made_with: &Config) -> anyhow::Result<Config> {
        match self.args.config {
            None => Ok(Config::new(&made_with.to_toml(), &self.args.set)?),
            Some(_) => Ok(self.config.clone()),
        }
    }
}

/// Settings from a file, if any, changed by `--set` and `--seed`.
fn settings(file: Option<&Path>, args: &CommonArgs) -> anyhow::Result<Config> {
    let text = match file {
        Some(path) => fs::read_to_string(path)
            .with_context(|| format!("could not read settings from `{}`", path.display()))?,
        None => String::new(),
    };
    let config = Config::with_preset(args.preset.map(Preset::from), &text, &args.set);
    let mut config = match file {
        Some(path) => {
            config.with_context(|| format!("could not use the settings of `{}`", path.display()))?
        }
        None => config?,
    };
    config.seed = args.seed.map_or(config.seed, Seed);
    Ok(config)
}
