//! Measures the current traffic of a disk from other processes.
//!
//! A benchmark on a busy disk measures two loads. The counters are read twice, an interval apart that the
//! caller chooses. Meanwhile the caller is idle, so any change comes from other processes. Rejected: asking
//! which process it is, which needs privileges that most users lack.

use crate::kernel::platform::probe::DeviceReader;
use crate::kernel::read::Roots;
use record::{DeviceFacts, Nanos};
use std::time::{Duration, Instant};

/// Traffic of a disk over an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activity {
    /// Read requests completed per second.
    pub reads_per_s: f64,
    /// Write requests completed per second.
    pub writes_per_s: f64,
    /// Bytes read and written per second.
    pub bytes_per_s: f64,
    /// Share of the time with a request in flight, 0 to 1; for a device with several leaves, that of the
    /// busiest. Kernels 5.0 to 6.9 sample it and may overestimate it.
    pub busy_share: f64,
    /// The interval as measured.
    pub interval: Nanos,
}

/// Watches a disk for `interval_ms` (at least 1).
///
/// # Errors
/// If there are no counters; the reason as text.
pub fn device_in_flight_activity(
    roots: &Roots,
    disk: &DeviceFacts,
    interval_ms: u32,
) -> Result<Activity, String> {
    let mut reader = DeviceReader::new(std::slice::from_ref(disk));
    let before = reader.read(roots)?;
    let start = Instant::now();
    std::thread::sleep(Duration::from_millis(u64::from(interval_ms.max(1))));
    let after = reader.read(roots)?;
    let interval = start.elapsed();
    let rate = |now: u64, before: u64| (now - before) as f64 / interval.as_secs_f64();
    Ok(Activity {
        reads_per_s: rate(after.ios[0], before.ios[0]),
        writes_per_s: rate(after.ios[1], before.ios[1]),
        bytes_per_s: rate(after.bytes.iter().sum(), before.bytes.iter().sum()),
        busy_share: (rate(after.busy_ns, before.busy_ns) / 1e9).min(1.0),
        interval: Nanos(u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX)),
    })
}
