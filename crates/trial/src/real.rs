//! A real target: its descriptors, its probe, and the limits of the harness beside it.

use crate::threads::{Opening, RunPlan, ThreadedRun};
use crate::{
    Batch, BatchChoice, BatchTotals, JobPlan, Measurement, Step, TrialBackend, TrialError, Ways,
    Window, Worker,
};
use engine::{
    Clock, ENGINES, Engine, EngineVisitor, JobClock, NullEngine, OpenEngine, Probe, Setup,
    clock_cost_ns, visit_engine,
};
use record::{
    Arrival, Batching, Bytes, CacheMode, Discipline, EngineName, Harness, Nanos, Workload,
};
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
    files: BTreeMap<CacheMode, Arc<Vec<OwnedFd>>>,
    probe: Box<dyn Probe>,
    clock: JobClock,
    clock_cost_ns: f64,
    /// Ceilings by the load that they were measured with, once each.
    ceilings: Vec<(Workload, f64)>,
    /// How jobs handle their requests, by what the answer depends on, found once each.
    batches: BTreeMap<BatchKey, Batch>,
}

/// What decides whether the program or the device sets the pace: engine, cache mode, what there is
/// to try, jobs, share of reads, largest request.
type BatchKey = (EngineName, CacheMode, Ways, u32, u8, Bytes);

impl RealBackend {
    /// A backend on descriptors of the targets, in order, whose flags fit their cache modes.
    #[must_use]
    pub fn new(files: BTreeMap<CacheMode, Vec<OwnedFd>>, probe: Box<dyn Probe>) -> Self {
        let clock = JobClock::new();
        Self {
            files: files.into_iter().map(|(mode, files)| (mode, Arc::new(files))).collect(),
            probe,
            clock,
            clock_cost_ns: clock_cost_ns(&clock),
            ceilings: Vec::new(),
            batches: BTreeMap::new(),
        }
    }

    /// Requests per second that one job of this workload reaches on the null engine: the limit of
    /// the program itself, by the code path of every other engine that is always busy. What an
    /// engine does for its requests (system calls, data for writes) is not in it.
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
        let measurement = self.run(workload, seed, stop, tick)?.on(open)?;
        Ok(self.completed(workload, measurement))
    }

    /// A measurement with the limits of the harness; keeps what it found.
    fn completed(&mut self, workload: &Workload, mut measurement: Measurement) -> Measurement {
        let batches = measurement.totals.batches;
        if matches!(self.batching(workload), BatchChoice::Search(_)) {
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

    /// What is known of how to handle requests. A run by bytes has no time before its window to find
    /// out, and a job that is not always busy no way to.
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

    fn run<'a>(
        &'a mut self,
        workload: &Workload,
        seed: u64,
        stop: &'a AtomicBool,
        tick: &'a mut dyn FnMut(f64),
    ) -> Result<ThreadedRun<'a>, TrialError> {
        self.clock.recheck();
        let cache = workload.cache;
        let files = self.files.get(&cache).ok_or(TrialError::CacheMode(cache.name()))?;
        let plan = RunPlan {
            files: Arc::clone(files),
            workload: Arc::new(workload.clone()),
            depth: real_iodepth(workload),
            batching: self.batching(workload),
            seed,
            clock: self.clock,
        };
        Ok(ThreadedRun { plan, probe: self.probe.as_mut(), stop, tick })
    }
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

/// Largest number of requests that one job of this workload really has in flight.
fn real_iodepth(workload: &Workload) -> u32 {
    let info = ENGINES.iter().find(|info| info.name == workload.engine);
    info.map_or(workload.iodepth, |info| workload.iodepth.min(info.max_depth))
}

/// What batching does to latencies; `None` where every request was handed over alone.
fn batching(totals: &BatchTotals) -> Option<Batching> {
    let error_mean_ns = totals.timed.mean_ns()?;
    (totals.requests > totals.calls).then(|| Batching {
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
        let run = self.run(workload, seed, stop, tick)?;
        let measurement = visit_engine(workload.engine, run)
            .ok_or(TrialError::WrongEngine(workload.engine.name()))??;
        Ok(self.completed(workload, measurement))
    }

    fn simulated(&self) -> bool {
        false
    }
}

impl EngineVisitor for ThreadedRun<'_> {
    type Output = Result<Measurement, TrialError>;

    fn striped(&self) -> bool {
        self.plan.workload.stripe_bytes.is_some()
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

/// Requests per second of one run on the null engine.
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
