//! Reads the system's clocks in nanoseconds.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// A clock's reading; a time before its origin is 0.
pub(crate) fn now_ns(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    u64::try_from(tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(tv_nsec).unwrap_or(0)
}

/// CLOCK_MONOTONIC, which the engine's clock also reads.
pub(crate) fn monotonic_ns() -> u64 {
    now_ns(ClockId::Monotonic)
}
