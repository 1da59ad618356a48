//! Builds the report on a diagnosis: the verdict first, then the actions, then the reasons.
//!
//! A reader at 3 a.m. reads ten lines: the verdict with its confidence, the alternatives by name, the cause,
//! the first action and its gain. The reasons for the alternatives and how to check them follow. For several
//! devices a table comes first, with the worst on top, but devices below a named one after it; idle devices
//! share one line, and healthy devices are folded. Both splits of the latency are shown for the worst episode
//! (without one, for the longest), with a sentence on which of them applies to this device. Misleading
//! counters are shown once, each with the reason not to use it. Both are folded. If nothing is wrong, the page
//! says so, but "leave it alone" requires a profile and proof that no program waits. The course second by
//! second is in the CSV and in the document.

mod advice;
mod course;
mod handover;
mod latency;
mod overview;

use crate::issuers;
use crate::path_map::path_maps;
use crate::story::{Alternative, Badge, Cell, Story, Tone, bracketed, confidence, number, prefix};
use advice::{advice, answers};
use course::{episodes, over_time, where_in_time};
use handover::{commands, handover};
use latency::{split_chart, splits};
use overview::{NO_INTERVAL, is_idle, matters, overview, rank};
use record::{
    DeviceDiagnosis, Diagnosis, Episode, FactNotRead, MEASURED_AROUND, MatchedBy, OperationVerdict,
    Rung, Tail, Verdict,
};
use stats::{Ordered, grouped};

/// A verdict on this share of the time counts as one on all of it.
const NEARLY_ALL: f64 = 0.995;

/// A verdict in words and its tone, the same in every place.
pub(crate) fn told(verdict: Verdict) -> (&'static str, Tone) {
    match verdict {
        Verdict::Healthy => ("healthy", Tone::Good),
        Verdict::Slow => ("slow", Tone::Bad),
        Verdict::Overloaded => ("overloaded", Tone::Warn),
        Verdict::SlowAndOverloaded => ("slow and overloaded", Tone::Bad),
        Verdict::Capped => ("capped", Tone::Warn),
        Verdict::NotTheDisk => ("not the disk", Tone::Good),
        Verdict::NotEnoughEvidence => ("not enough evidence", Tone::Faint),
    }
}

/// The story of a diagnosis.
pub fn diagnosis(diagnosis: &Diagnosis) -> Story {
    diagnosis_of(diagnosis, None)
}

/// The story of a diagnosis. `recording` is what a command must name to read the recording again.
pub fn diagnosis_of(diagnosis: &Diagnosis, recording: Option<&str>) -> Story {
    let host = diagnosis.host.as_ref().map_or(String::new(), |host| format!(" on {host}"));
    let simulated = diagnosis.source == "simulated";
    let source = if simulated { String::new() } else { format!(", {}", diagnosis.source) };
    let observed = diagnosis.devices.iter().map(|device| device.duration_ns).max().unwrap_or(0);
    let what = match diagnosis.devices.as_slice() {
        [] => "no device was observed".to_owned(),
        [only] => {
            let model = only.model.as_ref().map(|model| format!(" ({})", model.trim()));
            format!("{}{}", only.device, model.unwrap_or_default())
        }
        many => format!("{} devices", many.len()),
    };
    let subject = format!("{what}{host}, {}{source}", number::time(observed as f64));
    let mut story =
        Story::new("Diagnosis", subject, simulated).saved(&diagnosis.id, &diagnosis.findings);
    if let [only] = diagnosis.devices.as_slice() {
        tell_device(&mut story, diagnosis, only, "");
        commands(&mut story, diagnosis, &[only], recording);
    } else {
        let devices = diagnosis.devices.iter();
        let (idle, mut devices): (Vec<_>, Vec<_>) = devices.partition(|device| is_idle(device));
        devices.sort_by_cached_key(|one| (one.above.is_some(), Ordered(rank(one))));
        overview(&mut story, &diagnosis.source, &devices, &idle);
        // A named device comes first, healthy or not. If all are healthy, it has the recommendation.
        let first = devices.first().copied();
        let is_told = |device: &&DeviceDiagnosis| {
            matters(device) || first.is_some_and(|first| std::ptr::eq(first, *device))
        };
        let (told, folded): (Vec<_>, Vec<_>) = devices.into_iter().partition(is_told);
        told.iter().for_each(|it| tell_device(&mut story, diagnosis, it, &it.device));
        folded.iter().for_each(|device| fold_device(&mut story, diagnosis, device));
        commands(&mut story, diagnosis, &told, recording);
    }
    path_maps(&mut story, &diagnosis.paths);
    not_read(&mut story, &diagnosis.not_read);
    story.list("Left out", "", &diagnosis.left_out);
    story.condition("observation", &diagnosis.observation_id);
    story.written_by(&diagnosis.halfpower_version);
    story
}

