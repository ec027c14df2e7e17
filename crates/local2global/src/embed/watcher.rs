//! Somebody who ends a process group when this process is gone.
//!
//! Whoever is killed by SIGKILL can end nothing himself. So a shell waits beside every group for the
//! end of a pipe, of which this process holds the other end: the kernel closes it however the process
//! ends, and the shell kills the group. Linux could send a signal instead (`PR_SET_PDEATHSIG`), but to
//! the program alone and not to what it has started, and already when the thread ends that started it.
//!
//! Only a kill in the moment between the start of a program and the word to the shell is missed. Where
//! there are no process groups, nobody watches.

use std::io;
#[cfg(unix)]
use std::io::Write;
#[cfg(unix)]
use std::os::unix::process::CommandExt;
#[cfg(unix)]
use std::process::{Child, Command, Stdio};

/// Reads the number of a group, waits for the end of its input, and kills the group.
#[cfg(unix)]
const SCRIPT: &str = "read -r group || exit; read -r _; kill -s KILL -- \"-$group\"";

/// A shell that waits for the end of this process. Dropped, it is sent away.
#[cfg(unix)]
pub(super) struct Watcher {
    shell: Child,
}

#[cfg(unix)]
impl Watcher {
    /// Starts a shell that knows of no group yet. It stands in a group of its own, where Ctrl-C
    /// does not reach it, and holds none of our files open.
    pub(super) fn start() -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { shell: command.spawn()? })
    }

    /// Tells which group to watch over.
    pub(super) fn watch(&mut self, group: u32) -> io::Result<()> {
        match &mut self.shell.stdin {
            Some(pipe) => writeln!(pipe, "{group}"),
            None => Ok(()),
        }
    }
}

#[cfg(unix)]
impl Drop for Watcher {
    /// Ends the shell before its pipe closes, so that it kills nobody.
    fn drop(&mut self) {
        let _ = self.shell.kill().and_then(|()| self.shell.wait());
    }
}

/// Nobody, where there are no groups.
#[cfg(not(unix))]
pub(super) struct Watcher;

#[cfg(not(unix))]
impl Watcher {
    pub(super) fn start() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) fn watch(&mut self, _: u32) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("1000").process_group(0).spawn().unwrap()
    }

    #[test]
    fn the_end_of_the_pipe_kills_the_group() {
        let mut program = sleeper();
        let mut watcher = Watcher::start().unwrap();
        watcher.watch(program.id()).unwrap();
        drop(watcher.shell.stdin.take());
        assert_eq!(program.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn a_watcher_that_is_sent_away_kills_nobody() {
        let mut program = sleeper();
        let mut watcher = Watcher::start().unwrap();
        watcher.watch(program.id()).unwrap();
        drop(watcher);
        // The shell has been waited for, so what it does not do now it never does.
        assert_eq!(program.try_wait().unwrap(), None);
        program.kill().unwrap();
        program.wait().unwrap();
    }
}
