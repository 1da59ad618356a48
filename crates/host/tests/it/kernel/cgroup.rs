//! Tests the limits of control groups, on machines made of files.

use host::kernel::live::{Sampler, Selection};
use host::kernel::{Roots, capabilities, environment};
use record::{CgroupLimit, DeviceFacts};
use testkit::Fake;

fn disk() -> DeviceFacts {
    DeviceFacts {
        name: "sda1".to_owned(),
        disk: "sda".to_owned(),
        major_minor: "8:0".to_owned(),
        ..DeviceFacts::default()
    }
}

/// The limits that apply to a disk.
fn limits_on(roots: &Roots, disk: &DeviceFacts) -> Vec<CgroupLimit> {
    environment(roots, Some(disk)).cgroup_limits
}

/// The version of control groups that applies to I/O, as doctor prints it.
fn version(fake: &Fake) -> Option<String> {
    let list = capabilities(&Roots::below(fake.root()), None);
    let found = list.iter().find(|entry| entry.name == "control group limits").unwrap();
    found.available.then(|| found.detail.split(',').next().unwrap().to_owned())
}

fn short(limits: &[CgroupLimit]) -> Vec<String> {
    limits
        .iter()
        .map(|l| format!("{} {} {}={}", l.group, l.major_minor, l.limited.name(), l.limit_per_s))
        .collect()
}

#[test]
fn version_2_limits_hold_from_our_group_up_and_only_for_the_disk() {
    let fake = Fake::new();
    fake.proc("self/cgroup", "0::/user.slice/job\n");
    fake.proc("self/mountinfo", "30 1 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    fake.sys(
        "fs/cgroup/user.slice/job/io.max",
        "8:16 rbps=1 wbps=1 riops=1 wiops=1\n8:0 rbps=1048576 wbps=max riops=max wiops=100\n",
    );
    fake.sys("fs/cgroup/user.slice/io.max", "8:0 rbps=max wbps=2048 riops=max wiops=max\n");
    fake.sys("fs/cgroup/other/io.max", "8:0 rbps=7 wbps=7 riops=7 wiops=7\n");
    assert_eq!(
        short(&limits_on(&Roots::below(fake.root()), &disk())),
        [
            "/user.slice/job 8:0 rbps=1048576",
            "/user.slice/job 8:0 wiops=100",
            "/user.slice 8:0 wbps=2048"
        ]
    );
    assert_eq!(version(&fake), Some("version 2".to_owned()));
}

#[test]
fn version_1_limits_are_those_of_our_own_group_alone() {
    let fake = Fake::new();
    fake.proc("self/cgroup", "4:memory:/a\n3:blkio,cpu:/a/b\n0::/\n");
    fake.proc("self/mountinfo", "30 1 0:29 / /sys/fs/cgroup/blkio rw - cgroup c rw,blkio\n");
    fake.sys("fs/cgroup/blkio/a/b/blkio.throttle.read_bps_device", "8:0 5000\n8:16 6\n");
    fake.sys("fs/cgroup/blkio/a/b/blkio.throttle.write_iops_device", "8:0 70\n");
    fake.sys("fs/cgroup/blkio/a/blkio.throttle.read_bps_device", "8:0 1\n");
    assert_eq!(
        short(&limits_on(&Roots::below(fake.root()), &disk())),
        ["/a/b 8:0 rbps=5000", "/a/b 8:0 wiops=70"]
    );
    assert_eq!(version(&fake), Some("version 1".to_owned()));
}

#[test]
fn a_container_that_sees_a_part_of_the_tree_finds_its_own_group() {
    let fake = Fake::new();
    fake.proc("self/cgroup", "0::/docker/x/y\n");
    fake.proc("self/mountinfo", "30 1 0:29 /docker/x /sys/fs/cgroup rw - cgroup2 c rw\n");
    fake.sys("fs/cgroup/y/io.max", "8:0 rbps=9\n");
    assert_eq!(short(&limits_on(&Roots::below(fake.root()), &disk())), ["/y 8:0 rbps=9"]);
}

#[test]
fn a_limit_on_a_leaf_or_on_the_volume_itself_counts() {
    let fake = Fake::new();
    fake.proc("self/cgroup", "0::/\n");
    fake.proc("self/mountinfo", "30 1 0:29 / /sys/fs/cgroup rw - cgroup2 c rw\n");
    fake.block("virtual/block/dm-0", "253:0", 1);
    fake.block("x/sdb", "8:16", 1);
    fake.sys("fs/cgroup/io.max", "253:0 riops=5\n8:16 wiops=6\n8:32 wiops=7\n");
    let volume = DeviceFacts {
        name: "dm-0".to_owned(),
        leaves: vec!["sda".to_owned(), "sdb".to_owned()],
        ..disk()
    };
    assert_eq!(
        short(&limits_on(&Roots::below(fake.root()), &volume)),
        ["/ 253:0 riops=5", "/ 8:16 wiops=6"]
    );
}

#[test]
fn a_machine_without_control_groups_has_no_limits() {
    let fake = Fake::new();
    assert_eq!(limits_on(&Roots::below(fake.root()), &disk()), []);
    assert_eq!(version(&fake), None);
    assert_eq!(observed(&fake), [""; 0]);
}

/// The limits listed by an observation of the whole machine.
fn observed(fake: &Fake) -> Vec<String> {
    fake.proc("diskstats", "");
    let mut sampler = Sampler::new(Roots::below(fake.root()), Selection::default()).unwrap();
    short(&sampler.context().cgroup_limits)
}

#[test]
fn an_observation_lists_version_2_limits_of_groups_that_touched_the_device() {
    let fake = Fake::new();
    fake.proc("self/mountinfo", "30 1 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    for (name, events, stat) in [
        ("job", "populated 1\nfrozen 0\n", "8:0 rbytes=5 wbytes=0 rios=1 wios=0\n"),
        ("job/inner", "populated 1\n", "8:16 rbytes=5 wbytes=0 rios=1 wios=0\n"),
        ("empty", "populated 0\n", "8:0 rbytes=5 wbytes=0 rios=1 wios=0\n"),
        ("idle", "populated 1\n", "8:0 rbytes=0 wbytes=0 rios=0 wios=0\n"),
    ] {
        let at = format!("fs/cgroup/{name}");
        fake.sys(&format!("{at}/cgroup.events"), events);
        fake.sys(&format!("{at}/io.max"), "8:0 rbps=1000 wbps=max riops=max wiops=50\n");
        fake.sys(&format!("{at}/io.stat"), stat);
    }
    assert_eq!(observed(&fake), ["/job 8:0 rbps=1000", "/job 8:0 wiops=50"]);
}

#[test]
fn an_observation_lists_each_group_of_version_1_with_processes_on_its_own() {
    let fake = Fake::new();
    fake.proc("self/mountinfo", "30 1 0:29 / /sys/fs/cgroup/blkio rw - cgroup c rw,blkio\n");
    let file = "blkio.throttle.read_iops_device";
    for (group, processes) in [("a", "12\n13\n"), ("a/b", "14\n"), ("c", "")] {
        fake.sys(&format!("fs/cgroup/blkio/{group}/cgroup.procs"), processes);
        fake.sys(&format!("fs/cgroup/blkio/{group}/{file}"), "8:0 70\n");
    }
    assert_eq!(observed(&fake), ["/a 8:0 riops=70", "/a/b 8:0 riops=70"]);
}
