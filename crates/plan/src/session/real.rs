//! Prepares real targets for a session: known and opened, but not yet written.

use crate::session::elsewhere::{Elsewhere, TargetsElsewhere};
use crate::session::opened::area_on;
use crate::session::progress::preparing;
use crate::session::{Display, Result, Session, SessionError, StopFlag, add_new};
use engine::OwnedFile;
use host::kernel::{self, RealProbe, Roots};
use host::target::{self, Access, TargetHandle};
use record::{
    Bytes, CacheMode, DeviceFacts, EngineName, Environment, Finding, FindingCode, Target,
    TargetKind, TestFile, Workload, format_rate, quoted,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use trial::RealBackend;

/// Minimum share of time with other processes' requests in flight that is reported.
const BUSY_SHARE: f64 = 0.02;

/// Real targets that are becoming a session.
pub struct RealTargets {
    roots: Roots,
    handles: Vec<TargetHandle>,
    /// System and settings of this machine.
    environment: Environment,
    files: BTreeMap<CacheMode, Vec<OwnedFile>>,
    /// Sets of targets for jobs beside the first.
    beside: Vec<Self>,
    /// Whether they will get no requests, so that test files can stay sparse.
    untouched: bool,
    /// Targets on other machines, if any; there are no handles then.
    elsewhere: Option<Elsewhere>,
}

impl RealTargets {
    /// Opens the targets at these paths without writing. A target must hold `min_request` bytes.
    ///
    /// # Errors
    /// If a target cannot be opened, is too small, is named twice, or is refused for safety.
    pub fn open(
        paths: &[&Path],
        access: &Access,
        size: Option<Bytes>,
        min_request: Bytes,
    ) -> Result<Self> {
        refuse_the_same(paths)?;
        let roots = Roots::default();
        let mut handles = paths
            .iter()
            .map(|path| target::open_target(&roots, path, access, size, min_request))
            .collect::<Result<Vec<_>, _>>()?;
        // All test files get the size of the smallest target, because all have the same area.
        let smallest = handles.iter().map(|handle| handle.facts.size_bytes).min();
        let made = |handle: &&mut TargetHandle| handle.facts.kind == TargetKind::Directory;
        for handle in handles.iter_mut().filter(made) {
            handle.facts.size_bytes = smallest.unwrap_or(handle.facts.size_bytes);
        }
        let first = handles.first().ok_or_else(SessionError::no_target)?;
        let environment = kernel::environment(&roots, first.facts.device.as_ref());
        Ok(Self::new(roots, handles, environment, None))
    }

    fn new(
        roots: Roots,
        handles: Vec<TargetHandle>,
        environment: Environment,
        elsewhere: Option<Elsewhere>,
    ) -> Self {
        let (files, beside) = (BTreeMap::new(), Vec::new());
        Self { roots, handles, environment, files, beside, untouched: false, elsewhere }
    }

    /// Targets on other machines.
    ///
    /// # Errors
    /// If the list is empty.
    pub fn elsewhere(targets: Rc<dyn TargetsElsewhere>) -> Result<Self> {
        if targets.facts().is_empty() {
            return Err(SessionError::no_target());
        }
        let roots = Roots::default();
        let environment = kernel::environment(&roots, None);
        Ok(Self::new(roots, Vec::new(), environment, Some(targets)))
    }

    /// Facts of the first target.
    #[must_use]
    pub fn facts(&self) -> &Target {
        match &self.elsewhere {
            Some(there) => &there.facts()[0],
            None => &self.handles[0].facts,
        }
    }

    /// Makes the test file of a directory this one of several.
    pub fn write_as(&mut self, file: TestFile) {
        for handle in &mut self.handles {
            handle.facts.test_file = Some(file);
        }
    }

    /// No target will get requests: the engine completes them by itself.
    pub(crate) fn leave_untouched(&mut self) {
        self.untouched = true;
    }

    /// Adds a set of targets for jobs beside the first.
    pub(crate) fn add(&mut self, set: Self) {
        self.beside.push(set);
    }

    /// This set, and those of jobs beside the first.
    pub(crate) fn sets(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.beside)
    }

    /// A set by its number; 0 is this one.
    pub(crate) fn set(&mut self, number: u32) -> Option<&mut Self> {
        match number.checked_sub(1) {
            None => Some(self),
            Some(beside) => self.beside.get_mut(beside as usize),
        }
    }

    /// System and settings, if the targets are on this machine; other machines have their own.
    #[must_use]
    pub fn conditions(&self) -> Option<&Environment> {
        self.elsewhere.is_none().then_some(&self.environment)
    }

    /// Facts of all targets.
    pub fn all_facts(&self) -> impl Iterator<Item = &Target> {
        let there = self.elsewhere.iter().flat_map(|there| there.facts());
        self.handles.iter().map(|handle| &handle.facts).chain(there)
    }

    /// Offsets and sizes of direct I/O must be multiples of this, in bytes. The largest alignment fits all
    /// targets, because alignments are powers of two.
    #[must_use]
    pub fn alignment(&self) -> u64 {
        if let Some(there) = &self.elsewhere {
            return there.alignment();
        }
        self.handles.iter().map(|handle| handle.alignment_bytes).max().unwrap_or(1)
    }

    /// Whether runs may write to them.
    #[must_use]
    pub fn writable(&self) -> bool {
        let there = self.elsewhere.as_ref().is_none_or(|there| there.writable());
        there && self.handles.iter().all(|handle| handle.writable)
    }

    /// A finding about the current activity of other processes on the disk, if visible and large enough.
    #[must_use]
    pub fn busy_finding(&self) -> Option<Finding> {
        if self.elsewhere.is_some() {
            return None;
        }
        let disk = self.facts().device.as_ref()?;
        let activity = kernel::device_in_flight_activity(&self.roots, disk, 300).ok()?;
        (activity.busy_share > BUSY_SHARE).then(|| {
            Finding::note(
                FindingCode::ForeignIo,
                format!(
                    "Before the measurement, other programs used the disk {:.0} % of the time \
                     ({:.0} reads/s, {:.0} writes/s, {}).",
                    activity.busy_share * 100.0,
                    activity.reads_per_s,
                    activity.writes_per_s,
                    format_rate(activity.bytes_per_s)
                ),
                "If that is unusual, run again when the disk is quiet.",
            )
            .with("busy", activity.busy_share, "")
        })
    }

    /// Reads the extents of existing files in the workload's area.
    ///
    /// # Errors
    /// If the area contains data that must not be measured, such as a hole.
    pub fn look_at_area(&mut self, workload: &Workload) -> Result<()> {
        if let Some(there) = &self.elsewhere {
            return there.look_at_area(workload);
        }
        for handle in &mut self.handles {
            let (offset, length) = area_on(workload, &handle.facts);
            handle.look_at_area(offset, length)?;
        }
        Ok(())
    }

    /// Opens them again with the flags of a cache mode, and checks that these work.
    ///
    /// # Errors
    /// If the file system does not support them.
    pub fn open_mode(&mut self, cache: CacheMode, write: bool) -> Result<()> {
        if let Some(there) = &self.elsewhere {
            return there.open_mode(cache, write);
        }
        let files = self.handles.iter().map(|handle| target::reopen(handle, cache, write));
        self.files.insert(cache, files.collect::<Result<_, _>>()?);
        Ok(())
    }

    /// Opens the engines of a workload and closes them, so that a refusal is found before anything is
    /// written.
    ///
    /// # Errors
    /// The refusal of an engine.
    pub(crate) fn try_engines(&self, workload: &Workload) -> Result<()> {
        // Other machines open their engines when they prepare the run.
        if self.elsewhere.is_some() {
            return Ok(());
        }
        // A fallback uses another workload, and does not refuse anything that the user requested by name.
        if workload.engine == engine::DEFAULT_ENGINE && engine::probe_default_engine().is_err() {
            return Ok(());
        }
        let mut sets = Vec::new();
        for set in self.sets() {
            let mut clones = BTreeMap::new();
            for (&mode, files) in &set.files {
                let again: std::io::Result<Vec<OwnedFile>> =
                    files.iter().map(OwnedFile::try_clone).collect();
                clones.insert(mode, again.map_err(SessionError::io("opening the targets again"))?);
            }
            sets.push(clones);
        }
        Ok(trial::try_engines(sets, workload)?)
    }

    /// Writes the test files of directories.
    fn write_test_files(
        &mut self,
        seed: u64,
        stop: &StopFlag,
        display: &mut dyn Display,
    ) -> Result<()> {
        if self.untouched {
            return Ok(());
        }
        let made = |handle: &&mut TargetHandle| handle.facts.kind == TargetKind::Directory;
        let all = || self.sets().flat_map(|set| &set.handles);
        let fresh = all().filter(|handle| handle.facts.kind == TargetKind::Directory);
        let (mut before, total) = (0, fresh.map(|handle| handle.facts.size_bytes.0).sum());
        let cancelled = || stop.load(Ordering::Relaxed);
        let mut show = preparing(display);
        let beside = self.beside.iter_mut().flat_map(|set| &mut set.handles);
        for (handle, index) in self.handles.iter_mut().chain(beside).filter(made).zip(0..) {
            let size = handle.facts.size_bytes;
            let mut tick = |done: u64, _: u64| show(before + done, total);
            // Different data in each file: a device below several would otherwise see the same blocks
            // twice.
            let seed = seed.wrapping_add(index);
            target::write_test_file(handle, size, seed, &mut tick, &cancelled)?;
            before += size.0;
        }
        Ok(())
    }

    /// The session, after the test files of directories are written. `engine` falls back if the kernel does
    /// not support it.
    ///
    /// # Errors
    /// If a test file cannot be written, or the user interrupts it.
    pub fn into_session(
        mut self,
        mut engine: EngineName,
        seed: u64,
        stop: &StopFlag,
        display: &mut dyn Display,
    ) -> Result<Session> {
        if let Some(there) = self.elsewhere {
            let prepared = there.prepare(engine, seed)?;
            return Ok(Session::elsewhere(there, prepared, seed, stop));
        }
        let written = self.write_test_files(seed, stop, display);
        display.clear();
        written?;
        let disks = self.disks();
        let mut findings = Vec::new();
        let all = || self.sets().flat_map(|set| &set.handles);
        let of_targets = all().flat_map(|handle| handle.findings.clone());
        let of_disks = disks.iter().skip(1).flat_map(|disk| {
            kernel::environment_findings(&kernel::environment(&self.roots, Some(disk)))
        });
        let of_first = kernel::environment_findings(&self.environment);
        add_new(&mut findings, of_targets.chain(of_first).chain(of_disks));
        if engine == engine::DEFAULT_ENGINE
            && let Err(error) = engine::probe_default_engine()
        {
            engine = EngineName::Sync;
            findings.push(Finding::warning(
                FindingCode::EngineFallback,
                format!(
                    "{error}. The sync engine was used instead, with threads for the queue \
                         depth."
                ),
                "Expect more CPU time per request and a lower queue depth than with io_uring.",
            ));
        }
        // Counters of only some devices would be compared with requests to all.
        let counted = all().all(|handle| handle.facts.device.is_some());
        let probe = RealProbe::new(self.roots, if counted { &disks } else { &[] });
        let soak_tap = Some(probe.soak_tap());
        let past_cache = self.files.contains_key(&CacheMode::Device);
        let turns = |disk: &DeviceFacts| disk.rotational == Some(true) && disk.rotational_trusted;
        let mut backend = RealBackend::new(self.files, Box::new(probe));
        let mut beside = Vec::new();
        for set in self.beside {
            backend.add_targets(set.files);
            beside.push(set.handles);
        }
        let targets = self.handles.iter().map(|handle| handle.facts.clone()).collect();
        Ok(Session {
            turns: self.handles[0].facts.device.as_ref().is_some_and(turns),
            environment: Some(self.environment),
            findings,
            past_cache,
            soak_tap,
            handles: self.handles,
            beside,
            ..Session::new(Box::new(backend), targets, engine, seed, stop)
        })
    }

    /// The devices below the targets, each once, in order.
    fn disks(&self) -> Vec<DeviceFacts> {
        let mut disks: Vec<DeviceFacts> = Vec::new();
        let all = self.sets().flat_map(|set| &set.handles);
        for disk in all.filter_map(|handle| handle.facts.device.as_ref()) {
            if !disks.iter().any(|known| known.name == disk.name) {
                disks.push(disk.clone());
            }
        }
        disks
    }
}

/// An error if a file or device is named twice, even by different names: two jobs would use its blocks
/// without knowing of each other. A directory gets a separate test file each time.
fn refuse_the_same(paths: &[&Path]) -> Result<()> {
    let mut seen: BTreeMap<(u64, u64, u64), &Path> = BTreeMap::new();
    for path in paths {
        // A path that cannot be examined gives an error when it is opened.
        let Some(identity) = target::identity(path).filter(|_| !path.is_dir()) else { continue };
        if let Some(other) = seen.insert(identity, path) {
            let text = format!(
                "{} and {} are the same; name each target once",
                quoted(path),
                quoted(other)
            );
            return Err(SessionError::Usage(text));
        }
    }
    Ok(())
}

/// The largest requested size, if every spec requests one; otherwise the target's size is used.
pub(crate) fn size_for_all<'a>(specs: impl Iterator<Item = &'a workload::Spec>) -> Option<Bytes> {
    let sizes: Option<Vec<Bytes>> = specs.map(|spec| spec.size).collect();
    sizes.and_then(|sizes| sizes.into_iter().max())
}
