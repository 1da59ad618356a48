//! Timers of a thread on Linux, which may be late by the thread's timer slack.

use rustix::thread::{current_timer_slack, set_current_timer_slack};
use std::num::NonZeroU64;

/// Runs `work` with the least timer slack for the calling thread.
pub(super) fn with_sharp_timers<T>(work: impl FnOnce() -> T) -> T {
    let before = current_timer_slack().ok();
    // If this is refused, all sleeps are longer by the same slack.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let done = work();
    let _ = set_current_timer_slack(before.and_then(NonZeroU64::new));
    done
}
