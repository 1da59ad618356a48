//! What the system as a whole goes through, beside the disks: pressure, memory, lost processor
//! time.
//!
//! A task that a throttle holds back shows in the pressure and nowhere else; a virtual machine that
//! the host does not run sees slow disks that are not. Sums are subtracted between two looks,
//! levels are taken at the second; what a kernel does not tell is `None`. Rejected: the averages
//! that the kernel keeps of the pressure, which fit no interval of ours.
//! Sources: Documentation/accounting/psi.rst, filesystems/proc.rst (meminfo, stat) of the kernel.

use super::groups::Groups;
use super::step::Span;
use crate::linux::roots::{Roots, cpu_ticks, memory_field, text};
use record::Context;

/// Columns of [`cpu_ticks`].
const IDLE: usize = 3;
const IOWAIT: usize = 4;
const STEAL: usize = 7;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    some_us: Option<u64>,
    full_us: Option<u64>,
    ticks: Option<[u64; 8]>,
}

#[derive(Debug, Default)]
pub(crate) struct ContextReader {
    last: Option<Sums>,
    groups: Groups,
}

impl ContextReader {
    /// The context of the time since the last call; shares are unknown at the first.
    pub(crate) fn read(&mut self, roots: &Roots, span: Span) -> Context {
        let now = sums(roots);
        let before = self.last.replace(now).unwrap_or_default();
        let stalled = |before: Option<u64>, now: Option<u64>| {
            let us = now?.checked_sub(before?)?;
            Some((us as f64 * 1e3 / span.duration_ns as f64).min(1.0))
        };
        let ticks = before.ticks.zip(now.ticks).and_then(|(before, now)| Ticks::of(before, now));
        let meminfo = text(&roots.proc.join("meminfo")).unwrap_or_default();
        Context {
            begin_ns: span.begin_ns,
            duration_ns: span.duration_ns,
            io_some_share: stalled(before.some_us, now.some_us),
            io_full_share: stalled(before.full_us, now.full_us),
            steal_share: ticks.as_ref().map(|ticks| ticks.share(&[STEAL])),
            idle_share: ticks.as_ref().map(|ticks| ticks.share(&[IDLE, IOWAIT])),
            memory_available_bytes: memory_field(&meminfo, "MemAvailable"),
            memory_cached_bytes: memory_field(&meminfo, "Cached"),
            dirty_bytes: memory_field(&meminfo, "Dirty"),
            writeback_bytes: memory_field(&meminfo, "Writeback"),
            cgroup_limits: self.groups.limits(roots, span),
        }
    }
}

/// CPU time between two looks, in clock ticks.
struct Ticks {
    steps: [f64; 8],
    total: f64,
}

impl Ticks {
    fn of(before: [u64; 8], now: [u64; 8]) -> Option<Self> {
        let mut steps = [0.0; 8];
        for (step, (before, now)) in steps.iter_mut().zip(before.iter().zip(&now)) {
            // Idle time of a processor that was switched off can go back.
            *step = now.saturating_sub(*before) as f64;
        }
        let total: f64 = steps.iter().sum();
        (total > 0.0).then_some(Self { steps, total })
    }

    fn share(&self, columns: &[usize]) -> f64 {
        columns.iter().map(|&column| self.steps[column]).sum::<f64>() / self.total
    }
}

fn sums(roots: &Roots) -> Sums {
    let pressure = text(&roots.proc.join("pressure/io")).unwrap_or_default();
    // `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, in microseconds.
    let total = |kind: &str| {
        let line = pressure.lines().find(|line| line.split(' ').next() == Some(kind))?;
        line.rsplit_once("total=")?.1.trim().parse().ok()
    };
    Sums { some_us: total("some"), full_us: total("full"), ticks: cpu_ticks(roots) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::Fake;

    const SECOND: Span = Span { begin_ns: 7, duration_ns: 1_000_000_000 };

    fn pressure(some: u64, full: u64) -> String {
        let line =
            |kind, total| format!("{kind} avg10=1.00 avg60=0.50 avg300=0.10 total={total}\n");
        line("some", some) + &line("full", full)
    }

    #[test]
    fn sums_become_shares_of_the_time_between_two_looks_and_levels_are_taken_as_they_are() {
        let fake = Fake::new();
        let mut reader = ContextReader::default();
        fake.proc("pressure/io", &pressure(1_000, 500));
        fake.proc("stat", "cpu  100 0 50 800 40 5 5 0 0 0\ncpu0 1\n");
        fake.proc("meminfo", "MemAvailable: 8 kB\nCached: 4 kB\nDirty: 2 kB\nWriteback: 1 kB\n");
        let first = reader.read(&Roots::below(fake.root()), SECOND);
        assert_eq!((first.io_some_share, first.steal_share), (None, None));
        assert_eq!(first.memory_available_bytes, Some(8192));
        fake.proc("pressure/io", &pressure(251_000, 125_500));
        fake.proc("stat", "cpu  110 0 60 850 50 5 5 20 0 0\ncpu0 1\n");
        let seen = reader.read(&Roots::below(fake.root()), SECOND);
        assert_eq!((seen.io_some_share, seen.io_full_share), (Some(0.25), Some(0.125)));
        assert_eq!((seen.steal_share, seen.idle_share), (Some(0.2), Some(0.6)));
        assert_eq!((seen.memory_cached_bytes, seen.dirty_bytes), (Some(4096), Some(2048)));
        assert_eq!((seen.writeback_bytes, seen.begin_ns), (Some(1024), 7));
    }

    #[test]
    fn a_kernel_that_tells_nothing_leaves_everything_unknown() {
        let fake = Fake::new();
        let mut reader = ContextReader::default();
        reader.read(&Roots::below(fake.root()), SECOND);
        let seen = reader.read(&Roots::below(fake.root()), SECOND);
        let nothing = Context { begin_ns: 7, duration_ns: 1_000_000_000, ..Context::default() };
        assert_eq!(seen, nothing);
    }

    #[test]
    fn a_line_that_is_not_as_documented_is_unknown_and_not_zero() {
        let fake = Fake::new();
        let mut reader = ContextReader::default();
        for _ in 0..2 {
            fake.proc("pressure/io", "some avg10=0.00\nfull total=x\n");
            fake.proc("stat", "cpu  1 2 3\n");
            fake.proc("meminfo", "Dirty: many kB\nCached: 5\n");
            let seen = reader.read(&Roots::below(fake.root()), SECOND);
            assert_eq!((seen.io_some_share, seen.io_full_share), (None, None));
            assert_eq!((seen.idle_share, seen.dirty_bytes), (None, None));
            assert_eq!(seen.memory_cached_bytes, None);
        }
    }
}
