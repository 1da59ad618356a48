//! What can go wrong in an engine itself, as opposed to in one request.

use rustix::io::Errno;

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
        errno: Errno,
        /// What to do.
        remedy: &'static str,
    },
    /// More requests in flight than one engine can have.
    #[error(
        "{engine} takes at most {available} requests in flight per job, {asked} were asked for; \
         use a smaller --iodepth and more --numjobs"
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
        errno: Errno,
    },
    /// A thread of the thread engine could not be started.
    #[error(
        "thread {started} of {asked} of a job could not be started ({source}); use a smaller --iodepth"
    )]
    Threads {
        /// How many run.
        started: u32,
        /// How many were to.
        asked: u32,
        /// What the system said.
        source: std::io::Error,
    },
    /// The I/O scheduler was not told of a priority.
    #[error(
        "--io-priority {priority} was refused ({errno}); the real-time class takes root, or use be/0"
    )]
    Priority {
        /// What was asked for.
        priority: String,
        /// What the system said.
        errno: Errno,
    },
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
        errno: Errno,
    },
}
