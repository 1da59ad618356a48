//! Who used a device over a segment of time, and which of them does most.

use crate::words::percent;
use record::{Interval, IoGroup, ProcessIo, io_groups};
use std::collections::{BTreeMap, BTreeSet};

/// A group with more than this share, and others with at least that much of the requests.
const NEIGHBOUR_SHARE: f64 = 0.55;
const OTHERS_SHARE: f64 = 0.02;
/// A group whose share of the work is this much above that of the requests takes more by the kind of them.
const ALIKE: f64 = 0.15;

/// Who used a device over a segment of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceUsers {
    /// All, those with the most requests first.
    pub(crate) groups: Vec<IoGroup>,
    /// Processes that flush, apart from those of the same program that never do.
    pub(super) flushing: Vec<IoGroup>,
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

    /// `93 % of the flushes and 18 % of the requests`: what it is named for comes first.
    pub(crate) fn shares(&self) -> String {
        let what = match self.by {
            NeighbourBy::Flushes => "flushes",
            NeighbourBy::Work => "I/O time",
            NeighbourBy::Bytes => "bytes",
        };
        let (share, requests) = (percent(self.share), percent(self.requests_share));
        format!("{share} of the {what} and {requests} of the requests")
    }
}

impl DeviceUsers {
    /// Sum over these intervals; `None` if no process was counted.
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

    pub(super) fn programs(&self) -> impl Iterator<Item = &IoGroup> {
        self.groups.iter().filter(|group| !group.kernel_thread)
    }

    pub(super) fn sum(&self, of: impl Fn(&IoGroup) -> f64) -> f64 {
        self.programs().map(of).sum()
    }

    /// The group with the most of something, if that is most of it and others have requests too.
    pub(super) fn most<'a>(
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
