//! What the disks do now, and whether it is what they should do: rows with verdicts, as lines and on
//! a screen.
//!
//! [`Judge`] makes rows of samples, [`Lines`] and `screen` show them. `report` draws them, as a pure
//! function; this crate owns the terminal and the keys.
//!
//! [`exporter`] serves the rows as metrics, and [`prometheus`] asks a Prometheus server for recorded counters.
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

/// Why nothing can be shown.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The terminal or a thread: what was tried, and what the system said.
    #[error("cannot {0}: {1}")]
    System(&'static str, std::io::Error),
    /// The counters cannot be read.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A defect of this program.
    #[error("the sampler ended unexpectedly")]
    SamplerEnded,
    /// A figure that JSON does not have.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// The error of a system call for what was tried.
pub(crate) fn cannot(what: &'static str) -> impl FnOnce(std::io::Error) -> LiveError {
    move |cause| LiveError::System(what, cause)
}
