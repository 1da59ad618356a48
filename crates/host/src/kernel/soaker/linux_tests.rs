//! Tests the soaker: its arithmetic on given counts, and its threads on this machine.

use super::*;
use crate::kernel::read::text;

fn reading(at_ms: u64, loops: &[u64]) -> SoakSpan {
    SoakSpan { length: Nanos(at_ms * 1_000_000), loops: loops.to_vec(), kernel_ticks: None }
}

fn span(ms: u64, loops: &[u64]) -> SoakSpan {
    let none = vec![0; loops.len()];
    reading(1_000 + ms, loops).since(&reading(1_000, &none))
}

fn calibration(loops_per_s: &[f64]) -> Calibration {
    Calibration { loops_per_s: loops_per_s.to_vec(), disturbed_share: 0.0 }
}

#[test]
fn what_a_soaker_does_not_get_is_what_others_used() {
    let calibration = calibration(&[1_000.0, 2_000.0]);
    // One processor free, the other half used, for 2 s.
    let half = span(2_000, &[2_000, 2_000]);
    assert!((half.others_ns(&calibration) - 1e9).abs() < 1.0);
    assert!((half.others_share(&calibration) - 0.25).abs() < 1e-9);
    let free = span(2_000, &[2_000, 4_000]);
    assert!(free.others_ns(&calibration).abs() < 1.0);
    // A tenth of both used without the load, over a different length of time.
    let idle = span(500, &[450, 900]);
    assert!((half.load_ns(&idle, &calibration) - 0.6e9).abs() < 1.0);
    let both = half.plus(&free);
    assert_eq!(both.length, Nanos(4_000_000_000));
    assert!((both.others_ns(&calibration) - 1e9).abs() < 1.0);
}

#[test]
fn a_calibration_is_the_second_best_slice_and_tells_of_disturbance() {
    let rates = vec![vec![90.0, 100.0, 101.0, 50.0], vec![200.0, 200.0, 200.0, 200.0]];
    let calibration = Calibration::of(&rates, &span(1_000, &[80, 200]));
    assert_eq!(calibration.loops_per_s, [100.0, 200.0]);
    assert!((calibration.disturbed_share - 0.1).abs() < 1e-9, "{calibration:?}");
}

#[test]
fn a_soaker_s_rate_is_that_of_its_own_time_however_little_others_leave() {
    // The second got 3 % of a second, the third nothing.
    let before = (reading(1_000, &[50, 7, 9]), vec![0, 1_000, 4_000]);
    let after = (reading(2_000, &[1_050, 37, 9]), vec![1_000_000_000, 30_001_000, 4_000]);
    let rates = own_rates(&before, &after, OWN_MIN_NS);
    assert_eq!(rates[0], Some(1_000.0));
    assert!((rates[1].unwrap() - 1_000.0).abs() < 1e-6);
    assert_eq!(rates[2], None);
    assert_eq!(own_rates(&before, &after, 100_000_000)[1], None);
    let known = rates.into_iter().map(|rate| rate.into_iter().collect()).collect::<Vec<_>>();
    let calibration = Calibration::of(&known, &after.0.since(&before.0));
    assert!((calibration.disturbed_share - (0.97 + 1.0) / 3.0).abs() < 1e-6, "{calibration:?}");
}

#[test]
fn a_thread_s_cpu_time_moves_while_it_works() {
    // Above the kernel's largest process number (`PID_MAX_LIMIT`).
    const NO_THREAD: i32 = 1 << 22;
    let own = || thread_cpu_ns(&rustix::thread::gettid()).unwrap();
    let before = own();
    while own() < before + 1_000_000 {
        black_box(before);
    }
    assert_eq!(thread_cpu_ns(&ThreadNumber::from_raw(NO_THREAD).unwrap()), None);
}

#[test]
fn calibrations_are_compared_by_the_processor_that_moved_most() {
    let (before, after) = (calibration(&[100.0, 200.0]), calibration(&[102.0, 190.0]));
    assert!((before.change_rel(&after) - 0.05).abs() < 1e-9);
    assert_eq!(before.best(&after).loops_per_s, [102.0, 200.0]);
}

/// Names, policies and allowed processors of the soaker threads of this process.
fn soaker_threads() -> Vec<(String, String, String)> {
    let tasks = std::path::Path::new("/proc/self/task");
    crate::kernel::read::names(tasks)
        .iter()
        .filter_map(|task| {
            let name = text(&tasks.join(task).join("comm"))?;
            let stat = text(&tasks.join(task).join("stat"))?;
            // The policy is the 41st field, the 39th after the name.
            let policy = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(38)?.to_owned();
            let status = text(&tasks.join(task).join("status"))?;
            let cpus = crate::kernel::read::field(&status, "Cpus_allowed_list")?.to_owned();
            name.starts_with("soaker-").then_some((name, policy, cpus))
        })
        .collect()
}

#[test]
fn there_is_one_soaker_of_idle_policy_pinned_to_each_processor_and_none_after_the_drop() {
    let soaker = Soaker::start(&Roots::default()).unwrap();
    let threads = soaker_threads();
    assert_eq!(threads.len() as u32, soaker.cpus());
    for (name, policy, cpus) in threads {
        assert_eq!(name, format!("soaker-{cpus}"));
        assert_eq!(policy, libc::SCHED_IDLE.to_string());
    }
    let before = soaker.reading();
    let tap = SoakTap::default();
    tap.record();
    assert_eq!(tap.take_span(), None, "a tap without a soaker counts nothing");
    tap.connect(&soaker);
    tap.record();
    // On a busy machine a soaker gets little, but not nothing.
    let moved = || soaker.reading().since(&before).loops.iter().all(|&loops| loops > 0);
    while !moved() {
        std::thread::sleep(SLICE);
    }
    tap.record();
    let span = tap.take_span().unwrap();
    assert!(span.length.0 > 0 && span.loops.len() as u32 == soaker.cpus());
    // Its rates depend on other programs; how they are computed is tested with given counts.
    assert_eq!(soaker.calibrate(Duration::from_millis(50)).cpus(), soaker.cpus());
    drop(soaker);
    // A joined thread is listed until the kernel has removed it.
    let patience = std::time::Instant::now() + Duration::from_secs(20);
    while !soaker_threads().is_empty() && std::time::Instant::now() < patience {
        std::thread::sleep(SLICE);
    }
    assert_eq!(soaker_threads(), []);
}
