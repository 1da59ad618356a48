//! `sim:DRIVE,key=value,...` for machines with drives: names, keys, and the machine of each name.
//!
//! The name selects the bus, adapter and host with which the drive was measured, so that `sim:st15150w`
//! alone reproduces a figure of a paper. Keys change the arrangement. The values of parts have no keys,
//! because a drive with other values would be another drive.

use crate::bus::BusSpec;
use crate::catalogue::{ADAPTERS, AdapterSpec, AnyParts, HOSTS, HostSpec};
use crate::drive::DriveSpec;
use crate::files::{FileSpec, FileState, FileSystem};
use crate::keys::{
    self, BY_KIND, Kind, Setting, bytes, bytes_per_s, choice, count, filed, key, put, switch,
};
use crate::network::NetworkSpec;
use crate::rebuild::RebuildSpec;
use workload::volume::{MirrorReads, Raid, Volume, VolumeSpec};

pub(crate) const KINDS: &[Kind] = &[
    filed("st15150w", include_str!("../../catalogue/machines/st15150w.toml")),
    filed("st34371w", include_str!("../../catalogue/machines/st34371w.toml")),
    filed("st15150n", include_str!("../../catalogue/machines/st15150n.toml")),
    filed("atlas10k", include_str!("../../catalogue/machines/atlas10k.toml")),
    filed("fireball", include_str!("../../catalogue/machines/fireball.toml")),
    filed("friedman10k", include_str!("../../catalogue/machines/friedman10k.toml")),
];

// The words of the keys `raidat`, `mirror`, `fs`, `file` and `net`.
const LOCATIONS: &[(&str, Location)] =
    &[("host", Location::Host), ("adapter", Location::Adapter), ("array", Location::Array)];
const MIRROR_READS: &[(&str, MirrorReads)] =
    &[("twinstor", MirrorReads::TwinStor), ("plain", MirrorReads::Plain)];
const FILE_SYSTEMS: &[(&str, FileSystem)] = &[
    ("none", FileSystem::None),
    ("nt4", FileSystem::Nt4Sp6),
    ("nt4sp3", FileSystem::Nt4Sp3),
    ("nt4sp6", FileSystem::Nt4Sp6),
    ("w2k", FileSystem::W2k),
];
const FILE_STATES: &[(&str, FileState)] = &[
    ("written", FileState::Written),
    ("extend", FileState::Extend),
    ("last-first", FileState::LastFirst),
];
const NETWORKS: &[(&str, Option<NetworkSpec>)] =
    &[("gigabit", Some(NetworkSpec::GIGABIT)), ("none", None)];

/// Maximum number of drives, buses and PCI buses of a machine.
const MOST: u32 = 4_096;

