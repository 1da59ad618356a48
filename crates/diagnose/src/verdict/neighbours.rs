//! Finds who shares a device, and how their flushes affect the others.
//!
//! A neighbour is a group of processes with most of the flushes, of the I/O time or of the bytes,
//! while other processes use the device too. (By number of requests, a few large writes of a copy
//! that fills the device would be negligible compared with the small reads that wait for them.) The
//! report does not know which group matters to the reader, so it names the group with its figures
//! and does not guess. Flushes come first: a few of them delay many requests, because the device
//! writes out its cache and the file system commits its journal meanwhile. No read or write counter
//! includes that wait. Kernel threads write on behalf of programs and are never neighbours.
//! Rejected: the share of a single process, because eight writers may share the load.

use super::device_users::{NeighbourBy, NeighbourGroup};
use super::facts::{REQUESTS_MIN, Segment};
use super::flush_times::SlowFlushes;
use record::{CgroupLimit, IoGroup, Owner, format_count, format_nanos};
use std::collections::BTreeSet;

/// Share of the requests, or of the time in flushes, from which flushes count.
const FLUSHES_SHARE: f64 = 0.05;
/// Ratio to the latency at queue depth 1 from which requests wait for others.
const WAITS_BESIDE: f64 = 1.3;

/// Frequent flushes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flushes {
    /// Flushes of the device per second; `None` if the source does not report them.
    device_per_s: Option<f64>,
    each_ns: Option<f64>,
    /// fsyncs of programs per second.
    fsyncs_per_s: f64,
}

