//! A diagnosis as a page: the verdict first, then the stretches of time, then why, then what to do.
//!
//! Alternatives stand right behind the verdict that they contest, and the page says what would decide. Both
//! splits of the response time are shown for the worst episode (without one, for the longest) with
//! the sentence that says which of them holds on this device; the counters that mislead are shown
//! once, each with the reason not to use it. Where nothing is wrong the page says so and is short:
//! "leave it alone" is an answer. What happened second by second is in the CSV and in the document.

mod csv;

pub use csv::{DIAGNOSIS_CSV_HEADER, diagnosis_csv};

use crate::page::{Page, Span, Tone};
use crate::table::{Column, Entry, Table};
use crate::{Style, finding, number};
use record::{
    Activity, Calibrated, Confidence, DeviceDiagnosis, Diagnosis, Effect, Episode, MatchedBy,
    Measured, Remedy, Strategy, Verdict,
};

/// Advice that is printed in full; the rest in a line each.
const IN_FULL: usize = 3;
/// Episodes that are printed; of more the worst and the longest.
const EPISODES_MAX: usize = 16;
/// A second, in nanoseconds.
const SECOND_NS: f64 = 1e9;

/// The diagnosis as a page.
#[must_use]
pub fn diagnosis_text(diagnosis: &Diagnosis, style: &Style) -> String {
    let mut page = Page::new(style);
    for device in &diagnosis.devices {
        page.blank();
        print_device(&mut page, diagnosis, device);
    }
    if diagnosis.devices.is_empty() {
        page.paragraph(0, "No device was observed.", Tone::Plain);
    }
    if !diagnosis.left_out.is_empty() {
        page.heading("Left out", "");
        for line in &diagnosis.left_out {
            page.paragraph(2, line, Tone::Faint);
        }
    }
    if !diagnosis.findings.is_empty() {
        page.heading("Findings on the recording", "");
        finding::print(&mut page, &diagnosis.findings);
    }
    page.blank();
    let lead = vec![Span::new("Id: ", Tone::Strong)];
    let id = &diagnosis.id;
    let text = format!(
        "{id}, of the observation {}, halfpower {}",
        diagnosis.observation_id, diagnosis.halfpower_version
    );
    page.hanging(lead, &text, Tone::Plain);
    page.finish()
}

/// The words of a verdict.
pub(crate) fn verdict_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Healthy => "healthy",
        Verdict::Slow => "slow",
        Verdict::Overloaded => "overloaded",
        Verdict::SlowAndOverloaded => "slow and overloaded",
        Verdict::Capped => "capped",
        Verdict::NotTheDisk => "not the disk",
        Verdict::NotEnoughEvidence => "not enough evidence",
    }
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Healthy | Verdict::NotTheDisk => Tone::Good,
        Verdict::NotEnoughEvidence => Tone::Faint,
        Verdict::Capped | Verdict::Overloaded => Tone::Warn,
        Verdict::Slow | Verdict::SlowAndOverloaded => Tone::Bad,
    }
}

/// The verdict with what it shares its place with: where the confidence is "possible", its alternatives
/// are as good.
fn title(episode: &Episode) -> String {
    let mut words = verdict_words(episode.verdict).to_owned();
    if episode.confidence == Confidence::Possible {
        for alternative in &episode.alternatives {
            words.push_str(" or ");
            words.push_str(verdict_words(alternative.verdict));
        }
    }
    words
}

fn sure(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain => "certain",
        Confidence::Likely => "likely",
        Confidence::Possible => "possible",
    }
}

/// The episode that the page is about: the worst, else the longest with a verdict, else the longest.
fn shown(device: &DeviceDiagnosis) -> Option<usize> {
    let longest = |judged: bool| {
        let candidates = device
            .episodes
            .iter()
            .enumerate()
            .filter(|(_, episode)| !judged || episode.verdict != Verdict::NotEnoughEvidence);
        candidates.max_by_key(|(_, episode)| episode.duration_ns).map(|(index, _)| index)
    };
    device.worst.map(|index| index as usize).or_else(|| longest(true)).or_else(|| longest(false))
}

