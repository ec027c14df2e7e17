//! A program in a process group of its own, which is ended together with all that it has started.
//!
//! The terminal sends Ctrl-C to the group in front only, so a program that runs here does not see
//! it: whoever started it has to end it. Ending means SIGTERM for the whole group, and SIGKILL for
//! what is still there after five seconds. Should this process be killed itself, a shell that waits for
//! that kills the group (`watcher`). A program that moves itself into another group gets away.

use std::collections::BTreeSet;
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::watcher::Watcher;

/// How long a program has to clean up after SIGTERM.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// How often a program that is being ended is asked whether it is gone.
const POLL: Duration = Duration::from_millis(10);

/// The groups that are running in this process.
static RUNNING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A running program and all that it has started. Dropped, it is ended as a whole.
pub(super) struct ProcessGroup {
    leader: Child,
    /// Sent away after the group has ended, since fields are dropped after the whole.
    watcher: Watcher,
}

impl ProcessGroup {
    /// Starts a program as the first of a new group.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let watcher = Watcher::start()?;
        // Under the lock, so that nobody who kills all groups misses one that is just starting.
        let mut groups = running();
        let leader = in_own_group(command).spawn()?;
        groups.insert(leader.id());
        drop(groups);
        let mut group = Self { leader, watcher };
        group.watcher.watch(group.leader.id())?;
        Ok(group)
    }

    /// How the program ended, if it has; what it has started may still be running.
    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.leader.try_wait()
    }

    /// Ends the whole group, if any of it is left.
    #[cfg(unix)]
    fn end(&mut self) {
        let group = self.leader.id();
        if !send(group, Signal::Terminate) {
            return;
        }
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            // A program that has ended belongs to its group until it is waited for.
            let _ = self.leader.try_wait();
            if !send(group, Signal::None) {
                return;
            }
            thread::sleep(POLL);
        }
        send(group, Signal::Kill);
        let _ = self.leader.wait();
    }

    /// Ends the program alone: there are no groups.
    #[cfg(not(unix))]
    fn end(&mut self) {
        let _ = self.leader.kill().and_then(|()| self.leader.wait());
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.end();
        running().remove(&self.leader.id());
    }
}

/// Kills all programs of `embed.command` that are running, without grace. For a process that is
/// about to exit.
pub fn kill_all() {
    for &group in running().iter() {
        send(group, Signal::Kill);
    }
}

fn running() -> MutexGuard<'static, BTreeSet<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What can be sent to a group.
#[derive(Clone, Copy)]
enum Signal {
    /// Only asks whether the group has members.
    None,
    Terminate,
    Kill,
}

#[cfg(unix)]
fn in_own_group(command: &mut Command) -> &mut Command {
    use std::os::unix::process::CommandExt;
    command.process_group(0)
}

#[cfg(not(unix))]
fn in_own_group(command: &mut Command) -> &mut Command {
    command
}

/// Sends a signal to all members of a group; false if there are none.
#[cfg(unix)]
fn send(group: u32, signal: Signal) -> bool {
    use nix::sys::signal::{Signal as Code, killpg};
    let Ok(group) = i32::try_from(group).map(nix::unistd::Pid::from_raw) else { return false };
    let sent = match signal {
        Signal::None => killpg(group, None),
        Signal::Terminate => killpg(group, Code::SIGTERM),
        Signal::Kill => killpg(group, Code::SIGKILL),
    };
    sent.is_ok()
}

/// Without process groups, the program alone is ended, by the `Child` that holds it.
#[cfg(not(unix))]
fn send(_: u32, _: Signal) -> bool {
    false
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for something that must come true.
    fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !holds() {
            assert!(Instant::now() < deadline, "{what}");
            thread::sleep(POLL);
        }
    }

    /// A shell that has started another process, whose number it writes into a file.
    fn start(folder: &std::path::Path, script: &str) -> (ProcessGroup, u32) {
        let file = folder.join("number");
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).arg(&file);
        let group = ProcessGroup::start(&mut command).unwrap();
        let number = || std::fs::read_to_string(&file).ok()?.trim().parse::<u32>().ok();
        wait_until("the other process has started", || number().is_some());
        (group, number().unwrap())
    }

    /// Whether a process is there and not merely waiting for somebody to take note of its end.
    fn is_alive(process: u32) -> bool {
        let state = Command::new("ps").args(["-o", "stat=", "-p", &process.to_string()]).output().unwrap();
        let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
        !state.is_empty() && !state.starts_with('Z')
    }

    #[test]
    fn what_a_program_has_started_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let (group, grandchild) = start(folder.path(), "sleep 1000 & echo $! > \"$1\"; wait");
        assert!(is_alive(grandchild));
        drop(group);
        wait_until("the grandchild is gone", || !is_alive(grandchild));
    }

    #[test]
    fn a_program_that_ends_by_itself_leaves_nobody_behind() {
        let folder = tempfile::tempdir().unwrap();
        let (mut group, grandchild) = start(folder.path(), "sleep 1000 & echo $! > \"$1\"");
        wait_until("the program ends", || group.try_wait().unwrap().is_some());
        drop(group);
        wait_until("the grandchild is gone", || !is_alive(grandchild));
    }

    #[test]
    fn a_program_that_ignores_sigterm_is_killed_after_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let (group, stubborn) =
            start(folder.path(), "trap '' TERM; echo $$ > \"$1\"; sleep 1000; sleep 1000");
        let started = Instant::now();
        drop(group);
        assert!(started.elapsed() >= GRACE);
        wait_until("it is gone", || !is_alive(stubborn));
    }
}
