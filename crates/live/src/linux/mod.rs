//! Handles the signals of a terminal on Linux.

use crate::{LiveError, cannot};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGSTOP, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

/// The signal of Ctrl-Z.
pub(crate) const SUSPEND: Option<i32> = Some(SIGTSTP);
/// The signal that a program gets when it resumes.
pub(crate) const RESUMED: Option<i32> = Some(SIGCONT);

/// Returns the loop that reports each signal while it runs.
///
/// # Errors
/// If the system refuses the signal handlers.
pub(crate) fn listen(
    mut tell: impl FnMut(i32) + Send + 'static,
) -> Result<impl FnOnce() + Send + 'static, LiveError> {
    let mut signals = Signals::new([SIGCONT, SIGTSTP, SIGINT, SIGTERM, SIGHUP])
        .map_err(cannot("listen for signals"))?;
    Ok(move || signals.forever().for_each(&mut tell))
}

/// Stops this program as Ctrl-Z does, until it is resumed.
pub(crate) fn stop_until_resumed() -> Result<(), LiveError> {
    signal_hook::low_level::raise(SIGSTOP).map_err(cannot("stop"))
}
