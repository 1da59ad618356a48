//! What is said of a diagnosis: the verdict first, then what to do, then why.
//!
//! Alternatives stand right behind the verdict that they contest, and the page says how to check. Both
//! splits of the latency are shown for the worst episode (without one, for the longest) with the
//! sentence that says which of them holds on this device; the counters that mislead are shown once,
//! each with the reason not to use it. Where nothing is wrong the page says so: "leave it alone" is an
//! answer. What happened second by second is in the CSV and in the document.

use crate::chart::{Axis, Chart, Form, Point, Series, ends, xs};
use crate::number;
use crate::page::Tone;
use crate::story::{Action, Alternative, Badge, Cell, Story, bracketed, confidence, prefix};
use record::{
    Activity, Confidence, DeviceDiagnosis, Diagnosis, Effect, Episode, MatchedBy, Moment, Strategy,
    Unit, Verdict,
};

/// Advice with all its details; of the rest what it is and what it gives.
const IN_FULL: usize = 3;
/// Episodes that are listed; of more the worst and the longest.
const EPISODES_MAX: usize = 16;
const SECOND_NS: f64 = 1e9;

/// A verdict in words, and how bad it is, the same wherever it is shown.
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
    let subject = format!("{what}{host}, {} observed{source}", number::time(observed as f64));
    let mut story =
        Story::new("Diagnosis", subject, simulated).saved(&diagnosis.id, &diagnosis.findings);
    let several = diagnosis.devices.len() > 1;
    for device in &diagnosis.devices {
        tell_device(&mut story, device, several);
    }
    // The worst first; devices that are equally bad stay in their order.
    let rank = |tone| [Tone::Bad, Tone::Warn, Tone::Faint].iter().position(|it| *it == tone);
    story.badges.sort_by_key(|badge| rank(badge.tone).unwrap_or(usize::MAX));
    story.list("Left out", "", &diagnosis.left_out);
    story.condition("observation", &diagnosis.observation_id);
    story.written_by(&diagnosis.halfpower_version);
    story
}

fn tell_device(story: &mut Story, device: &DeviceDiagnosis, several: bool) {
    let subject = if several { device.device.clone() } else { String::new() };
    let place = shown(device).and_then(|index| Some((index, device.episodes.get(index)?)));
    story.condition(if several { &device.device } else { "profile" }, profile(device));
    let Some((index, main)) = place else {
        let badge = Badge::new("not one interval", Tone::Faint, "");
        return story.badges.push(Badge { subject, ..badge });
    };
    story.badges.push(badge(device, main, subject.clone()));
    figures(story, main, &subject);
    advice(story, device, main, &subject);
    let title = |text: &str| prefix(&subject) + text;
    let section = story.section(title("Why"), &where_in_time(device, index, main));
    if let Some(split) = &main.calibrated
        && (split.sequential_traced || split.sequential_share > 0.0)
    {
        let share = number::percent(split.sequential_share);
        let how = if split.sequential_traced { "traced" } else { "fits best; not traced" };
        section.row("sequential", format!("{share} of the requests ({how})"));
    }
    for cause in &main.causes {
        section.row("cause", format!("{} [{}]", cause.claim, cause.code.name()));
    }
    for clause in &main.extrapolated {
        section.row("extrapolated", clause);
    }
    if device.episodes.len() > 1 {
        episodes(story, device, title("Episodes"));
    }
    splits(story, device, main, title("Where the latency goes"));
    misleading(story, main, title("Counters that mislead, and why not to use them"));
    let notes = device.notes.iter();
    let notes = notes.map(|note| format!("{} [{}]", note.claim.trim(), note.code.name()));
    story.list(&title("Beware"), "", &notes.collect::<Vec<String>>());
    story.charts.extend(over_time(device));
}

/// The verdict with what it shares its place with: where the confidence is "possible", its
/// alternatives are as good.
fn verdict_text(episode: &Episode) -> String {
    let mut words = told(episode.verdict).0.to_owned();
    if episode.confidence == Confidence::Possible {
        for alternative in &episode.alternatives {
            words.push_str(" or ");
            words.push_str(told(alternative.verdict).0);
        }
    }
    words
}

