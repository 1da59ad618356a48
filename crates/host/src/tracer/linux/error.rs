//! Why requests cannot be traced.

use rustix::io::Errno;

/// Why there is no tracer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TracerError {
    /// Programs, events or tracefs are for the privileged.
    #[error("{0} needs root, or CAP_BPF and CAP_PERFMON with a readable tracefs")]
    NotPermitted(&'static str),
    /// The kernel was built without.
    #[error("this kernel has no {0}")]
    NoSupport(&'static str),
    /// A needed event is missing, or none that can be used.
    #[error("the kernel's event {event} cannot be used: {why}")]
    Event {
        /// Its name.
        event: &'static str,
        /// Why not.
        why: String,
    },
    /// The kernel does not take a program.
    #[error("the kernel rejects the program for {event} ({cause}): {why}")]
    Rejected {
        /// The event.
        event: &'static str,
        /// What it said.
        cause: Errno,
        /// The end of the verifier's words.
        why: String,
    },
    /// A device has no requests of its own.
    #[error("{0} has no requests of its own: trace the devices below it")]
    NoRequests(String),
    /// Nothing to trace.
    #[error("no device to trace")]
    NoDevices,
    /// More devices than there is memory for.
    #[error(
        "cannot trace {count} devices, because the limit here is {most}; name the devices to trace"
    )]
    TooMany {
        /// Asked for.
        count: usize,
        /// Possible.
        most: usize,
    },
    /// A call failed.
    #[error("{what} failed: {cause}")]
    Failed {
        /// The call.
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
