//! Tests the use of a volume's own log of its provider's limits.

use crate::diagnose::staged::{
    EIGHT, EIGHT_PROFILE, closed, diagnosed, first_advice, has_cause, longest, may_be, reads, seen,
};
use record::{CauseCode, Confidence, DeviceDiagnosis, OverLimit, Strategy, Verdict};

/// A healthy device under a sustainable load. Its log has these shares of time over the limits of
/// the volume's IOPS and of the machine's throughput.
fn told(volume_iops: f64, machine_bytes: f64) -> DeviceDiagnosis {
    let mut observation = seen(EIGHT, vec![reads(0, 60, 3_000)], false);
    let over = OverLimit { volume_iops, machine_bytes, ..OverLimit::default() };
    observation.intervals.iter_mut().for_each(|interval| interval.over_limit = Some(over));
    diagnosed(&observation, Some(&EIGHT_PROFILE))
}

#[test]
fn a_limit_that_is_exceeded_most_of_the_time_is_the_cause_without_doubt() {
    let found = told(0.7, 0.1);
    let episode = longest(&found);
    assert_eq!((episode.verdict, episode.confidence), (Verdict::Capped, Confidence::Certain));
    assert!(episode.claim.contains("IOPS of the volume"), "{}", episode.claim);
    assert!(has_cause(episode, CauseCode::ProviderLimit), "{:?}", episode.causes);
    assert_eq!(first_advice(&found), Some(Strategy::RaiseCap));
    assert!(found.advice[0].action.contains("IOPS of the volume"), "{}", found.advice[0].action);
}

#[test]
fn the_limit_of_the_machine_is_told_from_that_of_the_volume() {
    let found = told(0.0, 0.3);
    let episode = longest(&found);
    assert_eq!((episode.verdict, episode.confidence), (Verdict::Capped, Confidence::Likely));
    assert!(episode.claim.contains("throughput of the machine"), "{}", episode.claim);
    assert!(may_be(episode, Verdict::Overloaded), "the rest of the time: {episode:#?}");
}

#[test]
fn a_limit_that_is_exceeded_now_and_then_is_an_alternative() {
    let found = told(0.05, 0.0);
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::Healthy, "{episode:#?}");
    assert!(may_be(episode, Verdict::Capped), "{episode:#?}");
}

#[test]
fn a_log_that_counts_nothing_rules_a_cap_out() {
    let found = told(0.0, 0.0);
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::Healthy);
    let excluded = episode.excluded.iter().find(|one| one.verdict == Verdict::Capped).unwrap();
    assert!(excluded.because.contains("own log"), "{}", excluded.because);
}

#[test]
fn a_constant_rate_is_no_cap_where_the_log_counts_nothing() {
    // Queue depth 4 on a device with constant latency: the same rate in every interval.
    let mut observation = seen("mmc,servers=8,service=1ms,cv=0", vec![closed(0, 60, 4)], false);
    let capped = |observation: &record::Observation| {
        may_be(longest(&diagnosed(observation, Some(&EIGHT_PROFILE))), Verdict::Capped)
    };
    assert!(capped(&observation), "the rate alone cannot tell");
    let nothing = Some(OverLimit::default());
    observation.intervals.iter_mut().for_each(|interval| interval.over_limit = nothing);
    assert!(!capped(&observation));
}
