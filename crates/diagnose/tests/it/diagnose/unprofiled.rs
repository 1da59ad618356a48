//! Tests devices without a profile, and programs that do not wait.

use crate::diagnose::staged::{
    EIGHT, EIGHT_PROFILE, closed, diagnosed, first_advice, has_cause, has_doubt, load, longest,
    may_be, profiled, reads, seen,
};
use record::{
    Arrival, CauseCode, Confidence, Demand, DeviceFacts, Doubt, Observation, ProcessIo, Rung,
    Strategy, Verdict,
};

/// At most "likely".
fn with_reserve(confidence: Confidence) -> bool {
    matches!(confidence, Confidence::Likely | Confidence::Possible)
}

#[test]
fn a_deep_queue_is_overload_without_a_profile_and_never_more_than_likely() {
    let found = diagnosed(&seen(EIGHT, vec![closed(0, 60, 256)], true), None);
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::Overloaded, "{episode:#?}");
    assert!(with_reserve(episode.confidence) && may_be(episode, Verdict::SlowAndOverloaded));
    assert_eq!(first_advice(&found), Some(Strategy::ShallowerQueue));
    let baseline = episode.baseline.as_ref().unwrap();
    assert!(baseline.rung != Rung::Profile && baseline.better.is_some(), "{baseline:?}");
    // The counterpart in depth.
    let found = diagnosed(&seen(EIGHT, vec![closed(0, 60, 1)], true), None);
    assert!(longest(&found).verdict.is_fine(), "{:#?}", longest(&found));
}

#[test]
fn a_published_figure_behind_a_full_queue_is_a_cap_and_a_rate_that_moves_is_none() {
    for profile in [None, Some(profiled("cloud"))] {
        let found = diagnosed(&seen("cloud", vec![closed(0, 60, 64)], false), profile.as_ref());
        let episode = longest(&found);
        assert_eq!(episode.verdict, Verdict::Capped, "{episode:#?}");
        assert!(episode.claim.contains("gp3"), "{}", episode.claim);
        assert_eq!(first_advice(&found), Some(Strategy::RaiseCap));
    }
    let found = diagnosed(&seen("mm1,service=5ms", vec![closed(0, 60, 64)], false), None);
    assert_ne!(longest(&found).verdict, Verdict::Capped, "{:#?}", longest(&found));
}

#[test]
fn what_a_program_paces_is_no_cap_where_nobody_waits() {
    let paced = |rate| {
        let mut program = load(0, 60, |spec| {
            spec.asked.rate_iops = Some(rate);
        });
        program.workload.arrival = Arrival::Constant;
        program
    };
    for rate in [80, 800, 2_400, 4_000] {
        let observed = seen(EIGHT, vec![paced(rate)], false);
        for profile in [None, Some(&*EIGHT_PROFILE)] {
            let found = diagnosed(&observed, profile);
            let episode = longest(&found);
            assert!(episode.verdict.is_fine(), "{rate}: {episode:#?}");
            assert_eq!(episode.demand, Demand::Met, "{rate}");
            assert_eq!(found.advice, [], "{rate}");
            assert!(episode.as_good().all(|one| one.verdict.is_fine()), "{rate}: {episode:#?}");
        }
    }
}

/// The same requests on a machine whose CPUs and host sleep, which simulated time does not have.
fn real(mut observation: Observation) -> Observation {
    observation.source = "live".to_owned();
    observation
}

#[test]
fn a_light_load_that_takes_as_much_longer_as_waking_up_is_not_slow() {
    let profile = profiled("mmc,servers=8,service=100us");
    let at = |service: &str| {
        let device = format!("mmc,servers=8,service={service}");
        let observed = real(seen(&device, vec![reads(0, 60, 500)], false));
        longest(&diagnosed(&observed, Some(&profile))).clone()
    };
    let later = at("170us");
    assert!(later.verdict.is_fine() && may_be(&later, Verdict::Slow), "{later:#?}");
    let slow = at("900us");
    assert_eq!(slow.verdict, Verdict::Slow, "{slow:#?}");
    assert!(!has_doubt(&slow, Doubt::AfterRest));
}

/// A program that keeps 64 requests outstanding, of which the device gets four.
fn held_above(tags: Option<u64>) -> Observation {
    let mut observed = seen(EIGHT, vec![closed(0, 60, 4)], false);
    for device in &mut observed.devices {
        device.facts = tags.map(|tags| DeviceFacts {
            disk: "sdx".to_owned(),
            nr_requests: Some(tags),
            ..DeviceFacts::default()
        });
    }
    for interval in &mut observed.intervals {
        let reads = (interval.read.per_s.unwrap().value) as u64;
        let name = "database".to_owned();
        interval.processes =
            Some(vec![ProcessIo { name, reads, outstanding: Some(64), ..ProcessIo::default() }]);
    }
    observed
}

#[test]
fn a_program_that_waits_longer_than_the_device_takes_needs_an_explanation_before_all_is_well() {
    let found = diagnosed(&held_above(None), Some(&EIGHT_PROFILE));
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::NotEnoughEvidence, "{episode:#?}");
    assert!(
        episode.claim.contains("Programs wait") && episode.demand == Demand::Unmet,
        "{episode:#?}"
    );
}

#[test]
fn few_tags_below_a_deep_queue_of_a_program_are_named_and_more_are_advised() {
    let found = diagnosed(&held_above(Some(4)), Some(&EIGHT_PROFILE));
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::Capped, "{episode:#?}");
    assert!(has_cause(episode, CauseCode::TagsInUse), "{:?}", episode.causes);
    assert_eq!(first_advice(&found), Some(Strategy::MoreTags));
    // A device with plenty of tags holds nothing back.
    let found = diagnosed(&held_above(Some(256)), Some(&EIGHT_PROFILE));
    assert!(!has_cause(longest(&found), CauseCode::TagsInUse), "{:?}", longest(&found).causes);
}

#[test]
fn every_verdict_names_the_hypothesis_that_speaks_for_it() {
    for observed in
        [seen(EIGHT, vec![reads(0, 60, 900)], false), seen(EIGHT, vec![closed(0, 60, 64)], false)]
    {
        for profile in [None, Some(&*EIGHT_PROFILE)] {
            let episode = longest(&diagnosed(&observed, profile)).clone();
            assert!(episode.hypothesis.is_some_and(|one| one.layer.is_some()));
            assert!(episode.alternatives.iter().all(|other| other.hypothesis.is_some()));
        }
    }
}

#[test]
fn a_source_that_tells_no_rate_is_not_said_to_have_seen_nothing() {
    let mut observed = seen(EIGHT, vec![closed(0, 60, 4)], false);
    for interval in &mut observed.intervals {
        for op in [&mut interval.all, &mut interval.read, &mut interval.write] {
            op.per_s = None;
        }
    }
    let found = diagnosed(&observed, None);
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::NotEnoughEvidence, "{episode:#?}");
    assert!(episode.claim.contains("does not report the number of requests"), "{}", episode.claim);
}
