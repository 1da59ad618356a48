//! A real target: its descriptors, its probe, and the limits of the harness beside it.

use crate::threads::{Opening, ThreadedRun};
use crate::{
    BatchTally, CompletionBatch, JobPlan, Measurement, Step, TrialBackend, TrialError, Window,
    Worker,
};
use engine::{
    Clock, ENGINES, Engine, EngineVisitor, JobClock, NullEngine, OpenEngine, Probe, Setup,
    clock_cost_ns, visit_engine,
};
use record::{Batching, Bytes, CacheMode, EngineName, Harness, Nanos, Workload};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Length of a run on the null engine that finds the harness's ceiling: thousands of requests.
const CEILING_RUN: Nanos = Nanos(1_000_000);
/// Such runs; the fastest counts, which nothing else on the machine held up.
const CEILING_RUNS: u32 = 3;

/// Runs workloads on targets, each open once for each cache mode that is used.
pub struct RealBackend {
    /// Shared with the threads of jobs: one that a silent device keeps must find its descriptors,
    /// not others under the same numbers.
    files: BTreeMap<CacheMode, Arc<Vec<OwnedFd>>>,
    probe: Box<dyn Probe>,
    clock: JobClock,
    clock_cost_ns: f64,
    /// Ceilings by the load that they were measured with, once each.
    ceilings: Vec<(Workload, f64)>,
    /// How many completions a job waits for, by what the answer depends on, found once each.
    gatherings: BTreeMap<GatheringKey, u32>,
}

/// What decides whether the program or the device sets the pace: engine, cache mode, depth of a
/// job, jobs, share of reads, largest request.
type GatheringKey = (EngineName, CacheMode, u32, u32, u8, Bytes);

impl RealBackend {
    /// A rig on descriptors of the targets, in order, whose flags fit their cache modes.
    #[must_use]
    pub fn new(files: BTreeMap<CacheMode, Vec<OwnedFd>>, probe: Box<dyn Probe>) -> Self {
        let clock = JobClock::new();
        Self {
            files: files.into_iter().map(|(mode, files)| (mode, Arc::new(files))).collect(),
            probe,
            clock,
            clock_cost_ns: clock_cost_ns(&clock),
            ceilings: Vec::new(),
            gatherings: BTreeMap::new(),
        }
    }

    fn harness(&mut self, workload: &Workload, measurement: &Measurement) -> Harness {
        Harness {
            ceiling_iops: self.ceiling(workload),
            clock: self.clock.name().to_owned(),
            clock_cost_ns: self.clock_cost_ns,
            engine_features: measurement.tally.features.clone(),
            batching: batching(&measurement.tally.batches),
        }
    }

    /// The ceiling for this workload.
    fn ceiling(&mut self, workload: &Workload) -> f64 {
        let load = busy_load(workload);
        if let Some((_, ceiling)) = self.ceilings.iter().find(|(known, _)| *known == load) {
            return *ceiling;
        }
        let ceiling = ceiling_of(&load, self.clock);
        self.ceilings.push((load, ceiling));
        ceiling
    }

    /// Runs a workload on engines that `open` opens, each on its job's thread. For engines that
    /// are not in the table, as faulty ones in tests are.
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
        self.clock.recheck();
        let mut measurement = self.run(workload, seed, stop, tick)?.on(open)?;
        self.note_gathering(workload, &measurement);
        measurement.harness = Some(self.harness(workload, &measurement));
        Ok(measurement)
    }

    /// What is known of how many completions to wait for. A run by bytes has no time before its
    /// window to find out.
    fn gathering(&self, workload: &Workload) -> CompletionBatch {
        let limited = workload.stop.max_bytes.is_some() || workload.stop.passes.is_some();
        match self.gatherings.get(&gathering_key(workload)) {
            Some(&number) => CompletionBatch::Fixed(number),
            None if limited => CompletionBatch::Fixed(1),
            None => CompletionBatch::Search,
        }
    }

    fn note_gathering(&mut self, workload: &Workload, measurement: &Measurement) {
        if self.gathering(workload) == CompletionBatch::Search {
            let number = measurement.tally.batches.complete_batch.max(1);
            self.gatherings.insert(gathering_key(workload), number);
        }
    }

    fn run<'a>(
        &'a mut self,
        workload: &'a Workload,
        seed: u64,
        stop: &'a AtomicBool,
        tick: &'a mut dyn FnMut(f64),
    ) -> Result<ThreadedRun<'a>, TrialError> {
        let cache = workload.cache;
        let gathering = self.gathering(workload);
        let files = self.files.get(&cache).ok_or(TrialError::CacheMode(cache.name()))?;
        Ok(ThreadedRun {
            files: Arc::clone(files),
            probe: self.probe.as_mut(),
            clock: self.clock,
            workload,
            depth: real_iodepth(workload),
            gathering,
            seed,
            stop,
            tick,
        })
    }
}

