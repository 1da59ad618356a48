//! Provides the typical latency at queue depth 1 and the typical flush time for each class of devices: the last
//! rung of the ladder of expectations, if nothing better is known. Errors are wide, because a class includes fast and slow devices.
//! They are wider on the fast side, because of caches and sequential requests.

use super::interval_totals::IntervalTotals;
use record::{DeviceFacts, NORMAL_95, ObservedDevice};

/// A class of devices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Class {
    /// Name in sentences: `a rotating disk`.
    pub(crate) name: &'static str,
    /// Latency of a small random request at queue depth 1, in nanoseconds.
    lone_ns: f64,
    /// Standard deviations of its logarithm, below and above.
    pub(crate) below: f64,
    pub(crate) above: f64,
    /// Bytes per second of a single request.
    bytes_per_s: f64,
    /// Requests served in parallel: the median, and the standard deviation in doublings.
    pub(crate) side: f64,
    pub(crate) side_doublings: f64,
    /// Time of a flush with nothing to write out, in nanoseconds, with the standard deviations of its
    /// logarithm below and above.
    flush: (f64, f64, f64),
    /// Whether limits that the kernel does not see are common.
    pub(crate) may_be_capped: bool,
    /// Source of the figures.
    pub(crate) source: &'static str,
}

const fn class(
    name: &'static str,
    (lone_us, below, above): (f64, f64, f64),
    mb_per_s: f64,
    (side, side_doublings): (f64, f64),
    (flush_us, flush_below, flush_above): (f64, f64, f64),
    may_be_capped: bool,
    source: &'static str,
) -> Class {
    let (lone_ns, bytes_per_s) = (lone_us * 1e3, mb_per_s * 1e6);
    let flush = (flush_us * 1e3, flush_below, flush_above);
    Class {
        name,
        lone_ns,
        below,
        above,
        bytes_per_s,
        side,
        side_doublings,
        flush,
        may_be_capped,
        source,
    }
}

/// A flush of a rotating disk waits for a seek and up to two revolutions: 8 to 20 ms. Flash drives take well
/// below 10 ms: hardly any time with power-loss protection, 1 to 5 ms without. Behind a hypervisor, a USB bridge
/// or a file, any of these is possible.
const ROTATING: Class = class(
    "a rotating disk",
    (9_000.0, 0.7, 0.4),
    120.0,
    (1.2, 0.6),
    (12_600.0, 1.8, 0.3),
    false,
    "data sheets: a seek and half a revolution at 5,400 to 15,000 rpm",
);
const SATA_FLASH: Class = class(
    "a SATA flash drive",
    (110.0, 0.7, 0.6),
    450.0,
    (8.0, 1.2),
    (2_000.0, 1.8, 0.8),
    false,
    "data sheets of SATA drives: 8,000 to 12,000 random read IOPS at QD 1",
);
const NVME_FLASH: Class = class(
    "an NVMe flash drive",
    (85.0, 0.9, 0.6),
    2_000.0,
    (48.0, 1.5),
    (1_000.0, 1.8, 1.0),
    false,
    "data sheets of NVMe drives: at QD 1, 60 to 110 µs for a random read, 10 to 20 µs for a write",
);
/// An NVMe device of which only the name is known.
const NVME: Class = class(
    "an NVMe device",
    (300.0, 1.5, 1.5),
    500.0,
    (24.0, 1.6),
    (1_000.0, 1.8, 1.0),
    true,
    "local flash drives and cloud volumes",
);
const USB: Class = class(
    "a USB or card device",
    (900.0, 1.0, 1.2),
    60.0,
    (1.5, 0.8),
    (10_000.0, 1.5, 1.2),
    false,
    "SD specification A1 and A2: at least 1,500 to 4,000 random read IOPS",
);
const AWS: Class = class(
    "an Amazon EBS volume",
    (700.0, 0.5, 0.6),
    500.0,
    (32.0, 1.5),
    (1_000.0, 1.8, 1.0),
    true,
    "Amazon's EBS documentation: single-digit milliseconds, mostly below one",
);
const VIRTUAL: Class = class(
    "a virtual disk",
    (700.0, 1.3, 1.0),
    400.0,
    (12.0, 1.5),
    (3_000.0, 1.8, 1.3),
    true,
    "published latencies of cloud volumes: 0.1 ms (local) to 5 ms (standard)",
);
const EXPORT: Class = class(
    "the export of a file server",
    (1_000.0, 1.2, 1.2),
    200.0,
    (16.0, 1.5),
    (3_000.0, 1.8, 1.3),
    true,
    "round trips within a data centre, plus a disk or a cache",
);
const IN_MEMORY: Class = class(
    "a software device",
    (60.0, 1.5, 2.0),
    2_000.0,
    (2.0, 1.5),
    (1_000.0, 2.0, 2.5),
    false,
    "memory, or the disk below a file",
);
/// The most random requests per second of a rotating disk that orders a queue of them.
const RANDOM_IOPS_MAX: f64 = 300.0;
/// Standard deviation of the parallelism in doublings, if it was observed on the device or similar ones.
const SEEN_DOUBLINGS: f64 = 0.7;
/// Standard deviation of the logarithm of write latency above the QD1 read latency.
const WRITES: f64 = 1.0;
const UNKNOWN: Class = class(
    "a device of unknown kind",
    (1_000.0, 1.8, 1.6),
    300.0,
    (6.0, 1.8),
    (3_000.0, 1.8, 1.3),
    true,
    "from flash drives to rotating disks",
);

