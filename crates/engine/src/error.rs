//! What can go wrong in an engine itself, as opposed to in one request.

use std::fmt;
use std::io::Error;

/// An error number of the operating system: `errno` on Linux, that of GetLastError on Windows; positive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SystemError(i32);

impl SystemError {
    /// Of a number.
    #[must_use]
    pub const fn new(code: i32) -> Self {
        Self(code)
    }

    /// Its number.
    #[must_use]
    pub const fn code(self) -> i32 {
        self.0
    }

    /// The outcome of a request that failed with it.
    #[must_use]
    pub const fn outcome(self) -> i32 {
        -self.0
    }
}

/// As the system words it, with the number.
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

/// An engine could not be opened, or broke.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// An engine, or an option of one, cannot be had here.
    #[error("{engine} cannot be used here: {cause} ({errno}); {remedy}")]
    Unavailable {
        /// Which.
        engine: &'static str,
        /// Why, as far as it can be told.
        cause: String,
        /// What the system said.
        errno: SystemError,
        /// What to do.
        remedy: &'static str,
    },
    /// More requests in flight than one engine can have.
    #[error(
        "{engine} allows at most {available} requests in flight per job, but the run needs \
         {asked}; use a smaller --iodepth and a larger --numjobs"
    )]
    TooDeep {
        /// Which engine.
        engine: &'static str,
        /// What one job would have had in flight; more than --iodepth with a stripe.
        asked: u32,
        /// What it can.
        available: u32,
    },
    /// Memory for buffers or rings was refused.
    #[error("{what} of {bytes} bytes was refused ({errno}); use a smaller --bs or --iodepth")]
    Memory {
        /// What the memory was for.
        what: &'static str,
        /// How much.
        bytes: u64,
        /// What the system said.
        errno: SystemError,
    },
    /// A thread of the thread engine could not be started.
    #[error(
        "only {started} of the {asked} threads of a job could be started ({source}); use a \
         smaller --iodepth"
    )]
    Threads {
        /// How many run.
        started: u32,
        /// How many were to.
        asked: u32,
        /// What the system said.
        source: Error,
    },
    /// The I/O scheduler was not told of a priority.
    #[error(
        "--io-priority {priority} was refused ({errno}); the real-time class needs root; without \
         root, use be/0"
    )]
    Priority {
        /// What was asked for.
        priority: String,
        /// What the system said.
        errno: SystemError,
    },
    /// A thread could not be bound to processors.
    #[error("--processors was refused ({0}); name CPUs that halfpower may use")]
    Processors(String),
    /// A thread could not be put into a control group.
    #[error("--cgroup {group} cannot be used: {why}")]
    ControlGroup {
        /// The group.
        group: String,
        /// Why.
        why: String,
    },
    /// A system call of a running engine failed.
    #[error("{call} failed while requests were in flight ({errno}); the trial has no result")]
    Broken {
        /// The call.
        call: &'static str,
        /// What the system said.
        errno: SystemError,
    },
}
