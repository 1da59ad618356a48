//! Tests separate verdicts on reads and writes.

use crate::diagnose::staged::{
    EIGHT, EIGHT_PROFILE, EIGHT_READS, by_no_profile, diagnosed, has_note, load, longest, may_be,
    reads, seen,
};
use record::{NoteCode, Observation, OpKind, Verdict};

/// Reads and writes at these rates.
fn both(reads_per_s: u64, writes_per_s: u64) -> Observation {
    let writes = load(0, 60, |spec| {
        spec.asked.rate_iops = Some(writes_per_s);
        spec.asked.read_percent = 0;
    });
    seen(EIGHT, vec![reads(0, 60, reads_per_s), writes], false)
}

/// Many reads and a few writes, well within the device's limits.
fn mixed() -> Observation {
    both(3_000, 300)
}

/// The same load with writes that take `times` as long, at this rate.
fn writes_held(times: f64, per_s: Option<f64>) -> Observation {
    let mut observation = mixed();
    for interval in &mut observation.intervals {
        let writes = &mut interval.write;
        if let (Some(rate), Some(per_s)) = (&mut writes.per_s, per_s) {
            rate.value = per_s;
        }
        if let Some(latency) = &mut writes.latency_ns {
            latency.value *= times;
        }
    }
    observation
}

#[test]
fn writes_alone_that_take_too_long_are_told_beside_reads_that_do_not() {
    let found = diagnosed(&writes_held(6.0, None), Some(&EIGHT_PROFILE));
    let episode = longest(&found);
    let [reads, writes] = &episode.operations[..] else { panic!("{episode:#?}") };
    assert_eq!((reads.op, writes.op), (OpKind::Read, OpKind::Write));
    assert!(!reads.verdict.is_slow() && writes.verdict.is_slow(), "{:#?}", episode.operations);
    assert!(writes.latency_ns > 3.0 * writes.expected_ns && !writes.constant, "{writes:?}");
    // Over both, 300 of 3,300 requests hardly change the mean.
    assert!(episode.verdict.is_slow() || may_be(episode, Verdict::Slow), "{episode:#?}");
    assert!(!may_be(episode, Verdict::Capped), "they come as chance brings them: {episode:#?}");
}

#[test]
fn slow_writes_at_a_constant_rate_beside_reads_that_move_may_be_capped() {
    let found = diagnosed(&writes_held(40.0, Some(300.0)), Some(&EIGHT_PROFILE));
    let episode = longest(&found);
    assert!(episode.operations[1].constant && !episode.operations[0].constant);
    assert!(may_be(episode, Verdict::Capped), "{episode:#?}");
}

#[test]
fn operations_that_are_both_as_expected_change_nothing() {
    let found = diagnosed(&mixed(), Some(&EIGHT_PROFILE));
    let episode = longest(&found);
    assert!(episode.operations.iter().all(|one| one.verdict == episode.verdict), "{episode:#?}");
    assert!(!may_be(episode, Verdict::Slow) && !may_be(episode, Verdict::Capped));
    let alone = diagnosed(&seen(EIGHT, vec![reads(0, 60, 3_000)], false), Some(&EIGHT_PROFILE));
    assert!(longest(&alone).operations.is_empty(), "there are no writes");
}

#[test]
fn a_few_writes_that_the_profile_does_not_know_leave_the_reads_their_verdict_and_many_do_not() {
    for (observation, slow) in [(both(3_000, 150), false), (slow_reads(6.0), true)] {
        let found = diagnosed(&observation, Some(&EIGHT_READS));
        let episode = longest(&found);
        assert_eq!(episode.verdict.is_slow(), slow, "{episode:#?}");
        assert_ne!(episode.verdict, Verdict::NotEnoughEvidence, "{episode:#?}");
        assert!(has_note(&found, NoteCode::ReadsAlone), "{:?}", found.notes);
        // The episode's numbers cover all requests.
        assert!((0.94..0.96).contains(&episode.numbers.read_share.unwrap()), "{episode:#?}");
        assert!((3_100.0..3_200.0).contains(&episode.numbers.iops.unwrap()), "{episode:#?}");
    }
    let many = diagnosed(&both(1_000, 1_000), Some(&EIGHT_READS));
    assert!(by_no_profile(longest(&many)), "{:#?}", longest(&many));
    assert!(!has_note(&many, NoteCode::ReadsAlone));
    // With a profile that has writes, nothing is left out.
    assert!(!has_note(&diagnosed(&mixed(), Some(&EIGHT_PROFILE)), NoteCode::ReadsAlone));
}

/// A few writes next to reads that take `times` as long.
fn slow_reads(times: f64) -> Observation {
    let mut observation = both(3_000, 150);
    for latency in observation.intervals.iter_mut().filter_map(|one| one.read.latency_ns.as_mut()) {
        latency.value *= times;
    }
    observation
}
