//! Jobs on threads of their own, and the thread that watches them.
//!
//! A thread that a silent device keeps in the kernel cannot be joined, so each owns everything that it
//! refers to, and is left behind; its counters tell what it had done. Rejected: deadlines in every wait
//! of every job (a timer armed per system call), and a signal to a stuck thread (uninterruptible sleep
//! ignores it).

use crate::precision::Precision;
use crate::read_back::{not_read_back, read_back};
use crate::verify::VerifyLog;
use crate::watch::{Watch, Watched};
use crate::{
    BatchChoice, Control, JobCounters, JobPlan, JobTotals, Measurement, Step, Stuck, TrialError,
    Window, Worker,
};
use engine::{Clock, Engine, EngineError, JobClock, Probe, Setup};
use record::{Arrival, Nanos, Workload};
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use workload::derive_seed;

/// Time between the opening of the gate and the first request, and more for each job: every
/// thread is awake by then.
const LEAD: Nanos = Nanos(200_000);
const LEAD_PER_JOB: Nanos = Nanos(20_000);
/// How long before an arrival a job stops to block and polls: a thread is woken later than asked
/// by less than this, mostly.
const SPIN: Nanos = Nanos(50_000);

/// Opens the engine of a job (its index, its setup) on the job's thread.
pub type Opening<E> = Arc<dyn Fn(u32, &Setup) -> Result<E, EngineError> + Send + Sync>;

/// What a job's thread ends with.
type Outcome = Result<(JobTotals, Option<VerifyLog>), EngineError>;

/// What the driver and all threads know of a run.
#[derive(Clone)]
pub(crate) struct RunPlan {
    /// Shared with the threads: one that a silent device keeps must find its descriptors, not others
    /// under the same numbers.
    pub(crate) files: Arc<Vec<OwnedFd>>,
    pub(crate) workload: Arc<Workload>,
    /// Requests that a job has in flight.
    pub(crate) depth: u32,
    pub(crate) batching: BatchChoice,
    pub(crate) seed: u64,
    pub(crate) clock: JobClock,
}

pub(crate) struct ThreadedRun<'a> {
    pub(crate) plan: RunPlan,
    pub(crate) probe: &'a mut dyn Probe,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) tick: &'a mut dyn FnMut(f64),
}

impl ThreadedRun<'_> {
    pub(crate) fn on<E: Engine + 'static>(
        self,
        open: &Opening<E>,
    ) -> Result<Measurement, TrialError> {
        // A stop that came before is one, however late a busy machine begins.
        if self.stop.load(Ordering::Relaxed) {
            return Err(TrialError::Interrupted);
        }
        let plan = &self.plan;
        let workload = &*plan.workload;
        let mut crew = Crew::start(plan, open)?;
        let lead = LEAD.plus(Nanos(LEAD_PER_JOB.0 * u64::from(workload.numjobs)));
        let search = match plan.batching {
            BatchChoice::Search(ways) => ways.search_time(),
            BatchChoice::Fixed(_) => Nanos(0),
        };
        // Where nothing precedes the window, the first reading cannot come too late: it is taken before
        // any request, and a short run on a busy machine is counted from its first byte.
        let at_rest = (search.0 + workload.ramp_ns.0 == 0).then(|| self.probe.sample());
        let begin = plan.clock.now().plus(lead).plus(search).plus(workload.ramp_ns);
        let window = Window { begin, end: begin.plus(workload.runtime_ns) };
        let control = Arc::new(Control::new(workload, window));
        crew.let_go(&control);
        let watch = Watch {
            workload,
            control: &control,
            counters: &crew.counters,
            clock: plan.clock,
            stop: self.stop,
            endings: &crew.endings,
            finished: vec![false; workload.numjobs as usize],
            precision: Precision::of(workload),
        };
        let watched = watch.run(at_rest, self.probe, self.tick);
        let collected = crew.collect(&watched)?;
        if self.stop.load(Ordering::Relaxed) && control.nothing_measured() {
            return Err(TrialError::Interrupted);
        }
        self.measurement(&control, watched, collected)
    }

    fn measurement(
        self,
        control: &Control,
        watched: Watched,
        collected: Collected,
    ) -> Result<Measurement, TrialError> {
        let Collected { mut totals, logs, stuck } = collected;
        if !logs.is_empty() {
            let interrupted = self.stop.load(Ordering::Relaxed);
            let checked = match stuck.jobs {
                _ if interrupted => not_read_back(&logs, "the run was interrupted"),
                0 => read_back(&self.plan.workload, logs, &self.plan.files, self.stop),
                _ => not_read_back(&logs, "the device stopped answering"),
            };
            if !interrupted && self.stop.load(Ordering::Relaxed) {
                return Err(TrialError::Interrupted);
            }
            // Failed reads count as reads, or as writes where the run does nothing else.
            let direction = usize::from(self.plan.workload.read_percent == 0);
            totals.failures[direction].merge(&checked.failures);
            totals.verify = Some(checked.result);
        }
        let (end, ended_by) = control.ending(&totals, stuck);
        Ok(Measurement {
            window: control.window(),
            end,
            ended_by,
            totals,
            before: watched.before,
            after: watched.after,
            stuck,
            probe: self.probe.facts(),
            harness: None,
        })
    }
}

