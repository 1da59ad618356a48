//! Tests limits of control groups whose writes the kernel starts: the page cache writes them back,
//! and workers of the throttle release what the limit delayed.

use crate::diagnose::staged::{
    EIGHT, EIGHT_PROFILE, closed, diagnosed, has_cause, load, longest, reads, seen,
};
use diagnose::{DiagnoseOptions, diagnose};
use plan::scenarios::GroupLimit;
use record::{
    CauseCode, CgroupLimit, DeviceDiagnosis, DeviceFacts, IoGroup, LimitedIo, ObservedDevice,
    ObservedPath, ProcessIo, Strategy, Verdict, Volume, VolumeKind,
};

/// A limit of 100 per second.
fn limit(group: &str, limited: LimitedIo, major_minor: &str) -> CgroupLimit {
    CgroupLimit {
        group: group.to_owned(),
        limited,
        major_minor: major_minor.to_owned(),
        limit_per_s: 100,
    }
}

/// Write-back of 400 requests per second. `workers` names the workers of the kernel with the requests per
/// second that each starts. Each of the groups may write 100 requests per second.
fn found(workers: &[(&str, u64)], groups: &[&str]) -> DeviceDiagnosis {
    let writes = |spec: &mut workload::Spec| {
        (spec.asked.rate_iops, spec.asked.read_percent) = (Some(400), 0);
    };
    let mut observed = seen(EIGHT, vec![load(0, 60, writes)], false);
    let row = |(id, (name, writes)): (u32, &(&str, u64))| ProcessIo {
        process: Some(id),
        processes: 1,
        name: (*name).to_owned(),
        group: Some("/".to_owned()),
        kernel_thread: true,
        writes: *writes,
        ..ProcessIo::default()
    };
    for interval in &mut observed.intervals {
        interval.processes = Some((0..).zip(workers).map(row).collect());
    }
    for context in &mut observed.contexts {
        let limits = groups.iter().map(|group| limit(group, LimitedIo::Wiops, "0:0"));
        context.cgroup_limits = limits.collect();
    }
    diagnosed(&observed, Some(&EIGHT_PROFILE))
}

#[test]
fn all_limits_that_are_reached_are_named_together() {
    let mut one = load(0, 60, |spec| {
        (spec.asked.iodepth, spec.asked.read_percent) = (32, 50);
    });
    one.limits.extend(GroupLimit::of("riops", 500));
    one.limits.extend(GroupLimit::of("wiops", 500));
    let found = diagnosed(&seen(EIGHT, vec![one], false), Some(&EIGHT_PROFILE));
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::Capped, "{episode:#?}");
    let [cause] = episode.causes.as_slice() else { panic!("{:?}", episode.causes) };
    assert_eq!(found.advice[0].strategy, Strategy::RaiseCap);
    for text in [&cause.claim, &found.advice[0].action] {
        assert!(text.contains("riops=500") && text.contains("wiops=500"), "{text}");
    }
    assert!(episode.claim.contains("(riops)") && episode.claim.contains("(wiops)"), "{episode:?}");
}

#[test]
fn a_limit_is_named_though_its_group_uses_the_device_only_through_a_loop_device() {
    let found = |released: u64| {
        let mut observed = seen(EIGHT, vec![reads(0, 60, 400)], false);
        let row = |process: u32, name: &str, group: &str, reads: u64| ProcessIo {
            process: Some(process),
            processes: 1,
            name: name.to_owned(),
            group: Some(group.to_owned()),
            kernel_thread: name.starts_with("kworker"),
            reads,
            ..ProcessIo::default()
        };
        for interval in &mut observed.intervals {
            interval.processes = Some(vec![
                row(1, "postgres", "/db", 300),
                row(2, "kworker/0:1-kthrotld", "/", released),
                row(3, "kworker/u8:1-loop3", "/", 30),
            ]);
        }
        for context in &mut observed.contexts {
            context.cgroup_limits = vec![limit("/batch", LimitedIo::Riops, "0:0")];
        }
        longest(&diagnosed(&observed, Some(&EIGHT_PROFILE))).clone()
    };
    let reached = found(70);
    assert_eq!(reached.verdict, Verdict::Capped, "{reached:#?}");
    assert!(reached.claim.contains("\"/batch\" is limited to 100 IOPS (riops)"), "{reached:?}");
    // It delayed reads, but fewer than it allows.
    let below = found(20);
    assert!(!below.claim.contains("runs at that rate"), "{below:?}");
}

