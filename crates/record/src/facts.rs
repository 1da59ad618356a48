//! What is under a target, and the conditions of a measurement, as the kernel states them.

use crate::{Bytes, OpKind, TestFile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a path turned out to be.
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

/// One thing that was read or written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// As the user named it.
    pub path: String,
    /// What it is.
    pub kind: TargetKind,
    /// Bytes that can be addressed (of the test file, the file, or the device).
    pub size_bytes: Bytes,
    /// The block device below; null where there is none (memory, network, simulation).
    pub device: Option<DeviceFacts>,
    /// The file system; null for a raw or simulated device.
    pub filesystem: Option<FilesystemFacts>,
    /// Placement of the file; null where the file system does not tell.
    pub extents: Option<Extents>,
    /// Which test file it was; absent for all else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_file: Option<TestFile>,
    /// Hash of the file that describes a simulated device (`sim:FILE.toml`); absent for all else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_hash: Option<String>,
}

/// A block device as sysfs describes it. A fact that sysfs does not give is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFacts {
    /// Kernel name of the device that the target sits on (`sda1`, `dm-0`).
    pub name: String,
    /// Kernel name of the whole disk whose counters and queue settings are used (`sda`); with
    /// several disks below, the first.
    pub disk: String,
    /// All whole disks below, for a device built of others.
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
    /// Whether that flag can be believed.
    pub rotational_trusted: bool,
    /// Whether the disk is virtual (virtio, Xen, Hyper-V, loop, zram, …), by its driver.
    pub virtual_disk: bool,
    /// Kernel driver.
    pub driver: Option<String>,
    /// Transport or link as far as sysfs tells (`nvme pcie 8.0 GT/s x4`, `virtio`, `sata`, `loop`).
    pub link: Option<String>,
    /// I/O scheduler in use.
    pub scheduler: Option<String>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Smallest addressable unit: what O_DIRECT must be aligned to.
    pub logical_block_bytes: Option<u64>,
    /// Smallest unit that the device writes without reading first.
    pub physical_block_bytes: Option<u64>,
    /// Merging switched off: 0 no, 1 partly, 2 wholly.
    pub nomerges: Option<u64>,
    /// Requests that the block layer queues.
    pub nr_requests: Option<u64>,
    /// Largest request that the block layer sends.
    pub max_request_bytes: Option<u64>,
    /// Pieces of memory that a request may consist of; absent where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_segments: Option<u64>,
    /// Read-ahead of buffered reads.
    pub read_ahead_bytes: Option<u64>,
    /// Whether the kernel keeps counters for this disk.
    pub iostats: Option<bool>,
    /// Size of the cache in the drive, at least, where the drive tells.
    pub cache_bytes: Option<Bytes>,
    /// How a software array (md) is; null for others, and for one without redundancy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayState>,
    /// What a loop device keeps its data in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_file: Option<LoopFile>,
    /// Other facts of layers on the way, one sentence each.
    pub layers: Vec<String>,
}

/// Names of the drivers of [`DeviceFacts::export`].
const NFS: &str = "nfs";
const SMB: &str = "smb";

impl DeviceFacts {
    /// What is known of the export of a file server, as mounted by NFS (`HOST:/PATH`) or SMB
    /// (`//HOST/SHARE`).
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

    /// Whether it is the export of a file server.
    #[must_use]
    pub fn is_export(&self) -> bool {
        matches!(self.driver.as_deref(), Some(NFS | SMB))
    }
}

/// How an array of several devices is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArrayState {
    /// Members that it lacks.
    pub missing: u32,
    /// What it does of its own beside the requests of programs, in the kernel's word (`recover`,
    /// `resync`, `check`, `balance`); null where nothing.
    pub work: Option<String>,
}

