//! Reads the counters of a disk or volume: IOCTL_DISK_PERFORMANCE.
//!
//! Windows keeps them in the partition manager (disks) and in the volume manager (volumes), where they are
//! on unless `diskperf` switched them off. Times are in 100 ns. The time of reads and of writes is the sum
//! of their durations; the idle time is that without an outstanding request. Counts have 32 bits and wrap.
//! Parsed from bytes here, because no test has a real Windows machine. Source: DISK_PERFORMANCE of
//! winioctl.h.

use record::{Figure, Interval, OpInterval};

/// Size of the structure: ten numbers, a name of eight letters, and four bytes of padding.
pub(crate) const SIZE: usize = 88;
/// 100 ns, the unit of its times, in ns.
const UNIT_NS: f64 = 100.0;

/// The counters since they were switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiskPerformance {
    pub(crate) bytes: [u64; 2],
    /// Sums of the durations of reads and of writes, in 100 ns.
    pub(crate) times: [u64; 2],
    /// Time without an outstanding request, in 100 ns.
    pub(crate) idle: u64,
    /// Modulo 2^32.
    pub(crate) counts: [u32; 2],
    /// Outstanding requests now.
    pub(crate) depth: u32,
    /// Requests that had to be split.
    pub(crate) splits: u32,
    /// Time of the reading, in 100 ns since 1601.
    pub(crate) asked: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moved {
    pub(crate) ios: [u64; 2],
    pub(crate) bytes: [u64; 2],
    pub(crate) times_ns: [u64; 2],
    pub(crate) busy_ns: u64,
    pub(crate) splits: u64,
    /// Time between the two, by the disk's own account, in ns.
    pub(crate) length_ns: u64,
}

impl DiskPerformance {
    /// Parses the bytes from the call; `None` if there are too few.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let short = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        Some(Self {
            bytes: [long(0)?, long(8)?],
            times: [long(16)?, long(24)?],
            idle: long(32)?,
            counts: [short(40)?, short(44)?],
            depth: short(48)?,
            splits: short(52)?,
            asked: long(56)?,
        })
    }

    /// The increases since an earlier reading; `None` if the counters went back, because another device has
    /// the name or they were switched on again.
    pub(crate) fn since(&self, earlier: &Self) -> Option<Moved> {
        let grown = |now: u64, before: u64| now.checked_sub(before);
        let both = |of: fn(&Self) -> [u64; 2]| -> Option<[u64; 2]> {
            let (now, before) = (of(self), of(earlier));
            Some([grown(now[0], before[0])?, grown(now[1], before[1])?])
        };
        let counts: [u64; 2] = std::array::from_fn(|way| {
            u64::from(self.counts[way].wrapping_sub(earlier.counts[way]))
        });
        let bytes = both(|one| one.bytes)?;
        let times = both(|one| one.times)?;
        let length = grown(self.asked, earlier.asked)?;
        // A count that decreased is a reset, not a wrap, if the difference is this large.
        let wrapped = (0..2).any(|way| counts[way] > u64::from(u32::MAX / 2));
        if wrapped {
            return None;
        }
        let idle = grown(self.idle, earlier.idle)?.min(length);
        Some(Moved {
            ios: counts,
            bytes,
            times_ns: times.map(|time| time * 100),
            busy_ns: (length - idle) * 100,
            splits: u64::from(self.splits.wrapping_sub(earlier.splits)),
            length_ns: length * 100,
        })
    }
}

