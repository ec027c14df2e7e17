//! `l2g`: embed a graph in patches and stitch them together, from the command line.
//!
//! One file per subcommand in `commands/`. Standard output is for data, standard
//! error for people. Exit codes: 0 done, 1 failed, 2 wrong usage.

mod commands;

mod context;

mod hints;

mod output;

mod progress;

mod stage;

use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use local2global::config::{Config, ConfigError};
use local2global::export::ExportError;
use local2global::write::WriteError;

use commands::Command;
use context::{CommonArgs, Context};

/// Embed a graph that is too big, too slow or too scattered to embed in one piece.
///
/// The graph is split into overlapping patches, every patch is embedded on its own,
/// and the patch embeddings are stitched into one. Each stage is a command and leaves
/// plain files in a run folder; `l2g run` goes the whole way.
#[derive(Debug, Parser)]
#[command(name = "l2g", version, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    common: CommonArgs,

    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let Cli { common, command } = Cli::try_parse().unwrap_or_else(|error| refuse(error));
    let (json, log) = (common.json, common.log);
    match Context::new(common).and_then(|context| command.execute(&context)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::print_error(&error, json, log);
            let is_usage = error.chain().any(is_usage_error);
            ExitCode::from(if is_usage { 2 } else { 1 })
        }
    }
}

/// Tells what is wrong with the arguments, and how to set what is a setting and no option.
fn refuse(mut error: clap::Error) -> ! {
    if let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
        && error.kind() == ErrorKind::UnknownArgument
        && let key = option.trim_start_matches('-').split('=').next().unwrap_or_default().replace('-', "_")
        && let Some(setting) = Config::settings_named(&key).first()
    {
        let tip = format!("`{option}` is a setting here: `--set {setting}=VALUE`").into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error.exit()
}

/// Whether the person asked for something that cannot be.
fn is_usage_error(cause: &(dyn std::error::Error + 'static)) -> bool {
    let is_refused = matches!(
        cause.downcast_ref::<WriteError>(),
        Some(
            WriteError::Refused { .. }
                | WriteError::UnknownFormat { .. }
                | WriteError::FeaturesHomeless { .. }
        )
    );
    let is_untold = matches!(cause.downcast_ref::<ExportError>(), Some(ExportError::UnknownFormat { .. }));
    is_refused || is_untold || cause.is::<ConfigError>() || cause.is::<context::UsageError>()
}
