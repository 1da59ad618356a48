//! QueryPerformanceCounter. Windows derives this clock from the processor's counter if that is reliable. Its
//! resolution is 100 ns on current systems.
//!
//! Rejected: reading the processor's counter directly, as on Linux. Windows does not report whether it trusts
//! that counter on this machine, and all other times of a run use this clock.

use crate::Clock;
use record::Nanos;
use std::sync::OnceLock;
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The performance counter: nanoseconds since the system began, not counting suspension.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

/// Counts per second, fixed at system start.
fn frequency() -> u64 {
    static FREQUENCY: OnceLock<u64> = OnceLock::new();
    *FREQUENCY.get_or_init(|| {
        let mut counts = 0i64;
        // SAFETY: the call writes the number that it is given. Since Windows XP, it never fails.
        unsafe { QueryPerformanceFrequency(&raw mut counts) };
        u64::try_from(counts).unwrap_or(0).max(1)
    })
}

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Nanos {
        let mut count = 0i64;
        // SAFETY: the call writes the number that it is given. Since Windows XP, it never fails.
        unsafe { QueryPerformanceCounter(&raw mut count) };
        let (count, frequency) = (count as u64, frequency());
        let seconds = count / frequency * NANOS_PER_SECOND;
        Nanos(seconds + count % frequency * NANOS_PER_SECOND / frequency)
    }
}

/// Its name in documents.
pub(crate) const CLOCK_NAME: &str = "QueryPerformanceCounter";

/// Whether the kernel itself uses the processor's counter as its clock. Windows does not report it.
pub(crate) fn counter_is_the_kernels() -> bool {
    false
}
