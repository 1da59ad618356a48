//! Errors when requests cannot be traced.

use rustix::io::Errno;

/// Why the tracer cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TracerError {
    /// Programs, events or tracefs need privileges.
    #[error("{0} needs root, or CAP_BPF and CAP_PERFMON with a readable tracefs")]
    NotPermitted(&'static str),
    /// The kernel was built without support.
    #[error("this kernel has no {0}")]
    NoSupport(&'static str),
    /// A required event is missing or unusable.
    #[error("the kernel's event {event} cannot be used: {why}")]
    Event {
        /// Name of the event.
        event: &'static str,
        /// The reason.
        why: String,
    },
    /// The kernel rejects a program.
    #[error("the kernel rejects the program for {event} ({cause}): {why}")]
    Rejected {
        /// Name of the event.
        event: &'static str,
        /// The system's error.
        cause: Errno,
        /// The end of the verifier's message.
        why: String,
    },
    /// A device has no requests of its own.
    #[error("{0} has no requests of its own: trace the devices below it")]
    NoRequests(String),
    /// No device to trace.
    #[error("no device to trace")]
    NoDevices,
    /// More devices than the memory limit allows.
    #[error(
        "cannot trace {count} devices, because the limit here is {most}; name the devices to trace"
    )]
    TooMany {
        /// Number of devices requested.
        count: usize,
        /// Maximum number of devices.
        most: usize,
    },
    /// A call failed.
    #[error("{what} failed: {cause}")]
    Failed {
        /// Name of the call.
        what: &'static str,
        /// The error.
        cause: Errno,
    },
}

impl TracerError {
    pub(super) fn of(what: &'static str, cause: Errno) -> Self {
        match cause {
            Errno::PERM | Errno::ACCESS => Self::NotPermitted(what),
            Errno::NOSYS => Self::NoSupport(what),
            cause => Self::Failed { what, cause },
        }
    }
}
