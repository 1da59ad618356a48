//! This program as the system sees it: its time, its processors, its terminal, what ends it.

use crate::kernel::linux::clock::now_ns;
use crate::kernel::read::{Roots, memory_field, text};
use engine::input;
use rustix::fs::MemfdFlags;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::ClockId;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Result;

/// Signals that ask a program to end: SIGHUP, SIGINT and SIGTERM.
pub const ENDING_SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// What the machine calls itself; empty where it has no name.
#[must_use]
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Identity of the running kernel: equal for all programs of one machine, namespaces included, and new after
/// each start.
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

/// Processors that the calling thread may use, and those that it starts from then on.
///
/// # Errors
/// What the system said.
pub fn usable_processors() -> Result<BTreeSet<u32>> {
    let usable = sched_getaffinity(None)?;
    let numbers = (0..CpuSet::MAX_CPU).filter(|number| usable.is_set(*number));
    Ok(numbers.map(|number| number as u32).collect())
}

/// Binds the calling thread, and those that it starts from then on, to processors.
///
/// # Errors
/// What the system said.
pub fn bind_to_processors(processors: &BTreeSet<u32>) -> Result<()> {
    let mut set = CpuSet::new();
    processors.iter().for_each(|number| set.set(*number as usize));
    Ok(sched_setaffinity(None, &set)?)
}

/// Columns of the terminal that standard output is.
#[must_use]
pub fn terminal_columns() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(size.ws_col).filter(|columns| *columns > 0)
}

/// What [`memory_file`] is, for a reader.
pub const MEMORY_FILE: &str = "memory (memfd)";

/// A file that lies in memory alone and has no name.
///
/// # Errors
/// What the system said.
pub fn memory_file() -> Result<File> {
    Ok(File::from(rustix::fs::memfd_create("halfpower", MemfdFlags::CLOEXEC)?))
}

/// Memory that programs can have without pushing anything out, in bytes.
#[must_use]
pub fn available_memory(roots: &Roots) -> Option<u64> {
    memory_field(&text(&roots.proc.join("meminfo"))?, "MemAvailable")
}

/// Memory that waits to be written or is being written, of all programs.
#[must_use]
pub fn dirty_bytes(roots: &Roots) -> Option<u64> {
    let meminfo = text(&roots.proc.join("meminfo"))?;
    Some(memory_field(&meminfo, "Dirty")? + memory_field(&meminfo, "Writeback")?)
}
