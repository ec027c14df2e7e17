//! `l2g`: embed a graph in patches and stitch them together, from the command line.
//!
//! One file per subcommand in `commands/`. Results go to standard output, progress, notes and errors
//! to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C, 143 by
//! SIGTERM, 129 by SIGHUP.

mod advice;

mod choice;

mod commands;

mod context;

mod cost;

mod hints;

mod limits;

mod output;

mod progress;

mod signals;

mod stage;

mod trust;

use std::ffi::OsString;
use std::io::Write;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use local2global::align::{AlignError, AlignFilesError};
use local2global::config::{Config, ConfigError, nearest};
use local2global::embed::EmbedError;
use local2global::evaluate::EvaluateError;
use local2global::experiment::ExperimentError;
use local2global::export::ExportError;
use local2global::federated::FederatedError;
use local2global::partition::PartitionError;
use local2global::patch::PatchError;
use local2global::write::WriteError;

pub use limits::TellingAllocator;

use commands::Command;
use context::{CommonArgs, Context};

const AFTER_HELP: &str = "\
First steps:
  l2g run                        embed the built-in graph Cora, into runs/cora
  l2g run edges.csv --dim 64     embed a graph of yours
  l2g settings embed             what can be set, and what it means

Results go to standard output; progress, notes and errors to standard error.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.";

/// Embed a graph that is too big, too slow or too scattered to embed in one piece.
///
/// The graph is split into overlapping patches, every patch is embedded on its own,
/// and the patch embeddings are stitched into one. Each stage is a command and leaves
/// plain files in a run folder; `l2g run` goes the whole way.
#[derive(Debug, Parser)]
#[command(name = "l2g", version, max_term_width = 100, arg_required_else_help = true, after_help = AFTER_HELP)]
struct Cli {
    #[command(flatten)]
    common: CommonArgs,

    #[command(subcommand)]
    command: Command,
}

/// Runs the command line and gives its exit code; `args` begins with the name of the program.
///
/// The binary `l2g` calls this, and so does the Python package, which brings the same command
/// line. It is for a whole process: threads and signals are set up once.
pub fn main_from(args: impl IntoIterator<Item = OsString>) -> u8 {
    limits::ignore_file_size_signal();
    let code = match Cli::try_parse_from(args) {
        Ok(cli) => execute(cli),
        Err(error) => refuse(error),
    };
    // A program in another language does not flush what Rust has buffered.
    let _ = std::io::stdout().flush();
    code
}

/// The command line as clap knows it, for completions and manual pages.
pub(crate) fn command_line() -> clap::Command {
    Cli::command()
}

fn execute(Cli { common, command }: Cli) -> u8 {
    let (json, log) = (common.json, common.log);
    match Context::new(common).and_then(|context| command.execute(&context)) {
        Ok(()) => 0,
        // Whoever reads has seen enough, as in `l2g export RUN --format csv --out - | head`.
        Err(error) if error.chain().any(is_closed_pipe) => 0,
        Err(error) => {
            let json = json && error.downcast_ref::<output::ToldInRecord>().is_none();
            match signals::received() {
                Some(stop) => {
                    output::print_stopped(&error, stop, json, log);
                    stop.exit_code()
                }
                None => {
                    output::print_error(&error, json, log);
                    if error.chain().any(is_usage_error) { 2 } else { 1 }
                }
            }
        }
    }
}

/// Tells what is wrong with the arguments, and what was probably meant.
fn refuse(mut error: clap::Error) -> u8 {
    if let Some(tip) = unknown_option(&error).or_else(|| unknown_command(&error)) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    let _ = error.print();
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// How to set what is a setting and no option.
fn unknown_option(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_some() {
        return None;
    }
    let key = option.trim_start_matches('-').split('=').next().unwrap_or_default().replace('-', "_");
    let setting = Config::settings_named(&key).into_iter().next()?;
    Some(format!("`{option}` is a setting here: `--set {setting}=VALUE`"))
}

/// The command that is spelt much the same, where clap itself finds none.
fn unknown_command(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return None;
    }
    let program = command_line();
    let name = nearest(word, program.get_subcommands().map(clap::Command::get_name))?;
    Some(format!("there is a command `{name}`"))
}

/// Whether standard output, or another pipe, was closed at its other end.
fn is_closed_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    let io = cause.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
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
    let is_wrong = cause.is::<ConfigError>() || cause.is::<context::UsageError>();
    is_refused || is_untold || is_wrong || is_setting(cause)
}

/// Whether a setting has a value that it cannot have.
fn is_setting(cause: &(dyn std::error::Error + 'static)) -> bool {
    matches!(cause.downcast_ref(), Some(PartitionError::Setting { .. }))
        || matches!(cause.downcast_ref(), Some(PatchError::Setting { .. }))
        || matches!(cause.downcast_ref(), Some(EmbedError::Setting { .. }))
        || matches!(cause.downcast_ref(), Some(AlignError::Setting { .. }))
        || matches!(
            cause.downcast_ref(),
            Some(
                FederatedError::Privacy { .. }
                    | FederatedError::Name { .. }
                    | FederatedError::Straighten
                    | FederatedError::SecretInShare { .. }
                    | FederatedError::Align(AlignError::Setting { .. })
            )
        )
        || matches!(cause.downcast_ref(), Some(AlignFilesError::Align(AlignError::Setting { .. })))
        || matches!(cause.downcast_ref(), Some(EvaluateError::Setting { .. }))
        || matches!(
            cause.downcast_ref(),
            Some(
                ExperimentError::Setting { .. }
                    | ExperimentError::Partition(PartitionError::Setting { .. })
                    | ExperimentError::Patch(PatchError::Setting { .. })
            )
        )
}