fn gathering_key(workload: &Workload) -> GatheringKey {
    (
        workload.engine,
        workload.cache,
        workload.iodepth,
        workload.numjobs,
        workload.read_percent,
        workload.max_bs(),
    )
}

/// Largest number of requests that one job of this workload really has in flight.
fn real_iodepth(workload: &Workload) -> u32 {
    let info = ENGINES.iter().find(|info| info.name == workload.engine);
    info.map_or(workload.iodepth, |info| workload.iodepth.min(info.max_depth))
}

/// What batching does to response times; `None` where every request was handed over alone.
fn batching(tally: &BatchTally) -> Option<Batching> {
    (tally.requests > tally.calls && tally.timed > 0).then(|| Batching {
        requests_per_call: tally.requests as f64 / tally.calls as f64,
        error_mean_ns: tally.timed_ns as f64 / tally.timed as f64,
        error_max_ns: tally.timed_max_ns,
        complete_batch: tally.complete_batch,
        held_mean_ns: (tally.waits > 0).then(|| tally.waits_ns as f64 / tally.waits as f64),
        held_max_ns: (tally.waits > 0).then_some(tally.waits_max_ns),
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
        self.clock.recheck();
        let run = self.run(workload, seed, stop, tick)?;
        let mut measurement = visit_engine(workload.engine, run)
            .ok_or(TrialError::WrongEngine(workload.engine.name()))??;
        self.note_gathering(workload, &measurement);
        measurement.harness = Some(self.harness(workload, &measurement));
        Ok(measurement)
    }

    fn simulated(&self) -> bool {
        false
    }
}

impl EngineVisitor for ThreadedRun<'_> {
    type Output = Result<Measurement, TrialError>;

    fn striped(&self) -> bool {
        self.workload.stripe_bytes.is_some()
    }

    fn visit<E: OpenEngine>(self) -> Self::Output {
        let open: Opening<E> = Arc::new(|_, setup: &Setup| E::open(setup));
        self.on(&open)
    }
}

/// What the program itself does for one job of this workload, as a load of the null engine that
/// is always busy: which requests it makes up (direction, sizes, pattern, area) and how many it
/// keeps in flight with its engine. All else is at its default, so that two workloads with one
/// ceiling have one such load.
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

/// Requests per second that one job of this workload reaches on the null engine: the limit of
/// the program itself, by the code path of every other engine that is always busy. What an engine
/// does for its requests (system calls, data for writes) is not in it.
#[must_use]
pub fn ceiling_iops(workload: &Workload, clock: JobClock) -> f64 {
    ceiling_of(&busy_load(workload), clock)
}

fn ceiling_of(busy: &Workload, clock: JobClock) -> f64 {
    (0..CEILING_RUNS).map(|_| null_iops(busy, clock)).fold(0.0, f64::max)
}

/// Requests per second of one run on the null engine.
fn null_iops(busy: &Workload, clock: JobClock) -> f64 {
    let depth = busy.iodepth;
    let setup = Setup { depth, ..Setup::reading(Vec::new(), depth, 1) };
    let Ok(engine) = NullEngine::open(&setup) else { return 0.0 };
    let begin = clock.now();
    let window = Window { begin, end: begin.plus(CEILING_RUN) };
    let mut worker = Worker::new(engine, clock, &JobPlan::alone(busy, window));
    while matches!(worker.step(), Ok(Step::Progress)) {}
    let (tally, _) = worker.finish();
    let ios: u64 = tally.slices.iter().map(crate::Slice::total_ios).sum();
    ios as f64 / CEILING_RUN.as_secs_f64()
}
