//! Parts that serve one after the other, in order of request: the controller and the link.
//!
//! When such a part is free is known as soon as its last user is, and what passes it comes out in
//! the order in which it went in: a line of moments to come replaces events, which cost more.

use engine::{ComponentSample, PhaseSample};
use record::Nanos;
use std::collections::VecDeque;

/// Digits behind the point of the time per byte.
const FRACTION_BITS: u32 = 20;

/// Something that serves one at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Server {
    free_at: Nanos,
    busy_ns: u64,
}

impl Server {
    /// Serves for so long as soon as it is free, from `now` at the earliest; when that is over.
    pub(super) fn serve(&mut self, now: Nanos, ns: u64) -> Nanos {
        self.free_at = self.free_at.max(now).plus(Nanos(ns));
        self.busy_ns += ns;
        self.free_at
    }

    pub(super) fn sample(&self, name: &str) -> ComponentSample {
        let (name, busy_ns) = (name.to_owned(), self.busy_ns);
        ComponentSample { name, units: 1, busy_ns, phases: Vec::new() }
    }
}

/// What is on its way through such a part, with the time at which it comes out.
#[derive(Clone, Debug)]
pub(super) struct Line<T>(VecDeque<(Nanos, T)>);

impl<T> Line<T> {
    pub(super) fn new() -> Self {
        Self(VecDeque::new())
    }

    /// Something goes in that comes out at or after all that went in before.
    pub(super) fn push(&mut self, at: Nanos, what: T) {
        debug_assert!(self.0.back().is_none_or(|&(before, _)| before <= at), "in order");
        self.0.push_back((at, what));
    }

    /// When the next comes out; the end of time if none does.
    pub(super) fn next_at(&self) -> Nanos {
        self.0.front().map_or(Nanos(u64::MAX), |&(at, _)| at)
    }

    pub(super) fn pop(&mut self) -> Option<(Nanos, T)> {
        self.0.pop_front()
    }
}

/// The link to the host: one wire for both directions, or one for each.
#[derive(Clone, Debug)]
pub(super) struct Link {
    ns_per_byte: u64,
    duplex: bool,
    wires: [Server; 2],
    directions_ns: [u64; 2],
}

impl Link {
    pub(super) fn new(bytes_per_s: u64, duplex: bool) -> Self {
        let ns_per_byte = (1_000_000_000 << FRACTION_BITS) / bytes_per_s;
        Self { ns_per_byte, duplex, wires: [Server::default(); 2], directions_ns: [0; 2] }
    }

    /// Sends bytes to the host that have come together from `since` to now, the last `part` of
    /// them now; when they are there.
    pub(super) fn send_out(&mut self, since: Nanos, now: Nanos, bytes: u64, part: u64) -> Nanos {
        let there = self.send(since, bytes, 0);
        there.max(now.plus(Nanos(self.ns(part))))
    }

    /// Sends bytes to the drive; when they are there.
    pub(super) fn send_in(&mut self, now: Nanos, bytes: u64) -> Nanos {
        self.send(now, bytes, 1)
    }

    fn ns(&self, bytes: u64) -> u64 {
        (bytes * self.ns_per_byte) >> FRACTION_BITS
    }

    fn send(&mut self, now: Nanos, bytes: u64, direction: usize) -> Nanos {
        let ns = self.ns(bytes);
        self.directions_ns[direction] += ns;
        self.wires[if self.duplex { direction } else { 0 }].serve(now, ns)
    }

    pub(super) fn samples(&self) -> Vec<ComponentSample> {
        if self.duplex {
            return vec![
                self.wires[0].sample("link to host"),
                self.wires[1].sample("link to drive"),
            ];
        }
        let phases = ["to host", "to drive"].into_iter().zip(self.directions_ns);
        vec![ComponentSample {
            phases: phases.map(|(name, busy_ns)| PhaseSample { name, busy_ns }).collect(),
            ..self.wires[0].sample("link")
        }]
    }
}
