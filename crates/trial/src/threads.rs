//! Runs each job on a thread of its own, and waits for them.
//!
//! A thread that a silent device keeps in the kernel cannot be joined. So each thread owns everything that
//! it refers to, and is left behind; its counters show its progress. Rejected: deadlines in every wait of
//! every job (a timer armed per system call), and a signal to a stuck thread (uninterruptible sleep ignores
//! it).

use crate::legs::Legs;
use crate::precision::{EnoughSeen, JudgeElsewhere};
use crate::read_back::{self, not_read_back, read_back};
use crate::rebuild::RebuildCrew;
use crate::run_plan::{Leaving, RunPlan, setup_of, sleep_until};
use crate::verify::VerifyLog;
use crate::watch::{Group, Watch};
use crate::{
    AgreeOnBegin, Control, JobCounters, JobPlan, JobTotals, Measurement, Ready, Step, Stuck,
    TrialError, Window, Worker,
};
use engine::{
    Clock, Engine, EngineError, EngineVisitor, JobClock, OpenEngine, Probe, ProbeFacts, Setup,
};
use host::kernel;
use record::{ArrayResult, Arrival, LegCheck, Nanos, RebuildResult};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

/// Time between the start signal and the first request, plus a time per job: by then every thread is awake.
const LEAD: Nanos = Nanos(200_000);
const LEAD_PER_JOB: Nanos = Nanos(20_000);
/// How much earlier than needed the jobs of a part are started.
const EARLY: Nanos = Nanos(10_000_000);
/// The longest single sleep of a job that begins later.
const DELAY_PIECE: Nanos = Nanos(50_000_000);
/// How long before an arrival a job stops blocking and polls: most wake-ups are late by less than this.
const SPIN: Nanos = Nanos(50_000);

/// Opens the engine of a job (its index, its setup) on the job's thread.
pub type Opening<E> = Arc<dyn Fn(u32, &Setup) -> Result<E, EngineError> + Send + Sync>;

type Outcome = Result<(JobTotals, Option<VerifyLog>), EngineError>;

/// Starts the threads of a workload on engines of the named type.
pub(crate) struct CrewStart {
    pub(crate) plan: RunPlan,
    /// Number of its first job among those of all workloads.
    pub(crate) first: u32,
    pub(crate) leaving: mpsc::Sender<u32>,
}

impl CrewStart {
    /// Starts the threads, which open their engines.
    pub(crate) fn on<E: Engine + 'static>(self, open: &Opening<E>) -> Result<Crew, TrialError> {
        let (first_job, jobs) = self.plan.jobs;
        let (opened, openings) = mpsc::channel();
        let mut crew = Crew {
            plan: self.plan,
            first: self.first,
            handles: Vec::new(),
            counters: Vec::new(),
            gates: Vec::new(),
        };
        let mut failure = None;
        for index in 0..jobs {
            let job = first_job + index;
            let counters = Arc::new(JobCounters::default());
            crew.counters.push(Arc::clone(&counters));
            let (gate_opener, gate) = mpsc::channel();
            crew.gates.push(gate_opener);
            let number = self.first + index;
            let life = Life { job, number, plan: crew.plan.clone(), gate, counters };
            let (opened, leaving) = (opened.clone(), self.leaving.clone());
            let open = Arc::clone(open);
            let builder = thread::Builder::new().name(format!("job-{number}"));
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
        Err(failure.or(crew.disband()).unwrap_or(TrialError::Lost))
    }
}

impl EngineVisitor for CrewStart {
    type Output = Result<Crew, TrialError>;

    fn array(&self) -> bool {
        self.plan.array.is_some()
    }

    fn striped(&self) -> bool {
        self.plan.workload.stripe_bytes.is_some()
    }

    fn visit<E: OpenEngine>(self) -> Self::Output {
        let open: Opening<E> = Arc::new(|_, setup: &Setup| E::open(setup));
        self.on(&open)
    }
}

pub(crate) struct Crew {
    plan: RunPlan,
    first: u32,
    handles: Vec<JoinHandle<Outcome>>,
    counters: Vec<Arc<JobCounters>>,
    /// Threads wait here until all engines are open. A thread exits if its channel is dropped.
    gates: Vec<mpsc::Sender<Arc<Control>>>,
}

impl Drop for Crew {
    /// A crew whose trial does not begin ends, so that its threads do not hold the targets any longer.
    fn drop(&mut self) {
        self.disband();
    }
}

struct Collected {
    totals: JobTotals,
    logs: Vec<VerifyLog>,
    stuck: Stuck,
}

impl Crew {
    /// Ends all threads that have not been collected; returns the first error.
    pub(crate) fn disband(&mut self) -> Option<TrialError> {
        self.gates.clear();
        let mut failure = None;
        for (job, handle) in self.handles.drain(..).enumerate() {
            match handle.join() {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => failure = failure.or(Some(error.into())),
                Err(_) => failure = failure.or(Some(TrialError::Panic(job as u32))),
            }
        }
        failure
    }

    pub(crate) fn jobs(&self) -> u32 {
        self.handles.len() as u32
    }

