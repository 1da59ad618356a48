//! Runs trials on a set of targets that are ready, real or simulated.

use crate::session::elsewhere::{Elsewhere, PreparedElsewhere};
use crate::session::{Result, SIM_AREA, SIM_PREFIX, SessionError, StopFlag, VERSION, add_new};
use engine::OwnedFile;
use host::kernel::{Roots, SoakTap};
use host::target::{self, Area, TargetError, TargetHandle};
use record::{
    Bytes, CacheDropped, EndedBy, EngineName, Environment, Finding, Preconditioning, Target,
    TargetKind, Trial, Workload, hex_digest, quoted,
};
use simdisk::{SimBackend, SimKind, SimSpec};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;
use trial::{Identity, Measurement, Part, PartTotals, TrialBackend, TrialError};

/// A set of open targets.
pub struct Session {
    pub(crate) backend: Box<dyn TrialBackend>,
    /// Facts of the targets for the documents; at least one.
    pub targets: Vec<Target>,
    /// System and settings; `None` for a simulated target.
    pub environment: Option<Environment>,
    /// Findings from before any trial; part of every trial.
    pub findings: Vec<Finding>,
    /// The engine that trials use.
    pub engine: EngineName,
    /// Seed from which others are derived.
    pub seed: u64,
    /// Result of the preconditioning; part of every trial.
    pub preconditioning: Option<Preconditioning>,
    /// Whether the first target is known to be a rotating disk.
    pub turns: bool,
    /// Whether direct I/O is possible.
    pub past_cache: bool,
    /// Source of a soaker's counts; `None` in virtual time.
    pub soak_tap: Option<SoakTap>,
    pub(crate) handles: Vec<TargetHandle>,
    /// The handles of each set of targets for jobs beside the first.
    pub(crate) beside: Vec<Vec<TargetHandle>>,
    /// Targets on other machines, if any; there are no handles then.
    pub(crate) elsewhere: Option<Elsewhere>,
    pub(crate) stop: StopFlag,
}

/// Result of a part of a larger run: its document, and the counts that are added to those of other parts.
pub struct PartOfTrial {
    /// The part as a trial of its own.
    pub trial: Trial,
    /// The counts of its jobs.
    pub totals: PartTotals,
}

impl Session {
    /// A session of a backend, without anything known about its machine.
    pub(crate) fn new(
        backend: Box<dyn TrialBackend>,
        targets: Vec<Target>,
        engine: EngineName,
        seed: u64,
        stop: &StopFlag,
    ) -> Self {
        Self {
            backend,
            targets,
            environment: None,
            findings: Vec::new(),
            engine,
            seed,
            preconditioning: None,
            turns: false,
            past_cache: false,
            soak_tap: None,
            handles: Vec::new(),
            beside: Vec::new(),
            elsewhere: None,
            stop: stop.clone(),
        }
    }

    /// A session with targets on other machines.
    pub(crate) fn elsewhere(
        there: Elsewhere,
        PreparedElsewhere { backend, engine, findings }: PreparedElsewhere,
        seed: u64,
        stop: &StopFlag,
    ) -> Self {
        let session = Self::new(backend, there.facts().to_vec(), engine, seed, stop);
        Self { findings, past_cache: true, elsewhere: Some(there), ..session }
    }

    /// A session on a simulated device.
    #[must_use]
    pub fn simulated(spec: &SimSpec, size: Option<Bytes>, seed: u64, stop: &StopFlag) -> Self {
        let path = format!("{SIM_PREFIX}{}", spec.text);
        let target = simulated_target(path, size.unwrap_or(SIM_AREA).min(spec.size()), spec);
        // Whether it is a rotating disk.
        let turns = match &spec.kind {
            SimKind::Machine(one) => one.drive.effects.rotation,
            SimKind::Queue(_) | SimKind::Flash(_) => false,
        };
        let backend = Box::new(SimBackend::new(spec, seed));
        Self { turns, ..Self::new(backend, vec![target], EngineName::Sim, seed, stop) }
    }

