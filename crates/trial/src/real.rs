//! Runs workloads on real targets: descriptors, probe, and the limits of the harness.

use crate::legs::Legs;
use crate::own_engine;
use crate::rebuild::{RebuildCrew, RebuildStart};
use crate::run_plan::RunPlan;
use crate::threads::{Crew, CrewStart, Driver, Opening};
use crate::{
    Batch, BatchChoice, BatchTotals, JobPlan, Measurement, Part, Step, TrialBackend, TrialError,
    Ways, Window, Worker, seed_beside,
};
use engine::{
    Clock, Engine, JobClock, NullEngine, OpenEngine, OwnedFile, Probe, RebuildState, Setup,
    SharedArray, clock_cost_ns, engine_info, visit_engine,
};
use record::{
    Arrival, Batching, Bytes, CacheMode, Data, Discipline, EngineName, Harness, LegCheck, Nanos,
    Redundancy, SizeShare, Workload,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use workload::volume;

/// Length of a run on the null engine that measures the harness's ceiling: thousands of requests.
const CEILING_RUN: Nanos = Nanos(1_000_000);
/// Number of such runs; the fastest counts, because it was disturbed least.
const CEILING_RUNS: u32 = 3;

/// Request size of an engine that is opened only as a test.
const SMALLEST: Bytes = Bytes(512);

/// Runs workloads on targets. Each target is opened once for each cache mode in use.
pub struct RealBackend {
    /// The sets of targets: first that of the first job, then those of other jobs.
    files: Vec<FileSet>,
    probe: Box<dyn Probe>,
    clock: JobClock,
    clock_cost_ns: f64,
    ceilings: Vec<(Workload, f64)>,
    /// The chosen way to handle requests, by what it depends on.
    batches: BTreeMap<BatchKey, Batch>,
    /// Arrays whose legs were made consistent, by their set of targets.
    made: Vec<(u32, Redundancy)>,
    /// Set if the next run is a part of a larger one.
    part: Option<Part>,
}

/// The arrays of a run by their set of targets; jobs on one set share it.
type Arrays = BTreeMap<usize, Arc<SharedArray>>;

/// What decides whether the program or the device sets the pace: engine, cache mode, possible ways, jobs,
/// share of reads, largest request.
type BatchKey = (EngineName, CacheMode, Ways, u32, u8, Bytes);

impl RealBackend {
    /// A backend on descriptors of the targets, in order, whose flags match their cache modes.
    #[must_use]
    pub fn new(files: BTreeMap<CacheMode, Vec<OwnedFile>>, probe: Box<dyn Probe>) -> Self {
        let clock = JobClock::calibrated();
        Self {
            files: vec![shared(files)],
            probe,
            clock,
            clock_cost_ns: clock_cost_ns(&clock),
            ceilings: Vec::new(),
            batches: BTreeMap::new(),
            made: Vec::new(),
            part: None,
        }
    }

    /// Adds a set of targets for jobs after the first.
    pub fn add_targets(&mut self, files: BTreeMap<CacheMode, Vec<OwnedFile>>) {
        self.files.push(shared(files));
    }

    /// Requests per second that one job of this workload reaches on the null engine. This is the limit of
    /// the program itself, on the code path that all engines use when they are always busy. It excludes the
    /// work of the engine for its requests (system calls, data for writes).
    fn ceiling(&mut self, workload: &Workload) -> f64 {
        let load = busy_load(workload);
        if let Some((_, ceiling)) = self.ceilings.iter().find(|(known, _)| *known == load) {
            return *ceiling;
        }
        let runs = (0..CEILING_RUNS).map(|_| null_iops(&load, self.clock));
        let ceiling = runs.fold(0.0, f64::max);
        self.ceilings.push((load, ceiling));
        ceiling
    }

    /// Runs a workload on engines that `open` opens, each on its job's thread. For engines that are not in
    /// the table, such as faulty ones in tests.
    ///
    /// # Errors
    /// If nothing could be measured.
    pub fn measure_on<E: Engine + 'static>(
        &mut self,
        workload: &Workload,
        seed: u64,
        stop: &AtomicBool,
        tick: &mut dyn FnMut(f64),
        open: &Opening<E>,
    ) -> Result<Measurement, TrialError> {
        self.run(workload, seed, Watcher { stop, tick }, |start| start.on(open))
    }

    /// Adds the limits of the harness to a measurement, and stores the way that its search found.
    fn completed(&mut self, workload: &Workload, mut measurement: Measurement) -> Measurement {
        let batches = measurement.totals.batches;
        // A way found next to other workloads is valid only for that combination.
        let alone = workload.beside.is_empty();
        if alone && matches!(self.batching(workload), BatchChoice::Search(_)) {
            let wait_for = batches.complete_batch.max(1);
            let way = Batch { one_by_one: batches.one_by_one, wait_for };
            self.batches.insert(batch_key(workload), way);
        }
        measurement.harness = Some(Harness {
            ceiling_iops: self.ceiling(workload),
            clock: self.clock.name().to_owned(),
            clock_cost_ns: self.clock_cost_ns,
            engine_features: measurement.totals.features.clone(),
            batching: batching(&batches),
        });
        measurement
    }

    /// How to handle requests, as far as known. A run by bytes has no time for a search before its window,
    /// and a job that is not always busy cannot search.
    fn batching(&self, workload: &Workload) -> BatchChoice {
        let limited = workload.stop.max_bytes.is_some() || workload.stop.passes.is_some();
        let busy = workload.arrival == Arrival::Closed
            && workload.discipline == Discipline::Any
            && workload.think_ns == Nanos(0)
            && workload.flush.is_none();
        let ways = Ways::of(workload, real_iodepth(workload));
        match self.batches.get(&batch_key(workload)) {
            Some(&way) => BatchChoice::Fixed(way),
            None if limited || !busy => BatchChoice::Fixed(ways.first()),
            None => BatchChoice::Search(ways),
        }
    }

    /// Runs a workload and those beside it; `start` starts the jobs of the first.
    fn run(
        &mut self,
        workload: &Workload,
        seed: u64,
        watcher: Watcher<'_>,
        start: impl FnOnce(CrewStart) -> Result<Crew, TrialError>,
    ) -> Result<Measurement, TrialError> {
        // An earlier stop counts, even if a busy machine starts late.
        if watcher.stop.load(Ordering::Relaxed) {
            return Err(TrialError::Interrupted);
        }
        self.clock.recheck();
        let (leaving, endings) = mpsc::channel();
        let mut first = 0;
        let mut next = |plan: RunPlan| {
            let start = CrewStart { first, leaving: leaving.clone(), plan };
            first += start.plan.jobs.1;
            start
        };
        let mut arrays = Arrays::default();
        let mut first_plan = self.plan(workload, (0, Nanos(0)), seed, &mut arrays)?;
        let part = self.part.take();
        if let Some(part) = &part {
            first_plan.jobs = (part.first_job, part.jobs);
        }
        if let Some(made) = self.make_legs(workload, watcher.stop)? {
            first_plan.made = Some(made);
        }
        // If any job verifies its writes, the whole array is compared.
        let verified = |set: u32| {
            workload.by_targets().any(|(of, it)| {
                of == set && it.array.is_some() && it.data == Data::Tagged && it.carries()
            })
        };
        first_plan.verified = verified(0);
        let rebuild_plan = first_plan.clone();
        let mut crews = vec![start(next(first_plan))?];
        for (job, number) in workload.beside.iter().zip(0..) {
            let seed = seed_beside(seed, number);
            let set = (job.targets as usize, job.delay_ns);
            let plan = self.plan(&job.workload, set, seed, &mut arrays)?;
            let verified = verified(job.targets);
            crews.push(crew_of(next(RunPlan { verified, ..plan }))?);
        }
        let number = crews.iter().map(Crew::jobs).sum();
        let rebuild = rebuild_of(rebuild_plan, number, &leaving).transpose()?;
        let Watcher { stop, tick } = watcher;
        let (begin, judge) = part.map(|part| (part.begin, part.judge)).unzip();
        let judge = judge.flatten();
        let driver = Driver { probe: self.probe.as_mut(), begin, judge, stop, tick };
        let measurement = driver.run(crews, rebuild, &endings)?;
        Ok(self.completed(workload, measurement))
    }

    /// Makes the legs of arrays consistent whose writes are verified, once; returns the result for the
    /// arrays of the first workload.
    fn make_legs(
        &mut self,
        workload: &Workload,
        stop: &AtomicBool,
    ) -> Result<Option<LegCheck>, TrialError> {
        let mut first = None;
        for (set, workload) in workload.by_targets() {
            let array = workload.array.zip(workload::volume_spec(workload));
            let Some((array, spec)) = array else { continue };
            let verifies = workload.data == Data::Tagged && workload.carries();
            // Without redundancy left, the legs are consistent whatever they hold.
            let lone = spec.raid != volume::Raid::Raid1 || workload.targets < 3;
            if !verifies || array.failed.is_some() && lone || self.made.contains(&(set, array)) {
                continue;
            }
            let files = Arc::clone(files_of(&self.files, workload, set as usize)?);
            let state = RebuildState::default();
            let made =
                Legs::new(&files, &spec, array.leg_bytes.0, &state).compare(&state, true, stop);
            if stop.load(Ordering::Relaxed) {
                return Err(TrialError::Interrupted);
            }
            self.made.push((set, array));
            first = first.or((set == 0).then_some(made));
        }
        Ok(first)
    }

    /// The plan of a workload on a set of targets, which begins `delay` after the first.
    fn plan(
        &self,
        workload: &Workload,
        (targets, delay): (usize, Nanos),
        seed: u64,
        arrays: &mut Arrays,
    ) -> Result<RunPlan, TrialError> {
        let batching = self.batching(workload);
        plan_on(&self.files, (self.clock, batching), workload, (targets, delay), seed, arrays)
    }
}

