//! Tests the interval between two readings of a line.

use host::kernel::Roots;
use host::kernel::live::{Sampler, Selection};
use record::{Figure, Interval, OpInterval};
use std::time::Duration;
use testkit::Fake;

/// Pause between two readings: longer than the busy times that the lines below add.
const PAUSE: Duration = Duration::from_millis(20);

fn sampler(fake: &Fake, line: &str) -> Sampler {
    fake.proc("diskstats", line);
    let selection = Selection { partitions: true, unused: true, ..Selection::default() };
    Sampler::new(Roots::below(fake.root()), selection).unwrap()
}

/// The interval until the next line; `None` after a reset.
fn next(sampler: &mut Sampler, fake: &Fake, line: &str) -> Option<Interval> {
    std::thread::sleep(PAUSE);
    fake.proc("diskstats", line);
    sampler.sample().unwrap().pop()
}

fn between(before: &str, after: &str) -> Option<Interval> {
    let fake = Fake::new();
    next(&mut sampler(&fake, before), &fake, after)
}

fn interval(before: &str, after: &str) -> Interval {
    between(before, after).expect("no reset")
}

fn value(figure: Option<Figure>) -> f64 {
    figure.unwrap().value
}

/// A rate times the whole interval, to a thousandth.
fn total(interval: &Interval, per_s: Option<Figure>) -> f64 {
    (value(per_s) * interval.duration_ns as f64 / 1e6).round() / 1e3
}

/// A share or a concurrency times the whole interval, in ms.
fn total_ms(interval: &Interval, share: Option<Figure>) -> f64 {
    (value(share) * interval.duration_ns as f64 / 1e3).round() / 1e3
}

#[test]
fn an_interval_holds_the_rates_sizes_and_times_between_two_readings() {
    let seen = interval(
        "8 0 sda 100 5 800 1000 50 2 400 500 0 700 1500 3 0 30 40 2 9",
        "8 0 sda 300 15 2400 1100 150 2 1200 700 4 712 1855 5 0 50 70 12 34",
    );
    assert_eq!(seen.device, "sda");
    assert!(seen.begin_ns > 0 && u128::from(seen.duration_ns) >= PAUSE.as_nanos(), "{seen:?}");
    let total = |figure| total(&seen, figure);
    assert_eq!((total(seen.read.per_s), total(seen.write.per_s)), (200.0, 100.0));
    assert_eq!(total(seen.all.per_s), 300.0);
    assert_eq!(total(seen.read.bytes_per_s), 1600.0 * 512.0);
    assert_eq!(value(seen.read.request_bytes), 8.0 * 512.0);
    assert_eq!(total(seen.read.merged_per_s), 10.0);
    assert_eq!(value(seen.read.latency_ns), 500_000.0);
    assert_eq!(value(seen.write.latency_ns), 2_000_000.0);
    assert_eq!(value(seen.all.latency_ns), 1_000_000.0);
    // The resolution of the mean: a millisecond divided by 200 requests.
    assert_eq!(seen.read.latency_ns.unwrap().resolution, 5_000.0);
    assert_eq!(total_ms(&seen, seen.busy_share), 12.0);
    assert_eq!((total(seen.discards_per_s), total(seen.flushes_per_s)), (2.0, 10.0));
    // 25 ms for ten flushes.
    assert_eq!(seen.flush_latency_ns.map(|figure| figure.value), Some(2.5e6));
    assert_eq!(value(seen.in_flight), 4.0);
    // 355 ms in total, of which 30 ms were discards and 25 ms flushes.
    assert_eq!(total_ms(&seen, seen.concurrency), 300.0);
    assert_eq!(seen.concurrency.unwrap().quality, record::Quality::Derived);
}

#[test]
fn concurrency_is_rate_times_response_time() {
    let seen =
        interval("8 0 sda 0 0 0 0 0 0 0 0 0 0 0", "8 0 sda 400 0 3200 700 100 0 800 300 1 10 1000");
    let little = value(seen.all.per_s) * value(seen.all.latency_ns) / 1e9;
    assert!((little / value(seen.concurrency) - 1.0).abs() < 1e-9, "{seen:?}");
}

