//! Tests what the latencies of reads and writes do not show: flushes, requests that never complete, reads
//! behind write-back, and a profile that the device exceeds. Each has a counterpart without harm.

use crate::diagnose::staged::{
    EIGHT, EIGHT_PROFILE, by_no_profile, closed, diagnosed, has_cause, load, longest, may_be,
    reads, seen,
};
use diagnose::FittedProfile;
use record::{
    Bytes, CauseCode, CommitPoint, Commits, Context, Estimate, Figure, FlushKind,
    HistogramSnapshot, LogKind, Measured, Observation, OpInterval, Verdict,
};

const SECOND: u64 = 1_000_000_000;

/// A profile in which a commit takes this long.
fn committing(flush_ns: f64) -> FittedProfile {
    let mut profile = EIGHT_PROFILE.profile().clone();
    let around = |value: f64| Estimate::symmetric(value, 0.02 * value, 3);
    let point = CommitPoint {
        log: LogKind::Overwritten,
        committers: 1,
        bytes: Bytes(4096),
        flush: FlushKind::Fdatasync,
        trial_ids: Vec::new(),
        commits_per_s: around(1e9 / flush_ns),
        flush_ns: around(flush_ns),
        write_ns: around(1e4),
        flush_p99_ns: Measured::not("not needed"),
        histogram: HistogramSnapshot::default(),
    };
    profile.commits = Measured::Value(Commits { points: vec![point], verdicts: Vec::new() });
    FittedProfile::new(profile)
}

fn figure(value: f64) -> Option<Figure> {
    Some(Figure::measured(value, 0.0))
}

/// Writes with flushes of this length, 30 per second.
pub(crate) fn flushing(flush_ns: f64) -> Observation {
    let writes = load(0, 60, |spec| {
        spec.asked.rate_iops = Some(60);
        spec.asked.read_percent = 0;
    });
    let mut observed = seen(EIGHT, vec![writes], false);
    for interval in &mut observed.intervals {
        interval.flushes_per_s = figure(30.0);
        interval.flush_latency_ns = figure(flush_ns);
    }
    observed
}

#[test]
fn flushes_slower_than_a_commit_of_the_profile_are_a_slow_device_and_as_fast_ones_are_not() {
    let profile = committing(1.5e6);
    let found = diagnosed(&flushing(12e6), Some(&profile));
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::Slow, "{episode:#?}");
    assert!(episode.claim.contains("12.0 ms") && episode.claim.contains("1.50 ms"), "{episode:#?}");
    assert!(has_cause(episode, CauseCode::WritesSlower), "{:#?}", episode.causes);
    // As many flushes, as fast as when the profile was made.
    for each_ns in [0.3e6, 1.5e6] {
        let found = diagnosed(&flushing(each_ns), Some(&profile));
        assert!(longest(&found).verdict.is_fine(), "{:#?}", longest(&found));
    }
    // A device that always took as long.
    let found = diagnosed(&flushing(12e6), Some(&committing(12e6)));
    assert!(longest(&found).verdict.is_fine(), "{:#?}", longest(&found));
}

/// A reader at this rate, beside write-back of the page cache at this depth.
fn beside_write_back(rate: u64, depth: u32) -> Observation {
    let mut writer = load(0, 60, |spec| {
        spec.asked.read_percent = 0;
        spec.asked.iodepth = depth;
    });
    writer.write_back = true;
    seen(EIGHT, vec![reads(0, 60, rate), writer], false)
}

#[test]
fn a_reader_behind_write_back_waits_and_one_that_passes_it_does_not() {
    for rate in [8, 80] {
        let found = diagnosed(&beside_write_back(rate, 200), Some(&EIGHT_PROFILE));
        let episode = longest(&found);
        assert_eq!(episode.verdict, Verdict::Overloaded, "{rate}: {episode:#?}");
        assert!(has_cause(episode, CauseCode::WritesInFront), "{rate}: {:#?}", episode.causes);
        // The same write-back, with reads that the device or a scheduler serves first.
        let mut passed = beside_write_back(rate, 200);
        for interval in &mut passed.intervals {
            interval.read.latency_ns = interval.read.latency_ns.and_then(|_| figure(1.1e6));
        }
        let found = diagnosed(&passed, Some(&EIGHT_PROFILE));
        assert!(longest(&found).verdict.is_fine(), "{rate}: {:#?}", longest(&found));
    }
}

