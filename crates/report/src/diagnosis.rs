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
mod handover;
mod overview;

use crate::chart::{Axis, Chart, Form, Point, Series, ends, xs};
use crate::issuers;
use crate::number;
use crate::page::Tone;
use crate::path_map::path_maps;
use crate::story::{Alternative, Badge, Cell, Story, bracketed, capital, confidence, prefix};
use advice::{advice, answers};
use handover::{commands, handover};
use overview::{NO_INTERVAL, is_idle, matters, overview, rank};
use record::{
    Activity, DeviceDiagnosis, Diagnosis, Episode, FactNotRead, MEASURED_AROUND, MatchedBy, Moment,
    OperationVerdict, Rung, Tail, Unit, Verdict,
};
use stats::{Ordered, grouped};

/// Largest number of listed episodes; among more, the worst and the longest.
const EPISODES_MAX: usize = 16;
const SECOND_NS: f64 = 1e9;
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
#[must_use]
pub fn diagnosis(diagnosis: &Diagnosis) -> Story {
    diagnosis_of(diagnosis, None)
}

/// The story of a diagnosis. `recording` is what a command must name to read the recording again.
#[must_use]
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
    if main.extrapolated.is_empty() {
        section.supporting();
    }
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

/// The verdict, and equally probable alternatives.
fn verdict_text(episode: &Episode) -> String {
    let mut words = told(episode.verdict).0.to_owned();
    for alternative in episode.as_good() {
        words.push_str(" or ");
        words.push_str(told(alternative.verdict).0);
    }
    words
}

