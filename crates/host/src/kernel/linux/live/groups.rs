//! Reads the I/O limits and shares and the CPU quotas of all control groups that contain processes.
//!
//! A throttle holds a request before any counter of the disk starts, and an observer of a disk does not
//! know in which group a load runs. So all groups are walked. The limits of those that contain processes
//! are listed, unless the group's own counters show that it never used the device. The walk costs one
//! directory read per group and is repeated only after a while. Rejected: asking each process for its group
//! and its I/O (two files per process, and privileges).

use super::step::Span;
use crate::kernel::linux::cgroup::{
    CPU_CONTROLLER, IO_CONTROLLER, MEMORY_CONTROLLER, Version, group_limits, group_memory,
    group_quota, group_shares, memory_reached,
};
use crate::kernel::linux::mounts::{Mount, read_mounts};
use crate::kernel::read::{Roots, text};
use record::{CgroupLimit, CgroupShare, Context, CpuStops, MemoryLimit, ShareKind};
use std::path::{Path, PathBuf};

/// Time after which the groups are walked again.
const KEPT_NS: u64 = 10_000_000_000;
/// Maximum number of groups to read; a machine with many containers has some hundreds.
const MAX_GROUPS: usize = 4096;

/// The results of the last walk.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    limits: Vec<CgroupLimit>,
    shares: Vec<CgroupShare>,
    quotas: Vec<Quota>,
    memories: Vec<Memory>,
    walked_ns: Option<u64>,
}

/// A group with a quota of CPU time, and its last counters.
#[derive(Debug)]
struct Quota {
    group: String,
    directory: PathBuf,
    processors: f64,
    /// Periods in which it ran, and those in which it was throttled; `None` before the first reading.
    periods: Option<(u64, u64)>,
}

/// A group with a memory limit, and how often it had reached that.
#[derive(Debug)]
struct Memory {
    group: String,
    version: Version,
    directory: PathBuf,
    limit_bytes: u64,
    /// How often it reached the limit, and pages that it read again; `None` before the first reading.
    reached: Option<[u64; 2]>,
}

impl Groups {
    /// Sets the limits and shares in effect, and the groups that were throttled since the last call; the
    /// context's span gives the time.
    pub(crate) fn read(&mut self, roots: &Roots, span: Span, context: &mut Context) {
        let now_ns = span.begin_ns.saturating_add(span.duration_ns);
        // The limits also count as old if the clock was set back.
        if self.walked_ns.is_none_or(|at| now_ns.checked_sub(at).is_none_or(|age| age > KEPT_NS)) {
            (self.limits, self.shares) = of_io(roots);
            self.quotas = quotas(roots, &self.quotas);
            self.memories = memories(roots, &self.memories);
            self.walked_ns = Some(now_ns);
        }
        context.cgroup_limits.clone_from(&self.limits);
        context.cgroup_shares.clone_from(&self.shares);
        context.cpu_stops = self.quotas.iter_mut().filter_map(Quota::stops).collect();
        let reached = self.memories.iter_mut().filter_map(|memory| memory.reached(span));
        context.memory_limits = reached.collect();
    }
}