impl Moved {
    /// The interval of a device. Shares are of the time between the two readings by the disk's own account.
    pub(crate) fn interval(
        &self,
        device: &str,
        begin_ns: u64,
        duration_ns: u64,
        now: &DiskPerformance,
    ) -> Interval {
        let seconds = duration_ns.max(1) as f64 / 1e9;
        let length = self.length_ns.max(1) as f64;
        let op = |ios: u64, bytes: u64, time_ns: u64| {
            let (ios, bytes, time_ns) = (ios as f64, bytes as f64, time_ns as f64);
            let per_request = |total: f64, step: f64| {
                (ios > 0.0).then(|| Figure::derived(total / ios, step / ios))
            };
            OpInterval {
                per_s: Some(Figure::measured(ios / seconds, 1.0 / seconds)),
                bytes_per_s: Some(Figure::measured(bytes / seconds, 1.0 / seconds)),
                request_bytes: per_request(bytes, 1.0),
                merged_per_s: None,
                latency_ns: per_request(time_ns, UNIT_NS),
            }
        };
        let weighted: u64 = self.times_ns.iter().sum();
        Interval {
            device: device.to_owned(),
            begin_ns,
            duration_ns,
            read: op(self.ios[0], self.bytes[0], self.times_ns[0]),
            write: op(self.ios[1], self.bytes[1], self.times_ns[1]),
            all: op(self.ios.iter().sum(), self.bytes.iter().sum(), weighted),
            busy_share: Some(Figure::measured(
                (self.busy_ns as f64 / length).min(1.0),
                UNIT_NS / length,
            )),
            concurrency: Some(Figure::measured(weighted as f64 / length, UNIT_NS / length)),
            in_flight: Some(Figure::measured(f64::from(now.depth), 1.0)),
            ..Interval::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The structure in the layout of winioctl.h.
    fn bytes(of: &DiskPerformance) -> Vec<u8> {
        let mut bytes = Vec::new();
        for long in [of.bytes[0], of.bytes[1], of.times[0], of.times[1], of.idle] {
            bytes.extend(long.to_le_bytes());
        }
        for short in [of.counts[0], of.counts[1], of.depth, of.splits] {
            bytes.extend(short.to_le_bytes());
        }
        bytes.extend(of.asked.to_le_bytes());
        bytes.extend(3_u32.to_le_bytes());
        bytes.extend("PhysDisk".encode_utf16().flat_map(u16::to_le_bytes));
        bytes.resize(SIZE, 0);
        bytes
    }

    fn first() -> DiskPerformance {
        DiskPerformance {
            bytes: [1 << 40, 4096],
            times: [5_000_000, 70],
            idle: 900_000_000,
            counts: [u32::MAX - 9, 7],
            depth: 2,
            splits: 1,
            asked: 132_000_000_000_000_000,
        }
    }

    #[test]
    fn the_structure_is_read_field_by_field_and_a_short_one_is_refused() {
        let bytes = bytes(&first());
        assert_eq!(DiskPerformance::parse(&bytes), Some(first()));
        assert_eq!(DiskPerformance::parse(&bytes[..63]), None);
    }

    #[test]
    fn a_second_of_work_becomes_rates_latencies_and_shares_and_a_count_may_wrap() {
        let before = first();
        let after = DiskPerformance {
            bytes: [before.bytes[0] + 20 * 4096, before.bytes[1] + 8192],
            // 20 reads of 5 ms, one write of 100 ms.
            times: [before.times[0] + 20 * 50_000, before.times[1] + 1_000_000],
            idle: before.idle + 7_500_000,
            counts: [10, 8],
            depth: 3,
            splits: 1,
            asked: before.asked + 10_000_000,
        };
        let moved = after.since(&before).unwrap();
        assert_eq!(moved.ios, [20, 1]);
        assert_eq!((moved.busy_ns, moved.length_ns), (250_000_000, 1_000_000_000));
        let interval = moved.interval("disk0", 5, 1_000_000_000, &after);
        let value = |figure: Option<Figure>| figure.unwrap().value;
        assert_eq!(value(interval.read.per_s), 20.0);
        assert_eq!(value(interval.read.latency_ns), 5e6);
        assert_eq!(value(interval.read.request_bytes), 4096.0);
        assert_eq!(value(interval.write.latency_ns), 100e6);
        assert_eq!(value(interval.busy_share), 0.25);
        // Little's law: 21 requests of 200 ms in total, in one second.
        assert_eq!(value(interval.concurrency), 0.2);
        assert_eq!(value(interval.in_flight), 3.0);
    }

    #[test]
    fn counters_that_go_back_are_those_of_another_device() {
        let before = first();
        let back = DiskPerformance { counts: [0, 7], bytes: [0, 4096], ..before };
        assert_eq!(back.since(&before), None);
        let anew = DiskPerformance { counts: [before.counts[0] - 5, 7], ..before };
        assert_eq!(anew.since(&before), None);
    }
}
