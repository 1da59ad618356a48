//! Reads the clocks of Windows in nanoseconds.

use engine::{Clock, MonotonicClock};
use std::time::{SystemTime, UNIX_EPOCH};

/// The performance counter, which the engine's clock also reads.
pub(crate) fn monotonic_ns() -> u64 {
    MonotonicClock.now().0
}

/// Nanoseconds since 1970; 0 before that.
pub(crate) fn wall_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
