//! Describes this program to itself: its CPU time, processors, terminal, and the signals that end it.

use crate::kernel::linux::clock::now_ns;
use crate::kernel::read::{Roots, memory_field, text};
use engine::input;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::ClockId;
use std::collections::BTreeSet;
use std::io::Result;

/// Signals that ask a program to end: SIGHUP, SIGINT and SIGTERM.
pub const ENDING_SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Signals that would kill the program for an error that the failed call reports: SIGXFSZ, for a file beyond
/// `ulimit -f`.
pub const REPORTED_SIGNALS: [i32; 1] = [libc::SIGXFSZ];

/// The machine's host name; empty if it has none.
#[must_use]
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Identity of the running kernel: equal for all programs on one machine, including those in namespaces,
/// and new after each boot.
#[must_use]
pub fn boot_identity() -> Option<String> {
    let text = input::kernel_text("/proc/sys/kernel/random/boot_id".as_ref()).ok()?;
    Some(text.trim().to_owned())
}

/// CPU time of this program so far, in ns.
#[must_use]
pub fn cpu_time_ns() -> u64 {
    now_ns(ClockId::ProcessCPUTime)
}

/// Processors that the calling thread, and threads that it starts later, may use.
///
/// # Errors
/// The system's error.
pub fn usable_processors() -> Result<BTreeSet<u32>> {
    let usable = sched_getaffinity(None)?;
    let numbers = (0..CpuSet::MAX_CPU).filter(|number| usable.is_set(*number));
    Ok(numbers.map(|number| number as u32).collect())
}

/// Binds the calling thread, and threads that it starts later, to processors.
///
/// # Errors
/// The system's error.
pub fn bind_to_processors(processors: &BTreeSet<u32>) -> Result<()> {
    let mut set = CpuSet::new();
    processors.iter().for_each(|number| set.set(*number as usize));
    Ok(sched_setaffinity(None, &set)?)
}

/// Columns of the terminal on standard output; `None` if that is no terminal.
#[must_use]
pub fn terminal_columns() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(size.ws_col).filter(|columns| *columns > 0)
}

/// Memory in bytes that programs can use without evicting anything.
#[must_use]
pub fn available_memory(roots: &Roots) -> Option<u64> {
    memory_field(&text(&roots.proc.join("meminfo"))?, "MemAvailable")
}
