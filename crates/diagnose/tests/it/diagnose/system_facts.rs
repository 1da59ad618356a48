//! Tests system facts: a cause if the effect is present, a note if not, and nothing if the profile
//! had the same fact.

use crate::diagnose::staged::{
    EIGHT, EIGHT_PROFILE, closed, diagnosed, has_note, load, longest, reads, seen,
};
use diagnose::FittedProfile;
use record::{
    CauseCode, DeviceDiagnosis, DeviceFacts, FactData, FactNotRead, FactValue, Figure, NoteCode,
    Observation, Strategy, SystemFact, Verdict,
};

/// A device with 1.5 times the latency.
const SLOW: &str = "mmc,servers=8,service=1500us";
const DISK: &str = "sda";

fn facts_of(name: &str) -> DeviceFacts {
    DeviceFacts {
        name: name.to_owned(),
        disk: name.to_owned(),
        rotational: Some(false),
        write_cache: Some("write back".to_owned()),
        ..DeviceFacts::default()
    }
}

fn value(name: &str, now: f64, at_begin: Option<f64>) -> FactValue {
    let at_begin = at_begin.map(FactData::Number);
    FactValue { name: name.to_owned(), value: FactData::Number(now), unit: String::new(), at_begin }
}

fn fact(check: &str, values: Vec<FactValue>) -> SystemFact {
    let device = Some(DISK.to_owned());
    SystemFact { check: check.to_owned(), device, values, ..SystemFact::default() }
}

/// Commands that timed out during the observation, or before it.
fn errors(now: f64, before: f64) -> SystemFact {
    fact(
        "drive_errors",
        vec![value("timed-out commands", now, Some(before).filter(|it| *it != now))],
    )
}

/// A drive at its temperature limit.
fn hot() -> SystemFact {
    fact("heat", vec![value("temperature", 84.0, None), value("limit", 82.0, None)])
}

fn with(mut observation: Observation, facts: Vec<SystemFact>) -> Observation {
    // Like a real disk, the device has the name in its facts.
    observation.devices[0].facts = Some(facts_of(DISK));
    DISK.clone_into(&mut observation.devices[0].name);
    for interval in &mut observation.intervals {
        DISK.clone_into(&mut interval.device);
    }
    observation.facts = facts;
    observation
}

fn profile_with(facts: Vec<SystemFact>) -> FittedProfile {
    let mut profile = EIGHT_PROFILE.profile().clone();
    profile.target.device = Some(facts_of(DISK));
    profile.facts = facts;
    FittedProfile::new(profile)
}

/// Names of the checks that are causes of the longest episode.
fn checks(found: &DeviceDiagnosis) -> Vec<String> {
    longest(found).causes.iter().filter_map(|cause| cause.check.clone()).collect()
}

#[test]
fn a_fact_with_its_effect_is_the_first_cause_and_says_what_to_do() {
    let profile = profile_with(Vec::new());
    let slow = with(seen(SLOW, vec![reads(0, 60, 3_000)], false), vec![errors(9.0, 2.0)]);
    let found = diagnosed(&slow, Some(&profile));
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::Slow);
    let first = &episode.causes[0];
    assert_eq!((first.code, first.name()), (CauseCode::SystemFact, "drive_errors".to_owned()));
    assert!(
        first.claim.contains("7 commands timed out") && first.claim.contains("Reads take"),
        "{first:?}"
    );
    assert_eq!(found.advice[0].strategy, Strategy::PutRight);
    assert_eq!(found.advice[0].check.as_deref(), Some("drive_errors"));
}

#[test]
fn the_same_fact_on_a_device_that_is_as_fast_as_ever_is_a_note_and_no_cause() {
    let profile = profile_with(Vec::new());
    for facts in [vec![errors(9.0, 2.0)], vec![hot()]] {
        let fine = with(seen(EIGHT, vec![reads(0, 60, 3_000)], false), facts);
        let found = diagnosed(&fine, Some(&profile));
        assert_eq!(checks(&found), Vec::<String>::new(), "{:#?}", longest(&found).causes);
        assert!(has_note(&found, NoteCode::HarmlessFact));
        assert_eq!(longest(&found).verdict, Verdict::Healthy);
    }
    // Time-outs from before the observation are not mentioned.
    let old = with(seen(EIGHT, vec![reads(0, 60, 3_000)], false), vec![errors(9.0, 9.0)]);
    assert!(!has_note(&diagnosed(&old, Some(&profile)), NoteCode::HarmlessFact));
}

