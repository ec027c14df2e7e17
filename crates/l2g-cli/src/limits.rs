//! Limits that the system sets for a process, told in words instead of ending it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// Makes a write beyond the largest allowed file (`ulimit -f`) an error, which is told like any other
/// error of a file. By default the system ends the process without a word.
#[cfg(unix)]
#[expect(unsafe_code, reason = "the standard library does not set signals")]
pub(crate) fn ignore_file_size_signal() {
    // SAFETY: ignoring a signal installs no handler, so no code runs in a signal's context.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

#[cfg(not(unix))]
pub(crate) fn ignore_file_size_signal() {}

/// The allocator of the binary: the system's, but where there is no memory left the process ends
/// with a sentence and exit code 1. By default it would abort.
#[derive(Debug)]
pub struct TellingAllocator;

// SAFETY: every method passes its arguments on to the system's allocator, and what that gives back to
// the caller; where that is no memory, it does not return.
#[expect(unsafe_code, reason = "an allocator is unsafe by nature")]
unsafe impl GlobalAlloc for TellingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        told(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        told(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        told(unsafe { System.realloc(memory, layout, new_size) }, new_size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

fn told(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        end_without_memory(bytes);
    }
    memory
}

/// Ends the process. Nothing here may allocate, not even for the text.
#[cold]
fn end_without_memory(bytes: usize) -> ! {
    let mut text = [0_u8; 160];
    let size = text.len();
    let mut rest = &mut text[..];
    let _ = writeln!(
        rest,
        "error: out of memory: the system gives no {} MiB more\nhint: use fewer threads, smaller patches or fewer dimensions",
        bytes.div_ceil(1 << 20)
    );
    let len = size - rest.len();
    let _ = std::io::stderr().write_all(&text[..len]);
    exit_now()
}

#[cfg(unix)]
#[expect(unsafe_code, reason = "std::process::exit runs handlers, which may allocate")]
fn exit_now() -> ! {
    // SAFETY: _exit ends the process at once and touches nothing of ours.
    unsafe { libc::_exit(1) }
}

#[cfg(not(unix))]
fn exit_now() -> ! {
    std::process::exit(1)
}
