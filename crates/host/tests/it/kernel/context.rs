//! Tests the state of the system as a whole between two readings.

use host::kernel::Roots;
use host::kernel::live::{Sampler, Selection};
use record::Context;
use std::time::Duration;
use testkit::Fake;

fn sampler(fake: &Fake) -> Sampler {
    fake.proc("diskstats", "");
    Sampler::new(Roots::below(fake.root()), Selection::default()).unwrap()
}

fn pressure(some: u64, full: u64) -> String {
    let line = |kind, total| format!("{kind} avg10=1.00 avg60=0.50 avg300=0.10 total={total}\n");
    line("some", some) + &line("full", full)
}

#[test]
fn sums_become_shares_of_the_time_between_two_looks_and_levels_are_taken_as_they_are() {
    let fake = Fake::new();
    fake.proc("pressure/io", &pressure(1_000, 500));
    fake.proc("pressure/cpu", &pressure(70, 0));
    fake.proc("pressure/memory", &pressure(40, 9));
    fake.proc("stat", "cpu  100 0 50 800 40 5 5 0 0 0\ncpu0 1\n");
    let vmstat = |again: u64, read: u64| {
        let levels = "nr_dirty_threshold 1024\nnr_dirty_background_threshold 512\n";
        format!("workingset_refault_file {again}\npgpgin {read}\npgpgin_more 7\n{levels}")
    };
    fake.proc("vmstat", &vmstat(100, 5_000));
    let mut sampler = sampler(&fake);
    // Longer than the stalls of tasks within it.
    std::thread::sleep(Duration::from_millis(20));
    fake.proc("pressure/io", &pressure(13_500, 6_750));
    fake.proc("pressure/cpu", &pressure(4_070, 0));
    fake.proc("pressure/memory", &pressure(8_040, 90));
    fake.proc("stat", "cpu  110 0 60 850 50 5 5 20 0 0\ncpu0 1\n");
    fake.proc("meminfo", "MemAvailable: 8 kB\nCached: 4 kB\nDirty: 2 kB\nWriteback: 1 kB\n");
    fake.proc("vmstat", &vmstat(160, 5_400));
    let seen = sampler.context();
    let page = rustix::param::page_size() as u64;
    let bytes = |rate: Option<f64>| (rate.unwrap() * seen.duration_ns as f64 / 1e9).round() as u64;
    assert_eq!(bytes(seen.refaulted_bytes_per_s), 60 * page);
    assert_eq!(bytes(seen.read_bytes_per_s), 400 * 1024);
    assert_eq!(seen.dirty_limit_bytes, Some(768 * page));
    let stalled_us =
        |share: Option<f64>| (share.unwrap() * seen.duration_ns as f64 / 1e3).round() as u64;
    assert_eq!(stalled_us(seen.io_some_share), 12_500);
    assert_eq!(stalled_us(seen.io_full_share), 6_250);
    assert_eq!(stalled_us(seen.cpu_some_share), 4_000);
    assert_eq!(stalled_us(seen.memory_some_share), 8_000);
    assert_eq!((seen.steal_share, seen.idle_share), (Some(0.2), Some(0.6)));
    assert_eq!(seen.memory_available_bytes, Some(8192));
    assert_eq!((seen.memory_cached_bytes, seen.dirty_bytes), (Some(4096), Some(2048)));
    assert_eq!(seen.writeback_bytes, Some(1024));
    assert!(seen.begin_ns > 0, "{seen:?}");
}

#[test]
fn what_was_not_there_at_the_first_look_is_unknown() {
    let fake = Fake::new();
    let mut sampler = sampler(&fake);
    fake.proc("pressure/io", &pressure(1_000, 500));
    fake.proc("stat", "cpu  100 0 50 800 40 5 5 0 0 0\n");
    let seen = sampler.context();
    assert_eq!((seen.io_some_share, seen.steal_share), (None, None));
}

#[test]
fn a_kernel_that_tells_nothing_leaves_everything_unknown() {
    let seen = sampler(&Fake::new()).context();
    let (begin_ns, duration_ns) = (seen.begin_ns, seen.duration_ns);
    assert_eq!(seen, Context { begin_ns, duration_ns, ..Context::default() });
}

#[test]
fn a_line_that_is_not_as_documented_is_unknown_and_not_zero() {
    let fake = Fake::new();
    fake.proc("pressure/io", "some avg10=0.00\nfull total=x\n");
    fake.proc("stat", "cpu  1 2 3\n");
    fake.proc("meminfo", "Dirty: many kB\nCached: 5\n");
    let seen = sampler(&fake).context();
    assert_eq!((seen.io_some_share, seen.io_full_share), (None, None));
    assert_eq!((seen.idle_share, seen.dirty_bytes), (None, None));
    assert_eq!(seen.memory_cached_bytes, None);
}
