//! What the kernel says: the devices under a path, the conditions of a measurement, counters,
//! limits and CPU time.
//!
//! Everything here states facts; other crates decide what they mean. Each reader of /proc or /sys
//! takes its [`Roots`], so that a test gives it a machine made of files. A fact that the kernel
//! does not give is `None`, never a guess. The names below are the interface; `linux` implements
//! them, and another system stands beside it as a second folder with the same names.
//!
//! Rejected: asking udev, lsblk or smartctl, which are not on every machine.

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("halfpower runs on Linux on x86_64 and aarch64 only");

mod error;
mod linux;

pub use error::{KernelError, system_words};
pub use linux::activity::{Activity, device_in_flight_activity};
pub use linux::capabilities::{capabilities, disk_of};
pub use linux::descriptors::allow_descriptors;
pub use linux::environment::{environment, environment_findings, huge_pages_allowed};
pub use linux::probe::RealProbe;
pub use linux::roots::Roots;
pub use linux::soaker::{Calibration, SoakSpan, SoakTap, Soaker, SoakerError};
pub use linux::unsafe_calls::{PerfEventAttributes, checked, own_descriptor, perf_event_open};
pub use linux::{changed_setting, device, filesystem, live, mounts, process, roots as read};