fn print_device(page: &mut Page, diagnosis: &Diagnosis, device: &DeviceDiagnosis) {
    let main = shown(device).and_then(|index| Some((index, device.episodes.get(index)?)));
    headline(page, diagnosis, device, main);
    let Some((index, main)) = main else { return };
    profile(page, device);
    if device.episodes.len() > 1 {
        episodes(page, device);
    }
    page.heading("Why", &where_in_time(device, index, main));
    reasons(page, main);
    splits(page, device, main);
    misleading(page, main);
    notes(page, device);
    advice(page, device, main);
}

fn headline(
    page: &mut Page,
    diagnosis: &Diagnosis,
    device: &DeviceDiagnosis,
    main: Option<(usize, &Episode)>,
) {
    let mut lead = vec![Span::new("Diagnosis: ", Tone::Strong)];
    if diagnosis.source == "simulated" {
        lead.push(Span::new("SIMULATED, no real disk: ", Tone::Warn));
    }
    let model = device.model.as_ref().map(|model| format!(" ({})", model.trim()));
    let host = diagnosis.host.as_ref().map(|host| format!(" on {host}"));
    let time = number::time(device.duration_ns as f64);
    let source = if diagnosis.source == "simulated" { "" } else { diagnosis.source.as_str() };
    let by = if source.is_empty() { String::new() } else { format!(", {source}") };
    let text = format!(
        "{}{}{}, {time} observed{by}",
        device.device,
        model.unwrap_or_default(),
        host.unwrap_or_default()
    );
    page.flowing(lead, 2, &text, Tone::Plain);
    page.blank();
    let Some((_, main)) = main else {
        return page.paragraph(2, "Not one interval of it.", Tone::Plain);
    };
    let share = if device.episodes.len() > 1 {
        format!(", {} of the time", number::percent_text(time_of(device, main.verdict)))
    } else {
        String::new()
    };
    let line = format!("{} ({}{share})", title(main).to_uppercase(), sure(main.confidence));
    page.line(vec![Span::plain("  "), Span::new(line, tone(main.verdict))]);
    page.paragraph(2, &main.claim, Tone::Plain);
    if main.alternatives.is_empty() {
        return;
    }
    for alternative in &main.alternatives {
        let lead = vec![Span::plain("  "), Span::new("or ", Tone::Strong)];
        let text = format!("{}: {}", verdict_words(alternative.verdict), alternative.because);
        page.hanging(lead, &text, Tone::Plain);
        page.hanging(
            vec![Span::plain("     → ")],
            &format!("decided by: {}", alternative.decided_by),
            Tone::Faint,
        );
    }
}

fn time_of(device: &DeviceDiagnosis, verdict: Verdict) -> f64 {
    let share = device.shares.iter().find(|share| share.verdict == verdict);
    share.map_or(0.0, |share| share.share_of_time)
}

