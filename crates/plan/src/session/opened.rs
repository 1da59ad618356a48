//! Targets that are ready to be measured, real or simulated, and the trials on them.

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

/// Open targets.
pub struct Session {
    pub(crate) backend: Box<dyn TrialBackend>,
    /// Facts for the record, at least one.
    pub targets: Vec<Target>,
    /// Conditions; `None` for a simulated target.
    pub environment: Option<Environment>,
    /// What was found before any trial; part of every trial.
    pub findings: Vec<Finding>,
    /// Engine to use.
    pub engine: EngineName,
    /// Seed of everything.
    pub seed: u64,
    /// How the targets were brought into their steady state; part of every trial.
    pub preconditioning: Option<Preconditioning>,
    /// Whether the first target is known to have platters that turn.
    pub turns: bool,
    /// Whether requests past the page cache can be made.
    pub past_cache: bool,
    /// Where a soaker's counts can be had; `None` in virtual time.
    pub soak_tap: Option<SoakTap>,
    pub(crate) handles: Vec<TargetHandle>,
    /// The same of each set of targets for jobs beside the first.
    pub(crate) beside: Vec<Vec<TargetHandle>>,
    /// Twins of the descriptors of buffered runs: a hint given to one is a hint to the runs.
    pub(crate) buffered: Vec<OwnedFile>,
    /// Where the targets are, if that is not here; then there are no handles.
    pub(crate) elsewhere: Option<Elsewhere>,
    pub(crate) stop: StopFlag,
}

/// What a part of a larger run came to: its document, and what is added up with those of others.
pub struct PartOfTrial {
    /// The part as a trial of its own.
    pub trial: Trial,
    /// What its jobs counted.
    pub totals: PartTotals,
}

impl Session {
    /// A session on targets of other machines.
    pub(crate) fn elsewhere(
        there: Elsewhere,
        prepared: PreparedElsewhere,
        seed: u64,
        stop: &StopFlag,
    ) -> Self {
        let mut findings = there.findings();
        add_new(&mut findings, prepared.findings);
        Self {
            backend: prepared.backend,
            targets: there.facts().to_vec(),
            environment: None,
            findings,
            engine: prepared.engine,
            seed,
            preconditioning: None,
            turns: false,
            past_cache: true,
            soak_tap: None,
            handles: Vec::new(),
            beside: Vec::new(),
            buffered: Vec::new(),
            elsewhere: Some(there),
            stop: stop.clone(),
        }
    }

    /// A session on a simulated device.
    #[must_use]
    pub fn simulated(spec: &SimSpec, size: Option<Bytes>, seed: u64, stop: &StopFlag) -> Self {
        let path = format!("{SIM_PREFIX}{}", spec.text);
        let target = simulated_target(path, size.unwrap_or(SIM_AREA).min(spec.size()), spec);
        // Whether it has platters that turn.
        let turns = match &spec.kind {
            SimKind::Machine(one) => one.drive.effects.rotation,
            SimKind::Queue(_) | SimKind::Flash(_) => false,
        };
        Self {
            backend: Box::new(SimBackend::new(spec, seed)),
            targets: vec![target],
            environment: None,
            findings: Vec::new(),
            engine: EngineName::Sim,
            seed,
            preconditioning: None,
            turns,
            past_cache: false,
            soak_tap: None,
            handles: Vec::new(),
            beside: Vec::new(),
            buffered: Vec::new(),
            elsewhere: None,
            stop: stop.clone(),
        }
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

    /// Runs one workload and writes its document. `tick` hears the share of the run that is over.
    ///
    /// # Errors
    /// If the page cache could not be emptied as the workload asks, nothing could be measured, or
    /// the user interrupted it.
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

    /// The same, or what an interruption in its window left of it.
    pub(crate) fn trial_or_part(
        &mut self,
        workload: &Workload,
        seed: u64,
        tick: &mut dyn FnMut(f64),
    ) -> Result<Trial> {
        Ok(self.measured(workload, (workload, seed), tick)?.0)
    }

    /// Runs some jobs of a workload as a part of a larger run, or what an interruption in its window left of
    /// it.
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

    /// A trial with what it is made of; `asked` and its seed are what the backend runs.
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
            // What clients wrote before the run, their own documents do not say.
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
        Ok(trial::run_measured(backend, workload, asked, identity, &self.stop, tick)?)
    }

    /// What offsets and sizes past the page cache must be multiples of, in bytes.
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

    /// An error where the targets are on other machines.
    pub(crate) fn is_here(&self, what: &str) -> Result<()> {
        match &self.elsewhere {
            None => Ok(()),
            Some(_) => Err(SessionError::Usage(format!(
                "{what} changes the files of one machine, but several take part; omit --hosts"
            ))),
        }
    }

    /// Flushes what the page cache took, so that it is not written later; the time that it took, in
    /// milliseconds. Where it fails, data is lost.
    ///
    /// # Errors
    /// If a device cannot take it.
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

    /// Bytes of the area, of each target as `count` tells them; `None` where the kernel does not tell.
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

    /// Reads so many bytes of every target, from `start`, into the page cache.
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
            let text = "halfpower cannot fill the page cache of other machines";
            return Err(SessionError::usage(text));
        }
        for handle in &self.handles {
            read(&handle.file)
                .map_err(SessionError::io(&format!("reading {}", quoted(&handle.facts.path))))?;
        }
        Ok(())
    }

    /// Open targets of a set: 0 is that of the first job.
    fn handles_of(&self, set: u32) -> &[TargetHandle] {
        match set.checked_sub(1) {
            None => &self.handles,
            Some(beside) => self.beside.get(beside as usize).map_or(&[], Vec::as_slice),
        }
    }

    /// Gets the area out of the page cache, as the workload asks.
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

    /// Id and time of a document; `what` is all that tells the simulated ones apart: the kind and
    /// whatever was asked.
    #[must_use]
    pub fn identity(&self, what: &str) -> (String, Option<String>) {
        let target = self.target();
        let file = || target.file_hash.iter().map(|hash| format!(" {hash}")).collect::<String>();
        let text = || format!("{}{} {} {what}", target.path, file(), self.seed);
        identity(self.is_simulated().then(text).as_deref())
    }
}

/// The facts of a simulated target.
pub(crate) fn simulated_target(path: String, size_bytes: Bytes, spec: &SimSpec) -> Target {
    let (device, filesystem, extents, test_file) = (None, None, None, None);
    let (kind, file_hash) = (TargetKind::Simulated, spec.file_hash.clone());
    Target { path, kind, size_bytes, device, filesystem, extents, test_file, file_hash }
}

/// Id and time of a new document; a simulated one has no time, and its id is the hash of all that
/// tells it apart.
#[must_use]
pub fn identity(simulated: Option<&str>) -> (String, Option<String>) {
    match simulated {
        Some(text) => (hex_digest(text), None),
        None => (uuid::Uuid::now_v7().to_string(), Some(jiff::Timestamp::now().to_string())),
    }
}

/// The part of a target that a workload uses: a stripe's area goes over all of all targets.
pub(crate) fn area_on(workload: &Workload, target: &Target) -> (Bytes, Bytes) {
    match workload.stripe_bytes {
        Some(_) => (Bytes(0), target.size_bytes),
        None => (workload.offset_bytes, workload.size_bytes),
    }
}
