//! The live source of intervals: reads /proc/diskstats once per sample into a reused buffer.
//!
//! sysfs is read for a device when it appears, when its counters restart, and when a busy one falls silent
//! (its counting may have been switched off). For devices built of others, it is read when any device came
//! or went. So a thousand disks cost only the parsing of a hundred kilobytes (`cargo xtask bench --only
//! sampling`). A line that cannot be parsed costs its own device one interval; such events are reported as
//! findings. The clock for durations stops while the machine sleeps, as the counters do.
//!
//! Rejected: the `stat` file of each device (a system call and a different time per device) and netlink
//! events for hot-plug (the next read shows it).
//!
//! NFS and SMB mounts, which have no line there, come from /proc/self/mountstats (`exports.rs`) and
//! /proc/fs/cifs/Stats (`smb.rs`).

mod context;
mod exports;
mod groups;
mod smb;
mod step;
mod topology;

pub use crate::kernel::selection::Selection;
pub use crate::kernel::wake::wake_ups;
pub use topology::mount_points;

use crate::kernel::error::KernelError;
use crate::kernel::linux::clock::now_ns;
use crate::kernel::linux::device::{keeps_counters, whole_disk};
use crate::kernel::linux::diskstats::{DiskstatsLine, lines};
use crate::kernel::linux::mounts::read_mounts;
use crate::kernel::linux::path::{built_file_systems, directory, is_array, observed_path};
use crate::kernel::linux::volume_log::VolumeLog;
use crate::kernel::notes::Notes;
use crate::kernel::read::{Roots, text};
use context::ContextReader;
use engine::input;
use record::{Context, Finding, Interval, ObservedDevice, ObservedPath, WakeUp};
use rustix::time::ClockId;
use std::collections::HashMap;
use std::sync::Arc;
use step::{Reading, Span};

/// Maximum number of silent devices whose settings are checked again per sample.
const RECHECKED: usize = 16;

/// Samples the counters of block devices.
#[derive(Debug)]
pub struct Sampler {
    roots: Roots,
    shown: Shown,
    release: Option<Arc<str>>,
    buffer: Vec<u8>,
    /// Buffer for /proc/self/mountstats.
    mounts: Vec<u8>,
    /// Buffer for /proc/fs/cifs/Stats.
    shares: Vec<u8>,
    tracked: HashMap<String, Tracked>,
    read_at: Moment,
    samples: u64,
    context: ContextReader,
    context_from: Moment,
    /// Empty if the files of another machine are read.
    wake_ups: &'static [WakeUp],
    notes: Notes,
}

#[derive(Debug)]
struct Shown {
    selection: Selection,
    /// What the names in the selection refer to; empty for all devices.
    paths: Arc<[ObservedPath]>,
    /// If no device is named: the file systems and arrays that are built of several devices.
    built: Arc<[ObservedPath]>,
}

impl Shown {
    /// Whether the selection includes a device.
    fn holds(&self, tracked: &Tracked) -> bool {
        if !self.paths.is_empty() {
            return self.paths.iter().any(|path| path.devices.contains(&tracked.device.name));
        }
        let line = &tracked.reading.line;
        // Members of an array are included with the array.
        let part = || self.built.iter().any(|path| path.devices.contains(&tracked.device.name));
        (self.selection.partitions || tracked.device.partition_of.is_none() || part())
            && (self.selection.unused || line.reads.ios + line.writes.ios > 0)
    }
}

#[derive(Debug)]
struct Tracked {
    reading: Reading,
    device: Arc<ObservedDevice>,
    /// The volume's own counters, if it has any.
    log: Option<VolumeLog>,
    at: Moment,
    /// Position of its line in the file.
    position: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    /// Nanoseconds since 1970.
    wall_ns: u64,
    /// Nanoseconds since boot, without the time that the machine slept.
    monotonic_ns: u64,
}

impl Moment {
    fn now() -> Self {
        Self { wall_ns: now_ns(ClockId::Realtime), monotonic_ns: now_ns(ClockId::Monotonic) }
    }

    /// The span from here to a later moment. The wall clock may have been set in between.
    fn to(self, later: Self) -> Span {
        let duration_ns = later.monotonic_ns.saturating_sub(self.monotonic_ns).max(1);
        Span { begin_ns: later.wall_ns.saturating_sub(duration_ns), duration_ns }
    }
}

impl Sampler {
    /// A sampler of this machine, or of the trees of another one. Takes the first reading.
    ///
    /// # Errors
    /// If the counters cannot be read, or a named device is not among them.
    pub fn new(roots: Roots, selection: Selection) -> Result<Self, KernelError> {
        let release = text(&roots.proc.join("sys/kernel/osrelease")).map(Arc::from);
        let wake_ups = if roots.proc == Roots::default().proc { wake_ups() } else { &[] };
        let now = Moment::now();
        let mut sampler = Self {
            roots,
            shown: Shown { selection, paths: Arc::default(), built: Arc::default() },
            release,
            buffer: Vec::new(),
            mounts: Vec::new(),
            shares: Vec::new(),
            tracked: HashMap::new(),
            read_at: now,
            samples: 0,
            context: ContextReader::default(),
            context_from: now,
            wake_ups,
            notes: Notes::default(),
        };
        sampler.context.read(&sampler.roots, now.to(now));
        let now = sampler.read()?;
        sampler.choose()?;
        sampler.take(now);
        Ok(sampler)
    }

