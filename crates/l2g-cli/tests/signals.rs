//! Signals and the programs of `embed.command`, through the real binary.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod common;

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use common::{command, l2g, prepared, run, stages, text, wait_until};

/// A program that starts another one, notes the numbers of both, and sleeps.
const SLEEPER: &str = r#"
import os, subprocess, sys, time
other = subprocess.Popen(["sleep", "1000"])
with open(os.path.join(sys.argv[2], "started-%d" % os.getpid()), "w") as file:
    file.write("%d %d" % (os.getpid(), other.pid))
os.rename(file.name, os.path.join(sys.argv[2], "started"))
time.sleep(1000)
"#;

/// A program that gives coordinates at once.
const EMBEDDER: &str = r#"
import struct, sys
nodes = open(sys.argv[2], "rb").read()
count = (len(nodes) - 10 - struct.unpack("<H", nodes[8:10])[0]) // 8
text = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 4), }" % count
text += " " * (117 - len(text)) + "\n"
values = [(k * 37 % 101) / 101 for k in range(4 * count)]
open(sys.argv[1], "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
                              + struct.pack("<%df" % len(values), *values))
"#;

/// Settings with a command for patches: a script with `{out}` and one more argument.
fn settings(folder: &Path, script: &str, argument: &str) -> String {
    fs::write(folder.join("embed.py"), script).unwrap();
    let script = folder.join("embed.py").display().to_string();
    let words = ["python3", &script, "{out}", argument].map(|word| format!("{word:?}")).join(", ");
    format!("[embed]\nmethod = \"command\"\ncommand = [{words}]\n")
}

/// Starts a run whose command runs a script that sleeps, and waits until it does; with it the
/// numbers of both processes, unless the run is over before.
fn try_sleeping(folder: &Path, script: &str, more: &[&str]) -> (Child, Option<Vec<String>>) {
    fs::write(folder.join("sleep.toml"), settings(folder, script, &folder.display().to_string())).unwrap();
    let arguments = run("run", &[&["--config", "sleep.toml", "--set", "embed.runs=1"], more].concat());
    let mut child = command(folder, &arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let started = folder.join("started");
    wait_until("the program sleeps", || started.exists() || child.try_wait().unwrap().is_some());
    let numbers = fs::read_to_string(started).ok();
    (child, numbers.map(|numbers| numbers.split(' ').map(str::to_owned).collect()))
}

/// The same for a run that nothing but a signal ends.
fn sleeping(folder: &Path, script: &str, more: &[&str]) -> (Child, Vec<String>) {
    match try_sleeping(folder, script, more) {
        (child, Some(processes)) => (child, processes),
        (child, None) => panic!("the run is over: {}", text(&child.wait_with_output().unwrap())),
    }
}

fn send(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// Whether a process is there, and not merely a number that nobody has asked for yet.
fn is_alive(process: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", process]).output().unwrap();
    let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

/// Whether this process, and so what it starts, ignores a signal. Only Linux tells.
fn is_ignored(signal: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap());
    mask >> (signal - 1) & 1 == 1
}

/// Files and folders that have no place in a run folder that nobody works in.
fn litter(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(".writing-") || name.starts_with(".work-") {
            found.push(name);
        } else if entry.path().is_dir() {
            found.extend(litter(&entry.path()));
        }
    }
    found
}

#[test]
fn every_signal_ends_the_programs_too_and_leaves_nothing_but_finished_files() {
    let hangup_is_ignored = is_ignored(1);
    for (signal, code, name) in [("-TERM", 143, "SIGTERM"), ("-INT", 130, "Ctrl-C"), ("-HUP", 129, "SIGHUP")]
    {
        if signal == "-HUP" && hangup_is_ignored {
            eprintln!("skipped in part: the tests run where SIGHUP is ignored");
            continue;
        }
        let folder = prepared();
        let folder = folder.path();
        let (child, processes) = sleeping(folder, SLEEPER, &[]);
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        let told = text(&output);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(&format!("{name}: stopping at the next good place")), "{told}");
        assert!(told.contains(&format!("stopped by {name}: ")), "{told}");
        let last = "what was done is kept; run the same command again to go on";
        assert_eq!(told.lines().last(), Some(last), "{told}");
        for process in processes {
            wait_until("the program is gone", || !is_alive(&process));
        }
        assert_eq!(litter(&folder.join("run")), [""; 0]);
    }
}

