//! Jobs on threads of their own, and the thread that watches them.
//!
//! The threads are not scoped: one that a silent device keeps in the kernel cannot be joined, so
//! everything that it refers to is owned together with it, and it is left behind. What it had
//! counted is on its board. The watcher reads the counters at the edges of the window (and of each
//! segment, where a warm-up may be cut off), looks at the precision, and ends the run when a job
//! has had requests in flight for the time allowed without one of them completing. Rejected:
//! deadlines in every wait of every job (a timer armed per system call, and a synchronous engine
//! has none), and a signal to a stuck thread (uninterruptible sleep ignores it).

use crate::completion_batch::search_time;
use crate::precision::Precision;
use crate::read_back::{not_read_back, read_back};
use crate::verify::VerifyLog;
use crate::watch::{Watch, Watched};
use crate::{
    CompletionBatch, Control, JobCounters, JobPlan, JobTally, Measurement, Step, Stuck, TrialError,
    Window, Worker,
};
use engine::{Clock, Engine, EngineError, JobClock, Probe, Setup};
use record::{Arrival, Nanos, Workload};
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
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
type Outcome = Result<(JobTally, Option<VerifyLog>), EngineError>;

/// Where the threads wait until all engines are open.
#[derive(Default)]
struct Gate {
    state: Mutex<Option<Option<Arc<Control>>>>,
    changed: Condvar,
}

impl Gate {
    /// Lets the threads go, or with `None` sends them home.
    fn open(&self, control: Option<Arc<Control>>) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(control);
        self.changed.notify_all();
    }

    fn pass(&self) -> Option<Arc<Control>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(decision) = &*state {
                return decision.clone();
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// One run on threads.
pub(crate) struct ThreadedRun<'a> {
    pub(crate) files: Arc<Vec<OwnedFd>>,
    pub(crate) probe: &'a mut dyn Probe,
    pub(crate) clock: JobClock,
    pub(crate) workload: &'a Workload,
    /// Requests that a job has in flight.
    pub(crate) depth: u32,
    pub(crate) gathering: CompletionBatch,
    pub(crate) seed: u64,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) tick: &'a mut dyn FnMut(f64),
}

impl ThreadedRun<'_> {
    /// Runs it on engines that `open` opens.
    pub(crate) fn on<E: Engine + 'static>(
        self,
        open: &Opening<E>,
    ) -> Result<Measurement, TrialError> {
        let jobs = self.workload.numjobs;
        let crew = Crew::start(&self, open)?;
        let lead = LEAD.plus(Nanos(LEAD_PER_JOB.0 * u64::from(jobs)));
        let search = match self.gathering {
            CompletionBatch::Search => search_time(self.depth),
            CompletionBatch::Fixed(_) => Nanos(0),
        };
        let begin = self.clock.now().plus(lead).plus(search).plus(self.workload.ramp_ns);
        let window = Window { begin, end: begin.plus(self.workload.runtime_ns) };
        let control = Arc::new(Control::new(self.workload, window));
        crew.gate.open(Some(Arc::clone(&control)));
        let watch = Watch {
            workload: self.workload,
            control: &control,
            boards: &crew.boards,
            clock: self.clock,
            stop: self.stop,
            endings: &crew.endings,
            finished: vec![false; jobs as usize],
            precision: Precision::of(self.workload),
        };
        let watched = watch.run(self.probe, self.tick);
        let gathered = crew.gather(&watched)?;
        if self.stop.load(Ordering::Relaxed) && control.nothing_measured() {
            return Err(TrialError::Interrupted);
        }
        self.measurement(&control, watched, gathered)
    }

    fn measurement(
        self,
        control: &Control,
        watched: Watched,
        gathered: Gathered,
    ) -> Result<Measurement, TrialError> {
        let Gathered { mut tally, ledgers, stuck } = gathered;
        if !ledgers.is_empty() {
            let interrupted = self.stop.load(Ordering::Relaxed);
            let checked = match stuck.jobs {
                _ if interrupted => not_read_back(&ledgers, "the run was interrupted"),
                0 => read_back(self.workload, ledgers, &self.files, self.stop),
                _ => not_read_back(&ledgers, "the device stopped answering"),
            };
            if !interrupted && self.stop.load(Ordering::Relaxed) {
                return Err(TrialError::Interrupted);
            }
            checked.count_failures(&mut tally, self.workload.read_percent > 0);
            tally.verify = Some(checked.result);
        }
        let (end, ended_by) = control.ending(&tally, stuck);
        Ok(Measurement {
            window: control.window(),
            end,
            ended_by,
            tally,
            before: watched.before,
            after: watched.after,
            stuck,
            cpu_split: self.probe.cpu_split(),
            processors: self.probe.processors(),
            no_device_reason: self.probe.no_device_reason(),
            no_cpu_reason: self.probe.no_cpu_reason(),
            harness: None,
        })
    }
}

/// The threads of a run.
struct Crew {
    handles: Vec<JoinHandle<Outcome>>,
    boards: Vec<Arc<JobCounters>>,
    gate: Arc<Gate>,
    endings: mpsc::Receiver<u32>,
}

