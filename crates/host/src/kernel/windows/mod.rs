//! Reads the Windows kernel by Win32 calls: volumes, disks, their counters, and processor time.
//!
//! Calls replace the files in /proc and /sys on Linux. The [`Roots`](crate::kernel::Roots) that callers
//! pass represent only this machine and name no files. A fact that Windows does not give is `None`.

pub(crate) mod capabilities;
pub(crate) mod clock;
pub(crate) mod counter_log;
pub(crate) mod descriptors;
pub mod device;
pub mod device_calls;
pub(crate) mod disk_layers;
pub(crate) mod disk_performance;
pub(crate) mod environment;
pub mod filesystem;
pub mod live;
pub(crate) mod probe;
pub(crate) mod processors;
pub(crate) mod program;
#[allow(unsafe_code, reason = "the calls of Windows")]
pub mod unsafe_calls;
