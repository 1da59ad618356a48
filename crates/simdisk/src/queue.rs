//! Simulates a queue: a gate, then servers with one queue in order of arrival, with service times of a
//! known distribution.
//!
//! With first come, first served and a service time drawn at arrival, the completion time is known at
//! arrival. So a request costs one draw and two heap operations, whatever the length of the queue. The gate
//! (a limit) and the stalls preserve that: both act in order of arrival.

use crate::device::{Arrival, Device, EIO, Ended};
use crate::event_queue::EventQueue;
use crate::gate::{Gate, ns_each};
use crate::queue_spec::QueueSpec;
use crate::service::Shape;
use crate::stalls::Stalls;
use record::{Nanos, OpKind};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use workload::{Rng, derive_seed};

/// Block size of the device's cache.
const CACHE_BLOCK_BYTES: u64 = 4_096;
/// Minimum service time, as a share of the initial one: at zero, virtual time would stop.
const FASTEST: f64 = 0.01;

/// A queue with known parameters.
#[derive(Clone, Debug)]
pub struct QueueDevice {
    spec: QueueSpec,
    rng: Rng,
    shape: Shape,
    gate: Gate,
    /// The limit on writes: the capacity of the write cache at once, then the rate at which it drains.
    drain: Gate,
    stalls: Option<Stalls>,
    /// When the last request so far ends.
    busy_until: Nanos,
    /// When each server is free, soonest first.
    free_at: BinaryHeap<Reverse<Nanos>>,
    /// Future completions: token and outcome.
    ends: EventQueue<(u32, i32)>,
    /// Direct-mapped cache: the block in each line, plus one.
    cache: Vec<u64>,
    ns_per_byte: f64,
}

impl QueueDevice {
    /// A device at time zero; `seed` determines its service times.
    pub(crate) fn new(spec: &QueueSpec, seed: u64) -> Self {
        // Separate from the streams of the jobs, which use small indices.
        let rng = Rng::new(derive_seed(seed, u64::MAX));
        let stall_rng = Rng::new(derive_seed(seed, u64::MAX - 1));
        let free_at = (0..spec.servers).map(|_| Reverse(Nanos(0))).collect();
        let lines = (spec.cache.0 / CACHE_BLOCK_BYTES) as usize;
        Self {
            rng,
            shape: Shape::of_variation(spec.cv),
            gate: Gate::new(spec.iops, spec.burst, spec.throughput_bytes_per_s, 0),
            drain: Gate::new(0, 1, spec.drain_bytes_per_s, spec.write_cache.0),
            stalls: (spec.stall.0 > 0)
                .then(|| Stalls::new(spec.stall, spec.stall_every, stall_rng)),
            busy_until: Nanos(0),
            free_at,
            ends: EventQueue::default(),
            cache: vec![0; lines],
            ns_per_byte: ns_each(spec.rate_bytes_per_s),
            spec: spec.clone(),
        }
    }

    fn service(&mut self, now: Nanos, request: &Arrival) -> Nanos {
        if self.cached(request) {
            return self.spec.hit;
        }
        let transfer = f64::from(request.bytes) * self.ns_per_byte;
        let grown = 1.0 + self.spec.drift_per_min * now.as_secs_f64() / 60.0;
        let mean = (self.spec.service.0 as f64 + transfer) * grown.max(FASTEST);
        let factor = self.shape.draw(&mut self.rng);
        // At least a nanosecond, so that virtual time always passes.
        Nanos((mean * factor) as u64).max(Nanos(1))
    }

    /// Whether all blocks of the request are in the cache; adds them.
    fn cached(&mut self, request: &Arrival) -> bool {
        if self.cache.is_empty() {
            return false;
        }
        let lines = self.cache.len() as u64;
        let first = request.offset / CACHE_BLOCK_BYTES;
        let last = (request.offset + u64::from(request.bytes) - 1) / CACHE_BLOCK_BYTES;
        let mut hit = true;
        for block in first..=last {
            let line = &mut self.cache[(block % lines) as usize];
            hit &= *line == block + 1;
            *line = block + 1;
        }
        hit
    }
}

impl Device for QueueDevice {
    #[inline]
    fn arrive(&mut self, now: Nanos, arrival: &Arrival) {
        let rested = self.spec.wake.0 > 0 && now.since(self.busy_until) > self.spec.wake_after;
        let wake = if rested { self.spec.wake } else { Nanos(0) };
        let service = self.service(now, arrival).plus(wake);
        let passed = self.gate.pass(now, arrival.bytes);
        let passed = if arrival.op == OpKind::Write && self.spec.drain_bytes_per_s > 0 {
            // Times of the slower medium vary as much as those of the faster one.
            let bytes = f64::from(arrival.bytes) * self.shape.draw(&mut self.rng);
            self.drain.pass(passed, bytes as u32)
        } else {
            passed
        };
        let mut end = passed.plus(service);
        // The specification guarantees at least one server.
        if let Some(mut server) = self.free_at.peek_mut() {
            let start = server.0.max(passed);
            end = match &mut self.stalls {
                None => start.plus(service),
                Some(stalls) => stalls.end_of(start, service),
            };
            *server = Reverse(end);
        }
        self.busy_until = self.busy_until.max(end);
        let failed = self.spec.error > 0.0 && self.rng.unit() < self.spec.error;
        self.ends.push(end, (arrival.token, if failed { -EIO } else { arrival.bytes as i32 }));
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        self.ends.next_at()
    }

    #[inline]
    fn step(&mut self, until: Nanos, ended: &mut Vec<Ended>) -> Option<Nanos> {
        let (at, (token, outcome)) = self.ends.pop_until(until)?;
        ended.push(Ended { token, at, outcome });
        Some(at)
    }

    fn size(&self) -> u64 {
        self.spec.size.0
    }
}
