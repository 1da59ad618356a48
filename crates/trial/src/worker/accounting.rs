//! Accounts for the completions of a step, at one clock reading.
//!
//! A completion is a success only if it has all of its bytes. Successes go to the counters of the job, failures
//! under a lock, because they are rare. Rejected: one loop for jobs of one direction and of two, in which the
//! choice would cost every request.

use super::Worker;
use crate::job_counters::BatchSums;
use engine::{Clock, Completion, Engine};
use record::{EndedBy, Nanos, OpKind};

/// Failures in a row after which a job gives up: a missing device fails each request at once, and repeating
/// that for the rest of the run is useless.
const MAX_FAILURES_IN_A_ROW: u64 = 1_000;

impl<E: Engine, C: Clock> Worker<E, C> {
    /// Records completed writes in the log.
    #[cold]
    fn settle(&mut self) {
        let Some(log) = &mut self.log else { return };
        for completion in &self.done {
            let request = self.slots[completion.slot as usize].request;
            if request.op == OpKind::Write {
                let whole = completion.outcome == request.bytes as i32;
                log.end(request, self.generations[completion.slot as usize], whole);
            }
        }
    }

    /// Counts every completion of `done` at one clock reading. `RELEASE`: frees their slots at once.
    /// `OPEN`: latencies count from the intended arrival.
    #[inline(always)]
    pub(super) fn account<const RELEASE: bool, const OPEN: bool>(&mut self) {
        let now = self.clock.now();
        self.now = now;
        self.counters.beat(now);
        if now >= self.boundaries.next() || now >= self.control.end() {
            self.pass_boundaries(now);
        }
        self.in_flight -= self.done.len() as u32;
        self.counters.set_in_flight(self.in_flight);
        if self.log.is_some() {
            self.settle();
        }
        let counted = self.boundaries.counting;
        if counted {
            self.last_counted = now;
        }
        if RELEASE {
            self.free.extend(self.done.iter().map(|completion| completion.slot));
        }
        let whole = match (counted, self.only_op) {
            (true, None) => self.book::<OPEN>(now),
            (true, Some(op)) => self.book_only::<OPEN>(now, op),
            (false, _) => {
                let request = |done: &Completion| self.slots[done.slot as usize].request;
                self.done.iter().filter(|done| done.outcome == request(done).bytes as i32).count()
            }
        };
        if whole > 0 {
            self.failures_in_a_row = 0;
        }
        if whole < self.done.len() {
            self.book_failures(now);
        }
    }

    /// Counts the fully completed requests of a job that reads and writes; returns their number.
    #[inline(always)]
    fn book<const OPEN: bool>(&mut self, now: Nanos) -> usize {
        let mut sums = [BatchSums::default(); 2];
        for (turn, completion) in self.done.iter().enumerate() {
            let slot = &self.slots[completion.slot as usize];
            let bytes = slot.request.bytes;
            if completion.outcome != bytes as i32 {
                continue;
            }
            let direction = slot.request.op as usize;
            let completion_ns = now.since(slot.started).0;
            let latency_ns = if OPEN { now.since(slot.arrived).0 } else { completion_ns };
            sums[direction].add(bytes, latency_ns);
            self.counters.latency(direction).record(latency_ns, turn);
            if OPEN {
                self.counters.book_completion(direction, completion_ns, turn);
            }
        }
        self.counters.book(0, &sums[0]);
        self.counters.book(1, &sums[1]);
        (sums[0].ios + sums[1].ios) as usize
    }

    /// As `book`, for a job of one direction, which moves the choice out of the loop.
    #[inline(always)]
    fn book_only<const OPEN: bool>(&mut self, now: Nanos, op: OpKind) -> usize {
        let direction = op as usize;
        let mut sums = BatchSums::default();
        let histogram = self.counters.latency(direction);
        for completion in &self.done {
            let slot = &self.slots[completion.slot as usize];
            let bytes = slot.request.bytes;
            if completion.outcome != bytes as i32 {
                continue;
            }
            let completion_ns = now.since(slot.started).0;
            let latency_ns = if OPEN { now.since(slot.arrived).0 } else { completion_ns };
            let turn = sums.ios as usize;
            sums.add(bytes, latency_ns);
            histogram.record(latency_ns, turn);
            if OPEN {
                self.counters.book_completion(direction, completion_ns, turn);
            }
        }
        self.counters.book(direction, &sums);
        sums.ios as usize
    }

    #[cold]
    pub(super) fn pass_boundaries(&mut self, now: Nanos) {
        let arrivals = self.arrivals.as_deref_mut();
        self.boundaries.pass(now, self.control.end(), &self.counters, arrivals);
    }

    #[cold]
    fn book_failures(&mut self, now: Nanos) {
        let mut failed = 0;
        let mut kept = self.counters.kept();
        for completion in &self.done {
            let request = self.slots[completion.slot as usize].request;
            if completion.outcome == request.bytes as i32 {
                continue;
            }
            kept.failures[request.op as usize].add(completion.outcome);
            failed += 1;
        }
        drop(kept);
        self.failed(failed, now);
    }

    /// Counts failures since the last success; ends the run if there are too many.
    #[cold]
    pub(super) fn failed(&mut self, count: u64, now: Nanos) {
        self.failures_in_a_row += count;
        if self.failures_in_a_row >= MAX_FAILURES_IN_A_ROW && !self.stopping {
            self.stopping = true;
            self.control.end_at(now, Some(EndedBy::Failures));
        }
    }
}
