//! Serves work in order of arrival, so that its end is known when it arrives: a controller, a wire, the
//! processors of a host, a lane with a rate.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Serves one at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Server {
    free_ns: u64,
    pub(crate) busy_ns: u64,
}

impl Server {
    /// Serves for `work_ns` as soon as it is free, from `now_ns` at the earliest; returns the end.
    #[inline]
    pub(crate) fn serve(&mut self, now_ns: u64, work_ns: u64) -> u64 {
        self.free_ns = self.free_ns.max(now_ns) + work_ns;
        self.busy_ns += work_ns;
        self.free_ns
    }
}

/// Parallel processors: each piece of work goes to the one that is free first.
#[derive(Clone, Debug)]
pub(crate) struct Processors {
    free_ns: BinaryHeap<Reverse<u64>>,
    pub(crate) count: u32,
    pub(crate) busy_ns: u64,
}

impl Processors {
    /// Idle processors; with a count of 0, work takes no time.
    pub(crate) fn new(count: u32) -> Self {
        Self { free_ns: (0..count).map(|_| Reverse(0)).collect(), count, busy_ns: 0 }
    }

    /// Adds work at `now_ns`; returns when it is done.
    pub(crate) fn take(&mut self, now_ns: u64, work_ns: u64) -> u64 {
        self.busy_ns += work_ns;
        let Some(mut first) = self.free_ns.peek_mut() else { return now_ns };
        *first = Reverse(first.0.max(now_ns) + work_ns);
        first.0
    }
}

/// Moves bytes in transfers one after the other, in the order given: an adapter, a PCI bus, memory.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    in_bytes_per_s: u64,
    out_bytes_per_s: u64,
    contended: bool,
    free_ns: u64,
    pub(crate) busy_ns: u64,
}

impl Lane {
    /// A free lane with a rate for each direction, seen from the host; 0 is no limit.
    pub(crate) fn new(in_bytes_per_s: u64, out_bytes_per_s: u64, contended: bool) -> Self {
        Self { in_bytes_per_s, out_bytes_per_s, contended, free_ns: 0, busy_ns: 0 }
    }

    /// Adds a transfer that could begin at `now_ns`; returns when it ends.
    pub(crate) fn take(&mut self, now_ns: u64, bytes: u64, inward: bool) -> u64 {
        let rate = if inward { self.in_bytes_per_s } else { self.out_bytes_per_s };
        if rate == 0 {
            return now_ns;
        }
        let time_ns = bytes * 1_000_000_000 / rate;
        self.busy_ns += time_ns;
        let begin_ns = if self.contended { self.free_ns.max(now_ns) } else { now_ns };
        self.free_ns = begin_ns + time_ns;
        self.free_ns
    }
}