fn badge(device: &DeviceDiagnosis, main: &Episode, subject: String) -> Badge {
    // To be certain that one does not know is no information.
    let sure = (main.verdict != Verdict::NotEnoughEvidence)
        .then(|| confidence(main.confidence).to_owned());
    let share = device.shares.iter().find(|share| share.verdict == main.verdict);
    let time = share
        .filter(|_| device.episodes.len() > 1)
        .map(|share| format!("{} of the time", number::percent(share.share_of_time)));
    let support = bracketed(sure.into_iter().chain(time), ", ");
    let alternatives = main.alternatives.iter().map(|other| Alternative {
        what: told(other.verdict).0.to_owned(),
        because: other.because.clone(),
        how_to_check: other.decided_by.clone(),
    });
    Badge {
        subject,
        words: format!("{}{support}", verdict_text(main).to_uppercase()),
        tone: told(main.verdict).1,
        because: main.claim.trim().to_owned(),
        alternatives: alternatives.collect(),
    }
}

/// The episode that the page is about: the worst, else the longest with a verdict, else the longest.
fn shown(device: &DeviceDiagnosis) -> Option<usize> {
    let longest = |judged: bool| {
        let all = device.episodes.iter().enumerate();
        let candidates =
            all.filter(|(_, episode)| !judged || episode.verdict != Verdict::NotEnoughEvidence);
        candidates.max_by_key(|(_, episode)| episode.duration_ns).map(|(index, _)| index)
    };
    device.worst.map(|index| index as usize).or_else(|| longest(true)).or_else(|| longest(false))
}

fn figures(story: &mut Story, episode: &Episode, of: &str) {
    let numbers = &episode.numbers;
    let calibrated = episode.calibrated.as_ref();
    let size = numbers.request_bytes.map(|bytes| format!(" of {} KiB", number::kib(bytes as u64)));
    let reads = numbers.read_share.map(|share| format!(", {} reads", number::percent(share)));
    let load = [Some(number::per_second(numbers.iops)), size, reads].into_iter().flatten();
    story.fact_of(of, "load", load.collect::<String>());
    let expected = calibrated.map(|split| number::with_interval(&split.expected_ns, number::time));
    let rows = [
        ("throughput", numbers.bytes_per_s.map(number::rate)),
        ("latency", numbers.latency_ns.map(number::time)),
        ("expected at this queue depth", expected),
        ("queue depth", numbers.concurrency.map(number::digits)),
        ("busy", numbers.utilization.map(number::percent)),
        ("of the largest rate", calibrated.map(|split| number::percent(split.saturation))),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            story.fact_of(of, name, value);
        }
    }
}

/// The profile that a device is compared with, or why there is none.
fn profile(device: &DeviceDiagnosis) -> String {
    let profile = match device.profile.known() {
        Ok(profile) => profile,
        Err(reason) => return format!("no profile: {reason}"),
    };
    let by = match profile.by {
        MatchedBy::Serial => "model and serial number agree",
        MatchedBy::ModelAndSize => "model and size agree",
        MatchedBy::Simulated => "the same simulated device",
        MatchedBy::Name => "by its name",
        MatchedBy::Choice => "chosen by the user",
    };
    let time = profile.time.as_deref().map(|time| format!(", {}", number::when(time)));
    let time = time.unwrap_or_default();
    format!("profile {} of {}{time}; {by}", profile.profile_id, profile.target)
}

/// When an episode began, from the first interval on.
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
    let remark =
        "expected: latency at that queue depth; of max: share of the largest rate of this mix";
    let section = story.section(title, remark);
    let mut listed: Vec<usize> = (0..device.episodes.len()).collect();
    listed.sort_by_key(|&index| {
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
        section.note(format!("{more} shorter ones are in the document (--json)."));
    }
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
    let section = story.section(title, "");
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
            "Share of reads as quick as hits of the device's cache: {}.",
            number::with_range(share, number::percent)
        ),
        Err(reason) => {
            format!("Share of reads served by a cache of the device: unknown: {reason}.")
        }
    });
}

fn misleading(story: &mut Story, episode: &Episode, title: String) {
    let shown = &episode.misleading;
    let [disk_time, busy] = [shown.disk_time_percent, shown.iostat_busy_percent]
        .map(|share| share.map(|percent| format!("{percent:.0}")));
    let (queue, svctm) = (shown.queue_length.map(number::digits), shown.svctm_ns.map(number::time));
    let rows = [
        ("% Disk Time", disk_time, "latency times rate, cut at 100: no share of time"),
        ("queue length", queue, "requests in flight, also those that are being served"),
        ("svctm", svctm, "U/X: spacing of completions, no request's time"),
        ("%util", busy, "time with any request, however many would fit"),
    ];
    if rows.iter().all(|(_, value, _)| value.is_none()) {
        return;
    }
    story.section(title, "").table(rows, |t| {
        t.left("", |row| row.0);
        t.right("", |row| Cell::or_none(row.1.as_ref(), String::clone));
        t.left("", |row| Cell::toned(row.2, Tone::Faint)).gap(3);
    });
}

