//! What all subcommands share: settings, progress, the way results are shown.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;
use local2global::config::{Config, Preset};
use local2global::memory::ByteSize;
use local2global::run_dir::RunDir;
use local2global::seed::Seed;

use crate::choice::choice;
use crate::output::{Log, Output};
use crate::progress::Terminal;
use crate::signals;
use crate::trust::{self, SettingsFile};

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

    /// The most memory that a stage may take, as in `4G`; mapped files do not count [default: what
    /// is free]
    #[arg(long, global = true, value_name = "SIZE")]
    pub(crate) memory: Option<ByteSize>,

    /// Print one JSON object on standard output, and nothing else
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// How progress, notes and errors are written to standard error: for people, or as one JSON
    /// object a line
    #[arg(long, global = true, value_name = "FORM", default_value = "text")]
    pub(crate) log: Log,

    /// Run `embed.command` from settings of another user without asking
    #[arg(long, global = true)]
    pub(crate) trust: bool,

    /// Results and errors only: no progress, no notes
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

choice! {
    pub(crate) PresetArg for Preset {
        /// VGAE on every patch, overlaps and alignment as in the paper
        Paper,
    }
}

/// What a subcommand works with.
pub(crate) struct Context {
    /// The settings of `--config` and `--set`.
    pub(crate) config: Config,
    /// The file that `config` was read from.
    file: Option<SettingsFile>,
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
        let read = |path: &PathBuf| SettingsFile::read(path).with_context(|| could_not_read(path));
        let (config, file) = settings(args.config.as_ref().map(read).transpose()?, &args)?;
        let mut pool = rayon::ThreadPoolBuilder::new();
        if let Some(threads) = args.threads {
            pool = pool.num_threads(usize::from(threads));
        }
        pool.build_global().context("could not start threads")?;
        signals::listen(args.log).context("could not listen for signals")?;
        Ok(Self {
            config,
            file,
            args: args.clone(),
            progress: Terminal::new(args.quiet, args.log),
            output: Output { json: args.json, quiet: args.quiet, log: args.log },
            started: Instant::now(),
        })
    }

    /// The settings for a stage of a finished or half-finished run, and the file they were read from:
    /// those that the run was made with, unless `--config` names others, changed by `--set` and
    /// `--seed`.
    pub(crate) fn config_of(&self, run: &RunDir) -> anyhow::Result<(Config, Option<SettingsFile>)> {
        let own = run.settings();
        match self.args.config.is_none() && own.exists() {
            true => {
                let read = SettingsFile::read_in(run.root(), &own);
                settings(Some(read.with_context(|| could_not_read(&own))?), &self.args)
            }
            false => Ok((self.config.clone(), self.file.clone())),
        }
    }

    /// The settings that something was made with, unless `--config` names others, changed by `--set`.
    pub(crate) fn config_over(&self, made_with: &Config) -> anyhow::Result<Config> {
        match self.args.config {
            None => Ok(Config::new(&made_with.to_toml(), &self.args.set)?),
            Some(_) => Ok(self.config.clone()),
        }
    }

    /// Shows the commands that settings from `--config` would run, and checks that they may be run.
    pub(crate) fn check_commands(&self, config: &Config) -> anyhow::Result<()> {
        trust::check(config, self.file.as_ref(), self)
    }

    /// The settings on the command line, as `table.key=value`.
    pub(crate) fn typed(&self) -> &[String] {
        &self.args.set
    }

    /// The options that change settings, as words that repeat them.
    pub(crate) fn repeated(&self) -> Vec<String> {
        let CommonArgs { config, preset, set, seed, memory, .. } = &self.args;
        let mut words = Vec::new();
        let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
        if let Some(config) = config {
            let path = std::path::absolute(config).unwrap_or_else(|_| config.clone());
            add("--config", path.display().to_string());
        }
        if let Some(PresetArg::Paper) = preset {
            add("--preset", "paper".into());
        }
        set.iter().for_each(|pair| add("--set", pair.clone()));
        seed.iter().for_each(|seed| add("--seed", seed.to_string()));
        memory.iter().for_each(|memory| add("--memory", memory.to_string()));
        words
    }

    /// The threads that were asked for; one if nobody said.
    pub(crate) fn threads_or_one(&self) -> usize {
        self.args.threads.map_or(1, usize::from)
    }

    /// Whether commands of other users may be run without asking.
    pub(crate) fn trusts(&self) -> bool {
        self.args.trust
    }
}

fn could_not_read(path: &Path) -> String {
    format!("could not read settings from `{}`", path.display())
}

/// Settings from a file, if any, changed by `--set`, `--seed` and `--memory`.
fn settings(
    file: Option<(SettingsFile, String)>,
    args: &CommonArgs,
) -> anyhow::Result<(Config, Option<SettingsFile>)> {
    let (file, text) = file.unzip();
    let preset = args.preset.map(Preset::from);
    let config = Config::with_preset(preset, text.as_deref().unwrap_or_default(), &args.set);
    let mut config = match &file {
        Some(file) => config.with_context(|| format!("could not use the settings of `{file}`"))?,
        None => config?,
    };
    config.seed = args.seed.map_or(config.seed, Seed);
    config.memory = args.memory.or(config.memory);
    Ok((config, file))
}
