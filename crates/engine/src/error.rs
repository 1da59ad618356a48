//! What can go wrong in an engine itself, as opposed to in one request.

use rustix::io::Errno;

/// An engine could not be opened, or broke.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The kernel does not let us have an io_uring.
    #[error("io_uring cannot be used here: {cause} ({errno}); {remedy}, or use --ioengine sync")]
    UringUnavailable {
        /// Why, as far as it can be told.
        cause: String,
        /// What the system said.
        errno: Errno,
        /// What to do.
        remedy: &'static str,
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
    /// A system call of a running engine failed.
    #[error("{call} failed while requests were in flight ({errno}); the trial has no result")]
    Broken {
        /// The call.
        call: &'static str,
        /// What the system said.
        errno: Errno,
    },
}
