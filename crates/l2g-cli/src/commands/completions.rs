//! `l2g completions SHELL`: what a shell needs to complete commands and options.

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use crate::output;

/// Print what a shell needs to complete commands and options.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  source <(l2g completions bash)\n  l2g completions bash > \
    ~/.local/share/bash-completion/completions/l2g\n  l2g completions zsh > ~/.zfunc/_l2g\n  l2g completions \
    fish > ~/.config/fish/completions/l2g.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: ShellArg,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ShellArg {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn execute(args: &CompletionsArgs) -> anyhow::Result<()> {
    let shell = match args.shell {
        ShellArg::Bash => Shell::Bash,
        ShellArg::Zsh => Shell::Zsh,
        ShellArg::Fish => Shell::Fish,
    };
    output::print(&script(shell))
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::command_line(), "l2g", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_know_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell);
            for command in crate::command_line().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
        }
    }
}