fn profile(page: &mut Page, device: &DeviceDiagnosis) {
    let lead = vec![Span::new("Profile: ", Tone::Strong)];
    let text = match &device.profile {
        Measured::NotMeasured { not_measured } => format!("none; {not_measured}"),
        Measured::Value(profile) => {
            let by = match profile.by {
                MatchedBy::Serial => "model and serial number agree",
                MatchedBy::ModelAndSize => "model and size agree",
                MatchedBy::Simulated => "the same simulated device",
                MatchedBy::Name => "by its name",
                MatchedBy::Choice => "chosen by hand",
            };
            let time = profile.time.as_deref().map(number::when);
            let time = time.map(|time| format!(", {time}")).unwrap_or_default();
            format!("{} of {}{time}; {by}", profile.profile_id, profile.target)
        }
    };
    page.blank();
    page.hanging(lead, &text, Tone::Plain);
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

fn where_in_time(device: &DeviceDiagnosis, index: usize, episode: &Episode) -> String {
    if device.episodes.len() < 2 {
        return "all of the time was alike".to_owned();
    }
    let which = if device.worst.is_some_and(|worst| worst as usize == index) {
        "the worst episode"
    } else {
        "the longest episode"
    };
    format!(
        "{which}, number {} at {}, {} long",
        index + 1,
        clock(since_start(device, episode)),
        number::time(episode.duration_ns as f64)
    )
}

fn episodes(page: &mut Page, device: &DeviceDiagnosis) {
    page.heading("Episodes", "R: response time; expected at that concurrency; L: in progress; of max: rate over the largest");
    let mut table = Table::new(vec![
        Column::right(1),
        Column::right(1),
        Column::right(1),
        Column::left(2),
        Column::right(1),
        Column::right(2).expendable(2),
        Column::right(2),
        Column::right(2),
        Column::right(2),
        Column::right(2).expendable(3),
        Column::right(2).expendable(1),
    ]);
    table.titles(&[
        "#", "from", "for", "verdict", "IOPS", "KiB", "R", "expected", "L", "U", "of max",
    ]);
    let mut listed: Vec<usize> = (0..device.episodes.len()).collect();
    if listed.len() > EPISODES_MAX {
        listed.sort_by_key(|&index| {
            let episode = &device.episodes[index];
            let worst = device.worst.is_some_and(|worst| worst as usize == index);
            std::cmp::Reverse((worst, episode.duration_ns))
        });
        listed.truncate(EPISODES_MAX);
        listed.sort_unstable();
    }
    for &index in &listed {
        let episode = &device.episodes[index];
        table.row(episode_row(device, index, episode));
    }
    table.print(page);
    let more = device.episodes.len() - listed.len();
    if more > 0 {
        page.paragraph(
            2,
            &format!("{more} shorter ones are in the document (--json)."),
            Tone::Faint,
        );
    }
}

fn episode_row(device: &DeviceDiagnosis, index: usize, episode: &Episode) -> Vec<Entry> {
    let numbers = &episode.numbers;
    let or_none =
        |text: Option<String>| Entry::text(text.unwrap_or_else(|| number::NONE.to_owned()));
    let worst = device.worst.is_some_and(|worst| worst as usize == index);
    let mark = if worst { "*" } else { "" };
    let words = match episode.activity {
        Activity::Idle => "idle".to_owned(),
        _ => title(episode),
    };
    vec![
        Entry::text(format!("{}{mark}", index + 1)),
        Entry::text(clock(since_start(device, episode))),
        Entry::text(number::time(episode.duration_ns as f64)),
        Entry::toned(words, tone(episode.verdict)),
        Entry::text(number::count(numbers.iops)),
        or_none(numbers.request_bytes.map(|bytes| number::kib(bytes as u64))),
        or_none(numbers.latency_ns.map(number::time)),
        or_none(episode.calibrated.map(|split| number::time(split.expected_ns.value))),
        or_none(numbers.concurrency.map(number::digits)),
        or_none(numbers.utilization.map(number::percent)),
        or_none(episode.calibrated.map(|split| number::percent(split.saturation))),
    ]
}

fn reasons(page: &mut Page, episode: &Episode) {
    let numbers = &episode.numbers;
    let load = [
        Some(format!("{} requests/s", number::count(numbers.iops))),
        numbers.read_share.map(|share| format!("{} reads", number::percent_text(share))),
        numbers.request_bytes.map(|bytes| format!("of {} KiB", number::kib(bytes as u64))),
        numbers.bytes_per_s.map(number::rate),
        numbers.concurrency.map(|present| format!("{} in progress", number::digits(present))),
        numbers.utilization.map(|busy| format!("busy {}", number::percent_text(busy))),
    ];
    let load: Vec<String> = load.into_iter().flatten().collect();
    page.labelled("load", 13, &load.join(", "));
    let told = |split: &&Calibrated| split.sequential_traced || split.sequential_share > 0.0;
    if let Some(split) = episode.calibrated.as_ref().filter(told) {
        let share = number::percent_text(split.sequential_share);
        let how = if split.sequential_traced { "traced" } else { "fits best; not traced" };
        page.labelled("sequential", 13, &format!("{share} of the requests ({how})"));
    }
    for cause in &episode.causes {
        page.labelled("cause", 13, &format!("{} [{}]", cause.claim, cause.code.name()));
    }
    for extrapolated in &episode.extrapolated {
        page.labelled("extrapolated", 13, extrapolated);
    }
}

fn splits(page: &mut Page, device: &DeviceDiagnosis, episode: &Episode) {
    let Some(latency) = episode.numbers.latency_ns else { return };
    page.heading("Where the response time goes", "");
    let mut table = Table::new(vec![
        Column::left(2),
        Column::right(2),
        Column::right(2),
        Column::right(2),
        Column::right(3),
    ]);
    table.titles(&["", "response", "service", "queue", ""]);
    if let Some(split) = &episode.utilization_law {
        table.row(vec![
            Entry::text("Friedman: S = U/X"),
            Entry::text(number::time(latency)),
            Entry::text(number::time(split.service_ns)),
            Entry::text(number::time(split.queue_ns)),
            Entry::text(format!("U = {}", number::percent(split.utilization))),
        ]);
    }
    if let Some(split) = &episode.calibrated {
        table.row(vec![
            Entry::text("calibrated: alone"),
            Entry::text(number::time(latency)),
            Entry::text(number::time(split.unloaded_ns)),
            Entry::text(number::time(split.queue_ns)),
            Entry::text(format!("X/max = {}", number::percent(split.saturation))),
        ]);
    }
    table.print(page);
    page.paragraph(2, &device.splits_compared, Tone::Faint);
    let hits = match &device.hit_share {
        Measured::Value(share) => format!(
            "Share of reads as quick as hits of the device's cache: {} ({} to {}).",
            number::percent_text(share.value),
            number::percent_text(share.low),
            number::percent_text(share.high)
        ),
        Measured::NotMeasured { not_measured } => {
            format!(
                "Share of reads served by a cache of the device: not estimated: {not_measured}."
            )
        }
    };
    page.paragraph(2, &hits, Tone::Faint);
}

fn misleading(page: &mut Page, episode: &Episode) {
    let shown = &episode.misleading;
    let rows = [
        (
            "% Disk Time",
            shown.disk_time_percent.map(|value| format!("{value:.0}")),
            "R times rate, cut at 100: no share of time",
        ),
        (
            "queue length",
            shown.queue_length.map(number::digits),
            "in progress, also those that are being served",
        ),
        (
            "svctm",
            shown.svctm_ns.map(number::time),
            "U/X: spacing of completions, no request's time",
        ),
        (
            "%util",
            shown.iostat_busy_percent.map(|value| format!("{value:.0}")),
            "time with any request, however many would fit",
        ),
    ];
    if rows.iter().all(|(_, value, _)| value.is_none()) {
        return;
    }
    page.heading("Counters that others show, and why not to use them", "");
    let mut table = Table::new(vec![Column::left(2), Column::right(2), Column::left(3)]);
    for (name, value, reason) in rows {
        table.row(vec![
            Entry::text(name),
            Entry::text(value.unwrap_or_else(|| number::NONE.to_owned())),
            Entry::toned(reason, Tone::Faint),
        ]);
    }
    table.print(page);
}

fn notes(page: &mut Page, device: &DeviceDiagnosis) {
    if device.notes.is_empty() {
        return;
    }
    page.heading("Beware", "");
    for note in &device.notes {
        let text = format!("{} [{}]", note.claim, note.code.name());
        page.hanging(vec![Span::plain("  - ")], &text, Tone::Plain);
    }
}

fn advice(page: &mut Page, device: &DeviceDiagnosis, main: &Episode) {
    page.heading("What to do", "");
    if device.advice.is_empty() {
        let text = match main.verdict {
            Verdict::Healthy | Verdict::NotTheDisk => {
                "Leave the disk alone: it does what it should. If something waits, it waits for \
                 something else."
            }
            Verdict::NotEnoughEvidence => {
                "Nothing can be advised without evidence: `halfpower check` makes a profile, a \
                 longer recording or a busier time the rest."
            }
            _ => {
                "No change was found whose gain this profile can predict. `halfpower check \
                 --for-diagnosis` measures mixes and open loads as well; `halfpower whatif` \
                 computes a change that you name."
            }
        };
        return page.paragraph(2, text, Tone::Plain);
    }
    for (index, remedy) in device.advice.iter().enumerate() {
        if index < IN_FULL {
            remedy_in_full(page, index, remedy, device);
        } else {
            remedy_in_a_line(page, index, remedy);
        }
    }
}

/// The name of a strategy for a reader.
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

fn gained(remedy: &Remedy) -> String {
    match remedy.gain {
        Some(gain) => format!("saves {} of the time per request", number::percent_text(gain)),
        None => "gain not predicted".to_owned(),
    }
}

fn predicted(effect: &Effect) -> String {
    let time = &effect.latency_after_ns;
    let rate = &effect.iops_after;
    let rate_text = if (rate.value / effect.iops_before.max(1e-9) - 1.0).abs() < 0.005 {
        format!("at {}/s as now", number::count(effect.iops_before))
    } else {
        format!(
            "{}/s -> {}/s ({} to {})",
            number::count(effect.iops_before),
            number::count(rate.value),
            number::count(rate.low),
            number::count(rate.high)
        )
    };
    format!(
        "R {} -> {} ({} to {}), {rate_text}",
        number::time(effect.latency_before_ns),
        number::time(time.value),
        number::time(time.low),
        number::time(time.high)
    )
}

fn remedy_in_full(page: &mut Page, index: usize, remedy: &Remedy, device: &DeviceDiagnosis) {
    let lead = vec![
        Span::plain(format!("  {}. ", index + 1)),
        Span::new(strategy_words(remedy.strategy), Tone::Strong),
        Span::plain(": "),
    ];
    page.flowing(lead, 5, &remedy.action, Tone::Plain);
    let several = device.episodes.len() > 1;
    let episode = if several { format!(", episode {}", remedy.episode + 1) } else { String::new() };
    let effect = match &remedy.effect {
        Measured::Value(effect) => format!("{}; {}", predicted(effect), gained(remedy)),
        Measured::NotMeasured { not_measured } => format!("not predicted: {not_measured}"),
    };
    let mut rows = vec![
        ("predicted", effect),
        ("cause", format!("{}{episode}", remedy.cause.name())),
        ("assumes", remedy.assumes.clone()),
        ("price", remedy.price.clone()),
        ("refuted by", remedy.refuted_by.clone()),
    ];
    rows.retain(|(_, text)| !text.is_empty());
    for (label, text) in rows {
        page.hanging(vec![Span::plain(format!("     {label:<11}"))], &text, Tone::Plain);
    }
}

fn remedy_in_a_line(page: &mut Page, index: usize, remedy: &Remedy) {
    let lead = vec![
        Span::plain(format!("  {}. ", index + 1)),
        Span::new(strategy_words(remedy.strategy), Tone::Strong),
        Span::plain(": "),
    ];
    let text = match &remedy.effect {
        Measured::Value(effect) => format!("{}; {}", predicted(effect), gained(remedy)),
        Measured::NotMeasured { .. } => remedy.action.clone(),
    };
    page.flowing(lead, 5, &text, Tone::Plain);
}