/// The file below a loop device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopFile {
    /// Its path, as the kernel writes it.
    pub path: String,
    /// The file system that it lies on, and what that is mounted from (`ext4 on /dev/sda1`); null
    /// where no mount tells.
    pub on: Option<String>,
    /// Whether requests pass by the page cache; through it, reads may need no disk.
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
    /// What is mounted, as the kernel writes it.
    pub source: String,
    /// Size.
    pub size_bytes: Bytes,
    /// Free for the user of the program.
    pub free_bytes: Bytes,
    /// Allocation unit.
    pub block_bytes: Bytes,
    /// Whether it lives in memory.
    pub in_memory: bool,
    /// Whether it compresses data, as its mount options or a mark on the file say.
    pub compresses: bool,
    /// What O_DIRECT asks of offsets and lengths on the file, as the kernel tells; 0 where the
    /// file takes none, null where the kernel does not tell.
    pub direct_alignment_bytes: Option<u64>,
}

/// Placement of a file on its device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Extents {
    /// Number of extents that map the area.
    pub count: u64,
    /// Physical start of the first.
    pub first_physical_bytes: Bytes,
    /// Physical end of the last.
    pub last_physical_bytes: Bytes,
    /// Bytes of the file without an extent: holes.
    pub hole_bytes: Bytes,
    /// Bytes allocated but never written: read as zeros without the device.
    pub unwritten_bytes: Bytes,
    /// Bytes that are stored in another form, which is compressed: fewer are transferred.
    #[serde(default)]
    pub compressed_bytes: Bytes,
    /// Hash of the whole map: equal maps mean equal placement.
    pub map_hash: String,
}

/// What a control group limits: one direction, in bytes or requests.
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

impl LimitedIo {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Rbps, Self::Wbps, Self::Riops, Self::Wiops];

    /// The limit on a direction, in bytes or else in requests.
    #[must_use]
    pub fn of(op: OpKind, bytes: bool) -> Self {
        match (op, bytes) {
            (OpKind::Read, true) => Self::Rbps,
            (OpKind::Write, true) => Self::Wbps,
            (OpKind::Read, false) => Self::Riops,
            (OpKind::Write, false) => Self::Wiops,
        }
    }

    /// The limit of a key in `io.max`; `None` for a key that is none of the four.
    #[must_use]
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limited| limited.key() == key)
    }

    /// Its key in `io.max`.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Rbps => "rbps",
            Self::Wbps => "wbps",
            Self::Riops => "riops",
            Self::Wiops => "wiops",
        }
    }

    /// The direction.
    #[must_use]
    pub fn op(self) -> OpKind {
        if matches!(self, Self::Rbps | Self::Riops) { OpKind::Read } else { OpKind::Write }
    }

    /// Whether bytes, not requests, are limited.
    #[must_use]
    pub fn is_bytes(self) -> bool {
        matches!(self, Self::Rbps | Self::Wbps)
    }
}

/// One limit that a control group puts on our I/O.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CgroupLimit {
    /// The group.
    pub group: String,
    /// What is limited.
    pub limited: LimitedIo,
    /// Device numbers that it holds for.
    pub major_minor: String,
    /// The limit, in bytes or requests per second.
    pub limit_per_s: u64,
}

/// How the kernel divides a device among control groups.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ShareKind {
    /// A weight of `io.cost` (`io.weight`), 1 to 10,000; 100 unless set.
    Weight,
    /// A weight of the scheduler bfq, 1 to 1,000; 100 unless set.
    BfqWeight,
    /// A latency that a group is promised, at the cost of others (`io.latency`), microseconds.
    LatencyTarget,
    /// Whether the model of costs divides the device by weight (`io.cost.qos`): 1.
    Cost,
}

impl ShareKind {
    /// The name of its file in version 2.
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

/// What a control group gets of a device where others want it too, if it is not what all get.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct CgroupShare {
    /// The group.
    pub group: String,
    /// By which rule.
    pub kind: ShareKind,
    /// Device numbers that it holds for; null for all devices.
    pub major_minor: Option<String>,
    /// The weight or the target.
    pub value: u64,
}

/// Conditions of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Processors that we may use.
    pub cpus: u32,
    /// Memory.
    pub memory_bytes: Bytes,
    /// Frequency governor; null where the kernel does not control the CPU frequency.
    pub governor: Option<String>,
    /// Hypervisor, as far as it shows; null on bare metal.
    pub virtualization: Option<String>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// I/O limits of our control groups.
    pub cgroup_limits: Vec<CgroupLimit>,
}
