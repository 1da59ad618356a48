//! Diagnoses an observation: for each device and time segment a verdict, its alternatives, its causes, and
//! what to do.
//!
//! For each device, the series is divided where its use changes ([`segment`]). The totals of each segment
//! ([`interval_totals`]) are compared with what was known of the system ([`system_context`]) and with the
//! expectation for the device. That comes from its profile ([`expected`]), or else from the observation
//! itself and from the device's class ([`own`]). Together these are the facts ([`facts`]). The engine weighs
//! the hypotheses ([`hypotheses`]) on them: first for each segment alone, and then again with the results of
//! the first run for other times and for sibling devices ([`elsewhere`]). Causes follow ([`causes`]; links,
//! health and settings in [`system_facts`]), then advice ([`advice`]), and a map of the layers in which the
//! causes are ([`path_map`]). Harmless signs that look like trouble become notes ([`notes`]). Rejected: one
//! verdict per observation (an average over a night), a score over many weak signs, thresholds in
//! milliseconds.

mod advice;
mod alike;
mod arrays;
mod busy_time_test;
mod by_operation;
mod causes;
mod classes;
mod constant_rate;
mod device_states;
mod device_users;
mod elsewhere;
mod engine;
mod episodes;
mod excluded;
mod expected;
mod facts;
mod fitted_profile;
mod flush_times;
mod flushing;
mod grid;
mod hang;
mod hits;
mod hypotheses;
mod idle_waits;
mod interval_totals;
mod judgement;
mod ladder;
mod layout;
mod load;
mod matching;
mod members;
mod neighbours;
mod notes;
mod odds;
mod other_causes;
mod outstanding;
mod own;
mod page_cache;
mod path_map;
mod posterior;
mod profile_set;
mod queue_depth;
mod remedies;
mod segment;
mod starved;
mod stops;
mod subject;
mod system_context;
mod system_facts;
mod tails;
mod upkeep;
mod volumes;
mod wakeup_latency;
mod weighing;
mod whole;

pub use fitted_profile::FittedProfile;
pub use matching::{Fit, fit};
pub use profile_set::ProfileSet;

use elsewhere::Elsewhere;
use facts::{Judged, SLOW_FROM, Segment};
use ladder::{Ladder, PAST_AGE_MIN_NS};
use record::{
    DIAGNOSIS_SCHEMA, DeviceDiagnosis, Diagnosis, Observation, ObservedDevice, hex_digest,
};
use std::ops::Range;
use std::sync::Arc;
use subject::Subject;

/// A time range, and whether a device had much spare capacity in it.
type Spare = (Range<u64>, bool);

/// Options of a diagnosis.
#[derive(Clone, Debug, Default)]
pub struct DiagnoseOptions {
    /// Version of the program.
    pub halfpower_version: String,
    /// Whether the user named the profile. It is then used unless facts contradict it.
    pub chosen: bool,
    /// Maximum number of moments per device. In longer recordings, moments are means over several
    /// intervals. `None` keeps every interval.
    pub moments_most: Option<usize>,
    /// Earlier recordings of the same devices, the latest first.
    pub past: Arc<[Observation]>,
}

