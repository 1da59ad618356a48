//! Checks what a job requires of a machine besides its targets.

use crate::session::{Result, SessionError};
use host::kernel::{self, Roots};
use record::Workload;

/// Checks that this machine has what a job requires besides its targets.
///
/// # Errors
/// If something is missing.
pub fn check_machine(asked: &Workload) -> Result<()> {
    if (asked.polled || asked.sqpoll)
        && let Err(cause) = engine::probe_default_engine()
    {
        let flag = if asked.polled { "--hipri" } else { "--sqthread-poll" };
        let text = format!("{flag} needs io_uring: {cause}");
        return Err(SessionError::NoResult(text));
    }
    let usable = kernel::usable_processors().unwrap_or_default();
    let missing = asked.processors.iter().find(|number| !usable.contains(*number));
    if let Some(missing) = missing.filter(|_| !usable.is_empty()) {
        let usable: Vec<String> = usable.iter().map(u32::to_string).collect();
        let usable = usable.join(", ");
        return Err(SessionError::NoResult(format!(
            "--processors: halfpower may not run on CPU {missing}; choose from {usable}"
        )));
    }
    if asked.huge_pages
        && let Err(why) = kernel::check_huge_pages(&Roots::default())
    {
        return Err(SessionError::NoResult(format!("--huge-pages: {why}; or omit the flag")));
    }
    Ok(())
}
