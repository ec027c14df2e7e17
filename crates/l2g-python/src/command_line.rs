//! The command line `l2g`, brought along: the same program as the binary, in this process.

use std::ffi::OsString;
use std::panic;

use pyo3::prelude::*;

/// What a Rust program ends with after a panic.
const PANICKED: u8 = 101;

/// Runs the command line and gives its exit code; `args` begins with the name of the program.
///
/// For a whole process: threads and the handling of signals are set up once.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    // The message of a panic has been printed by the time it arrives here.
    py.detach(|| panic::catch_unwind(|| l2g_cli::main_from(args)).unwrap_or(PANICKED))
}