    /// Wake-up delays of threads on this machine.
    #[must_use]
    pub fn wake_ups(&self) -> &'static [WakeUp] {
        self.wake_ups
    }

    /// Reads the counters; returns the interval since the last sample for each device that was present both
    /// times, in the kernel's order.
    ///
    /// # Errors
    /// If the file with the counters cannot be read.
    pub fn sample(&mut self) -> Result<Vec<Interval>, KernelError> {
        let now = self.read()?;
        Ok(self.take(now))
    }

    /// The system as a whole since the last call.
    pub fn context(&mut self) -> Context {
        let now = Moment::now();
        let from = std::mem::replace(&mut self.context_from, now);
        self.context.read(&self.roots, from.to(now))
    }

    /// The devices now present, in the kernel's order.
    #[must_use]
    pub fn devices(&self) -> Vec<Arc<ObservedDevice>> {
        let mut shown: Vec<&Tracked> =
            self.present().filter(|tracked| self.shown.holds(tracked)).collect();
        shown.sort_by_cached_key(|tracked| tracked.position);
        shown.into_iter().map(|tracked| Arc::clone(&tracked.device)).collect()
    }

    fn present(&self) -> impl Iterator<Item = &Tracked> {
        self.tracked.values().filter(|tracked| tracked.at == self.read_at)
    }

    /// What the names in the selection refer to, with the devices below each; without names, the file
    /// systems and arrays that are built of several devices.
    #[must_use]
    pub fn paths(&self) -> Arc<[ObservedPath]> {
        let named = !self.shown.paths.is_empty();
        Arc::clone(if named { &self.shown.paths } else { &self.shown.built })
    }

    /// Release of the kernel, if available.
    #[must_use]
    pub fn kernel(&self) -> Option<Arc<str>> {
        self.release.clone()
    }

    /// Name of the machine, if available.
    #[must_use]
    pub fn host(&self) -> Option<String> {
        text(&self.roots.proc.join("sys/kernel/hostname"))
    }

    /// Number of devices that the selection leaves out.
    #[must_use]
    pub fn hidden(&self) -> usize {
        self.present().filter(|tracked| !self.shown.holds(tracked)).count()
    }

    /// Events during the observation, and the limits of the figures.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.notes.findings(&self.devices())
    }

    /// Changes which devices are shown if none is named; takes effect at once.
    pub fn show(&mut self, partitions: bool, unused: bool) {
        let selection = &mut self.shown.selection;
        (selection.partitions, selection.unused) = (partitions, unused);
    }

    /// Reads the counters and the time. Slow work between readings must not be part of any interval.
    fn read(&mut self) -> Result<Moment, KernelError> {
        let now = Moment::now();
        let path = self.roots.proc.join("diskstats");
        input::kernel_bytes_into(&path, &mut self.buffer)
            .map_err(|error| KernelError::io("read the counters in", &path, &error))?;
        // A kernel without NFS or SMB has no such file, and no such mount.
        for (buffer, file) in
            [(&mut self.mounts, "self/mountstats"), (&mut self.shares, "fs/cifs/Stats")]
        {
            if input::kernel_bytes_into(&self.roots.proc.join(file), buffer).is_err() {
                buffer.clear();
            }
        }
        Ok(now)
    }

    fn exports(&self) -> Vec<DiskstatsLine> {
        let mounts = String::from_utf8_lossy(&self.mounts);
        let mut found = exports::lines(&mounts, || read_mounts(&self.roots));
        found.extend(smb::lines(&String::from_utf8_lossy(&self.shares)));
        found
    }

    /// Finds the devices below the names that the user gave.
    fn choose(&mut self) -> Result<(), KernelError> {
        let named = &self.shown.selection.named;
        let buffer = String::from_utf8_lossy(&self.buffer);
        let lines: Vec<DiskstatsLine> = lines(&buffer).flatten().chain(self.exports()).collect();
        let is_known = |name: &str| lines.iter().any(|line| line.device == name);
        if named.is_empty() {
            let names = lines.iter().map(|line| line.device.as_str());
            let arrays = names.filter(|name| is_array(&self.roots, name));
            let arrays = arrays.map(|name| observed_path(&self.roots, name, &is_known));
            let built = built_file_systems(&self.roots, &is_known);
            self.shown.built = built.into_iter().chain(arrays).collect();
            return Ok(());
        }
        let mut paths = Vec::with_capacity(named.len());
        for named in named {
            let path = observed_path(&self.roots, named, &is_known);
            if path.devices.is_empty() {
                let (named, known) = (named.clone(), known(&lines));
                return Err(KernelError::NotObserved { named, known });
            }
            paths.push(path);
        }
        self.shown.paths = paths.into();
        Ok(())
    }

    /// Parses the buffers.
    fn take(&mut self, now: Moment) -> Vec<Interval> {
        let mut intervals = Vec::with_capacity(self.tracked.len());
        let buffer = std::mem::take(&mut self.buffer);
        let mut round = Round { now, rechecks: RECHECKED, position: 0, broken: 0, changed: false };
        let exports = self.exports();
        for line in lines(&String::from_utf8_lossy(&buffer)).chain(exports.into_iter().map(Ok)) {
            match line {
                Ok(line) => intervals.extend(self.advance(line, &mut round)),
                Err(error) => {
                    self.notes.unreadable.add(error.to_string());
                    round.broken += 1;
                }
            }
            round.position += 1;
        }
        self.buffer = buffer;
        self.read_at = now;
        self.samples += 1;
        self.forget(&mut round);
        if round.changed && self.samples > 1 {
            self.describe_stacks();
        }
        intervals
    }

    fn advance(&mut self, line: DiskstatsLine, round: &mut Round) -> Option<Interval> {
        let now = round.now;
        let Some(tracked) = self.tracked.get_mut(&line.device) else {
            if self.samples > 0 {
                self.notes.came.add(&line.device);
            }
            round.changed = true;
            let tracked = Tracked::new(&self.roots, line, round, self.release.as_deref());
            self.tracked.insert(tracked.device.name.clone(), tracked);
            return None;
        };
        let span = std::mem::replace(&mut tracked.at, now).to(now);
        tracked.position = round.position;
        let (moved_before, counted_before) = (tracked.reading.moved, tracked.counted());
        let interval = match tracked.reading.advance(line, span) {
            Ok(interval) => interval,
            Err(counter) => {
                self.notes.resets.add(format!("{} ({counter})", tracked.device.name));
                round.changed = true;
                let line = tracked.reading.line.clone();
                *tracked = Tracked::new(&self.roots, line, round, self.release.as_deref());
                return None;
            }
        };
        let moved = tracked.reading.moved;
        let fell_silent = moved_before && !moved;
        if (fell_silent || moved && !tracked.counted()) && round.rechecks > 0 {
            round.rechecks -= 1;
            tracked.look_whether_counted(&self.roots);
        }
        let counted = counted_before && tracked.counted();
        if !self.shown.holds(tracked) {
            return None;
        }
        let over_limit = tracked.log.as_mut().and_then(|log| log.advance(now.monotonic_ns));
        let interval = if counted { interval } else { bare(interval) };
        Some(Interval { over_limit, ..interval })
    }

    /// Drops devices that were missing in the last reading.
    fn forget(&mut self, round: &mut Round) {
        // Any device may be the one whose line could not be parsed.
        if round.broken > 0 {
            return;
        }
        let gone = self.tracked.extract_if(|_, tracked| tracked.at != round.now);
        let mut gone: Vec<String> = gone.map(|(name, _)| name).collect();
        gone.sort();
        round.changed |= !gone.is_empty();
        gone.into_iter().for_each(|name| self.notes.went.add(name));
    }

    /// Reads again which devices the stacked devices are built of.
    fn describe_stacks(&mut self) {
        for tracked in self.tracked.values_mut() {
            if !tracked.device.built_of.is_empty() {
                let line = &tracked.reading.line;
                tracked.device =
                    Arc::new(topology::describe(&self.roots, line, self.release.as_deref()));
            }
        }
    }
}

