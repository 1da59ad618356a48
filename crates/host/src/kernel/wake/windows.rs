//! Timers on Windows, which are not changed.

/// Runs `work` with the timers unchanged: their resolution is a setting of the whole machine, which a
/// measurement must not change.
pub(super) fn with_sharp_timers<T>(work: impl FnOnce() -> T) -> T {
    work()
}
