//! Shows what the disks do now and whether that is normal: rows with verdicts, as lines, on a screen, or as
//! metrics.
//!
//! [`Judge`] makes rows from samples; [`Lines`] and `screen` show them. `report` draws them, as a pure
//! function; this crate owns the terminal and the keys.
//!
//! [`exporter`] serves the rows as metrics, and [`prometheus`] queries a Prometheus server for recorded
//! counters.
#![forbid(unsafe_code)]

mod events;
pub mod exporter;
mod judge;
mod lines;
#[cfg(target_os = "linux")]
mod linux;
pub mod prometheus;
mod screen;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(windows)]
use windows as platform;

pub use judge::Judge;
pub use lines::{LineForm, Lines};
pub use screen::{Ended, Screen, terminal_is_there};

use host::kernel::KernelError;

/// Why the disks cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The terminal or a thread: the operation that failed, and the system's error.
    #[error("cannot {0}: {1}")]
    System(&'static str, std::io::Error),
    /// The counters cannot be read.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A bug in halfpower.
    #[error("the sampler ended unexpectedly")]
    SamplerEnded,
    /// A value that JSON cannot represent.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Converts the error of a system call that was needed for `what`.
pub(crate) fn cannot(what: &'static str) -> impl FnOnce(std::io::Error) -> LiveError {
    move |cause| LiveError::System(what, cause)
}
