//! Who shares a device, and what their flushes do to the others.
//!
//! A neighbour is a group of processes with most of the flushes, of the time in progress or of the bytes, beside
//! others that use the device too. (By the number of requests a few large writes of a copy that fills the device would
//! be nothing beside the small reads that wait for them.) Which of them a reader cares for is not known, so that the
//! group is named with its figures and no guess. Flushes are looked at first: few of them stop
//! many requests, because the device writes out its cache and the file system commits its journal
//! meanwhile, and that wait is in no counter of reads and writes. The threads of the kernel write for
//! others and are nobody's neighbour. Rejected: the share of one process (eight writers share it).

use super::facts::{REQUESTS_MIN, Segment};
use record::{Interval, IoGroup, ProcessIo, format_count, format_nanos, io_groups};
use std::collections::{BTreeMap, BTreeSet};

/// A group with more than this share, and others with at least that much of the requests.
const NEIGHBOUR_SHARE: f64 = 0.55;
const OTHERS_SHARE: f64 = 0.02;
/// A group whose share of the work is this much above that of the requests takes more by the kind of them.
const ALIKE: f64 = 0.15;
/// Flushes count from this share of the requests, or of the time in a flush, on.
const FLUSHES_SHARE: f64 = 0.05;
/// Requests that take this many times what a lone one takes wait for others.
const WAITS_BESIDE: f64 = 1.3;

/// Who used a device over a segment of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceUsers {
    /// All, those with the most requests first.
    pub(crate) groups: Vec<IoGroup>,
    /// Processes that flush, apart from those of the same program that never do.
    flushing: Vec<IoGroup>,
    /// The same by the path of their control group, where it is known.
    by_path: BTreeMap<String, Vec<IoGroup>>,
}

/// What makes a group a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NeighbourBy {
    Flushes,
    Work,
    Bytes,
}

/// A group that uses the device much, beside others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeighbourGroup<'a> {
    pub(crate) group: &'a IoGroup,
    pub(crate) by: NeighbourBy,
    /// Its share of the requests, 0 to 1.
    pub(crate) requests_share: f64,
    /// Its share of what makes it one, 0 to 1.
    pub(crate) share: f64,
}

impl NeighbourGroup<'_> {
    /// Whether it takes from the others by the number of its requests.
    pub(crate) fn is_by_requests(&self) -> bool {
        self.by != NeighbourBy::Flushes && self.share <= self.requests_share + ALIKE
    }
}

/// Flushes that are many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flushes {
    /// Of the device, per second; `None` where the source does not tell.
    device_per_s: Option<f64>,
    each_ns: Option<f64>,
    /// fsyncs of programs per second.
    fsyncs_per_s: f64,
}

impl DeviceUsers {
    /// Over these intervals; `None` where nobody was counted.
    pub(crate) fn of(intervals: &[&Interval]) -> Option<Self> {
        let counted =
            || intervals.iter().filter_map(|one| Some((one.duration_ns, one.processes.as_ref()?)));
        counted().next()?;
        let seconds = counted().map(|(duration_ns, _)| duration_ns as f64 / 1e9).sum();
        let rows = || counted().flat_map(|(_, rows)| rows);
        let flushes = |row: &&ProcessIo| row.fsyncs + row.flushes > 0 && !row.kernel_thread;
        let ids: BTreeSet<u32> = rows().filter(flushes).filter_map(|row| row.process).collect();
        let flushing = |row: &&ProcessIo| match row.process {
            Some(process) => ids.contains(&process),
            None => flushes(row),
        };
        let mut paths: BTreeMap<String, Vec<&ProcessIo>> = BTreeMap::new();
        for row in rows() {
            if let Some(path) = &row.group {
                paths.entry(path.clone()).or_default().push(row);
            }
        }
        Some(Self {
            groups: io_groups(rows(), seconds),
            flushing: io_groups(rows().filter(flushing), seconds),
            by_path: paths
                .into_iter()
                .map(|(path, rows)| (path, io_groups(rows, seconds)))
                .collect(),
        })
    }

