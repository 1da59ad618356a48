//! Jobs on one thread, against a simulated device in virtual time.
//!
//! The driver steps the jobs that something happened to, in order of (virtual time, index), until
//! none can go on, then lets time pass to the next event: a completion, a moment that a job waits
//! for, or a boundary at which the counters are read. Only when the end of the run moves are all
//! jobs stepped. What the watching thread does for real jobs happens between two moves.

use crate::port::{SimClock, SimEngine, SimProbe};
use crate::sim_host::SimHost;
use crate::spec::SimSpec;
use engine::{Engine, Probe, ProbeSample};
use record::{EndedBy, EngineName, Nanos, Workload};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trial::verify::VerifyLog;
use trial::{
    Batch, BatchChoice, Control, JobCounters, JobPlan, JobTotals, Measurement, Precision, SEGMENTS,
    SLICES_PER_SEGMENT, Step, Stuck, TrialBackend, TrialError, Window, Worker, not_read_back,
};

/// A job in virtual time: workload, seed and index of it. It takes single completions, and never
/// spins.
pub fn sim_worker<E: Engine>(
    host: &Rc<RefCell<SimHost>>,
    engine: E,
    (workload, seed, job): (&Workload, u64, u32),
    control: &Arc<Control>,
    counters: Arc<JobCounters>,
) -> Worker<E, SimClock> {
    let (depth, control, spin) = (workload.iodepth, Arc::clone(control), Nanos(0));
    let batching = BatchChoice::Fixed(Batch::TOGETHER);
    let plan = JobPlan { workload, seed, job, depth, control, counters, spin, batching };
    Worker::new(engine, SimClock(Rc::clone(host)), &plan)
}

/// Steps a job as far as it goes; takes it out once it is done.
///
/// # Errors
/// If its engine broke.
pub fn run_until_blocked<E: Engine>(
    job: &mut Option<Worker<E, SimClock>>,
) -> Result<Option<Worker<E, SimClock>>, TrialError> {
    let Some(worker) = job else { return Ok(None) };
    loop {
        match worker.step()? {
            Step::Progress => {}
            Step::Blocked | Step::Idle(_) => return Ok(None),
            Step::Done => return Ok(job.take()),
        }
    }
}

/// Runs workloads on one simulated device, whose state and time go on from trial to trial.
#[derive(Debug)]
pub struct SimBackend {
    host: Rc<RefCell<SimHost>>,
}

impl SimBackend {
    /// A fresh device; `seed` makes its service times.
    #[must_use]
    pub fn new(spec: &SimSpec, seed: u64) -> Self {
        let host = SimHost::new(spec.build(seed), format!("sim:{}", spec.text));
        Self { host: Rc::new(RefCell::new(host)) }
    }

    /// Runs a workload on engines that `wrap` makes of the simulated ones, for faults on the way.
    ///
    /// # Errors
    /// If nothing could be measured.
    pub fn measure_on<E: Engine>(
        &mut self,
        workload: &Workload,
        seed: u64,
        stop: &AtomicBool,
        mut wrap: impl FnMut(u32, SimEngine) -> E,
    ) -> Result<Measurement, TrialError> {
        if workload.engine != EngineName::Sim {
            return Err(TrialError::WrongEngine(workload.engine.name()));
        }
        let begin = self.host.borrow().now().plus(workload.ramp_ns);
        let window = Window { begin, end: begin.plus(workload.runtime_ns) };
        self.host.borrow_mut().admit(workload.numjobs, workload);
        let control = Arc::new(Control::new(workload, window));
        let jobs: Vec<Arc<JobCounters>> =
            (0..workload.numjobs).map(|_| Arc::new(JobCounters::new())).collect();
        let workers = (0..workload.numjobs).map(|job| {
            let engine = wrap(job, SimEngine::new(&self.host, job));
            let counters = Arc::clone(&jobs[job as usize]);
            Some(sim_worker(&self.host, engine, (workload, seed, job), &control, counters))
        });
        let mut drive = Drive {
            workers: workers.collect(),
            jobs: &jobs,
            control: &control,
            workload,
            stop,
            probe: SimProbe(Rc::clone(&self.host)),
            before: Vec::new(),
            after: None,
            boundary: window.begin,
            known_end: control.end(),
            turn: (0..workload.numjobs).collect(),
            running: workload.numjobs,
            precision: Precision::of(workload),
            totals: JobTotals::default(),
            stuck: Stuck::default(),
            logs: Vec::new(),
        };
        let after = drive.run()?;
        if !drive.logs.is_empty() {
            let checked = not_read_back(&drive.logs, "a simulated device keeps no data");
            drive.totals.verify = Some(checked.result);
        }
        if stop.load(Ordering::Relaxed) && control.nothing_measured() {
            return Err(TrialError::Interrupted);
        }
        let (end, ended_by) = control.ending(&drive.totals, drive.stuck);
        Ok(Measurement {
            window,
            end,
            ended_by,
            totals: drive.totals,
            before: drive.before,
            after,
            stuck: drive.stuck,
            probe: drive.probe.facts(),
            harness: None,
        })
    }
}

