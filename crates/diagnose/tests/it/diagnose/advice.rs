//! Tests that advice follows the measurement.

use crate::diagnose::profile;
use crate::diagnose::synthetic::{Noise, cached, depths, rounds, sizes, visits, workload};
use record::{Advice, CacheMode, Measured, OpKind, Pattern, Trial, Workload};

fn servers(count: u32) -> impl Fn(&Workload) -> f64 {
    move |workload| 10_000.0 * f64::from(workload.depth.min(count))
}

fn advice_on(trials: &[Trial]) -> Vec<Advice> {
    let all = diagnose::advise(&profile(trials));
    for advice in &all {
        let against = advice.against_rule.as_deref().unwrap_or_default();
        for text in [&advice.recommendation, &advice.because, &advice.next_best, against] {
            assert!(text.chars().count() <= 140, "more than two lines: {text}");
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
    assert_eq!(advice.recommendation, "QD 4");
    assert!(advice.because.starts_with("QD 4: "), "{}", advice.because);
    assert!(advice.because.ends_with("of the maximum rate"), "{}", advice.because);
    let (shallower, deeper) = advice.next_best.split_once("; ").unwrap();
    assert!(shallower.starts_with("QD 2: -5") || shallower.starts_with("QD 2: -4"));
    assert!(shallower.ends_with("latency"), "{shallower}");
    assert!(deeper.starts_with("QD 8: ") && deeper.contains(", +"), "{deeper}");
    assert_eq!(advice.against_rule, None);
}

#[test]
fn a_flat_piece_of_a_curve_does_not_end_it() {
    // Rates of a virtual disk, in thousands: they hardly grow from 8 to 32, but do beyond.
    let rate = |workload: &Workload| {
        let thousands = [47.6, 74.8, 116.0, 154.0, 161.0, 158.0, 212.0, 238.0, 229.0];
        1e3 * thousands[workload.depth.ilog2() as usize]
    };
    let wobbling = only(&rounds(&depths(OpKind::Read, 256), rate, 3, 0.005, &mut Noise(1)));
    assert_eq!(wobbling.recommendation, "QD 64");
    assert!(wobbling.because.ends_with("89 % of the maximum rate"), "{}", wobbling.because);
    assert!(wobbling.next_best.starts_with("QD 32: -2"), "{}", wobbling.next_best);
    assert!(wobbling.next_best.contains("; QD 128: +1"), "{}", wobbling.next_best);
    // The same curve without its tail.
    let ended = only(&rounds(&depths(OpKind::Read, 32), rate, 3, 0.005, &mut Noise(1)));
    assert_eq!(ended.recommendation, "QD 8");
}

#[test]
fn a_noisy_curve_names_the_depths_that_its_errors_allow() {
    let noisy = |noise: f64| {
        let trials = rounds(&depths(OpKind::Read, 64), servers(8), 3, noise, &mut Noise(3));
        only(&trials).recommendation
    };
    let all: Vec<String> = [0.1, 0.3, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 1.0].map(noisy).into();
    assert!(all.iter().any(|words| words.ends_with(" are within the error bars")), "{all:?}");
    assert_eq!(all.last().unwrap(), "undecided");
    let sharp = only(&rounds(&depths(OpKind::Read, 64), servers(8), 3, 0.01, &mut Noise(3)));
    assert_eq!(sharp.recommendation, "QD 8");
}

#[test]
fn a_curve_whose_largest_rate_is_one_lucky_point_leaves_the_depth_undecided() {
    // A write that a cache took at QD 1 in one visit of three, and a device of 8 servers otherwise.
    let mut visit = 0;
    let rate = move |workload: &Workload, lucky: bool| {
        servers(8)(workload) * if workload.depth == 1 && lucky { 30.0 } else { 1.0 }
    };
    let mut trials = Vec::new();
    for lucky in [false, true, false] {
        visit += 1;
        trials.extend(rounds(
            &depths(OpKind::Write, 64),
            |it| rate(it, lucky),
            1,
            0.02,
            &mut Noise(visit),
        ));
    }
    assert_eq!(only(&trials).recommendation, "undecided");
    assert_eq!(profile(&trials).depth_curves[0].knee, None);
}

#[test]
fn a_knee_outside_two_to_four_contradicts_the_rule() {
    let deep = depth_advice(32, 128);
    assert_eq!(deep.recommendation, "QD 32");
    let rule = deep.against_rule.unwrap();
    assert!(rule.contains("QD 4 gives 1"), "{rule}");
    let serial = depth_advice(1, 32);
    assert_eq!(serial.recommendation, "QD 1");
    assert!(serial.against_rule.unwrap().contains("here QD 4 changes the rate by"));
}

#[test]
fn a_curve_without_a_knee_gives_its_end_and_says_so() {
    let advice = depth_advice(64, 16);
    assert_eq!(advice.recommendation, "QD 16 or more; no deeper queue was tried");
    assert!(advice.because.contains("the highest rate measured"), "{}", advice.because);
}

#[test]
fn each_direction_gets_its_own_depth() {
    let mut trials = rounds(&depths(OpKind::Read, 32), servers(8), 3, 0.01, &mut Noise(1));
    trials.extend(rounds(&depths(OpKind::Write, 32), servers(2), 3, 0.01, &mut Noise(2)));
    let used: Vec<(String, String)> = advice_on(&trials)
        .into_iter()
        .map(|advice| (advice.subject, advice.recommendation))
        .collect();
    assert_eq!(used[0], ("read depth".to_owned(), "QD 8".to_owned()));
    assert_eq!(used[1], ("write depth".to_owned(), "QD 2".to_owned()));
}

/// A device with a fixed time per request and a maximum throughput.
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
    // 50 µs per request and 500 MB/s: at queue depth 1, 32 KiB take 51.6 µs and reach all of it.
    let shallow = size_advice(50_000.0, 500e6, 8);
    assert_eq!(shallow.subject, "sequential read size");
    assert_eq!(shallow.recommendation, "32 KiB requests at QD 1");
    assert!(shallow.because.contains("half of the maximum with"), "{}", shallow.because);
    assert_eq!(shallow.against_rule, None);
    // The same with forty times the throughput, which no request alone comes close to.
    let deep = size_advice(50_000.0, 20e9, 32);
    assert_eq!(deep.recommendation, "32 KiB requests at QD 32");
    assert!(deep.next_best.contains("throughput"), "{}", deep.next_best);
}

#[test]
fn a_device_that_needs_more_than_64_kib_contradicts_the_rule() {
    // 1 ms per request: at queue depth 1, 64 KiB reach 65 of 500 MB/s, and 512 KiB all of it.
    let advice = size_advice(1_000_000.0, 500e6, 2);
    assert_eq!(advice.recommendation, "512 KiB requests at QD 1");
    let rule = advice.against_rule.unwrap();
    assert!(rule.contains("64 KiB requests; here they give 13 %"), "{rule}");
}

#[test]
fn a_noisy_size_curve_names_the_sizes_that_its_errors_allow_or_is_undecided() {
    let rate = |workload: &Workload| {
        let shares = [0.3, 0.5, 0.65, 0.75, 0.82, 0.87, 0.92, 0.96, 1.0];
        let bytes = workload.max_bs().0;
        500e6 * shares[bytes.ilog2() as usize - 12] / bytes as f64
    };
    let design = sizes(OpKind::Write, 1);
    let noisy = only(&rounds(&design, rate, 3, 0.1, &mut Noise(1))).recommendation;
    assert!(noisy.ends_with(" are within the error bars"), "{noisy}");
    // A cache took the largest requests in one visit of three.
    let mut trials = Vec::new();
    for (seed, factor) in [(1, 1.0), (2, 30.0), (3, 1.0)] {
        let lucky = |workload: &Workload| {
            rate(workload) * if workload.max_bs().0 == 1 << 20 { factor } else { 1.0 }
        };
        trials.extend(rounds(&design, lucky, 1, 0.02, &mut Noise(seed)));
    }
    let wild = only(&trials);
    assert_eq!(wild.recommendation, "undecided");
    assert_eq!(wild.because, "the measured rates vary too much");
}

/// A buffered cold cell and its direct counterpart: sequential reads at depth 1, in requests per second.
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
    assert_eq!(buffered.recommendation, "--cache all");
    assert_eq!(buffered.next_best, "--cache device: -50 % throughput");
    assert!(buffered.against_rule.unwrap().contains("above 64 KiB"));
    let direct = only(&read_pair(128 << 10, 1000.0, 2000.0));
    assert_eq!(direct.recommendation, "--cache device");
    assert_eq!(direct.against_rule, None);
    assert!(only(&read_pair(4096, 1000.0, 2000.0)).against_rule.unwrap().contains("below 8 KiB"));
    assert_eq!(only(&read_pair(4096, 2000.0, 1000.0)).against_rule, None);
}

