//! Rebuilds an array's failed leg, on a thread next to the jobs, by the engine that they use.
//!
//! A step is several whole chunks of the leg, with a few in flight at once, either as fast as possible or
//! at a fixed rate. The watcher treats the thread as a job: it may fall silent, be left behind, or end the
//! run by an error. The result does not: rebuild traffic is reported separately. The run ends with the
//! rebuild, so its latencies are those during the rebuild.

use crate::run_plan::{Leaving, RunPlan, setup_of, sleep_until};
use crate::{Control, Failures, JobCounters, TrialError};
use engine::{
    AsRawFile, Clock, Completion, Engine, EngineError, EngineVisitor, JobClock, OpenEngine,
    RebuildState, Setup, SharedArray, Submission, Wait,
};
use record::{Bytes, EndedBy, Nanos, OpKind, RebuildResult, Redundancy};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use workload::Request;
use workload::volume::{REBUILD_DEPTH, RebuildSteps};

/// The longest sleep before a step that is not yet due.
const LONGEST_SLEEP: Nanos = Nanos(50_000_000);

/// Opened when all engines are open; sends the controls of all workloads, the first workload's first.
type Gate = mpsc::Sender<Vec<Arc<Control>>>;

/// Result of the rebuild, without the array's own counters.
#[derive(Debug)]
struct Outcome {
    failures: Failures,
    begin: Nanos,
    end: Nanos,
}

/// The thread of a rebuild, whose engine is open.
pub(crate) struct RebuildCrew {
    array: Redundancy,
    shared: Arc<SharedArray>,
    handle: JoinHandle<Result<Outcome, EngineError>>,
    gate: Gate,
    pub(crate) counters: Arc<JobCounters>,
    pub(crate) number: u32,
}

pub(crate) struct RebuildStart {
    pub(crate) plan: RunPlan,
    pub(crate) array: Redundancy,
    pub(crate) shared: Arc<SharedArray>,
    pub(crate) number: u32,
    pub(crate) leaving: mpsc::Sender<u32>,
}

impl EngineVisitor for RebuildStart {
    type Output = Result<RebuildCrew, TrialError>;

    fn array(&self) -> bool {
        true
    }

    fn visit<E: OpenEngine>(self) -> Self::Output {
        let (array, shared, number) = (self.array, Arc::clone(&self.shared), self.number);
        let counters = Arc::new(JobCounters::default());
        let (gate, opening) = mpsc::channel();
        let (opened, openings) = mpsc::channel();
        let counted = Arc::clone(&counters);
        let body = move || self.live::<E>(&counted, &opened, &opening);
        let handle = thread::Builder::new()
            .name("rebuild".to_owned())
            .spawn(body)
            .map_err(|source| TrialError::Thread { job: number, jobs: number + 1, source })?;
        if openings.recv() != Ok(true) {
            return Err(match handle.join() {
                Ok(Err(error)) => error.into(),
                Ok(Ok(_)) => TrialError::Lost,
                Err(_) => TrialError::Panic(number),
            });
        }
        Ok(RebuildCrew { array, shared, handle, gate, counters, number })
    }
}

impl RebuildCrew {
    pub(crate) fn let_go(&self, controls: Vec<Arc<Control>>) {
        // A thread that died meanwhile reports it at its end.
        let _ = self.gate.send(controls);
    }

    /// The result; for a thread that did not finish, its progress so far.
    pub(crate) fn collect(self, finished: bool) -> Result<(RebuildResult, Failures), TrialError> {
        let number = self.number;
        if !finished {
            return Ok((self.result(Nanos(0)), Failures::default()));
        }
        let (array, shared) = (self.array, Arc::clone(&self.shared));
        match self.handle.join() {
            Ok(Ok(outcome)) => {
                let length = outcome.end.since(outcome.begin);
                let mut result = result_of(&array, &shared, length);
                result.errors =
                    outcome.failures.errors.values().sum::<u64>() + outcome.failures.short;
                Ok((result, outcome.failures))
            }
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(TrialError::Panic(number)),
        }
    }

    fn result(&self, length: Nanos) -> RebuildResult {
        result_of(&self.array, &self.shared, length)
    }
}

fn result_of(array: &Redundancy, shared: &SharedArray, length: Nanos) -> RebuildResult {
    rebuild_result(array.failed.unwrap_or_default(), array.leg_bytes, &shared.rebuild(), length)
}

/// The result of rebuilding a leg of this many bytes in this time.
#[must_use]
pub fn rebuild_result(
    number: u32,
    leg_bytes: Bytes,
    state: &RebuildState,
    length: Nanos,
) -> RebuildResult {
    let (leg, rebuilt) = (leg_bytes.0, state.rebuilt);
    let complete = rebuilt >= leg;
    let rate = if length.0 > 0 { rebuilt as f64 / length.as_secs_f64() } else { 0.0 };
    let whole = (rebuilt > 0 && length.0 > 0)
        .then(|| Nanos((length.0 as f64 * leg as f64 / rebuilt as f64) as u64));
    RebuildResult {
        leg: number,
        leg_bytes,
        rebuilt_bytes: Bytes(rebuilt),
        read_bytes: state.read.iter().map(|&bytes| Bytes(bytes)).collect(),
        written_bytes: Bytes(state.written),
        duration_ns: length,
        bytes_per_s: rate,
        whole_leg_ns: if complete { Some(length) } else { whole },
        complete,
        errors: 0,
        without: Vec::new(),
    }
}

