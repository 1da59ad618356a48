//! The queue device: a gate, servers with one queue in order of arrival, service times of known
//! distribution.
//!
//! With first come, first served and a service time drawn at arrival, the completion time is known
//! at arrival: the request goes to the server that is free first. A simulated request therefore
//! costs one draw and two steps in heaps (of servers, of completions), whatever the queue's length.
//! The gate (a cap) and the stalls keep that: both act in order of arrival.

use crate::device::{Arrival, Conditions, Device, EIO, Ended};
use crate::event_queue::EventQueue;
use crate::gate::Gate;
use crate::queue_spec::QueueSpec;
use crate::service::Shape;
use crate::stalls::Stalls;
use engine::ComponentSample;
use record::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use workload::{Rng, derive_seed};

/// Blocks by which the device's cache keeps data.
const CACHE_BLOCK_BYTES: u64 = 4_096;
/// Where a service time that shrinks ends, as a share of the first: at zero, virtual time would
/// stand still.
const FASTEST: f64 = 0.01;

/// A device that is a queue with known parameters.
#[derive(Clone, Debug)]
pub struct QueueDevice {
    spec: QueueSpec,
    rng: Rng,
    shape: Shape,
    gate: Gate,
    stalls: Option<Stalls>,
    /// When each server is free, soonest first.
    free_at: BinaryHeap<Reverse<Nanos>>,
    /// Completions to come: token and outcome.
    ends: EventQueue<(u32, i32)>,
    /// Direct-mapped cache: which block each line holds, plus one.
    cache: Vec<u64>,
    ns_per_byte: f64,
}

impl QueueDevice {
    /// A device at time zero; `seed` makes its service times.
    #[must_use]
    pub fn new(spec: &QueueSpec, seed: u64) -> Self {
        // Apart from the streams of the jobs, which use small indices.
        let rng = Rng::new(derive_seed(seed, u64::MAX));
        let stall_rng = Rng::new(derive_seed(seed, u64::MAX - 1));
        let free_at = (0..spec.servers).map(|_| Reverse(Nanos(0))).collect();
        let lines = (spec.cache.0 / CACHE_BLOCK_BYTES) as usize;
        let ns_per_byte =
            if spec.rate_bytes_per_s == 0 { 0.0 } else { 1e9 / spec.rate_bytes_per_s as f64 };
        Self {
            rng,
            shape: Shape::of_variation(spec.cv),
            gate: Gate::new(spec.iops, spec.burst, spec.throughput_bytes_per_s),
            stalls: (spec.stall.0 > 0)
                .then(|| Stalls::new(spec.stall, spec.stall_every, stall_rng)),
            free_at,
            ends: EventQueue::new(),
            cache: vec![0; lines],
            ns_per_byte,
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

    /// Whether all blocks of the request are in the cache; they are afterwards.
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
    fn begin(&mut self, _conditions: &Conditions) {}

    #[inline]
    fn arrive(&mut self, now: Nanos, arrival: &Arrival) {
        let service = self.service(now, arrival);
        let passed = self.gate.pass(now, arrival.bytes);
        let mut end = passed.plus(service);
        // There is at least one server: the specification says so.
        if let Some(mut server) = self.free_at.peek_mut() {
            let start = server.0.max(passed);
            end = match &mut self.stalls {
                None => start.plus(service),
                Some(stalls) => stalls.end_of(start, service),
            };
            *server = Reverse(end);
        }
        let failed = self.spec.error > 0.0 && self.rng.unit() < self.spec.error;
        self.ends.push(end, (arrival.token, if failed { -EIO } else { arrival.bytes as i32 }));
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        self.ends.next_at()
    }

    #[inline]
    fn advance(&mut self, until: Nanos, ended: &mut Vec<Ended>) {
        while let Some((at, (token, outcome))) = self.ends.pop_until(until) {
            ended.push(Ended { token, at, outcome });
        }
    }

    fn size(&self) -> u64 {
        self.spec.size.0
    }

    fn uses(&self) -> Vec<ComponentSample> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimSpec;
    use record::OpKind;

    /// Ends of 2,000 requests, eight at a time, as text.
    fn ends(text: &str) -> String {
        let mut device = SimSpec::parse(text).unwrap().build(1);
        let mut offsets = Rng::new(9);
        let mut ended = Vec::new();
        let mut list = String::new();
        let mut arrive = |device: &mut crate::AnyDevice, now, token| {
            let offset = offsets.below(1 << 20) * 4_096;
            device.arrive(now, &Arrival { token, op: OpKind::Read, offset, bytes: 4_096 });
        };
        for token in 0..8 {
            arrive(&mut device, Nanos(0), token);
        }
        for _ in 0..2_000 {
            let now = device.next_event().unwrap();
            device.advance(now, &mut ended);
            for end in ended.drain(..) {
                assert_eq!(end.at, now);
                list.push_str(&format!("{} {} {}\n", end.token, end.at.0, end.outcome));
                arrive(&mut device, now, end.token);
            }
        }
        list
    }

    /// The digests were taken once. They hold on any machine, because nothing in the device comes
    /// from the platform; a change of the model changes them, and with them every recorded result.
    #[test]
    fn a_seed_gives_the_same_times_on_every_machine_and_in_every_version() {
        for (text, digest) in [
            ("mm1", "2715baf205037291"),
            ("md1,rate=100MB/s", "6ae8c0e361ba8f9a"),
            ("mg1,cv=0.4", "2ada0c2967779a1f"),
            ("mg1,cv=2", "18f73d6c182d93c9"),
            ("mmc", "3f13d8764b2c93ba"),
            ("capped,iops=1000,burst=10,throughput=3MB/s", "59b7fc82715f9d0d"),
            ("jittery", "6709d4542402503c"),
            ("drifting", "c3df7136fcea8319"),
            ("faulty,error=0.01", "61c7af1ee1b65d7a"),
            ("md1,cache=1g", "76282ce3ccfbb9b9"),
        ] {
            let found = record::hex_digest(&ends(text));
            assert_eq!(&found[..16], digest, "{text}");
        }
    }
}
