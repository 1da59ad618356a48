//! Runs the loop of a job, as a state machine that any driver can step.
//!
//! A step fills free slots from the request stream, hands the requests over, waits, and accounts for the
//! completions. Two clock readings per step cover all of its requests: one between preparation and
//! hand-over, one after the wait. A latency therefore includes at most the time in which the kernel
//! accepted the rest of the same batch. One batch in a few hundred is handed over by a call of its own to
//! measure that time.
//!
//! The fast path is a closed loop that continues with whichever request completes. Everything else
//! (arrivals, think time, other completion disciplines, flushes, verification) costs it one branch per
//! step, never one per request; see `paced`, `callback` and `flushed`. The boundaries of slices, segments
//! and intervals cost one comparison per step.
//!
//! Nothing is allocated between boundaries. Rejected: a clock reading per request (at depth 32 most of the
//! harness's time), and storing every latency (memory traffic that would slow the device's transfers).

mod accounting;
mod callback;
mod flushed;
mod paced;

pub use callback::CALLBACK_DEPTH_MAX;

use crate::arrivals::{Arrivals, BATCH, NO_REQUEST, Think};
use crate::batching::Search;
use crate::verify::VerifyLog;
use crate::window_boundaries::WindowBoundaries;
use crate::{Batch, BatchChoice, BatchTotals, Control, JobCounters, JobTotals, Window};
use engine::{Clock, Completion, Engine, EngineError, Submission, Wait};
use flushed::Commit;
use record::{Arrival, Data, Discipline, Nanos, OpKind, Workload};
use std::sync::Arc;
use workload::{Request, RequestStream};

/// One in this many hand-overs is timed separately; a power of two.
const TIMED_EVERY: u64 = 256;

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A request completed.
    Progress,
    /// Nothing is due now. In virtual time the driver advances the clock; in real time it may step again.
    Blocked,
    /// Nothing is in flight, and nothing is due before this moment.
    Idle(Nanos),
    /// The job has ended and nothing is in flight.
    Done,
}

/// The plan of one job.
#[derive(Clone, Debug)]
pub struct JobPlan<'a> {
    /// The workload to run.
    pub workload: &'a Workload,
    /// Seed of its requests.
    pub seed: u64,
    /// Number of the job, from 0.
    pub job: u32,
    /// Maximum requests in flight, at least 1.
    pub depth: u32,
    /// Decides when the run ends.
    pub control: Arc<Control>,
    /// Publishes what the job counts.
    pub counters: Arc<JobCounters>,
    /// How long before an arrival it stops blocking in the kernel and polls; zero in virtual time.
    pub spin: Nanos,
    /// How it hands requests over and waits for them.
    pub batching: BatchChoice,
}

impl<'a> JobPlan<'a> {
    /// A plan for a single job, for benches and measurements of the harness.
    #[must_use]
    pub fn alone(workload: &'a Workload, window: Window) -> Self {
        Self {
            workload,
            seed: 0,
            job: 0,
            depth: workload.iodepth,
            control: Arc::new(Control::new(workload, window)),
            counters: Arc::new(JobCounters::default()),
            spin: Nanos(0),
            batching: BatchChoice::Fixed(Batch::TOGETHER),
        }
    }
}

/// A slot: its request and the times when it started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    request: Request,
    started: Nanos,
    /// Intended arrival, in an open loop.
    arrived: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loop {
    Closed,
    Callback,
    Paced,
    Open,
    Flushed,
}

