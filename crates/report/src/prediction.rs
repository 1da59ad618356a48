//! What `predict` and `profile validate` print.
//!
//! A prediction answers first: what a request will take, and how full the device will be. Then come
//! all models beside each other with their errors, so that a reader sees which to trust and what the
//! textbook would have said; then what the answer rests on that was not measured. A validation
//! prints its predictions before it measures, and its errors beside the repeatability, because no
//! prediction can be nearer to a measurement than the next measurement is.

use crate::page::{Page, Span, Tone};
use crate::table::{Column, Entry, Table};
use crate::{Style, finding, number};
use record::{
    Estimate, Locality, Mix, ModelAccuracy, ModelName, Objective, Offered, OpKind, Prediction,
    PredictionDocument, SheetPrediction, SinceProfile, Validation, ValidationSummary,
    ValidationTrial, format_bytes,
};

/// Column at which the values of labelled lines begin.
const VALUES: usize = 17;
/// Columns of a load in the table of a validation.
const LOAD_COLUMNS: usize = 34;

/// One prediction, answer first.
#[must_use]
pub fn prediction_text(document: &PredictionDocument, style: &Style) -> String {
    let mut page = Page::new(style);
    let of = match (&document.target, &document.sheet) {
        (Some(target), _) => format!("{} on {target}", offered_text(document.offered)),
        (None, Some(sheet)) => format!("UNMEASURED, from a data sheet: {}", sheet.name),
        (None, None) => String::new(),
    };
    page.hanging(vec![Span::new("Prediction: ", Tone::Strong)], &of, Tone::Plain);
    page.paragraph(12, &mix_text(&document.mix), Tone::Plain);
    page.blank();
    if let Some(sheet) = &document.sheet {
        sheet_lines(&mut page, sheet);
        return page.finish();
    }
    let advised = document.predictions.iter().find(|one| Some(one.model) == document.advised);
    if let Some(prediction) = advised {
        answer_lines(&mut page, prediction);
    }
    for objective in &document.objectives {
        let (label, text) = objective_text(objective);
        page.labelled(&format!("  {label}"), VALUES, &text);
    }
    if document.predictions.len() > 1 {
        models(&mut page, document);
    }
    let extrapolated =
        advised.map(|prediction| prediction.extrapolated.as_slice()).unwrap_or_default();
    if !extrapolated.is_empty() {
        page.heading("Not measured", "what the model had to assume");
        for clause in extrapolated {
            page.hanging(vec![Span::plain("  - ")], clause, Tone::Plain);
        }
    }
    page.blank();
    if let Some(since) = &document.since_profile {
        let text = format!("{}; the prediction follows that", level_text(since));
        page.labelled("  since then", VALUES, &text);
    }
    let mut profile = document.profile_id.clone().unwrap_or_default();
    if let Some(time) = &document.profile_time {
        profile.push_str(&format!(", measured {}", number::when(time)));
    }
    if document.simulated {
        profile.push_str(", SIMULATED");
    }
    page.labelled("  profile", VALUES, &profile);
    page.finish()
}

fn offered_text(offered: Option<Offered>) -> String {
    match offered {
        Some(Offered::PoissonPerS(rate)) => {
            format!("{} requests/s, arriving independently,", plain(rate))
        }
        Some(Offered::ConstantPerS(rate)) => {
            format!("{} requests/s at equal distances", plain(rate))
        }
        Some(Offered::Depth(depth)) => format!("{} requests outstanding", plain(depth)),
        None => "this mix".to_owned(),
    }
}

/// A number as it was typed.
fn plain(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { number::digits(value) }
}

