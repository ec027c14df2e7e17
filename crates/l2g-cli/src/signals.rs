//! Signals that ask the program to stop: Ctrl-C (SIGINT), SIGTERM, and SIGHUP when a terminal closes.
//!
//! The first one is passed on to the library, which stops at the next good place and keeps what is
//! done. A second one ends the program at once, together with the programs of `embed.command` that
//! are running. Either way the exit code is 128 and the number of the signal, as in a shell.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use crate::output::Log;

/// The number of the first signal; 0 if there was none.
static RECEIVED: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// A signal that asked the program to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    number: usize,
}

impl Stop {
    /// What people call it.
    pub(crate) fn name(self) -> &'static str {
        match self.number {
            1 => "SIGHUP",
            2 => "Ctrl-C",
            _ => "SIGTERM",
        }
    }

    /// The exit code of a program that was stopped by it: 129, 130 or 143.
    pub(crate) fn exit_code(self) -> u8 {
        128 + self.number as u8
    }
}

/// The signal that asked the program to stop, if one came.
pub(crate) fn received() -> Option<Stop> {
    let number = RECEIVED.load(Ordering::Relaxed);
    (number > 0).then_some(Stop { number })
}

/// Listens for signals from now on; `log` is how to say so when one comes.
///
/// # Errors
/// If the system gives no thread to listen.
#[cfg(unix)]
pub(crate) fn listen(log: Log) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut numbers = vec![SIGINT, SIGTERM];
    // Who starts a program with `nohup` wants it to outlive its terminal.
    if !is_ignored(SIGHUP) {
        numbers.push(SIGHUP);
    }
    let mut signals = signal_hook::iterator::Signals::new(numbers)?;
    let hear = move || signals.forever().for_each(|number| hear(Stop { number: number as usize }, log));
    std::thread::Builder::new().name("signals".into()).spawn(hear).map(drop)
}

/// Elsewhere Ctrl-C is passed on, and nothing is said.
#[cfg(not(unix))]
pub(crate) fn listen(_: Log) -> io::Result<()> {
    signal_hook::flag::register_usize(signal_hook::consts::SIGINT, Arc::clone(&RECEIVED), 2).map(drop)
}

/// Passes the first signal on, and ends the program at the second.
#[cfg(unix)]
fn hear(stop: Stop, log: Log) {
    let is_first = RECEIVED.compare_exchange(0, stop.number, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    if !is_first {
        local2global::embed::process::kill_all();
        // Without the clean-up of a usual end, which other threads could trip over.
        signal_hook::low_level::exit(stop.exit_code().into());
    }
    crate::output::print_stopping(stop, log);
}

/// Whether this process was started with a signal ignored. Only Linux tells; elsewhere it is not.
#[cfg(unix)]
fn is_ignored(number: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (number - 1) & 1 == 1
}
