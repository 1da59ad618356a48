//! Tests limits of control groups whose writes the kernel starts: the page cache writes them back,
//! and workers of the throttle release what the limit delayed.

use crate::diagnose::staged::{EIGHT, EIGHT_PROFILE, diagnosed, has_cause, load, longest, seen};
use record::{
    CauseCode, CgroupLimit, DeviceDiagnosis, IoGroup, LimitedIo, ProcessIo, Strategy, Verdict,
};

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
        let limit = |group: &&str| CgroupLimit {
            group: (*group).to_owned(),
            limited: LimitedIo::Wiops,
            major_minor: "0:0".to_owned(),
            limit_per_s: 100,
        };
        context.cgroup_limits = groups.iter().map(limit).collect();
    }
    diagnosed(&observed, Some(&EIGHT_PROFILE))
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
