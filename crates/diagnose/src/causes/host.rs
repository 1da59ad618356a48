//! Describes the machine for the system checks, and records what they read.
//!
//! Checks do not guess device names. They use the devices of an observation or of a target, with
//! their sysfs directories. System calls and programs query only this machine: with other root
//! directories they would describe the wrong machine.

use host::kernel::device_calls::block_devices;
use host::kernel::read::{base_name, number, text};
use host::kernel::{BlockDevice, Roots};
use record::{DeviceFacts, FactData, FactNotRead, FactValue, FactsRead, SystemFact};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A block device: a disk, a partition or a volume.
#[derive(Clone, Debug)]
pub struct HostDevice {
    /// Kernel name.
    pub name: String,
    /// Its sysfs directory, with links resolved.
    pub directory: PathBuf,
    /// Directories from its parent device upward, the nearest first.
    pub above: Vec<PathBuf>,
    /// Whole disks below it; the device itself if it is a disk.
    pub disks: Vec<String>,
    /// sysfs facts of its first disk.
    pub facts: DeviceFacts,
    /// Whether its disk served requests during the observation.
    pub in_use: bool,
}

impl HostDevice {
    /// Whether it is a whole disk.
    #[must_use]
    pub fn is_disk(&self) -> bool {
        self.disks == [self.name.clone()]
    }

    /// Whether it is an NVMe drive of this machine.
    #[must_use]
    pub fn is_nvme(&self) -> bool {
        self.name.starts_with("nvme") && !self.facts.virtual_disk
    }

    /// The number in a file of its sysfs directory.
    #[must_use]
    pub fn number(&self, file: &str) -> Option<f64> {
        number(&self.directory.join(file)).map(|number| number as f64)
    }

    /// The text of a file of its sysfs directory.
    #[must_use]
    pub fn text(&self, file: &str) -> Option<String> {
        text(&self.directory.join(file))
    }
}

/// The machine that the checks read.
#[derive(Debug)]
pub struct Host<'a> {
    /// Root directories of procfs and sysfs.
    pub roots: &'a Roots,
    /// The disks, and the partitions and volumes on them.
    pub devices: Vec<HostDevice>,
    /// Mounted file-server exports, by name.
    pub exports: Vec<String>,
    /// Path of `smartctl`, or why it is not run.
    pub smartctl: Result<PathBuf, String>,
}

impl<'a> Host<'a> {
    /// The machine with these disks and exports. `in_use` returns whether one of them served requests.
    #[must_use]
    pub fn new(roots: &'a Roots, disks: &[DeviceFacts], in_use: &dyn Fn(&str) -> bool) -> Self {
        let exports = disks.iter().filter(|facts| facts.is_export());
        let exports = exports.map(|facts| facts.name.clone()).collect();
        let mut wanted: BTreeSet<&str> = BTreeSet::new();
        for facts in disks.iter().filter(|facts| !facts.is_export()) {
            wanted.extend(facts.leaves.iter().chain([&facts.disk]).map(String::as_str));
        }
        let found = block_devices(roots).into_iter().filter_map(|device| {
            let BlockDevice { name, directory, above, facts } = device;
            let disks = if facts.leaves.is_empty() {
                vec![facts.disk.clone()]
            } else {
                facts.leaves.clone()
            };
            let own = disks.iter().any(|disk| wanted.contains(disk.as_str()));
            let in_use = disks.iter().any(|disk| in_use(disk));
            own.then_some(HostDevice { name, directory, above, disks, facts, in_use })
        });
        Self { roots, devices: found.collect(), exports, smartctl: smartctl(roots) }
    }

    /// Updates which disks have served requests.
    pub fn mark_used(&mut self, in_use: &dyn Fn(&str) -> bool) {
        for device in &mut self.devices {
            device.in_use = device.disks.iter().any(|disk| in_use(disk));
        }
    }

    /// Iterates over the whole disks.
    pub fn disks(&self) -> impl Iterator<Item = &HostDevice> {
        self.devices.iter().filter(|device| device.is_disk())
    }

    /// The device with a name.
    #[must_use]
    pub fn device(&self, name: &str) -> Option<&HostDevice> {
        self.devices.iter().find(|device| device.name == name)
    }

    /// The text of a procfs file.
    #[must_use]
    pub fn proc(&self, file: &str) -> Option<String> {
        text(&self.roots.proc.join(file))
    }
}

