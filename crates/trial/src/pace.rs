//! The loop of a job that is not always busy: arrivals of its own, think time, or slots that wait
//! for older ones.
//!
//! An open loop hands a request over at its intended arrival, or as soon as a slot is free; those
//! that wait are taken in order and none is dropped. Response times count from the intended
//! arrival, so a device that stalls is charged for everybody who would have waited. Until shortly
//! before the next arrival the job blocks in the kernel; then it polls, because a sleeping thread
//! is woken tens of microseconds late. What it polls away is counted, so that it can be kept out
//! of the cost of the load.
//!
//! How many arrivals wait when all slots are in use is counted by a second copy of the request
//! stream that is drawn up to the present moment, only then. Rejected: a queue of the waiting
//! requests (it grows without bound when a device is overloaded), and a thread that makes arrivals
//! (a hand-over between threads costs more than most requests).

use crate::worker::{BATCH, NO_REQUEST, Step, Worker};
use crate::{JobPlan, OpenTally};
use engine::{Clock, Engine, EngineError, Submission};
use record::{Nanos, Workload};
use std::collections::VecDeque;
use workload::{Request, RequestStream};

/// Longest block in the kernel while waiting for an arrival: the run may be ended meanwhile.
const PATIENCE: Nanos = Nanos(100_000_000);

/// Requests with their arrivals, drawn in batches.
#[derive(Debug)]
struct Timed {
    stream: RequestStream,
    requests: Vec<Request>,
    times: Vec<Nanos>,
    next: usize,
    /// When the job's run began.
    origin: Nanos,
}

impl Timed {
    fn new(stream: &RequestStream, origin: Nanos) -> Self {
        Self {
            stream: stream.clone(),
            requests: vec![NO_REQUEST; BATCH],
            times: vec![Nanos(0); BATCH],
            next: BATCH,
            origin,
        }
    }

    /// The next request and its intended arrival.
    fn peek(&mut self) -> (Request, Nanos) {
        if self.next == BATCH {
            self.stream.fill_timed(&mut self.requests, &mut self.times);
            self.next = 0;
        }
        (self.requests[self.next], self.origin.plus(self.times[self.next]))
    }

    fn advance(&mut self) {
        self.next += 1;
    }
}

/// The arrivals of an open loop.
#[derive(Debug)]
pub(crate) struct Arrivals {
    due: Timed,
    /// Handed over since the run began.
    taken: u64,
    /// The same stream, up to the present, and how many it has seen.
    seen: Timed,
    arrived: u64,
    /// Arrivals by direction since counting began.
    offered: [u64; 2],
    /// Since when there has been a free slot all the time; `None` while there is none.
    free_since: Option<Nanos>,
    spin: Nanos,
    spin_ns: u64,
    polling_since: Option<Nanos>,
    counting: bool,
    tally: OpenTally,
}

impl Arrivals {
    pub(crate) fn new(stream: &RequestStream, workload: &Workload, plan: &JobPlan<'_>) -> Self {
        let begin = plan.control.window().begin;
        let origin = Nanos(begin.0.saturating_sub(workload.ramp_ns.0));
        Self {
            due: Timed::new(stream, origin),
            taken: 0,
            seen: Timed::new(stream, origin),
            arrived: 0,
            offered: [0; 2],
            free_since: Some(Nanos(0)),
            spin: plan.spin,
            spin_ns: 0,
            polling_since: None,
            counting: false,
            tally: OpenTally::default(),
        }
    }

    /// Draws the copy up to `now`.
    fn see(&mut self, now: Nanos) {
        loop {
            let (request, at) = self.seen.peek();
            if at >= now {
                return;
            }
            self.seen.advance();
            self.arrived += 1;
            self.offered[request.op as usize] += 1;
        }
    }

    /// From here on arrivals count.
    pub(crate) fn begin_counting(&mut self, begin: Nanos) {
        self.see(begin);
        self.offered = [0; 2];
        self.counting = true;
    }

    /// Counts what waits, all slots being in use.
    fn look_at_backlog(&mut self, now: Nanos) {
        self.see(now);
        let waiting = self.arrived.saturating_sub(self.taken);
        if self.counting {
            self.tally.backlog_max = self.tally.backlog_max.max(waiting);
        }
    }

    /// A request with this arrival was handed over at `start`.
    fn handed_over(&mut self, arrived: Nanos, start: Nanos) {
        self.taken += 1;
        if !self.counting {
            return;
        }
        let late = start.since(arrived).0;
        self.tally.late.record(late);
        self.tally.late_ns += late;
        self.tally.late_max_ns = self.tally.late_max_ns.max(late);
        if self.free_since.is_some_and(|since| since <= arrived) {
            self.tally.pacer_late_ns += late;
            self.tally.pacer_ios += 1;
        }
    }

    pub(crate) fn take_spin(&mut self) -> u64 {
        std::mem::take(&mut self.spin_ns)
    }

    pub(crate) fn tally(&self) -> &OpenTally {
        &self.tally
    }

    /// What it came to when counting ended at `end`.
    pub(crate) fn finish(mut self, end: Nanos) -> OpenTally {
        if self.counting {
            self.see(end);
            self.tally.offered = self.offered;
            self.tally.backlog_end = self.arrived.saturating_sub(self.taken);
            self.tally.backlog_max = self.tally.backlog_max.max(self.tally.backlog_end);
        }
        self.tally
    }
}

/// Slots that think before their next request.
#[derive(Debug)]
pub(crate) struct Think {
    time: Nanos,
    /// When each goes on, soonest first: all think equally long.
    slots: VecDeque<(Nanos, u32)>,
}

