//! What is said of a validation.
//!
//! A validation shows its predictions before it measures, and its errors beside the repeatability,
//! because no prediction can be nearer to a measurement than the next measurement is.

use crate::number;
use crate::story::{Badge, Cell, Column, Story, Table, Tone};
use record::{
    Estimate, Locality, Mix, ModelName, OpKind, SinceProfile, Validation, ValidationSummary,
    ValidationTrial,
};

/// Columns of a load in the table of a validation.
const LOAD_COLUMNS: usize = 34;

/// The predictions of a validation, before any of it is measured.
#[must_use]
pub fn predicted(trials: &[ValidationTrial], since: Option<&SinceProfile>) -> Story {
    let mut story = Story {
        kind: "Predicted".to_owned(),
        subject: "before any of it is measured; mean latency".to_owned(),
        ..Story::default()
    };
    if let Some(since) = since {
        story.condition(
            "device now, over when it was profiled",
            format!("{}; the predictions follow that before each visit", level_text(since)),
        );
    }
    let mut table = Table::new(vec![
        Column::left("load"),
        Column::of("iops"),
        Column::right("of max"),
        Column::of("latency_mean_ns").gap(1),
        Column::right("95 % interval"),
    ]);
    for trial in trials {
        let one = trial.prediction.as_ref();
        let predicted = one.zip(one.and_then(|one| trial.foretold_ns(one.model)));
        let (latency, interval) = match predicted {
            Some((one, latency_ns)) => {
                let now = one.latency_ns.scaled(latency_ns / one.latency_ns.value);
                let [low, high] = [now.low, now.high].map(number::time);
                (number::time(latency_ns), format!("{low}–{high}"))
            }
            None => ("too much".to_owned(), String::new()),
        };
        table.row(vec![
            load_text(&trial.mix).into(),
            number::count(trial.rate_per_s).into(),
            number::percent(trial.rate_per_s / trial.foretold_per_s()).into(),
            latency.into(),
            Cell::toned(interval, Tone::Faint),
        ]);
    }
    story.section("", "").table(table);
    story
}

/// The story of a validation.
#[must_use]
pub fn validation(validation: &Validation) -> Story {
    let summary = &validation.summary;
    let mut story = Story {
        kind: "Validation".to_owned(),
        subject: format!("profile {} of {}", validation.profile_id, validation.target.path),
        id: validation.id.clone(),
        simulated: validation.simulated,
        badges: vec![goal(summary)],
        findings: validation.findings.clone(),
        ..Story::default()
    };
    let advised = summary.accuracy.iter().find(|one| one.model == summary.advised);
    let latency = format!(
        "median error {} below 70 % of the max IOPS, goal {}; the same loads repeat to {}",
        known(advised.and_then(|one| one.median_rel)),
        error(summary.goal_rel),
        known(summary.repeat_rel)
    );
    story.fact("latency", latency);
    let rate = format!(
        "median error {}, goal {}; the same loads repeat to {}",
        known(summary.max_iops_rel),
        error(summary.max_iops_goal_rel),
        known(summary.max_iops_repeat_rel)
    );
    story.fact("max IOPS", rate);
    if let Some(within) = summary.within_interval {
        let within = number::percent(within);
        story.fact("error bars", format!("{within} of the measured means lie within them"));
    }
    match &validation.since_profile {
        Some(since) => story.fact("since the profile", since_text(since, summary)),
        None if validation.simulated => {}
        None => story.fact(
            "since the profile",
            "unknown: the profile holds too few deep loops of random requests (`check \
             --for-diagnosis` makes them); a device that changed counts as an error of the models",
        ),
    }
    accuracy(&mut story, summary);
    measured(&mut story, validation);
    story.condition("seed", validation.seed.to_string());
    story.condition("version", format!("halfpower {}", validation.halfpower_version));
    story.condition("id", &validation.id);
    story
}

/// Whether the goal was reached.
fn goal(summary: &ValidationSummary) -> Badge {
    let (words, tone) = match (summary.reached, summary.as_profiled.as_ref().map(|one| one.reached))
    {
        (Some(true), Some(Some(false))) => (
            "Goal reached for the device as it is; NOT for the device as it was profiled",
            Tone::Warn,
        ),
        (Some(true), _) => ("Goal reached", Tone::Good),
        (Some(false), _) => ("Goal NOT reached", Tone::Bad),
        (None, _) => ("Goal: inconclusive, too few loads were measured", Tone::Faint),
    };
    Badge { words: words.to_owned(), tone, ..Badge::default() }
}

