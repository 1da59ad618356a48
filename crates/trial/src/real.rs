//! Jobs on threads, against a real descriptor.

use crate::{JobTally, Measurement, Rig, Step, TrialError, Window, Worker};
use engine::{
    Clock, ENGINES, EngineError, EngineVisitor, MonotonicClock, NullEngine, OpenEngine, Probe,
    ProbeSample, Setup, clock_cost_ns, visit_engine,
};
use record::{CacheMode, Harness, Nanos, Workload};
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;
use workload::{RequestStream, derive_seed};

/// Time between the opening of the gate and the first request, and more for each job: every
/// thread is awake by then.
const LEAD: Nanos = Nanos(200_000);
const LEAD_PER_JOB: Nanos = Nanos(20_000);
/// Longest sleep of the thread that waits for the jobs.
const TICK: Nanos = Nanos(100_000_000);
/// Length of the run on the null engine that finds the harness's ceiling.
const CEILING_RUN: Nanos = Nanos(10_000_000);

/// Runs workloads on one target, open once for each cache mode that is used.
pub struct RealRig {
    files: BTreeMap<CacheMode, OwnedFd>,
    probe: Box<dyn Probe>,
    clock_cost_ns: f64,
    /// Ceilings by depth per job, measured once each.
    ceilings: BTreeMap<u32, f64>,
}

impl RealRig {
    /// A rig on descriptors of one target whose flags fit their cache modes.
    #[must_use]
    pub fn new(files: BTreeMap<CacheMode, OwnedFd>, probe: Box<dyn Probe>) -> Self {
        let clock_cost_ns = clock_cost_ns(&MonotonicClock);
        Self { files, probe, clock_cost_ns, ceilings: BTreeMap::new() }
    }

    fn harness(&mut self, workload: &Workload, features: &[String]) -> Harness {
        let ceiling =
            self.ceilings.entry(workload.iodepth).or_insert_with(|| ceiling_iops(workload));
        Harness {
            ceiling_iops: *ceiling,
            clock: "CLOCK_MONOTONIC".to_owned(),
            clock_cost_ns: self.clock_cost_ns,
            engine_features: features.to_vec(),
        }
    }
}

/// Largest number of requests that one job of this workload really has in flight.
fn real_iodepth(workload: &Workload) -> u32 {
    let info = ENGINES.iter().find(|info| info.name == workload.engine);
    info.map_or(workload.iodepth, |info| workload.iodepth.min(info.max_depth))
}

impl Rig for RealRig {
    fn measure(
        &mut self,
        workload: &Workload,
        seed: u64,
        stop: &AtomicBool,
        tick: &mut dyn FnMut(f64),
    ) -> Result<Measurement, TrialError> {
        let cache = workload.cache;
        let file = self.files.get(&cache).ok_or(TrialError::CacheMode(cache.name()))?.as_raw_fd();
        let probe = self.probe.as_mut();
        let run = ThreadedRun { file, probe, workload, seed, stop, tick };
        let mut measurement = visit_engine(workload.engine, run)
            .ok_or(TrialError::WrongEngine(workload.engine.name()))??;
        measurement.harness = Some(self.harness(workload, &measurement.tally.features));
        Ok(measurement)
    }

    fn simulated(&self) -> bool {
        false
    }
}

/// Where the threads wait until all engines are open.
struct Gate {
    state: Mutex<Option<Option<Window>>>,
    changed: Condvar,
}

impl Gate {
    fn new() -> Self {
        Self { state: Mutex::new(None), changed: Condvar::new() }
    }

    /// Lets the threads go, or with `None` sends them home.
    fn open(&self, window: Option<Window>) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(window);
        self.changed.notify_all();
    }

    fn pass(&self) -> Option<Window> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(decision) = *state {
                return decision;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

struct ThreadedRun<'a> {
    file: RawFd,
    probe: &'a mut dyn Probe,
    workload: &'a Workload,
    seed: u64,
    stop: &'a AtomicBool,
    tick: &'a mut dyn FnMut(f64),
}