    /// What processes of a control group or below it do, as `of` counts it; `None` where none was seen.
    pub(crate) fn within(&self, group: &str, of: impl Fn(&IoGroup) -> f64) -> Option<f64> {
        let below = |path: &str| {
            path.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut found = self.by_path.iter().filter(|(path, _)| below(path)).peekable();
        found.peek()?;
        Some(found.flat_map(|(_, groups)| groups).map(of).sum())
    }

    /// Whether the kernel writes for others, as write-back does.
    pub(crate) fn written_for_others(&self) -> bool {
        self.groups.iter().any(|group| group.kernel_thread && group.writes_per_s > 0.0)
    }

    /// Share of the requests that threads of the kernel make.
    pub(crate) fn by_kernel(&self) -> f64 {
        let of = |kernel: bool| -> f64 {
            let groups = self.groups.iter().filter(|group| group.kernel_thread == kernel);
            groups.map(IoGroup::requests_per_s).sum()
        };
        of(true) / (of(true) + of(false)).max(1e-9)
    }

    fn programs(&self) -> impl Iterator<Item = &IoGroup> {
        self.groups.iter().filter(|group| !group.kernel_thread)
    }

    fn sum(&self, of: impl Fn(&IoGroup) -> f64) -> f64 {
        self.programs().map(of).sum()
    }

    /// The group with the most of something, if that is most of it and others have requests too.
    fn most<'a>(
        &self,
        among: impl Iterator<Item = &'a IoGroup>,
        by: NeighbourBy,
        of: impl Fn(&IoGroup) -> f64,
    ) -> Option<NeighbourGroup<'a>> {
        let requests = self.sum(IoGroup::requests_per_s).max(1e-9);
        let group = among.max_by(|a, b| of(a).total_cmp(&of(b)))?;
        let requests_share = (group.requests_per_s() / requests).min(1.0);
        let share = (of(group) / self.sum(&of).max(1e-9)).min(1.0);
        let beside = share >= NEIGHBOUR_SHARE && 1.0 - requests_share >= OTHERS_SHARE;
        beside.then_some(NeighbourGroup { group, by, requests_share, share })
    }
}

impl Segment<'_> {
    /// Who uses the device much, beside others.
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

    /// `840 fsyncs/s, 61 % of the writes`.
    pub(crate) fn figures(&self, group: &IoGroup) -> String {
        group.figures(self.around.users.as_ref().map_or(&[], |users| &users.groups))
    }

    /// `fio ×8 in /user.slice: 840 fsyncs/s, 61 % of the writes`.
    pub(crate) fn told(&self, group: &IoGroup) -> String {
        format!("{}: {}", group.label(), self.figures(group))
    }

    /// Whether requests take longer than lone ones would, whatever is expected of so many.
    pub(crate) fn waits_beside(&self) -> bool {
        self.best_look().is_some_and(|(look, latency)| {
            (latency - self.waking_ns) / look.unloaded_ns.max(1.0) >= WAITS_BESIDE
        })
    }

    /// Time in flushes, over the time.
    pub(crate) fn in_flush(&self) -> Option<f64> {
        Some(self.tally.flush_ns? / 1e9 / self.tally.seconds.max(1e-9))
    }

    /// Flushes, where they are many.
    pub(crate) fn many_flushes(&self) -> Option<Flushes> {
        let seconds = self.tally.seconds.max(1e-9);
        let users = self.around.users.as_ref();
        let fsyncs_per_s = users.map_or(0.0, |users| users.sum(|group| group.fsyncs_per_s));
        let count = self.tally.flushes.unwrap_or(0.0).max(fsyncs_per_s * seconds);
        let in_flush = self.in_flush().unwrap_or(0.0);
        let often = count >= FLUSHES_SHARE * self.tally.all.count() || in_flush >= FLUSHES_SHARE;
        (count >= REQUESTS_MIN && often).then(|| Flushes {
            device_per_s: self.tally.flushes.map(|count| count / seconds),
            each_ns: self
                .tally
                .flush_ns
                .zip(self.tally.flushes.filter(|count| *count > 0.0))
                .map(|(time_ns, count)| time_ns / count),
            fsyncs_per_s,
        })
    }

    /// Who flushes most, or how to learn it.
    pub(crate) fn who_flushes(&self) -> String {
        let Some(users) = &self.around.users else {
            return "Who flushes is counted as root only.".to_owned();
        };
        let most = users.flushing.iter().max_by(|a, b| a.syncs_per_s().total_cmp(&b.syncs_per_s()));
        match most {
            Some(group) => format!("Most by {}.", self.told(group)),
            None => {
                "No program's fsyncs were seen: a file system that tells none, or the kernel's \
                     own."
                    .to_owned()
            }
        }
    }
}

impl Flushes {
    /// `fsync runs 840 times/s; the device flushes 210 times/s, 3.1 ms each`.
    pub(crate) fn sentence(&self) -> String {
        let mut parts = Vec::new();
        if self.fsyncs_per_s > 0.0 {
            parts.push(format!("programs fsync {} times/s", format_count(self.fsyncs_per_s)));
        }
        if let Some(per_s) = self.device_per_s.filter(|per_s| *per_s > 0.0) {
            let each = self.each_ns.filter(|each| *each > 0.0).map(format_nanos);
            let each = each.map(|each| format!(", {each} each")).unwrap_or_default();
            parts.push(format!("the device flushes {} times/s{each}", format_count(per_s)));
        }
        parts.join("; ")
    }

    /// What stands behind the sentence.
    pub(crate) fn numbers(&self) -> Vec<super::judgement::Number> {
        let mut numbers = vec![("fsyncs", self.fsyncs_per_s, "1/s")];
        numbers.extend(self.device_per_s.map(|per_s| ("flushes of the device", per_s, "1/s")));
        numbers.extend(self.each_ns.map(|each_ns| ("latency of a flush", each_ns, "ns")));
        numbers
    }
}