#[test]
fn what_a_line_does_not_have_is_absent_and_not_zero() {
    let old = interval("3 1 hda1 100 800 50 400", "3 1 hda1 200 1600 50 400");
    assert_eq!((total(&old, old.read.per_s), value(old.write.per_s)), (100.0, 0.0));
    assert_eq!((old.read.latency_ns, old.read.merged_per_s), (None, None));
    assert_eq!((old.busy_share, old.concurrency, old.in_flight), (None, None, None));
    assert_eq!((old.discards_per_s, old.flushes_per_s), (None, None));
    let idle = interval("8 0 sda 1 0 8 5 0 0 0 0 0 9 5", "8 0 sda 1 0 8 5 0 0 0 0 0 9 5");
    assert_eq!(value(idle.read.per_s), 0.0);
    assert_eq!((idle.read.latency_ns, idle.all.request_bytes), (None, None));
    assert_eq!((value(idle.busy_share), value(idle.concurrency)), (0.0, 0.0));
}

#[test]
fn a_device_without_counters_has_no_figures_at_all() {
    let fake = Fake::new();
    fake.block("pci/block/sda", "8:0", 1000);
    fake.sys("devices/pci/block/sda/queue/iostats", "0");
    let zero = "8 0 sda 0 0 0 0 0 0 0 0 0 0 0";
    let mut sampler = sampler(&fake, zero);
    let seen = next(&mut sampler, &fake, zero).unwrap();
    assert_eq!((seen.read, seen.all), (OpInterval::default(), OpInterval::default()));
    assert_eq!((seen.busy_share, seen.in_flight), (None, None));
}

#[test]
fn times_wrap_at_two_to_the_thirty_two() {
    let seen = interval(
        "8 0 sda 100 0 800 4294967290 50 0 400 4294967295 0 4294967290 4294967000",
        "8 0 sda 200 0 1600 94 100 0 800 49 0 4 954",
    );
    assert_eq!(value(seen.read.latency_ns), 1_000_000.0);
    assert_eq!(value(seen.write.latency_ns), 1_000_000.0);
    assert_eq!(total_ms(&seen, seen.busy_share), 10.0);
    assert_eq!(total_ms(&seen, seen.concurrency), 1_250.0);
}

#[test]
fn counts_of_a_32_bit_kernel_wrap_too() {
    let seen = interval(
        "8 0 sda 4294967196 0 4294966496 0 7 0 56 0 0 0 0",
        "8 0 sda 100 0 800 0 7 0 56 0 0 0 0",
    );
    assert_eq!(total(&seen, seen.read.per_s), 200.0);
    assert_eq!(value(seen.read.request_bytes), 8.0 * 512.0);
}

#[test]
fn a_count_that_cannot_have_wrapped_began_anew() {
    let after = "8 0 sda 10 0 80 1 0 0 0 0 0 1 1";
    for before in [
        "8 0 sda 1000 0 8000 100 5 0 40 9 0 90 109",
        // In the upper half, but the sectors show that it is another device.
        "8 0 sda 4294967290 0 90000000000 100 0 0 0 0 0 90 109",
        // Beyond 32 bits, where nothing wraps.
        "8 0 sda 5000000000 0 80 100 0 0 0 0 0 90 109",
    ] {
        assert_eq!(between(before, after), None, "{before}");
    }
}

#[test]
fn after_a_reset_the_next_interval_counts_from_there() {
    let fake = Fake::new();
    let mut sampler = sampler(&fake, "8 0 sda 1000 0 8000 100 0 0 0 0 0 90 109");
    assert_eq!(next(&mut sampler, &fake, "8 0 sda 10 0 80 5 0 0 0 0 0 5 5"), None);
    let found = sampler.findings();
    assert!(found[0].claim.contains("sda (reads)"), "{found:?}");
    let seen = next(&mut sampler, &fake, "8 0 sda 20 0 160 25 0 0 0 0 0 15 25").unwrap();
    assert_eq!((total(&seen, seen.read.per_s), value(seen.read.latency_ns)), (10.0, 2_000_000.0));
    assert_eq!(total_ms(&seen, seen.busy_share), 10.0);
}