pub(crate) const KEYS: &[Setting<MachineSpec>] = &[
    key("disks", "1", "drives").sets(|it, value| put(&mut it.disks, count(value, 1, MOST))),
    key(
        "buses",
        "0",
        "number of buses; the drives are divided equally among them, in order; 0: the minimum",
    )
    .sets(|it, value| put(&mut it.buses, count(value, 0, MOST))),
    key("pci", "1", "number of PCI buses, to which adapters are assigned in turn")
        .sets(|it, value| put(&mut it.pcis, count(value, 1, MOST))),
    key(
        "adapter",
        BY_KIND,
        "adapter: aha2940, aic160, 3w5400 or 3w6800; none: an adapter that takes no time",
    )
    .sets(|it, value| {
        let names = || format!("use {}", ADAPTERS.names());
        put(&mut it.adapter, ADAPTERS.get(value).ok_or_else(names))
    }),
    key(
        "host",
        BY_KIND,
        "host model (CPUs, CPU time per request, memory, PCI): p6-200, p3-733, p3-733-ide, \
         p3-733-dynamic or ideal",
    )
    .sets(|it, value| {
        let host = HOSTS.get(value);
        put(&mut it.host, host.ok_or_else(|| format!("use one of {}", HOSTS.names())))?;
        (it.file.memory_bytes, it.file.costs) = (it.host.memory_bytes, it.host.costs);
        Ok(())
    }),
    key(
        "wce",
        "on",
        "write cache of the drives: on or off (--cache none and fs turn it off for a trial)",
    )
    .sets(|it, value| put(&mut it.drive.write_cache, switch(value))),
    key("raid", "none", "RAID level: none (disks concatenated), 0, 1 or 5")
        .sets(|it, value| put(&mut it.volume.raid, choice(value, Raid::WORDS))),
    // Windows NT and Windows 2000 stripe in chunks of 64 KiB, which cannot be changed (Riedel 1997, section
    // 5.5; Chung 2000, section 7.4).
    key("chunk", "64KiB", "chunk size of an array: contiguous bytes on one disk")
        .sets(|it, value| put(&mut it.volume.chunk_bytes, bytes(value).map(|bytes| bytes.0))),
    key("align", "0", "bytes from the start of a chunk to the first byte of the volume")
        .sets(|it, value| put(&mut it.volume.align_bytes, bytes(value).map(|bytes| bytes.0))),
    key("failed", "none", "index of the array's failed disk, from 0").sets(|it, value| {
        let number = || count(value, 0, MOST - 1);
        put(&mut it.volume.failed, (value != "none").then(number).transpose())
    }),
    key(
        "rebuild",
        "none",
        "rebuild of the failed disk during the load: none, max, or bytes per second",
    )
    .sets(|it, value| {
        let pace = match value {
            "none" => Ok(None),
            "max" => Ok(Some(RebuildSpec { bytes_per_s: None })),
            rate => bytes_per_s(rate).and_then(|rate| match rate {
                0 => Err("use none, max, or a rate above 0".to_owned()),
                rate => Ok(Some(RebuildSpec { bytes_per_s: Some(rate) })),
            }),
        };
        put(&mut it.rebuild, pace)
    }),
    key(
        "raidat",
        "host",
        "part that computes the RAID: host, adapter, or array (an external box with a controller)",
    )
    .sets(|it, value| put(&mut it.location, choice(value, LOCATIONS))),
    key(
        "mirror",
        "twinstor",
        "how a mirror chooses the disk to read from: twinstor (3ware's method) or plain (in turn)",
    )
    .sets(|it, value| put(&mut it.volume.mirror_reads, choice(value, MIRROR_READS))),
    key("fs", BY_KIND, "file system: none (as Linux), nt4sp3, nt4sp6 (or nt4), w2k")
        .sets(|it, value| put(&mut it.file.system, choice(value, FILE_SYSTEMS))),
    key(
        "file",
        "written",
        "state of the file at the start: written, extend (empty), last-first (only its end is \
         written)",
    )
    .sets(|it, value| put(&mut it.file.state, choice(value, FILE_STATES))),
    key(
        "scan",
        "on",
        "on: the program hints that it uses the file sequentially; off: no hint, so NT writes back \
         in smaller transfers",
    )
    .sets(|it, value| put(&mut it.file.unhinted, switch(value).map(|on| !on))),
    key(
        "net",
        "none",
        "network between the application and the machine, which then acts as a server: none or \
         gigabit",
    )
    .sets(|it, value| put(&mut it.network, choice(value, NETWORKS))),
    key("seek", "on", "off: seeks take no time")
        .sets(|it, value| put(&mut it.drive.effects.seek, switch(value))),
    key("rotation", "on", "off: no rotational delay")
        .sets(|it, value| put(&mut it.drive.effects.rotation, switch(value))),
    key("readahead", "on", "off: the drive reads only requested blocks")
        .sets(|it, value| put(&mut it.drive.effects.read_ahead, switch(value))),
    key("coalesce", "on", "off: sequential writes stay separate")
        .sets(|it, value| put(&mut it.drive.effects.coalesce, switch(value))),
    key(
        "zones",
        "on",
        "off: every track has the mean capacity of the outermost and the innermost track",
    )
    .sets(|it, value| put(&mut it.drive.effects.zones, switch(value))),
    key(
        "contention",
        "on",
        "off: buses, adapters, PCI and memory carry all transfers at the same time, without \
         contention",
    )
    .sets(|it, value| put(&mut it.contention, switch(value))),
];

/// The part that does the work of an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Location {
    /// The host: each piece is a command on the bus, and parity costs CPU time.
    #[default]
    Host,
    /// A host bus adapter: the host sends one command, the adapter sends the pieces.
    Adapter,
    /// An external disk array with a controller behind the bus.
    Array,
}

/// A machine: drives, the volume, buses, adapters, and the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineSpec {
    pub drive: DriveSpec,
    pub bus: BusSpec,
    /// The adapter between bus and PCI.
    pub adapter: AdapterSpec,
    pub host: HostSpec,
    pub disks: u32,
    /// 0 for the minimum that holds the disks.
    pub buses: u32,
    pub pcis: u32,
    pub volume: VolumeSpec,
    /// The part that does the work of the array.
    pub location: Location,
    /// How its failed disk is rebuilt.
    pub rebuild: Option<RebuildSpec>,
    pub file: FileSpec,
    /// The network between the application and the machine, which is then a server.
    pub network: Option<NetworkSpec>,
    /// Whether transfers wait for each other.
    pub contention: bool,
}

impl MachineSpec {
    /// A machine of these parts with one drive; the file system is not set yet.
    pub(crate) fn new(
        drive: DriveSpec,
        bus: BusSpec,
        adapter: AdapterSpec,
        host: HostSpec,
    ) -> Self {
        let file =
            FileSpec { memory_bytes: host.memory_bytes, costs: host.costs, ..FileSpec::default() };
        let bare = Self { drive, bus, adapter, host, file, ..Self::default() };
        keys::with_defaults(KEYS, &keys::keys(KEYS), bare)
    }

    /// Whether the values are consistent; otherwise the conflict, and what to set.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.drive.check()?;
        self.volume.check(self.disks)?;
        if self.rebuild.is_some() && self.volume.failed.is_none() {
            return Err("rebuild needs a failed disk: add failed=1".to_owned());
        }
        let least = self.least_buses();
        if self.buses != 0 && self.buses < least {
            let (disks, most) = (self.disks, self.bus.most_drives);
            return Err(format!(
                "a bus supports at most {most} drives, so {disks} disks need buses={least}"
            ));
        }
        Ok(())
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        Volume::new(&self.volume, self.disks, self.drive.capacity_bytes).size()
    }

    /// Number of buses.
    #[must_use]
    pub fn bus_count(&self) -> u32 {
        self.buses.max(self.least_buses())
    }

    fn least_buses(&self) -> u32 {
        self.disks.div_ceil(self.bus.most_drives.max(1))
    }
}
