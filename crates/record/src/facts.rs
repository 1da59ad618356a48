//! Facts about a target's device and the conditions of a measurement, as the kernel reports them.

use crate::{Bytes, OpKind, TestFile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of target a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A temporary test file in the named directory.
    Directory,
    /// An existing regular file.
    File,
    /// A block device.
    BlockDevice,
    /// A simulated device.
    Simulated,
}

/// One target of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// As the user named it.
    pub path: String,
    /// Its kind.
    pub kind: TargetKind,
    /// Number of addressable bytes (of the test file, the file, or the device).
    pub size_bytes: Bytes,
    /// The block device below; null if there is none (memory, network, simulation).
    pub device: Option<DeviceFacts>,
    /// The file system; null for a raw or simulated device.
    pub filesystem: Option<FilesystemFacts>,
    /// Placement of the file; null if the file system does not report it.
    pub extents: Option<Extents>,
    /// Which test file it was; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_file: Option<TestFile>,
    /// Hash of the file that describes a simulated device (`sim:FILE.toml`); otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_hash: Option<String>,
}

/// A block device as described by sysfs. A fact that sysfs lacks is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFacts {
    /// Kernel name of the device that contains the target (`sda1`, `dm-0`).
    pub name: String,
    /// Kernel name of the whole disk whose counters and queue settings are used (`sda`). With several disks
    /// below, the first.
    pub disk: String,
    /// All whole disks below, for a device that consists of others.
    pub leaves: Vec<String>,
    /// Device numbers of `disk`, `major:minor`.
    pub major_minor: String,
    /// Model.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Vendor.
    pub vendor: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Size of the disk.
    pub size_bytes: Bytes,
    /// The kernel's rotational flag.
    pub rotational: Option<bool>,
    /// Whether that flag is reliable.
    pub rotational_trusted: bool,
    /// Whether the disk is virtual (virtio, Xen, Hyper-V, loop, zram, …), by its driver.
    pub virtual_disk: bool,
    /// Kernel driver.
    pub driver: Option<String>,
    /// Transport or link, as far as sysfs reports it (`nvme pcie 8.0 GT/s x4`, `virtio`, `sata`, `loop`).
    pub link: Option<String>,
    /// I/O scheduler in use.
    pub scheduler: Option<String>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Smallest addressable unit, to which direct I/O must be aligned.
    pub logical_block_bytes: Option<u64>,
    /// Smallest unit that the device writes without reading first.
    pub physical_block_bytes: Option<u64>,
    /// Whether merging is off: 0 no, 1 partly, 2 entirely.
    pub nomerges: Option<u64>,
    /// Maximum number of requests that the block layer queues.
    pub nr_requests: Option<u64>,
    /// Largest request that the block layer sends.
    pub max_request_bytes: Option<u64>,
    /// Maximum number of memory segments in a request; absent if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_segments: Option<u64>,
    /// Read-ahead of buffered reads.
    pub read_ahead_bytes: Option<u64>,
    /// Whether the kernel keeps counters for this disk.
    pub iostats: Option<bool>,
    /// Minimum size of the cache in the drive, if the drive reports it.
    pub cache_bytes: Option<Bytes>,
    /// State of a software array (md); null for others, and for one without redundancy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayState>,
    /// The file that backs a loop device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_file: Option<LoopFile>,
    /// Other facts about layers in between, one sentence each.
    pub layers: Vec<String>,
}

/// Names of the drivers of [`DeviceFacts::export`].
const NFS: &str = "nfs";
const SMB: &str = "smb";

impl DeviceFacts {
    /// Facts about an export of a file server, mounted by NFS (`HOST:/PATH`) or SMB (`//HOST/SHARE`).
    #[must_use]
    pub fn export(source: &str) -> Self {
        Self {
            name: source.to_owned(),
            disk: source.to_owned(),
            virtual_disk: true,
            driver: Some(if source.starts_with("//") { SMB } else { NFS }.to_owned()),
            ..Self::default()
        }
    }

    /// Whether the device is the export of a file server.
    #[must_use]
    pub fn is_export(&self) -> bool {
        matches!(self.driver.as_deref(), Some(NFS | SMB))
    }
}

/// State of an array of several devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArrayState {
    /// Number of missing members.
    pub missing: u32,
    /// Its background work besides the requests of programs, in the kernel's word (`recover`, `resync`,
    /// `check`, `balance`); null if none.
    pub work: Option<String>,
}

