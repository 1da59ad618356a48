//! Measures how long the processors of this machine take to wake up.
//!
//! An idle processor sleeps, and a request that completes meanwhile is seen only after the wake-up. So a
//! device with a latency of 40 us seems to take 60 us at low rates, especially on virtual machines. The
//! same happens to a thread that sleeps on a timer, so that is measured: how late sleeps of several lengths
//! end, with the least timer slack. Rejected: the latencies that the kernel lists for idle states (bounds,
//! and none on virtual machines).

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

/// Sleep times in microseconds, and the number of each. The long ones correspond to the gaps between
/// requests of a nearly idle disk, in which a virtual processor sleeps more deeply. Together they take a
/// third of a second.
const SLEEPS_US: [(u64, usize); 7] =
    [(100, 19), (200, 19), (400, 19), (800, 19), (1_600, 19), (6_400, 9), (25_600, 7)];

/// Wake-up delays of threads on this machine; measured at the first call.
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
