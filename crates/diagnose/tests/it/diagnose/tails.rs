//! Tests devices with short stalls that their means hide.

use crate::diagnose::staged::{
    EIGHT, EIGHT_FOR_DIAGNOSIS, EIGHT_PROFILE, closed, diagnosed, first_advice, has_cause,
    has_note, longest, may_be, profiled, reads, seen,
};
use record::{CauseCode, NoteCode, Strategy, Verdict};

/// Eight servers of 1 ms that stall for 25 ms, 2.5 times a second: this affects 10 of 4,000 requests.
const STANDS_STILL: &str = "mmc,servers=8,service=1ms,stall=25ms,stall-every=400ms";

#[test]
fn a_device_that_stands_still_is_slow_where_the_queue_is_constant() {
    let found = diagnosed(&seen(STANDS_STILL, vec![closed(0, 60, 4)], true), Some(&EIGHT_PROFILE));
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::Slow, "{episode:#?}");
    assert!(has_cause(episode, CauseCode::StandsStill), "{episode:#?}");
    assert!(!has_cause(episode, CauseCode::ServiceSlower), "the mean is fine: {episode:#?}");
    assert!(may_be(episode, Verdict::Capped) && may_be(episode, Verdict::Healthy));
    assert_eq!(first_advice(&found), Some(Strategy::Restore));
    let tail = episode.tail.unwrap();
    // The true value: the 25 ms and the rest of the request.
    assert!((25e6..32e6).contains(&tail.latency_ns), "{tail:?}");
    // One in a thousand of an exponential time of 1 ms takes 6.9 ms; the largest of the profile's
    // few thousand takes up to ln(10,000) ms plus 3.
    assert!((5.5e6..12.3e6).contains(&tail.expected_ns), "{tail:?}");
    let share = tail.longer as f64 / tail.requests as f64;
    assert!((0.001..0.005).contains(&share), "10 of 4,000: {tail:?}");
    assert!(tail.intervals > 40 && tail.of_intervals >= tail.intervals, "{tail:?}");
}

#[test]
fn under_arrivals_by_chance_it_is_an_alternative() {
    let observation = seen(STANDS_STILL, vec![reads(0, 60, 2_000)], true);
    let found = diagnosed(&observation, Some(&EIGHT_FOR_DIAGNOSIS));
    let episode = longest(&found);
    assert!(episode.verdict.is_slow() || may_be(episode, Verdict::Slow), "{episode:#?}");
    assert!(episode.tail.unwrap().is_long(), "{:?}", episode.tail);
}

#[test]
fn a_tail_as_the_profile_has_it_is_told_and_rules_out_the_device() {
    for load in [closed(0, 60, 4), reads(0, 60, 3_000)] {
        let found = diagnosed(&seen(EIGHT, vec![load], true), Some(&EIGHT_FOR_DIAGNOSIS));
        let episode = longest(&found);
        assert_eq!(episode.verdict, Verdict::Healthy, "{episode:#?}");
        assert!(!has_cause(episode, CauseCode::StandsStill) && !may_be(episode, Verdict::Slow));
        let tail = episode.tail.unwrap();
        let ratio = tail.latency_ns / tail.expected_ns;
        assert!((0.7..1.4).contains(&ratio), "{ratio}: {tail:?}");
        let excluded = episode.excluded.iter().find(|one| one.verdict == Verdict::Slow).unwrap();
        assert!(excluded.because.contains("One request in 1000"), "{}", excluded.because);
        assert!(!has_note(&found, NoteCode::MeansOnly));
    }
}

#[test]
fn without_single_requests_a_page_says_that_means_hide_it() {
    let found = diagnosed(&seen(STANDS_STILL, vec![closed(0, 60, 4)], false), Some(&EIGHT_PROFILE));
    let episode = longest(&found);
    assert_eq!((episode.verdict, episode.tail), (Verdict::Healthy, None), "{episode:#?}");
    assert!(has_note(&found, NoteCode::MeansOnly), "{:?}", found.notes);
}

#[test]
fn a_recording_of_windows_is_not_sent_to_the_tracer() {
    let told = |source: &str| {
        let mut observation = seen(STANDS_STILL, vec![closed(0, 60, 4)], false);
        observation.source = source.to_owned();
        format!("{:?}", diagnosed(&observation, Some(&EIGHT_PROFILE))).contains("Run live as root")
    };
    assert!(told("simulated") && !told("Windows PhysicalDisk CSV"));
}

#[test]
fn where_the_profile_has_too_few_requests_a_tail_that_may_be_long_is_an_alternative() {
    const SLOW: &str = "mmc,servers=4,service=4ms";
    let profile = profiled(SLOW);
    let of = |device: &str| diagnosed(&seen(device, vec![closed(0, 60, 2)], true), Some(&profile));
    let stands_still = of(&format!("{SLOW},stall=100ms,stall-every=2s"));
    let episode = longest(&stands_still);
    let tail = episode.tail.unwrap();
    assert_eq!((tail.share, tail.expected_share), (0.999, Some(0.99)));
    assert!(may_be(episode, Verdict::Slow) && may_be(episode, Verdict::Capped), "{episode:#?}");
    let fine = of(SLOW);
    let episode = longest(&fine);
    assert_eq!(episode.verdict, Verdict::Healthy, "{episode:#?}");
    // For exponential times, p99.9 is 1.5 times p99.
    assert!(episode.tail.unwrap().is_fine() && !may_be(episode, Verdict::Slow), "{episode:#?}");
}