impl EngineVisitor for ThreadedRun<'_> {
    type Output = Result<Measurement, TrialError>;

    fn visit<E: OpenEngine>(self) -> Self::Output {
        let (gate, finished) = (Gate::new(), AtomicU32::new(0));
        let job = JobContext {
            file: self.file,
            workload: self.workload,
            seed: self.seed,
            stop: self.stop,
            gate: &gate,
            finished: &finished,
        };
        let (mut failure, mut outcome) = (None, None);
        let mut tally = JobTally::new();
        thread::scope(|scope| {
            let (opened, openings) = mpsc::channel();
            let jobs = self.workload.numjobs;
            let mut handles = Vec::new();
            for index in 0..jobs {
                let opened = opened.clone();
                let builder = thread::Builder::new().name(format!("job-{index}"));
                match builder.spawn_scoped(scope, move || job.run::<E>(index, &opened)) {
                    Ok(handle) => handles.push(handle),
                    Err(source) => {
                        failure = Some(TrialError::Thread { job: index, jobs, source });
                        break;
                    }
                }
            }
            drop(opened);
            // One message from each thread; a thread that died sends none and closes its end.
            let open = openings.iter().take(handles.len()).filter(|&ok| ok).count();
            if failure.is_none() && open == jobs as usize {
                let lead = LEAD.plus(Nanos(LEAD_PER_JOB.0 * u64::from(jobs)));
                let begin = MonotonicClock.now().plus(lead).plus(self.workload.ramp_ns);
                let window = Window { begin, end: begin.plus(self.workload.runtime_ns) };
                gate.open(Some(window));
                let watch = Watch { window, finished: &finished, jobs, stop: self.stop };
                outcome = Some((window, watch.samples(self.probe, self.tick)));
            } else {
                gate.open(None);
            }
            for (index, handle) in handles.into_iter().enumerate() {
                match handle.join() {
                    Ok(Ok(own)) => tally.merge(&own),
                    Ok(Err(error)) => failure = failure.take().or(Some(error.into())),
                    Err(_) => failure = Some(TrialError::Panic(index as u32)),
                }
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        if self.stop.load(Ordering::Relaxed) {
            return Err(TrialError::Interrupted);
        }
        let (window, samples) = outcome.ok_or(TrialError::Lost)?;
        Ok(Measurement {
            window,
            tally,
            samples,
            cpu_split: self.probe.cpu_split(),
            no_device_reason: self.probe.no_device_reason(),
            no_cpu_reason: self.probe.no_cpu_reason(),
            harness: None,
        })
    }
}

/// What every job's thread knows.
#[derive(Clone, Copy)]
struct JobContext<'a> {
    file: RawFd,
    workload: &'a Workload,
    seed: u64,
    stop: &'a AtomicBool,
    gate: &'a Gate,
    finished: &'a AtomicU32,
}

impl JobContext<'_> {
    /// The life of a job's thread.
    fn run<E: OpenEngine>(
        self,
        job: u32,
        opened: &mpsc::Sender<bool>,
    ) -> Result<JobTally, EngineError> {
        let engine = E::open(&self.setup(job));
        // The receiver outlives all threads; were it gone, the gate would still decide.
        let _ = opened.send(engine.is_ok());
        let window = self.gate.pass();
        let (engine, Some(window)) = (engine?, window) else {
            return Ok(JobTally::new());
        };
        let stream = RequestStream::new(self.workload, self.seed, job);
        let depth = real_iodepth(self.workload);
        let mut worker = Worker::new(engine, MonotonicClock, stream, depth, window, self.stop);
        let ended = loop {
            match worker.step() {
                Ok(Step::Done) => break Ok(()),
                Ok(Step::Progress | Step::Blocked) => {}
                Err(error) => break Err(error),
            }
        };
        self.finished.fetch_add(1, Ordering::Release);
        ended.map(|()| worker.finish())
    }

    fn setup(&self, job: u32) -> Setup {
        let largest = self.workload.max_bs().0;
        Setup {
            file: self.file,
            depth: real_iodepth(self.workload),
            max_bytes: u32::try_from(largest).unwrap_or(u32::MAX),
            reads: self.workload.read_percent > 0,
            writes: self.workload.writes(),
            // Other data in every trial and job, else a second trial would write the same blocks.
            data_seed: derive_seed(self.seed, (1 << 32) + u64::from(job)),
        }
    }
}

/// The thread that waits for the jobs and reads the counters.
struct Watch<'a> {
    window: Window,
    finished: &'a AtomicU32,
    jobs: u32,
    stop: &'a AtomicBool,
}

impl Watch<'_> {
    fn samples(&self, probe: &mut dyn Probe, tick: &mut dyn FnMut(f64)) -> [ProbeSample; 2] {
        self.sleep_until(self.window.begin, &mut |_| ());
        let before = probe.sample();
        self.sleep_until(self.window.end, tick);
        [before, probe.sample()]
    }

    /// Sleeps until `time`, or until the jobs are over.
    fn sleep_until(&self, time: Nanos, tick: &mut dyn FnMut(f64)) {
        let length = self.window.end.since(self.window.begin).0.max(1) as f64;
        loop {
            let now = MonotonicClock.now();
            let over = self.finished.load(Ordering::Acquire) == self.jobs
                || self.stop.load(Ordering::Relaxed);
            if now >= time || over {
                return;
            }
            tick(now.since(self.window.begin).0 as f64 / length);
            thread::sleep(Duration::from_nanos(time.since(now).min(TICK).0));
        }
    }
}

/// Requests per second that one job of this workload reaches on the null engine: the limit of
/// the program itself, by the code path of every other engine.
#[must_use]
pub fn ceiling_iops(workload: &Workload) -> f64 {
    let depth = workload.iodepth;
    let setup = Setup { file: -1, depth, max_bytes: 1, reads: true, writes: false, data_seed: 0 };
    let stop = AtomicBool::new(false);
    let Ok(engine) = NullEngine::open(&setup) else { return 0.0 };
    let begin = MonotonicClock.now();
    let window = Window { begin, end: begin.plus(CEILING_RUN) };
    let stream = RequestStream::new(workload, 0, 0);
    let mut worker = Worker::new(engine, MonotonicClock, stream, depth, window, &stop);
    while matches!(worker.step(), Ok(Step::Progress)) {}
    let tally = worker.finish();
    let ios: u64 = tally.directions.iter().map(|direction| direction.ios).sum();
    ios as f64 / CEILING_RUN.as_secs_f64()
}
