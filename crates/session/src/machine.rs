//! What a job asks of a machine beside its targets.

use crate::{Result, SessionError};
use kernel::Roots;
use record::Workload;

/// Whether this machine has what a job asks of it beside its targets.
///
/// # Errors
/// If it has not.
pub fn check_machine(asked: &Workload) -> Result<()> {
    if (asked.polled || asked.sqpoll)
        && let Err(cause) = engine::probe_default_engine()
    {
        let flag = if asked.polled { "--hipri" } else { "--sqthread-poll" };
        let text = format!("{flag} needs io_uring, no other engine has it: {cause}");
        return Err(SessionError::NoResult(text));
    }
    if asked.huge_pages && kernel::huge_pages_allowed(&Roots::default()) != Some(true) {
        let text = "--huge-pages: the kernel gives none; write madvise into \
                    /sys/kernel/mm/transparent_hugepage/enabled, or leave the flag out";
        return Err(SessionError::NoResult(text.to_owned()));
    }
    Ok(())
}
