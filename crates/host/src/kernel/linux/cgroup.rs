//! Reads the limits that control groups set on I/O and CPU time.
//!
//! A throttle holds a request before any counter of the disk starts, so counters do not show it; it can
//! only be looked up. In version 2 the limits of all parent groups also apply; in version 1 throttling is
//! not hierarchical. A limit is listed if it is on the disk, on one of its leaves, or on the named device.
//! Sources: Documentation/admin-guide/cgroup-v2.rst (io.max) and cgroup-v1/blkio-controller.rst.

use crate::kernel::linux::mounts::{Mount, read_mounts};
use crate::kernel::read::{Roots, count, text};
use record::{CgroupLimit, CgroupShare, DeviceFacts, LimitedIo, ShareKind};
use std::path::{Path, PathBuf};

/// The files of version 1 and what they limit.
const V1_FILES: [(&str, LimitedIo); 4] = [
    ("blkio.throttle.read_bps_device", LimitedIo::Rbps),
    ("blkio.throttle.write_bps_device", LimitedIo::Wbps),
    ("blkio.throttle.read_iops_device", LimitedIo::Riops),
    ("blkio.throttle.write_iops_device", LimitedIo::Wiops),
];
/// The controllers of I/O and of CPU time in version 1, where each hierarchy is named by its controllers.
pub(crate) const IO_CONTROLLER: &str = "blkio";
pub(crate) const CPU_CONTROLLER: &str = "cpu";
pub(crate) const MEMORY_CONTROLLER: &str = "memory";

/// All limits on the disk that apply to this process.
pub(crate) fn limits(roots: &Roots, disk: &DeviceFacts) -> Vec<CgroupLimit> {
    // Every device on the way from the named one to its leaves.
    let mut devices = vec![disk.major_minor.clone()];
    for name in disk.leaves.iter().chain([&disk.name]) {
        devices.extend(text(&roots.sys.join("class/block").join(name).join("dev")));
    }
    let mut found = Vec::new();
    for version in [Version::Two, Version::One] {
        let groups = our_groups(roots, version, IO_CONTROLLER).unwrap_or_default();
        let levels = if version == Version::Two { groups.len() } else { 1 };
        for (path, directory) in groups.iter().take(levels) {
            found.extend(group_limits(version, directory, path));
        }
    }
    found.retain(|limit| devices.contains(&limit.major_minor));
    found
}

/// The limits that the files of one group's directory set.
pub(crate) fn group_limits(version: Version, directory: &Path, group: &Path) -> Vec<CgroupLimit> {
    let limit = |limited, device: &str, value: &str| {
        Some(CgroupLimit {
            group: group.to_string_lossy().into_owned(),
            limited,
            major_minor: device.to_owned(),
            limit_per_s: value.trim().parse().ok()?,
        })
    };
    let lines = |file: &str| text(&directory.join(file)).unwrap_or_default();
    let mut found = Vec::new();
    match version {
        // `8:0 1048576` in a file for each.
        Version::One => {
            for (file, limited) in V1_FILES {
                let lines = lines(file);
                let lines = lines.lines().filter_map(|line| line.split_once(' '));
                found.extend(lines.filter_map(|(device, value)| limit(limited, device, value)));
            }
        }
        // `8:0 rbps=1048576 wbps=max riops=max wiops=100`.
        Version::Two => {
            for line in lines("io.max").lines() {
                let mut words = line.split_ascii_whitespace();
                let Some(device) = words.next() else { continue };
                found.extend(words.filter_map(|word| {
                    let (key, value) = word.split_once('=')?;
                    limit(LimitedIo::from_key(key)?, device, value)
                }));
            }
        }
    }
    found
}

/// The weights, latency targets and cost settings of one group that differ from the defaults.
pub(crate) fn group_shares(version: Version, directory: &Path, group: &Path) -> Vec<CgroupShare> {
    const USUAL: u64 = 100;
    let mut found = Vec::new();
    let mut add = |kind, device: &str, value: Option<u64>| {
        let major_minor = (device != "default").then(|| device.to_owned());
        let group = group.to_string_lossy().into_owned();
        found.extend(value.map(|value| CgroupShare { group, kind, major_minor, value }));
    };
    let words = |file: &str| -> Vec<Vec<String>> {
        let lines = text(&directory.join(file)).unwrap_or_default();
        let words = |line: &str| line.split_ascii_whitespace().map(str::to_owned).collect();
        lines.lines().map(words).collect()
    };
    let of = |words: &[String], key: &str| -> Option<u64> {
        words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
    };
    let weight = |value: &str| value.parse().ok().filter(|weight| *weight != USUAL);
    if version == Version::One {
        for line in words("blkio.bfq.weight") {
            add(ShareKind::BfqWeight, "default", line.last().and_then(|value| weight(value)));
        }
        return found;
    }
    // `default 100`, then `8:0 50` for single devices.
    for kind in [ShareKind::Weight, ShareKind::BfqWeight] {
        for line in words(kind.file()) {
            if let [device, value] = line.as_slice() {
                add(kind, device, weight(value));
            }
        }
    }
    // `8:0 target=10000`; `8:0 enable=1 ctrl=auto rpct=95.00 ...`, in the topmost group.
    for (kind, key) in [(ShareKind::LatencyTarget, "target"), (ShareKind::Cost, "enable")] {
        for line in words(kind.file()) {
            if let Some((device, rest)) = line.split_first() {
                add(kind, device, of(rest, key).filter(|value| *value > 0));
            }
        }
    }
    found
}

