//! Tests recordings of other tools, whose counters are all that is known of a disk. Each problem has a healthy
//! counterpart with the same sign.

use crate::diagnose::staged::{diagnosed, has_cause, longest};
use record::{
    CauseCode, DeviceDiagnosis, Figure, Interval, NoteCode, Observation, ObservedDevice,
    OpInterval, OpKind, Verdict,
};

const SECOND: u64 = 1_000_000_000;

/// Reads and writes of a second, each with rate, latency in milliseconds and size in KiB; the share of the time
/// that the device is busy, and the requests in flight at its end.
#[derive(Clone, Copy, Default)]
struct Second {
    reads: (f64, f64, f64),
    writes: (f64, f64, f64),
    busy: f64,
    in_flight: f64,
}

fn figure(value: f64) -> Option<Figure> {
    Some(Figure::measured(value, 0.0))
}

fn op((per_s, ms, kib): (f64, f64, f64)) -> OpInterval {
    OpInterval {
        per_s: figure(per_s),
        bytes_per_s: figure(per_s * kib * 1024.0),
        latency_ns: figure(ms * 1e6).filter(|_| per_s > 0.0),
        ..OpInterval::default()
    }
}

/// The recording of a disk.
fn recording(name: &str, seconds: impl Iterator<Item = Second>) -> Observation {
    let interval = |(at, one): (u64, Second)| Interval {
        device: name.to_owned(),
        begin_ns: at * SECOND,
        duration_ns: SECOND,
        read: op(one.reads),
        write: op(one.writes),
        busy_share: figure(one.busy),
        in_flight: figure(one.in_flight),
        ..Interval::default()
    };
    Observation {
        devices: vec![ObservedDevice { name: name.to_owned(), ..ObservedDevice::default() }],
        intervals: (0..).zip(seconds).map(interval).collect(),
        ..Observation::default()
    }
}

fn found(name: &str, seconds: impl Iterator<Item = Second>) -> DeviceDiagnosis {
    diagnosed(&recording(name, seconds), None)
}

#[test]
fn a_pinned_rate_with_a_growing_queue_is_a_cap_whatever_the_source_reports() {
    let pinned = |at: u32| {
        let ms = 5.0 + f64::from(at) / 3.0;
        Second {
            reads: (3_000.0, ms, 4.0),
            busy: 1.0,
            in_flight: (3.0 * ms).round(),
            ..Second::default()
        }
    };
    for name in ["sda", "vda", "nvme0n1", "0 C:"] {
        let full = recording(name, (0..60).map(pinned));
        // iostat reports no samples of the number in flight, and some kernels count too much busy time.
        let mut without = full.clone();
        without.intervals.iter_mut().for_each(|one| one.in_flight = None);
        let mut doubted = without.clone();
        doubted.devices[0].busy_doubt = Some("kernels 4.17 to 6.9".to_owned());
        for observed in [full, without, doubted] {
            for episode in diagnosed(&observed, None).episodes {
                assert_eq!(episode.verdict, Verdict::Capped, "{name}: {episode:#?}");
            }
        }
    }
}

#[test]
fn a_rate_that_the_program_kept_on_the_idle_device_is_no_cap_when_the_device_becomes_slow() {
    let paced = |at: u32| {
        let (ms, busy) = if at < 30 { (0.3, 0.3) } else { (9.0, 1.0) };
        // The latency varies, and the queue with it.
        let ms = ms * (1.0 + 0.2 * f64::from(at * 7 % 5));
        let in_flight = (0.777 * ms).round();
        Second { reads: (777.0, ms, 4.0), busy, in_flight, ..Second::default() }
    };
    let found = found("nvme0n1", (0..60).map(paced));
    let shown = found.shown_episode().unwrap();
    assert!(shown.verdict.is_slow(), "{shown:#?}");
}

#[test]
fn requests_that_became_random_explain_the_latency_of_a_disk_that_may_rotate() {
    let after = |name: &str, ms: f64| {
        let second = move |at: u32| {
            let ms = if at < 40 { 0.4 } else { ms } * (1.0 + 0.25 * f64::from(at % 3));
            let reads = 55.0 + f64::from(at % 7);
            let present = reads * ms / 1e3;
            let (busy, in_flight) = (present.min(1.0), present.round());
            Second { reads: (reads, ms, 16.0), busy, in_flight, ..Second::default() }
        };
        let found = found(name, (0..80).map(second));
        let noted = found.notes.iter().any(|note| note.claim.contains("became random"));
        (found.episodes.last().unwrap().verdict, noted)
    };
    let (verdict, noted) = after("sda", 9.0);
    assert!(verdict.is_fine() && noted, "{verdict:?}");
    // Too slow for random requests, and a drive that does not rotate.
    let (verdict, _) = after("sda", 45.0);
    assert!(verdict.is_slow(), "{verdict:?}");
    assert!(after("nvme0n1", 9.0).0.is_slow());
}

#[test]
fn repeated_hangs_are_counted_and_the_longest_is_named() {
    let hangs = |at: u32| match at {
        20..25 | 50..59 => Second { busy: 1.0, in_flight: 4.0, ..Second::default() },
        _ => Second { reads: (300.0, 0.5, 4.0), busy: 0.15, ..Second::default() },
    };
    let all = found("sda", (0..90).map(hangs));
    let claim = &all.shown_episode().unwrap().claim;
    assert!(claim.contains("It hung 2 times in this recording"), "{claim}");
    assert!(claim.contains("the longest 9.00 s"), "{claim}");
    let once = found("sda", (30..90).map(hangs));
    assert!(!once.shown_episode().unwrap().claim.contains("times in"), "{:?}", once.episodes);
}

