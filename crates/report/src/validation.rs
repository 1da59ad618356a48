//! Builds the report on a validation.
//!
//! A validation shows its predictions before it measures. It shows its errors next to the repeatability,
//! because no prediction can be closer to a measurement than the next measurement is.

use crate::chart::{Axis, Chart, Form, Point, Rule, Series, ends, xs};
use crate::story::{Badge, Cell, Story, Tone, joined, number};
use record::{
    Estimate, Locality, Mix, ModelName, OpKind, SinceProfile, Unit, Validation, ValidationSummary,
    ValidationTrial,
};

/// Width of the load column in the table of a validation.
const LOAD_COLUMNS: usize = 34;

/// The predictions of a validation before any measurement.
pub fn predicted(trials: &[ValidationTrial], since: Option<&SinceProfile>) -> Story {
    let subject = "predicted before any measurement; mean latency";
    let mut story = Story::new("Predicted", subject, false);
    if let Some(since) = since {
        let level = level_text(since);
        let text = format!("{level}; predictions are adjusted for this change before each visit");
        story.condition("device now, relative to the profile", text);
    }
    let latency = |trial: &ValidationTrial| -> Option<Estimate> {
        let one = trial.prediction.as_ref()?;
        Some(one.latency_ns.scaled(trial.foretold_ns(one.model)? / one.latency_ns.value))
    };
    story.section("", "").table(trials, |t| {
        t.left("load", |trial| load_text(&trial.mix));
        t.of("iops", |trial| trial.rate_per_s);
        t.right("of max", |trial| number::percent(trial.rate_per_s / trial.foretold_per_s()));
        t.titled("latency_mean_ns", |trial| match latency(trial) {
            Some(latency) => number::time(latency.value),
            None => "too much".to_owned(),
        })
        .gap(1);
        t.right("95 % interval", |trial| {
            let ends = latency(trial);
            let ends = ends.map(|it| format!("{}–{}", number::time(it.low), number::time(it.high)));
            Cell::toned(ends.unwrap_or_default(), Tone::Faint)
        });
    });
    story
}

/// The story of a validation.
pub fn validation(validation: &Validation) -> Story {
    let summary = &validation.summary;
    let subject = format!("profile {} of {}", validation.profile_id, validation.target.path);
    let mut story = Story::new("Validation", subject, validation.simulated)
        .saved(&validation.id, &validation.findings);
    story.badges.push(goal(summary));
    let advised = summary.accuracy.iter().find(|one| one.model == summary.advised);
    let median = advised.and_then(|one| one.median_rel);
    for (name, off, below, goal, repeat) in [
        ("latency", median, " below 70 % of the max IOPS", summary.goal_rel, summary.repeat_rel),
        (
            "max IOPS",
            summary.max_iops_rel,
            "",
            summary.max_iops_goal_rel,
            summary.max_iops_repeat_rel,
        ),
    ] {
        let (off, goal, repeat) = (known(off), error(goal), known(repeat));
        let text =
            format!("median error {off}{below}, goal {goal}; repeated loads differ by {repeat}");
        story.fact(name, text);
    }
    if let Some(within) = summary.within_interval {
        let within = number::percent(within);
        story.fact("error bars", format!("they contain {within} of the measured means"));
    }
    match &validation.since_profile {
        Some(since) => story.fact("since the profile", since_text(since, summary)),
        None if validation.simulated => {}
        None => story.fact(
            "since the profile",
            "unknown: the profile has too few random loads at high queue depth (`check \
             --for-diagnosis` measures them); if the device has changed, the models' errors \
             include that",
        ),
    }
    let nearest = summary.accuracy.iter().filter_map(|one| Some((one, one.median_rel?)));
    if let Some((one, median)) = nearest.min_by(|(_, a), (_, b)| a.total_cmp(b)) {
        let text = format!("\"{}\", with a median error of {}", one.model.name(), error(median));
        story.takeaway("nearest model", text);
    }
    if let Some(repeat) = summary.repeat_rel {
        let text = format!("the same loads differ by {} from visit to visit", error(repeat));
        story.takeaway("no model can be more accurate", text);
    }
    story.charts.extend(errors(validation));
    accuracy(&mut story, summary);
    measured(&mut story, validation);
    story.condition("seed", validation.seed.to_string());
    story.written_by(&validation.halfpower_version);
    story
}

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
    Badge::new(words, tone, "")
}

fn known(share: Option<f64>) -> String {
    share.map_or_else(|| "not measured".to_owned(), error)
}

/// An error as a share of the value, or as a factor if it is many times the value.
pub(crate) fn error(share: f64) -> String {
    if share >= 9.995 { format!("{share:.0} x") } else { number::percent(share) }
}

/// The change of the device since its profile was made, and the error of predictions that do not
/// account for it.
fn since_text(since: &SinceProfile, summary: &ValidationSummary) -> String {
    let mut text = format!("{}, which the predictions follow", level_text(since));
    if let (Some(least), Some(most)) = (since.least_deep_ratio, since.most_deep_ratio) {
        let (least, most) = (number::digits(least), number::digits(most));
        text.push_str(&format!(", visit by visit (rates at high QD from x {least} to x {most})"));
    }
    if let Some(still) = &summary.as_profiled {
        let (latency, rate) = (known(still.latency_rel), known(still.max_iops_rel));
        let off = format!("; without the correction the errors are {latency} and {rate}");
        text.push_str(&off);
    }
    text
}

