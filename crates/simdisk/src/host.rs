//! The host: processors, memory, PCI, and what a request costs them.
//!
//! Processors serve in order of arrival, each piece of work on the one that is free first, so that
//! the end of a piece is known when it is given. What a request costs is a table per host, fixed
//! plus marginal as both papers measure it; the file layer says when it is spent.

use crate::files::CallCosts;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostSpec {
    /// Processors; 0 for work that takes no time.
    pub processors: u32,
    /// Processor time of the calls of its file system.
    pub costs: CallCosts,
    /// Memory for the file-system cache, in bytes.
    pub memory_bytes: u64,
    /// Exclusive or over parity, per KiB, in nanoseconds.
    pub xor_per_kib_ns: u64,
    /// Rate of a PCI bus, in bytes per second; 0 for one that never binds.
    pub pci_bytes_per_s: u64,
    /// Rate at which devices write memory, in bytes per second; 0 for one that never binds.
    pub memory_in_bytes_per_s: u64,
    /// Rate at which they read it.
    pub memory_out_bytes_per_s: u64,
}

/// The processors of a host at work.
#[derive(Clone, Debug)]
pub struct Processors {
    free_ns: BinaryHeap<Reverse<u64>>,
    count: u32,
    busy_ns: u64,
}

impl Processors {
    /// Idle processors.
    #[must_use]
    pub fn new(count: u32) -> Self {
        Self { free_ns: (0..count).map(|_| Reverse(0)).collect(), count, busy_ns: 0 }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Gives them work at `now_ns`; when it is done.
    pub fn take(&mut self, now_ns: u64, work_ns: u64) -> u64 {
        self.busy_ns += work_ns;
        let Some(Reverse(free_ns)) = self.free_ns.pop() else { return now_ns };
        let end_ns = free_ns.max(now_ns) + work_ns;
        self.free_ns.push(Reverse(end_ns));
        end_ns
    }

    /// Work done so far, in nanoseconds.
    #[must_use]
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processors_do_two_pieces_at_once_and_the_third_after_the_shorter() {
        let mut processors = Processors::new(2);
        assert_eq!(processors.take(0, 100), 100);
        assert_eq!(processors.take(0, 40), 40);
        assert_eq!(processors.take(10, 30), 70);
        assert_eq!(processors.busy_ns(), 170);
    }

    #[test]
    fn a_host_without_processors_costs_nothing() {
        let mut processors = Processors::new(0);
        assert_eq!(processors.take(7, 1_000), 7);
    }
}
