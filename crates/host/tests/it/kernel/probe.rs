//! Tests of the probe, on fake machines and on this process.

use engine::{CpuSample, DeviceSample, Probe};
use host::kernel::{RealProbe, Roots};
use record::{CpuSplit, DeviceFacts};
use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;
use testkit::Fake;

fn cpu(probe: &mut RealProbe) -> CpuSample {
    probe.sample().cpu.unwrap()
}

fn disk(name: &str, leaves: &[&str]) -> DeviceFacts {
    DeviceFacts {
        disk: name.to_owned(),
        leaves: leaves.iter().map(ToString::to_string).collect(),
        ..DeviceFacts::default()
    }
}

#[test]
fn device_counters_are_read_in_bytes_and_nanoseconds() {
    let fake = Fake::new();
    fake.proc(
        "diskstats",
        "8 1 sda1 9 9 9 9 9 9 9 9 9 9 9\n8 0 sda 10 1 80 5 20 2 160 7 0 4 12 3 1 24 2\n",
    );
    let mut probe = RealProbe::new(Roots::below(fake.root()), &[disk("sda", &[])]);
    let sample = probe.sample().device.unwrap();
    assert_eq!(
        sample,
        DeviceSample {
            device: "sda".to_owned(),
            ios: [10, 20, 3],
            bytes: [40_960, 81_920, 12_288],
            merges: [1, 2, 1],
            busy_ns: 4_000_000,
            weighted_ns: 12_000_000,
        }
    );
    assert_eq!(probe.facts().no_device_reason, "");
}

#[test]
fn times_go_on_past_a_wrap_of_32_bits_and_do_not_jump_on_a_small_step_back() {
    let fake = Fake::new();
    let mut probe = RealProbe::new(Roots::below(fake.root()), &[disk("sda", &[])]);
    let mut read = |busy: u64, weighted: u64| {
        fake.proc("diskstats", &format!("8 0 sda 1 0 8 0 1 0 8 0 0 {busy} {weighted}\n"));
        let sample = probe.sample().device.unwrap();
        (sample.busy_ns / 1_000_000, sample.weighted_ns / 1_000_000)
    };
    assert_eq!(read(4_294_967_000, 4_294_967_290), (4_294_967_000, 4_294_967_290));
    assert_eq!(read(4, 10), (4_294_967_300, 4_294_967_306));
    assert_eq!(read(3, 10), (4_294_967_300, 4_294_967_306));
    assert_eq!(read(6, 11), (4_294_967_302, 4_294_967_307));
}

#[test]
fn leaves_are_summed_and_busy_grows_with_the_busiest() {
    let fake = Fake::new();
    let mut probe = RealProbe::new(Roots::below(fake.root()), &[disk("sda", &["sda", "sdb"])]);
    let mut read = |a: &str, b: &str| {
        fake.proc("diskstats", &format!("8 0 sda {a}\n8 16 sdb {b}\n"));
        probe.sample().device.unwrap()
    };
    let first = read("1 0 8 0 0 0 0 0 0 100 100", "2 0 16 0 0 0 0 0 0 10 10");
    let second = read("2 0 16 0 0 0 0 0 0 105 120", "5 0 40 0 0 0 0 0 0 50 60");
    assert_eq!(second.device, "sda+sdb");
    assert_eq!((second.ios[0], second.bytes[0]), (7, 56 * 512));
    assert_eq!(second.busy_ns - first.busy_ns, 40_000_000);
    assert_eq!(second.weighted_ns - first.weighted_ns, 70_000_000);
}

#[test]
fn counters_that_go_back_or_vanish_end_the_series_with_a_reason() {
    let fake = Fake::new();
    let line = |ios: u64| format!("8 0 sda {ios} 0 800 0 1 0 8 0 0 5 5\n");
    let fresh = || {
        fake.proc("diskstats", &line(100));
        let mut probe = RealProbe::new(Roots::below(fake.root()), &[disk("sda", &[])]);
        assert!(probe.sample().device.is_some());
        probe
    };
    let mut probe = fresh();
    fake.proc("diskstats", &line(99));
    assert_eq!(probe.sample().device, None);
    assert!(probe.facts().no_device_reason.contains("decreased"));
    fake.proc("diskstats", &line(200));
    assert_eq!(probe.sample().device, None, "a series that ended must not resume");

    let mut probe = fresh();
    fake.proc("diskstats", "8 16 sdb 1 0 8 0 1 0 8 0 0 5 5\n");
    assert_eq!(probe.sample().device, None);
    assert!(
        probe.facts().no_device_reason.contains("no line for the device sda"),
        "{}",
        probe.facts().no_device_reason
    );
}

