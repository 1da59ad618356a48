//! Errors of an engine itself, as opposed to errors of one request.

use std::fmt;
use std::io::Error;

/// An error number of the operating system: `errno` on Linux, that of GetLastError on Windows. Positive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SystemError(i32);

impl SystemError {
    /// Wraps an error number.
    #[must_use]
    pub const fn new(code: i32) -> Self {
        Self(code)
    }

    /// The error number.
    #[must_use]
    pub const fn code(self) -> i32 {
        self.0
    }

    /// The outcome of a request that failed with this error: the negated number.
    #[must_use]
    pub const fn outcome(self) -> i32 {
        -self.0
    }
}

/// The system's text, with the number.
impl fmt::Display for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Error::from_raw_os_error(self.0).fmt(f)
    }
}

impl From<SystemError> for Error {
    fn from(error: SystemError) -> Self {
        Self::from_raw_os_error(error.0)
    }
}

impl fmt::Debug for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Error::from_raw_os_error(self.0).fmt(f)
    }
}

/// An engine could not be opened, or failed while running.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// An engine, or an option of one, is not available here.
    #[error("{engine} cannot be used here: {cause} ({errno}); {remedy}")]
    Unavailable {
        /// Name of the engine or option.
        engine: &'static str,
        /// The cause, as far as it is known.
        cause: String,
        /// The system's error.
        errno: SystemError,
        /// What to do.
        remedy: &'static str,
    },
    /// The job needs more requests in flight than one engine supports.
    #[error(
        "{engine} allows at most {available} requests in flight per job, but the run needs \
         {asked}; use a smaller --iodepth and a larger --numjobs"
    )]
    TooDeep {
        /// Name of the engine.
        engine: &'static str,
        /// Requests in flight that one job needs; more than --iodepth with a stripe.
        asked: u32,
        /// Maximum that the engine supports.
        available: u32,
    },
    /// The system refused memory for buffers or rings.
    #[error("{what} of {bytes} bytes was refused ({errno}); use a smaller --bs or --iodepth")]
    Memory {
        /// Purpose of the memory.
        what: &'static str,
        /// Requested bytes.
        bytes: u64,
        /// The system's error.
        errno: SystemError,
    },
    /// A thread of the thread engine could not be started.
    #[error(
        "only {started} of the {asked} threads of a job could be started ({source}); use a \
         smaller --iodepth"
    )]
    Threads {
        /// Threads that were started.
        started: u32,
        /// Threads that were requested.
        asked: u32,
        /// The system's error.
        source: Error,
    },
    /// The system refused an I/O priority.
    #[error(
        "--io-priority {priority} was refused ({errno}); the real-time class needs root; without \
         root, use be/0"
    )]
    Priority {
        /// The requested priority.
        priority: String,
        /// The system's error.
        errno: SystemError,
    },
    /// A thread could not be bound to processors.
    #[error("--processors was refused ({0}); name CPUs that halfpower may use")]
    Processors(String),
    /// A thread could not be put into a control group.
    #[error("--cgroup {group} cannot be used: {why}")]
    ControlGroup {
        /// Directory of the group.
        group: String,
        /// The reason.
        why: String,
    },
    /// A system call of a running engine failed.
    #[error("{call} failed while requests were in flight ({errno}); the trial has no result")]
    Broken {
        /// Name of the call.
        call: &'static str,
        /// The system's error.
        errno: SystemError,
    },
}