type FileSet = BTreeMap<CacheMode, Arc<Vec<OwnedFile>>>;

fn files_of<'a>(
    sets: &'a [FileSet],
    workload: &Workload,
    targets: usize,
) -> Result<&'a Arc<Vec<OwnedFile>>, TrialError> {
    let cache = workload.cache;
    let files = sets.get(targets).and_then(|files| files.get(&cache));
    files.ok_or(TrialError::CacheMode(cache.name()))
}

/// As [`RealBackend::plan`], on these sets of targets.
fn plan_on(
    sets: &[FileSet],
    (clock, batching): (JobClock, BatchChoice),
    workload: &Workload,
    (targets, delay): (usize, Nanos),
    seed: u64,
    arrays: &mut Arrays,
) -> Result<RunPlan, TrialError> {
    check_depth(workload)?;
    let files = Arc::clone(files_of(sets, workload, targets)?);
    let known = arrays.contains_key(&targets);
    let array = workload.array.zip(workload::volume_spec(workload)).map(|(array, spec)| {
        let (legs, bytes, rebuilds) =
            (workload.targets, array.leg_bytes.0, array.rebuild.is_some());
        let new = || Arc::new(SharedArray::new(&spec, legs, bytes, rebuilds));
        Arc::clone(arrays.entry(targets).or_insert_with(new))
    });
    Ok(RunPlan {
        files,
        compares: array.is_some() && !known,
        verified: false,
        array,
        made: None,
        jobs: (0, workload.numjobs),
        workload: Arc::new(workload.clone()),
        delay,
        depth: real_iodepth(workload),
        batching,
        seed,
        clock,
    })
}

