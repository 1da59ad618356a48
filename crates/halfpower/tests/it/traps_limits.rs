//! Limits other than the device's: a cgroup, the load generator, its CPU, its clock, arrivals that are too
//! fast, and stop rules that are not met.

use crate::program::{program_under, run, trial};
use crate::traps::{
    DEVICE, assert_alone, assert_silent, assert_silent_of, found, noise, write_file,
};
use record::{EngineName, FindingCode, Severity, Trial};
use std::path::Path;
use std::process::Command;
use testkit::{LoopDevice, Throttle, ThrottledGroup, Zram, requires, skip};

#[test]
fn a_rate_at_the_limit_of_a_control_group_is_told_and_one_without_a_limit_is_not() {
    requires!(Root, Loop, BlkioGroup);
    let device = LoopDevice::new(DEVICE).unwrap();
    let group = ThrottledGroup::new().unwrap();
    let measure = || {
        let mut command = group.entered();
        command.arg(env!("CARGO_BIN_EXE_halfpower"));
        let path = device.path().display();
        run(command, &format!("run {path} --runtime 2s --no-save --json")).expect(0).trial()
    };
    assert_silent(&measure());
    const LIMIT: u64 = 40;
    group.limit(device.path(), Throttle::ReadIops, LIMIT).unwrap();
    let limited = measure();
    let iops = limited.result.read.as_ref().unwrap().iops;
    // The kernel grants a limit in portions of 100 ms; a run of 2 s may get one more.
    assert!(iops <= 1.06 * LIMIT as f64, "{iops}");
    if iops < 0.95 * LIMIT as f64 {
        let name = "a_rate_at_the_limit_of_a_control_group_is_told_and_one_without_a_limit_is_not";
        return skip(
            name,
            "the machine stood still for a part of the run: it did not reach the limit",
        );
    }
    assert_alone(&limited, FindingCode::CgroupLimit, Severity::Warning);
    // Far above the device's rate, the limit is only a note.
    group.limit(device.path(), Throttle::ReadIops, 50_000_000).unwrap();
    assert_alone(&measure(), FindingCode::CgroupLimit, Severity::Info);
}

/// A trial that always gets a CPU immediately, regardless of other load on the machine.
fn undisturbed(device: &Path, flags: &str) -> Trial {
    let words = format!("run {} --runtime 500ms {flags} --no-save --json", device.display());
    run(program_under("chrt --fifo 1"), &words).expect(0).trial()
}

#[test]
fn a_target_as_fast_as_the_processor_is_told_and_one_that_lets_it_wait_is_not() {
    requires!(Root, Loop, Zram);
    let memory = Zram::new(128 << 20).unwrap();
    let data = tempfile::NamedTempFile::new().unwrap();
    write_file(data.path(), &noise(128 << 20));
    let mut dd = Command::new("dd");
    dd.args(["bs=1M", "oflag=direct", "status=none"]);
    dd.arg(format!("if={}", data.path().display()));
    dd.arg(format!("of={}", memory.path().display()));
    assert!(dd.status().unwrap().success());
    // zram does its work on the calling CPU, so it never waits.
    let busy = undisturbed(memory.path(), "--ioengine sync");
    assert_alone(&busy, FindingCode::HarnessLimit, Severity::Warning);
    let device = LoopDevice::new(DEVICE).unwrap();
    let waits = undisturbed(device.path(), "--ioengine sync");
    assert_silent_of(FindingCode::HarnessLimit, &waits);
}

#[test]
fn the_null_engine_is_told_to_be_no_device_and_a_device_is_not() {
    requires!(Root, Loop);
    let device = LoopDevice::new(DEVICE).unwrap();
    let measure = |flags: &str| trial(0, &format!("{} {flags}", device.path().display()));
    let null = measure("--ioengine null --runtime 200ms");
    assert_eq!(found(&null), [(FindingCode::NoDevice, Severity::Warning)]);
    assert_eq!(null.workload.engine, EngineName::Null);
    assert_silent(&measure("--io-size 4m --runtime 60s"));
}

#[test]
fn a_machine_that_gave_its_clock_up_is_told_and_one_that_did_not_is_not() {
    requires!(Root, Loop, Mount);
    let device = LoopDevice::new(DEVICE).unwrap();
    let name = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let present = std::fs::read_to_string(name).unwrap();
    let seen_as = |source: &str| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("{source}\n")).unwrap();
        // Only the program sees the change; the machine keeps its clock.
        let script = format!("mount --bind {} {name} && exec \"$@\"", file.path().display());
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script, "sh", env!("CARGO_BIN_EXE_halfpower")]);
        let path = device.path().display();
        run(command, &format!("run {path} --io-size 4m --runtime 60s --no-save --json"))
            .expect(0)
            .trial()
    };
    assert_alone(&seen_as("hpet"), FindingCode::ClockUnsound, Severity::Warning);
    assert_silent(&seen_as(present.trim()));
}

#[test]
fn arrivals_above_what_a_device_can_do_are_told_and_those_below_are_not() {
    let measure = |rate: u32, arrival: &str| {
        let words = format!("--rate-iops {rate} --arrival {arrival} --runtime 20s --iodepth 64");
        trial(0, &format!("sim:mm1,service=1ms {words}"))
    };
    for arrival in ["constant", "poisson"] {
        let behind = measure(1_200, arrival);
        let codes: Vec<_> = behind.findings.iter().map(|finding| finding.code).collect();
        assert!(codes.contains(&FindingCode::FellBehind), "{arrival}: {codes:?}");
        let open = behind.result.open_loop.unwrap();
        // 200 requests per second too many for 20 seconds, minus the 64 in flight.
        assert!((3_400..=4_600).contains(&open.backlog_end), "{open:?}");
        assert_silent(&measure(700, arrival));
    }
}

#[test]
fn a_run_that_ends_before_its_stop_rule_is_told_and_one_that_meets_it_is_not() {
    let measure = |words: &str| trial(0, &format!("sim:mm1,service=1ms {words}"));
    for (rule, met, not_met) in
        [("--until-precision 2%", "600s", "5s"), ("--io-size 8m", "60s", "1s")]
    {
        let missed = measure(&format!("{rule} --runtime {not_met}"));
        assert_alone(&missed, FindingCode::StopRuleNotMet, Severity::Warning);
        let reached = measure(&format!("{rule} --runtime {met}"));
        assert_silent(&reached);
        assert!(reached.result.ended_by.is_some());
    }
}

#[test]
fn locked_memory_that_is_too_short_is_told_with_the_limit_and_the_need() {
    requires!(Root, Loop, Setpriv);
    let device = LoopDevice::new(DEVICE).unwrap();
    let measure = |limit: u32| {
        // Root without the right to lock unlimited memory, as in a container.
        let words = "setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock";
        let command = program_under(&format!("{words} prlimit --memlock={limit}:{limit}"));
        let words =
            format!("run {} --iodepth 64 --io-size 4m --runtime 60s", device.path().display());
        run(command, &format!("{words} --no-save --json")).expect(0).trial()
    };
    let short = measure(64 << 10);
    assert_alone(&short, FindingCode::LockedMemory, Severity::Info);
    let finding = short.findings.iter().find(|it| it.code == FindingCode::LockedMemory).unwrap();
    assert!(finding.claim.contains("262144") && finding.claim.contains("65536"), "{finding:?}");
    assert_silent(&measure(4 << 20));
}
