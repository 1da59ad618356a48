//! Runs jobs on one thread, against a simulated device in virtual time.
//!
//! The driver steps the jobs that have something to do, in order of (virtual time, index), until all of
//! them wait. Then it advances time to the next event: a completion, the end of a job's wait, or a boundary
//! at which the counters are read. All jobs are stepped only when the end of the run changes. Between two
//! advances the driver does the work of the watching thread of real runs.

use crate::port::{SimClock, SimEngine, SimProbe};
use crate::sim_host::SimHost;
use crate::spec::SimSpec;
use engine::{Engine, Probe, ProbeFacts, ProbeSample};
use record::{ArrayResult, Bytes, EndedBy, EngineName, Nanos, Workload};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trial::verify::VerifyLog;
use trial::{
    Batch, BatchChoice, Control, JobCounters, JobPlan, JobTotals, Measurement, Precision, SEGMENTS,
    SLICES_PER_SEGMENT, Step, Stuck, TrialBackend, TrialError, Window, Worker, not_read_back,
    rebuild_result, seed_beside,
};

/// A job in virtual time, given its workload, seed and index. It takes single completions, and never spins.
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

/// Steps a job until it blocks; removes it when it is done.
///
/// # Errors
/// If its engine failed.
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

/// Runs workloads on one simulated device, whose state and time continue from trial to trial.
#[derive(Debug)]
pub struct SimBackend {
    host: Rc<RefCell<SimHost>>,
}

impl SimBackend {
    /// A new device; `seed` determines its service times.
    #[must_use]
    pub fn new(spec: &SimSpec, seed: u64) -> Self {
        let host = SimHost::new(spec.build(seed), format!("sim:{}", spec.text));
        Self { host: Rc::new(RefCell::new(host)) }
    }

    /// Runs a workload on engines that `wrap` makes from the simulated ones, for example to inject faults.
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
        let now = self.host.borrow().now();
        let jobs = workload.all().map(|workload| workload.numjobs).sum();
        self.host.borrow_mut().admit(jobs, workload);
        let beside = workload
            .beside
            .iter()
            .zip(0..)
            .map(|(job, number)| (&job.workload, job.delay_ns, seed_beside(seed, number)));
        let all = std::iter::once((workload, Nanos(0), seed)).chain(beside);
        // The longest ramp applies to all workloads: their windows begin together, except for their delays.
        let ramp = workload.all().map(|workload| workload.ramp_ns).max().unwrap_or_default();
        let mut groups: Vec<Group<'_>> = Vec::new();
        let mut workers = Vec::new();
        let mut turn = Vec::new();
        for (workload, delay, seed) in all {
            let begin = now.plus(ramp).plus(delay);
            let window = Window { begin, end: begin.plus(workload.runtime_ns) };
            let control = Arc::new(Control::new(workload, window));
            let mut counters = Vec::new();
            for job in 0..workload.numjobs {
                let number = workers.len() as u32;
                let engine = wrap(number, SimEngine::new(&self.host, number));
                let counted = Arc::new(JobCounters::default());
                counters.push(Arc::clone(&counted));
                let it = (workload, seed, job);
                workers.push(Some(sim_worker(&self.host, engine, it, &control, counted)));
                let start = Nanos(begin.0 - workload.ramp_ns.0);
                if start > now {
                    self.host.borrow_mut().wake_at(number, Some(start));
                } else {
                    turn.push(number);
                }
            }
            groups.push(Group::new(workload, control, counters));
        }
        let window = groups[0].control.window();
        // A rebuild that an earlier trial finished does not count.
        let rebuilds = self.host.borrow().rebuild().filter(|before| before.end.is_none());
        let mut drive = Drive {
            running: workers.len() as u32,
            workers,
            groups,
            stop,
            probe: SimProbe(Rc::clone(&self.host)),
            before: Vec::new(),
            after: None,
            boundary: window.begin,
            turn,
            precision: Precision::of(workload),
            rebuilds: rebuilds.is_some(),
        };
        let after = drive.run()?;
        let rebuild = rebuilds.and_then(|_| self.host.borrow().rebuild());
        if stop.load(Ordering::Relaxed) && drive.groups[0].control.nothing_measured() {
            return Err(TrialError::Interrupted);
        }
        let probe = drive.probe.facts();
        let mut all = drive.groups.into_iter().map(|group| group.measurement(&probe));
        let mut first = all.next().ok_or(TrialError::Lost)?;
        if let Some(rebuild) = rebuild {
            let end = rebuild.end.unwrap_or_else(|| self.host.borrow().now());
            let (disk, bytes) = (rebuild.disk, Bytes(rebuild.disk_bytes));
            let result = rebuild_result(disk, bytes, &rebuild.state, end.since(rebuild.begin));
            let array = ArrayResult { check: None, rebuild: Some(result) };
            first.totals.array = Some(Box::new(array));
        }
        Ok(Measurement { before: drive.before, after, beside: all.collect(), ..first })
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

struct Group<'a> {
    workload: &'a Workload,
    control: Arc<Control>,
    counters: Vec<Arc<JobCounters>>,
    /// The end of the run that its jobs last saw.
    known_end: Nanos,
    totals: JobTotals,
    stuck: Stuck,
    logs: Vec<VerifyLog>,
}

