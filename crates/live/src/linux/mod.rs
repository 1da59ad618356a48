//! Signals of the terminal on Linux.

use crate::{LiveError, cannot};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGSTOP, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

/// The signal of Ctrl-Z.
pub(crate) const SUSPEND: Option<i32> = Some(SIGTSTP);
/// The signal of a program that goes on after it.
pub(crate) const RESUMED: Option<i32> = Some(SIGCONT);

/// What tells of each signal for as long as it runs.
///
/// # Errors
/// If the system lets nobody listen.
pub(crate) fn listen(
    mut tell: impl FnMut(i32) + Send + 'static,
) -> Result<impl FnOnce() + Send + 'static, LiveError> {
    let mut signals = Signals::new([SIGCONT, SIGTSTP, SIGINT, SIGTERM, SIGHUP])
        .map_err(cannot("listen for signals"))?;
    Ok(move || signals.forever().for_each(&mut tell))
}

/// Stops this program as Ctrl-Z does, until it is told to go on.
pub(crate) fn stop_until_resumed() -> Result<(), LiveError> {
    signal_hook::low_level::raise(SIGSTOP).map_err(cannot("stop"))
}