impl Quota {
    /// How often it was throttled since the last call, if it was.
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

impl Memory {
    /// How often it reached its limit since the last call, if it did.
    fn reached(&mut self, span: Span) -> Option<MemoryLimit> {
        let now = memory_reached(self.version, &self.directory)?;
        let before = self.reached.replace(now)?;
        let per_s = |which: usize| {
            let more = now[which].checked_sub(before[which])?;
            Some(more as f64 * 1e9 / span.duration_ns as f64)
        };
        let page_bytes = rustix::param::page_size() as f64;
        Some(MemoryLimit {
            group: self.group.clone(),
            limit_bytes: self.limit_bytes,
            reached_per_s: per_s(0).filter(|times| *times > 0.0)?,
            refaulted_bytes_per_s: per_s(1)? * page_bytes,
        })
    }
}

/// Visits all groups with processes in the hierarchies of a controller.
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
            // This covers the child groups too; the root group has no such file.
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

/// The I/O limits and shares of all groups of both versions.
fn of_io(roots: &Roots) -> (Vec<CgroupLimit>, Vec<CgroupShare>) {
    let (mut found, mut shares) = (Vec::new(), Vec::new());
    walk(roots, IO_CONTROLLER, |version, directory, group| {
        let mut limits = group_limits(version, directory, group);
        let mut own = group_shares(version, directory, group);
        // `8:0 rbytes=0 wbytes=0 rios=0 wios=0 dbytes=0 dios=0`; without the file nothing is known.
        if !(limits.is_empty() && own.is_empty())
            && let Some(counts) = text(&directory.join("io.stat"))
        {
            let did = |numbers: Option<&str>| counts.lines().any(|line| touched(line, numbers));
            limits.retain(|limit| did(Some(&limit.major_minor)));
            // In the root group, whose rules apply to its children, io.stat has another meaning.
            own.retain(|share| share.kind == ShareKind::Cost || did(share.major_minor.as_deref()));
        }
        found.extend(limits);
        shares.extend(own);
    });
    // A tree that is mounted twice lists everything twice.
    found.sort_by_cached_key(|limit| {
        (limit.group.clone(), limit.major_minor.clone(), limit.limited, limit.limit_per_s)
    });
    found.dedup();
    shares.sort();
    shares.dedup();
    (found, shares)
}

/// The groups with a quota, each with the counters of the walk before.
fn quotas(roots: &Roots, before: &[Quota]) -> Vec<Quota> {
    let mut found: Vec<Quota> = Vec::new();
    walk(roots, CPU_CONTROLLER, |version, directory, group| {
        let group = group.to_string_lossy().into_owned();
        if found.iter().all(|known| known.group != group)
            && let Some(processors) = group_quota(version, directory)
        {
            let known = before.iter().find(|one| one.directory == directory);
            let (directory, periods) = (directory.to_owned(), known.and_then(|one| one.periods));
            found.push(Quota { group, directory, processors, periods });
        }
    });
    found
}

/// The groups with a memory limit, each with the counters of the walk before.
fn memories(roots: &Roots, before: &[Memory]) -> Vec<Memory> {
    let mut found: Vec<Memory> = Vec::new();
    walk(roots, MEMORY_CONTROLLER, |version, directory, group| {
        let group = group.to_string_lossy().into_owned();
        if found.iter().all(|known| known.group != group)
            && let Some(limit_bytes) = group_memory(version, directory)
        {
            let known = before.iter().find(|one| one.directory == directory);
            let (directory, reached) = (directory.to_owned(), known.and_then(|one| one.reached));
            found.push(Memory { group, version, directory, limit_bytes, reached });
        }
    });
    found
}

/// Whether a line of io.stat shows I/O of the group on a device, or on any.
fn touched(line: &str, major_minor: Option<&str>) -> bool {
    let mut words = line.split_ascii_whitespace();
    let device = words.next();
    (major_minor.is_none() || device == major_minor)
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
            let mut context = Context::default();
            groups.read(&Roots::below(fake.root()), at(second), &mut context);
            context.cgroup_limits.first().map(|limit| limit.limit_per_s)
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
    fn a_group_that_reaches_the_limit_of_its_memory_is_told_with_what_it_reads_again() {
        let fake = Fake::new();
        fake.proc(
            "self/mountinfo",
            "30 1 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
             31 1 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
        );
        let set = |name: &str, text: &str| fake.sys(&format!("fs/cgroup/{name}"), text);
        set("new/memory.max", "1048576\n");
        set("free/memory.max", "max\n");
        set("memory/old/cgroup.procs", "1\n");
        set("memory/old/memory.limit_in_bytes", "2097152\n");
        set("memory/none/cgroup.procs", "1\n");
        set("memory/none/memory.limit_in_bytes", "9223372036854771712\n");
        let counts = |reached: u32, again: u32| {
            set("new/memory.events", &format!("low 0\nhigh 0\nmax {reached}\noom 0\n"));
            set("new/memory.stat", &format!("file 5\nworkingset_refault_file {again}\n"));
            set("memory/old/memory.failcnt", &format!("{reached}\n"));
            set("memory/old/memory.stat", &format!("workingset_refault_file {again}\n"));
        };
        let mut groups = Groups::default();
        let mut limits = |second| {
            let mut context = Context::default();
            groups.read(&Roots::below(fake.root()), at(second), &mut context);
            context.memory_limits.sort_by(|a, b| a.group.cmp(&b.group));
            context.memory_limits
        };
        counts(10, 100);
        assert_eq!(limits(100), []);
        counts(14, 130);
        let page_bytes = rustix::param::page_size() as f64;
        let told = |group: &str, limit_bytes| MemoryLimit {
            group: group.to_owned(),
            limit_bytes,
            reached_per_s: 4.0,
            refaulted_bytes_per_s: 30.0 * page_bytes,
        };
        assert_eq!(limits(101), [told("/new", 1 << 20), told("/old", 2 << 20)]);
        assert_eq!(limits(102), [], "not reached since");
    }

    #[test]
    fn shares_are_listed_where_a_group_gets_another_one_than_the_rest() {
        let fake = Fake::new();
        fake.proc(
            "self/mountinfo",
            "30 1 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
             31 1 0:30 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n",
        );
        let set = |name: &str, text: &str| fake.sys(&format!("fs/cgroup/{name}"), text);
        set("io.cost.qos", "8:0 enable=1 ctrl=auto rpct=95.00\n8:16 enable=0 ctrl=auto\n");
        set("light/io.weight", "default 10\n8:0 20\n");
        set("idle/io.weight", "default 700\n");
        set("idle/io.stat", "8:0 rbytes=0 wbytes=0 rios=0 wios=0 dbytes=0 dios=0\n");
        set("usual/io.weight", "default 100\n");
        set("usual/io.bfq.weight", "default 100\n8:16 500\n");
        set("db/io.latency", "8:0 target=10000\n");
        set("blkio/one/cgroup.procs", "1\n");
        set("blkio/one/blkio.bfq.weight", "250\n");
        let mut context = Context::default();
        Groups::default().read(&Roots::below(fake.root()), at(1), &mut context);
        let told: Vec<(&str, ShareKind, Option<&str>, u64)> = context
            .cgroup_shares
            .iter()
            .map(|it| (it.group.as_str(), it.kind, it.major_minor.as_deref(), it.value))
            .collect();
        assert_eq!(
            told,
            [
                ("/", ShareKind::Cost, Some("8:0"), 1),
                ("/db", ShareKind::LatencyTarget, Some("8:0"), 10_000),
                ("/light", ShareKind::Weight, None, 10),
                ("/light", ShareKind::Weight, Some("8:0"), 20),
                ("/one", ShareKind::BfqWeight, None, 250),
                ("/usual", ShareKind::BfqWeight, Some("8:16"), 500),
            ]
        );
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
        let mut stops = |second| {
            let mut context = Context::default();
            groups.read(&Roots::below(fake.root()), at(second), &mut context);
            context.cpu_stops
        };
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
