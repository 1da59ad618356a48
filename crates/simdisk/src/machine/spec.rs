//! `sim:DRIVE,key=value,...` for machines with drives: names, keys, and what a name stands for.
//!
//! The name is that of a drive; it brings the bus, adapter and host with which the drive was
//! measured, so that `sim:st15150w` alone is a figure of a paper. Keys change the arrangement;
//! numbers of parts stand in the catalogue and have no keys, since a drive with other numbers would
//! be another drive.

use crate::bus::BusSpec;
use crate::catalogue::{self, AdapterSpec};
use crate::drive::DriveSpec;
use crate::files::{FileSpec, FileState, FileSystem};
use crate::host::HostSpec;
use crate::network::NetworkSpec;
use crate::spec::{Key, Kind};
use crate::value;
use crate::volume::{Location, MirrorReads, Raid, Volume, VolumeSpec};

/// The drives by name; help stands in the catalogue.
pub(crate) const KINDS: &[Kind] = &[
    Kind {
        name: "st15150w",
        defaults: &[],
        help: "Seagate Barracuda 4, Fast-Wide SCSI, behind an Adaptec 2940UW of a 200 MHz Pentium \
               Pro (Riedel 1997)",
    },
    Kind {
        name: "st34371w",
        defaults: &[],
        help: "Seagate Barracuda 4LP, Ultra-Wide SCSI, in the same machine",
    },
    Kind {
        name: "st15150n",
        defaults: &[],
        help: "Seagate Barracuda 4, Fast narrow SCSI, in the same machine",
    },
    Kind {
        name: "atlas10k",
        defaults: &[],
        help: "Quantum Atlas 10K, Ultra160 SCSI, in a two-processor Pentium III of 733 MHz (Chung \
               2000)",
    },
    Kind {
        name: "fireball",
        defaults: &[],
        help: "Quantum Fireball lct08, IDE, behind a 3ware 3W-5400 in the same machine",
    },
    Kind {
        name: "friedman10k",
        defaults: &[],
        help: "the 10,000 rpm server disk of Friedman's Table 1",
    },
];

/// The parts that belong to a name.
const SETS: &[(&str, &str, &str, &str, FileSystem)] = &[
    ("st15150w", "fast-wide", "aha2940", "p6-200", FileSystem::Nt4Sp3),
    ("st34371w", "ultra-wide", "aha2940", "p6-200", FileSystem::Nt4Sp3),
    ("st15150n", "fast-narrow", "aha2940", "p6-200", FileSystem::Nt4Sp3),
    ("atlas10k", "ultra160", "aic160", "p3-733", FileSystem::W2k),
    ("fireball", "ata66", "3w5400", "p3-733-ide", FileSystem::W2k),
    ("friedman10k", "friedman", "aha2940", "p3-733", FileSystem::W2k),
];

/// The keys.
pub(crate) const KEYS: &[Key] = &[
    Key { name: "disks", default: "1", help: "drives" },
    Key {
        name: "buses",
        default: "0",
        help: "buses over which the drives are spread in turn; 0: as few as hold them",
    },
    Key { name: "pci", default: "1", help: "PCI buses over which the adapters are spread in turn" },
    Key {
        name: "adapter",
        default: "by kind",
        help: "adapter: aha2940, aic160, 3w5400 or 3w6800; none: one that costs nothing",
    },
    Key {
        name: "host",
        default: "by kind",
        help: "processors, their cost per request, memory and PCI: p6-200, p3-733, p3-733-ide or \
               ideal",
    },
    Key {
        name: "wce",
        default: "on",
        help: "write cache of the drives: on, or off (--cache none and fs switch it off for a \
               trial)",
    },
    Key { name: "raid", default: "none", help: "none (one disk after the other), 0, 1 or 5" },
    Key { name: "chunk", default: "64KiB", help: "bytes of an array that lie together on a disk" },
    Key {
        name: "align",
        default: "0",
        help: "bytes from the start of a chunk to the first byte of the volume",
    },
    Key { name: "failed", default: "none", help: "the disk of an array that has failed, from 0" },
    Key {
        name: "raidat",
        default: "host",
        help: "who does the work of an array: host, adapter, or array (a box with a controller)",
    },
    Key {
        name: "mirror",
        default: "twinstor",
        help: "which copy a read of a mirror takes: twinstor (as 3ware's) or plain (in turn)",
    },
    Key {
        name: "fs",
        default: "by kind",
        help: "file system: none (as Linux), nt4sp3, nt4sp6 (or nt4), w2k",
    },
    Key {
        name: "file",
        default: "written",
        help: "the file at the start: written, extend (empty), last-first (its end alone)",
    },
    Key {
        name: "net",
        default: "none",
        help: "network between the application and the machine, which then is a server: none or \
               gigabit",
    },
    Key { name: "seek", default: "on", help: "off: the arm takes no time" },
    Key { name: "rotation", default: "on", help: "off: the platter is where it is wanted" },
    Key { name: "readahead", default: "on", help: "off: the drive reads what is asked for only" },
    Key { name: "coalesce", default: "on", help: "off: writes in sequence stay separate" },
    Key {
        name: "contention",
        default: "on",
        help: "off: buses, adapters, PCI and memory carry any number of transfers at once",
    },
];

