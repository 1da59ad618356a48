//! The loop of a job that commits: it makes a number of writes, waits for all requests in flight, flushes,
//! and continues when the flush has completed.
//!
//! A flush therefore covers all earlier writes, as in a program whose transaction is durable when the flush
//! returns. A job of depth one is a single committer. If a job's depth equals
//! its writes per flush, each flush commits that many transactions at once (group commit). The reads of a mixed load are waited for too.
//! Rejected: a flush among other requests in flight, as in fio's io_uring engine. It covers only the writes
//! that happen to have completed, and no program could rely on that.

use super::{Step, Worker};
use crate::FLUSH;
use engine::{Clock, Engine, EngineError, Submission, Wait};
use record::{Flush, Nanos, OpKind};

/// Where a job is between two flushes.
#[derive(Debug)]
pub(super) struct Commit {
    flush: Flush,
    /// Writes left to hand over before the next flush.
    left: u32,
    began: Option<Nanos>,
}

impl Commit {
    pub(super) fn new(flush: Flush) -> Self {
        Self { flush, left: flush.every, began: None }
    }
}

impl<E: Engine, C: Clock> Worker<E, C> {
    // Not inlined, for the same reason as `step_paced`.
    #[inline(never)]
    pub(super) fn step_flushed(&mut self) -> Result<Step, EngineError> {
        let Some(commit) = &self.commit else { return Ok(Step::Done) };
        let due = commit.left == 0;
        if !(due || self.stopping) {
            self.refill_to_flush()?;
        } else if self.in_flight == 0 && !self.stopping {
            self.begin_flush();
        }
        if self.in_flight == 0 {
            return Ok(Step::Done);
        }
        self.done.clear();
        let min = if due || self.stopping { self.in_flight } else { 1 };
        self.engine.wait(Wait::new(min, self.in_flight), &mut self.done)?;
        match self.done.first() {
            None => return Ok(Step::Blocked),
            Some(flushed) if self.flushing() => self.end_flush(flushed.outcome),
            Some(_) => self.account::<true, false>(),
        }
        Ok(Step::Progress)
    }

    fn flushing(&self) -> bool {
        self.commit.as_ref().is_some_and(|commit| commit.began.is_some())
    }

    /// Prepares requests for free slots, as far as the next flush allows.
    fn refill_to_flush(&mut self) -> Result<(), EngineError> {
        if self.now >= self.control.end() {
            self.stopping = true;
            return Ok(());
        }
        self.prepared.clear();
        let mut left = self.commit.as_ref().map_or(0, |commit| commit.left);
        while left > 0
            && let Some(slot) = self.free.pop()
        {
            let request = self.draw();
            left -= u32::from(request.op == OpKind::Write);
            self.slots[slot as usize].request = request;
            self.prepared.push(Submission { request, slot, generation: 0 });
        }
        if let Some(commit) = &mut self.commit {
            commit.left = left;
        }
        if self.prepared.is_empty() { Ok(()) } else { self.start() }
    }

    fn begin_flush(&mut self) {
        let Some(commit) = &mut self.commit else { return };
        self.engine.flush(0, commit.flush.kind);
        let now = self.clock.now();
        commit.began = Some(now);
        self.counters.beat(now);
        self.in_flight = 1;
        self.counters.set_in_flight(1);
    }

    fn end_flush(&mut self, outcome: i32) {
        let now = self.clock.now();
        let Some(commit) = &mut self.commit else { return };
        let began = commit.began.take().unwrap_or(now);
        commit.left = commit.flush.every;
        self.now = now;
        self.counters.beat(now);
        if now >= self.boundaries.next() || now >= self.control.end() {
            self.pass_boundaries(now);
        }
        self.in_flight = 0;
        self.counters.set_in_flight(0);
        if outcome < 0 {
            self.counters.kept().failures[FLUSH].add(outcome);
            self.failed(1, now);
        } else if self.boundaries.counting {
            self.last_counted = now;
            self.counters.book_flush(now.since(began).0);
        }
    }
}