/// A job.
#[derive(Debug)]
pub struct Worker<E, C> {
    engine: E,
    clock: C,
    stream: RequestStream,
    batch: Vec<Request>,
    next: usize,
    control: Arc<Control>,
    counters: Arc<JobCounters>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    prepared: Vec<Submission>,
    done: Vec<Completion>,
    in_flight: u32,
    now: Nanos,
    stopping: bool,
    failures_in_a_row: u64,
    boundaries: WindowBoundaries,
    last_counted: Nanos,
    batches: BatchTotals,
    /// The current way to hand requests over and wait for them, and the search for it.
    way: Batch,
    search: Option<Box<Search>>,
    how: Loop,
    /// The only direction of its requests, if they all have the same one.
    only_op: Option<OpKind>,
    calls: bool,
    discipline: Discipline,
    /// Slots in the order of their requests, and which are done. Used if a slot becomes free only when all
    /// older ones are done.
    order: std::collections::VecDeque<u32>,
    finished: Vec<bool>,
    posted: std::collections::VecDeque<Completion>,
    callback_depth: u32,
    arrivals: Option<Box<Arrivals>>,
    think: Think,
    commit: Option<Commit>,
    log: Option<Box<VerifyLog>>,
    generations: Vec<u64>,
    job: u32,
}

impl<E: Engine, C: Clock> Worker<E, C> {
    /// A job that runs until the window ends or its control says so.
    #[must_use]
    pub fn new(engine: E, clock: C, plan: &JobPlan<'_>) -> Self {
        let workload = plan.workload;
        let depth = plan.depth as usize;
        let open = workload.arrival != Arrival::Closed;
        let calls =
            matches!(workload.discipline, Discipline::Callback | Discipline::CallbackPosted);
        let how = match (open, calls) {
            (true, _) => Loop::Open,
            _ if workload.flush.is_some() => Loop::Flushed,
            // The loop wakes a thinking slot, not a completion, so calls do not nest.
            _ if workload.think_ns.0 > 0 => Loop::Paced,
            (_, true) => Loop::Callback,
            _ if workload.discipline == Discipline::OldestFirst => Loop::Paced,
            _ => Loop::Closed,
        };
        let stream = RequestStream::new(workload, plan.seed, plan.job);
        let log = (workload.data == Data::Tagged)
            .then(|| Box::new(VerifyLog::new(workload, plan.seed, plan.job)));
        Self {
            engine,
            clock,
            arrivals: open.then(|| {
                Box::new(Arrivals::new(&stream, workload, plan.control.window(), plan.spin))
            }),
            think: Think::new(workload, plan.depth),
            stream,
            batch: vec![NO_REQUEST; BATCH],
            next: BATCH,
            control: Arc::clone(&plan.control),
            counters: Arc::clone(&plan.counters),
            slots: vec![Slot { request: NO_REQUEST, started: Nanos(0), arrived: Nanos(0) }; depth],
            free: (0..plan.depth).rev().collect(),
            prepared: Vec::with_capacity(depth),
            done: Vec::with_capacity(depth),
            in_flight: 0,
            now: Nanos(0),
            stopping: false,
            failures_in_a_row: 0,
            boundaries: WindowBoundaries::new(plan.control.window(), workload.stop.interval_ns),
            last_counted: Nanos(0),
            batches: BatchTotals::default(),
            way: match plan.batching {
                BatchChoice::Fixed(way) => way,
                BatchChoice::Search(ways) => ways.first(),
            },
            search: match plan.batching {
                BatchChoice::Search(ways) if how == Loop::Closed => Search::new(ways).map(Box::new),
                _ => None,
            },
            how,
            only_op: workload.only_op(),
            calls,
            discipline: workload.discipline,
            order: std::collections::VecDeque::with_capacity(depth),
            finished: vec![false; depth],
            posted: std::collections::VecDeque::with_capacity(depth),
            callback_depth: 0,
            commit: workload.flush.map(Commit::new),
            generations: vec![0; if log.is_some() { depth } else { 0 }],
            log,
            job: plan.job,
        }
    }

    /// Makes one step.
    ///
    /// # Errors
    /// If the engine failed.
    #[inline]
    pub fn step(&mut self) -> Result<Step, EngineError> {
        match self.how {
            Loop::Closed => self.step_closed(),
            Loop::Callback => self.step_callback(self.discipline == Discipline::CallbackPosted),
            Loop::Paced => self.step_paced::<false>(self.discipline == Discipline::OldestFirst),
            Loop::Flushed => self.step_flushed(),
            Loop::Open => self.step_paced::<true>(self.discipline == Discipline::OldestFirst),
        }
    }

