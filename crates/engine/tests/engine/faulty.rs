//! Wraps an engine and injects faults according to a script.
//!
//! The inner engine carries out every request. The wrapper changes the completion: another outcome, later, or
//! never. The script is a type, so that a faulty engine is an [`OpenEngine`] like any other, or a value for
//! [`Faulty::new`]. Rejected: faults in the device (dm-flakey and fault injection need root), and replacing
//! outcomes in the worker (the path from engine to worker is under test).

use engine::{
    Clock, Completion, Engine, EngineError, MonotonicClock, OpenEngine, Setup, Submission,
    SystemError, Wait,
};
use record::{FlushKind, Nanos, OpKind};
use std::time::Duration;
use workload::Request;

/// Fate of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The outcome of the inner engine.
    None,
    /// This outcome: a negated error number, or bytes (fewer than requested for a short transfer).
    Outcome(i32),
    /// Held back until this many completions of others were returned after it was submitted, or until the
    /// caller waits for it and nothing else is in flight.
    AfterOthers(u32),
    /// Held back until this time after its submission.
    After(Nanos),
    /// It never completes.
    Never,
    /// The engine itself fails with this error number at the next wait, for example because a ring was
    /// removed.
    Breaks(i32),
}

/// Decides which request fails, and how.
pub trait FaultScript {
    /// The fault of the `index`-th request of the job (from 0).
    fn fault(&mut self, index: u64, request: &Request) -> Fault;
}

/// A closure can be a script.
impl<F: FnMut(u64, &Request) -> Fault> FaultScript for F {
    fn fault(&mut self, index: u64, request: &Request) -> Fault {
        self(index, request)
    }
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct Fate {
    fault: Fault,
    /// Number of completions returned when it was prepared.
    before: u64,
    /// Time of its submission.
    begun: Nanos,
}

/// `E` with faults from the script `S`.
#[derive(Debug)]
pub struct Faulty<E, S> {
    inner: E,
    script: S,
    /// Indexed by slot.
    fates: Vec<Fate>,
    /// Completed in the inner engine, but not returned yet.
    held: Vec<Completion>,
    prepared: u64,
    delivered: u64,
    /// Number of requests in flight in the inner engine.
    inside: u32,
    scratch: Vec<Completion>,
    /// The error number with which the engine failed.
    broken: Option<i32>,
}

impl<E: Engine, S: FaultScript> Faulty<E, S> {
    /// Wraps an engine.
    #[must_use]
    pub fn new(inner: E, script: S) -> Self {
        Self {
            inner,
            script,
            fates: Vec::new(),
            held: Vec::new(),
            prepared: 0,
            delivered: 0,
            inside: 0,
            scratch: Vec::new(),
            broken: None,
        }
    }

    /// Takes the completions of the inner engine. Returns whether there were any.
    fn collect(&mut self, min: u32, deadline: Option<Nanos>) -> Result<bool, EngineError> {
        self.scratch.clear();
        let ask = Wait { min, max: self.inside, deadline };
        self.inner.wait(ask, &mut self.scratch)?;
        self.inside -= self.scratch.len() as u32;
        for completion in &self.scratch {
            let outcome = match self.fates[completion.slot as usize].fault {
                Fault::Outcome(outcome) => outcome,
                _ => completion.outcome,
            };
            self.held.push(Completion { slot: completion.slot, outcome });
        }
        Ok(!self.scratch.is_empty())
    }

    fn due(&self, completion: &Completion, now: Nanos) -> bool {
        let fate = self.fates[completion.slot as usize];
        match fate.fault {
            Fault::None | Fault::Outcome(_) => true,
            Fault::AfterOthers(others) => self.delivered - fate.before >= u64::from(others),
            Fault::After(delay) => now >= fate.begun.plus(delay),
            Fault::Never | Fault::Breaks(_) => false,
        }
    }

