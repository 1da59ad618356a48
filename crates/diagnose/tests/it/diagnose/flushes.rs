//! Tests the time of flushes without a profile. Each long flush has a counterpart that is healthy.

use crate::diagnose::layers::flushing;
use crate::diagnose::staged::{diagnosed, has_cause, longest, may_be};
use record::{CauseCode, DeviceFacts, Figure, Observation, Verdict};

/// A disk with this driver that rotates or not, whose flushes take this long.
fn disk(driver: &str, rotational: bool, flush_ns: f64) -> Observation {
    let mut observed = flushing(flush_ns);
    // A drive's cache takes writes quickly.
    for interval in &mut observed.intervals {
        interval.write.latency_ns = Some(Figure::measured(1e5, 0.0));
    }
    observed.devices[0].facts = Some(DeviceFacts {
        driver: Some(driver.to_owned()),
        rotational: Some(rotational),
        rotational_trusted: true,
        ..DeviceFacts::default()
    });
    observed
}

#[test]
fn long_flushes_are_slow_on_a_flash_drive_and_usual_on_a_rotating_disk() {
    for driver in ["nvme", "ahci"] {
        let found = diagnosed(&disk(driver, false, 30e6), None);
        let episode = longest(&found);
        assert_eq!(episode.verdict, Verdict::Slow, "{driver}: {episode:#?}");
        assert!(episode.claim.contains("30.0 ms"), "{}", episode.claim);
        assert!(has_cause(episode, CauseCode::WritesSlower), "{:?}", episode.causes);
        assert!(
            found.advice[0].action.starts_with("Measure what a commit takes"),
            "{:?}",
            found.advice[0]
        );
    }
    // However coarse the latencies of the few writes before them are.
    let mut coarse = disk("nvme", false, 30e6);
    for interval in &mut coarse.intervals {
        interval.write.latency_ns = Some(Figure::measured(2e4, 1e4));
    }
    let found = diagnosed(&coarse, None);
    assert_eq!(longest(&found).verdict, Verdict::Slow, "{:#?}", longest(&found));
    for (driver, rotational, flush_ns) in
        [("nvme", false, 1e6), ("ahci", false, 2e6), ("ahci", true, 14e6), ("ahci", true, 20e6)]
    {
        let found = diagnosed(&disk(driver, rotational, flush_ns), None);
        let episode = longest(&found);
        assert!(episode.verdict.is_fine(), "{driver} {flush_ns}: {episode:#?}");
        assert_eq!(episode.as_good().count(), 0, "{driver} {flush_ns}: {episode:#?}");
    }
}

#[test]
fn long_flushes_of_a_disk_of_unknown_kind_leave_slow_as_good_an_answer() {
    let found = diagnosed(&flushing(30e6), None);
    let episode = longest(&found);
    assert!(episode.as_good().any(|one| one.verdict == Verdict::Slow), "{episode:#?}");
    let slow = episode.alternatives.iter().find(|one| one.verdict == Verdict::Slow).unwrap();
    assert!(slow.because.contains("a rotating disk may take that long"), "{slow:#?}");
    let quick = diagnosed(&flushing(1e6), None);
    assert_eq!(longest(&quick).as_good().count(), 0, "{:#?}", longest(&quick));
}

/// Flushes of 1 ms that take 30 ms from the middle on, each after `times` as many writes.
fn that_become_longer(times: f64) -> Observation {
    let mut observed = flushing(1e6);
    let figure = |value| Some(Figure::measured(value, 0.0));
    for interval in observed.intervals.iter_mut().skip(30) {
        interval.flush_latency_ns = figure(30e6);
        interval.flushes_per_s = figure(30.0 / times);
    }
    observed
}

#[test]
fn flushes_that_become_longer_are_an_episode_and_those_with_more_to_write_out_are_no_fault() {
    let found = diagnosed(&that_become_longer(1.0), None);
    assert_eq!(found.episodes.len(), 2, "{:#?}", found.episodes);
    let [before, after] = [0, 1].map(|at| &found.episodes[at]);
    assert!(before.verdict.is_fine() && before.as_good().count() == 0, "{before:#?}");
    assert_eq!(after.verdict, Verdict::Slow, "{after:#?}");
    assert!(after.claim.contains("30 times the 1.00 ms at another time"), "{}", after.claim);
    let found = diagnosed(&that_become_longer(10.0), None);
    assert!(found.episodes.iter().all(|one| one.verdict.is_fine()), "{:#?}", found.episodes);
    assert!(!may_be(longest(&found), Verdict::SlowAndOverloaded));
}
