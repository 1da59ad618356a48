//! The live source of intervals: IOCTL_DISK_PERFORMANCE of each disk and of each volume, and PDH for those
//! whose driver does not respond.
//!
//! These are the two layers of perfmon: PhysicalDisk counts the requests to a disk, LogicalDisk those to a
//! volume, above volume managers and volume caches. A volume repeats the requests of its disks, so it
//! counts as a part of them.

pub use crate::kernel::selection::Selection;
pub use crate::kernel::wake::wake_ups;

use crate::kernel::error::{KernelError, system_words};
use crate::kernel::notes::Notes;
use crate::kernel::read::Roots;
use crate::kernel::windows::clock::{monotonic_ns, wall_ns};
use crate::kernel::windows::device::{
    DISK, device_facts, device_named, device_of_mount, disks, opened_as, volumes,
};
use crate::kernel::windows::disk_layers::DiskLayers;
use crate::kernel::windows::disk_performance::DiskPerformance;
use crate::kernel::windows::environment::release;
use crate::kernel::windows::filesystem::filesystem_of;
use crate::kernel::windows::probe::performance;
use crate::kernel::windows::unsafe_calls::{memory, open_device, system_times_100ns, volume_path};
use record::{Context, Finding, Interval, ObservedDevice, ObservedPath, WakeUp};
use std::collections::BTreeMap;
use std::os::windows::io::OwnedHandle;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Samples the counters of disks and volumes.
#[derive(Debug)]
pub struct Sampler {
    selection: Selection,
    paths: Arc<[ObservedPath]>,
    tracked: Vec<Tracked>,
    /// Perfmon's counters, if a driver does not respond itself.
    layers: Option<DiskLayers>,
    context: ContextReader,
    notes: Notes,
}

#[derive(Debug)]
struct Tracked {
    device: Arc<ObservedDevice>,
    /// Handle if its driver responds; `None` if its counters come from [`DiskLayers`].
    open: Option<OwnedHandle>,
    last: DiskPerformance,
    at_ns: u64,
    /// Whether it completed any request since its counters began.
    used: bool,
}

impl Sampler {
    /// A sampler of this machine. Takes the first reading.
    ///
    /// # Errors
    /// If no disk has counters, or a named device has none.
    #[expect(clippy::needless_pass_by_value, reason = "only Linux has them")]
    pub fn new(roots: Roots, selection: Selection) -> Result<Self, KernelError> {
        if roots != Roots::default() {
            let cause = std::io::Error::from(std::io::ErrorKind::Unsupported);
            return Err(KernelError::io("read Linux counters from", &roots.proc, &cause));
        }
        let mut tracked = Vec::new();
        let (mut refused, mut silent) = (String::new(), Vec::new());
        for name in disks().into_iter().chain(volumes().into_iter().map(|volume| volume.name)) {
            match Tracked::open(&name) {
                Ok(one) => tracked.push(one),
                Err(error) => {
                    if refused.is_empty() {
                        refused = format!("{name}: {}; ", system_words(&error));
                    }
                    silent.push(name);
                }
            }
        }
        let mut layers = None;
        if tracked.is_empty() || !silent.is_empty() {
            match DiskLayers::open().and_then(|layers| layers.read().map(|read| (layers, read))) {
                Ok((open, read)) => {
                    let counted = read.into_iter().filter(|(name, _)| {
                        !tracked.iter().any(|one: &Tracked| one.device.name == *name)
                    });
                    tracked.extend(
                        counted
                            .map(|(name, first)| Tracked::new(&name, None, first))
                            .collect::<Vec<_>>(),
                    );
                    layers = Some(open);
                }
                Err(error) => refused.push_str(&error.to_string()),
            }
        }
        if tracked.is_empty() {
            let file = "the counters of disks (IOCTL_DISK_PERFORMANCE, then PhysicalDisk and LogicalDisk by PDH)";
            let remedy = "enable them (diskperf -y, lodctr /R)";
            return Err(KernelError::Lacks { file, problem: format!("{refused}; {remedy}") });
        }
        let known = |name: &str| tracked.iter().any(|one: &Tracked| one.device.name == name);
        let paths: Result<Vec<ObservedPath>, KernelError> =
            selection.named.iter().map(|named| observed_path(named, &known, &tracked)).collect();
        let paths = paths?.into();
        let (context, notes) = (ContextReader::default(), Notes::default());
        let mut sampler = Self { selection, paths, tracked, layers, context, notes };
        sampler.context();
        Ok(sampler)
    }

