//! Tests intermittent faults: devices that stall occasionally, and times of the recording that
//! explain others.

use crate::diagnose::staged::{
    EIGHT, EIGHT_PROFILE, at, closed, diagnosed, first_advice, longest, may_be, profiled, reads,
    seen,
};
use diagnose::FittedProfile;
use plan::scenarios;
use record::{Confidence, Figure, Observation, Strategy, Verdict};
use std::sync::LazyLock;

/// A single server of 8 ms.
const ONE: &str = "mmc,servers=1,service=8ms,cv=0.5";
static ONE_PROFILE: LazyLock<FittedProfile> = LazyLock::new(|| profiled(ONE));

#[test]
fn a_device_that_stands_still_now_and_then_is_slow_though_its_queue_is_that_of_a_burst() {
    for stalls in ["stall=300ms,stall-every=2s", "stall=700ms,stall-every=3s"] {
        let failing = format!("{ONE},{stalls}");
        let found = diagnosed(&seen(&failing, vec![reads(0, 60, 18)], false), Some(&ONE_PROFILE));
        let slow = found
            .shares
            .iter()
            .filter(|share| matches!(share.verdict, Verdict::Slow | Verdict::SlowAndOverloaded));
        let share: f64 = slow.map(|share| share.share_of_time).sum();
        assert!(share > 0.8, "{stalls}: {:#?}", found.episodes);
        assert_eq!(first_advice(&found), Some(Strategy::Restore), "{stalls}");
    }
    let found = diagnosed(&seen(ONE, vec![reads(0, 60, 18)], false), Some(&ONE_PROFILE));
    let none = |verdict| !may_be(longest(&found), verdict);
    assert!(matches!(longest(&found).verdict, Verdict::Healthy | Verdict::NotTheDisk));
    assert!(none(Verdict::Slow) && none(Verdict::SlowAndOverloaded), "{:#?}", longest(&found));
}

#[test]
fn a_device_is_not_busy_for_longer_because_its_requests_come_in_bursts() {
    // Eight at once, forty times a minute: as many requests at a time as wait behind a stall.
    let burst = |at: u64| scenarios::ScenarioLoad {
        begin: record::Nanos(at * 1_500_000_000),
        end: record::Nanos(at * 1_500_000_000 + 200_000_000),
        ..closed(0, 60, 8)
    };
    let bursts = (0..40).map(burst).collect();
    let found = diagnosed(&seen(ONE, bursts, false), Some(&ONE_PROFILE));
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::Overloaded, "{episode:#?}");
    assert!(!may_be(episode, Verdict::SlowAndOverloaded), "{episode:#?}");
}

/// A thousand reads per second, with four times the latency between two seconds.
fn slow_between(from: u64, to: u64) -> Observation {
    let mut observation = seen(EIGHT, vec![reads(0, 60, 1_000)], false);
    for (second, interval) in observation.intervals.iter_mut().enumerate() {
        if !(from..to).contains(&(second as u64)) {
            continue;
        }
        for op in [&mut interval.read, &mut interval.write, &mut interval.all] {
            op.latency_ns.iter_mut().for_each(|figure| figure.value *= 4.0);
        }
        interval.concurrency.iter_mut().for_each(|figure| figure.value *= 4.0);
    }
    observation
}

#[test]
fn where_the_same_load_was_slow_before_a_fine_hour_is_not_certain() {
    let found = diagnosed(&slow_between(0, 30), Some(&EIGHT_PROFILE));
    assert_eq!(at(&found, 15).verdict, Verdict::Slow, "{:#?}", found.episodes);
    let after = at(&found, 45);
    assert!(matches!(after.verdict, Verdict::Healthy | Verdict::NotTheDisk), "{after:#?}");
    assert!(after.confidence != Confidence::Certain && may_be(after, Verdict::Slow));

    let found = diagnosed(&slow_between(0, 0), Some(&EIGHT_PROFILE));
    assert!(!may_be(at(&found, 45), Verdict::Slow), "{:#?}", at(&found, 45));
}

#[test]
fn a_rate_that_stands_still_by_chance_is_no_cap_where_it_was_as_slow_while_it_moved() {
    let capped = |still_from: usize| {
        let mut observation = slow_between(0, 60);
        // The device always has a request; otherwise no limit applies.
        observation
            .intervals
            .iter_mut()
            .for_each(|one| one.busy_share = Some(Figure::measured(1.0, 0.0)));
        // The first half has another rate, which separates the segments.
        for interval in observation.intervals.iter_mut().skip(still_from) {
            for op in [&mut interval.read, &mut interval.all] {
                op.per_s.iter_mut().for_each(|figure| figure.value = 1_250.0);
            }
        }
        let found = diagnosed(&observation, Some(&EIGHT_PROFILE));
        may_be(at(&found, 59), Verdict::Capped)
    };
    assert!(capped(0), "a rate that never moves may be a cap");
    assert!(!capped(40));
}

#[test]
fn what_soon_passed_is_advised_upon_after_what_lasts() {
    let slow_for = |seconds: usize| {
        let mut observation = seen(EIGHT, vec![closed(0, 60, 64)], false);
        for interval in observation.intervals.iter_mut().skip(20).take(seconds) {
            for op in [&mut interval.read, &mut interval.all] {
                for figure in [&mut op.per_s, &mut op.bytes_per_s] {
                    figure.iter_mut().for_each(|figure| figure.value /= 4.0);
                }
                op.latency_ns.iter_mut().for_each(|figure| figure.value *= 4.0);
            }
        }
        diagnosed(&observation, Some(&EIGHT_PROFILE))
    };
    let brief = slow_for(6);
    assert_eq!(at(&brief, 23).verdict, Verdict::SlowAndOverloaded, "{:#?}", brief.episodes);
    assert_eq!(first_advice(&brief), Some(Strategy::ShallowerQueue));
    let strategies: Vec<_> = brief.advice.iter().map(|one| one.strategy).collect();
    assert!(strategies.contains(&Strategy::Restore), "{strategies:?}");
    assert_eq!(first_advice(&slow_for(30)), Some(Strategy::Restore));
}
