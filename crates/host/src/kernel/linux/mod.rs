//! Reads the Linux kernel: files in /proc and /sys, and a few system calls.

pub(crate) mod capabilities;
mod cgroup;
pub(crate) mod clock;
pub(crate) mod counter_log;
pub(crate) mod descriptors;
pub mod device;
pub mod device_calls;
pub(crate) mod diskstats;
pub(crate) mod environment;
pub mod filesystem;
mod link;
pub mod live;
pub mod mounts;
pub(crate) mod path;
mod perf;
pub(crate) mod probe;
pub mod process;
pub(crate) mod processors;
pub(crate) mod program;
#[allow(unsafe_code, reason = "calls that rustix has not")]
pub(crate) mod unsafe_calls;
pub(crate) mod volume_log;
