//! Limits that control groups put on our I/O.
//!
//! A throttle holds a request before any counter of the disk starts, so it cannot be seen in a
//! measurement, only looked up. In version 2 the limits of every group above ours hold as well and
//! all are listed; in version 1 throttling is flat, and only our own group's limits are in force.
//! A limit is listed when it is on the disk, on one of its leaves, or on the named device.
//! Rejected: assuming /sys/fs/cgroup, which is not where every system mounts it.
//! Sources: Documentation/admin-guide/cgroup-v2.rst (io.max) and cgroup-v1/blkio-controller.rst.

use crate::linux::device::numbers_of;
use crate::linux::mounts::{Mount, read_mounts};
use crate::linux::roots::{Roots, text};
use record::{CgroupLimit, DeviceFacts, LimitedIo};
use std::path::{Path, PathBuf};

/// The files of version 1 and what they limit.
pub(crate) const V1_FILES: [(&str, LimitedIo); 4] = [
    ("blkio.throttle.read_bps_device", LimitedIo::Rbps),
    ("blkio.throttle.write_bps_device", LimitedIo::Wbps),
    ("blkio.throttle.read_iops_device", LimitedIo::Riops),
    ("blkio.throttle.write_iops_device", LimitedIo::Wiops),
];
/// The controller of I/O in version 1, where hierarchies are named by their controllers.
const IO_CONTROLLER: &str = "blkio";
/// The same of processor time.
const CPU_CONTROLLER: &str = "cpu";

/// Our group in one hierarchy: where it is mounted, and its path below that.
struct Group {
    mount_point: PathBuf,
    path: PathBuf,
}

impl Group {
    /// The directory of the group or, `up` levels higher, of one above it.
    fn directory(&self, roots: &Roots, path: &Path) -> PathBuf {
        let below = path.strip_prefix("/").unwrap_or(path);
        let point = roots.locate(&self.mount_point);
        if below.as_os_str().is_empty() { point } else { point.join(below) }
    }
}

/// All limits on the disk that hold for this process.
pub(crate) fn limits(roots: &Roots, disk: &DeviceFacts) -> Vec<CgroupLimit> {
    let devices = device_numbers(roots, disk);
    let mut found = Vec::new();
    if let Some(group) = our_group(roots, Version::Two, IO_CONTROLLER) {
        for path in group.path.ancestors() {
            let file = group.directory(roots, path).join("io.max");
            let lines = text(&file).unwrap_or_default();
            found.extend(lines.lines().flat_map(|line| v2_limits(line, path)));
        }
    }
    if let Some(group) = our_group(roots, Version::One, IO_CONTROLLER) {
        for (file, limited) in V1_FILES {
            let file = group.directory(roots, &group.path).join(file);
            let lines = text(&file).unwrap_or_default();
            found.extend(lines.lines().filter_map(|line| v1_limit(line, limited, &group.path)));
        }
    }
    found.retain(|limit| devices.contains(&limit.major_minor));
    found
}

/// The tightest quota of processor time that holds for this process, in processors. In both
/// versions the limits of the groups above hold too.
pub(crate) fn cpu_quota(roots: &Roots) -> Option<f64> {
    let ratio = |quota: &str, period: &str| -> Option<f64> {
        let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
        (quota > 0.0 && period > 0.0).then(|| quota / period)
    };
    let mut quotas = Vec::new();
    if let Some(group) = our_group(roots, Version::Two, CPU_CONTROLLER) {
        quotas.extend(group.path.ancestors().filter_map(|path| {
            let limit = text(&group.directory(roots, path).join("cpu.max"))?;
            let (quota, period) = limit.split_once(' ')?;
            ratio(quota, period)
        }));
    }
    if let Some(group) = our_group(roots, Version::One, CPU_CONTROLLER) {
        quotas.extend(group.path.ancestors().filter_map(|path| {
            let directory = group.directory(roots, path);
            let read = |file: &str| text(&directory.join(file));
            ratio(&read("cpu.cfs_quota_us")?, &read("cpu.cfs_period_us")?)
        }));
    }
    quotas.into_iter().reduce(f64::min)
}

/// Which version of control groups governs our I/O, for a reader.
pub(crate) fn io_version(roots: &Roots) -> Option<&'static str> {
    // A mixed system mounts both; I/O belongs to version 1 where its controller is mounted.
    if our_group(roots, Version::One, IO_CONTROLLER).is_some() {
        return Some("version 1");
    }
    our_group(roots, Version::Two, IO_CONTROLLER).map(|_| "version 2")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Our group in the hierarchy of one version, if it is mounted.
fn our_group(roots: &Roots, version: Version, controller: &str) -> Option<Group> {
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
    let of_version = |mount: &&Mount| match version {
        Version::One => {
            mount.kind == "cgroup" && mount.options.split(',').any(|option| option == controller)
        }
        Version::Two => mount.kind == "cgroup2",
    };
    let mounts = read_mounts(roots);
    let mount = mounts.iter().find(of_version)?;
    // In a container the mount can show only a part of the tree, which the path still names whole.
    let path = match path.strip_prefix(&mount.root) {
        Ok(below) => Path::new("/").join(below),
        Err(_) => path,
    };
    Some(Group { mount_point: mount.point.clone(), path })
}

/// `8:0 rbps=1048576 wbps=max riops=max wiops=100`.
pub(crate) fn v2_limits(line: &str, group: &Path) -> Vec<CgroupLimit> {
    let mut words = line.split_ascii_whitespace();
    let Some(device) = words.next() else { return Vec::new() };
    words
        .filter_map(|word| {
            let (key, value) = word.split_once('=')?;
            let limit_per_s = value.parse().ok()?;
            Some(limit(group, LimitedIo::from_key(key)?, device, limit_per_s))
        })
        .collect()
}

/// `8:0 1048576`.
pub(crate) fn v1_limit(line: &str, limited: LimitedIo, group: &Path) -> Option<CgroupLimit> {
    let (device, value) = line.split_once(' ')?;
    let limit_per_s = value.trim().parse().ok()?;
    Some(limit(group, limited, device, limit_per_s))
}

fn limit(group: &Path, limited: LimitedIo, device: &str, limit_per_s: u64) -> CgroupLimit {
    CgroupLimit {
        group: group.to_string_lossy().into_owned(),
        limited,
        major_minor: device.to_owned(),
        limit_per_s,
    }
}

/// The numbers of every device on the way from the named one to its leaves.
fn device_numbers(roots: &Roots, disk: &DeviceFacts) -> Vec<String> {
    let mut numbers = vec![disk.major_minor.clone()];
    for name in disk.leaves.iter().chain([&disk.name]) {
        numbers.extend(numbers_of(roots, name).map(|(major, minor)| format!("{major}:{minor}")));
    }
    numbers
}
