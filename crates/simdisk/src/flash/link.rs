//! Parts that serve requests one after the other, in order: the controller and the link.
//!
//! The time when such a part is free is known as soon as its last request is, and requests leave in the
//! order in which they entered. So a queue of times replaces events, which cost more.

use crate::device::component;
use crate::server::Server;
use engine::ComponentSample;
use record::Nanos;
use std::collections::VecDeque;

/// Fraction bits of the time per byte.
const FRACTION_BITS: u32 = 20;

/// Items that pass through such a part, with the time at which each leaves.
#[derive(Clone, Debug, Default)]
pub(super) struct Line<T>(VecDeque<(Nanos, T)>);

impl<T> Line<T> {
    /// Adds an item that leaves no earlier than all those before it.
    pub(super) fn push(&mut self, at: Nanos, what: T) {
        debug_assert!(self.0.back().is_none_or(|&(before, _)| before <= at), "in order");
        self.0.push_back((at, what));
    }

    pub(super) fn next_at(&self) -> Nanos {
        self.0.front().map_or(Nanos(u64::MAX), |&(at, _)| at)
    }

    pub(super) fn pop(&mut self) -> Option<(Nanos, T)> {
        self.0.pop_front()
    }
}

/// The link to the host: one wire for both directions, or one for each.
#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    ns_per_byte: u64,
    duplex: bool,
    wires: [Server; 2],
    directions_ns: [u64; 2],
}

impl Link {
    pub(super) fn new(bytes_per_s: u64, duplex: bool) -> Self {
        let ns_per_byte = (1_000_000_000 << FRACTION_BITS) / bytes_per_s;
        Self { ns_per_byte, duplex, ..Self::default() }
    }

    /// Sends bytes to the host that become available evenly from `since` to now, the last `part` of them
    /// now. Returns when all have arrived.
    pub(super) fn send_out(&mut self, since: Nanos, now: Nanos, bytes: u64, part: u64) -> Nanos {
        let there = self.send(since, bytes, 0);
        there.max(now.plus(Nanos(self.ns(part))))
    }

    pub(super) fn send_in(&mut self, now: Nanos, bytes: u64) -> Nanos {
        self.send(now, bytes, 1)
    }

    fn ns(&self, bytes: u64) -> u64 {
        (bytes * self.ns_per_byte) >> FRACTION_BITS
    }

    fn send(&mut self, now: Nanos, bytes: u64, direction: usize) -> Nanos {
        let ns = self.ns(bytes);
        self.directions_ns[direction] += ns;
        Nanos(self.wires[if self.duplex { direction } else { 0 }].serve(now.0, ns))
    }

    pub(super) fn samples(&self) -> Vec<ComponentSample> {
        let [out, inward] = self.wires.map(|wire| wire.busy_ns);
        if self.duplex {
            return vec![
                component("link to host", 1, out, &[]),
                component("link to drive", 1, inward, &[]),
            ];
        }
        let phases = [("to host", self.directions_ns[0]), ("to drive", self.directions_ns[1])];
        vec![component("link", 1, out, &phases)]
    }
}
