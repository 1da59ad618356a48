//! Targets that are ready to be measured, real or simulated, and the trials on them.

use crate::failure::UsageError;
use anyhow::Context;
use kernel::{RealProbe, Roots, SoakTap};
use record::{
    Bytes, CacheDropped, CacheMode, DeviceFacts, EngineName, Environment, Finding, FindingCode,
    OpKind, Preconditioning, Severity, Target, TargetKind, Trial, Workload, hex_digest,
};
use simdisk::SimSpec;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use target::{Access, Area, TargetError, TargetHandle};
use trial::{Identity, RealBackend, SimBackend, TrialBackend, TrialError};

/// What stands before the name of a simulated device.
const SIM_PREFIX: &str = "sim:";
/// The area of a simulated device where the user names none.
const SIM_AREA: Bytes = Bytes(2 << 30);
/// What is said, with the reason, where the page is shown but the database takes no more.
pub(crate) const NOT_SAVED: &str = "the result was printed, but not saved";
/// Version of this program, for documents.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The simulated device that a target names, if it does.
pub(crate) fn simulated(target: &str) -> anyhow::Result<Option<SimSpec>> {
    Ok(target.strip_prefix(SIM_PREFIX).map(SimSpec::parse).transpose()?)
}

/// The seed asked for, else one from the time; simulated targets have a fixed one, so that the
/// same command gives the same bytes.
pub(crate) fn seed(asked: Option<u64>, simulated: bool) -> u64 {
    asked.unwrap_or_else(|| {
        if simulated {
            return 1;
        }
        // 32 bits of it: short enough to type again, exact in any JSON reader.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |time| time.subsec_nanos().into())
    })
}

/// Open targets.
pub(crate) struct Session {
    rig: Box<dyn TrialBackend>,
    /// Facts for the record, at least one.
    pub(crate) targets: Vec<Target>,
    /// Conditions; `None` for a simulated target.
    pub(crate) environment: Option<Environment>,
    /// What was found before any trial; part of every trial.
    pub(crate) findings: Vec<Finding>,
    /// Engine to use.
    pub(crate) engine: EngineName,
    /// Seed of everything.
    pub(crate) seed: u64,
    /// How the targets were brought into their steady state; part of every trial.
    pub(crate) preconditioning: Option<Preconditioning>,
    /// Whether requests past the page cache can be made.
    pub(crate) past_cache: bool,
    /// Where a soaker's counts can be had; `None` in virtual time.
    pub(crate) soak_tap: Option<SoakTap>,
    handles: Vec<TargetHandle>,
    /// Twins of the descriptors of buffered runs.
    buffered: Vec<OwnedFd>,
    stop: Arc<AtomicBool>,
}

impl Session {
    /// A session on a simulated device.
    pub(crate) fn simulated(
        spec: &SimSpec,
        size: Option<Bytes>,
        seed: u64,
        stop: &Arc<AtomicBool>,
    ) -> Self {
        let size_bytes = size.unwrap_or(SIM_AREA).min(spec.size());
        let target = Target {
            path: format!("{SIM_PREFIX}{}", spec.text),
            kind: TargetKind::Simulated,
            size_bytes,
            device: None,
            filesystem: None,
            extents: None,
        };
        Self {
            rig: Box::new(SimBackend::new(spec, seed)),
            targets: vec![target],
            environment: None,
            findings: Vec::new(),
            engine: EngineName::Sim,
            seed,
            preconditioning: None,
            past_cache: false,
            soak_tap: None,
            handles: Vec::new(),
            buffered: Vec::new(),
            stop: Arc::clone(stop),
        }
    }

    /// Whether time is virtual.
    pub(crate) fn is_simulated(&self) -> bool {
        self.rig.simulated()
    }

    /// Facts of the first target.
    pub(crate) fn target(&self) -> &Target {
        &self.targets[0]
    }

    /// Runs one workload and writes its document.
    pub(crate) fn trial(
        &mut self,
        workload: &Workload,
        seed: u64,
        tick: &mut dyn FnMut(f64),
    ) -> anyhow::Result<Trial> {
        let cache_dropped = self.drop_cache(workload)?;
        let (id, time) = self.identity(&format!("{} {seed}", workload.cell()));
        let destroyed = self.handles.iter().filter(|handle| handle.destroys());
        let destroyed = destroyed.filter_map(|handle| {
            let (offset, length) = area_on(workload, &handle.facts);
            target::destruction(&handle.facts, offset, length)
        });
        let identity = Identity {
            id,
            time,
            halfpower_version: VERSION.to_owned(),
            targets: self.targets.clone(),
            environment: self.environment.clone(),
            findings: self.findings.iter().cloned().chain(destroyed).collect(),
            cache_dropped,
            preconditioning: self.preconditioning.clone(),
        };
        let rig = self.rig.as_mut();
        Ok(trial::run_trial(rig, workload, seed, identity, &self.stop, tick)?)
    }

