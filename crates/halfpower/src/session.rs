//! A target that is ready to be measured, real or simulated, and the trials on it.

use crate::failure::UsageError;
use anyhow::Context;
use host::{Access, RealProbe, Roots, TargetHandle};
use record::{
    Bytes, CacheMode, EngineName, Environment, Finding, FindingCode, OpKind, Scrub, Severity,
    Target, TargetKind, Trial, Workload, hex_digest,
};
use simdisk::DeviceSpec;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trial::{Identity, RealRig, Rig, SimRig};

/// What stands before the name of a simulated device.
const SIM_PREFIX: &str = "sim:";
/// The area of a simulated device where the user names none.
const SIM_AREA: Bytes = Bytes(2 << 30);
/// What is said, with the reason, where the page is shown but the database takes no more.
pub(crate) const NOT_SAVED: &str = "the result was printed, but not saved";
/// Version of this program, for documents.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The simulated device that a target names, if it does.
pub(crate) fn simulated(target: &str) -> anyhow::Result<Option<DeviceSpec>> {
    Ok(target.strip_prefix(SIM_PREFIX).map(DeviceSpec::parse).transpose()?)
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

/// An open target.
pub(crate) struct Session {
    rig: Box<dyn Rig>,
    /// Facts for the record.
    pub(crate) target: Target,
    /// Conditions; `None` for a simulated target.
    pub(crate) environment: Option<Environment>,
    /// What was found before any trial; part of every trial.
    pub(crate) findings: Vec<Finding>,
    /// Engine to use.
    pub(crate) engine: EngineName,
    /// Seed of everything.
    pub(crate) seed: u64,
    handle: Option<TargetHandle>,
    stop: Arc<AtomicBool>,
}

impl Session {
    /// A session on a simulated device.
    pub(crate) fn simulated(
        spec: &DeviceSpec,
        size: Option<Bytes>,
        seed: u64,
        stop: &Arc<AtomicBool>,
    ) -> Self {
        let size_bytes = size.unwrap_or(SIM_AREA).min(spec.size);
        let target = Target {
            path: format!("{SIM_PREFIX}{}", spec.text),
            kind: TargetKind::Simulated,
            size_bytes,
            device: None,
            filesystem: None,
            extents: None,
        };
        Self {
            rig: Box::new(SimRig::new(spec, seed)),
            target,
            environment: None,
            findings: Vec::new(),
            engine: EngineName::Sim,
            seed,
            handle: None,
            stop: Arc::clone(stop),
        }
    }

    /// Whether time is virtual.
    pub(crate) fn is_simulated(&self) -> bool {
        self.rig.simulated()
    }

    /// Runs one workload and writes its document.
    pub(crate) fn trial(
        &mut self,
        workload: &Workload,
        seed: u64,
        tick: &mut dyn FnMut(f64),
    ) -> anyhow::Result<Trial> {
        if let Some(handle) = self.handle.as_ref().filter(|_| workload.scrub == Scrub::Dontneed) {
            host::drop_clean_pages(&handle.file, workload.offset_bytes, workload.size_bytes)?;
        }
        let (id, time) = self.identity(&format!("{} {seed}", workload.cell()));
        let identity = Identity {
            id,
            time,
            halfpower_version: VERSION.to_owned(),
            target: self.target.clone(),
            environment: self.environment.clone(),
            findings: self.findings.clone(),
        };
        let rig = self.rig.as_mut();
        Ok(trial::conduct(rig, workload, seed, identity, &self.stop, tick)?)
    }

    /// Id and time of a document; `what` tells the simulated ones apart.
    pub(crate) fn identity(&self, what: &str) -> (String, Option<String>) {
        if self.is_simulated() {
            let text = format!("{} {} {what}", self.target.path, self.seed);
            return (hex_digest(&text), None);
        }
        (uuid::Uuid::now_v7().to_string(), Some(jiff::Timestamp::now().to_string()))
    }
}

/// A real target on its way to a session: opened, but not yet written.
#[derive(Debug)]
pub(crate) struct RealTarget {
    roots: Roots,
    handle: TargetHandle,
    environment: Environment,
    files: BTreeMap<CacheMode, std::os::fd::OwnedFd>,
}

impl RealTarget {
    /// Opens what a path means, without writing anything.
    pub(crate) fn open(
        path: &Path,
        access: Access,
        size: Option<Bytes>,
        min_request: Bytes,
    ) -> anyhow::Result<Self> {
        let roots = Roots::default();
        let handle = host::open_target(&roots, path, access, size, min_request)?;
        let environment = host::environment(&roots, handle.facts.device.as_ref());
        Ok(Self { roots, handle, environment, files: BTreeMap::new() })
    }

    /// Facts for the record.
    pub(crate) fn facts(&self) -> &Target {
        &self.handle.facts
    }

    /// Conditions.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// What offsets and sizes past the page cache must be multiples of, in bytes.
    pub(crate) fn alignment(&self) -> u64 {
        self.handle.alignment_bytes
    }

    /// Whether runs may write to it.
    pub(crate) fn writable(&self) -> bool {
        self.handle.writable
    }

    /// What others do on the disk right now; `None` where that cannot be seen.
    pub(crate) fn activity(&self) -> Option<host::Activity> {
        let disk = self.handle.facts.device.as_ref()?;
        host::device_in_flight_activity(&self.roots, disk, 300).ok()
    }

    /// Opens it once more with the flags of a cache mode, and checks that they hold.
    pub(crate) fn open_mode(&mut self, cache: CacheMode, write: bool) -> anyhow::Result<()> {
        self.files.insert(cache, host::reopen(&self.handle, cache, write)?);
        Ok(())
    }

    /// Writes the test file of a directory; nothing for other kinds.
    pub(crate) fn prepare(
        &mut self,
        seed: u64,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64, u64),
    ) -> anyhow::Result<()> {
        if self.handle.facts.kind != TargetKind::Directory {
            return Ok(());
        }
        let size = self.handle.facts.size_bytes;
        let cancelled = || stop.load(Ordering::Relaxed);
        Ok(host::write_test_file(&mut self.handle, size, seed, progress, &cancelled)?)
    }

    /// The session; `engine` falls back where the kernel does not allow it.
    pub(crate) fn into_session(
        self,
        engine: EngineName,
        seed: u64,
        stop: &Arc<AtomicBool>,
    ) -> Session {
        let mut findings = self.handle.findings.clone();
        findings.extend(host::environment_findings(&self.environment));
        let engine = usable_engine(engine, &mut findings);
        let probe = RealProbe::new(self.roots, self.handle.facts.device.clone());
        Session {
            rig: Box::new(RealRig::new(self.files, Box::new(probe))),
            target: self.handle.facts.clone(),
            environment: Some(self.environment),
            findings,
            engine,
            seed,
            handle: Some(self.handle),
            stop: Arc::clone(stop),
        }
    }
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

/// What an operation may do to an existing target.
pub(crate) fn access(writes: bool, overwrite: bool) -> Access {
    if writes { Access::ReadWrite { overwrite } } else { Access::ReadOnly }
}

/// The workload's direction for a reader.
pub(crate) fn describe(workload: &Workload) -> String {
    let op = workload.only_op().map_or("mixed", OpKind::name);
    format!(
        "{} {op} {} depth {}{}",
        workload.pattern.name(),
        record::format_bytes(workload.max_bs().0),
        workload.depth,
        if workload.cache == CacheMode::Device {
            String::new()
        } else {
            format!(" cache {}", workload.cache.name())
        }
    )
}

/// The database of results.
pub(crate) fn open_store(
    keeping: &crate::cli::Keeping,
    no_save: bool,
) -> anyhow::Result<Option<store::Store>> {
    if no_save {
        return Ok(None);
    }
    let opened = keeping.file().and_then(|path| store::Store::open(&path));
    opened.map(Some).context("results cannot be saved (--no-save goes without)")
}
