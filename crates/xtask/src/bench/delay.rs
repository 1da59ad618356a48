//! An engine with known latencies: each request completes a drawn time after its submission.
//!
//! It spins on a real clock, so its times are real and are measured by the worker's own clock readings. It
//! logs the times, and the worker's figures must agree with the log. It can begin a request before the
//! worker's clock does, which simulates a clock that starts too late.

use engine::{Clock, Completion, Engine, EngineError, Submission, Wait};
use record::{FlushKind, Nanos, OpKind};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use workload::{Request, Rng};

/// Distribution of the latencies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Law {
    /// Uniform from 20 to 200 µs.
    Even,
    /// 20 µs plus an exponential time with mean 40 µs.
    Exponential,
    /// Most 20 to 60 µs, one in ten 60 to 150 µs, one in a hundred 150 to 200 µs.
    Mixture,
}

impl Law {
    pub(super) const ALL: [(&'static str, Self); 3] = [
        ("even, 20 to 200 µs", Self::Even),
        ("20 µs + exponential 40 µs", Self::Exponential),
        ("mixture, 20 to 200 µs", Self::Mixture),
    ];

    /// The quantile `p`, in nanoseconds.
    pub(super) fn percentile_ns(self, p: f64) -> f64 {
        match self {
            Self::Even => 20e3 + 180e3 * p,
            Self::Exponential => 20e3 - 40e3 * (1.0 - p).ln(),
            Self::Mixture if p < 0.89 => 20e3 + 40e3 * p / 0.89,
            Self::Mixture if p < 0.99 => 60e3 + 90e3 * (p - 0.89) / 0.1,
            Self::Mixture => 150e3 + 50e3 * (p - 0.99) / 0.01,
        }
    }
}

/// The engine's log: submission to completion of each request, in nanoseconds.
pub(super) type Log = RefCell<Vec<u64>>;

#[derive(Debug)]
pub(super) struct DelayEngine<'a, C> {
    law: Law,
    rng: Rng,
    clock: C,
    log: &'a Log,
    /// Later completions are not logged, because the worker does not count them either.
    until: Nanos,
    /// How much of a request's time has passed when it is submitted, in percent.
    ahead_percent: u64,
    ready: Vec<Submission>,
    /// Due times, with slots.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// Per slot: start time and bytes of its request.
    begun: Vec<(u64, i32)>,
}

impl<'a, C: Clock> DelayEngine<'a, C> {
    /// An engine for a run of `length` that begins now. `ahead_percent` of each request's time has passed at
    /// its submission.
    pub(super) fn new(
        law: Law,
        clock: C,
        depth: u32,
        length: Nanos,
        ahead_percent: u64,
        log: &'a Log,
    ) -> Self {
        let until = clock.now().plus(length);
        let (rng, begun) = (Rng::new(1), vec![(0, 0); depth as usize]);
        let (ready, due) = (Vec::new(), BinaryHeap::with_capacity(depth as usize));
        Self { law, rng, clock, log, until, ahead_percent, ready, due, begun }
    }

    fn begin(&mut self) {
        if self.ready.is_empty() {
            return;
        }
        let now = self.clock.now().0;
        for submission in self.ready.drain(..) {
            let delay = self.law.percentile_ns(self.rng.unit()) as u64;
            let begun = now - delay * self.ahead_percent / 100;
            self.begun[submission.slot as usize] = (begun, submission.request.bytes as i32);
            self.due.push(Reverse((begun + delay, submission.slot)));
        }
    }
}

impl<C: Clock> Engine for DelayEngine<'_, C> {
    fn prepare(&mut self, requests: &[Submission]) {
        self.ready.extend_from_slice(requests);
    }

    /// A flush takes as long as any request.
    fn flush(&mut self, slot: u32, _kind: FlushKind) {
        let request = Request { offset: 0, bytes: 0, op: OpKind::Write };
        self.ready.push(Submission { request, slot, generation: 0 });
    }

    fn hand_over(&mut self) -> Result<(), EngineError> {
        self.begin();
        Ok(())
    }

    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.begin();
        let before = done.len();
        let mut log = self.log.borrow_mut();
        loop {
            let now = self.clock.now();
            while let Some(&Reverse((due, slot))) = self.due.peek()
                && due <= now.0
                && done.len() - before < ask.max as usize
            {
                self.due.pop();
                let (begun, outcome) = self.begun[slot as usize];
                if now < self.until {
                    log.push(now.0 - begun);
                }
                done.push(Completion { slot, outcome });
            }
            let enough = done.len() - before >= ask.min as usize;
            if enough || self.due.is_empty() || ask.deadline.is_some_and(|end| now >= end) {
                return Ok(());
            }
            std::hint::spin_loop();
        }
    }

    fn features(&self) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_has_the_percentiles_of_its_law() {
        for (name, law) in Law::ALL {
            let mut rng = Rng::new(5);
            let mut times: Vec<u64> =
                (0..200_000).map(|_| law.percentile_ns(rng.unit()) as u64).collect();
            times.sort_unstable();
            for p in [0.1, 0.5, 0.9, 0.95, 0.99, 0.999] {
                let drawn = times[(times.len() as f64 * p) as usize] as f64;
                // Four standard errors of the most variable one: the exponential's 99.9 % point.
                assert!((drawn / law.percentile_ns(p) - 1.0).abs() < 0.04, "{name} {p}: {drawn}");
            }
        }
    }
}