/// A machine: drives, what binds them, what they hang on, and the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSpec {
    /// The drive's name.
    pub name: &'static str,
    /// The drives.
    pub drive: DriveSpec,
    /// Their bus.
    pub bus: BusSpec,
    /// What is between bus and PCI.
    pub adapter: AdapterSpec,
    /// The host.
    pub host: HostSpec,
    /// Drives.
    pub disks: u32,
    /// Buses; 0 for as few as hold them.
    pub buses: u32,
    /// PCI buses.
    pub pcis: u32,
    /// How the drives are bound together.
    pub volume: VolumeSpec,
    /// The file layer.
    pub file: FileSpec,
    /// The network between the application and the machine.
    pub network: Option<NetworkSpec>,
    /// Whether transfers wait for each other.
    pub contention: bool,
}

impl MachineSpec {
    /// A machine with one drive of this name; the first of the table if there is none.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let set = SETS.iter().find(|set| set.0 == name).unwrap_or(&SETS[0]);
        let &(name, bus, adapter, host, system) = set;
        let host = catalogue::host(host).unwrap_or_default();
        let file = FileSpec {
            system,
            state: FileState::Written,
            memory_bytes: host.memory_bytes,
            costs: host.costs,
        };
        Self {
            name,
            drive: catalogue::drive(name).unwrap_or_default(),
            bus: catalogue::bus(bus).unwrap_or_default(),
            adapter: catalogue::adapter(adapter).unwrap_or_default(),
            host,
            disks: 1,
            buses: 0,
            pcis: 1,
            volume: VolumeSpec::default(),
            file,
            network: None,
            contention: true,
        }
    }

    /// Sets a key; `false` if there is none of this name.
    ///
    /// # Errors
    /// What to write instead of a value that cannot be used.
    pub fn set(&mut self, key: &str, value: &str) -> Result<bool, String> {
        let effects = &mut self.drive.effects;
        match key {
            "disks" => self.disks = value::count(value, 1, 4_096)? as u32,
            "buses" => self.buses = value::count(value, 0, 4_096)? as u32,
            "pci" => self.pcis = value::count(value, 1, 4_096)? as u32,
            "adapter" if value == "none" => {
                self.adapter = AdapterSpec { channels: 1, ..AdapterSpec::default() };
            }
            "adapter" => {
                self.adapter = catalogue::adapter(value)
                    .ok_or_else(|| format!("use none, {}", catalogue::adapter_names()))?;
            }
            "host" => {
                self.host = catalogue::host(value)
                    .ok_or_else(|| format!("use one of {}", catalogue::host_names()))?;
                self.file.memory_bytes = self.host.memory_bytes;
                self.file.costs = self.host.costs;
            }
            "wce" => self.drive.write_cache = value::switch(value)?,
            "raid" => self.volume.raid = Raid::parse(value)?,
            "chunk" => self.volume.chunk_bytes = value::bytes(value)?.0,
            "align" => self.volume.align_bytes = value::bytes(value)?.0,
            "failed" if value == "none" => self.volume.failed = None,
            "failed" => self.volume.failed = Some(value::count(value, 0, 4_095)? as u32),
            "raidat" => self.volume.location = Location::parse(value)?,
            "mirror" => self.volume.mirror_reads = MirrorReads::parse(value)?,
            "fs" => self.file.system = FileSystem::parse(value)?,
            "net" => self.network = NetworkSpec::parse(value)?,
            "file" => self.file.state = FileState::parse(value)?,
            "seek" => effects.seek = value::switch(value)?,
            "rotation" => effects.rotation = value::switch(value)?,
            "readahead" => effects.read_ahead = value::switch(value)?,
            "coalesce" => effects.coalesce = value::switch(value)?,
            "contention" => self.contention = value::switch(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether the values go together.
    ///
    /// # Errors
    /// What does not, and what to set.
    pub fn check(&self) -> Result<(), String> {
        self.volume.check(self.disks).map_err(|error| error.to_string())?;
        let least = self.disks.div_ceil(self.bus.most_drives.max(1));
        if self.buses != 0 && self.buses < least {
            let (disks, most) = (self.disks, self.bus.most_drives);
            return Err(format!("a bus holds {most} drives: {disks} disks need buses={least}"));
        }
        Ok(())
    }

    /// Capacity of the volume in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        Volume::new(&self.volume, self.disks, self.drive.capacity_bytes).size()
    }

    /// Buses that there are.
    #[must_use]
    pub fn bus_count(&self) -> u32 {
        match self.buses {
            0 => self.disks.div_ceil(self.bus.most_drives.max(1)),
            // An IDE channel has one drive, whatever is asked for.
            buses => buses.max(self.disks.div_ceil(self.bus.most_drives.max(1))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_for_parts_that_there_are() {
        for (set, kind) in SETS.iter().zip(KINDS) {
            assert_eq!(set.0, kind.name);
            assert!(catalogue::drive(set.0).is_some(), "{}", set.0);
            assert!(catalogue::bus(set.1).is_some(), "{}", set.1);
            assert!(catalogue::adapter(set.2).is_some(), "{}", set.2);
            assert!(catalogue::host(set.3).is_some(), "{}", set.3);
        }
    }

    #[test]
    fn drives_that_do_not_fit_on_a_bus_need_more_of_them() {
        let mut spec = MachineSpec::new("st15150w");
        assert!(spec.set("disks", "16").unwrap());
        assert_eq!(spec.bus_count(), 2);
        assert!(spec.check().is_ok());
        assert!(spec.set("buses", "1").unwrap());
        assert!(spec.check().unwrap_err().contains("buses=2"));
    }
}