impl Class {
    /// The class of a device. Without facts, its name identifies drivers with names of their own.
    pub(crate) fn of(device: &ObservedDevice) -> Self {
        let Some(facts) = &device.facts else { return Self::by_name(&device.name) };
        let has = |text: &Option<String>, word: &str| {
            text.as_ref().is_some_and(|text| text.to_lowercase().contains(word))
        };
        if facts.is_export() {
            EXPORT
        } else if has(&facts.model, "elastic block store") {
            AWS
        } else if is_hosted(facts) {
            VIRTUAL
        } else if facts.virtual_disk {
            IN_MEMORY
        } else if has(&facts.link, "usb") || has(&facts.link, "mmc") || has(&facts.driver, "mmc") {
            USB
        } else if facts.rotational == Some(true) && facts.rotational_trusted {
            ROTATING
        } else if has(&facts.link, "nvme") || has(&facts.driver, "nvme") {
            NVME_FLASH
        } else if facts.rotational == Some(false) {
            SATA_FLASH
        } else {
            UNKNOWN
        }
    }

    fn by_name(name: &str) -> Self {
        let begins = |heads: &[&str]| heads.iter().any(|head| name.starts_with(head));
        if begins(&["vd", "xvd"]) {
            VIRTUAL
        } else if begins(&["loop", "zram", "ram"]) {
            IN_MEMORY
        } else if begins(&["mmcblk"]) {
            USB
        } else if begins(&["nvme"]) {
            NVME
        } else {
            UNKNOWN
        }
    }

    /// A class from earlier observations of the device or of similar ones: latency at queue depth 1
    /// (`lone_ns`, of any request size) and parallelism (`side`).
    pub(crate) fn seen(
        self,
        (name, source): (&'static str, &'static str),
        (lone_ns, sd): (f64, f64),
        side: f64,
    ) -> Self {
        Self {
            name,
            source,
            lone_ns,
            below: sd,
            above: sd,
            bytes_per_s: f64::INFINITY,
            side,
            side_doublings: self.side_doublings.min(SEEN_DOUBLINGS),
            ..self
        }
    }

    /// The same for writes, which parity, shingles and full caches make far slower than reads.
    pub(crate) fn for_writes(self) -> Self {
        Self { above: self.above.max(WRITES), ..self }
    }

    /// The same for flushes after `writes` of this size: the longest a flush takes is its own time plus that of
    /// all these writes, one after another.
    pub(crate) fn for_flushes(self, writes: f64, bytes: f64) -> Self {
        let (idle_ns, below, above) = self.flush;
        let lone_ns = idle_ns + writes * self.lone_ns(bytes);
        Self { lone_ns, below, above, bytes_per_s: f64::INFINITY, ..self }
    }

    /// How far the latency at queue depth 1 depends on whether requests are sequential, as the standard
    /// deviation of a logarithm. On rotating disks sequential requests are up to twenty times faster.
    pub(crate) fn place_sd(&self) -> f64 {
        if *self == ROTATING || self.is_unknown() { 1.2 } else { 0.0 }
    }

    /// Whether random requests on a rotating disk would explain a load's latency and rate.
    pub(crate) fn place_explains(&self, now: &IntervalTotals) -> bool {
        let bytes = now.all.request_bytes().unwrap_or(4096.0);
        let usual = now.latency_ns().is_some_and(|ns| ns <= self.usual_ns(bytes)[1]);
        self.place_sd() > 0.0 && usual && now.iops() <= RANDOM_IOPS_MAX
    }

    /// Whether the class is unknown.
    pub(crate) fn is_unknown(&self) -> bool {
        self.name == UNKNOWN.name
    }

    /// Whether it is in memory or in a file.
    pub(crate) fn is_in_memory(&self) -> bool {
        *self == IN_MEMORY
    }

    /// Latency at queue depth 1 for a request size, in nanoseconds.
    pub(crate) fn lone_ns(&self, bytes: f64) -> f64 {
        self.lone_ns + bytes / self.bytes_per_s * 1e9
    }

    /// The shortest and the longest usual latency at queue depth 1, in nanoseconds: 95 % of the class.
    pub(crate) fn usual_ns(&self, bytes: f64) -> [f64; 2] {
        [-self.below, self.above].map(|sd| self.lone_ns(bytes) * libm::exp(NORMAL_95 * sd))
    }

    /// Log density of a QD1 latency in this class, up to a constant.
    pub(crate) fn log_density(&self, lone_ns: f64, bytes: f64) -> f64 {
        let off = libm::log(lone_ns / self.lone_ns(bytes));
        let sd = if off < 0.0 { self.below } else { self.above };
        -0.5 * (off / sd).powi(2)
    }

    /// Log density of the parallelism in this class, up to a constant.
    pub(crate) fn log_density_of_side(&self, side: f64) -> f64 {
        -0.5 * (libm::log2(side / self.side) / self.side_doublings).powi(2)
    }
}

/// Whether a hypervisor and its storage are below a device, where this kernel cannot see them.
/// Below a loop device or a disk in memory is this kernel itself.
pub(crate) fn is_hosted(facts: &DeviceFacts) -> bool {
    const OWN: [&str; 4] = ["loop", "zram", "brd", "null_blk"];
    facts.virtual_disk && facts.driver.as_deref().is_none_or(|driver| !OWN.contains(&driver))
}