/// Checks that could not run, grouped by reason: what they would detect remains possible.
fn not_read(story: &mut Story, not_read: &[FactNotRead]) {
    if not_read.is_empty() {
        return;
    }
    let remark = "the causes that these checks look for remain possible";
    let section = story.section("Not checked", remark).supporting();
    let checks = not_read.iter().map(|one| {
        let device = bracketed(one.device.clone(), "");
        (&one.reason, format!("{}{device}", one.check))
    });
    for (reason, checks) in grouped(checks) {
        section.item(format!("{}: {reason}", checks.join(", ")));
    }
}

/// The story of a device. `subject` is its name if there are several.
fn tell_device(story: &mut Story, diagnosis: &Diagnosis, device: &DeviceDiagnosis, subject: &str) {
    let place = device.shown().and_then(|index| Some((index, device.episodes.get(index)?)));
    story.condition(if subject.is_empty() { "profile" } else { subject }, profile(device));
    let Some((index, main)) = place else {
        let badge = Badge::new(NO_INTERVAL, Tone::Faint, "");
        return story.badges.push(Badge { subject: subject.to_owned(), ..badge });
    };
    story.badges.push(badge(&diagnosis.source, device, main, subject));
    advice(story, &diagnosis.source, device, main, subject);
    let title = |text: &str| prefix(subject) + text;
    let section = story.section(title("Why"), &where_in_time(device, index, main));
    // The verdict names the cause; a profile that had to be extrapolated makes it uncertain.
    section.supporting_if(main.extrapolated.is_empty());
    section.open = true;
    // For several devices, the overview has the figures to compare.
    if !subject.is_empty() {
        figures(main, |name, value| section.row(name, value));
    }
    if let Some(split) = &main.calibrated
        && (split.sequential_traced || split.sequential_share > 0.0)
    {
        let share = number::percent(split.sequential_share);
        let how = if split.sequential_traced { "traced" } else { "fits best; not traced" };
        section.row("sequential", format!("{share} of the requests ({how})"));
    }
    if let Some(baseline) = main.baseline.as_ref().filter(|one| one.rung != Rung::Profile) {
        section.row("expected by", &baseline.says);
        baseline.better.iter().for_each(|better| section.row("better", better));
    }
    for cause in &main.causes {
        section.row("cause", format!("{} [{}]", cause.claim, cause.name()));
    }
    for clause in &main.extrapolated {
        let between = clause.ends_with(MEASURED_AROUND);
        section.row(if between { "interpolated" } else { "extrapolated" }, clause);
    }
    if !main.groups.is_empty() {
        let who = issuers::rows("", main.groups.clone());
        issuers::table(story.section(title("Who uses it"), ""), who);
    }
    if device.episodes.len() > 1 {
        episodes(story, device, title("Episodes"));
    }
    story.charts.extend(split_chart(device, main, subject));
    splits(story, device, main, title("Where the latency goes"));
    misleading(story, main, title("Counters that mislead"));
    let notes = device.notes.iter();
    let notes = notes.map(|note| format!("{} [{}]", note.claim.trim(), note.code.name()));
    let notes: Vec<String> = notes.collect();
    if !notes.is_empty() {
        let section = story.section(title("Beware"), "");
        section.open = true;
        notes.iter().for_each(|note| section.item(note));
    }
    handover(story, diagnosis, device, main, subject);
    story.charts.extend(over_time(device, subject));
    if subject.is_empty() {
        figures(main, |name, value| story.fact(name, value));
    }
}