#[test]
fn sizes_that_want_different_cache_modes_share_one_entry() {
    let mut trials = read_pair(64 << 10, 1000.0, 1500.0);
    trials.extend(read_pair(4096, 9000.0, 1000.0));
    let advice = only(&trials);
    assert_eq!(advice.recommendation, "--cache all for 4 KiB requests, --cache device from 64 KiB");
    assert!(advice.because.contains("4 KiB 36.9 MB/s") && advice.because.contains("64 KiB 98.3"));
    assert!(advice.next_best.contains("64 KiB --cache all: -33 %"), "{}", advice.next_best);
}

#[test]
fn equally_fast_cache_modes_are_decided_by_processor_time() {
    let mut trials = read_pair(64 << 10, 1000.0, 1005.0);
    let neither = only(&trials);
    assert_eq!(neither.recommendation, "--cache device");
    assert_eq!(neither.next_best, "--cache all: no measurable difference");
    for trial in trials.iter_mut().filter(|trial| trial.workload.cache == CacheMode::Device) {
        if let Measured::Value(cpu) = &mut trial.cpu {
            cpu.lower_us_per_io = Some(20.0);
        }
    }
    let advice = only(&trials);
    assert_eq!(advice.recommendation, "--cache all");
    let price = "--cache device: no measurable difference, 4.0 times the CPU";
    assert!(advice.next_best.ends_with(price), "{}", advice.next_best);
}