/// The lowest quota of CPU time that applies to this process, in processors. In both versions the limits of
/// parent groups also apply.
pub(crate) fn cpu_quota(roots: &Roots) -> Option<f64> {
    let quotas = [Version::Two, Version::One].into_iter().flat_map(|version| {
        let groups = our_groups(roots, version, CPU_CONTROLLER).unwrap_or_default();
        groups.into_iter().filter_map(move |(_, directory)| group_quota(version, &directory))
    });
    quotas.reduce(f64::min)
}

/// The quota of CPU time in a group's directory, in processors; `None` without a quota.
pub(crate) fn group_quota(version: Version, directory: &Path) -> Option<f64> {
    let read = |file: &str| text(&directory.join(file));
    let (quota, period) = match version {
        Version::One => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
        Version::Two => {
            let limit = read("cpu.max")?;
            let (quota, period) = limit.split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        }
    };
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// The memory limit in a group's directory; `None` without a limit.
pub(crate) fn group_memory(version: Version, directory: &Path) -> Option<u64> {
    // Without a limit, version 1 gives the largest number of pages.
    const NO_LIMIT: u64 = 1 << 62;
    let file = match version {
        Version::One => "memory.limit_in_bytes",
        Version::Two => "memory.max",
    };
    let limit = text(&directory.join(file))?.trim().parse().ok()?;
    (limit < NO_LIMIT).then_some(limit)
}

/// How often a group has reached its memory limit, and how many pages it has read again.
pub(crate) fn memory_reached(version: Version, directory: &Path) -> Option<[u64; 2]> {
    let count = |file: &str, name: &str| count(&text(&directory.join(file))?, name);
    let reached = match version {
        Version::One => text(&directory.join("memory.failcnt"))?.trim().parse().ok(),
        Version::Two => count("memory.events", "max"),
    };
    Some([reached?, count("memory.stat", "workingset_refault_file")?])
}

/// The version of control groups that applies to our I/O, as text.
pub(crate) fn io_version(roots: &Roots) -> Option<&'static str> {
    // A mixed system mounts both; if the I/O controller of version 1 is mounted, version 1 applies.
    if our_groups(roots, Version::One, IO_CONTROLLER).is_some() {
        return Some("version 1");
    }
    our_groups(roots, Version::Two, IO_CONTROLLER).map(|_| "version 2")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    One,
    Two,
}

impl Version {
    /// The version of a mounted hierarchy of this controller.
    pub(crate) fn of(mount: &Mount, controller: &str) -> Option<Self> {
        match mount.kind.as_str() {
            "cgroup2" => Some(Self::Two),
            "cgroup" => mount.options.split(',').any(|one| one == controller).then_some(Self::One),
            _ => None,
        }
    }
}

/// Our group in the hierarchy of one version and its parents, nearest first, each with its directory;
/// `None` if the hierarchy is not mounted.
fn our_groups(
    roots: &Roots,
    version: Version,
    controller: &str,
) -> Option<Vec<(PathBuf, PathBuf)>> {
    let groups = text(&roots.proc.join("self/cgroup"))?;
    // `hierarchy:controllers:path`; version 2 is hierarchy 0 without controllers.
    let path = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (hierarchy, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let ours = match version {
            Version::One => controllers.split(',').any(|one| one == controller),
            Version::Two => hierarchy == "0" && controllers.is_empty(),
        };
        ours.then(|| PathBuf::from(path))
    })?;
    let mounts = read_mounts(roots);
    let mount = mounts.iter().find(|mount| Version::of(mount, controller) == Some(version))?;
    // In a container the mount may show only a part of the tree, but the path is that in the whole tree.
    let path = match path.strip_prefix(&mount.root) {
        Ok(below) => Path::new("/").join(below),
        Err(_) => path,
    };
    let top = roots.locate(&mount.point);
    let directory = |path: &Path| top.join(path.strip_prefix("/").unwrap_or(path));
    Some(path.ancestors().map(|path| (path.to_owned(), directory(path))).collect())
}