    /// What offsets and sizes past the page cache must be multiples of, in bytes.
    pub(crate) fn alignment(&self) -> u64 {
        self.handles.iter().map(|handle| handle.alignment_bytes).max().unwrap_or(1)
    }

    /// The open files of the targets, in order.
    pub(crate) fn files(&self) -> impl Iterator<Item = &OwnedFd> {
        self.handles.iter().map(|handle| &handle.file)
    }

    /// The descriptors of buffered runs, by others that share their state: a hint given to one is a
    /// hint to the runs.
    pub(crate) fn buffered(&self) -> &[OwnedFd] {
        &self.buffered
    }

    /// Waits until what the page cache took is written, so that it is not written later.
    pub(crate) fn write_back(&self) -> std::io::Result<()> {
        for handle in &self.handles {
            std::fs::File::from(handle.file.try_clone()?).sync_data()?;
        }
        Ok(())
    }

    /// Bytes of the area that were written and are in memory alone; `None` where the kernel does not
    /// tell.
    pub(crate) fn unwritten_bytes(&self, workload: &Workload) -> Option<Bytes> {
        let bytes = self.handles.iter().map(|handle| {
            let (offset, length) = area_on(workload, &handle.facts);
            target::unwritten_bytes(&handle.file, offset, length)
        });
        bytes.map(|bytes| bytes.map(|bytes| bytes.0)).sum::<Option<u64>>().map(Bytes)
    }

    /// Reads the first `bytes` of every target into the page cache.
    pub(crate) fn read_into_cache(&self, start: Bytes, bytes: Bytes) -> std::io::Result<()> {
        let mut buffer = vec![0; 1 << 20];
        for handle in &self.handles {
            let file = std::fs::File::from(handle.file.try_clone()?);
            let (mut at, end) = (start.0, start.0 + bytes.0);
            while at < end {
                let length = buffer.len().min((end - at) as usize);
                let read = file.read_at(&mut buffer[..length], at)?;
                if read == 0 {
                    break;
                }
                at += read as u64;
            }
        }
        Ok(())
    }

    /// Gets the area out of the page cache, as the workload asks.
    fn drop_cache(&self, workload: &Workload) -> anyhow::Result<Option<CacheDropped>> {
        let areas: Vec<Area<'_>> = self
            .handles
            .iter()
            .map(|handle| {
                let (offset, length) = area_on(workload, &handle.facts);
                Area { file: handle.file.as_fd(), offset, length }
            })
            .collect();
        let cancelled = || self.stop.load(Ordering::Relaxed);
        let folders = self.scratch_folders();
        match target::drop_cache(
            &Roots::default(),
            workload.drop_cache,
            &areas,
            &folders,
            &cancelled,
        ) {
            Err(TargetError::Cancelled) => Err(TrialError::Interrupted.into()),
            outcome => Ok(outcome?),
        }
    }

    /// Where a scratch file can be made, the best first: beside the targets, and where everybody
    /// may.
    fn scratch_folders(&self) -> Vec<PathBuf> {
        let beside = self.targets.iter().filter_map(|target| {
            let path = Path::new(&target.path);
            match target.kind {
                TargetKind::Directory => Some(path.to_owned()),
                TargetKind::File => Some(path.parent()?.join(".")),
                _ => None,
            }
        });
        beside.chain([PathBuf::from("."), std::env::temp_dir(), "/var/tmp".into()]).collect()
    }

    /// Id and time of a document; `what` tells the simulated ones apart.
    pub(crate) fn identity(&self, what: &str) -> (String, Option<String>) {
        if self.is_simulated() {
            let text = format!("{} {} {what}", self.target().path, self.seed);
            return (hex_digest(&text), None);
        }
        (uuid::Uuid::now_v7().to_string(), Some(jiff::Timestamp::now().to_string()))
    }
}

/// Real targets on their way to a session: opened, but not yet written.
#[derive(Debug)]
pub(crate) struct RealTargets {
    roots: Roots,
    handles: Vec<TargetHandle>,
    environment: Environment,
    files: BTreeMap<CacheMode, Vec<OwnedFd>>,
}