#[test]
fn a_profile_that_the_device_clearly_exceeds_is_no_ground_for_overload() {
    let mut vague = EIGHT_PROFILE.profile().clone();
    vague.level_se_rel = Some(0.6);
    let vague = FittedProfile::new(vague);
    let observed = seen("mmc,servers=32,service=1ms", vec![reads(0, 60, 15_500)], false);
    for profile in [&*EIGHT_PROFILE, &vague] {
        let found = diagnosed(&observed, Some(profile));
        let episode = longest(&found);
        assert!(by_no_profile(episode), "{episode:#?}");
        assert!(!has_cause(episode, CauseCode::RateNearMaximum), "{:#?}", episode.causes);
        let better = episode.baseline.as_ref().and_then(|one| one.better.as_deref()).unwrap();
        assert!(better.contains("of the maximum in the profile"), "{better}");
    }
    // A rate within the error of an uncertain profile is still compared with it.
    let found = diagnosed(&seen(EIGHT, vec![closed(0, 60, 64)], false), Some(&vague));
    assert!(!by_no_profile(longest(&found)), "{:#?}", longest(&found));
}

/// A quiet load in which the device completes nothing in these seconds.
fn hanging(seconds: std::ops::Range<u64>, in_flight: Option<f64>, busy: f64) -> Observation {
    let mut observed = seen(EIGHT, vec![reads(0, 60, 1_000)], false);
    let none = OpInterval { per_s: figure(0.0), bytes_per_s: figure(0.0), ..OpInterval::default() };
    for interval in &mut observed.intervals {
        if in_flight.is_none() {
            interval.in_flight = None;
        }
        if seconds.contains(&(interval.begin_ns / SECOND)) {
            (interval.read, interval.write, interval.all) = (none, none, none);
            interval.in_flight = in_flight.and_then(figure);
            interval.busy_share = figure(busy);
            interval.concurrency = figure(0.0);
        }
    }
    observed
}

#[test]
fn a_device_that_completes_nothing_for_seconds_hangs_in_any_part_of_the_time() {
    // With a count of requests in flight, as in /proc/diskstats, and without, as in iostat.
    for in_flight in [Some(5.0), None] {
        for seconds in [0..20, 20..35, 30..33, 45..60] {
            let observed = hanging(seconds.clone(), in_flight, 1.0);
            for profile in [Some(&*EIGHT_PROFILE), None] {
                let found = diagnosed(&observed, profile);
                let worst = found.shown_episode().unwrap();
                let told = format!("{in_flight:?} {seconds:?}: {worst:#?}");
                assert_eq!(worst.verdict, Verdict::Slow, "{told}");
                let says = if seconds.end < 60 { "hung" } else { "hangs" };
                assert!(worst.claim.contains(says), "{told}");
                // A counter that falls again is not stuck.
                let fell = seconds.end < 60 && in_flight.is_some();
                assert!(!fell || !told.contains("may be stuck"), "{told}");
                assert!(has_cause(worst, CauseCode::StandsStill), "{told}");
            }
        }
    }
    // The same time without requests.
    let found = diagnosed(&hanging(20..35, Some(0.0), 0.0), Some(&EIGHT_PROFILE));
    assert!(found.worst.is_none(), "{found:#?}");
}

#[test]
fn a_device_that_never_answers_hangs_unless_no_program_waits_for_it() {
    let waited = |share: Option<f64>| {
        let mut observed = hanging(0..60, Some(5.0), 1.0);
        observed.contexts = share.map_or_else(Vec::new, |share| {
            let length = 60 * SECOND;
            let io_some_share = Some(share);
            vec![Context { duration_ns: length, io_some_share, ..Context::default() }]
        });
        longest(&diagnosed(&observed, None)).clone()
    };
    assert_eq!(waited(Some(0.9)).verdict, Verdict::Slow);
    let unknown = waited(None);
    assert_eq!(unknown.verdict, Verdict::Slow, "{unknown:#?}");
    assert!(may_be(&unknown, Verdict::NotEnoughEvidence), "{unknown:#?}");
    let stuck = waited(Some(0.0));
    assert_eq!(stuck.verdict, Verdict::NotEnoughEvidence, "{stuck:#?}");
    assert!(stuck.claim.contains("counter"), "{stuck:#?}");
}
