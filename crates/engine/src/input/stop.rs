//! The flag that a signal sets, and whether a read ended because of it.

use crate::input::error::Reason;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Global, because signal handlers belong to the whole process.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Sets the flag that ends reads early. The first call decides for the whole process.
pub fn stop_at(flag: Arc<AtomicBool>) {
    let _ = STOP.set(flag);
}

/// Whether the flag ended a read in this process. The program then exits with a special code, even if the
/// error was handled on the way.
#[must_use]
pub fn was_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Returns an error if a signal has arrived, to end a wait for something external.
///
/// # Errors
/// After a signal. The error is not of kind `Interrupted`, because callers retry after that.
pub fn give_up_at_signal() -> std::io::Result<()> {
    check().map_err(|_| std::io::Error::other("a signal ended the wait"))
}

/// Whether a signal has arrived.
pub(crate) fn is_set() -> bool {
    STOP.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Returns an error if a signal has arrived.
pub(crate) fn check() -> Result<(), Reason> {
    if is_set() {
        INTERRUPTED.store(true, Ordering::Relaxed);
        return Err(Reason::Interrupted);
    }
    Ok(())
}
