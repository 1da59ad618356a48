//! The loop of a job that is not always busy: it has arrivals, think time, or ordered slots.
//!
//! An open loop hands a request over at its intended arrival, or as soon as a slot is free, in order; none
//! is dropped. Latency counts from the intended arrival, so a stall is charged to every arrival during it.
//! Until shortly before the next arrival the job blocks in the kernel. Then it polls, because a sleeping
//! thread wakes up tens of microseconds late. Polling time is counted and excluded from the CPU cost of the
//! load.

use super::{Step, Worker};
use engine::{Clock, Engine, EngineError, Submission, Wait};
use record::Nanos;

/// Longest block in the kernel while waiting for an arrival: the run may end meanwhile.
const PATIENCE: Nanos = Nanos(100_000_000);

impl<E: Engine, C: Clock> Worker<E, C> {
    /// A step of every loop that may have to wait for a moment. `ordered`: a slot becomes free only when
    /// all older ones are done.
    // Not inlined: in one function with the closed loop it was slower, by 1 % of the null engine's time.
    #[inline(never)]
    pub(super) fn step_paced<const OPEN: bool>(
        &mut self,
        ordered: bool,
    ) -> Result<Step, EngineError> {
        let now = self.clock.now();
        self.now = now;
        self.end_poll(now);
        if now >= self.boundaries.next() || now >= self.control.end() {
            self.pass_boundaries(now);
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
                self.engine.wait(Wait::new(self.in_flight, self.in_flight), &mut self.done)?;
            }
            (false, None) => self.engine.wait(Wait::new(1, self.in_flight), &mut self.done)?,
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

    /// Hands over the due requests, as far as slots are free.
    fn take_due<const OPEN: bool>(&mut self, now: Nanos, ordered: bool) -> Result<(), EngineError> {
        self.prepared.clear();
        while !self.free.is_empty() {
            let (request, arrived) = match &mut self.arrivals {
                Some(arrivals) if OPEN => {
                    let Some((request, at)) = arrivals.due.peek() else {
                        self.out_of_requests();
                        break;
                    };
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

    /// When the next request is due; `None` if only a completion can make one due.
    fn next_moment<const OPEN: bool>(&mut self) -> Option<Nanos> {
        if OPEN {
            let arrivals = self.arrivals.as_mut().filter(|_| !self.free.is_empty())?;
            return arrivals.due.peek().map(|(_, at)| at);
        }
        self.think.slots.front().map(|&(at, _)| at)
    }

    /// Blocks until a completion or shortly before `moment`, or polls if that is near; returns how long the
    /// job is idle if nothing is in flight.
    fn wait_until(&mut self, moment: Nanos, now: Nanos) -> Result<Option<Step>, EngineError> {
        let spin = self.arrivals.as_ref().map_or(Nanos(0), |arrivals| arrivals.spin);
        let wake =
            Nanos(moment.0.saturating_sub(spin.0)).min(self.control.end()).min(now.plus(PATIENCE));
        if wake > now {
            let min = self.in_flight.min(1);
            self.engine.wait(Wait::new(min, self.in_flight).until(wake), &mut self.done)?;
            if self.in_flight == 0 {
                return Ok(Some(Step::Idle(wake)));
            }
            return Ok(None);
        }
        if self.in_flight > 0 {
            self.engine.wait(Wait::new(0, self.in_flight), &mut self.done)?;
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

    /// Frees the slots of `done`, as the discipline requires.
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