/// What came of them.
struct Gathered {
    tally: JobTally,
    ledgers: Vec<VerifyLog>,
    stuck: Stuck,
}

impl Crew {
    /// Starts the threads and lets them open their engines.
    fn start<E: Engine + 'static>(
        run: &ThreadedRun<'_>,
        open: &Opening<E>,
    ) -> Result<Self, TrialError> {
        let jobs = run.workload.numjobs;
        let gate = Arc::new(Gate::default());
        let (opened, openings) = mpsc::channel();
        let (leaving, endings) = mpsc::channel();
        let workload = Arc::new(run.workload.clone());
        let mut crew = Self { handles: Vec::new(), boards: Vec::new(), gate, endings };
        let mut failure = None;
        for job in 0..jobs {
            let board = Arc::new(JobCounters::new());
            crew.boards.push(Arc::clone(&board));
            let life = Life {
                job,
                files: Arc::clone(&run.files),
                workload: Arc::clone(&workload),
                depth: run.depth,
                gathering: run.gathering,
                seed: run.seed,
                clock: run.clock,
                gate: Arc::clone(&crew.gate),
                board,
            };
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
        crew.gate.open(None);
        for (job, handle) in crew.handles.into_iter().enumerate() {
            match handle.join() {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => failure = failure.or(Some(error.into())),
                Err(_) => failure = failure.or(Some(TrialError::Panic(job as u32))),
            }
        }
        Err(failure.unwrap_or(TrialError::Lost))
    }

    /// Joins those that ended and reads the boards of those that are left behind.
    fn gather(self, watched: &Watched) -> Result<Gathered, TrialError> {
        let mut gathered =
            Gathered { tally: JobTally::default(), ledgers: Vec::new(), stuck: Stuck::default() };
        let mut failure = None;
        for (job, handle) in self.handles.into_iter().enumerate() {
            if !watched.finished[job] {
                let board = &self.boards[job];
                gathered.stuck.jobs += 1;
                gathered.stuck.requests += u64::from(board.in_flight());
                gathered.tally.merge(&board.take());
                continue;
            }
            match handle.join() {
                Ok(Ok((tally, ledger))) => {
                    gathered.tally.merge(&tally);
                    gathered.ledgers.extend(ledger);
                }
                Ok(Err(error)) => failure = failure.or(Some(error.into())),
                Err(_) => failure = Some(TrialError::Panic(job as u32)),
            }
        }
        failure.map_or(Ok(gathered), Err)
    }
}

/// Everything that a job's thread knows; it owns all of it.
struct Life {
    job: u32,
    files: Arc<Vec<OwnedFd>>,
    workload: Arc<Workload>,
    depth: u32,
    gathering: CompletionBatch,
    seed: u64,
    clock: JobClock,
    gate: Arc<Gate>,
    board: Arc<JobCounters>,
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
        let control = self.gate.pass();
        let (engine, Some(control)) = (engine?, control) else {
            return Ok((JobTally::default(), None));
        };
        leaving.control = Some(Arc::clone(&control));
        if self.workload.arrival != Arrival::Closed || self.workload.think_ns.0 > 0 {
            // A refusal makes wake-ups later by some 50 µs, which the pacer's lateness shows.
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        }
        let plan = JobPlan {
            workload: &self.workload,
            seed: self.seed,
            job: self.job,
            depth: self.depth,
            control: Arc::clone(&control),
            board: Arc::clone(&self.board),
            spin: SPIN,
            gathering: self.gathering,
        };
        let mut worker = Worker::new(engine, self.clock, &plan);
        if control.limited() && self.workload.ramp_ns.0 == 0 {
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
            let now = self.clock.now();
            if now >= time {
                return;
            }
            thread::sleep(Duration::from_nanos(time.since(now).0));
        }
    }

    /// The descriptors of this job: all of a stripe, or its own target.
    fn targets(&self) -> Vec<RawFd> {
        let files = self.files.iter().map(AsRawFd::as_raw_fd);
        match self.workload.stripe_bytes {
            Some(_) => files.collect(),
            None => files.skip(self.job as usize % self.files.len().max(1)).take(1).collect(),
        }
    }

    fn setup(&self) -> Setup {
        let workload = &self.workload;
        Setup {
            files: self.targets(),
            stripe_bytes: workload.stripe_bytes.map(|bytes| bytes.0 as u32),
            depth: self.depth,
            max_bytes: u32::try_from(workload.max_bs().0).unwrap_or(u32::MAX),
            reads: workload.read_percent > 0,
            writes: workload.writes(),
            // Other data in every trial and job, else a second trial would write the same blocks.
            data_seed: derive_seed(self.seed, (1 << 32) + u64::from(self.job)),
            data: workload.data,
            compressible_percent: workload.compressible_percent,
            tags: engine::tag::Tags::of(workload, self.seed, self.job),
            polled: workload.polled,
            sqpoll: workload.sqpoll,
        }
    }
}