/// A share, where there is one.
fn known(share: Option<f64>) -> String {
    share.map_or_else(|| "not measured".to_owned(), error)
}

/// An error as a share of the value; a factor where it is many times that.
pub(crate) fn error(share: f64) -> String {
    if share >= 9.995 { format!("{share:.0} x") } else { number::percent(share) }
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
            known(still.latency_rel),
            known(still.max_iops_rel)
        ));
    }
    text
}

/// Rates of the profile's own loads, now over then.
pub(crate) fn level_text(since: &SinceProfile) -> String {
    let ratio = |value: f64, low: f64, high: f64| {
        format!("x {} ({} to {})", number::digits(value), number::digits(low), number::digits(high))
    };
    let rate = |one: &Estimate| ratio(one.value, one.low, one.high);
    let kinds = [
        ("of deep reads", &since.reads_ratio),
        ("of deep writes", &since.writes_ratio),
        ("of deep mixes beyond these", &since.mixes_ratio),
        ("of reads at QD 1", &since.qd1_ratio),
    ];
    let rates: Vec<String> = kinds
        .into_iter()
        .filter_map(|(name, estimate)| Some(format!("{name} {}", rate(estimate.as_ref()?))))
        .collect();
    let rates = (!rates.is_empty()).then(|| format!("rates {}", rates.join(", ")));
    let times = since.open_ratio.as_ref().map(|one| {
        let times = ratio(1.0 / one.value, 1.0 / one.high, 1.0 / one.low);
        format!("latencies of light open loads {times}")
    });
    let all: Vec<String> = rates.into_iter().chain(times).collect();
    match all.is_empty() {
        true => "rates unknown: too few loads".to_owned(),
        false => all.join("; "),
    }
}

/// Errors of all models.
fn accuracy(story: &mut Story, summary: &ValidationSummary) {
    let mut table = Table::new(vec![
        Column::left(""),
        Column::right("below 70 %").gap(3),
        Column::right("70 % and above").gap(3),
        Column::left(""),
    ]);
    let text = |share: Option<f64>| number::or_none(share, error);
    for model in ModelName::ALL {
        let Some(one) = summary.accuracy.iter().find(|one| one.model == model) else { continue };
        let advised = model == summary.advised;
        let tone = if advised { Tone::Strong } else { Tone::Plain };
        table.row(vec![
            Cell::toned(model.name(), tone),
            Cell::toned(text(one.median_rel), tone),
            Cell::toned(text(one.loaded_median_rel), tone),
            if advised { "← advised".into() } else { Cell::default() },
        ]);
    }
    table.row(vec![
        Cell::toned("repeatability", Tone::Faint),
        Cell::toned(text(summary.repeat_rel), Tone::Faint),
        Cell::toned(text(summary.loaded_repeat_rel), Tone::Faint),
    ]);
    let remark = "median error of the mean latency, by share of the max IOPS";
    story.section("Models", remark).table(table);
}

/// Load by load.
fn measured(story: &mut Story, validation: &Validation) {
    let visits = validation.trials.iter().map(|trial| trial.measured_max_iops.len());
    let visits = visits.max().unwrap_or(0);
    let remark = format!(
        "measured twice each, in an open loop; the max IOPS {visits} times, in closed ones"
    );
    let section = story.section("Loads", &remark);
    let mut table = Table::new(vec![
        Column::left("load"),
        Column::right("of max").gap(1),
        Column::right("measured").gap(1),
        Column::right("repeat").gap(1),
        Column::right("error").gap(1),
        Column::right("max err").gap(1),
    ]);
    for trial in &validation.trials {
        let mean = trial.latency_ns();
        let off = mean.zip(trial.foretold_ns(validation.summary.advised));
        let largest = trial.largest_per_s();
        table.row(vec![
            load_text(&trial.mix).into(),
            number::percent(trial.share_of_largest()).into(),
            Cell::or_none(mean, number::time),
            Cell::toned(number::or_none(trial.repeat_rel, error), Tone::Faint),
            Cell::or_none(off, |(mean, predicted)| number::change(predicted / mean)),
            Cell::or_none(largest, |max| number::change(trial.foretold_per_s() / max)),
        ]);
    }
    section.table(table);
    for trial in &validation.trials {
        for reason in &trial.left_out {
            section.item(format!("{}: {reason}", load_text(&trial.mix)));
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
