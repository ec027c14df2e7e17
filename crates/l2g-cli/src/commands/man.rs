//! `l2g man`: the manual pages.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use clap_mangen::Man;

use crate::context::UsageError;
use crate::output;

/// Print a manual page, or write all of them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  l2g man | man -l -\n  l2g man run | man -l -\n  l2g man --out \
    ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The page of this command [default: that of l2g itself]
    command: Option<String>,

    /// Write a page for every command into this folder: l2g.1, l2g-run.1, ...
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

pub(crate) fn execute(args: &ManArgs) -> anyhow::Result<()> {
    let mut program = crate::command_line().disable_help_subcommand(true).propagate_version(true);
    program.build();
    if let Some(folder) = &args.out {
        let failed = || format!("could not write manual pages into `{}`", folder.display());
        std::fs::create_dir_all(folder).with_context(failed)?;
        return clap_mangen::generate_to(program, folder).with_context(failed);
    }
    let page = match &args.command {
        Some(name) => program
            .find_subcommand(name)
            .cloned()
            .ok_or_else(|| UsageError(format!("there is no command `{name}`; `l2g --help` lists them")))?,
        None => program,
    };
    let mut roff = Vec::new();
    Man::new(page).render(&mut roff)?;
    output::print(&String::from_utf8_lossy(&roff))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        crate::command_line().debug_assert();
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("man1");
        execute(&ManArgs { command: None, out: Some(out.clone()) }).unwrap();
        for command in crate::command_line().get_subcommands() {
            let page = std::fs::read_to_string(out.join(format!("l2g-{}.1", command.get_name()))).unwrap();
            assert!(page.contains(".SH OPTIONS"), "{}", command.get_name());
        }
        assert!(out.join("l2g.1").exists() && !out.join("l2g-help.1").exists());
        let unknown = execute(&ManArgs { command: Some("rnu".into()), out: None }).unwrap_err();
        assert!(unknown.is::<UsageError>());
    }
}