/// Path of smartctl, if it may be run.
fn smartctl(roots: &Roots) -> Result<PathBuf, String> {
    if *roots != Roots::default() {
        return Err("smartctl can query only the drives of this machine".to_owned());
    }
    if !is_root() {
        return Err("smartctl needs root".to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Directories of administrators' programs, which the PATH of a service may omit.
    let more = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let folders = std::env::split_paths(&path).chain(more);
    let found = folders.map(|folder| folder.join("smartctl")).find(|program| program.is_file());
    found.ok_or_else(|| "smartctl is not installed (package smartmontools)".to_owned())
}

#[cfg(target_os = "linux")]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(target_os = "linux"))]
fn is_root() -> bool {
    false
}

/// The values that a check read about one subject.
#[derive(Debug, Default)]
pub struct Fact(SystemFact);

impl Fact {
    /// A fact of the machine as a whole.
    #[must_use]
    pub fn of_machine() -> Self {
        Self::default()
    }

    /// A fact of a block device.
    #[must_use]
    pub fn of(device: &HostDevice) -> Self {
        let disks = if device.is_disk() { Vec::new() } else { device.disks.clone() };
        Self(SystemFact { device: Some(device.name.clone()), disks, ..SystemFact::default() })
    }

    /// A fact of a named subject that is no block device, such as an export or a pool.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self(SystemFact { device: Some(name.to_owned()), ..SystemFact::default() })
    }

    /// A fact without values about the same subject as another.
    pub(crate) fn again(of: &SystemFact) -> Self {
        Self(SystemFact { values: Vec::new(), ..of.clone() })
    }

    pub(crate) fn read(self) -> SystemFact {
        self.0
    }

    fn value(mut self, name: &str, value: Option<FactData>, unit: &str) -> Self {
        let (name, unit) = (name.to_owned(), unit.to_owned());
        self.0.values.extend(value.map(|value| FactValue { name, value, unit, at_begin: None }));
        self
    }

    /// Adds a number, if known.
    #[must_use]
    pub fn number(self, name: &str, number: impl Into<Option<f64>>, unit: &str) -> Self {
        self.value(name, number.into().filter(|it| it.is_finite()).map(FactData::Number), unit)
    }

    /// Adds a text, if known.
    #[must_use]
    pub fn text<'t>(self, name: &str, text: impl Into<Option<&'t str>>) -> Self {
        self.value(name, text.into().map(|it| FactData::Text(it.to_owned())), "")
    }

    /// Sets the time since when the fact holds.
    #[must_use]
    pub fn since(mut self, since: Option<String>) -> Self {
        self.0.since = since;
        self
    }
}

/// Collects what one check reads.
#[derive(Debug)]
pub struct Reader<'a> {
    check: &'static str,
    found: &'a mut FactsRead,
}

impl<'a> Reader<'a> {
    /// A reader for the check with this name.
    pub(crate) fn new(check: &'static str, found: &'a mut FactsRead) -> Self {
        Self { check, found }
    }

    /// Adds a fact, unless it has no value.
    pub fn add(&mut self, fact: Fact) {
        if !fact.0.values.is_empty() {
            self.found.facts.push(SystemFact { check: self.check.to_owned(), ..fact.0 });
        }
    }

    /// Records why a device, or the machine, was not read.
    pub fn not_read(&mut self, device: Option<&HostDevice>, reason: impl Into<String>) {
        let device = device.map(|device| device.name.clone());
        let (check, reason) = (self.check.to_owned(), reason.into());
        self.found.not_read.push(FactNotRead { check, device, reason });
    }

    /// What was read about a device; records why if it could not be read.
    pub fn known<T>(
        &mut self,
        device: Option<&HostDevice>,
        found: Result<T, impl Into<String>>,
    ) -> Option<T> {
        found.map_err(|reason| self.not_read(device, reason)).ok()
    }

    /// Whether a drive may be asked for its state, which would wake up a sleeping one.
    pub fn may_ask(&mut self, drive: &HostDevice) -> bool {
        if !drive.in_use {
            let reason = "the drive served no requests, and reading its state would wake it up";
            self.not_read(Some(drive), reason);
        }
        drive.in_use
    }
}

/// Whether a directory's name is `word` followed by a number (`ata1` for `ata`).
pub(crate) fn is_numbered(directory: &Path, word: &str) -> bool {
    base_name(directory).strip_prefix(word).is_some_and(|rest| rest.parse::<u32>().is_ok())
}