impl<'a> Group<'a> {
    fn new(workload: &'a Workload, control: Arc<Control>, counters: Vec<Arc<JobCounters>>) -> Self {
        Self {
            workload,
            known_end: control.end(),
            control,
            counters,
            totals: JobTotals::default(),
            stuck: Stuck::default(),
            logs: Vec::new(),
        }
    }

    /// The measurement, without the counters around its window.
    fn measurement(mut self, probe: &ProbeFacts) -> Measurement {
        if !self.logs.is_empty() {
            let checked = not_read_back(&self.logs, "a simulated device keeps no data");
            self.totals.verify = Some(checked.result);
        }
        self.control.measurement(self.totals, self.stuck, probe)
    }
}

struct Drive<'a, E> {
    /// The jobs of all groups, in order; `None` for a job that has ended.
    workers: Vec<Option<Worker<E, SimClock>>>,
    /// The counters are read at the window of the first group.
    groups: Vec<Group<'a>>,
    stop: &'a AtomicBool,
    probe: SimProbe,
    before: Vec<ProbeSample>,
    /// The counters at the end, once read.
    after: Option<ProbeSample>,
    /// When the counters are read next before the end; the maximum time for never.
    boundary: Nanos,
    turn: Vec<u32>,
    running: u32,
    precision: Precision,
    /// Whether the device rebuilds a disk; the run then ends with the rebuild.
    rebuilds: bool,
}