#[test]
fn a_second_signal_ends_everything_at_once_and_the_next_run_clears_up() {
    // After one signal, a program that does not listen to SIGTERM would have its five seconds.
    let ignore = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n";
    let folder = prepared();
    let folder = folder.path();
    let (child, processes) = sleeping(folder, &format!("{ignore}{SLEEPER}"), &["--threads", "1"]);
    let output = send_until_over(child);
    assert_eq!(output.status.code(), Some(143), "{}", text(&output));
    for process in processes {
        wait_until("the program is gone", || !is_alive(&process));
    }
    // What was left behind is cleared when the run goes on.
    fs::create_dir_all(folder.join("run/4-embeddings/.work-patch-00000-old")).unwrap();
    fs::write(folder.join("quick.toml"), settings(folder, EMBEDDER, "{nodes}")).unwrap();
    stages(folder, &run("run", &["--config", "quick.toml"]));
    assert_eq!(litter(&folder.join("run")), [""; 0]);
}

/// Sends SIGTERM until the program is over: signals that come together may be taken for one.
fn send_until_over(mut child: Child) -> Output {
    wait_until("the program ends", || {
        let is_over = child.try_wait().unwrap().is_some();
        if !is_over {
            let _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        }
        is_over
    });
    child.wait_with_output().unwrap()
}

#[test]
fn a_program_that_takes_too_long_is_ended_with_what_it_has_started() {
    // A program that is stopped before it has started another proves nothing: it gets more time then.
    for seconds in [2, 8, 32, 128] {
        let folder = prepared();
        let folder = folder.path();
        let limit = format!("embed.command_timeout={seconds}");
        let (child, processes) =
            try_sleeping(folder, SLEEPER, &["--set", "partition.clusters=1", "--set", &limit]);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output).contains("command for patch-0000"), "{}", text(&output));
        let expected = format!("took longer than {seconds} s, the limit of `embed.command_timeout`");
        assert!(text(&output).contains(&expected), "{}", text(&output));
        assert_eq!(litter(&folder.join("run")), [""; 0]);
        let Some(processes) = processes else { continue };
        for process in processes {
            wait_until("the program is gone", || !is_alive(&process));
        }
        return;
    }
    panic!("two minutes are not enough to start a program");
}

/// SIGKILL leaves no time for anything; the programs end all the same, and what they have started.
#[test]
fn programs_do_not_outlive_a_run_that_is_killed() {
    let folder = prepared();
    let folder = folder.path();
    // A program that does not listen to SIGTERM either.
    let ignore = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n";
    let (mut child, processes) = sleeping(folder, &format!("{ignore}{SLEEPER}"), &["--threads", "2"]);
    child.kill().unwrap();
    child.wait().unwrap();
    for process in processes {
        wait_until("the program is gone", || !is_alive(&process));
    }
}

#[test]
fn commands_of_another_user_are_run_only_with_trust() {
    let folder = prepared();
    let folder = folder.path();
    fs::write(folder.join("theirs.toml"), settings(folder, EMBEDDER, "{nodes}")).unwrap();
    // Our own file: the command is shown and run.
    let ours = l2g(folder, &run("run", &["--config", "theirs.toml"]));
    assert!(ours.status.success(), "{}", text(&ours));
    assert!(text(&ours).contains("`embed.command` of `theirs.toml`: python3 /"), "{}", text(&ours));
    if chown(folder.join("theirs.toml"), Some(12345), None).is_err() {
        eprintln!("skipped in part: only root can give a file to another user");
        return;
    }
    let refused = l2g(folder, &run("other", &["--config", "theirs.toml"]));
    assert_eq!(refused.status.code(), Some(1));
    let told = text(&refused);
    assert!(
        told.contains("settings in `theirs.toml` belong to another user, and would run `python3 /"),
        "{told}"
    );
    assert!(told.contains("hint: read the command, and add `--trust` to run it"), "{told}");
    assert!(!folder.join("other").exists());
    // A command that was typed is our own, and so is another method.
    let script = folder.join("embed.py").display().to_string();
    let typed = format!("embed.command=[\"python3\", {script:?}, \"{{out}}\", \"{{nodes}}\"]");
    assert!(l2g(folder, &run("typed", &["--config", "theirs.toml", "--set", &typed])).status.success());
    assert!(l2g(folder, &run("vgae", &["--config", "theirs.toml", "--method", "vgae"])).status.success());
    let trusted = l2g(folder, &run("trusted", &["--config", "theirs.toml", "--trust"]));
    assert!(trusted.status.success(), "{}", text(&trusted));

    // The folder of another user, whose settings the stages take by themselves.
    chown(folder.join("run"), Some(12345), None).unwrap();
    fs::remove_dir_all(folder.join("run/4-embeddings")).unwrap();
    let refused = l2g(folder, &["embed", "run"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused).contains("belong to another user"), "{}", text(&refused));
    assert!(l2g(folder, &["embed", "run", "--trust"]).status.success());
}