    #[inline]
    fn step_closed(&mut self) -> Result<Step, EngineError> {
        if !self.free.is_empty() && !self.stopping {
            self.refill()?;
        }
        if self.in_flight == 0 {
            return Ok(Step::Done);
        }
        self.done.clear();
        let min =
            if self.stopping { self.in_flight } else { self.way.wait_for.min(self.in_flight) };
        // One by one in both directions: the next request goes out before another completion is taken.
        let max = if self.way.one_by_one && !self.stopping { 1 } else { self.in_flight };
        if min > 1 && self.batches.calls.is_multiple_of(TIMED_EVERY) {
            self.wait_timed(min)?;
        } else {
            self.engine.wait(Wait::new(min, max), &mut self.done)?;
        }
        if self.done.is_empty() {
            return Ok(Step::Blocked);
        }
        self.account::<true, false>();
        if self.search.is_some() {
            self.search();
        }
        Ok(Step::Progress)
    }

    /// Waits for the first completion alone, and measures how long the others take.
    #[cold]
    fn wait_timed(&mut self, min: u32) -> Result<(), EngineError> {
        self.engine.wait(Wait::new(1, self.in_flight), &mut self.done)?;
        let first = self.clock.now();
        let got = self.done.len() as u32;
        if got > 0 && got < min {
            self.engine.wait(Wait::new(min - got, self.in_flight - got), &mut self.done)?;
        }
        if !self.stopping && self.search.is_none() {
            self.batches.waits.add(self.clock.now().since(first).0);
        }
        Ok(())
    }

    #[cold]
    fn search(&mut self) {
        let Some(search) = &mut self.search else { return };
        let turned = search.observe(self.now, self.done.len());
        if search.over() || self.now >= self.control.window().begin {
            self.way = search.choice();
            self.search = None;
        } else if turned {
            self.way = search.current();
        }
    }

    /// Draws more requests from the stream when all are used.
    #[inline]
    fn fill_batch(&mut self) {
        if self.next == self.batch.len() {
            let count = self.stream.fill(&mut self.batch);
            self.next = 0;
            if count < self.batch.len() {
                self.batch.truncate(count);
            }
        }
    }

    /// Ends the job after its last request, if the stream is finite.
    #[cold]
    fn out_of_requests(&mut self) {
        self.stopping = true;
        self.control.job_out_of_requests();
    }

    #[inline]
    fn draw(&mut self) -> Request {
        self.fill_batch();
        let request = self.batch[self.next];
        self.next += 1;
        request
    }

    /// Prepares a request for every free slot and starts their clocks.
    #[inline]
    fn refill(&mut self) -> Result<(), EngineError> {
        // The time of the last completion is precise enough to end a run.
        if self.now >= self.control.end() {
            self.stopping = true;
            return Ok(());
        }
        self.prepared.clear();
        while !self.free.is_empty() {
            self.fill_batch();
            let count = self.free.len().min(self.batch.len() - self.next);
            if count == 0 {
                self.out_of_requests();
                break;
            }
            let requests = &self.batch[self.next..self.next + count];
            let slots = self.slots.as_mut_slice();
            let taken = self.free.drain(self.free.len() - count..).rev();
            self.prepared.extend(taken.zip(requests).map(|(slot, &request)| {
                slots[slot as usize].request = request;
                Submission { request, slot, generation: 0 }
            }));
            self.next += count;
        }
        if self.prepared.is_empty() {
            return Ok(());
        }
        self.start()
    }

