//! A bench for the file layer: a trivial disk, one processor, and a closed loop.

use record::{CacheMode, Nanos, OpKind};
use simdisk::{Arrival, Conditions};
use simdisk::{CallCost, CallCosts, FileAction, FileLayer, FileSpec, FileSystem};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MIB: u64 = 1 << 20;
/// The test disk: a millisecond per transfer and 10 ns per byte; 64 KiB take 1.66 ms.
pub(crate) const TRANSFER_NS: u64 = 1_000_000;
pub(crate) const NS_PER_BYTE: u64 = 10;
pub(crate) const FILE_BYTES: u64 = 100 * MIB;

/// A transfer that reached the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) op: OpKind,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) forced: bool,
    pub(crate) at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    Block { tag: u32, bytes: u32 },
    End { token: u32, outcome: i32 },
}

/// A closed loop over the layer, a processor and the disk.
pub(crate) struct Bench {
    pub(crate) layer: FileLayer,
    pub(crate) now: u64,
    pub(crate) cpu_free: u64,
    pub(crate) disk_free: u64,
    pub(crate) in_flight: u32,
    pub(crate) most_in_flight: u32,
    pub(crate) events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    pub(crate) sequence: u64,
    pub(crate) seen: Vec<Seen>,
    pub(crate) wants: Vec<FileAction>,
    /// Transfers that touch this area fail.
    pub(crate) bad: Option<u64>,
    pub(crate) errors: u64,
}

pub(crate) fn costs() -> CallCosts {
    CallCosts {
        direct_read: CallCost { fixed_ns: 50_000, per_kib_ns: 500 },
        direct_write: CallCost { fixed_ns: 50_000, per_kib_ns: 500 },
        buffered_read: CallCost { fixed_ns: 12_000, per_kib_ns: 6_000 },
        buffered_write: CallCost { fixed_ns: 12_000, per_kib_ns: 7_000 },
        extra_transfer_ns: 20_000,
        background_ns: 45_000,
    }
}

pub(crate) fn spec(system: FileSystem) -> FileSpec {
    FileSpec { system, costs: costs(), memory_bytes: 16 * MIB, ..FileSpec::default() }
}

impl Bench {
    pub(crate) fn new(spec: &FileSpec, cache: CacheMode) -> Self {
        let mut layer = FileLayer::new(spec, 1 << 30);
        layer.begin(&Conditions { cache, offset_bytes: 0, working_bytes: FILE_BYTES });
        Self {
            layer,
            now: 0,
            cpu_free: 0,
            disk_free: 0,
            in_flight: 0,
            most_in_flight: 0,
            events: BinaryHeap::new(),
            sequence: 0,
            seen: Vec::new(),
            wants: Vec::new(),
            bad: None,
            errors: 0,
        }
    }

    pub(crate) fn push(&mut self, at: u64, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence, event)));
    }

    pub(crate) fn carry_out(&mut self) {
        let mut at = self.now;
        for want in std::mem::take(&mut self.wants) {
            match want {
                FileAction::Compute(ns) | FileAction::Unclaimed(ns) => {
                    self.cpu_free = self.cpu_free.max(at) + ns;
                    at = self.cpu_free;
                }
                FileAction::End { token, outcome } => self.push(at, Event::End { token, outcome }),
                FileAction::Block { tag, op, offset, bytes, forced } => {
                    self.in_flight += 1;
                    self.most_in_flight = self.most_in_flight.max(self.in_flight);
                    let seen = Seen { op, offset, bytes: u64::from(bytes), forced, at };
                    self.seen.push(seen);
                    let service = TRANSFER_NS + NS_PER_BYTE * u64::from(bytes);
                    self.disk_free = self.disk_free.max(at) + service;
                    self.push(self.disk_free, Event::Block { tag, bytes });
                }
            }
        }
    }

    pub(crate) fn arrive(&mut self, token: u32, op: OpKind, offset: u64, bytes: u64) {
        let arrival = Arrival { token, op, offset, bytes: bytes as u32 };
        self.layer.arrive(Nanos(self.now), &arrival, &mut self.wants);
        self.carry_out();
    }

    /// Advances to the next event; returns the request that ended.
    pub(crate) fn step(&mut self) -> Option<u32> {
        let due = self.events.peek().map(|Reverse((at, _, _))| *at);
        let tick = self.layer.next_event().map(|at| at.0);
        if let Some(tick) = tick.filter(|&tick| due.is_none_or(|due| tick < due)) {
            self.now = tick;
            self.layer.advance(Nanos(self.now), &mut self.wants);
            self.carry_out();
            return None;
        }
        let Reverse((at, _, event)) = self.events.pop().expect("something is in flight");
        self.now = at;
        match event {
            Event::End { token, outcome } => {
                self.errors += u64::from(outcome < 0);
                return Some(token);
            }
            Event::Block { tag, bytes } => {
                self.in_flight -= 1;
                let outcome = if self.bad == Some(u64::from(tag)) { -5 } else { bytes as i32 };
                self.layer.block_done(Nanos(self.now), tag, outcome, &mut self.wants);
                self.carry_out();
            }
        }
        None
    }

    /// Runs `count` requests at a queue depth; returns the time that they took.
    pub(crate) fn run(
        &mut self,
        op: OpKind,
        depth: u32,
        bytes: u64,
        offsets: impl Iterator<Item = u64>,
    ) -> u64 {
        let from = self.now;
        let mut offsets = offsets.fuse();
        let mut open = 0;
        for token in 0..depth {
            if let Some(offset) = offsets.next() {
                open += 1;
                self.arrive(token, op, offset, bytes);
            }
        }
        while open > 0 {
            let Some(token) = self.step() else { continue };
            match offsets.next() {
                Some(offset) => self.arrive(token, op, offset, bytes),
                None => open -= 1,
            }
        }
        self.now - from
    }

    pub(crate) fn drain(&mut self) {
        while !self.events.is_empty() || self.layer.next_event().is_some() {
            self.step();
        }
    }

    pub(crate) fn written(&self) -> Vec<(u64, u64)> {
        self.of(OpKind::Write)
    }

    pub(crate) fn of(&self, op: OpKind) -> Vec<(u64, u64)> {
        let of_op = self.seen.iter().filter(|seen| seen.op == op);
        of_op.map(|seen| (seen.offset, seen.bytes)).collect()
    }
}

pub(crate) fn sequence(bytes: u64, total: u64) -> impl Iterator<Item = u64> {
    (0..total / bytes).map(move |index| index * bytes)
}

pub(crate) fn block_ns(bytes: u64) -> u64 {
    TRANSFER_NS + NS_PER_BYTE * bytes
}