/// Ratio of the rates of the profile's own loads, now to then.
pub(crate) fn level_text(since: &SinceProfile) -> String {
    let ratio = |one: &Estimate| format!("x {}", number::with_range(one, number::digits));
    let kinds = [
        ("of reads at high QD", &since.reads_ratio),
        ("of writes at high QD", &since.writes_ratio),
        ("of further mixes at high QD", &since.mixes_ratio),
        ("of reads at QD 1", &since.qd1_ratio),
    ];
    let known = kinds.into_iter().filter_map(|(name, one)| Some((name, one.as_ref()?)));
    let rates = joined(known, ", ", |(name, one)| format!("{name} {}", ratio(one)));
    let rates = (!rates.is_empty()).then(|| format!("rates {rates}"));
    let times = since.open_ratio.map(|one| {
        let times = Estimate::spanning(1.0 / one.value, 1.0 / one.high, 1.0 / one.low, one.n);
        format!("latencies of light open loads {}", ratio(&times))
    });
    match joined(rates.into_iter().chain(times), "; ", |text| text) {
        nothing if nothing.is_empty() => "rates unknown: too few loads".to_owned(),
        all => all,
    }
}

fn accuracy(story: &mut Story, summary: &ValidationSummary) {
    let known = ModelName::ALL.into_iter().filter_map(|model| {
        let one = summary.accuracy.iter().find(|one| one.model == model)?;
        let tone = if model == summary.advised { Tone::Strong } else { Tone::Plain };
        Some((model.name(), one.median_rel, one.loaded_median_rel, tone))
    });
    let repeats = ("repeatability", summary.repeat_rel, summary.loaded_repeat_rel, Tone::Faint);
    let text = |share: &Option<f64>, tone: Tone| Cell::toned(number::or_none(*share, error), tone);
    let remark = "median error of the mean latency, by share of the max IOPS";
    story.section("Models", remark).table(known.chain([repeats]), |t| {
        t.left("", |row| Cell::toned(row.0, row.3));
        t.right("below 70 %", |row| text(&row.1, row.3)).gap(3);
        t.right("70 % and above", |row| text(&row.2, row.3)).gap(3);
        t.left("", |row| if row.3 == Tone::Strong { "← advised" } else { "" });
    });
}

fn measured(story: &mut Story, validation: &Validation) {
    let visits = validation.trials.iter().map(|trial| trial.measured_max_iops.len());
    let visits = visits.max().unwrap_or(0);
    let remark = format!(
        "each load measured twice in an open loop, and its max IOPS {visits} times in a closed loop"
    );
    let section = story.section("Loads", &remark);
    let off = |trial: &ValidationTrial| {
        Some(trial.foretold_ns(validation.summary.advised)? / trial.latency_ns()?)
    };
    let max_off = |trial: &ValidationTrial| Some(trial.foretold_per_s() / trial.largest_per_s()?);
    section.table(&validation.trials, |t| {
        t.left("load", |trial| load_text(&trial.mix));
        t.right("of max", |trial| number::percent(trial.share_of_largest())).gap(1);
        t.right("measured", |trial| Cell::or_none(trial.latency_ns(), number::time)).gap(1);
        let repeat = |trial: &ValidationTrial| number::or_none(trial.repeat_rel, error);
        t.right("repeat", |trial| Cell::toned(repeat(trial), Tone::Faint)).gap(1);
        t.right("error", |trial| Cell::or_none(off(trial), number::change)).gap(1);
        t.right("max err", |trial| Cell::or_none(max_off(trial), number::change)).gap(1);
    });
    for trial in &validation.trials {
        for reason in &trial.left_out {
            section.item(format!("{}: {reason}", load_text(&trial.mix)));
        }
    }
}

/// Predicted over measured latency of each load, against the utilization of the device.
fn errors(validation: &Validation) -> Option<Chart> {
    let advised = validation.summary.advised;
    let points = validation.trials.iter().filter_map(|trial| {
        let ratio = trial.foretold_ns(advised)? / trial.latency_ns()?;
        Some(Point::bare(trial.share_of_largest(), ratio).remark(load_text(&trial.mix)))
    });
    let mut points: Vec<Point> = points.collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let goal = validation.summary.goal_rel;
    let within = points.iter().filter(|point| (point.y - 1.0).abs() <= goal).count();
    let (all, share) = (points.len(), number::percent(goal));
    let finding =
        format!("{within} of {all} latencies were predicted within {share} of the measurement.");
    let (inside, outside) =
        points.into_iter().partition(|point: &Point| (point.y - 1.0).abs() <= goal);
    let series = vec![
        Series::new("within the goal", Form::Marks, inside).toned(Tone::Good),
        Series::new("beyond the goal", Form::Marks, outside).toned(Tone::Bad),
    ];
    let x = Axis::from_zero("of the maximum rate", Some(Unit::Share), xs(&series));
    let y = Axis::ratios("predicted over measured", ends(&series));
    Chart::new("Predicted relative to measured latency", finding, (x, y), series)
        .errors("Each point is one load, averaged over its visits; 1 means no error.")
        .rules([Rule::level(1.0, "no error")])
        .unless_empty()
}

/// A load in few columns: `70 % read, 8, 20 % seq`.
fn load_text(mix: &Mix) -> String {
    let percent = |of: &dyn Fn(&record::MixClass) -> bool| (mix.share(of) * 100.0).round();
    let sizes = mix.sizes();
    let sizes_text = joined(&sizes, ":", |&bytes| match sizes.len() {
        1 => number::kib(bytes),
        _ => format!("{}/{}", number::kib(bytes), percent(&|class| class.bytes == bytes)),
    });
    let mut text = format!("{} % read, {sizes_text}", percent(&|class| class.op == OpKind::Read));
    for (locality, word) in [(Locality::Sequential, "seq"), (Locality::Hit, "hit")] {
        let part = percent(&|class| class.locality == locality);
        text.extend((part > 0.0).then(|| format!(", {part} % {word}")));
    }
    match text.chars().count() > LOAD_COLUMNS {
        true => text.replace(" % ", "%"),
        false => text,
    }
}