    /// Releases the oldest completion that waits for others, when there are none to wait for. Returns whether
    /// there was one.
    fn release_oldest(&mut self) -> bool {
        let waits =
            |it: &Completion| matches!(self.fates[it.slot as usize].fault, Fault::AfterOthers(_));
        let oldest = self.held.iter().position(waits);
        if let Some(position) = oldest {
            self.fates[self.held[position].slot as usize].fault = Fault::None;
        }
        oldest.is_some()
    }

    /// Decides the fault of a request.
    fn begin(&mut self, slot: u32, request: &Request) {
        let fault = self.script.fault(self.prepared, request);
        self.prepared += 1;
        self.inside += 1;
        if let Fault::Breaks(errno) = fault {
            self.broken = Some(errno);
        }
        let slot = slot as usize;
        let fate = Fate { fault, before: self.delivered, begun: MonotonicClock.now() };
        if slot >= self.fates.len() {
            self.fates.resize(slot + 1, fate);
        }
        self.fates[slot] = fate;
    }

    /// Returns the completions that are due, at most `room`.
    fn deliver(&mut self, room: usize, done: &mut Vec<Completion>) {
        let now = MonotonicClock.now();
        let end = done.len() + room;
        while done.len() < end {
            let due = self.held.iter().position(|completion| self.due(completion, now));
            let Some(position) = due else { return };
            done.push(self.held.remove(position));
            self.delivered += 1;
        }
    }

    /// When the next completion that is held back by time is due.
    fn next_due(&self) -> Option<Nanos> {
        let fates = self.held.iter().map(|completion| self.fates[completion.slot as usize]);
        let times = fates.filter_map(|fate| match fate.fault {
            Fault::After(delay) => Some(fate.begun.plus(delay)),
            _ => None,
        });
        times.min()
    }
}

impl<E: OpenEngine, S: FaultScript + Default + 'static> OpenEngine for Faulty<E, S> {
    fn open(setup: &Setup) -> Result<Self, EngineError> {
        Ok(Self::new(E::open(setup)?, S::default()))
    }

    fn data(&self, slot: u32, bytes: usize) -> &[u8] {
        self.inner.data(slot, bytes)
    }
}

impl<E: Engine, S: FaultScript> Engine for Faulty<E, S> {
    fn prepare(&mut self, requests: &[Submission]) {
        for submission in requests {
            self.begin(submission.slot, &submission.request);
        }
        self.inner.prepare(requests);
    }

    fn flush(&mut self, slot: u32, kind: FlushKind) {
        let request = Request { offset: 0, bytes: 0, op: OpKind::Write };
        self.begin(slot, &request);
        self.inner.flush(slot, kind);
    }

    fn hand_over(&mut self) -> Result<(), EngineError> {
        self.inner.hand_over()
    }

    /// Follows the contract with one intended difference: with [`Fault::Never`] and without a deadline, it
    /// waits forever, as on a silent device.
    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        if let Some(errno) = self.broken {
            let errno = SystemError::new(errno);
            return Err(EngineError::Broken { call: "the faulty engine", errno });
        }
        let before = done.len();
        self.collect(0, None)?;
        loop {
            self.deliver(ask.max as usize - (done.len() - before), done);
            let now = MonotonicClock.now();
            let got = (done.len() - before) as u32;
            if got >= ask.min || ask.deadline.is_some_and(|end| now >= end) {
                return Ok(());
            }
            let until = match (self.next_due(), ask.deadline) {
                (Some(due), Some(end)) => Some(due.min(end)),
                (due, end) => due.or(end),
            };
            if self.inside > 0 {
                // Without a wake-up time, a real engine returns something. One in virtual time may not, and
                // its driver must advance the clock.
                if !self.collect(1, until)? && until.is_none() {
                    return Ok(());
                }
            } else if !self.release_oldest() {
                let left = until.map_or(Nanos(1_000_000), |until| until.since(now));
                std::thread::sleep(Duration::from_nanos(left.0));
            }
        }
    }

    fn features(&self) -> Vec<String> {
        self.inner.features()
    }
}
