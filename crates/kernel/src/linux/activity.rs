//! What else a disk is doing at this moment.
//!
//! A benchmark on a busy disk measures two loads. The counters are read twice, a caller's interval
//! apart; what moved in between, while the caller itself did nothing, is somebody else's.
//! Rejected: asking which process it is, which needs privileges that most users lack.

use crate::error::KernelError;
use crate::linux::diskstats::{DiskstatsLine, Wrapping, counted_devices, read_lines};
use crate::linux::roots::Roots;
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
    /// Share of the time with a request in flight, 0 to 1; of the busiest leaf where the device
    /// has several. Kernels 5.0 to 6.9 sample it and can say too much.
    pub busy_share: f64,
    /// Requests in progress at the end.
    pub in_flight: u64,
    /// The interval, as it turned out.
    pub interval: Nanos,
}

/// Watches a disk for `interval_ms` (at least 1).
///
/// # Errors
/// If the counters cannot be read or the device has none.
pub fn device_in_flight_activity(
    roots: &Roots,
    disk: &DeviceFacts,
    interval_ms: u32,
) -> Result<Activity, KernelError> {
    let devices = counted_devices(disk);
    let before = read_lines(roots, &devices)?;
    let start = Instant::now();
    std::thread::sleep(Duration::from_millis(u64::from(interval_ms.max(1))));
    let after = read_lines(roots, &devices)?;
    Ok(difference(&before, &after, start.elapsed()))
}

/// Rates between two readings of the same devices.
fn difference(before: &[DiskstatsLine], after: &[DiskstatsLine], interval: Duration) -> Activity {
    let seconds = interval.as_secs_f64().max(1e-9);
    let total = |lines: &[DiskstatsLine], count: fn(&DiskstatsLine) -> u64| {
        lines.iter().map(count).sum::<u64>()
    };
    let rate = |count: fn(&DiskstatsLine) -> u64| {
        total(after, count).saturating_sub(total(before, count)) as f64 / seconds
    };
    let busy_ms = before
        .iter()
        .zip(after)
        .filter_map(|(before, after)| {
            let mut busy = Wrapping::default();
            busy.advance(before.busy_ms?);
            Some(busy.advance(after.busy_ms?))
        })
        .max()
        .unwrap_or(0);
    Activity {
        reads_per_s: rate(|line| line.reads.ios),
        writes_per_s: rate(|line| line.writes.ios),
        bytes_per_s: rate(|line| line.reads.sectors + line.writes.sectors) * 512.0,
        busy_share: (busy_ms as f64 / 1e3 / seconds).min(1.0),
        in_flight: after.iter().filter_map(|line| line.in_flight).sum(),
        interval: Nanos(u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX)),
    }
}
