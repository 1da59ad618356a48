//! The devices of the ward: as they were profiled, and as they may have become.
//!
//! Queues know their truth: servers over service time is what they can do. Of drives and flash
//! the table says what a plain run of random reads of 4 KiB gave, one at a time and 64 deep; loads
//! are chosen as shares of these. There are few devices and many cases, so that each profile serves
//! many of them.

use record::Nanos;

const SECOND: u64 = 1_000_000_000;

/// Servers with one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Requests side by side.
    pub servers: u32,
    /// Mean service time without transfer, in microseconds.
    pub service_us: u32,
    /// Variation of the service time, in percent.
    pub cv_percent: u32,
    /// Transfer rate of a server in MB/s; 0 for one that does not matter.
    pub rate_mb: u32,
}

/// A drive, an array or flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its text.
    pub text: &'static str,
    /// The same one gone bad.
    pub bad: &'static str,
    /// Random reads of 4 KiB per second, one at a time.
    pub lone_per_s: u32,
    /// And 64 deep.
    pub largest_per_s: u32,
    /// Disks or dies that work side by side.
    pub side: u32,
    /// Seconds of an observation.
    pub seconds: u64,
}

/// A device as it was profiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// A queue.
    Queue(Queue),
    /// A drive, an array or flash.
    Known(Known),
}

const fn queue(servers: u32, service_us: u32, cv_percent: u32, rate_mb: u32) -> Device {
    Device::Queue(Queue { servers, service_us, cv_percent, rate_mb })
}

/// Queues.
pub(crate) const QUEUES: [Device; 6] = [
    queue(8, 1_000, 100, 0),
    queue(32, 4_000, 100, 0),
    queue(16, 2_500, 50, 0),
    queue(4, 500, 30, 0),
    queue(1, 5_000, 100, 0),
    queue(1, 8_000, 50, 0),
];
/// Those of them that serve several requests side by side.
pub(crate) const PARALLEL: [Device; 4] = [QUEUES[0], QUEUES[1], QUEUES[2], QUEUES[3]];
/// Queues whose servers transfer at a rate.
pub(crate) const SIZED: [Device; 2] = [queue(8, 1_000, 100, 100), queue(4, 2_000, 30, 50)];
/// Single drives.
pub(crate) const DRIVES: [Device; 2] = [
    Device::Known(Known {
        text: "st34371w",
        bad: "st34371w,host=p6-200,wce=off",
        lone_per_s: 98,
        largest_per_s: 240,
        side: 1,
        seconds: 120,
    }),
    Device::Known(Known {
        text: "atlas10k",
        bad: "st15150w",
        lone_per_s: 155,
        largest_per_s: 273,
        side: 1,
        seconds: 120,
    }),
];
/// Arrays.
pub(crate) const STRIPED: Device = Device::Known(Known {
    text: "st34371w,disks=4,raid=0",
    bad: "st15150w,disks=4,raid=0",
    lone_per_s: 117,
    largest_per_s: 1_155,
    side: 4,
    seconds: 60,
});
pub(crate) const PARITY: Device = Device::Known(Known {
    text: "st34371w,disks=5,raid=5,chunk=16k",
    bad: "st15150w,disks=5,raid=5,chunk=16k",
    lone_per_s: 117,
    largest_per_s: 1_300,
    side: 5,
    seconds: 60,
});
/// Flash.
pub(crate) const FLASH: Device = Device::Known(Known {
    text: "sata-ssd",
    bad: "sata-ssd,read=180us,program=3ms,overhead=60us",
    lone_per_s: 9_980,
    largest_per_s: 95_000,
    side: 4,
    seconds: 20,
});
/// All that take any load.
pub(crate) const ALL: [Device; 10] = [
    QUEUES[0], QUEUES[1], QUEUES[2], QUEUES[3], QUEUES[4], QUEUES[5], DRIVES[0], DRIVES[1],
    STRIPED, FLASH,
];
/// Those that can become a good deal slower at random reads.
pub(crate) const MAY_SLOW: [Device; 8] =
    [QUEUES[0], QUEUES[1], QUEUES[2], QUEUES[3], QUEUES[4], QUEUES[5], DRIVES[1], FLASH];

impl Queue {
    fn text(&self, factor: f64) -> String {
        let Self { servers, service_us, cv_percent, rate_mb } = *self;
        let service = (f64::from(service_us) * factor).round() as u64;
        let mut text = format!("mmc,servers={servers},service={service}us");
        if cv_percent != 100 {
            text.push_str(&format!(",cv=0.{cv_percent:02}"));
        }
        if rate_mb > 0 {
            text.push_str(&format!(",rate={rate_mb}MB/s"));
        }
        text
    }
}

impl Device {
    /// What stands after `sim:`.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Queue(queue) => queue.text(1.0),
            Self::Known(known) => known.text.to_owned(),
        }
    }

    /// The same device with requests that take this many times as long; what is no queue has one
    /// bad form.
    #[must_use]
    pub fn slower(&self, factor: f64) -> String {
        match self {
            Self::Queue(queue) => queue.text(factor),
            Self::Known(known) => known.bad.to_owned(),
        }
    }

    /// Requests per second one at a time, random reads of 4 KiB.
    #[must_use]
    pub fn lone_per_s(&self) -> f64 {
        match self {
            Self::Queue(queue) => 1e9 / queue.lone_ns(4096),
            Self::Known(known) => f64::from(known.lone_per_s),
        }
    }

    /// The largest rate of random reads of 4 KiB.
    #[must_use]
    pub fn largest_per_s(&self) -> f64 {
        match self {
            Self::Queue(_) => self.lone_per_s() * self.side(),
            Self::Known(known) => f64::from(known.largest_per_s),
        }
    }

    /// The largest rate of a queue at a size.
    #[must_use]
    pub fn largest_at(&self, bytes: u64) -> f64 {
        match self {
            Self::Queue(queue) => f64::from(queue.servers) * 1e9 / queue.lone_ns(bytes),
            Self::Known(_) => self.largest_per_s(),
        }
    }

    /// Requests that are worked on side by side.
    #[must_use]
    pub fn side(&self) -> f64 {
        match self {
            Self::Queue(queue) => f64::from(queue.servers),
            Self::Known(known) => f64::from(known.side),
        }
    }

    /// What it does at ease: one at a time on each of what works side by side.
    #[must_use]
    pub fn ease_per_s(&self) -> f64 {
        (self.lone_per_s() * self.side()).min(self.largest_per_s())
    }

    /// Whether it treats reads and writes alike.
    #[must_use]
    pub fn alike(&self) -> bool {
        matches!(self, Self::Queue(_))
    }

    /// Length of an observation in seconds.
    #[must_use]
    pub fn seconds(&self) -> u64 {
        match self {
            Self::Queue(_) => 60,
            Self::Known(known) => known.seconds,
        }
    }

    /// Virtual time of a check.
    pub(crate) fn budget(&self) -> Nanos {
        let slow = self.largest_per_s() < 2_000.0;
        Nanos(if slow { 600 } else { 60 } * SECOND)
    }
}

impl Queue {
    fn lone_ns(&self, bytes: u64) -> f64 {
        let transfer = match self.rate_mb {
            0 => 0.0,
            rate => bytes as f64 * 1e3 / f64::from(rate),
        };
        f64::from(self.service_us) * 1e3 + transfer
    }
}
