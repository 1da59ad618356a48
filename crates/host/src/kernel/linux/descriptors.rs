//! How many files this process may hold open.
//!
//! A run on thousands of targets needs thousands of descriptors, and the usual limit is 1,024. The
//! soft limit is there to be raised by whoever needs more, up to the hard one, which the system's
//! owner sets: so it is raised, for this process alone, and where that is not enough the run is
//! refused before anything is opened. Rejected: opening until the system says EMFILE, which comes
//! from wherever the last descriptor went, after test files have been written.

use crate::kernel::error::KernelError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Makes sure that `needed` files can be open at once.
///
/// # Errors
/// [`KernelError::Descriptors`] with limit and need where the hard limit is lower.
pub fn allow_descriptors(needed: u64) -> Result<(), KernelError> {
    let limit = getrlimit(Resource::Nofile);
    // `None` is no limit.
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