struct Round {
    now: Moment,
    /// Devices that may still be checked again.
    rechecks: usize,
    /// Number of lines so far.
    position: usize,
    broken: u32,
    /// Whether any device came, went or was replaced.
    changed: bool,
}

impl Tracked {
    fn new(roots: &Roots, line: DiskstatsLine, round: &Round, release: Option<&str>) -> Self {
        let device = Arc::new(topology::describe(roots, &line, release));
        let whole = device.facts.as_ref().filter(|_| device.partition_of.is_none());
        let log = whole.and_then(|facts| VolumeLog::open(roots, facts, round.now.monotonic_ns));
        Self { reading: Reading::first(line), device, log, at: round.now, position: round.position }
    }

    /// Whether the kernel keeps counters for it, as far as is known.
    fn counted(&self) -> bool {
        self.device.facts.as_ref().is_none_or(|facts| facts.iostats != Some(false))
    }

    /// Checks whether the kernel keeps counters, after the device fell silent or became active without them.
    fn look_whether_counted(&mut self, roots: &Roots) {
        let directory = directory(roots, &self.device.name);
        if let Some(facts) = &mut Arc::make_mut(&mut self.device).facts {
            facts.iostats = directory.and_then(|directory| keeps_counters(&whole_disk(&directory)));
        }
    }
}

/// The interval of a device that is not counted: only its time.
fn bare(interval: Interval) -> Interval {
    let Interval { device, begin_ns, duration_ns, .. } = interval;
    Interval { device, begin_ns, duration_ns, ..Interval::default() }
}

/// Device names for a message, up to a maximum.
fn known(lines: &[DiskstatsLine]) -> String {
    const MOST: usize = 12;
    let names: Vec<&str> = lines.iter().take(MOST).map(|line| line.device.as_str()).collect();
    let more = if lines.len() > MOST { ", ..." } else { "" };
    format!("{}{more}", names.join(", "))
}