    fn let_go(&mut self, control: &Arc<Control>) {
        for gate in self.gates.drain(..) {
            // A thread that died meanwhile reports it at its end.
            let _ = gate.send(Arc::clone(control));
        }
    }

    /// Joins the threads that ended and reads the counters of those that are left behind.
    fn collect(&mut self, finished: &[bool]) -> Result<Collected, TrialError> {
        let mut collected =
            Collected { totals: JobTotals::default(), logs: Vec::new(), stuck: Stuck::default() };
        let mut failure = None;
        for (job, handle) in self.handles.drain(..).enumerate() {
            if !finished[self.first as usize + job] {
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

pub(crate) struct Driver<'a> {
    pub(crate) probe: &'a mut dyn Probe,
    /// Agrees on the begin of a part of a larger run.
    pub(crate) begin: Option<AgreeOnBegin>,
    /// Judges the precision of that run.
    pub(crate) judge: Option<Box<dyn JudgeElsewhere>>,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) tick: &'a mut dyn FnMut(f64),
}

impl Driver<'_> {
    /// Runs workloads at the same time. Counters are read at the window of the first, and its measurement
    /// contains those of the others.
    pub(crate) fn run(
        mut self,
        mut crews: Vec<Crew>,
        rebuild: Option<RebuildCrew>,
        endings: &mpsc::Receiver<u32>,
    ) -> Result<Measurement, TrialError> {
        let jobs: usize = crews.iter().map(|crew| crew.handles.len()).sum();
        let jobs = jobs + usize::from(rebuild.is_some());
        let lead = LEAD.plus(Nanos(LEAD_PER_JOB.0 * jobs as u64));
        let ahead = |crew: &Crew| crew.plan.ahead().since(crew.plan.delay);
        let ahead = crews.iter().map(ahead).max().unwrap_or_default();
        let clock = crews[0].plan.clock;
        let agreed = self.agreed(&crews, clock, lead.plus(ahead))?;
        // If no requests precede the window, take the first reading before any request. It then cannot be
        // late, and a short run on a busy machine is counted from its first byte.
        let at_rest = (ahead == Nanos(0)).then(|| self.probe.sample());
        let begin = agreed.unwrap_or_else(|| clock.now().plus(lead).plus(ahead));
        let mut groups = Vec::new();
        for crew in &mut crews {
            let workload = &crew.plan.workload;
            let begin = begin.plus(crew.plan.delay);
            let window = Window { begin, end: begin.plus(workload.runtime_ns) };
            let control = Arc::new(Control::new(workload, window));
            crew.let_go(&control);
            groups.push(Group {
                control,
                counters: crew.counters.clone(),
                io_timeout: crew.plan.workload.stop.io_timeout_ns,
            });
        }
        if let Some(rebuild) = &rebuild {
            rebuild.let_go(groups.iter().map(|group| Arc::clone(&group.control)).collect());
            let Group { control, io_timeout, .. } = &groups[0];
            groups.push(Group {
                control: Arc::clone(control),
                counters: vec![Arc::clone(&rebuild.counters)],
                io_timeout: *io_timeout,
            });
        }
        let first = Arc::clone(&crews[0].plan.workload);
        let watch = Watch {
            cut_warm_up: first.stop.cut_warm_up,
            groups: &groups,
            clock,
            stop: self.stop,
            endings,
            finished: vec![false; jobs],
            enough: EnoughSeen::of(&first, self.judge.take()),
        };
        let watched = watch.run(at_rest, self.probe, self.tick);
        let mut collected = Vec::new();
        let mut failure = None;
        for crew in &mut crews {
            match crew.collect(&watched.finished) {
                Ok(found) => collected.push(found),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let mut rebuilt = None;
        if let Some(rebuild) = rebuild {
            let finished = watched.finished[rebuild.number as usize];
            match rebuild.collect(finished) {
                Ok((result, failures)) => {
                    // Counted like failed reads of verification: as writes if the workload only writes.
                    let direction = usize::from(first.read_percent == 0);
                    if let Some(collected) = collected.first_mut() {
                        collected.totals.failures[direction].merge(&failures);
                    }
                    rebuilt = Some(result);
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        if self.stop.load(Ordering::Relaxed) && groups[0].control.nothing_measured() {
            return Err(TrialError::Interrupted);
        }
        let facts = self.probe.facts();
        let of_each = crews.iter().zip(&groups).zip(collected);
        let mut all = of_each.map(|((crew, group), collected)| {
            measurement(&crew.plan, &group.control, collected, (rebuilt.take(), self.stop), &facts)
        });
        let first = all.next().ok_or(TrialError::Lost)??;
        let beside = all.collect::<Result<_, _>>()?;
        Ok(Measurement { before: watched.before, after: watched.after, beside, ..first })
    }
}

impl Driver<'_> {
    /// The agreed begin of the window, if other parts take part; returns when its jobs are due to start.
    fn agreed(
        &mut self,
        crews: &[Crew],
        clock: JobClock,
        ahead: Nanos,
    ) -> Result<Option<Nanos>, TrialError> {
        let Some(mut agree) = self.begin.take() else { return Ok(None) };
        let counters = crews.iter().flat_map(|crew| crew.counters.iter().cloned()).collect();
        let ready = Ready { ahead: ahead.plus(EARLY), counters };
        let begin = agree(&ready)?;
        // A thread that wakes up late is still early enough; requests before the window do not count.
        let ahead = ahead.plus(EARLY);
        while clock.now().plus(ahead) < begin {
            if self.stop.load(Ordering::Relaxed) {
                return Err(TrialError::Interrupted);
            }
            let left = begin.since(clock.now().plus(ahead)).min(DELAY_PIECE);
            sleep_until(clock, clock.now().plus(left));
        }
        // A late part begins when it can, and reports the delay.
        let least = ahead.since(EARLY);
        Ok(Some(begin.max(clock.now().plus(least))))
    }
}

fn measurement(
    plan: &RunPlan,
    control: &Control,
    collected: Collected,
    (rebuild, stop): (Option<RebuildResult>, &AtomicBool),
    facts: &ProbeFacts,
) -> Result<Measurement, TrialError> {
    let Collected { mut totals, logs, stuck } = collected;
    let interrupted = stop.load(Ordering::Relaxed);
    let state = plan.array.as_ref().map(|array| array.rebuild()).unwrap_or_default();
    let array = plan.workload.array.zip(workload::volume_spec(&plan.workload));
    let mut legs =
        array.map(|(array, spec)| Legs::new(&plan.files, &spec, array.leg_bytes.0, &state));
    let verifies = !logs.is_empty();
    if verifies {
        let checked = match stuck.jobs {
            _ if interrupted => not_read_back(&logs, "the run was interrupted"),
            0 => read_back(&plan.workload, logs, &plan.files, legs.as_mut(), stop),
            _ => not_read_back(&logs, "the device stopped answering"),
        };
        if !interrupted && stop.load(Ordering::Relaxed) {
            return Err(TrialError::Interrupted);
        }
        // Failed reads count as reads, or as writes if the run makes no reads.
        let direction = usize::from(plan.workload.read_percent == 0);
        totals.failures[direction].merge(&checked.failures);
        totals.verify = Some(checked.result);
    }
    let compared =
        plan.compares && (verifies || plan.verified || rebuild.is_some()) && !interrupted;
    let check = legs.filter(|_| compared && stuck.jobs == 0).map(|mut legs| {
        if !verifies {
            // Compare the device's data, not the page cache's.
            let _ = read_back::method(&plan.workload, &plan.files);
        }
        let made = plan.made.as_ref().map_or(0, |before| before.made);
        LegCheck { made, ..legs.compare(&state, false, stop) }
    });
    if check.is_some() || rebuild.is_some() {
        totals.array = Some(Box::new(ArrayResult { check, rebuild }));
    }
    Ok(control.measurement(totals, stuck, facts))
}

/// Everything that a job's thread needs; it owns all of it.
struct Life {
    job: u32,
    number: u32,
    plan: RunPlan,
    gate: mpsc::Receiver<Arc<Control>>,
    counters: Arc<JobCounters>,
}

/// Binds the thread, and the threads that it starts, to processors.
fn bind(processors: &[u32]) -> Result<(), EngineError> {
    if processors.is_empty() {
        return Ok(());
    }
    let set = processors.iter().copied().collect();
    kernel::bind_to_processors(&set).map_err(|error| EngineError::Processors(error.to_string()))
}

impl Life {
    fn live<E: Engine>(
        self,
        open: &(dyn Fn(u32, &Setup) -> Result<E, EngineError> + Send + Sync),
        opened: &mpsc::Sender<bool>,
        endings: mpsc::Sender<u32>,
    ) -> Outcome {
        let mut leaving = Leaving::new(self.number, endings);
        let workload = &self.plan.workload;
        let joined = workload.cgroup.as_deref().map_or(Ok(()), engine::join_control_group);
        let priority = workload.io_priority;
        let ranked = joined.and_then(|()| priority.map_or(Ok(()), engine::set_io_priority));
        let bound = ranked.and_then(|()| bind(&workload.processors));
        let engine = bound.and_then(|()| open(self.job, &setup_of(&self.plan, self.job)));
        // The receiver outlives all threads; if it were gone, the gate would still decide.
        let _ = opened.send(engine.is_ok());
        let control = self.gate.recv();
        let (engine, Ok(control)) = (engine?, control) else {
            return Ok((JobTotals::default(), None));
        };
        leaving.watch(&control);
        let run = &self.plan;
        if run.workload.arrival != Arrival::Closed || run.workload.think_ns.0 > 0 {
            engine::sleep_precisely();
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
        if run.delay > Nanos(0) {
            let begin = Nanos(control.window().begin.0.saturating_sub(run.ahead().0));
            // Sleep in short pieces, because the run may end meanwhile.
            while self.plan.clock.now() < begin && self.plan.clock.now() < control.end() {
                self.sleep_until(begin.min(self.plan.clock.now().plus(DELAY_PIECE)));
            }
        }
        if control.finite() && run.workload.ramp_ns.0 == 0 {
            // Otherwise requests handed over before the window would be added to the requested bytes.
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
        sleep_until(self.plan.clock, time);
    }
}
