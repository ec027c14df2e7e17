//! Whether the commands in a settings file may be run.
//!
//! `embed.command` runs a program, so whoever writes settings decides what runs on the machine of
//! whoever uses them. A command from a file is always shown first. If the file, or the run folder that
//! it belongs to, is owned by another user, it is run only with `--trust`, or after a yes on the
//! terminal. Commands on the command line (`--set embed.command=...`) are the user's own.

use std::fs::{File, Metadata};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use local2global::config::Config;
use local2global::embed::EmbedMethod;

use crate::context::Context;

/// A file that settings were read from.
#[derive(Clone, Debug)]
pub(crate) struct SettingsFile {
    path: PathBuf,
    is_ours: bool,
}

impl SettingsFile {
    /// Reads a file of settings. The owner is asked of the open file, so nobody can swap it between
    /// the two steps.
    pub(crate) fn read(path: &Path) -> io::Result<(Self, String)> {
        let mut file = File::open(path)?;
        let is_ours = is_ours(&file.metadata()?);
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok((Self { path: path.to_owned(), is_ours }, text))
    }

    /// As [`SettingsFile::read`], for the settings of a run folder, which must be ours as well: its
    /// owner can put any file there.
    pub(crate) fn read_in(folder: &Path, path: &Path) -> io::Result<(Self, String)> {
        let (file, text) = Self::read(path)?;
        let is_ours = file.is_ours && is_ours(&folder.metadata()?);
        Ok((Self { is_ours, ..file }, text))
    }
}

impl std::fmt::Display for SettingsFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.path.display().fmt(f)
    }
}

/// Why a command was not run.
#[derive(Debug)]
pub(crate) struct NotTrusted {
    path: PathBuf,
    command: String,
}

impl std::fmt::Display for NotTrusted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, command } = self;
        write!(f, "settings in `{}` belong to another user, and would run `{command}`", path.display())
    }
}

impl std::error::Error for NotTrusted {}

/// Shows the commands that `config` would run and that come from `file`, and checks that they may
/// be run.
///
/// # Errors
/// [`NotTrusted`] with the first command that may not.
pub(crate) fn check(config: &Config, file: Option<&SettingsFile>, context: &Context) -> anyhow::Result<()> {
    let Some(file) = file else { return Ok(()) };
    let typed = commands(&typed_settings(context.typed()));
    for command in commands(config).iter().filter(|command| !typed.contains(command)) {
        let command = in_one_line(command);
        let path = file.path.display();
        let text = format!("`embed.command` of `{path}`: {command}");
        let record = serde_json::json!({ "command": command, "file": file.path, "ours": file.is_ours });
        context.progress.tell(&text, "command", &record);
        if !file.is_ours && !context.trusts() && !is_confirmed(&command, &file.path) {
            anyhow::bail!(NotTrusted { path: file.path.clone(), command });
        }
    }
    Ok(())
}

/// The commands that settings would run, each once.
fn commands(config: &Config) -> Vec<Vec<String>> {
    let each = config.embed.each().filter(|config| config.method == EmbedMethod::Command);
    let mut commands: Vec<Vec<String>> = each.map(|config| config.command).collect();
    commands.sort_unstable();
    commands.dedup();
    commands
}

/// What `--set` says about commands, as settings that would run them.
fn typed_settings(pairs: &[String]) -> Config {
    let is_about_commands = |pair: &&String| pair.trim().starts_with("embed") && pair.contains("command");
    let mut pairs: Vec<String> = pairs.iter().filter(is_about_commands).cloned().collect();
    pairs.push("embed.method=command".into());
    // Pairs that make no sense have been refused already.
    Config::new("", &pairs).unwrap_or_default()
}

/// A command as one would type it; what could confuse a terminal is escaped.
fn in_one_line(command: &[String]) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./{}=:,+@%".contains(letter);
    let word = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("{word:?}"),
    };
    command.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Whether somebody at the terminal says yes.
#[expect(clippy::print_stderr, reason = "people are asked on standard error")]
fn is_confirmed(command: &str, path: &Path) -> bool {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return false;
    }
    eprint!("settings in `{}` belong to another user. Run `{command}`? [y/N] ", path.display());
    let mut answer = String::new();
    let is_read = io::stdin().read_line(&mut answer).is_ok();
    is_read && ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

#[cfg(unix)]
fn is_ours(data: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    data.uid() == nix::unistd::geteuid().as_raw()
}

/// Without users by number, everything is taken for ours.
#[cfg(not(unix))]
fn is_ours(_: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_typed_and_cannot_confuse_a_terminal() {
        let command = ["python3", "my script.py", "{out}", "\u{1b}[2Jrm", ""].map(String::from);
        assert_eq!(in_one_line(&command), "python3 \"my script.py\" {out} \"\\u{1b}[2Jrm\" \"\"");
    }

    #[test]
    fn typed_commands_are_told_from_those_of_files() {
        let typed = ["embed.command=[\"a\", \"{out}\"]".into(), "partition.passes=3".into()];
        assert_eq!(commands(&typed_settings(&typed)), [["a", "{out}"]]);
        assert_eq!(commands(&typed_settings(&["embed.dim=3".into()])), [[""; 0]]);
        let of_patch = ["embed.patches.patch-00001.command=[\"b\"]".into()];
        assert!(commands(&typed_settings(&of_patch)).contains(&vec!["b".to_owned()]));
    }
}
