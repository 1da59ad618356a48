//! What the kernel says: what is under a path, its limits, its counters, and the descriptors that
//! a run works on.
//!
//! Everything here states facts; what they mean is decided elsewhere. Each reader of /proc or /sys
//! takes its [`Roots`], so that tests give it a machine that nobody owns (a stack of mapped disks,
//! an NVMe drive on a slow link) and the same code then reads the real one. A fact that the kernel
//! does not give is `None`, never a guess.
//!
//! Rejected: asking udev, lsblk or smartctl (not on every machine, and each run would depend on
//! their output formats), and one struct that holds every fact read at start (the counters and the
//! environment are read at different times, by different callers).

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("halfpower runs on Linux on x86_64 only");

mod activity;
mod capabilities;
mod cgroup;
mod claim;
mod descriptors;
mod device;
mod device_cache;
mod diskstats;
mod drop_cache;
mod environment;
mod error;
mod extents;
mod filesystem;
mod in_use;
mod link;
pub mod live;
mod loops;
mod mounts;
mod perf;
mod probe;
mod processors;
mod roots;
mod rounding;
mod signature;
mod soaker;
mod stable_name;
mod target;
mod testfile;
pub mod tracer;
mod unsafe_calls;

#[cfg(test)]
mod fake;

pub use activity::{Activity, device_in_flight_activity};
pub use capabilities::capabilities;
pub use claim::destruction;
pub use descriptors::allow_descriptors;
pub use device::device_of;
pub use diskstats::{DiskstatsLine, TransferCounters, parse_diskstats};
pub use drop_cache::{Area, drop_cache, resident_bytes, unwritten_bytes};
pub use environment::{environment, environment_findings};
pub use error::HostError;
pub use extents::{extents, extents_of_area};
pub use filesystem::filesystem_of;
pub use probe::RealProbe;
pub use roots::Roots;
pub use rounding::{file_sizes, rounding_loss};
pub use soaker::{Calibration, SoakReading, SoakSpan, SoakTap, Soaker, SoakerError};
pub use target::{Access, TargetHandle, direct_alignment, drop_clean_pages, open_target, reopen};
pub use testfile::{default_test_size, write_test_file};
