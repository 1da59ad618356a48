//! Reads the kernel: devices under a path, conditions of a measurement, counters, limits and CPU time.
//!
//! Everything here states facts; other crates interpret them. Each reader of /proc or /sys takes its
//! [`Roots`], so that a test can supply a machine made of files. A fact that the kernel does not give is
//! `None`, never a guess. The names below are the interface. `linux` implements them, and so does
//! `windows`, with the same names.
//!
//! Rejected: running udev, lsblk or smartctl, which are not on every machine.

#[cfg(all(target_os = "linux", not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("halfpower runs on Linux on x86_64 and aarch64 only");

mod activity;
mod capabilities;
mod device_lines;
mod error;
#[cfg(target_os = "linux")]
mod linux;
mod notes;
mod probe;
pub mod read;
mod selection;
mod soaker;
mod wake;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(windows)]
use windows as platform;

pub use activity::{Activity, device_in_flight_activity};
pub use capabilities::capabilities;
pub use device_lines::{BlockDevice, DmTarget, LogLine};
pub use error::{KernelError, system_words};
#[cfg(target_os = "linux")]
pub use linux::unsafe_calls::{
    PerfEventAttributes, checked, own_descriptor, perf_event_open, require_block_device,
};
#[cfg(target_os = "linux")]
pub use linux::{mounts, process};
pub use platform::capabilities::disk_of;
pub use platform::counter_log::counter_log;
pub use platform::descriptors::allow_descriptors;
pub use platform::environment::{check_huge_pages, environment, environment_findings};
pub use platform::program::{
    ENDING_SIGNALS, REPORTED_SIGNALS, available_memory, bind_to_processors, boot_identity,
    cpu_time_ns, host_name, terminal_columns, usable_processors,
};
pub use platform::{device, device_calls, filesystem, live};
pub use probe::RealProbe;
pub use read::Roots;
pub use soaker::{Calibration, SoakSpan, SoakTap, Soaker, SoakerError};
#[cfg(windows)]
pub use windows::unsafe_calls;
