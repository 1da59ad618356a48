//! Advice follows the measurement.

use crate::profile;
use crate::synthetic::{Noise, cached, depths, rounds, sizes, visits, workload};
use record::{Advice, CacheMode, Measured, OpKind, Pattern, Trial, Workload};

fn servers(count: u32) -> impl Fn(&Workload) -> f64 {
    move |workload| 10_000.0 * f64::from(workload.depth.min(count))
}

fn advice_on(trials: &[Trial]) -> Vec<Advice> {
    let all = diagnose::advise(&profile(trials));
    for advice in &all {
        let against = advice.against_rule.as_deref().unwrap_or_default();
        for text in [&advice.use_this, &advice.because, &advice.next_best, against] {
            assert!(text.chars().count() <= 200, "more than three lines: {text}");
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }
    all
}

fn only(trials: &[Trial]) -> Advice {
    let mut all = advice_on(trials);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn depth_advice(count: u32, max_depth: u32) -> Advice {
    only(&rounds(&depths(OpKind::Read, max_depth), servers(count), 3, 0.01, &mut Noise(1)))
}

#[test]
fn nothing_measured_gives_no_advice() {
    assert!(advice_on(&[]).is_empty());
}

#[test]
fn depth_advice_is_the_knee_with_the_price_of_both_neighbours() {
    let advice = depth_advice(4, 32);
    assert_eq!(advice.subject, "read depth");
    assert_eq!(advice.use_this, "4 requests outstanding");
    assert!(advice.because.contains("4 deep gives 4"), "{}", advice.because);
    assert!(advice.because.contains("8 deep changes the rate by"), "{}", advice.because);
    assert!(advice.because.contains("takes 2.0 times as long"), "{}", advice.because);
    assert!(
        advice.next_best.starts_with("2 deep: -5") || advice.next_best.starts_with("2 deep: -4")
    );
    assert_eq!(advice.against_rule, None);
}

#[test]
fn a_knee_outside_two_to_four_contradicts_the_rule() {
    let deep = depth_advice(32, 128);
    assert_eq!(deep.use_this, "32 requests outstanding");
    let rule = deep.against_rule.unwrap();
    assert!(rule.contains("4 deep gives only 1"), "{rule}");
    let serial = depth_advice(1, 32);
    assert_eq!(serial.use_this, "1 request outstanding");
    assert!(serial.against_rule.unwrap().contains("here 4 deep changes the rate by"));
}

#[test]
fn a_curve_without_a_knee_gives_its_end_and_says_so() {
    let advice = depth_advice(64, 16);
    assert_eq!(advice.use_this, "16 requests outstanding or more; no deeper ones were tried");
    assert!(advice.because.ends_with("it still grew there"), "{}", advice.because);
}

#[test]
fn each_direction_gets_its_own_depth() {
    let mut trials = rounds(&depths(OpKind::Read, 32), servers(8), 3, 0.01, &mut Noise(1));
    trials.extend(rounds(&depths(OpKind::Write, 32), servers(2), 3, 0.01, &mut Noise(2)));
    let used: Vec<(String, String)> =
        advice_on(&trials).into_iter().map(|advice| (advice.subject, advice.use_this)).collect();
    assert_eq!(used[0], ("read depth".to_owned(), "8 requests outstanding".to_owned()));
    assert_eq!(used[1], ("write depth".to_owned(), "2 requests outstanding".to_owned()));
}

/// A device with a fixed time per request and a top throughput.
fn pipe(fixed_ns: f64, top_bytes_per_s: f64) -> impl Fn(&Workload) -> f64 {
    move |workload| {
        let bytes = workload.max_bs().0 as f64;
        let alone = 1e9 / (fixed_ns + bytes * 0.05);
        (alone * f64::from(workload.depth)).min(top_bytes_per_s / bytes)
    }
}

fn size_advice(fixed_ns: f64, top_bytes_per_s: f64, deep: u32) -> Advice {
    let mut design = sizes(OpKind::Read, 1);
    design.extend(sizes(OpKind::Read, deep));
    only(&rounds(&design, pipe(fixed_ns, top_bytes_per_s), 3, 0.002, &mut Noise(1)))
}

#[test]
fn the_smallest_size_that_gives_nearly_all_is_advised_at_the_shallowest_depth_that_can() {
    // 50 µs per request and 500 MB/s: alone, 32 KiB take 51.6 µs and give all of it.
    let shallow = size_advice(50_000.0, 500e6, 8);
    assert_eq!(shallow.subject, "sequential read size");
    assert_eq!(shallow.use_this, "32 KiB requests, 1 outstanding");
    assert!(shallow.because.contains("give half of it"), "{}", shallow.because);
    assert_eq!(shallow.against_rule, None);
    // The same at forty times the throughput: no lone request comes near it.
    let deep = size_advice(50_000.0, 20e9, 32);
    assert_eq!(deep.use_this, "32 KiB requests, 32 outstanding");
    assert!(deep.next_best.contains("throughput"), "{}", deep.next_best);
}

#[test]
fn a_device_that_needs_more_than_64_kib_contradicts_the_rule() {
    // 1 ms per request: alone, 64 KiB give 65 MB/s of 500, and 512 KiB all of it.
    let advice = size_advice(1_000_000.0, 500e6, 2);
    assert_eq!(advice.use_this, "512 KiB requests, 1 outstanding");
    let rule = advice.against_rule.unwrap();
    assert!(rule.contains("64 KiB requests; here they give only 13 %"), "{rule}");
}

/// A buffered cold cell and its direct twin, sequential reads at depth 1, in requests per second.
fn read_pair(bs_bytes: u64, buffered: f64, direct: f64) -> Vec<Trial> {
    let twin = workload(OpKind::Read, Pattern::Sequential, bs_bytes, 1);
    let mut trials = visits(&twin, direct);
    trials.extend(visits(&cached(twin, CacheMode::All), buffered));
    trials
}

#[test]
fn the_faster_cache_mode_for_reads_is_advised_also_against_the_rule() {
    let buffered = only(&read_pair(128 << 10, 2000.0, 1000.0));
    assert_eq!(buffered.subject, "read cache mode");
    assert_eq!(buffered.use_this, "--cache all");
    assert!(buffered.next_best.starts_with("--cache device: -50 % throughput"));
    assert!(buffered.against_rule.unwrap().contains("above 64 KiB"));
    let direct = only(&read_pair(128 << 10, 1000.0, 2000.0));
    assert_eq!(direct.use_this, "--cache device");
    assert_eq!(direct.against_rule, None);
    assert!(only(&read_pair(4096, 1000.0, 2000.0)).against_rule.unwrap().contains("below 8 KiB"));
    assert_eq!(only(&read_pair(4096, 2000.0, 1000.0)).against_rule, None);
}

#[test]
fn equally_fast_cache_modes_are_decided_by_processor_time() {
    let mut trials = read_pair(64 << 10, 1000.0, 1005.0);
    assert_eq!(only(&trials).use_this, "--cache device");
    for trial in trials.iter_mut().filter(|trial| trial.workload.cache == CacheMode::Device) {
        if let Measured::Value(cpu) = &mut trial.cpu {
            cpu.lower_us_per_io = Some(20.0);
        }
    }
    let advice = only(&trials);
    assert_eq!(advice.use_this, "--cache all");
    assert!(advice.next_best.contains("4.0 times the CPU time"), "{}", advice.next_best);
}

#[test]
fn a_buffered_cell_without_a_direct_twin_or_on_a_warm_cache_says_nothing() {
    let mut trials = read_pair(64 << 10, 2000.0, 1000.0);
    trials.retain(|trial| trial.workload.cache == CacheMode::All);
    assert!(advice_on(&trials).is_empty());
    let mut warm = read_pair(64 << 10, 2000.0, 1000.0);
    for trial in &mut warm {
        trial.workload.scrub = record::Scrub::None;
        trial.cell = trial.workload.cell();
    }
    assert!(advice_on(&warm).is_empty());
}

fn write_pair(durable: f64, cached_rate: f64) -> Vec<Trial> {
    let twin = workload(OpKind::Write, Pattern::Random, 4096, 1);
    let mut trials = visits(&twin, cached_rate);
    trials.extend(visits(&cached(twin, CacheMode::None), durable));
    trials
}

#[test]
fn the_price_of_durable_writes_is_stated() {
    let advice = only(&write_pair(1000.0, 10_000.0));
    assert_eq!(advice.subject, "write cache mode");
    assert!(advice.use_this.starts_with("--cache device"), "{}", advice.use_this);
    assert!(advice.next_best.contains("-90 % rate, 1.00 ms instead of 100 µs"));
    assert_eq!(advice.against_rule, None);
}

#[test]
fn durability_is_advised_where_it_costs_nothing() {
    let advice = only(&write_pair(10_000.0, 10_050.0));
    assert!(advice.use_this.starts_with("--cache none"), "{}", advice.use_this);
    assert!(advice.next_best.contains("the last writes may be lost"));
    assert!(advice.against_rule.unwrap().contains("here they do not"));
}