impl RealTargets {
    /// Opens what the paths mean, without writing anything.
    pub(crate) fn open(
        paths: &[&Path],
        access: &Access,
        size: Option<Bytes>,
        min_request: Bytes,
    ) -> anyhow::Result<Self> {
        refuse_the_same(paths)?;
        let roots = Roots::default();
        let mut handles = paths
            .iter()
            .map(|path| target::open_target(&roots, path, access, size, min_request))
            .collect::<Result<Vec<_>, _>>()?;
        // Test files are made as large as the smallest target: they all carry the same area.
        let smallest = handles.iter().map(|handle| handle.facts.size_bytes).min();
        let made = |handle: &&mut TargetHandle| handle.facts.kind == TargetKind::Directory;
        for handle in handles.iter_mut().filter(made) {
            handle.facts.size_bytes = smallest.unwrap_or(handle.facts.size_bytes);
        }
        let first = handles.first().context("no target is named; name at least one")?;
        let environment = kernel::environment(&roots, first.facts.device.as_ref());
        Ok(Self { roots, handles, environment, files: BTreeMap::new() })
    }

    /// Facts of the first.
    pub(crate) fn facts(&self) -> &Target {
        &self.handles[0].facts
    }

    /// Facts of all.
    pub(crate) fn all_facts(&self) -> impl Iterator<Item = &Target> {
        self.handles.iter().map(|handle| &handle.facts)
    }

    /// Conditions.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// What offsets and sizes past the page cache must be multiples of, in bytes: on all of them,
    /// because alignments are powers of two.
    pub(crate) fn alignment(&self) -> u64 {
        self.handles.iter().map(|handle| handle.alignment_bytes).max().unwrap_or(1)
    }

    /// Whether runs may write to them.
    pub(crate) fn writable(&self) -> bool {
        self.handles.iter().all(|handle| handle.writable)
    }

    /// What others do on the disk right now; `None` where that cannot be seen.
    pub(crate) fn activity(&self) -> Option<kernel::Activity> {
        let disk = self.facts().device.as_ref()?;
        kernel::device_in_flight_activity(&self.roots, disk, 300).ok()
    }

    /// Learns how existing files lie on their devices where the workload uses them.
    pub(crate) fn look_at_area(&mut self, workload: &Workload) -> anyhow::Result<()> {
        for handle in &mut self.handles {
            let (offset, length) = area_on(workload, &handle.facts);
            handle.look_at_area(offset, length)?;
        }
        Ok(())
    }

    /// Opens them once more with the flags of a cache mode, and checks that they hold.
    pub(crate) fn open_mode(&mut self, cache: CacheMode, write: bool) -> anyhow::Result<()> {
        let files = self.handles.iter().map(|handle| target::reopen(handle, cache, write));
        self.files.insert(cache, files.collect::<Result<_, _>>()?);
        Ok(())
    }

    /// Writes the test files of directories; nothing for other kinds.
    pub(crate) fn prepare(
        &mut self,
        seed: u64,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64, u64),
    ) -> anyhow::Result<()> {
        let made = |handle: &&mut TargetHandle| handle.facts.kind == TargetKind::Directory;
        let sizes = self.handles.iter_mut().filter(made).map(|handle| handle.facts.size_bytes.0);
        let (mut before, total) = (0, sizes.sum());
        let cancelled = || stop.load(Ordering::Relaxed);
        for (handle, index) in self.handles.iter_mut().filter(made).zip(0..) {
            let size = handle.facts.size_bytes;
            let mut tick = |done: u64, _: u64| progress(before + done, total);
            // Other data in each: a device below several would see the same blocks twice.
            let seed = seed.wrapping_add(index);
            target::write_test_file(handle, size, seed, &mut tick, &cancelled)?;
            before += size.0;
        }
        Ok(())
    }

    /// The session; `engine` falls back where the kernel does not allow it.
    pub(crate) fn into_session(
        self,
        engine: EngineName,
        seed: u64,
        stop: &Arc<AtomicBool>,
    ) -> Session {
        let disks = self.disks();
        let mut findings: Vec<Finding> = Vec::new();
        let of_targets = self.handles.iter().flat_map(|handle| handle.findings.clone());
        let of_disks = disks.iter().skip(1).flat_map(|disk| {
            kernel::environment_findings(&kernel::environment(&self.roots, Some(disk)))
        });
        let of_first = kernel::environment_findings(&self.environment);
        for finding in of_targets.chain(of_first).chain(of_disks) {
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
        let engine = usable_engine(engine, &mut findings);
        // Counters of a part of the devices would be held against requests to all.
        let counted = self.handles.iter().all(|handle| handle.facts.device.is_some());
        let probe = RealProbe::new(self.roots, if counted { &disks } else { &[] });
        let soak_tap = Some(probe.soak_tap());
        let past_cache = self.files.contains_key(&CacheMode::Device);
        let buffered = self.files.get(&CacheMode::All).into_iter().flatten();
        let buffered = buffered.filter_map(|file| file.try_clone().ok()).collect();
        Session {
            rig: Box::new(RealBackend::new(self.files, Box::new(probe))),
            targets: self.handles.iter().map(|handle| handle.facts.clone()).collect(),
            environment: Some(self.environment),
            findings,
            engine,
            seed,
            preconditioning: None,
            past_cache,
            soak_tap,
            handles: self.handles,
            buffered,
            stop: Arc::clone(stop),
        }
    }

    /// The devices below the targets, each once, in order.
    fn disks(&self) -> Vec<DeviceFacts> {
        let mut disks: Vec<DeviceFacts> = Vec::new();
        for disk in self.handles.iter().filter_map(|handle| handle.facts.device.as_ref()) {
            if !disks.iter().any(|known| known.name == disk.name) {
                disks.push(disk.clone());
            }
        }
        disks
    }
}

