//! Finds the processes that used a device during a segment, and the one that dominates it.

use crate::words::percent;
use record::{Interval, IoGroup, ProcessIo, io_groups};
use std::collections::{BTreeMap, BTreeSet};

/// Least share of a neighbour, and least share of the requests by others.
const NEIGHBOUR_SHARE: f64 = 0.55;
const OTHERS_SHARE: f64 = 0.02;
/// Margin by which the share of the work must exceed that of the requests to show that the kind of
/// requests matters.
const ALIKE: f64 = 0.15;

/// The users of a device during a segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceUsers {
    /// All groups, those with most requests first.
    pub(crate) groups: Vec<IoGroup>,
    /// Processes that flush, separate from those of the same program that never do.
    pub(super) flushing: Vec<IoGroup>,
    /// Groups by control-group path, where known.
    by_path: BTreeMap<String, Vec<IoGroup>>,
}

/// The measure by which a group dominates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NeighbourBy {
    Flushes,
    Work,
    Bytes,
}

/// A group that dominates the device, while others use it too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeighbourGroup<'a> {
    pub(crate) group: &'a IoGroup,
    pub(crate) by: NeighbourBy,
    /// Its share of the requests, 0 to 1.
    pub(crate) requests_share: f64,
    /// Its share of the dominating measure, 0 to 1.
    pub(crate) share: f64,
    /// Whether other programs have requests too, and not only other processes of this one.
    pub(crate) beside_programs: bool,
}

impl NeighbourGroup<'_> {
    /// Whether it dominates by the number of its requests.
    pub(crate) fn is_by_requests(&self) -> bool {
        self.by != NeighbourBy::Flushes && self.share <= self.requests_share + ALIKE
    }

    /// `93 % of the flushes and 18 % of the requests`: the dominating measure comes first.
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
    /// Sums over these intervals; `None` if no process was counted.
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

    /// The sum of `of` over the processes of a control group and its descendants; `None` if there are none.
    pub(crate) fn within(&self, group: &str, of: impl Fn(&IoGroup) -> f64) -> Option<f64> {
        let below = |path: &str| {
            path.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut found = self.by_path.iter().filter(|(path, _)| below(path)).peekable();
        found.peek()?;
        Some(found.flat_map(|(_, groups)| groups).map(of).sum())
    }

    /// Whether the kernel writes on behalf of programs, as in write-back.
    pub(crate) fn written_for_others(&self) -> bool {
        self.groups.iter().any(|group| group.kernel_thread && group.writes_per_s > 0.0)
    }

    /// Share of requests made by kernel threads.
    pub(crate) fn by_kernel(&self) -> f64 {
        let by_threads = self.of_threads(IoGroup::requests_per_s);
        by_threads / (by_threads + self.sum(IoGroup::requests_per_s)).max(1e-9)
    }

    /// The sum of `of` over kernel threads.
    pub(crate) fn of_threads(&self, of: impl Fn(&IoGroup) -> f64) -> f64 {
        self.groups.iter().filter(|group| group.kernel_thread).map(of).sum()
    }

    /// The workers of the kernel that start the requests which limits delayed; `None` if none was
    /// seen.
    pub(crate) fn releasing(&self) -> Option<&IoGroup> {
        self.groups.iter().find(|group| group.releases_delayed())
    }

    pub(super) fn programs(&self) -> impl Iterator<Item = &IoGroup> {
        self.groups.iter().filter(|group| !group.kernel_thread)
    }

    pub(super) fn sum(&self, of: impl Fn(&IoGroup) -> f64) -> f64 {
        self.programs().map(of).sum()
    }

    /// The group with most of a measure, if that is the majority and others have requests too.
    /// The share is of everything that the device did: where a loop device's worker does nearly all, the
    /// largest of the remaining programs is no neighbour.
    pub(super) fn most<'a>(
        &self,
        among: impl Iterator<Item = &'a IoGroup>,
        by: NeighbourBy,
        of: impl Fn(&IoGroup) -> f64,
    ) -> Option<NeighbourGroup<'a>> {
        let requests = self.sum(IoGroup::requests_per_s).max(1e-9);
        let group = among.max_by(|a, b| of(a).total_cmp(&of(b)))?;
        let requests_share = (group.requests_per_s() / requests).min(1.0);
        let all = self.sum(&of) + self.of_threads(&of);
        let share = (of(group) / all.max(1e-9)).min(1.0);
        let of_program = self.programs().filter(|it| it.is_same_program(group));
        let of_program = of_program.map(IoGroup::requests_per_s).sum::<f64>() / requests;
        let beside_programs = 1.0 - of_program >= OTHERS_SHARE;
        let beside = share >= NEIGHBOUR_SHARE && 1.0 - requests_share >= OTHERS_SHARE;
        beside.then_some(NeighbourGroup { group, by, requests_share, share, beside_programs })
    }
}
