//! Signals of the terminal on Windows: keys come as keys, Ctrl-C too, and no program is stopped by one.

use crate::LiveError;

/// There is no signal of Ctrl-Z.
pub(crate) const SUSPEND: Option<i32> = None;
/// Nor one of a program that goes on after it.
pub(crate) const RESUMED: Option<i32> = None;

/// What tells of each signal, of which none comes.
///
/// # Errors
/// None.
pub(crate) fn listen(
    _tell: impl FnMut(i32) + Send + 'static,
) -> Result<impl FnOnce() + Send + 'static, LiveError> {
    Ok(|| {})
}

/// Goes on: a console has no Ctrl-Z.
pub(crate) fn stop_until_resumed() -> Result<(), LiveError> {
    Ok(())
}