impl TrialBackend for SimBackend {
    fn measure(
        &mut self,
        workload: &Workload,
        seed: u64,
        stop: &AtomicBool,
        _tick: &mut dyn FnMut(f64),
    ) -> Result<Measurement, TrialError> {
        self.measure_on(workload, seed, stop, |_, engine| engine)
    }

    fn simulated(&self) -> bool {
        true
    }
}

struct Drive<'a, E> {
    /// `None` for one that has ended.
    workers: Vec<Option<Worker<E, SimClock>>>,
    jobs: &'a [Arc<JobCounters>],
    control: &'a Control,
    workload: &'a Workload,
    stop: &'a AtomicBool,
    probe: SimProbe,
    before: Vec<ProbeSample>,
    /// The counters at the end, once it has come.
    after: Option<ProbeSample>,
    /// When the counters are read next before the end; the end of time for never.
    boundary: Nanos,
    /// The end of the run as the jobs know it.
    known_end: Nanos,
    turn: Vec<u32>,
    running: u32,
    precision: Precision,
    totals: JobTotals,
    stuck: Stuck,
    logs: Vec<VerifyLog>,
}

impl<E: Engine> Drive<'_, E> {
    /// Runs it to its end; the counters there.
    fn run(&mut self) -> Result<ProbeSample, TrialError> {
        let window_end = self.control.window().end;
        let until = loop {
            if self.stop.load(Ordering::Relaxed) {
                self.control.end_at(self.now(), Some(EndedBy::Interrupted));
            }
            self.step_turn()?;
            let end = self.control.end();
            let now = self.now();
            if self.after.is_none() && !self.before.is_empty() && end <= now {
                self.after = Some(self.probe.sample());
            }
            if self.running == 0 {
                let early = end < window_end || self.control.exhausted().is_some();
                break if early { now } else { window_end.max(now) };
            }
            if end != self.known_end {
                self.known_end = end;
                self.turn.extend(0..self.workers.len() as u32);
                continue;
            }
            let limit =
                if self.after.is_none() { self.boundary.min(window_end) } else { self.boundary };
            let goes_on = self.probe.0.borrow_mut().proceed(limit);
            if !goes_on {
                break self.fall_silent();
            }
            self.pass_boundaries(self.now());
            self.look();
            self.probe.0.borrow_mut().take_turn(&mut self.turn);
        };
        self.pass_boundaries(until);
        self.advance(until);
        let after = self.after.take().unwrap_or_else(|| self.probe.sample());
        if self.before.is_empty() {
            self.before.push(after.clone());
        }
        Ok(after)
    }

    fn now(&self) -> Nanos {
        self.probe.0.borrow().now()
    }

    fn advance(&self, time: Nanos) {
        let time = time.max(self.now());
        self.probe.0.borrow_mut().advance(time);
    }

    /// Steps every job whose turn it is as far as it goes.
    fn step_turn(&mut self) -> Result<(), TrialError> {
        for job in self.turn.drain(..) {
            if let Some(worker) = run_until_blocked(&mut self.workers[job as usize])? {
                self.running -= 1;
                let (totals, log) = worker.finish();
                self.totals.merge(&totals);
                self.logs.extend(log);
            }
        }
        Ok(())
    }

    /// Reads the counters at every boundary up to `until`, and at the end of the window.
    fn pass_boundaries(&mut self, until: Nanos) {
        while self.boundary <= until {
            if self.boundary > self.control.end() {
                self.boundary = Nanos(u64::MAX);
                break;
            }
            self.advance(self.boundary);
            let sample = self.probe.sample();
            self.before.push(sample);
            let segment = self.before.len();
            let boundaries = if self.workload.stop.cut_warm_up { SEGMENTS } else { 1 };
            let next = self.control.window().slice_begin(segment * SLICES_PER_SEGMENT);
            self.boundary = if segment < boundaries { next } else { Nanos(u64::MAX) };
        }
        let end = self.control.window().end;
        if self.after.is_none() && end <= until {
            self.advance(end);
            self.after = Some(self.probe.sample());
        }
    }

    /// Nothing is left to happen although jobs wait: a request that never completes. Leaves them
    /// behind when the time allowed is over, and says when that is.
    fn fall_silent(&mut self) -> Nanos {
        let until = self.now().plus(self.workload.stop.io_timeout_ns);
        self.control.end_at(until, Some(EndedBy::Silence));
        for (worker, job) in self.workers.iter_mut().zip(self.jobs) {
            if worker.take().is_some() {
                self.running -= 1;
                self.stuck.jobs += 1;
                self.stuck.requests += u64::from(job.in_flight());
                self.totals.merge(&job.take());
            }
        }
        until
    }

    /// Ends the run where the rate is known to the precision asked for.
    fn look(&mut self) {
        let Some(look) = self.precision.next_look() else { return };
        let now = self.now();
        let due = now >= self.control.window().slice_begin(look) && now < self.control.end();
        if due && self.precision.reached(self.jobs) {
            self.control.end_at(now, Some(EndedBy::Precision));
        }
    }
}