impl<E: Engine> Drive<'_, E> {
    /// Runs the jobs to the end; returns the counters at the end of the first group.
    fn run(&mut self) -> Result<ProbeSample, TrialError> {
        let window_end = self.groups[0].control.window().end;
        let last_end = self.groups.iter().map(|group| group.control.window().end).max();
        let last_end = last_end.unwrap_or(window_end);
        let until = loop {
            if self.stop.load(Ordering::Relaxed) {
                let now = self.now();
                let end = |group: &Group<'_>| group.control.end_at(now, Some(EndedBy::Interrupted));
                self.groups.iter().for_each(end);
            }
            self.step_turn()?;
            let end = self.groups[0].control.end();
            let now = self.now();
            if self.after.is_none() && !self.before.is_empty() && end <= now {
                self.after = Some(self.probe.sample());
            }
            if self.running == 0 {
                let early = |group: &Group<'_>| {
                    group.control.end() < group.control.window().end
                        || group.control.exhausted().is_some()
                };
                break if self.groups.iter().any(early) { now } else { last_end.max(now) };
            }
            if self.ends_moved() {
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
            self.look_at_rebuild();
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

    /// Whether the end of any group changed; schedules the jobs of those groups.
    fn ends_moved(&mut self) -> bool {
        let (mut moved, mut first) = (false, 0);
        for group in &mut self.groups {
            let jobs = group.counters.len() as u32;
            let end = group.control.end();
            if end != group.known_end {
                group.known_end = end;
                self.turn.extend(first..first + jobs);
                moved = true;
            }
            first += jobs;
        }
        moved
    }

    fn group_of<'g, 'b>(groups: &'g mut [Group<'b>], mut job: u32) -> &'g mut Group<'b> {
        let mut at = 0;
        while job >= groups[at].counters.len() as u32 {
            job -= groups[at].counters.len() as u32;
            at += 1;
        }
        &mut groups[at]
    }

    fn now(&self) -> Nanos {
        self.probe.0.borrow().now()
    }

    fn advance(&self, time: Nanos) {
        let time = time.max(self.now());
        self.probe.0.borrow_mut().advance(time);
    }

    fn step_turn(&mut self) -> Result<(), TrialError> {
        for job in self.turn.drain(..) {
            if let Some(worker) = run_until_blocked(&mut self.workers[job as usize])? {
                self.running -= 1;
                let (totals, log) = worker.finish();
                let group = Self::group_of(&mut self.groups, job);
                group.totals.merge(&totals);
                group.logs.extend(log);
            }
        }
        Ok(())
    }

    /// Reads the counters at every boundary up to `until`, and at the end of the window.
    fn pass_boundaries(&mut self, until: Nanos) {
        while self.boundary <= until {
            if self.boundary > self.groups[0].control.end() {
                self.boundary = Nanos(u64::MAX);
                break;
            }
            self.advance(self.boundary);
            let sample = self.probe.sample();
            self.before.push(sample);
            let segment = self.before.len();
            let boundaries = if self.groups[0].workload.stop.cut_warm_up { SEGMENTS } else { 1 };
            let next = self.groups[0].control.window().slice_begin(segment * SLICES_PER_SEGMENT);
            self.boundary = if segment < boundaries { next } else { Nanos(u64::MAX) };
        }
        let end = self.groups[0].control.window().end;
        if self.after.is_none() && end <= until {
            self.advance(end);
            self.after = Some(self.probe.sample());
        }
    }

    /// No event is left although jobs wait: a request never completes. Leaves the jobs behind when their
    /// timeout has passed, and returns that time.
    fn fall_silent(&mut self) -> Nanos {
        let timeouts = self.groups.iter().map(|group| group.workload.stop.io_timeout_ns);
        let until = self.now().plus(timeouts.min().unwrap_or_default());
        for group in &self.groups {
            group.control.end_at(until, Some(EndedBy::Silence));
        }
        let mut workers = self.workers.iter_mut();
        for group in &mut self.groups {
            for (counters, worker) in group.counters.iter().zip(&mut workers) {
                if worker.take().is_some() {
                    self.running -= 1;
                    group.stuck.jobs += 1;
                    group.stuck.requests += u64::from(counters.in_flight());
                    group.totals.merge(&counters.take());
                }
            }
        }
        until
    }

    /// Ends the run when the rebuild ends, so that the result covers the time of the rebuild.
    fn look_at_rebuild(&mut self) {
        let end = if self.rebuilds { self.probe.0.borrow().rebuild() } else { None };
        let Some(end) = end.and_then(|rebuild| rebuild.end) else { return };
        self.rebuilds = false;
        let at = end.max(self.groups[0].control.window().begin.plus(Nanos(1)));
        for group in self.groups.iter().filter(|group| group.control.exhausted().is_none()) {
            group.control.end_at(at, Some(EndedBy::Rebuilt));
        }
    }

    /// Ends the run when the rate is known to the requested precision.
    fn look(&mut self) {
        let Some(look) = self.precision.next_look() else { return };
        let now = self.now();
        let Group { control, counters, .. } = &self.groups[0];
        let due = now >= control.window().slice_begin(look) && now < control.end();
        if due && self.precision.reached(counters) {
            control.end_at(now, Some(EndedBy::Precision));
        }
    }
}