/// A healthy device among several: its whole story in one folded section.
fn fold_device(story: &mut Story, diagnosis: &Diagnosis, device: &DeviceDiagnosis) {
    let mut own = Story::default();
    tell_device(&mut own, diagnosis, device, "");
    story.charts.append(&mut own.charts);
    for badge in own.badges {
        let section = story.fold(prefix(&device.device) + &badge.words);
        section.text(&badge.because);
        badge.answers.iter().for_each(|(name, text)| section.row(name, text));
        for other in &badge.alternatives {
            let check = format!("{} → {}", other.because, other.how_to_check);
            section.row(&format!("or {}", other.what), check);
        }
        own.facts.iter().for_each(|fact| section.row(&fact.name, &fact.value));
        own.conditions.iter().for_each(|(name, text)| section.row(name, text));
        for part in own.sections.drain(..) {
            section.note(part.title);
            section.blocks.extend(part.blocks);
        }
        story.badges.push(Badge { subject: device.device.clone(), fold: true, ..badge });
    }
}

/// The source of counters read on the machine itself.
const LIVE: &str = "live";

/// With more alternatives, a list of verdicts says nothing.
const ALTERNATIVES_MAX: usize = 2;

/// The verdict, and equally probable alternatives.
fn verdict_text(episode: &Episode) -> String {
    if episode.as_good().count() > ALTERNATIVES_MAX {
        return "undecided".to_owned();
    }
    let mut words = told(episode.verdict).0.to_owned();
    for alternative in episode.as_good() {
        words.push_str(" or ");
        words.push_str(told(alternative.verdict).0);
    }
    words
}

fn badge(source: &str, device: &DeviceDiagnosis, main: &Episode, subject: &str) -> Badge {
    // Certainty about not knowing is no information.
    let sure = (main.verdict != Verdict::NotEnoughEvidence).then(|| confidence(main.confidence));
    let share = device.shares.iter().find(|share| share.verdict == main.verdict);
    let time = share
        .filter(|share| device.episodes.len() > 1 && share.share_of_time < NEARLY_ALL)
        .map(|share| format!("{} of the time", number::percent(share.share_of_time)));
    let open = main.near().map(|other| format!("or {}", told(other.verdict).0));
    let support = bracketed(sure.into_iter().chain(time).chain(open), ", ");
    let alternatives = main.told().map(|other| Alternative {
        what: told(other.verdict).0.to_owned(),
        because: other.because.clone(),
        how_to_check: other.decided_by.clone(),
    });
    Badge {
        subject: subject.to_owned(),
        words: format!("{}{support}", verdict_text(main).to_uppercase()),
        tone: told(main.verdict).1,
        because: main.claim.trim().to_owned(),
        answers: answers(source, device, main),
        alternatives: alternatives.collect(),
        fold: false,
    }
}

fn figures(episode: &Episode, mut tell: impl FnMut(&str, String)) {
    let numbers = &episode.numbers;
    let calibrated = episode.calibrated.as_ref();
    let size = numbers.request_bytes.map(|bytes| format!(" of {} KiB", number::kib(bytes as u64)));
    let reads = numbers.read_share.map(|share| format!(", {} reads", number::percent(share)));
    let load = [numbers.iops.map(number::per_second), size, reads].into_iter().flatten();
    let load: String = load.collect();
    tell("load", if load.is_empty() { "unknown".to_owned() } else { load });
    let expected = calibrated.map(|split| number::with_interval(&split.expected_ns, number::time));
    let busy = numbers.utilization.map(|share| format!("{} of the time", number::percent(share)));
    let rows = [
        ("throughput", numbers.bytes_per_s.map(number::both_rates)),
        ("latency", numbers.latency_ns.map(number::time)),
        ("expected latency", expected),
        ("slowest at the device", episode.tail.as_ref().map(slowest)),
        ("queue depth", numbers.concurrency.map(number::digits)),
        ("busy", busy),
        ("of largest predicted", calibrated.map(|split| number::percent(split.saturation))),
    ];
    let known = rows.into_iter().filter_map(|(name, value)| Some((name, value?)));
    known.for_each(|(name, value)| tell(name, value));
    // If both operations have the same verdict as the whole, they need no lines of their own.
    if episode.operations.iter().any(|one| one.verdict != episode.verdict) {
        for one in &episode.operations {
            tell(one.op.plural(), operation(one, calibrated.is_some()));
        }
    }
}

