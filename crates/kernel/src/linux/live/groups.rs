//! The I/O limits of all control groups that have processes.
//!
//! A throttle holds a request before any counter of the disk starts, and which group a load runs in
//! is not known to whoever watches a disk: so all groups are walked, and the limits of those that
//! hold processes are listed, unless the group's own counters say that it never touched the device.
//! The walk costs a directory per group and is done again only after a while. Rejected: asking each
//! process for its group and its I/O (two files per process, and privileges).

use super::step::Span;
use crate::linux::cgroup::{IO_CONTROLLER, Version, group_limits};
use crate::linux::mounts::{Mount, read_mounts};
use crate::linux::roots::{Roots, text};
use record::CgroupLimit;

/// Time after which the groups are walked again.
const KEPT_NS: u64 = 10_000_000_000;
/// Groups that are looked at, at most: a machine of many containers has some hundreds.
const MAX_GROUPS: usize = 4096;

/// The limits as they were found last.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    found: Vec<CgroupLimit>,
    walked_ns: Option<u64>,
}

impl Groups {
    /// The limits in force; `span` says what time it is.
    pub(crate) fn limits(&mut self, roots: &Roots, span: Span) -> Vec<CgroupLimit> {
        let now_ns = span.begin_ns.saturating_add(span.duration_ns);
        // A clock that was set back makes the limits old, too.
        if self.walked_ns.is_none_or(|at| now_ns.checked_sub(at).is_none_or(|age| age > KEPT_NS)) {
            self.found = walk_all(roots);
            self.walked_ns = Some(now_ns);
        }
        self.found.clone()
    }
}

/// The limits of all groups of both versions.
fn walk_all(roots: &Roots) -> Vec<CgroupLimit> {
    let mut found = Vec::new();
    let top = |mount: Mount| {
        let version = Version::of(&mount, IO_CONTROLLER)?;
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
            let mut limits = group_limits(version, &directory, &group);
            // `8:0 rbytes=0 wbytes=0 rios=0 wios=0 dbytes=0 dios=0`; without the file nothing is
            // known.
            if let (false, Some(counts)) = (limits.is_empty(), read("io.stat")) {
                limits.retain(|limit| counts.lines().any(|it| touched(it, &limit.major_minor)));
            }
            found.extend(limits);
        }
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        open.extend(below.map(|entry| (version, entry.path(), group.join(entry.file_name()))));
    }
    // A tree that is mounted twice tells everything twice.
    found.sort_by_cached_key(|limit| {
        (limit.group.clone(), limit.major_minor.clone(), limit.limited, limit.limit_per_s)
    });
    found.dedup();
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
            let limits = groups.limits(&Roots::below(fake.root()), at(second));
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
}