/// The part of a target that a workload uses: a stripe's area goes over all of all targets.
fn area_on(workload: &Workload, target: &Target) -> (Bytes, Bytes) {
    match workload.stripe_bytes {
        Some(_) => (Bytes(0), target.size_bytes),
        None => (workload.offset_bytes, workload.size_bytes),
    }
}

/// An error where a file or device is named twice, by whatever names: its blocks would be asked
/// for by jobs that know nothing of each other. A directory gets a test file each time.
fn refuse_the_same(paths: &[&Path]) -> anyhow::Result<()> {
    let mut seen: BTreeMap<(u64, u64, u64), &Path> = BTreeMap::new();
    for path in paths {
        // What cannot be examined is an error of opening it.
        let Ok(facts) = std::fs::metadata(path) else { continue };
        if facts.is_dir() {
            continue;
        }
        let identity = match facts.rdev() {
            0 => (facts.dev(), facts.ino(), 0),
            device => (0, 0, device),
        };
        if let Some(other) = seen.insert(identity, path) {
            let text = format!("{path:?} and {other:?} are the same; name each target once");
            return Err(UsageError(text).into());
        }
    }
    Ok(())
}

/// The engine that can be used here, with a finding where it is not the one asked for.
fn usable_engine(asked: EngineName, findings: &mut Vec<Finding>) -> EngineName {
    if asked != EngineName::IoUring {
        return asked;
    }
    match engine::probe_uring() {
        Ok(()) => asked,
        Err(error) => {
            findings.push(Finding::new(
                FindingCode::EngineFallback,
                Severity::Warning,
                format!("{error}. The sync engine was used: depth comes from threads."),
                "Expect more processor time per request and less depth than io_uring reaches.",
            ));
            EngineName::Sync
        }
    }
}

/// The same workload for an engine with one request per job: depth comes from jobs.
pub(crate) fn with_engine(mut spec: workload::Spec, engine: EngineName) -> workload::Spec {
    if spec.engine != engine && engine == EngineName::Sync {
        spec.numjobs = spec.numjobs.saturating_mul(spec.iodepth);
        spec.iodepth = 1;
    }
    spec.engine = engine;
    spec
}

/// An error where a simulated device cannot do what was asked.
pub(crate) fn refuse_for_simulated(flag: &str, given: bool) -> anyhow::Result<()> {
    if given {
        return Err(UsageError(format!("{flag} means nothing for a simulated target")).into());
    }
    Ok(())
}

/// The workload's direction for a reader.
pub(crate) fn describe(workload: &Workload) -> String {
    let op = workload.only_op().map_or("mixed", OpKind::name);
    let depth = format!("depth {}", workload.depth);
    format!(
        "{} {op} {} {}{}",
        workload.pattern.name(),
        record::format_bytes(workload.max_bs().0),
        workload.rate_iops.map_or(depth, |rate| format!("{rate}/s")),
        if workload.cache == CacheMode::Device {
            String::new()
        } else {
            format!(" cache {}", workload.cache.name())
        }
    )
}

/// The database of results.
pub(crate) fn open_store(
    keeping: &crate::store_args::StoreArgs,
    no_save: bool,
) -> anyhow::Result<Option<store::Store>> {
    if no_save {
        return Ok(None);
    }
    let opened = keeping.file().and_then(|path| store::Store::open(&path));
    opened.map(Some).context("results cannot be saved (--no-save goes without)")
}
