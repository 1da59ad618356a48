//! QueryPerformanceCounter: the clock that Windows itself derives from the processor's counter where that is
//! sound, in steps of 100 ns on current systems.
//!
//! Rejected: the processor's counter read directly, as on Linux. Windows does not say whether it trusts that
//! counter on this machine, and all other times of a run are in terms of this clock.

use crate::Clock;
use record::Nanos;
use std::sync::OnceLock;
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The performance counter: nanoseconds since the system began, not counting suspension.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

/// Counts in a second, fixed when the system begins.
fn frequency() -> u64 {
    static FREQUENCY: OnceLock<u64> = OnceLock::new();
    *FREQUENCY.get_or_init(|| {
        let mut counts = 0i64;
        // SAFETY: the call writes the number that it is given; it never fails since Windows XP.
        unsafe { QueryPerformanceFrequency(&raw mut counts) };
        u64::try_from(counts).unwrap_or(0).max(1)
    })
}

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Nanos {
        let mut count = 0i64;
        // SAFETY: the call writes the number that it is given; it never fails since Windows XP.
        unsafe { QueryPerformanceCounter(&raw mut count) };
        let (count, frequency) = (count as u64, frequency());
        let seconds = count / frequency * NANOS_PER_SECOND;
        Nanos(seconds + count % frequency * NANOS_PER_SECOND / frequency)
    }
}

/// Its name in the record.
pub(crate) const CLOCK_NAME: &str = "QueryPerformanceCounter";

/// Whether the kernel itself tells the time by the processor's counter: Windows does not say.
pub(crate) fn counter_is_the_kernels() -> bool {
    false
}