fn badge(source: &str, device: &DeviceDiagnosis, main: &Episode, subject: &str) -> Badge {
    // Certainty about not knowing is no information.
    let sure = (main.verdict != Verdict::NotEnoughEvidence)
        .then(|| confidence(main.confidence).to_owned());
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
    let load = [Some(number::per_second(numbers.iops)), size, reads].into_iter().flatten();
    tell("load", load.collect::<String>());
    let expected = calibrated.map(|split| number::with_interval(&split.expected_ns, number::time));
    let rows = [
        ("throughput", numbers.bytes_per_s.map(number::both_rates)),
        ("latency", numbers.latency_ns.map(number::time)),
        ("expected latency", expected),
        ("slowest at the device", episode.tail.as_ref().map(slowest)),
        ("queue depth", numbers.concurrency.map(number::digits)),
        (
            "busy",
            numbers.utilization.map(|share| format!("{} of the time", number::percent(share))),
        ),
        ("of largest predicted", calibrated.map(|split| number::percent(split.saturation))),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            tell(name, value);
        }
    }
    // If both operations have the same verdict as the whole, they need no lines of their own.
    if episode.operations.iter().any(|one| one.verdict != episode.verdict) {
        for one in &episode.operations {
            tell(one.op.plural(), operation(one));
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
    let mut text = format!(
        "{} {}, {by_profile} {}",
        name(tail.share),
        number::time(tail.latency_ns),
        number::time(tail.expected_ns)
    );
    if tail.longer > 0 {
        text += &format!(
            "; over {}: {} of the requests, in {} of {} intervals",
            number::time(Tail::LONG_FROM * tail.expected_ns),
            number::percent(tail.longer as f64 / tail.requests.max(1) as f64),
            tail.intervals,
            tail.of_intervals
        );
    }
    text
}

/// `slow: 41.0 ms (expected: 2.10 ms); 300 IOPS, the same in every interval`.
fn operation(one: &OperationVerdict) -> String {
    let constant = if one.constant { ", the same in every interval" } else { "" };
    format!(
        "{}: {} (expected: {}); {}{constant}",
        told(one.verdict).0,
        number::time(one.latency_ns),
        number::time(one.expected_ns),
        number::per_second(one.iops)
    )
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

/// Start of an episode relative to the first interval.
fn since_start(device: &DeviceDiagnosis, episode: &Episode) -> f64 {
    let first = device.episodes.first().map_or(0, |first| first.begin_ns);
    episode.begin_ns.saturating_sub(first) as f64
}

/// `0:00:30`.
fn clock(nanos: f64) -> String {
    let seconds = (nanos / SECOND_NS).max(0.0) as u64;
    format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

fn is_worst(device: &DeviceDiagnosis, index: usize) -> bool {
    device.worst.is_some_and(|worst| worst as usize == index)
}

fn where_in_time(device: &DeviceDiagnosis, index: usize, episode: &Episode) -> String {
    if device.episodes.len() < 2 {
        return "one episode, the whole time".to_owned();
    }
    let which = if is_worst(device, index) { "the worst episode" } else { "the longest episode" };
    let (begin, length) = (clock(since_start(device, episode)), episode.duration_ns as f64);
    format!("{which}, number {} at {begin}, {} long", index + 1, number::time(length))
}

fn episodes(story: &mut Story, device: &DeviceDiagnosis, title: String) {
    let remark = "expected: predicted latency at that queue depth; of max: rate relative to this mix's predicted maximum";
    let section = story.section(title, remark).supporting();
    let mut listed: Vec<usize> = (0..device.episodes.len()).collect();
    listed.sort_by_cached_key(|&index| {
        std::cmp::Reverse((is_worst(device, index), device.episodes[index].duration_ns))
    });
    listed.truncate(EPISODES_MAX);
    listed.sort_unstable();
    let more = device.episodes.len() - listed.len();
    let rows = listed.into_iter().map(|index| (index, &device.episodes[index]));
    section.table(rows, |t| {
        t.right("#", |&(index, _)| {
            format!("{}{}", index + 1, if is_worst(device, index) { "*" } else { "" })
        })
        .gap(1);
        t.right("from", |(_, episode)| clock(since_start(device, episode))).gap(1);
        t.right("for", |(_, episode)| number::time(episode.duration_ns as f64)).gap(1);
        t.left("verdict", |(_, episode)| {
            let words = match episode.activity {
                Activity::Idle => "idle".to_owned(),
                Activity::Quiet | Activity::Busy => verdict_text(episode),
            };
            Cell::toned(words, told(episode.verdict).1)
        });
        t.of("iops", |(_, episode)| episode.numbers.iops).gap(1);
        t.right("KiB", |(_, episode)| {
            Cell::or_none(episode.numbers.request_bytes, |bytes| number::kib(bytes as u64))
        })
        .expendable(2);
        t.of("latency_mean_ns", |(_, episode)| episode.numbers.latency_ns);
        t.right("expected", |(_, episode)| {
            let split = episode.calibrated.as_ref();
            Cell::or_none(split, |split| number::time(split.expected_ns.value))
        });
        t.of("concurrency", |(_, episode)| episode.numbers.concurrency);
        t.of("utilization", |(_, episode)| episode.numbers.utilization).expendable(3);
        t.right("of max", |(_, episode)| {
            let split = episode.calibrated.as_ref();
            Cell::or_none(split, |split| number::percent(split.saturation))
        })
        .expendable(1);
    });
    if more > 0 {
        let omitted = number::counted(more as f64, "shorter episode");
        section.note(format!("{omitted} omitted; --json prints all."));
    }
}

/// The latency split into service and queue, in both ways.
fn split_chart(device: &DeviceDiagnosis, episode: &Episode, subject: &str) -> Option<Chart> {
    let latency = episode.numbers.latency_ns?;
    let by_profile = episode.calibrated.as_ref();
    let by_profile = by_profile.map(|split| ("by the profile", split.unloaded_ns, split.queue_ns));
    let by_law = episode.utilization_law.as_ref();
    let by_law = by_law.map(|split| ("by the utilization law", split.service_ns, split.queue_ns));
    let rows: Vec<(&str, f64, f64)> = by_profile.into_iter().chain(by_law).collect();
    let bars = |name: &str, of: fn(&(&str, f64, f64)) -> f64| {
        let points = rows.iter().enumerate().map(|(row, split)| Point::bare(of(split), row as f64));
        Series::new(name, Form::Stack, points.collect())
    };
    let series = vec![bars("service", |row| row.1), bars("queue", |row| row.2)];
    let chart = Chart {
        title: capital(&format!("{}where the latency goes", prefix(subject))),
        finding: device.splits_compared.clone(),
        errors: String::new(),
        x: Axis::from_zero(
            "mean latency",
            Some(Unit::Nanos),
            rows.iter().map(|row| row.1 + row.2).chain([latency]),
        ),
        y: Axis::named(rows.iter().map(|row| row.0.to_owned()).collect()),
        rules: Vec::new(),
        series,
    };
    chart.unless_empty()
}

fn splits(story: &mut Story, device: &DeviceDiagnosis, episode: &Episode, title: String) {
    let Some(latency) = episode.numbers.latency_ns else { return };
    let by_law = episode.utilization_law.as_ref().map(|split| {
        let share = format!("U = {}", number::percent(split.utilization));
        ("utilization law: S = U/X", split.service_ns, split.queue_ns, share)
    });
    let by_profile = episode.calibrated.as_ref().map(|split| {
        let share = format!("X/max = {}", number::percent(split.saturation));
        ("by the profile: latency at QD 1", split.unloaded_ns, split.queue_ns, share)
    });
    let section = story.fold(title);
    section.table(by_law.into_iter().chain(by_profile), |t| {
        t.left("", |row| row.0);
        t.of("latency_mean_ns", |_| latency);
        t.of("service_ns", |row| row.1);
        t.right("queue", |row| number::time(row.2));
        t.right("", |row| row.3.clone()).gap(3);
    });
    section.note(&device.splits_compared);
    section.note(match device.hit_share.known() {
        Ok(share) => format!(
            "Share of reads as fast as hits in the device's cache: {}.",
            number::with_range(share, number::percent)
        ),
        Err(reason) => {
            format!("Share of reads served by the device's cache: unknown ({reason}).")
        }
    });
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

/// Observed and expected latency over time. `subject` is as in [`tell_device`].
fn over_time(device: &DeviceDiagnosis, subject: &str) -> Option<Chart> {
    let begin = device.series.first()?.begin_ns;
    let at = |moment: &Moment| (moment.begin_ns - begin) as f64 + moment.duration_ns as f64 / 2.0;
    let moments = || device.series.iter();
    let seen: Vec<Point> =
        moments().filter_map(|it| Some(Point::bare(at(it), it.numbers.latency_ns?))).collect();
    let expected: Vec<Point> = moments()
        .filter_map(|it| Some(Point::estimate(at(it), &it.calibrated.as_ref()?.expected_ns)))
        .collect();
    if seen.len() < 2 {
        return None;
    }
    let ratios: Vec<f64> =
        moments().filter_map(|it| Some(it.calibrated.as_ref()?.latency_ratio)).collect();
    let finding = match ratios.is_empty() {
        true => format!("{}the expected latency is unknown.", prefix(subject)),
        false => format!(
            "{}in the median interval the latency was {} times the expected latency.",
            prefix(subject),
            number::digits(stats::median(ratios))
        ),
    };
    let series = vec![
        Series::new("seen", Form::Trace, seen),
        Series::new("expected at this load", Form::Trace, expected),
    ];
    Some(Chart {
        title: capital(&format!("{}latency, measured and expected", prefix(subject))),
        finding: capital(&finding),
        errors:
            "Band: 95 % interval of the profile's prediction. Measured values are exact counts."
                .to_owned(),
        x: Axis::over("time", Some(Unit::Nanos), xs(&series).chain([0.0])),
        y: Axis::decades("mean latency", Some(Unit::Nanos), ends(&series)),
        rules: Vec::new(),
        series,
    })
}