/// Opens the engine of one job of each workload, on a thread like that of a run, and closes it. This
/// detects an engine, a control group or a priority that cannot be used before a test file is written.
///
/// # Errors
/// The error with which the run would end before its first request.
pub fn try_engines(
    sets: impl IntoIterator<Item = BTreeMap<CacheMode, Vec<OwnedFile>>>,
    workload: &Workload,
) -> Result<(), TrialError> {
    let sets: Vec<FileSet> = sets.into_iter().map(shared).collect();
    let (mut arrays, (leaving, _)) = (Arrays::default(), mpsc::channel());
    let clock = JobClock::calibrated();
    for (targets, workload) in workload.by_targets() {
        let batching = BatchChoice::Fixed(Ways::of(workload, real_iodepth(workload)).first());
        let set = (targets as usize, Nanos(0));
        let mut plan = plan_on(&sets, (clock, batching), workload, set, 0, &mut arrays)?;
        // Use the smallest buffers: the kernel needs time to release pinned memory, and the next run must
        // find its limit unused.
        let bs = vec![SizeShare { bytes: SMALLEST, percent: 100 }];
        plan.workload = Arc::new(Workload { numjobs: 1, bs, ..workload.clone() });
        plan.jobs = (0, 1);
        let mut crew = crew_of(CrewStart { first: 0, leaving: leaving.clone(), plan })?;
        if let Some(error) = crew.disband() {
            return Err(error);
        }
    }
    Ok(())
}

/// Receives the progress of a run, and may end it.
struct Watcher<'a> {
    stop: &'a AtomicBool,
    tick: &'a mut dyn FnMut(f64),
}

fn crew_of(start: CrewStart) -> Result<Crew, TrialError> {
    match start.plan.workload.engine {
        EngineName::Own(_) => own_engine::start(start),
        engine => visit_engine(engine, start).ok_or_else(|| not_here(engine))?,
    }
}

/// Why no job can be started on an engine that is not in the table.
fn not_here(engine: EngineName) -> TrialError {
    let name = engine.name();
    match engine::engine_elsewhere(engine) {
        Some((system, instead)) => TrialError::Elsewhere { name, system, instead: instead.name() },
        None => TrialError::WrongEngine(name),
    }
}