impl Segment<'_> {
    /// The group that dominates the device, while others use it too.
    pub(crate) fn neighbour(&self) -> Option<NeighbourGroup<'_>> {
        let users = self.around.users.as_ref()?;
        let bytes = |group: &IoGroup| group.read_bytes_per_s + group.write_bytes_per_s;
        let each = [&self.tally.read, &self.tally.write].map(|op| op.latency_ns().unwrap_or(0.0));
        let work = |group: &IoGroup| group.reads_per_s * each[0] + group.writes_per_s * each[1];
        self.many_flushes()
            .and_then(|_| {
                users.most(users.flushing.iter(), NeighbourBy::Flushes, IoGroup::syncs_per_s)
            })
            .or_else(|| users.most(users.programs(), NeighbourBy::Work, work))
            .or_else(|| users.most(users.programs(), NeighbourBy::Bytes, bytes))
    }

    /// The limits of control groups on this device.
    pub(crate) fn limits(&self) -> impl Iterator<Item = &CgroupLimit> {
        let here = |limit: &&CgroupLimit| {
            self.facts.is_none_or(|facts| facts.major_minor == limit.major_minor)
        };
        self.around.limits.iter().filter(here)
    }

    /// The groups of processes that use the device, those with most requests first. Requests that a
    /// limit delayed are started by workers of the kernel, but belong to the limited group. With
    /// several such groups, it is unknown to which of them.
    pub(crate) fn groups(&self) -> Vec<IoGroup> {
        let mut groups = self.around.users.as_ref().map_or(Vec::new(), |it| it.groups.clone());
        let limited: BTreeSet<&str> = self.limits().map(|limit| limit.group.as_str()).collect();
        if let [group] = Vec::from_iter(limited)[..] {
            let workers = groups.iter_mut().filter(|one| one.releases_delayed());
            workers.for_each(|one| one.owner = Some(Owner::of(group)));
        }
        groups
    }

    /// `840 fsyncs/s, 61 % of the writes`.
    pub(crate) fn figures(&self, group: &IoGroup) -> String {
        group.figures(self.around.users.as_ref().map_or(&[], |users| &users.groups))
    }

    /// `fio (8 processes) in /user.slice: 840 fsyncs/s, 61 % of the writes`.
    pub(crate) fn told(&self, group: &IoGroup) -> String {
        format!("{}: {}", group.label(), self.figures(group))
    }

    /// `fio (8 processes) in /user.slice has 93 % of the flushes and 18 % of the requests: 840
    /// fsyncs/s, 61 % of the writes; a flush of the device takes 3.10 ms`.
    pub(crate) fn neighbour_told(&self, neighbour: &NeighbourGroup<'_>) -> String {
        let (group, shares) = (neighbour.group, neighbour.shares());
        let figures = self.figures(group);
        let figures = if figures.is_empty() { figures } else { format!(": {figures}") };
        let each_ns = self.tally.flush_latency_ns().filter(|each_ns| *each_ns > 0.0);
        let each = each_ns.filter(|_| group.syncs_per_s() > 0.0).map(format_nanos);
        let each = each.map(|each| format!("; a flush of the device takes {each}"));
        format!("{} has {shares}{figures}{}", group.label(), each.unwrap_or_default())
    }

    /// Whether requests take longer than at queue depth 1, whatever is expected at this depth.
    pub(crate) fn waits_beside(&self) -> bool {
        self.best_look().is_some_and(|(look, latency)| {
            (latency - self.waking_ns) / look.unloaded_ns.max(1.0) >= WAITS_BESIDE
        })
    }

    /// Time in flushes as a share of the time.
    pub(crate) fn in_flush(&self) -> Option<f64> {
        Some(self.tally.flush_ns? / 1e9 / self.tally.seconds.max(1e-9))
    }

    /// Flushes, if they are frequent.
    pub(crate) fn many_flushes(&self) -> Option<Flushes> {
        let seconds = self.tally.seconds.max(1e-9);
        let users = self.around.users.as_ref();
        let fsyncs_per_s = users.map_or(0.0, |users| users.sum(|group| group.fsyncs_per_s));
        let count = self.tally.flushes.unwrap_or(0.0).max(fsyncs_per_s * seconds);
        let in_flush = self.in_flush().unwrap_or(0.0);
        let often = count >= FLUSHES_SHARE * self.tally.all.count() || in_flush >= FLUSHES_SHARE;
        (count >= REQUESTS_MIN && often).then(|| Flushes {
            device_per_s: self.tally.flushes.map(|count| count / seconds),
            each_ns: self.tally.flush_latency_ns(),
            fsyncs_per_s,
        })
    }

    /// Flushes that are more likely slow than not.
    pub(crate) fn likely_slow_flushes(&self) -> Option<SlowFlushes> {
        self.slow_flushes.filter(SlowFlushes::is_likely)
    }

    /// Which program flushes most, or how to find out.
    pub(crate) fn who_flushes(&self) -> String {
        let Some(users) = &self.around.users else {
            return "Run as root to count flushes per program.".to_owned();
        };
        let most = users.flushing.iter().max_by(|a, b| a.syncs_per_s().total_cmp(&b.syncs_per_s()));
        match most {
            Some(group) => format!("Most flushes come from {}.", self.told(group)),
            None => {
                "No fsync calls were seen: the file system does not report them, or the kernel \
                 flushes on its own."
                    .to_owned()
            }
        }
    }
}

impl Flushes {
    /// `programs call fsync 840 times/s; the device flushes 210 times/s, 3.1 ms each`.
    pub(crate) fn sentence(&self) -> String {
        let mut parts = Vec::new();
        if self.fsyncs_per_s > 0.0 {
            parts.push(format!("programs call fsync {} times/s", format_count(self.fsyncs_per_s)));
        }
        if let Some(per_s) = self.device_per_s.filter(|per_s| *per_s > 0.0) {
            let each = self.each_ns.filter(|each| *each > 0.0).map(format_nanos);
            let each = each.map(|each| format!(", {each} each")).unwrap_or_default();
            parts.push(format!("the device flushes {} times/s{each}", format_count(per_s)));
        }
        parts.join("; ")
    }

    /// The figures behind the sentence.
    pub(crate) fn numbers(&self) -> Vec<super::judgement::Number> {
        let mut numbers = vec![("fsyncs", self.fsyncs_per_s, "1/s")];
        numbers.extend(self.device_per_s.map(|per_s| ("flushes of the device", per_s, "1/s")));
        numbers.extend(self.each_ns.map(|each_ns| ("latency of a flush", each_ns, "ns")));
        numbers
    }
}