#[test]
fn a_read_size_whose_rates_vary_too_much_is_undecided() {
    let mut trials = read_pair(4096, 9000.0, 1000.0);
    let mut vague = read_pair(64 << 10, 1000.0, 1000.0);
    for (trial, iops) in vague.iter_mut().zip([300.0, 2500.0, 900.0]) {
        *trial = crate::diagnose::synthetic::trial(&trial.workload.clone(), iops);
    }
    trials.extend(vague);
    let advice = only(&trials);
    assert_eq!(advice.recommendation, "--cache all for 4 KiB requests, undecided from 64 KiB");
    assert!(advice.next_best.contains("64 KiB --cache all: undecided ("), "{}", advice.next_best);
}

#[test]
fn a_buffered_cell_without_a_direct_twin_or_on_a_warm_cache_says_nothing() {
    let mut trials = read_pair(64 << 10, 2000.0, 1000.0);
    trials.retain(|trial| trial.workload.cache == CacheMode::All);
    assert!(advice_on(&trials).is_empty());
    let mut warm = read_pair(64 << 10, 2000.0, 1000.0);
    for trial in &mut warm {
        trial.workload.drop_cache = record::DropCache::None;
        trial.cell = trial.workload.cell();
    }
    assert!(advice_on(&warm).is_empty());
}

fn write_pair(bs_bytes: u64, durable: f64, cached_rate: f64) -> Vec<Trial> {
    let twin = workload(OpKind::Write, Pattern::Random, bs_bytes, 1);
    let mut trials = visits(&twin, cached_rate);
    trials.extend(visits(&cached(twin, CacheMode::None), durable));
    trials
}

#[test]
fn the_price_of_durable_writes_and_the_risk_of_the_others_are_stated() {
    let advice = only(&write_pair(4096, 1000.0, 10_000.0));
    assert_eq!(advice.subject, "write cache mode");
    let risk = "--cache device; a power failure may lose unflushed writes";
    assert_eq!(advice.recommendation, risk);
    assert!(advice.next_best.contains("--cache none: -90 % (1.00k IOPS"));
    assert_eq!(advice.against_rule, None);
}

#[test]
fn durability_is_advised_where_it_costs_nothing() {
    let advice = only(&write_pair(4096, 10_000.0, 10_050.0));
    assert!(
        advice.recommendation.starts_with("--cache none: write-through"),
        "{}",
        advice.recommendation
    );
    assert!(advice.next_best.contains("no measurable difference"), "{}", advice.next_best);
    assert!(advice.next_best.contains("unflushed writes at risk"), "{}", advice.next_best);
    assert!(advice.against_rule.unwrap().contains("here they do not"));
}

#[test]
fn a_size_whose_price_is_unknown_follows_the_one_that_is_known() {
    let mut trials = write_pair(65536, 900.0, 1000.0);
    for (trial, iops) in trials.iter_mut().skip(3).zip([300.0, 1500.0, 900.0]) {
        *trial = crate::diagnose::synthetic::trial(&trial.workload.clone(), iops);
    }
    let alone = only(&trials).recommendation;
    assert!(alone.starts_with("undecided; --cache none is the safe choice"), "{alone}");
    assert!(only(&trials).next_best.contains("undecided ("));
    let mut costly = trials.clone();
    costly.extend(write_pair(4096, 1000.0, 10_000.0));
    assert!(only(&costly).recommendation.starts_with("--cache device;"));
    let mut free = write_pair(65536, 1000.0, 1000.0);
    free.extend(write_pair(4096, 1000.0, 10_000.0));
    let both = only(&free).recommendation;
    assert!(both.starts_with("--cache device for 4 KiB requests, --cache none from"), "{both}");
}