struct Crew {
    handles: Vec<JoinHandle<Outcome>>,
    counters: Vec<Arc<JobCounters>>,
    /// Where the threads wait until all engines are open; they go home where it is dropped.
    gates: Vec<mpsc::Sender<Arc<Control>>>,
    endings: mpsc::Receiver<u32>,
}

/// What came of them.
struct Collected {
    totals: JobTotals,
    logs: Vec<VerifyLog>,
    stuck: Stuck,
}

impl Crew {
    /// Starts the threads and lets them open their engines.
    fn start<E: Engine + 'static>(plan: &RunPlan, open: &Opening<E>) -> Result<Self, TrialError> {
        let jobs = plan.workload.numjobs;
        let (opened, openings) = mpsc::channel();
        let (leaving, endings) = mpsc::channel();
        let mut crew =
            Self { handles: Vec::new(), counters: Vec::new(), gates: Vec::new(), endings };
        let mut failure = None;
        for job in 0..jobs {
            let counters = Arc::new(JobCounters::new());
            crew.counters.push(Arc::clone(&counters));
            let (gate_opener, gate) = mpsc::channel();
            crew.gates.push(gate_opener);
            let life = Life { job, plan: plan.clone(), gate, counters };
            let (opened, leaving, open) = (opened.clone(), leaving.clone(), Arc::clone(open));
            let builder = thread::Builder::new().name(format!("job-{job}"));
            match builder.spawn(move || life.live(&*open, &opened, leaving)) {
                Ok(handle) => crew.handles.push(handle),
                Err(source) => {
                    failure = Some(TrialError::Thread { job, jobs, source });
                    break;
                }
            }
        }
        drop(opened);
        // One message from each thread; a thread that died sends none and closes its end.
        let ready = openings.iter().take(crew.handles.len()).filter(|&ok| ok).count();
        if failure.is_none() && ready == jobs as usize {
            return Ok(crew);
        }
        crew.gates.clear();
        for (job, handle) in crew.handles.into_iter().enumerate() {
            match handle.join() {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => failure = failure.or(Some(error.into())),
                Err(_) => failure = failure.or(Some(TrialError::Panic(job as u32))),
            }
        }
        Err(failure.unwrap_or(TrialError::Lost))
    }

    /// Opens the gate.
    fn let_go(&mut self, control: &Arc<Control>) {
        for gate in self.gates.drain(..) {
            // A thread that died meanwhile says so at its end.
            let _ = gate.send(Arc::clone(control));
        }
    }

    /// Joins those that ended and reads the counters of those that are left behind.
    fn collect(self, watched: &Watched) -> Result<Collected, TrialError> {
        let mut collected =
            Collected { totals: JobTotals::default(), logs: Vec::new(), stuck: Stuck::default() };
        let mut failure = None;
        for (job, handle) in self.handles.into_iter().enumerate() {
            if !watched.finished[job] {
                let counters = &self.counters[job];
                collected.stuck.jobs += 1;
                collected.stuck.requests += u64::from(counters.in_flight());
                collected.totals.merge(&counters.take());
                continue;
            }
            match handle.join() {
                Ok(Ok((totals, log))) => {
                    collected.totals.merge(&totals);
                    collected.logs.extend(log);
                }
                Ok(Err(error)) => failure = failure.or(Some(error.into())),
                Err(_) => failure = Some(TrialError::Panic(job as u32)),
            }
        }
        failure.map_or(Ok(collected), Err)
    }
}

