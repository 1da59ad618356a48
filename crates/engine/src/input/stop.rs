//! The flag that a signal sets, and whether a read was given up because of it.

use crate::input::error::Reason;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// A property of the process, as its signal handlers are.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Ends reads early once this flag is set. The first call decides for the whole process.
pub fn stop_at(flag: Arc<AtomicBool>) {
    let _ = STOP.set(flag);
}

/// Whether a read of this process was given up because of the flag: such an end has an exit code of its own,
/// whatever became of the error on its way.
#[must_use]
pub fn was_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Gives up a wait for something outside where a signal has come.
///
/// # Errors
/// After a signal. It is not of the kind `Interrupted`, which callers repeat.
pub fn give_up_at_signal() -> std::io::Result<()> {
    check().map_err(|_| std::io::Error::other("a signal ended the wait"))
}

/// Whether a signal has come.
pub(crate) fn is_set() -> bool {
    STOP.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Gives up where a signal has come.
pub(crate) fn check() -> Result<(), Reason> {
    if is_set() {
        INTERRUPTED.store(true, Ordering::Relaxed);
        return Err(Reason::Interrupted);
    }
    Ok(())
}