#[test]
fn a_reached_limit_on_the_disk_below_a_loop_device_is_the_cause_at_the_loop_device() {
    // Eight requests are always in flight at the loop device, which serves 100 of them per second.
    let found = |limit_per_s: u64| {
        let mut observed = seen("mmc,servers=1,service=10ms,cv=0.5", vec![closed(0, 60, 8)], false);
        let mut below = seen(EIGHT, vec![reads(0, 60, 700)], false);
        let devices = [(&mut observed, "loop3", "7:3"), (&mut below, "vda", "254:0")];
        for (one, name, major_minor) in devices {
            one.intervals.iter_mut().for_each(|interval| name.clone_into(&mut interval.device));
            let facts = DeviceFacts {
                name: name.to_owned(),
                disk: name.to_owned(),
                major_minor: major_minor.to_owned(),
                virtual_disk: true,
                driver: Some(name.trim_end_matches('3').to_owned()),
                ..DeviceFacts::default()
            };
            let name = name.to_owned();
            one.devices =
                vec![ObservedDevice { name, facts: Some(facts), ..ObservedDevice::default() }];
        }
        observed.intervals.append(&mut below.intervals);
        observed.intervals.sort_by_key(|interval| interval.begin_ns);
        observed.devices.append(&mut below.devices);
        let [disk, members] = [["loop3", "vda"].as_slice(), &["vda"]]
            .map(|names| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        observed.paths.push(ObservedPath {
            path: "/dev/loop3".to_owned(),
            filesystem: None,
            layout: None,
            volumes: vec![Volume {
                name: "loop3".to_owned(),
                kind: VolumeKind::Loop,
                level: None,
                state: None,
                members,
            }],
            devices: disk,
        });
        for context in &mut observed.contexts {
            let reached = limit("/sre", LimitedIo::Riops, "254:0");
            context.cgroup_limits = vec![CgroupLimit { limit_per_s, ..reached }];
        }
        let mut found = diagnose(&observed, &|_| None, &DiagnoseOptions::default());
        found.devices.retain(|device| device.device == "loop3");
        found.devices.remove(0)
    };
    let capped = found(100);
    let episode = longest(&capped);
    assert_eq!(episode.verdict, Verdict::Capped, "{episode:#?}");
    assert!(episode.claim.contains("on vda, where the control group \"/sre\""), "{episode:?}");
    assert!(has_cause(episode, CauseCode::CgroupLimit), "{:?}", episode.causes);
    assert_eq!(capped.advice[0].action, "Raise riops=100 of the control group \"/sre\".");
    assert!(episode.excluded.iter().all(|one| one.verdict != Verdict::Capped));
    assert!(!has_cause(longest(&found(200)), CauseCode::CgroupLimit));
}

fn labels(found: &DeviceDiagnosis) -> Vec<String> {
    longest(found).groups.iter().map(IoGroup::label).collect()
}

#[test]
fn a_limit_of_writes_is_named_though_the_kernel_writes_for_others_too() {
    let found = |released: u64| {
        let others = ("kworker/u8:0-flush-8:0", 300);
        found(&[("kworker/0:1-kthrotld", released), others, ("jbd2/sda-8", 20)], &["/batch"])
    };
    let held = found(100);
    let episode = longest(&held);
    assert_eq!(episode.verdict, Verdict::Capped, "{episode:#?}");
    assert!(episode.claim.contains("\"/batch\"") && episode.claim.contains("wiops"), "{episode:?}");
    assert!(has_cause(episode, CauseCode::CgroupLimit), "{:?}", episode.causes);
    assert_eq!(held.advice[0].strategy, Strategy::RaiseCap);
    // The limit delayed less than it allows.
    assert_ne!(longest(&found(40)).verdict, Verdict::Capped);
    // Without workers that release requests, the load of the group is unknown.
    assert_ne!(longest(&found(0)).verdict, Verdict::Capped);
}

#[test]
fn what_a_limit_delayed_belongs_to_its_group_if_only_one_has_a_limit() {
    let workers = [("kworker/0:1-kthrotld", 100), ("kworker/u8:0-flush-8:0", 300)];
    let of = |groups: &[&str]| labels(&found(&workers, groups));
    assert_eq!(of(&["/batch"]), ["kworker (write-back)", "kworker for /batch"]);
    assert_eq!(of(&["/batch", "/db"]), ["kworker (write-back)", "kworker (throttled)"]);
}
