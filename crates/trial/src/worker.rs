//! The loop of a job, as a state machine that any driver can step.
//!
//! A step refills free slots from the request stream, hands the requests over, waits, and accounts
//! for what came back. Two clock readings a step serve all of its requests: one between
//! preparation and hand-over, which starts their clocks, and one after the wait, which ends those
//! of the requests that came back. A response time therefore includes at most the time in which
//! the kernel took the rest of the same batch.
//!
//! Nothing is allocated after the first step; counts, sums and histogram are all that is kept of a
//! request. Rejected: a timestamp per request on its own clock reading (at depth 32 most of the
//! harness's time), and keeping every response time (memory traffic that the device would feel).

use crate::{JobTally, SLICES, Window};
use engine::{Clock, Completion, Engine, EngineError, Submission};
use record::{Nanos, OpKind};
use std::sync::atomic::{AtomicBool, Ordering};
use workload::{Request, RequestStream};

/// Descriptors drawn from the stream at a time.
const BATCH: usize = 256;
/// Failures in a row, without one success, after which a job gives up: a device that is gone
/// fails each request at once, and repeating that for the rest of the run helps nobody.
const MAX_FAILURES_IN_A_ROW: u64 = 1_000;

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something completed.
    Progress,
    /// Nothing is due at this moment of virtual time.
    Blocked,
    /// The job has ended and nothing is in flight.
    Done,
}

/// A job.
#[derive(Debug)]
pub struct Worker<'a, E, C> {
    engine: E,
    clock: C,
    stream: RequestStream,
    batch: Vec<Request>,
    next: usize,
    window: Window,
    stop: &'a AtomicBool,
    /// Per slot: its request, and when its clock started.
    requests: Vec<Request>,
    started: Vec<Nanos>,
    free: Vec<u32>,
    prepared: Vec<Submission>,
    done: Vec<Completion>,
    in_flight: u32,
    stopping: bool,
    failures_in_a_row: u64,
    slice: usize,
    slice_end: Nanos,
    slice_length: Nanos,
    tally: JobTally,
}

impl<'a, E: Engine, C: Clock> Worker<'a, E, C> {
    /// A job that keeps `depth` requests in flight until the window ends or `stop` is set.
    #[must_use]
    pub fn new(
        engine: E,
        clock: C,
        stream: RequestStream,
        depth: u32,
        window: Window,
        stop: &'a AtomicBool,
    ) -> Self {
        let empty = Request { offset: 0, bytes: 0, op: OpKind::Read };
        let slice_length = Nanos((window.end.since(window.begin).0 / SLICES as u64).max(1));
        Self {
            engine,
            clock,
            stream,
            batch: vec![empty; BATCH],
            next: BATCH,
            window,
            stop,
            requests: vec![empty; depth as usize],
            started: vec![Nanos(0); depth as usize],
            free: (0..depth).rev().collect(),
            prepared: Vec::with_capacity(depth as usize),
            done: Vec::with_capacity(depth as usize),
            in_flight: 0,
            stopping: false,
            failures_in_a_row: 0,
            slice: 0,
            slice_end: window.begin.plus(slice_length),
            slice_length,
            tally: JobTally::new(),
        }
    }

    /// Goes one step on.
    ///
    /// # Errors
    /// If the engine broke.
    #[inline]
    pub fn step(&mut self) -> Result<Step, EngineError> {
        if !self.free.is_empty() && !self.stopping {
            self.refill();
        }
        if self.in_flight == 0 {
            return Ok(Step::Done);
        }
        self.done.clear();
        let min = if self.stopping { self.in_flight } else { 1 };
        self.engine.wait(min, self.in_flight, None, &mut self.done)?;
        if self.done.is_empty() {
            return Ok(Step::Blocked);
        }
        self.account();
        Ok(Step::Progress)
    }

    /// Prepares a request for every free slot and starts their clocks.
    fn refill(&mut self) {
        self.prepared.clear();
        while let Some(slot) = self.free.pop() {
            if self.next == self.batch.len() {
                self.stream.fill(&mut self.batch);
                self.next = 0;
            }
            let request = self.batch[self.next];
            self.next += 1;
            self.requests[slot as usize] = request;
            self.prepared.push(Submission { request, slot });
        }
        let now = self.clock.now();
        if now >= self.window.end || self.stop.load(Ordering::Relaxed) {
            self.stopping = true;
            return;
        }
        self.engine.prepare(&self.prepared);
        let start = self.clock.now();
        for submission in &self.prepared {
            self.started[submission.slot as usize] = start;
        }
        self.in_flight += self.prepared.len() as u32;
    }

    /// Books every completion at one reading of the clock.
    fn account(&mut self) {
        let now = self.clock.now();
        let counted = now >= self.window.begin && now < self.window.end;
        while counted && now >= self.slice_end && self.slice + 1 < SLICES {
            self.slice += 1;
            self.slice_end = self.slice_end.plus(self.slice_length);
        }
        self.in_flight -= self.done.len() as u32;
        for position in 0..self.done.len() {
            let completion = self.done[position];
            let request = self.requests[completion.slot as usize];
            self.free.push(completion.slot);
            if completion.outcome != request.bytes as i32 {
                self.book_failure(request, completion.outcome, now);
                continue;
            }
            self.failures_in_a_row = 0;
            if counted {
                let response = now.since(self.started[completion.slot as usize]).0;
                self.book(request, response);
            }
        }
    }

    #[inline]
    fn book(&mut self, request: Request, response_ns: u64) {
        let direction = request.op as usize;
        let tally = &mut self.tally.directions[direction];
        tally.ios += 1;
        tally.bytes += u64::from(request.bytes);
        tally.response_ns += response_ns;
        tally.histogram.record(response_ns);
        let slice = &mut self.tally.slices[self.slice];
        slice.ios[direction] += 1;
        slice.response_ns[direction] += response_ns;
    }

    #[cold]
    fn book_failure(&mut self, request: Request, outcome: i32, now: Nanos) {
        let tally = &mut self.tally.directions[request.op as usize];
        if outcome < 0 {
            *tally.errors.entry(-outcome).or_default() += 1;
        } else {
            tally.short += 1;
        }
        self.failures_in_a_row += 1;
        if self.failures_in_a_row >= MAX_FAILURES_IN_A_ROW && !self.stopping {
            self.stopping = true;
            self.tally.gave_up = Some(now);
        }
    }

    /// What was counted; the engine is closed.
    #[must_use]
    pub fn finish(mut self) -> JobTally {
        debug_assert_eq!(self.in_flight, 0, "a job drains before it ends");
        self.tally.features = self.engine.features();
        self.tally
    }
}
