//! The I/O limits and the CPU quotas of all control groups that have processes.
//!
//! A throttle holds a request before any counter of the disk starts, and which group a load runs in
//! is not known to whoever watches a disk: so all groups are walked, and the limits of those that
//! hold processes are listed, unless the group's own counters say that it never touched the device.
//! The walk costs a directory per group and is done again only after a while. Rejected: asking each
//! process for its group and its I/O (two files per process, and privileges).

use super::step::Span;
use crate::linux::cgroup::{CPU_CONTROLLER, IO_CONTROLLER, Version, group_limits, group_quota};
use crate::linux::mounts::{Mount, read_mounts};
use crate::linux::roots::{Roots, text};
use record::{CgroupLimit, CpuStops};
use std::path::{Path, PathBuf};

/// Time after which the groups are walked again.
const KEPT_NS: u64 = 10_000_000_000;
/// Groups that are looked at, at most: a machine of many containers has some hundreds.
const MAX_GROUPS: usize = 4096;

/// What was found last.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    limits: Vec<CgroupLimit>,
    quotas: Vec<Quota>,
    walked_ns: Option<u64>,
}

/// A group with a quota of CPU time, and what its counters were.
#[derive(Debug)]
struct Quota {
    group: String,
    directory: PathBuf,
    processors: f64,
    /// Periods in which it ran, and those in which it was stopped; `None` before the first look.
    periods: Option<(u64, u64)>,
}

impl Groups {
    /// The limits in force and the groups that were stopped since the last call; `span` says what
    /// time it is.
    pub(crate) fn read(&mut self, roots: &Roots, span: Span) -> (Vec<CgroupLimit>, Vec<CpuStops>) {
        let now_ns = span.begin_ns.saturating_add(span.duration_ns);
        // A clock that was set back makes the limits old, too.
        if self.walked_ns.is_none_or(|at| now_ns.checked_sub(at).is_none_or(|age| age > KEPT_NS)) {
            self.limits = limits(roots);
            let mut known = quotas(roots);
            for quota in &mut known {
                let before = self.quotas.iter().find(|one| one.directory == quota.directory);
                quota.periods = before.and_then(|before| before.periods);
            }
            self.quotas = known;
            self.walked_ns = Some(now_ns);
        }
        let stops = self.quotas.iter_mut().filter_map(Quota::stops).collect();
        (self.limits.clone(), stops)
    }
}

impl Quota {
    /// How often it was stopped since the last call, if it was.
    fn stops(&mut self) -> Option<CpuStops> {
        let counters = text(&self.directory.join("cpu.stat"))?;
        let count = |key: &str| -> Option<u64> {
            let words = counters.lines().filter_map(|line| line.split_once(' '));
            words.filter(|(name, _)| *name == key).find_map(|(_, count)| count.trim().parse().ok())
        };
        let now = (count("nr_periods")?, count("nr_throttled")?);
        let before = self.periods.replace(now)?;
        let periods = now.0.checked_sub(before.0).filter(|periods| *periods > 0)?;
        let stopped = now.1.checked_sub(before.1).filter(|stopped| *stopped > 0)?;
        let share = (stopped as f64 / periods as f64).min(1.0);
        Some(CpuStops { group: self.group.clone(), processors: self.processors, share })
    }
}

/// Walks the groups of all hierarchies of a controller that have processes.
fn walk(roots: &Roots, controller: &str, mut visit: impl FnMut(Version, &Path, &Path)) {
    let top = |mount: Mount| {
        let version = Version::of(&mount, controller)?;
        Some((version, roots.locate(&mount.point), mount.root))
    };
    let mut open: Vec<_> = read_mounts(roots).into_iter().filter_map(top).collect();
    for _ in 0..MAX_GROUPS {
        let Some((version, directory, group)) = open.pop() else { break };
        let read = |file: &str| text(&directory.join(file));
        if version == Version::Two {
            // It speaks of the groups below, too; the topmost has no such file.
            let events = read("cgroup.events").unwrap_or_default();
            if events.lines().any(|line| line.trim() == "populated 0") {
                continue;
            }
        }
        if version == Version::Two || read("cgroup.procs").is_some() {
            visit(version, &directory, &group);
        }
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        open.extend(below.map(|entry| (version, entry.path(), group.join(entry.file_name()))));
    }
}

