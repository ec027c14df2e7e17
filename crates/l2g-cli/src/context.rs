//! What all subcommands share: settings, progress, the way results are shown.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;
use local2global::config::Config;
use local2global::seed::Seed;

use crate::output::Output;
use crate::progress::Terminal;

/// Options that every subcommand takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct CommonArgs {
    /// Read settings from a TOML file, such as the `run.toml` of an earlier run
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Change one setting; may be given several times, as in `--set graph.component=all`
    #[arg(long, global = true, value_name = "TABLE.KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// The seed of all chance: same seed, same bytes [default: 0]
    #[arg(long, global = true, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Threads to use [default: all cores]; never changes a result
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,

    /// Print one JSON object on standard output, and nothing else
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Say nothing on standard error but errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

/// What a subcommand works with.
pub(crate) struct Context {
    pub(crate) config: Config,
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
        let text = match &args.config {
            Some(path) => fs::read_to_string(path)
                .with_context(|| format!("could not read settings from `{}`", path.display()))?,
            None => String::new(),
        };
        let mut config = Config::new(&text, &args.set)?;
        config.seed = args.seed.map_or(config.seed, Seed);
        let mut pool = rayon::ThreadPoolBuilder::new();
        if let Some(threads) = args.threads {
            pool = pool.num_threads(usize::from(threads));
        }
        pool.build_global().context("could not start threads")?;
        Ok(Self {
            config,
            progress: Terminal::new(args.quiet),
            output: Output { json: args.json, quiet: args.quiet },
            started: Instant::now(),
        })
    }
}