impl Think {
    pub(crate) fn new(workload: &Workload, plan: &JobPlan<'_>) -> Self {
        Self { time: workload.think_ns, slots: VecDeque::with_capacity(plan.depth as usize) }
    }
}

impl<E: Engine, C: Clock> Worker<E, C> {
    /// A step of every loop that may have to wait for a moment; `ordered`: a slot is free again
    /// only when all older ones are done.
    pub(crate) fn step_paced<const OPEN: bool>(
        &mut self,
        ordered: bool,
    ) -> Result<Step, EngineError> {
        let now = self.clock.now();
        self.now = now;
        self.end_poll(now);
        if now >= self.edges.next() || now >= self.control.end() {
            self.pass_edges(now);
        }
        self.stopping |= now >= self.control.end();
        if !self.stopping {
            self.wake_thinkers(now);
            self.take_due::<OPEN>(now, ordered)?;
        }
        self.done.clear();
        match (self.stopping, self.next_moment::<OPEN>()) {
            (true, _) if self.in_flight == 0 => return Ok(Step::Done),
            (true, _) => {
                self.engine.wait(self.in_flight, self.in_flight, None, &mut self.done)?;
            }
            (false, None) => self.engine.wait(1, self.in_flight, None, &mut self.done)?,
            (false, Some(moment)) => {
                if let Some(idle) = self.wait_until(moment, now)? {
                    return Ok(idle);
                }
            }
        }
        if self.done.is_empty() {
            return Ok(Step::Blocked);
        }
        self.account::<false, OPEN>();
        self.release(ordered);
        Ok(Step::Progress)
    }

    /// Hands over what is due, as far as there are free slots.
    fn take_due<const OPEN: bool>(&mut self, now: Nanos, ordered: bool) -> Result<(), EngineError> {
        self.prepared.clear();
        while !self.free.is_empty() {
            let (request, arrived) = match &mut self.arrivals {
                Some(arrivals) if OPEN => {
                    let (request, at) = arrivals.due.peek();
                    if at > now {
                        break;
                    }
                    arrivals.due.advance();
                    (request, at)
                }
                _ => (self.draw(), now),
            };
            let Some(slot) = self.free.pop() else { break };
            self.slots[slot as usize].request = request;
            self.slots[slot as usize].arrived = arrived;
            self.prepared.push(Submission { request, slot, generation: 0 });
            if ordered {
                self.order.push_back(slot);
            }
        }
        if !self.prepared.is_empty() {
            self.start()?;
        }
        if let Some(arrivals) = &mut self.arrivals {
            for submission in &self.prepared {
                let slot = &self.slots[submission.slot as usize];
                arrivals.handed_over(slot.arrived, slot.started);
            }
            if self.free.is_empty() {
                arrivals.free_since = None;
                arrivals.look_at_backlog(now);
            }
        }
        Ok(())
    }

    /// When there will be something to hand over, whatever completes; `None` where that takes a
    /// completion.
    fn next_moment<const OPEN: bool>(&mut self) -> Option<Nanos> {
        if OPEN {
            let arrivals = self.arrivals.as_mut().filter(|_| !self.free.is_empty())?;
            return Some(arrivals.due.peek().1);
        }
        self.think.slots.front().map(|&(at, _)| at)
    }

    /// Blocks until something completes or shortly before `moment`, or polls where that is near;
    /// says how long the job is idle where nothing is in flight.
    fn wait_until(&mut self, moment: Nanos, now: Nanos) -> Result<Option<Step>, EngineError> {
        let spin = self.arrivals.as_ref().map_or(Nanos(0), |arrivals| arrivals.spin);
        let wake =
            Nanos(moment.0.saturating_sub(spin.0)).min(self.control.end()).min(now.plus(PATIENCE));
        if wake > now {
            let min = self.in_flight.min(1);
            self.engine.wait(min, self.in_flight, Some(wake), &mut self.done)?;
            if self.in_flight == 0 {
                return Ok(Some(Step::Idle(wake)));
            }
            return Ok(None);
        }
        if self.in_flight > 0 {
            self.engine.wait(0, self.in_flight, None, &mut self.done)?;
        }
        if let Some(arrivals) = self.arrivals.as_mut().filter(|_| self.done.is_empty()) {
            arrivals.polling_since = Some(now);
        }
        Ok(None)
    }

    /// Counts the time of a poll that found nothing.
    fn end_poll(&mut self, now: Nanos) {
        if let Some(arrivals) = &mut self.arrivals
            && let Some(since) = arrivals.polling_since.take()
            && arrivals.counting
        {
            arrivals.spin_ns += now.since(since).0;
        }
    }

    fn wake_thinkers(&mut self, now: Nanos) {
        while let Some(&(at, slot)) = self.think.slots.front() {
            if at > now {
                return;
            }
            self.think.slots.pop_front();
            self.free.push(slot);
        }
    }

    /// Gives the slots of `done` back, as the discipline has it.
    fn release(&mut self, ordered: bool) {
        for position in 0..self.done.len() {
            let slot = self.done[position].slot;
            if !ordered {
                self.slot_ready(slot);
                continue;
            }
            self.finished[slot as usize] = true;
            while let Some(&oldest) = self.order.front() {
                if !self.finished[oldest as usize] {
                    break;
                }
                self.order.pop_front();
                self.finished[oldest as usize] = false;
                self.slot_ready(oldest);
            }
        }
    }

    fn slot_ready(&mut self, slot: u32) {
        if self.think.time.0 > 0 {
            self.think.slots.push_back((self.now.plus(self.think.time), slot));
            return;
        }
        self.free.push(slot);
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.free_since.get_or_insert(self.now);
        }
    }
}