/// The I/O limits of all groups of both versions.
fn limits(roots: &Roots) -> Vec<CgroupLimit> {
    let mut found = Vec::new();
    walk(roots, IO_CONTROLLER, |version, directory, group| {
        let mut limits = group_limits(version, directory, group);
        // `8:0 rbytes=0 wbytes=0 rios=0 wios=0 dbytes=0 dios=0`; without the file nothing is
        // known.
        if !limits.is_empty()
            && let Some(counts) = text(&directory.join("io.stat"))
        {
            limits.retain(|limit| counts.lines().any(|it| touched(it, &limit.major_minor)));
        }
        found.extend(limits);
    });
    // A tree that is mounted twice tells everything twice.
    found.sort_by_cached_key(|limit| {
        (limit.group.clone(), limit.major_minor.clone(), limit.limited, limit.limit_per_s)
    });
    found.dedup();
    found
}

/// The groups with a quota of CPU time.
fn quotas(roots: &Roots) -> Vec<Quota> {
    let mut found: Vec<Quota> = Vec::new();
    walk(roots, CPU_CONTROLLER, |version, directory, group| {
        let group = group.to_string_lossy().into_owned();
        if found.iter().all(|known| known.group != group)
            && let Some(processors) = group_quota(version, directory)
        {
            found.push(Quota { group, directory: directory.to_owned(), processors, periods: None });
        }
    });
    found
}

/// Whether a line of io.stat says that the group did I/O on a device.
fn touched(line: &str, major_minor: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    words.next() == Some(major_minor)
        && words.any(|word| {
            let count = word.strip_prefix("rios=").or_else(|| word.strip_prefix("wios="));
            count.is_some_and(|count| count != "0")
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::Fake;

    fn at(second: u64) -> Span {
        Span { begin_ns: second * 1_000_000_000, duration_ns: 1_000_000_000 }
    }

    #[test]
    fn the_groups_are_walked_again_after_a_while_and_not_at_each_look() {
        let fake = Fake::new();
        fake.proc("self/mountinfo", "30 1 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let limit = |rate: u32| fake.sys("fs/cgroup/g/io.max", &format!("8:0 riops={rate}\n"));
        let mut groups = Groups::default();
        let rate = |groups: &mut Groups, second| {
            let (limits, _) = groups.read(&Roots::below(fake.root()), at(second));
            limits.first().map(|limit| limit.limit_per_s)
        };
        limit(5);
        assert_eq!(rate(&mut groups, 100), Some(5));
        limit(6);
        assert_eq!(rate(&mut groups, 109), Some(5));
        assert_eq!(rate(&mut groups, 111), Some(6));
        limit(7);
        assert_eq!(rate(&mut groups, 50), Some(7), "the clock was set back");
    }

    #[test]
    fn a_group_that_used_up_its_cpu_time_is_told_with_its_share_of_periods() {
        let fake = Fake::new();
        fake.proc("self/mountinfo", "30 1 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
        let file = |name: &str, text: &str| fake.sys(&format!("fs/cgroup/cpu/db/{name}"), text);
        let stopped = |periods: u64, throttled: u64| {
            file("cpu.stat", &format!("nr_periods {periods}\nnr_throttled {throttled}\n"));
        };
        file("cgroup.procs", "1\n");
        file("cpu.cfs_quota_us", "50000\n");
        file("cpu.cfs_period_us", "100000\n");
        let mut groups = Groups::default();
        let mut stops = |second| groups.read(&Roots::below(fake.root()), at(second)).1;
        stopped(100, 90);
        assert_eq!(stops(100), [], "what was before the first look is not told");
        stopped(110, 95);
        let told = CpuStops { group: "/db".to_owned(), processors: 0.5, share: 0.5 };
        assert_eq!(stops(101), std::slice::from_ref(&told));
        stopped(120, 95);
        assert_eq!(stops(102), [], "it ran all the time");
        stopped(130, 100);
        assert_eq!(stops(120), [told], "a walk keeps what the counters were");
    }
}