/// `p99.9 19.3 ms, by the profile 4.50 ms; over 9.00 ms: 0.5 % of the requests, in 30 of 60 intervals`.
fn slowest(tail: &Tail) -> String {
    let name = |share: f64| format!("p{}", number::digits(100.0 * share));
    let by_profile = match tail.expected_share {
        Some(_) if tail.is_alike() => "by the profile".to_owned(),
        Some(share) => format!("by the profile {}", name(share)),
        None => "of exponential times".to_owned(),
    };
    let [latency, expected, long] =
        [tail.latency_ns, tail.expected_ns, Tail::LONG_FROM * tail.expected_ns].map(number::time);
    let mut text = format!("{} {latency}, {by_profile} {expected}", name(tail.share));
    if tail.longer > 0 {
        let share = number::percent(tail.longer as f64 / tail.requests.max(1) as f64);
        let (some, all) = (tail.intervals, tail.of_intervals);
        text += &format!("; over {long}: {share} of the requests, in {some} of {all} intervals");
    }
    text
}

/// `slow: 41.0 ms (expected: 2.10 ms); 300 IOPS, the same in every interval`.
fn operation(one: &OperationVerdict, profiled: bool) -> String {
    let constant = if one.constant { ", the same in every interval" } else { "" };
    let [latency, expected] = [one.latency_ns, one.expected_ns].map(number::time);
    let (words, rate) = (told(one.verdict).0, number::per_second(one.iops));
    // Without a profile the expectation is too uncertain to be printed.
    let expected = if profiled { format!(" (expected: {expected})") } else { String::new() };
    format!("{words}: {latency}{expected}; {rate}{constant}")
}

/// The profile that a device is compared with, or why there is none.
fn profile(device: &DeviceDiagnosis) -> String {
    let unused = device.unused_profile.as_deref();
    let profile = match device.profile.known() {
        Ok(profile) => profile,
        Err(reason) => return format!("no profile: {}", unused.unwrap_or(reason)),
    };
    let by = match profile.by {
        MatchedBy::Serial => "model and serial number match",
        MatchedBy::ModelAndSize => "model and size match",
        MatchedBy::Simulated => "the same simulated device",
        MatchedBy::Model => "another device of the same model",
        MatchedBy::Name => "by its name",
        MatchedBy::Choice => "chosen by the user",
    };
    let time = profile.time.as_deref().map(|time| format!(", {}", number::when(time)));
    let time = time.unwrap_or_default();
    let unused = unused.map(|unused| format!(". {unused}")).unwrap_or_default();
    format!("profile {} of {}{time}; {by}{unused}", profile.profile_id, profile.target)
}

fn misleading(story: &mut Story, episode: &Episode, title: String) {
    let shown = &episode.misleading;
    let [disk_time, busy] = [shown.disk_time_percent, shown.iostat_busy_percent]
        .map(|share| share.map(|percent| format!("{percent:.0}")));
    let (queue, svctm) = (shown.queue_length.map(number::digits), shown.svctm_ns.map(number::time));
    let rows = [
        ("% Disk Time", disk_time, "latency times rate, limited to 100: not a share of time"),
        ("queue length", queue, "requests in flight, including those in service"),
        ("svctm", svctm, "U/X: mean time between completions, not a latency"),
        ("%util", busy, "time with at least one request in flight; not saturation"),
    ];
    if rows.iter().all(|(_, value, _)| value.is_none()) {
        return;
    }
    story.fold(title).table(rows, |t| {
        t.left("", |row| row.0);
        t.right("", |row| Cell::or_none(row.1.as_ref(), String::clone));
        t.left("", |row| Cell::toned(row.2, Tone::Faint)).gap(3);
    });
}