/// Diagnoses every device of an observation, except parts of other devices and devices built of others.
pub fn diagnose<'p>(
    observation: &Observation,
    profile_of: &dyn Fn(&ObservedDevice) -> Option<&'p FittedProfile>,
    options: &DiagnoseOptions,
) -> Diagnosis {
    let with_wholes = whole::with_wholes(observation, profile_of, options);
    let observation = with_wholes.as_ref().unwrap_or(observation);
    let ladder = Ladder::new(observation, &options.past);
    let (mut subjects, mut left_out) = (Vec::new(), Vec::new());
    for device in &observation.devices {
        if let Some(whole) = &device.partition_of {
            left_out.push(format!("{}, a part of {whole}", device.name));
        } else if !device.built_of.is_empty() {
            let parts = device.built_of.join(", ");
            left_out.push(format!(
                "{}, stacked on {parts}, whose counters include its requests",
                device.name
            ));
        } else {
            let profile = (profile_of(device), options.chosen);
            subjects.push(Subject::new((observation, &ladder), device, profile));
        }
    }
    let segmented: Vec<Vec<Segment<'_>>> = subjects.iter().map(Subject::segments).collect();
    let spare = segmented.iter().map(|segments| segments.iter().map(much_to_spare).collect());
    let names = subjects.iter().map(|subject| subject.device.name.as_str());
    let spare: Vec<(&str, Vec<Spare>)> = names.zip(spare).collect();
    let first: Vec<Vec<Judged<'_>>> = segmented.into_iter().map(judged_alone).collect();
    let mut told: Vec<Vec<Elsewhere>> =
        first.iter().map(|segments| elsewhere::at_other_times(segments)).collect();
    members::compare(&subjects, &first, &members::built(observation, &subjects), &mut told);
    members::below_files(observation, &subjects, &first, &mut told);
    let mut judged: Vec<Vec<Judged<'_>>> = subjects
        .iter()
        .zip(first)
        .zip(&told)
        .map(|((subject, segments), told)| subject.judged(segments, told, &spare))
        .collect();
    volumes::above(observation, &subjects, &mut judged);
    arrays::of_their_own(observation, &subjects, &mut judged);
    system_facts::causes(&mut judged);
    let devices: Vec<DeviceDiagnosis> = subjects
        .iter()
        .zip(&judged)
        .map(|(subject, judged)| subject.diagnosis(judged, options))
        .collect();
    let profiles: Vec<&str> = devices
        .iter()
        .filter_map(|device| device.profile.value().map(|profile| profile.profile_id.as_str()))
        .collect();
    Diagnosis {
        schema: DIAGNOSIS_SCHEMA.to_owned(),
        halfpower_version: options.halfpower_version.clone(),
        id: hex_digest(&format!("diagnosis {} {}", observation.id, profiles.join(" "))),
        time: observation.time.clone().or_else(|| first_date(observation)),
        observation_id: observation.id.clone(),
        source: observation.source.clone(),
        host: observation.host.clone(),
        paths: path_map::maps(observation, &subjects, &devices),
        devices,
        not_read: observation.facts_not_read.clone(),
        left_out,
        findings: observation.findings.clone(),
    }
}

/// When the first interval began (RFC 3339 in UTC); `None` if the recording has no dates.
#[must_use]
pub fn first_date(observation: &Observation) -> Option<String> {
    let begin_ns = observation.dated_ns()?;
    jiff::Timestamp::from_nanosecond(begin_ns.into()).ok().map(|time| time.to_string())
}

/// When a recording must have begun, at the latest, to be from the past of all these observations: 12 hours
/// before the first of them (RFC 3339 in UTC). `None` if their time is unknown.
#[must_use]
pub fn past_until(observations: &[Observation]) -> Option<String> {
    let first_ns = observations.iter().filter_map(Observation::dated_ns).min()?;
    let until_ns = first_ns - PAST_AGE_MIN_NS;
    jiff::Timestamp::from_nanosecond(until_ns.into()).ok().map(|time| time.to_string())
}

/// Judges each segment alone.
fn judged_alone<'s>(segments: Vec<Segment<'s>>) -> Vec<Judged<'s>> {
    let judge = |segment: Segment<'s>| {
        let judgement = weighing::weigh(&segment, &Elsewhere::default());
        Judged { judgement, segment, causes: Vec::new(), claims: Vec::new(), holder: None }
    };
    segments.into_iter().map(judge).collect()
}

/// Whether a device had much spare capacity in a segment and was not slow. A slow one would not help.
fn much_to_spare(segment: &Segment<'_>) -> Spare {
    let idle = segment.tally.utilization().is_some_and(|busy| busy < 0.2);
    let look = segment.best_look();
    let quiet = look.is_some_and(|(look, _)| {
        segment.tally.iops() / look.max_iops < causes::SPARE && look.wait_ratio() < 2.0
    });
    let slow = look.is_some_and(|(look, latency_ns)| {
        latency_ns >= SLOW_FROM * look.expected_ns(segment.by_rate())
    });
    (segment.time.clone(), (idle || quiet) && !slow)
}