/// A mix in words: `70 % reads of 8 KiB, 20 % sequential`.
pub(crate) fn mix_text(mix: &Mix) -> String {
    let share = |of: &dyn Fn(&record::MixClass) -> bool| -> f64 {
        mix.classes.iter().filter(|class| of(class)).map(|class| class.share).sum()
    };
    let reads = share(&|class| class.op == OpKind::Read);
    let ops = match reads {
        reads if reads > 0.999 => "reads".to_owned(),
        reads if reads < 0.001 => "writes".to_owned(),
        reads => format!("{} reads, rest writes,", whole(reads)),
    };
    let mut sizes: Vec<u64> = mix.classes.iter().map(|class| class.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let of_size = |&bytes: &u64| match sizes.len() {
        1 => format_bytes(bytes),
        _ => format!("{} ({})", format_bytes(bytes), whole(share(&|class| class.bytes == bytes))),
    };
    let sizes_text: Vec<String> = sizes.iter().map(of_size).collect();
    let place = |locality: Locality| share(&|class| class.locality == locality);
    let mut text = format!("{ops} of {}", sizes_text.join(" and "));
    let places = [(Locality::Sequential, "sequential"), (Locality::Hit, "cached")];
    let parts: Vec<String> = places
        .into_iter()
        .filter(|(locality, _)| place(*locality) > 0.001)
        .map(|(locality, word)| format!("{} {word}", whole(place(locality))))
        .collect();
    if parts.is_empty() {
        text.push_str(", random");
    } else {
        text.push_str(&format!(", {}", parts.join(", ")));
        if place(Locality::Random) > 0.001 {
            text.push_str(", rest random");
        }
    }
    text
}

fn whole(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn range(estimate: &Estimate, format: fn(f64) -> String) -> String {
    format!(
        "{}, 95 % from {} to {}",
        format(estimate.value),
        format(estimate.low),
        format(estimate.high)
    )
}

fn answer_lines(page: &mut Page, prediction: &Prediction) {
    let mut line = |label: &str, text: &str| page.labelled(&format!("  {label}"), VALUES, text);
    line("response", &format!("mean {}", range(&prediction.latency_ns, number::time)));
    if let (Some(read), Some(write)) = (&prediction.read_latency_ns, &prediction.write_latency_ns) {
        let both =
            format!("reads {}, writes {}", number::time(read.value), number::time(write.value));
        line("", &both);
    }
    match (&prediction.p99_ns, prediction.offered) {
        (Some(p99), _) => line("p99", &range(p99, number::time)),
        (None, Offered::Depth(_)) => {}
        (None, _) => line("p99", "not told: the profile has no ground for it"),
    }
    let queue = format!(
        "{} of it in the queue; a request alone takes {}",
        number::time(prediction.queue_ns),
        number::time(prediction.unloaded_latency_ns.value)
    );
    line("queue", &queue);
    let in_progress =
        format!("{} requests in progress on average", number::digits(prediction.concurrency));
    line("", &in_progress);
    line("utilization", &format!("{} of the time at least one", whole(prediction.utilization)));
    let saturation = format!(
        "{} of the largest rate of this mix, {}",
        whole(prediction.saturation),
        number::with_interval(&prediction.max_iops, number::per_second)
    );
    line("saturation", &saturation);
    if matches!(prediction.offered, Offered::Depth(_)) {
        line("rate", &number::with_interval(&prediction.iops, number::per_second));
    }
}

fn objective_text(answer: &record::ObjectiveAnswer) -> (&'static str, String) {
    let (label, most) = match answer.objective {
        Objective::MeanNs(most) => ("mean", most),
        Objective::P99Ns(most) => ("p99", most),
    };
    let text = match (&answer.at, &answer.not) {
        (Some(at), _) => {
            let rate = number::per_second(at.iops.value);
            let most = number::time(most);
            format!("{label} up to {most}: at most {rate}, {} of the largest", whole(at.saturation))
        }
        (None, Some(not)) => format!("{label} up to {}: {not}", number::time(most)),
        (None, None) => String::new(),
    };
    ("objective", text)
}

/// All models beside each other.
fn models(page: &mut Page, document: &PredictionDocument) {
    page.heading("Models", "err: median error on the profile's open loads, none of them fitted to");
    let mut table = Table::new(vec![
        Column::left(2),
        Column::right(2),
        Column::right(2),
        Column::right(2),
        Column::right(2),
        Column::left(2),
    ]);
    table.titles(&["", "response", "queue", "err <70 %", "err ≥70 %", ""]);
    for prediction in &document.predictions {
        let accuracy = document.accuracy.iter().find(|one| one.model == prediction.model);
        let error =
            |of: fn(&ModelAccuracy) -> Option<f64>| number::or_none(accuracy.and_then(of), percent);
        let advised = Some(prediction.model) == document.advised;
        let tone = if advised { Tone::Strong } else { Tone::Plain };
        table.row(vec![
            Entry::toned(prediction.model.name(), tone),
            Entry::toned(number::time(prediction.latency_ns.value), tone),
            Entry::text(number::time(prediction.queue_ns)),
            Entry::text(error(|one| one.median_rel)),
            Entry::text(error(|one| one.loaded_median_rel)),
            Entry::text(if advised { "← used" } else { "" }),
        ]);
    }
    table.print(page);
}

/// A share, where there is one.
fn told(share: Option<f64>) -> String {
    share.map_or_else(|| "not measured".to_owned(), percent)
}

fn percent(share: f64) -> String {
    if share >= 9.995 { format!("{share:.0} x") } else { format!("{:.1} %", share * 100.0) }
}

fn sheet_lines(page: &mut Page, sheet: &SheetPrediction) {
    let mut line = |label: &str, text: &str| page.labelled(&format!("  {label}"), VALUES, text);
    let time = number::time;
    let parts = format!(
        "{} = seek {} + rotation {} + transfer {} + overhead {}",
        time(sheet.service_ns),
        time(sheet.seek_ns),
        time(sheet.rotation_ns),
        time(sheet.transfer_ns),
        time(sheet.overhead_ns)
    );
    line("service time", &parts);
    line(
        "response",
        &format!("mean {} by M/M/1, p99 {}", time(sheet.latency_ns), time(sheet.p99_ns)),
    );
    line("utilization", &whole(sheet.utilization));
    line("largest rate", &number::per_second(sheet.max_per_s));
    if let Some(highest) = sheet.highest_per_s {
        line("objective", &format!("kept up to {}", number::per_second(highest)));
    }
    page.blank();
    page.paragraph(
        2,
        "Nothing of this was measured. One server, exponential times, no cache, no queue in the \
         drive: on a device that works in parallel it is wrong by construction. `halfpower check \
         --for-diagnosis` measures.",
        Tone::Warn,
    );
}

/// The predictions of a validation, before any of it is measured.
#[must_use]
pub fn foretold_text(
    trials: &[ValidationTrial],
    since: Option<&SinceProfile>,
    style: &Style,
) -> String {
    let mut page = Page::new(style);
    page.heading("Predicted", "before any of it is measured; mean response time");
    if let Some(since) = since {
        let text = format!(
            "The device now, over when it was profiled: {}. The predictions follow that, and will \
             again before each visit.",
            level_text(since)
        );
        page.paragraph(2, &text, Tone::Faint);
    }
    let mut table = Table::new(vec![
        Column::left(2),
        Column::right(2),
        Column::right(2),
        Column::right(1),
        Column::right(2),
    ]);
    table.titles(&["load", "rate/s", "of max", "response", "95 % interval"]);
    for trial in trials {
        let told = trial.prediction.as_ref();
        let (latency, interval) = match told.zip(told.and_then(|one| trial.foretold_ns(one.model)))
        {
            Some((one, latency_ns)) => {
                let now = one.latency_ns.scaled(latency_ns / one.latency_ns.value);
                let [low, high] = [now.low, now.high].map(number::time);
                (number::time(latency_ns), format!("{low}–{high}"))
            }
            None => ("too much".to_owned(), String::new()),
        };
        table.row(vec![
            Entry::text(load_text(&trial.mix)),
            Entry::text(number::count(trial.rate_per_s)),
            Entry::text(whole(trial.rate_per_s / trial.foretold_per_s())),
            Entry::text(latency),
            Entry::toned(interval, Tone::Faint),
        ]);
    }
    table.print(&mut page);
    page.finish()
}

/// A validation, answer first.
#[must_use]
pub fn validation_text(validation: &Validation, style: &Style) -> String {
    let mut page = Page::new(style);
    let summary = &validation.summary;
    let of = format!("profile {} of {}", validation.profile_id, validation.target.path);
    page.hanging(vec![Span::new("Validation: ", Tone::Strong)], &of, Tone::Plain);
    page.blank();
    let advised = summary.accuracy.iter().find(|one| one.model == summary.advised);
    let error = advised.and_then(|one| one.median_rel);
    let mut line = |label: &str, text: &str| page.labelled(&format!("  {label}"), VALUES, text);
    let latency = format!(
        "median error {} below 70 % of the largest rate, goal {}; the same loads repeat to {}",
        told(error),
        percent(summary.goal_rel),
        told(summary.repeat_rel)
    );
    line("response", &latency);
    let rate = format!(
        "median error {}, goal {}; the same loads repeat to {}",
        told(summary.max_iops_rel),
        percent(summary.max_iops_goal_rel),
        told(summary.max_iops_repeat_rel)
    );
    line("largest rate", &rate);
    match &validation.since_profile {
        Some(since) => line("since then", &since_text(since, summary)),
        None if validation.simulated => {}
        None => line(
            "since then",
            "how far the device itself has moved is not told: the profile holds too few deep loops of \
             random requests (`check --for-diagnosis` makes them); a device that moved counts as an \
             error of the models",
        ),
    }
    if let Some(within) = summary.within_interval {
        line(
            "intervals",
            &format!("{} of the measured means lie within the predicted ones", whole(within)),
        );
    }
    line(
        "goal",
        match (summary.reached, summary.as_profiled.as_ref().map(|one| one.reached)) {
            (Some(true), Some(Some(false))) => {
                "reached, for the device as it is; NOT for the device as it was profiled"
            }
            (Some(true), _) => "reached",
            (Some(false), _) => "NOT reached",
            (None, _) => "cannot be told: too few loads were measured",
        },
    );
    accuracy(&mut page, summary);
    measured(&mut page, validation);
    finding::print(&mut page, &validation.findings);
    page.blank();
    let what = if validation.simulated { "SIMULATED in virtual time; " } else { "" };
    let conditions =
        format!("{what}seed {}; halfpower {}", validation.seed, validation.halfpower_version);
    page.labelled("  conditions", VALUES, &conditions);
    page.labelled("  validation", VALUES, &validation.id);
    page.finish()
}

/// How far the device itself has moved since it was profiled, and what predictions that do not follow
/// it are off by.
fn since_text(since: &SinceProfile, summary: &ValidationSummary) -> String {
    let mut text = format!("{}, which the predictions follow", level_text(since));
    if let (Some(least), Some(most)) = (since.least_deep_ratio, since.most_deep_ratio) {
        text.push_str(&format!(
            ", visit by visit (deep ones from x {} to x {})",
            number::digits(least),
            number::digits(most)
        ));
    }
    if let Some(still) = &summary.as_profiled {
        text.push_str(&format!(
            "; as profiled, without that, they are off by {} and {}",
            told(still.latency_rel),
            told(still.max_iops_rel)
        ));
    }
    text
}

/// Rates of the profile's own loads, now over then.
fn level_text(since: &SinceProfile) -> String {
    let ratio = |value: f64, low: f64, high: f64| {
        format!("x {} ({} to {})", number::digits(value), number::digits(low), number::digits(high))
    };
    let rate = |one: &Estimate| ratio(one.value, one.low, one.high);
    let kinds = [
        ("of deep reads", &since.reads_ratio),
        ("of deep writes", &since.writes_ratio),
        ("of deep mixes beyond these", &since.mixes_ratio),
        ("of lone reads", &since.qd1_ratio),
    ];
    let told: Vec<String> = kinds
        .into_iter()
        .filter_map(|(name, estimate)| Some(format!("{name} {}", rate(estimate.as_ref()?))))
        .collect();
    let rates = (!told.is_empty()).then(|| format!("rates {}", told.join(", ")));
    let times = since.open_ratio.as_ref().map(|one| {
        let times = ratio(1.0 / one.value, 1.0 / one.high, 1.0 / one.low);
        format!("response times of light open loads {times}")
    });
    let all: Vec<String> = rates.into_iter().chain(times).collect();
    match all.is_empty() {
        true => "rates not told by so few".to_owned(),
        false => all.join("; "),
    }
}

/// Errors of all models.
fn accuracy(page: &mut Page, summary: &ValidationSummary) {
    page.heading("Models", "median error of the mean response time, by share of the largest rate");
    let mut table =
        Table::new(vec![Column::left(2), Column::right(3), Column::right(3), Column::left(2)]);
    table.titles(&["", "below 70 %", "70 % and above", ""]);
    let told = |share: Option<f64>| number::or_none(share, percent);
    for model in ModelName::ALL {
        let Some(one) = summary.accuracy.iter().find(|one| one.model == model) else { continue };
        let advised = model == summary.advised;
        let tone = if advised { Tone::Strong } else { Tone::Plain };
        table.row(vec![
            Entry::toned(model.name(), tone),
            Entry::toned(told(one.median_rel), tone),
            Entry::toned(told(one.loaded_median_rel), tone),
            Entry::text(if advised { "← advised" } else { "" }),
        ]);
    }
    table.row(vec![
        Entry::toned("repeatability", Tone::Faint),
        Entry::toned(told(summary.repeat_rel), Tone::Faint),
        Entry::toned(told(summary.loaded_repeat_rel), Tone::Faint),
    ]);
    table.print(page);
}

/// Load by load.
fn measured(page: &mut Page, validation: &Validation) {
    let visits = validation.trials.iter().map(|trial| trial.measured_max_iops.len());
    let visits = visits.max().unwrap_or(0);
    page.heading(
        "Loads",
        &format!(
            "measured twice each, in an open loop; the largest rates {visits} times, in closed ones"
        ),
    );
    let mut table = Table::new(vec![
        Column::left(2),
        Column::right(1),
        Column::right(1),
        Column::right(1),
        Column::right(1),
        Column::right(1),
    ]);
    table.titles(&["load", "of max", "measured", "repeat", "error", "max err"]);
    for trial in &validation.trials {
        let mean = trial.latency_ns();
        let signed = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
        let none = || number::NONE.to_owned();
        let error = mean.zip(trial.foretold_ns(validation.summary.advised));
        table.row(vec![
            Entry::text(load_text(&trial.mix)),
            Entry::text(whole(trial.share_of_largest())),
            Entry::text(mean.map_or_else(none, number::time)),
            Entry::toned(trial.repeat_rel.map_or_else(none, percent), Tone::Faint),
            Entry::text(error.map_or_else(none, |(mean, told)| signed(told / mean))),
            Entry::text(
                trial.largest_per_s().map_or_else(none, |max| signed(trial.foretold_per_s() / max)),
            ),
        ]);
    }
    table.print(page);
    for trial in &validation.trials {
        for reason in &trial.left_out {
            page.hanging(
                vec![Span::plain("  - ")],
                &format!("{}: {reason}", load_text(&trial.mix)),
                Tone::Faint,
            );
        }
    }
}

/// A load in few columns: `R70 8k s20 h10`.
fn load_text(mix: &Mix) -> String {
    let share = |of: &dyn Fn(&record::MixClass) -> bool| -> f64 {
        let sum: f64 = mix.classes.iter().filter(|class| of(class)).map(|class| class.share).sum();
        (sum * 100.0).round()
    };
    let mut sizes: Vec<u64> = mix.classes.iter().map(|class| class.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let of_size = |&bytes: &u64| match sizes.len() {
        1 => number::kib(bytes),
        _ => format!("{}/{}", number::kib(bytes), share(&|class| class.bytes == bytes)),
    };
    let sizes: Vec<String> = sizes.iter().map(of_size).collect();
    let mut text =
        format!("{} % read, {}", share(&|class| class.op == OpKind::Read), sizes.join(":"));
    let places = [(Locality::Sequential, "seq"), (Locality::Hit, "hit")];
    for (locality, word) in places {
        let part = share(&|class| class.locality == locality);
        if part > 0.0 {
            text.push_str(&format!(", {part} % {word}"));
        }
    }
    if text.chars().count() > LOAD_COLUMNS {
        text = text.replace(" % ", "%");
    }
    text
}
