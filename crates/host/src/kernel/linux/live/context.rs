//! Reads the state of the system as a whole: pressure, memory, lost processor time.
//!
//! A task that a throttle holds back is visible only in the pressure. A virtual machine that the host does
//! not run sees disks as slow that are not. Totals are subtracted between two readings, levels are taken
//! from the second; what a kernel does not report is `None`. Rejected: the kernel's own averages of the
//! pressure, whose periods match no interval of ours. Sources: Documentation/accounting/psi.rst,
//! filesystems/proc.rst (meminfo, stat), `balance_dirty_pages` of mm/page-writeback.c, mm/workingset.c of
//! the kernel.

use super::groups::Groups;
use super::step::Span;
use crate::kernel::read::{Roots, accounting, count, cpu_ticks, memory_field, text};
use record::Context;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    /// `some` and `full` of I/O, `some` of the processors and of memory, microseconds.
    stalled_us: [Option<u64>; 4],
    ticks: Option<[u64; 8]>,
    /// Bytes that returned to the page cache, and bytes read from all devices.
    read: [Option<u64>; 2],
}

#[derive(Debug, Default)]
pub(crate) struct ContextReader {
    last: Sums,
    groups: Groups,
}

impl ContextReader {
    /// The context since the last call; shares are unknown at the first.
    pub(crate) fn read(&mut self, roots: &Roots, span: Span) -> Context {
        // `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, in microseconds.
        let total = |(resource, kind): (&str, &str)| {
            let pressure = text(&roots.proc.join("pressure").join(resource))?;
            let line = pressure.lines().find(|line| line.split(' ').next() == Some(kind))?;
            line.rsplit_once("total=")?.1.trim().parse().ok()
        };
        let stalled_us =
            [("io", "some"), ("io", "full"), ("cpu", "some"), ("memory", "some")].map(total);
        let ticks = cpu_ticks(roots);
        let vmstat = text(&roots.proc.join("vmstat")).unwrap_or_default();
        let page_bytes = rustix::param::page_size() as u64;
        // The second is in KiB.
        let read = [("workingset_refault_file", page_bytes), ("pgpgin", 1024)]
            .map(|(name, unit)| count(&vmstat, name)?.checked_mul(unit));
        let now = Sums { stalled_us, ticks, read };
        let before = std::mem::replace(&mut self.last, now);
        let stalled = |which: usize| {
            let us = now.stalled_us[which]?.checked_sub(before.stalled_us[which]?)?;
            Some((us as f64 * 1e3 / span.duration_ns as f64).min(1.0))
        };
        // Idle time of a processor that was switched off can go back.
        let ticks = before.ticks.zip(now.ticks).map(|(before, now)| {
            std::array::from_fn(|column| now[column].saturating_sub(before[column]))
        });
        let read_per_s = |which: usize| {
            let bytes = now.read[which]?.checked_sub(before.read[which]?)?;
            Some(bytes as f64 * 1e9 / span.duration_ns as f64)
        };
        // `balance_dirty_pages` does not stop a program below the mean of both.
        let thresholds = ["nr_dirty_threshold", "nr_dirty_background_threshold"];
        let [limit, background] = thresholds.map(|name| count(&vmstat, name));
        let dirty_limit = limit.zip(background).map(|(limit, from)| limit.midpoint(from));
        let spent = ticks.and_then(accounting);
        let meminfo = text(&roots.proc.join("meminfo")).unwrap_or_default();
        let mut context = Context {
            begin_ns: span.begin_ns,
            duration_ns: span.duration_ns,
            io_some_share: stalled(0),
            io_full_share: stalled(1),
            cpu_some_share: stalled(2),
            memory_some_share: stalled(3),
            steal_share: spent.as_ref().map(|spent| spent.steal),
            idle_share: spent.as_ref().map(|spent| spent.idle),
            memory_available_bytes: memory_field(&meminfo, "MemAvailable"),
            memory_cached_bytes: memory_field(&meminfo, "Cached"),
            dirty_bytes: memory_field(&meminfo, "Dirty"),
            writeback_bytes: memory_field(&meminfo, "Writeback"),
            dirty_limit_bytes: dirty_limit.map(|pages| pages * page_bytes),
            refaulted_bytes_per_s: read_per_s(0),
            read_bytes_per_s: read_per_s(1),
            ..Context::default()
        };
        self.groups.read(roots, span, &mut context);
        context
    }
}