    /// Whether time is virtual.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.backend.simulated()
    }

    /// Facts of the first target.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.targets[0]
    }

    /// Runs one workload and returns its document. `tick` receives the elapsed share of the run.
    ///
    /// # Errors
    /// If the page cache could not be emptied as requested, nothing could be measured, or the user
    /// interrupted it.
    pub fn trial(
        &mut self,
        workload: &Workload,
        seed: u64,
        tick: &mut dyn FnMut(f64),
    ) -> Result<Trial> {
        let trial = self.trial_or_part(workload, seed, tick)?;
        match trial.result.ended_by {
            Some(EndedBy::Interrupted) => Err(TrialError::Interrupted.into()),
            _ => Ok(trial),
        }
    }

    /// The same, but an interruption inside the window returns the partial result.
    pub(crate) fn trial_or_part(
        &mut self,
        workload: &Workload,
        seed: u64,
        tick: &mut dyn FnMut(f64),
    ) -> Result<Trial> {
        Ok(self.measured(workload, (workload, seed), tick)?.0)
    }

    /// Runs some jobs of a workload as a part of a larger run. An interruption inside the window returns
    /// the partial result.
    ///
    /// # Errors
    /// As [`Session::trial`].
    pub fn part_of_trial(
        &mut self,
        whole: &Workload,
        seed: u64,
        part: Part,
        tick: &mut dyn FnMut(f64),
    ) -> Result<PartOfTrial> {
        let workload = part.workload(whole);
        self.backend.take_part(part)?;
        let (trial, measurement) = self.measured(&workload, (whole, seed), tick)?;
        Ok(PartOfTrial { trial, totals: PartTotals::of(&measurement) })
    }

    /// A trial with its measurement; the backend runs `asked` with its seed.
    fn measured(
        &mut self,
        workload: &Workload,
        (asked, seed): (&Workload, u64),
        tick: &mut dyn FnMut(f64),
    ) -> Result<(Trial, Measurement)> {
        let cache_dropped = self.drop_cache(workload, 0)?;
        for job in &workload.beside {
            self.drop_cache(&job.workload, job.targets)?;
        }
        let (id, time) = self.identity(&format!("{workload:?} {seed}"));
        let prepared = self.preconditioning.is_some();
        let writing = workload.by_targets().filter(|(_, job)| job.writes() || prepared);
        let areas = writing.flat_map(|(set, workload)| {
            let written = self.handles_of(set).iter().filter(|handle| handle.writable);
            // The clients' documents do not contain what was written before the run.
            let there = self.elsewhere.as_ref().filter(|there| prepared && there.writable());
            let of_clients = there.into_iter().flat_map(|_| &self.targets);
            let written = written.map(|handle| &handle.facts).chain(of_clients);
            written.map(|facts| (facts, area_on(workload, facts)))
        });
        let mut destroyed = Vec::new();
        add_new(
            &mut destroyed,
            areas
                .filter_map(|(facts, (offset, length))| target::destruction(facts, offset, length)),
        );
        let own_targets = workload.beside.iter().map(|job| match job.targets {
            0 => Vec::new(),
            set => self.handles_of(set).iter().map(|handle| handle.facts.clone()).collect(),
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
            beside: own_targets.collect(),
        };
        let backend = self.backend.as_mut();
        let asked = (asked, seed);
        Ok(trial::run_trial(backend, workload, asked, identity, &self.stop, tick)?)
    }

    /// Offsets and sizes of direct I/O must be multiples of this, in bytes.
    #[must_use]
    pub fn alignment(&self) -> u64 {
        if let Some(there) = &self.elsewhere {
            return there.alignment();
        }
        self.handles.iter().map(|handle| handle.alignment_bytes).max().unwrap_or(1)
    }

    /// Whether the targets may be written.
    #[must_use]
    pub fn writable(&self) -> bool {
        let there = self.elsewhere.as_ref().is_none_or(|there| there.writable());
        there && self.handles.iter().all(|handle| handle.writable)
    }

    /// An error if the targets are on other machines.
    pub(crate) fn is_here(&self, what: &str) -> Result<()> {
        match &self.elsewhere {
            None => Ok(()),
            Some(_) => Err(SessionError::Usage(format!(
                "{what} changes the files of one machine, but several take part; omit --hosts"
            ))),
        }
    }

    /// Flushes the data in the page cache, so that they are not written later; returns the duration in
    /// milliseconds. If a flush fails, data is lost.
    ///
    /// # Errors
    /// If a device fails the flush.
    pub fn flush(&self) -> Result<f64> {
        if let Some(there) = &self.elsewhere {
            return there.flush();
        }
        let begin = Instant::now();
        for handle in &self.handles {
            let flushed = target::duplicate(&handle.file).and_then(|file| file.sync_data());
            flushed
                .map_err(SessionError::io(&format!("flushing {}", quoted(&handle.facts.path))))?;
        }
        Ok(begin.elapsed().as_secs_f64() * 1e3)
    }

    /// The sum over the targets of `count` for the area, in bytes; `None` if the kernel does not report it.
    pub(crate) fn counted<'a>(
        &'a self,
        workload: &Workload,
        count: fn(&'a OwnedFile, Bytes, Bytes) -> Option<Bytes>,
    ) -> Option<Bytes> {
        if self.elsewhere.is_some() {
            return None;
        }
        let bytes = self.handles.iter().map(|handle| {
            let (offset, length) = area_on(workload, &handle.facts);
            count(&handle.file, offset, length).map(|bytes| bytes.0)
        });
        bytes.sum::<Option<u64>>().map(Bytes)
    }

    /// Reads `length` bytes of every target, from `start`, into the page cache.
    pub(crate) fn read_into_cache(&self, start: Bytes, length: Bytes) -> Result<()> {
        let mut buffer = vec![0; 1 << 20];
        let mut read = |file: &OwnedFile| -> std::io::Result<()> {
            let (mut at, end) = (start.0, start.0 + length.0);
            while at < end {
                let part = buffer.len().min((end - at) as usize);
                match engine::read_up_to_end(file, &mut buffer[..part], at)? {
                    0 => break,
                    bytes => at += bytes as u64,
                }
            }
            Ok(())
        };
        if self.elsewhere.is_some() {
            let text = "halfpower cannot fill the page cache of other machines; omit --hosts";
            return Err(SessionError::usage(text));
        }
        for handle in &self.handles {
            read(&handle.file)
                .map_err(SessionError::io(&format!("reading {}", quoted(&handle.facts.path))))?;
        }
        Ok(())
    }

    /// Open targets of a set; set 0 belongs to the first job.
    fn handles_of(&self, set: u32) -> &[TargetHandle] {
        match set.checked_sub(1) {
            None => &self.handles,
            Some(beside) => self.beside.get(beside as usize).map_or(&[], Vec::as_slice),
        }
    }

    /// Drops the area from the page cache, as the workload requests.
    fn drop_cache(&self, workload: &Workload, set: u32) -> Result<Option<CacheDropped>> {
        if self.elsewhere.is_some() {
            // Each machine drops its own.
            return Ok(None);
        }
        let areas: Vec<Area<'_>> = self
            .handles_of(set)
            .iter()
            .map(|handle| {
                let (offset, length) = area_on(workload, &handle.facts);
                Area { file: &handle.file, offset, length }
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

    /// Folders for a scratch file, best first: next to the targets, then folders that every user may write.
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

    /// Id and time of a document. `what` is everything that distinguishes simulated documents: the kind and
    /// the request.
    #[must_use]
    pub fn identity(&self, what: &str) -> (String, Option<String>) {
        let target = self.target();
        let file = || target.file_hash.iter().map(|hash| format!(" {hash}")).collect::<String>();
        let text = || format!("{}{} {} {what}", target.path, file(), self.seed);
        identity(self.is_simulated().then(text).as_deref())
    }
}

pub(crate) fn simulated_target(path: String, size_bytes: Bytes, spec: &SimSpec) -> Target {
    let (device, filesystem, extents, test_file) = (None, None, None, None);
    let (kind, file_hash) = (TargetKind::Simulated, spec.file_hash.clone());
    Target { path, kind, size_bytes, device, filesystem, extents, test_file, file_hash }
}

/// Id and time of a new document. A simulated one has no time, and its id is the hash of `simulated`.
#[must_use]
pub fn identity(simulated: Option<&str>) -> (String, Option<String>) {
    match simulated {
        Some(text) => (hex_digest(text), None),
        None => (uuid::Uuid::now_v7().to_string(), Some(jiff::Timestamp::now().to_string())),
    }
}

/// Offset and length of the area that a workload uses on a target; a stripe uses all of all targets.
pub(crate) fn area_on(workload: &Workload, target: &Target) -> (Bytes, Bytes) {
    match workload.stripe_bytes {
        Some(_) => (Bytes(0), target.size_bytes),
        None => (workload.offset_bytes, workload.size_bytes),
    }
}
