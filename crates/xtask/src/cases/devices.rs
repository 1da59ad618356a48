//! Defines the devices of the cases: as profiled, and as they may have become.
//!
//! The capacity of a queue is known: servers divided by service time. For drives and flash the table has
//! the result of a plain run of random 4 KiB reads. Loads are shares of these. Many cases use few devices,
//! so that each profile serves many cases.

use record::{DeviceFacts, Nanos};

const SECOND: u64 = 1_000_000_000;

/// A device as it was profiled. Rates are those of random reads of 4 KiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device {
    made_of: MadeOf,
    /// IOPS at queue depth 1.
    pub lone_per_s: f64,
    /// Maximum IOPS.
    pub largest_per_s: f64,
    /// Number of servers, disks or dies that work in parallel.
    pub side: u32,
    /// Length of an observation, in seconds.
    pub seconds: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum MadeOf {
    /// Servers with one queue: mean service time, its variation in percent, and the transfer rate of a
    /// server; 0 for a rate that does not matter.
    Queue { service_us: u32, cv_percent: u32, rate_mb: u32 },
    /// A drive, an array or flash: its text, and that of the same one gone bad.
    Known { text: &'static str, bad: &'static str },
}

const fn queue(servers: u32, service_us: u32, cv_percent: u32, rate_mb: u32) -> Device {
    let lone_per_s = 1e9 / queue_ns(service_us, rate_mb, 4096);
    Device {
        made_of: MadeOf::Queue { service_us, cv_percent, rate_mb },
        lone_per_s,
        largest_per_s: lone_per_s * servers as f64,
        side: servers,
        seconds: 60,
    }
}

/// Service time of a request of this size, in nanoseconds.
const fn queue_ns(service_us: u32, rate_mb: u32, bytes: u64) -> f64 {
    let transfer = if rate_mb == 0 { 0.0 } else { bytes as f64 * 1e3 / rate_mb as f64 };
    service_us as f64 * 1e3 + transfer
}

/// A device from the results of a plain run, at queue depth 1 and 64, and its parallelism.
const fn known(
    text: &'static str,
    bad: &'static str,
    (lone_per_s, largest_per_s, side): (u32, u32, u32),
    seconds: u64,
) -> Device {
    Device {
        made_of: MadeOf::Known { text, bad },
        lone_per_s: lone_per_s as f64,
        largest_per_s: largest_per_s as f64,
        side,
        seconds,
    }
}

/// IOPS at queue depth 1 that rotating drives stay below and flash exceeds.
const ROTATING_PER_S: f64 = 1_000.0;

pub(crate) const QUEUES: [Device; 6] = [
    queue(8, 1_000, 100, 0),
    queue(32, 4_000, 100, 0),
    queue(16, 2_500, 50, 0),
    queue(4, 500, 30, 0),
    queue(1, 5_000, 100, 0),
    queue(1, 8_000, 50, 0),
];
/// The queues with several servers.
pub(crate) const PARALLEL: [Device; 4] = [QUEUES[0], QUEUES[1], QUEUES[2], QUEUES[3]];
/// Queues whose servers have a transfer rate.
pub(crate) const SIZED: [Device; 2] = [queue(8, 1_000, 100, 100), queue(4, 2_000, 30, 50)];
pub(crate) const DRIVES: [Device; 2] = [
    known("st34371w", "st34371w,host=p6-200,wce=off", (98, 240, 1), 120),
    known("atlas10k", "st15150w", (155, 273, 1), 120),
];
/// Arrays.
pub(crate) const STRIPED: Device =
    known("st34371w,disks=4,raid=0", "st15150w,disks=4,raid=0", (117, 1_155, 4), 60);
pub(crate) const PARITY: Device = known(
    "st34371w,disks=5,raid=5,chunk=16k",
    "st15150w,disks=5,raid=5,chunk=16k",
    (117, 1_300, 5),
    60,
);
pub(crate) const FLASH: Device =
    known("sata-ssd", "sata-ssd,read=180us,program=3ms,overhead=60us", (9_980, 95_000, 4), 20);
