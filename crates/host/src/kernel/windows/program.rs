//! Describes this program to itself: its CPU time, processors, terminal, and the signals that end it.

use crate::kernel::read::Roots;
use crate::kernel::windows::unsafe_calls::{
    affinity_of_this_process, console_columns, memory, process_affinity, process_times_ns,
};
use std::collections::BTreeSet;
use std::io::{Error, Result};

/// Signals that ask a program to end, as the C library numbers them: SIGINT (Ctrl-C) and SIGTERM.
pub const ENDING_SIGNALS: [i32; 2] = [2, 15];

/// Signals that would kill the program for an error that the failed call reports.
pub const REPORTED_SIGNALS: [i32; 0] = [];

/// CPU time of this program so far, in ns; resolution: one timer tick.
#[must_use]
pub fn cpu_time_ns() -> u64 {
    process_times_ns().map_or(0, |(user, system)| user + system)
}

/// Processors of its group that this program may use.
///
/// # Errors
/// The system's error.
pub fn usable_processors() -> Result<BTreeSet<u32>> {
    let (ours, _) = process_affinity().ok_or_else(Error::last_os_error)?;
    Ok((0..usize::BITS).filter(|number| ours >> number & 1 == 1).collect())
}

/// Binds this program to processors, with all of its threads: on Windows, threads do not inherit a binding.
///
/// # Errors
/// The system's error.
pub fn bind_to_processors(processors: &BTreeSet<u32>) -> Result<()> {
    let bit = |number: &u32| 1_usize.checked_shl(*number).unwrap_or(0);
    affinity_of_this_process(processors.iter().map(bit).fold(0, |sum, bit| sum | bit))
}

/// Columns of the console on standard output; `None` if that is no console.
#[must_use]
pub fn terminal_columns() -> Option<u16> {
    console_columns(std::io::stdout())
}

/// Memory in bytes that programs can use without evicting anything.
#[must_use]
pub fn available_memory(_roots: &Roots) -> Option<u64> {
    memory().map(|memory| memory.available)
}

/// The machine's host name; empty if it has none.
#[must_use]
pub fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

/// Identity of the running kernel; Windows has none.
#[must_use]
pub fn boot_identity() -> Option<String> {
    None
}