    /// Hands `prepared` to the engine and starts the clocks of its requests.
    // A release build is linked for size. The linker's inliner would leave code that runs once per batch of
    // the closed loop in separate functions, at a cost of 1 % of the null engine's time.
    #[inline(always)]
    fn start(&mut self) -> Result<(), EngineError> {
        if self.control.limited() {
            self.claim();
        }
        if self.log.is_some() {
            self.tag();
        }
        if self.way.one_by_one && self.prepared.len() > 1 {
            return self.start_one_by_one();
        }
        self.engine.prepare(&self.prepared);
        let start = self.clock.now();
        let slots = self.slots.as_mut_slice();
        for submission in &self.prepared {
            slots[submission.slot as usize].started = start;
        }
        if self.in_flight == 0 {
            self.counters.beat(start);
        }
        let count = self.prepared.len();
        self.in_flight += count as u32;
        self.counters.set_in_flight(self.in_flight);
        self.batches.calls += 1;
        self.batches.requests += count as u64;
        if self.batches.calls.is_multiple_of(TIMED_EVERY) && count > 1 {
            self.time_hand_over(start)?;
        }
        Ok(())
    }

    /// As `start`, with a call and a clock reading per request.
    #[inline(never)]
    fn start_one_by_one(&mut self) -> Result<(), EngineError> {
        for submission in &self.prepared {
            self.engine.prepare(std::slice::from_ref(submission));
            let start = self.clock.now();
            self.slots[submission.slot as usize].started = start;
            if self.in_flight == 0 {
                self.counters.beat(start);
            }
            self.in_flight += 1;
            self.counters.set_in_flight(self.in_flight);
            self.engine.hand_over()?;
        }
        let count = self.prepared.len() as u64;
        self.batches.calls += count;
        self.batches.requests += count;
        Ok(())
    }

    /// Measures how long the kernel takes to accept a batch.
    #[cold]
    fn time_hand_over(&mut self, start: Nanos) -> Result<(), EngineError> {
        self.engine.hand_over()?;
        self.batches.timed.add(self.clock.now().since(start).0);
        Ok(())
    }

    /// Keeps only the `prepared` requests that the byte budget allows; ends the job if that is not all.
    #[cold]
    fn claim(&mut self) {
        let now = self.clock.now();
        if now < self.control.window().begin {
            return;
        }
        let wanted: u64 = self.prepared.iter().map(|it| u64::from(it.request.bytes)).sum();
        let granted = self.control.claim(self.job, wanted);
        if granted == wanted {
            return;
        }
        self.stopping = true;
        let mut used = 0;
        let kept = self.prepared.iter().position(|submission| {
            let enough = used >= granted;
            used += u64::from(submission.request.bytes);
            enough
        });
        for dropped in self.prepared.drain(kept.unwrap_or(self.prepared.len())..) {
            self.free.push(dropped.slot);
            // In the order for oldest-first, the newest slots are at the end.
            self.order.retain(|&slot| slot != dropped.slot);
        }
    }

    /// Assigns generations to the writes among `prepared`.
    #[cold]
    fn tag(&mut self) {
        let Some(log) = &mut self.log else { return };
        for submission in &mut self.prepared {
            if submission.request.op == OpKind::Write {
                submission.generation = log.begin(submission.request);
                self.generations[submission.slot as usize] = submission.generation;
            }
        }
    }

    /// The counts, and the log of writes if they are to be verified; closes the engine.
    #[must_use]
    pub fn finish(mut self) -> (JobTotals, Option<VerifyLog>) {
        debug_assert_eq!(self.in_flight, 0, "a job drains before it ends");
        let end = self.now.max(self.control.end());
        self.pass_boundaries(end);
        let mut totals = self.counters.take();
        totals.features = self.engine.features();
        totals.last = self.last_counted;
        totals.batches = self.batches;
        totals.batches.complete_batch = self.way.wait_for;
        totals.batches.one_by_one = self.way.one_by_one;
        totals.callback_depth = self.calls.then_some(self.callback_depth.max(1));
        if let Some(arrivals) = self.arrivals {
            // A job that has used up its bytes ends before the planned end.
            totals.open = Some(arrivals.finish(self.control.end().min(self.now)));
        }
        (totals, self.log.map(|log| *log))
    }
}
