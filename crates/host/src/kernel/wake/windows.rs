//! Timers of Windows stay as they are.

/// Does something with the timers as they are: their resolution is a setting of the whole machine, and no
/// measurement changes those.
pub(super) fn with_sharp_timers<T>(work: impl FnOnce() -> T) -> T {
    work()
}