/// The file below a loop device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopFile {
    /// Its path, as the kernel writes it.
    pub path: String,
    /// Its file system and the source of that mount (`ext4 on /dev/sda1`); null if no mount shows it.
    pub on: Option<String>,
    /// Whether requests bypass the page cache. If not, reads may need no disk.
    pub direct: bool,
}

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FilesystemFacts {
    /// Type (`ext4`).
    pub kind: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// Mount options.
    pub options: String,
    /// Mounted device or source, as the kernel writes it.
    pub source: String,
    /// Size.
    pub size_bytes: Bytes,
    /// Bytes free for the user who runs the program.
    pub free_bytes: Bytes,
    /// Allocation unit.
    pub block_bytes: Bytes,
    /// Whether it is in memory.
    pub in_memory: bool,
    /// Whether it compresses data, according to its mount options or to a flag of the file.
    pub compresses: bool,
    /// Alignment of offsets and lengths that O_DIRECT requires on the file, as the kernel reports it; 0 if
    /// the file does not support it, null if the kernel does not report it.
    pub direct_alignment_bytes: Option<u64>,
}

/// Placement of a file on its device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Extents {
    /// Number of extents that map the area.
    pub count: u64,
    /// Physical start of the first extent.
    pub first_physical_bytes: Bytes,
    /// Physical end of the last extent.
    pub last_physical_bytes: Bytes,
    /// Bytes of the file without an extent: holes.
    pub hole_bytes: Bytes,
    /// Bytes allocated but never written. They are read as zeros without the device.
    pub unwritten_bytes: Bytes,
    /// Bytes that are stored compressed, so that fewer are transferred.
    #[serde(default)]
    pub compressed_bytes: Bytes,
    /// Hash of the whole map: equal maps mean equal placement.
    pub map_hash: String,
}

impl Extents {
    /// What to do about an area that was never written.
    pub const FILL: &str = "Copy the file with 'cp --sparse=never' and measure the copy, or name a \
                            directory: its test file is written in full.";
}

/// What a control group limits: bytes or requests, in one direction.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum LimitedIo {
    /// Bytes read per second.
    Rbps,
    /// Bytes written per second.
    Wbps,
    /// Read requests per second.
    Riops,
    /// Write requests per second.
    Wiops,
}

crate::words! { LimitedIo: Rbps = "rbps", Wbps = "wbps", Riops = "riops", Wiops = "wiops" }

impl LimitedIo {
    /// The limit on a direction, in bytes or in requests.
    #[must_use]
    pub fn of(op: OpKind, bytes: bool) -> Self {
        match (op, bytes) {
            (OpKind::Read, true) => Self::Rbps,
            (OpKind::Write, true) => Self::Wbps,
            (OpKind::Read, false) => Self::Riops,
            (OpKind::Write, false) => Self::Wiops,
        }
    }

    /// The limit for a key in `io.max`; `None` for any other key.
    #[must_use]
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limited| limited.name() == key)
    }

    /// The direction.
    #[must_use]
    pub fn op(self) -> OpKind {
        if matches!(self, Self::Rbps | Self::Riops) { OpKind::Read } else { OpKind::Write }
    }

    /// Whether it limits bytes, not requests.
    #[must_use]
    pub fn is_bytes(self) -> bool {
        matches!(self, Self::Rbps | Self::Wbps)
    }
}

/// One limit that a control group puts on the program's I/O.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CgroupLimit {
    /// The group.
    pub group: String,
    /// What is limited.
    pub limited: LimitedIo,
    /// Device numbers that it applies to.
    pub major_minor: String,
    /// The limit, in bytes or requests per second.
    pub limit_per_s: u64,
}

impl CgroupLimit {
    /// What to do about a limit on halfpower itself.
    pub const LIFT: &str =
        "Run outside this control group, or raise the limit (io.max, blkio.throttle.*).";
}

/// How the kernel divides a device among control groups.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ShareKind {
    /// A weight of `io.cost` (`io.weight`), 1 to 10,000; 100 by default.
    Weight,
    /// A weight of the bfq scheduler, 1 to 1,000; 100 by default.
    BfqWeight,
    /// A target latency for a group, at the cost of others (`io.latency`), in microseconds.
    LatencyTarget,
    /// Whether the cost model divides the device by weight (`io.cost.qos`): 1.
    Cost,
}

impl ShareKind {
    /// The name of its file in control groups version 2.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::Weight => "io.weight",
            Self::BfqWeight => "io.bfq.weight",
            Self::LatencyTarget => "io.latency",
            Self::Cost => "io.cost.qos",
        }
    }
}

/// Share of a device that a control group gets under contention, if it is not the default.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct CgroupShare {
    /// The group.
    pub group: String,
    /// The rule of the division.
    pub kind: ShareKind,
    /// Device numbers that it applies to; null for all devices.
    pub major_minor: Option<String>,
    /// The weight or the target latency.
    pub value: u64,
}

/// Conditions of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Number of processors that the program may use.
    pub cpus: u32,
    /// Memory.
    pub memory_bytes: Bytes,
    /// Frequency governor; null if the kernel does not control the CPU frequency.
    pub governor: Option<String>,
    /// Hypervisor, as far as it is visible; null on bare metal.
    pub virtualization: Option<String>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// I/O limits of the program's control groups.
    pub cgroup_limits: Vec<CgroupLimit>,
}