    /// Wake-up delays of threads on this machine.
    #[must_use]
    pub fn wake_ups(&self) -> &'static [WakeUp] {
        wake_ups()
    }

    /// Reads the counters; returns the interval of each device since the last sample.
    ///
    /// # Errors
    /// None: a device that no longer responds is left out, and reported as a finding.
    pub fn sample(&mut self) -> Result<Vec<Interval>, KernelError> {
        let mut intervals = Vec::with_capacity(self.tracked.len());
        let read = self.layers.as_ref().and_then(|layers| layers.read().ok()).unwrap_or_default();
        let mut tracked = std::mem::take(&mut self.tracked);
        tracked.retain_mut(|one| match one.advance(read.get(&one.device.name)) {
            Ok(Some(interval)) => {
                if self.holds(one) {
                    intervals.push(interval);
                }
                true
            }
            Ok(None) => {
                self.notes.resets.add(one.device.name.clone());
                true
            }
            Err(_) => {
                self.notes.went.add(one.device.name.clone());
                false
            }
        });
        self.tracked = tracked;
        Ok(intervals)
    }

    /// The system as a whole since the last call.
    pub fn context(&mut self) -> Context {
        self.context.read()
    }

    /// The devices now present.
    #[must_use]
    pub fn devices(&self) -> Vec<Arc<ObservedDevice>> {
        let shown = self.tracked.iter().filter(|one| self.holds(one));
        shown.map(|one| Arc::clone(&one.device)).collect()
    }

    /// What the names in the selection refer to.
    #[must_use]
    pub fn paths(&self) -> Arc<[ObservedPath]> {
        Arc::clone(&self.paths)
    }

    /// The version of Windows.
    #[must_use]
    pub fn kernel(&self) -> Option<Arc<str>> {
        Some(release().into())
    }

    /// Name of the machine, if available.
    #[must_use]
    pub fn host(&self) -> Option<String> {
        std::env::var("COMPUTERNAME").ok()
    }

    /// Number of devices that the selection leaves out.
    #[must_use]
    pub fn hidden(&self) -> usize {
        self.tracked.iter().filter(|one| !self.holds(one)).count()
    }

    /// Events during the observation, and the limits of the figures.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.notes.findings(&self.devices())
    }

    /// Changes which devices are shown if none is named; takes effect at once.
    pub fn show(&mut self, partitions: bool, unused: bool) {
        (self.selection.partitions, self.selection.unused) = (partitions, unused);
    }

    /// Whether the selection includes a device.
    fn holds(&self, one: &Tracked) -> bool {
        if !self.paths.is_empty() {
            return self.paths.iter().any(|path| path.devices.contains(&one.device.name));
        }
        (self.selection.partitions || one.device.partition_of.is_none())
            && (self.selection.unused || one.used)
    }
}

impl Tracked {
    fn open(name: &str) -> std::io::Result<Self> {
        let open = open_device(&opened_as(name), 0, 0)?;
        let last = performance(&open)?;
        Ok(Self::new(name, Some(open), last))
    }