/// All devices that accept any load.
pub(crate) const ALL: [Device; 10] = [
    QUEUES[0], QUEUES[1], QUEUES[2], QUEUES[3], QUEUES[4], QUEUES[5], DRIVES[0], DRIVES[1],
    STRIPED, FLASH,
];
/// Devices that can become much slower at random reads.
pub(crate) const MAY_SLOW: [Device; 8] =
    [QUEUES[0], QUEUES[1], QUEUES[2], QUEUES[3], QUEUES[4], QUEUES[5], DRIVES[1], FLASH];

impl Device {
    /// Its text after `sim:`.
    #[must_use]
    pub fn text(&self) -> String {
        match self.made_of {
            MadeOf::Queue { .. } => self.slower(1.0),
            MadeOf::Known { text, .. } => text.to_owned(),
        }
    }

    /// The same device with requests that take this many times as long. A device that is not a queue has
    /// one bad variant.
    pub(crate) fn slower(&self, factor: f64) -> String {
        let (service_us, cv_percent, rate_mb) = match self.made_of {
            MadeOf::Known { bad, .. } => return bad.to_owned(),
            MadeOf::Queue { service_us, cv_percent, rate_mb } => (service_us, cv_percent, rate_mb),
        };
        let service = (f64::from(service_us) * factor).round() as u64;
        let mut text = format!("mmc,servers={},service={service}us", self.side);
        if cv_percent != 100 {
            text.push_str(&format!(",cv=0.{cv_percent:02}"));
        }
        if rate_mb > 0 {
            text.push_str(&format!(",rate={rate_mb}MB/s"));
        }
        text
    }

    /// The facts of the real device that this one represents: a rotating disk, a flash drive, or a volume
    /// in a virtual machine.
    pub(crate) fn facts(&self) -> DeviceFacts {
        let known = matches!(self.made_of, MadeOf::Known { .. });
        // The rate at queue depth 1 identifies a known drive, also in an array.
        let rotating = match known {
            true => self.lone_per_s < ROTATING_PER_S,
            false => self.largest_per_s < 1_200.0 && self.side <= 5,
        };
        let flash = known && !rotating;
        let word = |text: &str| Some(text.to_owned());
        let (driver, link) = match (rotating, flash) {
            (true, _) => (word("sd"), word("sas")),
            (_, true) => (word("sd"), word("sata")),
            _ => (word("virtio_blk"), word("virtio")),
        };
        DeviceFacts {
            disk: "sdx".to_owned(),
            major_minor: "0:0".to_owned(),
            rotational: Some(rotating),
            rotational_trusted: rotating || flash,
            virtual_disk: !(rotating || flash),
            scheduler: word("none"),
            driver,
            link,
            ..DeviceFacts::default()
        }
    }

    /// The maximum rate of a queue at a request size.
    pub(crate) fn largest_at(&self, bytes: u64) -> f64 {
        match self.made_of {
            MadeOf::Queue { service_us, rate_mb, .. } => {
                f64::from(self.side) * 1e9 / queue_ns(service_us, rate_mb, bytes)
            }
            MadeOf::Known { .. } => self.largest_per_s,
        }
    }

    /// Rate without queueing: one request at a time on each parallel part.
    pub(crate) fn ease_per_s(&self) -> f64 {
        (self.lone_per_s * f64::from(self.side)).min(self.largest_per_s)
    }

    /// Whether it serves reads and writes equally.
    pub(crate) fn alike(&self) -> bool {
        matches!(self.made_of, MadeOf::Queue { .. })
    }

    /// Virtual time of its check.
    pub(crate) fn budget(&self) -> Nanos {
        let slow = self.largest_per_s < 2_000.0;
        Nanos(if slow { 600 } else { 60 } * SECOND)
    }
}