#[test]
fn what_was_the_same_when_the_profile_was_made_explains_no_slowness_since() {
    let slow = || with(seen(SLOW, vec![reads(0, 60, 3_000)], false), vec![hot()]);
    let cool = fact("heat", vec![value("temperature", 40.0, None), value("limit", 82.0, None)]);
    let found = diagnosed(&slow(), Some(&profile_with(vec![cool])));
    assert_eq!(checks(&found), ["heat"]);
    let found = diagnosed(&slow(), Some(&profile_with(vec![hot()])));
    assert_eq!(checks(&found), Vec::<String>::new());
}

#[test]
fn slow_flushes_of_a_volatile_cache_are_named_and_quick_ones_are_not() {
    let staged = |flush_ns: f64| {
        let writes = load(0, 60, |spec| {
            spec.asked.read_percent = 0;
            spec.asked.rate_iops = Some(500);
        });
        let mut observation = with(seen(EIGHT, vec![writes], false), Vec::new());
        for interval in &mut observation.intervals {
            interval.flushes_per_s = Some(Figure::measured(100.0, 0.0));
            interval.flush_latency_ns = Some(Figure::measured(flush_ns, 0.0));
        }
        diagnosed(&observation, Some(&profile_with(Vec::new())))
    };
    assert_eq!(checks(&staged(8e6)), ["volatile_cache"]);
    assert_eq!(checks(&staged(0.2e6)), Vec::<String>::new());
}

#[test]
fn writes_that_step_down_under_the_same_load_are_a_full_flash_cache() {
    let writes = |from: u64, to: u64, depth: u32| {
        load(from, to, |spec| {
            spec.asked.read_percent = 0;
            spec.asked.iodepth = depth;
        })
    };
    // The same load on a device that becomes three times as slow.
    let mut quick = with(seen(EIGHT, vec![writes(0, 60, 16)], false), Vec::new());
    let slow = seen("mmc,servers=8,service=3ms", vec![writes(0, 60, 16)], false);
    let half = quick.intervals.len() / 2;
    let slow = with(slow, Vec::new());
    quick.intervals.splice(half.., slow.intervals[half..].iter().cloned());
    let found = diagnosed(&quick, Some(&profile_with(Vec::new())));
    let named = |episode: &record::Episode| {
        episode.causes.iter().any(|cause| cause.check.as_deref() == Some("flash_cache_full"))
    };
    assert!(found.episodes.len() >= 2, "{:#?}", found.episodes);
    assert!(named(found.episodes.last().unwrap()), "{:#?}", found.episodes.last());
    assert!(!named(&found.episodes[0]));
    // The counterpart: the load itself fell.
    let less = with(seen(EIGHT, vec![writes(0, 30, 16), writes(30, 60, 2)], false), Vec::new());
    let found = diagnosed(&less, Some(&profile_with(Vec::new())));
    assert!(found.episodes.iter().all(|episode| !named(episode)), "{:#?}", found.episodes);
}

#[test]
fn what_was_not_read_and_what_was_are_in_the_diagnosis() {
    let mut observation = with(seen(EIGHT, vec![closed(0, 60, 4)], false), vec![hot()]);
    let reason = "smartctl is not installed".to_owned();
    observation.facts_not_read =
        vec![FactNotRead { check: "smart".to_owned(), device: Some(DISK.to_owned()), reason }];
    let options = diagnose::DiagnoseOptions::default();
    let diagnosis = diagnose::diagnose(&observation, &|_| None, &options);
    assert_eq!(diagnosis.not_read, observation.facts_not_read);
    let told = |fact: &String| fact.contains("heat of sda: temperature 84");
    let layers = diagnosis.paths.iter().flat_map(|path| &path.layers);
    assert!(layers.flat_map(|layer| &layer.facts).any(told), "{:#?}", diagnosis.paths);
}