/// A second of fast reads; `stuck` if one more request is in flight all the time.
fn fast_reads(ms: f64, stuck: bool) -> Second {
    let (busy, in_flight) = if stuck { (1.0, 1.0) } else { (0.1, 0.0) };
    Second { reads: (300.0, ms, 4.0), busy, in_flight, ..Second::default() }
}

#[test]
fn one_request_that_others_overtake_for_seconds_is_a_stall_if_its_end_is_seen() {
    // The mean of its last second includes the 20 s of that request.
    let at = |second: u32, end_ms: f64| match second {
        20..40 => fast_reads(0.3, true),
        40 => fast_reads(end_ms, false),
        _ => fast_reads(0.3, false),
    };
    let stalled = found("sda", (0..60).map(|second| at(second, 67.0)));
    let shown = stalled.shown_episode().unwrap();
    assert_eq!(shown.verdict, Verdict::Slow, "{shown:#?}");
    assert!(
        shown.claim.contains("The device stalled: a request took about 20.0 s"),
        "{}",
        shown.claim
    );
    assert!(has_cause(shown, CauseCode::StandsStill), "{:?}", shown.causes);
    // A discard, a flush or a stuck counter is in flight as long, and no read or write takes that time.
    let other = found("sda", (0..60).map(|second| at(second, 0.3)));
    assert!(longest(&other).verdict.is_fine(), "{:#?}", longest(&other));
    // So is one request at a time, which fills all of the time.
    let steady =
        |_| Second { reads: (1_100.0, 0.9, 4.0), busy: 1.0, in_flight: 1.0, ..Second::default() };
    let one_by_one = found("nvme0n1", (0..60).map(steady));
    assert!(longest(&one_by_one).verdict.is_fine(), "{:#?}", longest(&one_by_one));
    // Without a profile, the parallelism of the device is unknown.
    let claims: Vec<&str> =
        longest(&one_by_one).causes.iter().map(|it| it.claim.as_str()).collect();
    assert!(
        claims.iter().any(|it| it.contains("QD1") || it.contains("1.0 in flight on average")),
        "{claims:?}"
    );
    assert!(!claims.iter().any(|it| it.contains("the device can serve")), "{claims:?}");
}

#[test]
fn reads_that_heavy_writes_do_not_delay_are_judged_apart_and_alike_ones_are_not() {
    let with = |write_ms: f64, writes: f64| {
        let second = move |at: u32| {
            let more = f64::from(at * 37 % 90);
            Second {
                reads: (2_000.0 + more, 0.1, 4.0),
                writes: (writes - more, write_ms, 64.0),
                busy: 1.0,
                in_flight: (writes * write_ms / 1e3).round(),
            }
        };
        longest(&found("nvme0n1", (0..60).map(second))).clone()
    };
    let heavy = with(20.0, 4_000.0);
    let verdicts: Vec<(OpKind, Verdict)> =
        heavy.operations.iter().map(|one| (one.op, one.verdict)).collect();
    assert_eq!(
        verdicts,
        [(OpKind::Read, Verdict::Healthy), (OpKind::Write, Verdict::Overloaded)],
        "{heavy:#?}"
    );
    assert_eq!(with(0.2, 4_000.0).operations, []);
}

#[test]
fn a_hang_whose_busy_time_comes_after_it_is_one() {
    // As kernels before 6.10 count: nothing is busy until the requests end.
    let at = |second: u32, end_ms: f64| match second {
        20..27 => Second { in_flight: 8.0, ..Second::default() },
        27 => Second { reads: (300.0, end_ms, 4.0), busy: 1.0, ..Second::default() },
        _ => Second { reads: (300.0, 0.3, 4.0), busy: 0.1, ..Second::default() },
    };
    let hung = found("nvme0n1", (0..60).map(|second| at(second, 200.0)));
    let shown = hung.shown_episode().unwrap();
    assert_eq!(shown.verdict, Verdict::Slow, "{shown:#?}");
    assert!(shown.claim.contains("8 in flight and no request completed for at least 7.00 s"));
    // A counter that was stuck and recovers: no request took that time.
    let stuck = found("nvme0n1", (0..60).map(|second| at(second, 0.3)));
    assert!(longest(&stuck).verdict.is_fine(), "{:#?}", longest(&stuck));
}

#[test]
fn requests_that_slow_down_as_they_change_size_are_slow_beyond_what_their_size_explains() {
    let noted =
        |found: &DeviceDiagnosis| found.notes.iter().any(|note| note.code == NoteCode::SizesGrew);
    // Requests arrive when they do, whatever the device takes for them.
    let half = |second: u32, after: (f64, f64)| {
        let rate = 280.0 + 40.0 * f64::from(second % 7);
        let (ms, kib) = if second < 60 { (0.08, 8.0) } else { after };
        let busy = (rate * ms / 1e3).min(1.0);
        Second { reads: (rate, ms, kib), busy, ..Second::default() }
    };
    let of = |after| found("nvme0n1", (0..120).map(|second| half(second, after)));
    for (ms, kib) in [(2.4, 16.0), (2.4, 4.0)] {
        let slower = of((ms, kib));
        let shown = slower.shown_episode().unwrap();
        assert_eq!(shown.verdict, Verdict::Slow, "{kib} KiB: {shown:#?}");
        assert!(!noted(&slower), "{kib} KiB");
    }
    let larger = of((0.2, 64.0));
    assert!(longest(&larger).verdict.is_fine(), "{:#?}", longest(&larger));
    assert!(noted(&larger), "{larger:#?}");
}
