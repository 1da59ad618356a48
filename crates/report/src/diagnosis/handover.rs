//! Adds what another team needs to believe a diagnosis: time and place, the evidence, the verdicts
//! that it excludes with the figures that do so, the cost for users, and how to reproduce it.

use super::LIVE;
use super::advice::{in_short, of_another, span};
use super::told;
use crate::finding::number_text;
use crate::story::{REPEAT, Section, Story, bracketed, joined, number, prefix};
use crate::target::device_line;
use record::{
    CauseCode, DeviceDiagnosis, DeviceFacts, Diagnosis, Episode, is_of_windows, shell_word,
};

const SECOND_NS: u64 = 1_000_000_000;
/// Maximum number of groups of processes that a ticket names: the busiest.
const WHO_MAX: usize = 3;

/// The sections of a device. `subject` is its name if there are several.
pub(super) fn handover(
    story: &mut Story,
    diagnosis: &Diagnosis,
    device: &DeviceDiagnosis,
    main: &Episode,
    subject: &str,
) {
    when_and_where(part(story, subject, "When and where"), diagnosis, device, main);
    costs(part(story, subject, "Impact on users"), device, main);
    let section = part(story, subject, "Evidence");
    main.evidence.iter().for_each(|one| section.row(&one.what, number_text(one)));
    main.causes.iter().for_each(|cause| section.row("cause", &cause.claim));
    if !main.excluded.is_empty() {
        let section = part(story, subject, "Excluded");
        main.excluded.iter().for_each(|one| section.row(told(one.verdict).0, &one.because));
    }
}

/// A folded section that belongs to a ticket.
fn part<'s>(story: &'s mut Story, subject: &str, title: &str) -> &'s mut Section {
    let section = story.fold(prefix(subject) + title);
    section.ticket = Some(subject.to_owned());
    section
}

fn when_and_where(
    section: &mut Section,
    diagnosis: &Diagnosis,
    device: &DeviceDiagnosis,
    main: &Episode,
) {
    let length = number::duration(main.duration_ns);
    let share = (device.episodes.len() > 1)
        .then(|| format!("{} of the observed time", number::percent(main.share_of_time)));
    section.row("when", format!("{}: {length}{}", span(main), bracketed(share, "")));
    let unknown = || format!("{} (the source has no model or serial number)", device.device);
    section.row("device", device.facts.as_ref().map_or_else(unknown, device_line));
    section.row("machine", diagnosis.host.as_deref().unwrap_or("unknown to the source"));
    let intervals = number::counted(f64::from(main.intervals), "interval");
    section.row("counters", format!("{}, {intervals}", diagnosis.source));
}

/// The present latency, compared with the profile's and with that after the first remedy.
fn costs(section: &mut Section, device: &DeviceDiagnosis, main: &Episode) {
    let Some(latency) = main.numbers.latency_ns else {
        let hang = main.causes.iter().find(|cause| cause.code == CauseCode::StandsStill);
        let coarse = "Unknown: the source reports latencies too coarsely or not at all.";
        return section.text(hang.map_or(coarse, |cause| cause.claim.as_str()));
    };
    let error = main.response_ci95_rel.map(|error| format!(" {}", number::interval(error)));
    let (latency, error) = (number::time(latency), error.unwrap_or_default());
    let rate = main.numbers.iops.map_or_else(|| "an unknown rate".to_owned(), number::per_second);
    section.row("now", format!("latency {latency}{error} at {rate}"));
    if main.causes.iter().any(|cause| cause.code == CauseCode::CgroupLimit) {
        let text =
            "the wait before the limit of the control group: the latency is that of the device";
        section.row("not included", text);
    }
    let who = main.groups.iter().take(WHO_MAX);
    let who = joined(who, "; ", |one| {
        let figures = Some(one.figures(&main.groups)).filter(|text| !text.is_empty());
        format!("{}{}", one.label(), bracketed(figures, ""))
    });
    section.row("who", who);
    let by_profile = main.calibrated.as_ref().map(|split| {
        let expected = number::with_interval(&split.expected_ns, number::time);
        let (ratio, alone) = (number::digits(split.latency_ratio), number::time(split.unloaded_ns));
        format!("latency {expected} at this queue depth (now {ratio} times that), {alone} at QD 1")
    });
    section.row("by the profile", by_profile.unwrap_or("unknown: no profile fits".to_owned()));
    let after = device.first_remedy().map(|remedy| of_another(device, remedy) + &in_short(remedy));
    section.rows("with the remedy", after);
}

/// The commands that reproduce it: from the saved counters, and on the machine. `recording` is as in
/// [`super::diagnosis_of`].
pub(super) fn commands(
    story: &mut Story,
    diagnosis: &Diagnosis,
    devices: &[&DeviceDiagnosis],
    recording: Option<&str>,
) {
    let mut profiles = devices.iter().filter_map(|device| device.profile.value());
    let profile =
        profiles.next().filter(|first| profiles.all(|it| it.profile_id == first.profile_id));
    // A matching profile is found without its name. The name prevents the use of a newer one.
    let profile = profile.map(|profile| format!(" --profile {}", profile.profile_id));
    let profile = profile.unwrap_or_default();
    let is_live = diagnosis.source == LIVE;
    // The files of other tools are not saved, and the document does not contain their names.
    let is_saved = is_live || diagnosis.source == "simulated";
    match recording.or(is_saved.then_some(diagnosis.observation_id.as_str())) {
        Some(named) => story.commands.push(format!("halfpower diagnose {named}{profile}")),
        None => {
            let with = if profile.is_empty() { "" } else { " with" };
            let command = format!("running `halfpower diagnose`{with}{profile} on your recording");
            story.condition(REPEAT, command);
        }
    }
    if !is_live {
        return;
    }
    let names: Vec<String> = devices.iter().map(|device| shell_word(&device.device)).collect();
    let names = names.join(" ");
    let longest = devices.iter().map(|device| device.duration_ns).max().unwrap_or(0);
    let seconds = (longest / SECOND_NS).max(1);
    story.commands.push(format!("halfpower diagnose {names} --for {seconds}s{profile}"));
    let export =
        |device: &&DeviceDiagnosis| device.facts.as_ref().is_some_and(DeviceFacts::is_export);
    let of_windows = |device: &&DeviceDiagnosis| is_of_windows(LIVE, &device.device);
    let other = if devices.iter().any(export) {
        format!("nfsiostat 1 {seconds}")
    } else if devices.iter().any(of_windows) {
        format!(r#"typeperf "\PhysicalDisk(*)\*" -si 1 -sc {seconds}"#)
    } else {
        format!("iostat -dxy {names} 1 {seconds}")
    };
    story.commands.push(other);
}
