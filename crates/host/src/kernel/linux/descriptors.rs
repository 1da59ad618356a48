//! Raises the number of files that this process may open.
//!
//! A run on thousands of targets needs thousands of descriptors, and the usual limit is 1,024. A process
//! may raise its soft limit up to the hard limit, which the administrator sets. So the limit is raised for
//! this process alone. If the hard limit is too low, the run is refused before anything is opened.
//! Rejected: opening files until the system returns EMFILE, which would come at an arbitrary place, after
//! test files have been written.

use crate::kernel::error::KernelError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Ensures that `needed` files can be open at once.
///
/// # Errors
/// [`KernelError::Descriptors`] with limit and need if the hard limit is lower.
pub fn allow_descriptors(needed: u64) -> Result<(), KernelError> {
    let limit = getrlimit(Resource::Nofile);
    // `None` means no limit.
    let (Some(soft), hard) = (limit.current, limit.maximum) else { return Ok(()) };
    if soft >= needed {
        return Ok(());
    }
    let raised = Rlimit { current: Some(needed), maximum: hard };
    setrlimit(Resource::Nofile, raised).map_err(|_| {
        let limit = hard.filter(|hard| *hard < needed).unwrap_or(soft);
        KernelError::Descriptors { needed, limit }
    })
}
