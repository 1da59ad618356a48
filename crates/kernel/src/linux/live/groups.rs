//! The I/O limits of all control groups that have processes.
//!
//! A throttle holds a request before any counter of the disk starts, so that the counters of a
//! capped load look like those of a light one. Which group a load runs in is not known to whoever
//! watches a disk, so all groups are walked, and the limits of those that hold processes are
//! listed; in version 2 those of a group above them hold as well. Where the group's own counters
//! say that it never touched the device, the limit is left out.
//!
//! The walk costs a directory per group, so it is done again only after a while: limits change by
//! an administrator's hand. Rejected: asking each process for its group and its I/O, which costs two
//! files per process and needs privileges for those of other users.

use super::step::Span;
use crate::linux::cgroup::{V1_FILES, v1_limit, v2_limits};
use crate::linux::mounts::read_mounts;
use crate::linux::roots::{Roots, text};
use record::{CgroupLimit, LimitedIo};
use std::path::{Path, PathBuf};

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
    let mut walk = Walk { found: Vec::new(), left: MAX_GROUPS };
    for mount in read_mounts(roots) {
        let version = match mount.kind.as_str() {
            "cgroup2" => Version::Two,
            "cgroup" if mount.options.split(',').any(|option| option == "blkio") => Version::One,
            _ => continue,
        };
        walk.visit(version, &roots.locate(&mount.point), &mount.root);
    }
    // A tree that is mounted twice tells everything twice.
    let mut found = walk.found;
    found.sort_by(|a, b| order(a).cmp(&order(b)));
    found.dedup();
    found
}

fn order(limit: &CgroupLimit) -> (&str, &str, LimitedIo, u64) {
    (&limit.group, &limit.major_minor, limit.limited, limit.limit_per_s)
}

#[derive(Clone, Copy)]
enum Version {
    One,
    Two,
}

struct Walk {
    found: Vec<CgroupLimit>,
    left: usize,
}

impl Walk {
    /// Visits a group and those below it.
    fn visit(&mut self, version: Version, directory: &Path, group: &Path) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        match version {
            Version::One => {
                if text(&directory.join("cgroup.procs")).is_some() {
                    self.found.extend(version_1(directory, group));
                }
            }
            Version::Two => {
                // It speaks of the groups below, too; the topmost has no such file.
                let events = text(&directory.join("cgroup.events")).unwrap_or_default();
                if events.lines().any(|line| line.trim() == "populated 0") {
                    return;
                }
                self.found.extend(version_2(directory, group));
            }
        }
        for (below, name) in directories(directory) {
            self.visit(version, &below, &group.join(name));
        }
    }
}

fn version_1(directory: &Path, group: &Path) -> Vec<CgroupLimit> {
    let mut found = Vec::new();
    for (file, limited) in V1_FILES {
        let lines = text(&directory.join(file)).unwrap_or_default();
        found.extend(lines.lines().filter_map(|line| v1_limit(line, limited, group)));
    }
    found
}

fn version_2(directory: &Path, group: &Path) -> Vec<CgroupLimit> {
    let lines = text(&directory.join("io.max")).unwrap_or_default();
    let mut found: Vec<CgroupLimit> =
        lines.lines().flat_map(|line| v2_limits(line, group)).collect();
    // `8:0 rbytes=0 wbytes=0 rios=0 wios=0 dbytes=0 dios=0`; without the file nothing is known.
    if let (false, Some(counts)) = (found.is_empty(), text(&directory.join("io.stat"))) {
        found.retain(|limit| counts.lines().any(|line| touched(line, &limit.major_minor)));
    }
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

/// The groups directly below, sorted by name.
fn directories(directory: &Path) -> Vec<(PathBuf, String)> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut found: Vec<(PathBuf, String)> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| (entry.path(), entry.file_name().to_string_lossy().into_owned()))
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::Fake;

    fn at(second: u64) -> Span {
        Span { begin_ns: second * 1_000_000_000, duration_ns: 1_000_000_000 }
    }

    fn short(limits: &[CgroupLimit]) -> Vec<String> {
        let text = |limit: &CgroupLimit| {
            format!(
                "{} {} {}={}",
                limit.group,
                limit.major_minor,
                limit.limited.key(),
                limit.limit_per_s
            )
        };
        limits.iter().map(text).collect()
    }

    #[test]
    fn version_2_lists_the_limits_of_groups_with_processes_that_touched_the_device() {
        let fake = Fake::new();
        fake.proc("self/mountinfo", "30 1 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let group = |name: &str, events: &str, stat: &str| {
            let at = format!("fs/cgroup/{name}");
            fake.sys(&format!("{at}/cgroup.events"), events);
            fake.sys(&format!("{at}/io.max"), "8:0 rbps=1000 wbps=max riops=max wiops=50\n");
            fake.sys(&format!("{at}/io.stat"), stat);
        };
        group("job", "populated 1\nfrozen 0\n", "8:0 rbytes=5 wbytes=0 rios=1 wios=0\n");
        group("job/inner", "populated 1\n", "8:16 rbytes=5 wbytes=0 rios=1 wios=0\n");
        group("empty", "populated 0\n", "8:0 rbytes=5 wbytes=0 rios=1 wios=0\n");
        group("idle", "populated 1\n", "8:0 rbytes=0 wbytes=0 rios=0 wios=0\n");
        let found = Groups::default().limits(&Roots::below(fake.root()), at(0));
        assert_eq!(short(&found), ["/job 8:0 rbps=1000", "/job 8:0 wiops=50"]);
    }

    #[test]
    fn version_1_lists_each_group_with_processes_on_its_own() {
        let fake = Fake::new();
        fake.proc("self/mountinfo", "30 1 0:29 / /sys/fs/cgroup/blkio rw - cgroup c rw,blkio\n");
        let file = "blkio.throttle.read_iops_device";
        for (group, processes) in [("a", "12\n13\n"), ("a/b", "14\n"), ("c", "")] {
            fake.sys(&format!("fs/cgroup/blkio/{group}/cgroup.procs"), processes);
            fake.sys(&format!("fs/cgroup/blkio/{group}/{file}"), "8:0 70\n");
        }
        let found = Groups::default().limits(&Roots::below(fake.root()), at(0));
        assert_eq!(short(&found), ["/a 8:0 riops=70", "/a/b 8:0 riops=70"]);
    }

    #[test]
    fn the_groups_are_walked_again_after_a_while_and_not_at_each_look() {
        let fake = Fake::new();
        fake.proc("self/mountinfo", "30 1 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let limit = |rate: u32| fake.sys("fs/cgroup/g/io.max", &format!("8:0 riops={rate}\n"));
        let mut groups = Groups::default();
        let rate = |groups: &mut Groups, second| {
            groups
                .limits(&Roots::below(fake.root()), at(second))
                .first()
                .map(|limit| limit.limit_per_s)
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
    fn a_machine_without_control_groups_has_no_limits() {
        assert_eq!(Groups::default().limits(&Roots::below(Fake::new().root()), at(0)), []);
    }
}
