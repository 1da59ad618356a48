//! The queue device: servers, one queue in order of arrival, service times of known distribution.
//!
//! With first come, first served and a service time drawn at arrival, the completion time is known
//! at arrival: the request goes to the server that is free first. A simulated request therefore
//! costs one logarithm and one step in a heap of the servers, whatever the queue's length.

use crate::DeviceSpec;
use record::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use workload::{Request, Rng, derive_seed};

/// Blocks by which the device's cache keeps data.
const CACHE_BLOCK_BYTES: u64 = 4_096;
/// Where a service time that shrinks ends, as a share of the first: at zero, virtual time would
/// stand still.
const FASTEST: f64 = 0.01;
/// The error number of a failed request: EIO.
const EIO: i32 = 5;

/// A device that is a queue with known parameters.
#[derive(Clone, Debug)]
pub struct QueueDevice {
    spec: DeviceSpec,
    rng: Rng,
    /// When each server is free, soonest first.
    free_at: BinaryHeap<Reverse<Nanos>>,
    /// Direct-mapped cache: which block each line holds, plus one.
    cache: Vec<u64>,
    ns_per_byte: f64,
}

impl QueueDevice {
    /// A device at time zero; `seed` makes its service times.
    #[must_use]
    pub fn new(spec: &DeviceSpec, seed: u64) -> Self {
        // Apart from the streams of the jobs, which use small indices.
        let rng = Rng::new(derive_seed(seed, u64::MAX));
        let free_at = (0..spec.servers).map(|_| Reverse(Nanos(0))).collect();
        let lines = (spec.cache.0 / CACHE_BLOCK_BYTES) as usize;
        let ns_per_byte =
            if spec.rate_bytes_per_s == 0 { 0.0 } else { 1e9 / spec.rate_bytes_per_s as f64 };
        Self { spec: spec.clone(), rng, free_at, cache: vec![0; lines], ns_per_byte }
    }

    /// The parameters.
    #[must_use]
    pub fn spec(&self) -> &DeviceSpec {
        &self.spec
    }

    /// Takes a request at `now`: when it completes, and with what (bytes or a negated errno).
    pub fn arrive(&mut self, now: Nanos, request: &Request) -> (Nanos, i32) {
        let service = self.service(now, request);
        // There is at least one server: the specification says so.
        let free = self.free_at.pop().map_or(now, |Reverse(free)| free);
        let end = free.max(now).plus(service);
        self.free_at.push(Reverse(end));
        let failed = self.spec.error > 0.0 && self.rng.unit() < self.spec.error;
        (end, if failed { -EIO } else { request.bytes as i32 })
    }

    fn service(&mut self, now: Nanos, request: &Request) -> Nanos {
        if self.cached(request) {
            return self.spec.hit;
        }
        let transfer = f64::from(request.bytes) * self.ns_per_byte;
        let grown = 1.0 + self.spec.drift_per_min * now.as_secs_f64() / 60.0;
        let mean = (self.spec.service.0 as f64 + transfer) * grown.max(FASTEST);
        let factor = if self.spec.exponential { -libm::log(self.rng.unit()) } else { 1.0 };
        // At least a nanosecond, so that virtual time always passes.
        Nanos((mean * factor) as u64).max(Nanos(1))
    }

    /// Whether all blocks of the request are in the cache; they are afterwards.
    fn cached(&mut self, request: &Request) -> bool {
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