/// Everything that a job's thread knows; it owns all of it.
struct Life {
    job: u32,
    plan: RunPlan,
    gate: mpsc::Receiver<Arc<Control>>,
    counters: Arc<JobCounters>,
}

/// Says that the thread is over, however it ends; one that panics ends the run for all.
struct Leaving {
    job: u32,
    endings: mpsc::Sender<u32>,
    control: Option<Arc<Control>>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(control) = self.control.as_ref().filter(|_| thread::panicking()) {
            control.end_at(Nanos(0), None);
        }
        // Nobody listens any more where the job was left behind.
        let _ = self.endings.send(self.job);
    }
}

impl Life {
    fn live<E: Engine>(
        self,
        open: &(dyn Fn(u32, &Setup) -> Result<E, EngineError> + Send + Sync),
        opened: &mpsc::Sender<bool>,
        endings: mpsc::Sender<u32>,
    ) -> Outcome {
        let mut leaving = Leaving { job: self.job, endings, control: None };
        let engine = open(self.job, &self.setup());
        // The receiver outlives all threads; were it gone, the gate would still decide.
        let _ = opened.send(engine.is_ok());
        let control = self.gate.recv();
        let (engine, Ok(control)) = (engine?, control) else {
            return Ok((JobTotals::default(), None));
        };
        leaving.control = Some(Arc::clone(&control));
        let run = &self.plan;
        if run.workload.arrival != Arrival::Closed || run.workload.think_ns.0 > 0 {
            // A refusal makes wake-ups later by some 50 µs, which the pacer's lateness shows.
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        }
        let plan = JobPlan {
            workload: &run.workload,
            seed: run.seed,
            job: self.job,
            depth: run.depth,
            control: Arc::clone(&control),
            counters: Arc::clone(&self.counters),
            spin: SPIN,
            batching: run.batching,
        };
        let mut worker = Worker::new(engine, run.clock, &plan);
        if control.limited() && run.workload.ramp_ns.0 == 0 {
            // Else what is handed over before the window would come on top of the bytes asked for.
            self.sleep_until(control.window().begin);
        }
        loop {
            match worker.step() {
                Ok(Step::Done) => return Ok(worker.finish()),
                Ok(Step::Progress | Step::Blocked) => {}
                Ok(Step::Idle(until)) => self.sleep_until(until),
                Err(error) => {
                    control.end_at(Nanos(0), None);
                    return Err(error);
                }
            }
        }
    }

    fn sleep_until(&self, time: Nanos) {
        loop {
            let now = self.plan.clock.now();
            if now >= time {
                return;
            }
            thread::sleep(Duration::from_nanos(time.since(now).0));
        }
    }

    /// The descriptors of this job: all of a stripe, or its own target.
    fn targets(&self) -> Vec<RawFd> {
        let files = self.plan.files.iter().map(AsRawFd::as_raw_fd);
        match self.plan.workload.stripe_bytes {
            Some(_) => files.collect(),
            None => files.skip(self.job as usize % self.plan.files.len().max(1)).take(1).collect(),
        }
    }

    fn setup(&self) -> Setup {
        let (workload, seed) = (&self.plan.workload, self.plan.seed);
        Setup {
            files: self.targets(),
            stripe_bytes: workload.stripe_bytes.map(|bytes| bytes.0 as u32),
            depth: self.plan.depth,
            max_bytes: u32::try_from(workload.max_bs().0).unwrap_or(u32::MAX),
            reads: workload.read_percent > 0,
            writes: workload.writes(),
            flushes: workload.flush.is_some(),
            // Other data in every trial and job, else a second trial would write the same blocks.
            data_seed: derive_seed(seed, (1 << 32) + u64::from(self.job)),
            data: workload.data,
            compressible_percent: workload.compressible_percent,
            tags: engine::tag::Tags::of(workload, seed, self.job),
            polled: workload.polled,
            sqpoll: workload.sqpoll,
            huge_pages: workload.huge_pages,
        }
    }
}