fn rebuild_of(
    plan: RunPlan,
    number: u32,
    leaving: &mpsc::Sender<u32>,
) -> Option<Result<RebuildCrew, TrialError>> {
    let array = plan.workload.array.filter(|array| array.rebuild.is_some())?;
    let (shared, engine) = (plan.array.clone()?, plan.workload.engine);
    let start = RebuildStart { plan, array, shared, number, leaving: leaving.clone() };
    let started = visit_engine(engine, start);
    Some(started.unwrap_or_else(|| Err(not_here(engine))))
}

fn shared(files: BTreeMap<CacheMode, Vec<OwnedFile>>) -> FileSet {
    files.into_iter().map(|(mode, files)| (mode, Arc::new(files))).collect()
}

fn batch_key(workload: &Workload) -> BatchKey {
    (
        workload.engine,
        workload.cache,
        Ways::of(workload, real_iodepth(workload)),
        workload.numjobs,
        workload.read_percent,
        workload.max_bs(),
    )
}

/// Rejects a depth that an asynchronous engine cannot reach. A synchronous engine has a depth of one
/// whatever was requested; the document says so.
fn check_depth(workload: &Workload) -> Result<(), TrialError> {
    let info = engine_info(workload.engine).filter(|info| info.max_depth > 1);
    match info.filter(|info| workload.iodepth > info.max_depth) {
        None => Ok(()),
        Some(info) => Err(TrialError::Engine(engine::EngineError::TooDeep {
            engine: info.name.name(),
            asked: workload.iodepth,
            available: info.max_depth,
        })),
    }
}

/// Maximum number of requests that one job of this workload really has in flight.
fn real_iodepth(workload: &Workload) -> u32 {
    let info = engine_info(workload.engine);
    info.map_or(workload.iodepth, |info| workload.iodepth.min(info.max_depth))
}

/// The effect of batching on latencies; `None` if every request was handed over alone.
fn batching(totals: &BatchTotals) -> Option<Batching> {
    let error_mean_ns = totals.timed.mean_ns()?;
    let together = totals.requests > totals.calls && !totals.one_by_one;
    together.then(|| Batching {
        requests_per_call: totals.requests as f64 / totals.calls as f64,
        error_mean_ns,
        error_max_ns: totals.timed.max_ns,
        complete_batch: totals.complete_batch,
        held_mean_ns: totals.waits.mean_ns(),
        held_max_ns: (totals.waits.count > 0).then_some(totals.waits.max_ns),
    })
}

impl TrialBackend for RealBackend {
    fn measure(
        &mut self,
        workload: &Workload,
        seed: u64,
        stop: &AtomicBool,
        tick: &mut dyn FnMut(f64),
    ) -> Result<Measurement, TrialError> {
        self.run(workload, seed, Watcher { stop, tick }, crew_of)
    }

    fn take_part(&mut self, part: Part) -> Result<(), TrialError> {
        self.part = Some(part);
        Ok(())
    }

    fn simulated(&self) -> bool {
        false
    }
}

/// The work of the program itself for one job of this workload, as an always busy load of the null engine:
/// the requests that it generates (direction, sizes, pattern, area) and its depth. Everything else is at
/// its default, so that workloads with the same ceiling share one load.
fn busy_load(workload: &Workload) -> Workload {
    let depth = real_iodepth(workload);
    Workload {
        read_percent: workload.read_percent,
        pattern: workload.pattern,
        hit_bytes: workload.hit_bytes,
        zipf_theta_milli: workload.zipf_theta_milli,
        hot: workload.hot,
        stride_bytes: workload.stride_bytes,
        blend: workload.blend,
        misalign_bytes: workload.misalign_bytes,
        bs: workload.bs.clone(),
        iodepth: depth,
        numjobs: 1,
        depth,
        offset_bytes: workload.offset_bytes,
        size_bytes: workload.size_bytes,
        engine: EngineName::Null,
        ..Workload::default()
    }
}

fn null_iops(busy: &Workload, clock: JobClock) -> f64 {
    let depth = busy.iodepth;
    let setup = Setup { depth, ..Setup::reading(Vec::new(), depth, 1) };
    let Ok(engine) = NullEngine::open(&setup) else { return 0.0 };
    let begin = clock.now();
    let window = Window { begin, end: begin.plus(CEILING_RUN) };
    let mut worker = Worker::new(engine, clock, &JobPlan::alone(busy, window));
    while matches!(worker.step(), Ok(Step::Progress)) {}
    let (totals, _) = worker.finish();
    let ios: u64 = totals.slices.iter().map(crate::Slice::total_ios).sum();
    ios as f64 / CEILING_RUN.as_secs_f64()
}