#[test]
fn a_time_that_went_back_a_little_stood_still() {
    let seen = interval(
        "8 0 sda 100 0 800 1000 0 0 0 0 0 500 1000",
        "8 0 sda 200 0 1600 1100 0 0 0 0 0 497 1100",
    );
    assert_eq!((value(seen.busy_share), total_ms(&seen, seen.concurrency)), (0.0, 100.0));
}

#[test]
fn no_device_is_busy_for_longer_than_the_interval() {
    let seen = interval(
        "8 0 sda 100 0 800 1000 0 0 0 0 1 500 1000",
        "8 0 sda 101 0 808 61000 0 0 0 0 0 60500 61000",
    );
    assert_eq!(value(seen.busy_share), 1.0);
}

#[test]
fn each_generation_of_columns_is_read() {
    let (before, after) =
        ("8 0 sda 0 0 0 0 0 0 0 0 0 0 0", "8 0 sda 10 1 800 30 20 2 1600 40 3 15 70");
    // Discards since 18 columns, flushes since 20; further columns are unknown.
    for (zeros, more, discards, flushes) in [
        ("", "", None, None),
        (" 0 0 0 0", " 5 6 7 8", Some(5.0), None),
        (" 0 0 0 0 0 0", " 5 6 7 8 9 11", Some(5.0), Some(9.0)),
        (" 0 0 0 0 0 0 1 1", " 5 6 7 8 9 11 12 13", Some(5.0), Some(9.0)),
    ] {
        let seen = interval(&format!("{before}{zeros}"), &format!("{after}{more}"));
        let total = |figure| total(&seen, figure);
        assert_eq!((total(seen.read.per_s), total(seen.write.per_s)), (10.0, 20.0));
        assert_eq!((total(seen.read.merged_per_s), total(seen.write.merged_per_s)), (1.0, 2.0));
        assert_eq!(total(seen.read.bytes_per_s), 800.0 * 512.0);
        assert_eq!(total(seen.write.bytes_per_s), 1600.0 * 512.0);
        assert_eq!(value(seen.read.latency_ns), 3_000_000.0);
        assert_eq!(value(seen.write.latency_ns), 2_000_000.0);
        assert_eq!((value(seen.in_flight), total_ms(&seen, seen.busy_share)), (3.0, 15.0));
        // The time of discards (8 ms) and flushes (11 ms) is subtracted, if available.
        let others_ms = discards.map_or(0.0, |_| 8.0) + flushes.map_or(0.0, |_| 11.0);
        assert_eq!(total_ms(&seen, seen.concurrency), 70.0 - others_ms);
        let known = |figure: Option<Figure>| figure.map(|figure| total(Some(figure)));
        assert_eq!((known(seen.discards_per_s), known(seen.flushes_per_s)), (discards, flushes));
    }
    let old = interval("3 1 hda1 0 0 0 0", "3 1 hda1 100 800 50 400");
    assert_eq!(old.device, "hda1");
    assert_eq!((total(&old, old.read.per_s), total(&old, old.write.per_s)), (100.0, 50.0));
    assert_eq!(total(&old, old.all.bytes_per_s), 1200.0 * 512.0);
}

#[test]
fn a_malformed_line_is_named_with_its_number_and_problem() {
    let full = "8 0 sda 10 1 800 30 20 2 1600 40 3 55 70";
    for (lines, number, problem) in [
        (format!("{full}\n8 1 sda1 4 5 6\n"), "line 2", "6 columns"),
        (full.replace("1600", "x"), "line 1", "column 10"),
    ] {
        let found = sampler(&Fake::new(), &lines).findings();
        let claim = &found[0].claim;
        assert!(claim.contains(number) && claim.contains(problem), "{claim}");
    }
}

#[test]
fn a_negative_number_in_flight_is_none() {
    let line = "8 0 sda 10 1 800 30 20 2 1600 40 -1 55 70";
    assert_eq!(value(interval(line, line).in_flight), 0.0);
}