    /// A disk or volume with its first reading.
    fn new(name: &str, open: Option<OwnedHandle>, last: DiskPerformance) -> Self {
        let facts = device_facts(name);
        let volume = !name.starts_with(DISK);
        let (mut built_of, mut partition_of) = (Vec::new(), None);
        if let Some(facts) = facts.as_ref().filter(|_| volume) {
            match facts.leaves.as_slice() {
                [disk] => partition_of = Some(disk.clone()),
                leaves => built_of = leaves.to_vec(),
            }
        }
        let device = ObservedDevice {
            name: name.to_owned(),
            facts,
            built_of,
            partition_of,
            ..ObservedDevice::default()
        };
        let used = last.counts != [0, 0];
        Self { device: Arc::new(device), open, last, at_ns: monotonic_ns(), used }
    }

    /// The interval since the last reading; `None` if the counters were reset. `read` holds its current
    /// counters from perfmon.
    fn advance(&mut self, read: Option<&DiskPerformance>) -> std::io::Result<Option<Interval>> {
        let now = match &self.open {
            Some(open) => performance(open)?,
            None => *read.ok_or(std::io::ErrorKind::NotFound)?,
        };
        let now_ns = monotonic_ns();
        let duration_ns = now_ns.saturating_sub(self.at_ns).max(1);
        let moved = now.since(&self.last);
        (self.last, self.at_ns) = (now, now_ns);
        self.used |= now.counts != [0, 0];
        let begin_ns = wall_ns().saturating_sub(duration_ns);
        Ok(moved.map(|moved| moved.interval(&self.device.name, begin_ns, duration_ns, &now)))
    }
}

/// Resolves a disk, a volume, or a path on a volume.
fn observed_path(
    named: &str,
    known: &dyn Fn(&str) -> bool,
    tracked: &[Tracked],
) -> Result<ObservedPath, KernelError> {
    let mut filesystem = None;
    let name = device_named(named).or_else(|| {
        let path = Path::new(named);
        path.exists().then_some(())?;
        filesystem = Some(filesystem_of(path).ok()?.0);
        Some(device_of_mount(&volume_path(&std::path::absolute(path).ok()?).ok()?))
    });
    let mut devices: Vec<String> = name.clone().into_iter().collect();
    let below = name.as_deref().and_then(device_facts);
    devices.extend(below.into_iter().flat_map(|facts| facts.leaves));
    devices.dedup();
    devices.retain(|name| known(name));
    if devices.is_empty() {
        let all: Vec<&str> = tracked.iter().map(|one| one.device.name.as_str()).collect();
        return Err(KernelError::NotObserved { named: named.to_owned(), known: all.join(", ") });
    }
    let (path, volumes) = (named.to_owned(), Vec::new());
    Ok(ObservedPath { path, filesystem, layout: None, volumes, devices })
}

/// Mount points of volumes, by the names of the disks and volumes below.
#[must_use]
pub fn mount_points(_roots: &Roots) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for volume in volumes() {
        let Some(mount) = volume.mounts.first() else { continue };
        let leaves = device_facts(&volume.name).map(|facts| facts.leaves).unwrap_or_default();
        for name in leaves.into_iter().chain([volume.name]) {
            found.entry(name).or_insert_with(|| mount.clone());
        }
    }
    found
}

/// The state of the system as a whole on Windows: idle processors and memory.
#[derive(Debug, Default)]
struct ContextReader {
    at_ns: u64,
    times: Option<(u64, u64, u64)>,
}

impl ContextReader {
    fn read(&mut self) -> Context {
        let (now, times) = (monotonic_ns(), system_times_100ns());
        let duration_ns = now.saturating_sub(self.at_ns).max(1);
        let before = std::mem::replace(&mut self.times, times);
        self.at_ns = now;
        let idle_share = before.zip(times).and_then(|(before, now)| {
            let idle = now.0.checked_sub(before.0)? as f64;
            // The kernel time includes the idle time.
            let all = (now.1 + now.2).checked_sub(before.1 + before.2)? as f64;
            (all > 0.0).then(|| (idle / all).min(1.0))
        });
        Context {
            begin_ns: wall_ns().saturating_sub(duration_ns),
            duration_ns,
            idle_share,
            memory_available_bytes: memory().map(|memory| memory.available),
            ..Context::default()
        }
    }
}
