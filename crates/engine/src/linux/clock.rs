//! CLOCK_MONOTONIC through the vDSO: about 25 ns per reading if the kernel's clock source is the TSC.

use crate::Clock;
use crate::input;
use record::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC: nanoseconds since boot, not counting suspension.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Nanos {
        let time = clock_gettime(ClockId::Monotonic);
        Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
}

/// Its name in documents.
pub(crate) const CLOCK_NAME: &str = "CLOCK_MONOTONIC";

/// The kernel's name for the processor's counter as a clock source.
#[cfg(target_arch = "x86_64")]
const CLOCK_SOURCE: &str = "tsc";
/// The kernel's name for the processor's counter as a clock source.
#[cfg(target_arch = "aarch64")]
const CLOCK_SOURCE: &str = "arch_sys_counter";

/// Whether the kernel itself uses the processor's counter as its clock.
pub(crate) fn counter_is_the_kernels() -> bool {
    input::kernel_text("/sys/devices/system/clocksource/clocksource0/current_clocksource".as_ref())
        .is_ok_and(|source| source.trim() == CLOCK_SOURCE)
}
