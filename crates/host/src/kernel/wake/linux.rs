//! Timers of a thread on Linux, which may be late by a slack that the thread sets.

use rustix::thread::{current_timer_slack, set_current_timer_slack};
use std::num::NonZeroU64;

/// Does something with the least slack for the timers of the calling thread.
pub(super) fn with_sharp_timers<T>(work: impl FnOnce() -> T) -> T {
    let before = current_timer_slack().ok();
    // Where it is refused, sleeps last longer by the slack, all by the same.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let done = work();
    let _ = set_current_timer_slack(before.and_then(NonZeroU64::new));
    done
}