impl RebuildStart {
    fn live<E: OpenEngine>(
        self,
        counters: &JobCounters,
        opened: &mpsc::Sender<bool>,
        gate: &mpsc::Receiver<Vec<Arc<Control>>>,
    ) -> Result<Outcome, EngineError> {
        let mut leaving = Leaving::new(self.number, self.leaving.clone());
        let chunk = self.plan.workload.stripe_bytes.unwrap_or_default().0;
        let rate = self.array.rebuild.and_then(|pace| pace.bytes_per_s).map(|rate| rate.0);
        let steps = |begin: u64| RebuildSteps::new(chunk, self.array.leg_bytes.0, begin, rate);
        let setup = Setup {
            files: self.plan.files.iter().map(AsRawFile::as_raw_file).collect(),
            array: Some(Arc::clone(&self.shared)),
            rebuilds: true,
            depth: REBUILD_DEPTH,
            max_bytes: u32::try_from(steps(0).bytes()).unwrap_or(u32::MAX),
            reads: false,
            writes: false,
            ..setup_of(&self.plan, 0)
        };
        let engine = E::open(&setup);
        let _ = opened.send(engine.is_ok());
        let mut engine = engine?;
        let Ok(controls) = gate.recv() else {
            return Ok(Outcome { failures: Failures::default(), begin: Nanos(0), end: Nanos(0) });
        };
        let Some(control) = controls.first() else {
            return Ok(Outcome { failures: Failures::default(), begin: Nanos(0), end: Nanos(0) });
        };
        leaving.watch(control);
        let begin = control.window().begin;
        let done = run(&mut engine, steps(begin.0), begin, (self.plan.clock, counters), control);
        let outcome = match done {
            Ok(outcome) => outcome,
            Err(error) => {
                control.end_at(Nanos(0), None);
                return Err(error);
            }
        };
        if self.shared.rebuild().rebuilt >= self.array.leg_bytes.0 {
            // A workload that has transferred all of its bytes has already ended.
            for control in controls.iter().filter(|control| control.exhausted().is_none()) {
                control.end_at(outcome.end, Some(EndedBy::Rebuilt));
            }
        }
        Ok(outcome)
    }
}

/// Makes the steps until the last one, the first failure, or the end of the run.
fn run(
    engine: &mut impl Engine,
    mut steps: RebuildSteps,
    begin: Nanos,
    (clock, counters): (JobClock, &JobCounters),
    control: &Control,
) -> Result<Outcome, EngineError> {
    let mut outcome = Outcome { failures: Failures::default(), begin, end: begin };
    let (mut in_flight, mut failed) = (0u32, false);
    let (mut prepared, mut done): (Vec<Submission>, Vec<Completion>) = (Vec::new(), Vec::new());
    let mut asked = [0u32; REBUILD_DEPTH as usize];
    let mut free: Vec<u32> = (0..REBUILD_DEPTH).rev().collect();
    sleep_until(clock, begin);
    loop {
        let now = clock.now();
        let over = failed || now >= control.end();
        prepared.clear();
        while let Some(&slot) = free.last().filter(|_| !over)
            && let Some((offset, bytes)) = steps.take(now.0)
        {
            free.pop();
            asked[slot as usize] = bytes;
            let request = Request { offset, bytes, op: OpKind::Write };
            prepared.push(Submission { request, slot, generation: 0 });
        }
        if !prepared.is_empty() {
            engine.prepare(&prepared);
            if in_flight == 0 {
                counters.beat(now);
            }
            in_flight += prepared.len() as u32;
            counters.set_in_flight(in_flight);
        }
        let due = steps.due().map(Nanos).filter(|_| !over);
        if in_flight == 0 {
            let Some(due) = due else {
                // An unfinished rebuild lasted until the end of the run.
                if over && !failed && steps.due().is_some() {
                    outcome.end = outcome.end.max(control.end()).min(now);
                }
                break;
            };
            sleep_until(clock, due.min(now.plus(LONGEST_SLEEP)));
            continue;
        }
        done.clear();
        let mut ask = Wait::new(1, in_flight);
        if let Some(due) = due.filter(|_| !free.is_empty()) {
            ask = ask.until(due);
        }
        engine.wait(ask, &mut done)?;
        if done.is_empty() {
            continue;
        }
        in_flight -= done.len() as u32;
        outcome.end = clock.now();
        counters.beat(outcome.end);
        counters.set_in_flight(in_flight);
        for &Completion { slot, outcome: moved } in &done {
            if u32::try_from(moved) != Ok(asked[slot as usize]) {
                outcome.failures.add(moved);
                failed = true;
            }
            free.push(slot);
        }
    }
    Ok(outcome)
}
