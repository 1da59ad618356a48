//! How long the processors of this machine take to wake up.
//!
//! A processor without work goes to sleep, and a request that ends meanwhile is seen only when it
//! has woken: a device that takes 40 us seems to take 60 where it is asked seldom, on virtual
//! machines above all. The same happens to a thread that sleeps on a timer, so that this is
//! measured: by how much later than asked sleeps of a few lengths end, with the least slack for
//! timers. Rejected: the latencies that the kernel lists for idle states (bounds, and none on
//! virtual machines).

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(windows)]
use windows as system;

use record::WakeUp;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Sleeps, in microseconds, and how often each: the long ones are what lies between requests of a disk that
/// is hardly asked, and a virtual processor sleeps deeper in them. Together they take a third of a
/// second.
const SLEEPS_US: [(u64, usize); 7] =
    [(100, 19), (200, 19), (400, 19), (800, 19), (1_600, 19), (6_400, 9), (25_600, 7)];

/// How late threads of this machine wake up; measured at the first call.
#[must_use]
pub fn wake_ups() -> &'static [WakeUp] {
    static MEASURED: OnceLock<Vec<WakeUp>> = OnceLock::new();
    MEASURED.get_or_init(measured)
}

fn measured() -> Vec<WakeUp> {
    system::with_sharp_timers(|| {
        let sleeps = SLEEPS_US.into_iter();
        sleeps.map(|(us, times)| wake_up(Duration::from_micros(us), times)).collect()
    })
}

fn wake_up(sleep: Duration, times: usize) -> WakeUp {
    let mut late: Vec<u64> = (0..times)
        .map(|_| {
            let begin = Instant::now();
            std::thread::sleep(sleep);
            begin.elapsed().saturating_sub(sleep).as_nanos() as u64
        })
        .collect();
    late.sort_unstable();
    WakeUp { slept_ns: sleep.as_nanos() as u64, late_ns: late[times / 2] }
}