#[test]
fn a_target_without_counters_says_why() {
    let fake = Fake::new();
    let mut none = RealProbe::new(Roots::below(fake.root()), &[]);
    assert_eq!(none.sample().device, None);
    assert!(none.facts().no_device_reason.contains("no block device"));
    let off = DeviceFacts { iostats: Some(false), ..disk("sda", &[]) };
    let off = RealProbe::new(Roots::below(fake.root()), &[off]);
    assert!(off.facts().no_device_reason.contains("iostats"));
}

#[test]
fn only_io_uring_workers_are_counted_and_the_time_of_ended_ones_stays() {
    let fake = Fake::new();
    let mut probe = RealProbe::new(Roots::below(fake.root()), &[]);
    let thread = |id: &str, name: &str, ns: u64| {
        fake.proc(&format!("self/task/{id}/comm"), &format!("{name}\n"));
        fake.proc(&format!("self/task/{id}/schedstat"), &format!("{ns} 5 6\n"));
    };
    thread("10", "halfpower", 1_000);
    thread("11", "iou-wrk-10", 200);
    thread("12", "iou-sqp-10", 30);
    assert_eq!(cpu(&mut probe).workers_ns, 230);
    std::fs::remove_dir_all(Roots::below(fake.root()).proc.join("self/task/11")).unwrap();
    thread("12", "iou-sqp-10", 40);
    assert_eq!(cpu(&mut probe).workers_ns, 240);
    // A new worker, which has just started, reuses the number.
    thread("12", "iou-wrk-10", 5);
    assert_eq!(cpu(&mut probe).workers_ns, 245);
    assert_eq!(cpu(&mut probe).workers_ns, 245);
}

#[test]
fn a_kernel_without_schedstat_gives_worker_time_in_ticks() {
    let fake = Fake::new();
    fake.proc("self/task/9/comm", "iou-wrk-9");
    fake.proc("self/task/9/stat", "9 (iou wrk) 9) S 1 1 1 0 0 0 1 1 1 1 3 4 0 0\n");
    let ticks = 7 * 1_000_000_000 / clock_ticks_per_second();
    let mut probe = RealProbe::new(Roots::below(fake.root()), &[]);
    assert_eq!(cpu(&mut probe).workers_ns, ticks);
}

#[test]
fn times_of_all_cpus_come_from_the_first_line_and_are_unknown_on_old_kernels() {
    let fake = Fake::new();
    let mut probe = RealProbe::new(Roots::below(fake.root()), &[]);
    fake.proc("stat", "cpu  1 2 3 4 5 6 7 50 0 0\ncpu0 1 1 1 1 1 1 1 1\n");
    let tick_ns = 1_000_000_000 / clock_ticks_per_second();
    let expected = engine::MachineTimes {
        all_ns: (1 + 2 + 3 + 4 + 5 + 6 + 7 + 50) * tick_ns,
        user_ns: tick_ns,
        idle_ns: (4 + 5) * tick_ns,
        steal_ns: Some(50 * tick_ns),
    };
    assert_eq!(cpu(&mut probe).machine, Some(expected));
    fake.proc("stat", "cpu  1 2 3 4 5 6 7\n");
    assert_eq!(cpu(&mut probe).machine, None);
}

#[test]
fn the_split_is_exact_only_where_every_allowed_processor_is_tracked() {
    let fake = Fake::new();
    fake.proc("self/status", "Cpus_allowed_list:\t1-3\n");
    let probe = RealProbe::new(Roots::below(fake.root()), &[]);
    assert_eq!(probe.facts().cpu_split, CpuSplit::Sampled);
    fake.sys("devices/system/cpu/nohz_full", "(null)\n");
    assert_eq!(probe.facts().cpu_split, CpuSplit::Sampled);
    fake.sys("devices/system/cpu/nohz_full", "1-2\n");
    assert_eq!(probe.facts().cpu_split, CpuSplit::Sampled);
    fake.sys("devices/system/cpu/nohz_full", "1-2,3\n");
    assert_eq!(probe.facts().cpu_split, CpuSplit::Exact);
}

#[test]
fn work_of_this_process_shows_in_its_own_time() {
    let mut probe = RealProbe::new(Roots::default(), &[]);
    let before = probe.sample();
    let spent = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
    let start = spent();
    while spent() - start < Duration::from_millis(20) {
        std::hint::spin_loop();
    }
    let after = probe.sample();
    assert!(after.at > before.at);
    let (before, after) = (before.cpu.unwrap(), after.cpu.unwrap());
    let used = after.user_ns + after.system_ns - before.user_ns - before.system_ns;
    assert!(used >= 20_000_000, "{used}");
    assert!(after.user_ns >= before.user_ns && after.system_ns >= before.system_ns);
}
