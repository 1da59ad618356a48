//! Terminal signals on Windows: there are none. Ctrl-C arrives as a key, and no signal suspends a program.

use crate::LiveError;

/// Windows has no signal for Ctrl-Z.
pub(crate) const SUSPEND: Option<i32> = None;
/// Windows has no signal for a resumed program.
pub(crate) const RESUMED: Option<i32> = None;

/// Returns the loop that reports signals. On Windows it ends at once.
///
/// # Errors
/// None.
pub(crate) fn listen(
    _tell: impl FnMut(i32) + Send + 'static,
) -> Result<impl FnOnce() + Send + 'static, LiveError> {
    Ok(|| {})
}

/// Does nothing: a console has no Ctrl-Z.
pub(crate) fn stop_until_resumed() -> Result<(), LiveError> {
    Ok(())
}