fn advice(story: &mut Story, device: &DeviceDiagnosis, main: &Episode, subject: &str) {
    if device.advice.is_empty() {
        let elsewhere = main.causes.iter().filter(|cause| cause.code.is_elsewhere());
        let elsewhere: Vec<&str> = elsewhere.map(|cause| cause.claim.as_str()).collect();
        let text = match main.verdict {
            Verdict::Healthy | Verdict::NotTheDisk if elsewhere.is_empty() => {
                "Leave the disk alone: it does what it should. If a program waits, it waits for \
                 something that was not seen: a lock, the network, another machine, or what this \
                 source does not tell."
            }
            Verdict::Healthy | Verdict::NotTheDisk => {
                "Leave the disk alone: it does what it should."
            }
            Verdict::NotEnoughEvidence => {
                "Collect evidence: `halfpower check` makes a profile; a longer recording or a \
                 busier time gives the rest."
            }
            _ => {
                "No change was found whose gain this profile can predict. `halfpower check \
                 --for-diagnosis` measures mixes and open loads as well; `halfpower whatif` \
                 computes a change that you name."
            }
        };
        let text = elsewhere.into_iter().chain([text]).collect::<Vec<_>>().join(" ");
        story.actions.push(Action::new(subject, text));
    }
    for (index, remedy) in device.advice.iter().enumerate() {
        let what = format!("{}: {}", strategy_words(remedy.strategy), remedy.action);
        let gained = match remedy.gain {
            Some(gain) => format!("saves {} of the time per request", number::percent(gain)),
            None => "gain not predicted".to_owned(),
        };
        let effect = match remedy.effect.known() {
            Ok(effect) => format!("{}; {gained}", predicted(effect)),
            Err(reason) => format!("unknown: {reason}"),
        };
        let mut action = Action::new(subject, what).with("predicted", effect);
        if index < IN_FULL {
            let episode = match device.episodes.len() {
                0 | 1 => String::new(),
                _ => format!(", episode {}", remedy.episode + 1),
            };
            action = action
                .with("cause", format!("{}{episode}", remedy.cause.name()))
                .with("assumes", &remedy.assumes)
                .with("cost", &remedy.cost)
                .with("how to check", &remedy.how_to_check);
        }
        story.actions.push(action);
    }
}

fn strategy_words(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::FasterDisks => "faster disk",
        Strategy::MoreDisks => "more disks",
        Strategy::DiskArray => "disk array",
        Strategy::CachedDisks => "cached disk",
        Strategy::HostCache => "host-based caching",
        Strategy::LoadBalancing => "load balancing",
        Strategy::Defragmentation => "defragmentation",
        Strategy::DeeperQueue => "deeper queue",
        Strategy::ShallowerQueue => "shallower queue",
        Strategy::LargerRequests => "larger requests",
        Strategy::DirectIo => "even writes or direct I/O",
        Strategy::Scheduler => "I/O scheduler",
        Strategy::ReadAhead => "read-ahead",
        Strategy::Preallocation => "preallocation",
        Strategy::Alignment => "alignment",
        Strategy::RaiseCap => "raise the cap",
        Strategy::MoveNeighbour => "move the neighbour",
        Strategy::Restore => "find what changed",
    }
}

fn predicted(effect: &Effect) -> String {
    let rate = &effect.iops_after;
    let before = number::per_second(effect.iops_before);
    let rate_text = if (rate.value / effect.iops_before.max(1e-9) - 1.0).abs() < 0.005 {
        format!("at {before} as now")
    } else {
        format!("{before} -> {}", number::with_range(rate, number::per_second))
    };
    let before = number::time(effect.latency_before_ns);
    let after = number::with_range(&effect.latency_after_ns, number::time);
    format!("latency {before} -> {after}, {rate_text}")
}

fn over_time(device: &DeviceDiagnosis) -> Option<Chart> {
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
        true => format!("{}: the expected latency is unknown.", device.device),
        false => format!(
            "{}: the latency was {} times the expected one in half of the intervals or more.",
            device.device,
            number::digits(stats::median(ratios))
        ),
    };
    let series = vec![
        Series::new("seen", Form::Trace, seen),
        Series::new("expected at this load", Form::Trace, expected),
    ];
    Some(Chart {
        title: format!("{}: latency as seen and as expected", device.device),
        finding,
        errors: "Band: 95 % interval of what the profile expects. What is seen is counted."
            .to_owned(),
        x: Axis::over("time", Some(Unit::Nanos), xs(&series).chain([0.0])),
        y: Axis::decades("mean latency", Some(Unit::Nanos), ends(&series)),
        rules: Vec::new(),
        series,
    })
}
