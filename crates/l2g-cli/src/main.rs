//! The binary `l2g`; all it does is in the library beside it.

use std::process::ExitCode;

use l2g_cli::TellingAllocator;

#[global_allocator]
static ALLOCATOR: TellingAllocator = TellingAllocator;

fn main() -> ExitCode {
    ExitCode::from(l2g_cli::main_from(std::env::args_os()))
}
