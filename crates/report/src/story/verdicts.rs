//! What a report says of a comparison and of a diagnosis: verdicts that were reached elsewhere.
//!
//! Ratios of a comparison stand as rows around one, with the intervals that hold for the whole table
//! together. A diagnosis shows what was seen beside what the profile expects at the same moment, and
//! keeps the alternatives of each verdict next to it.

use super::{Action, Sheet, Story};
use crate::chart::{Axis, Chart, Form, Point, Rule, Series};
use crate::number;
use record::{
    ComparedMetric, ComparedVerdict, Comparison, DeviceDiagnosis, Diagnosis, Measured, Unit,
};

/// Rows of a plot of ratios.
const ROWS: usize = 40;

fn metric(metric: ComparedMetric) -> &'static str {
    match metric {
        ComparedMetric::RatePerS => "rate",
        ComparedMetric::ResponseMeanNs => "mean response",
        ComparedMetric::ResponseP99Ns => "p99",
        ComparedMetric::CpuUsPerIo => "CPU per request",
        ComparedMetric::CpuClocksPerIo => "clocks per request",
    }
}

fn verdict(verdict: ComparedVerdict) -> &'static str {
    match verdict {
        ComparedVerdict::Better => "better",
        ComparedVerdict::Worse => "worse",
        ComparedVerdict::Same => "same",
        ComparedVerdict::CannotTell => "cannot tell",
        ComparedVerdict::NotComparable => "not comparable",
    }
}

/// The story of a comparison.
pub(super) fn of_comparison(comparison: &Comparison) -> Story {
    let count = |of: ComparedVerdict| comparison.count(of);
    let mut story = Story {
        kind: "Comparison".to_owned(),
        subject: format!("{} (A) against {} (B)", comparison.a.given, comparison.b.given),
        id: comparison.id.clone(),
        simulated: comparison.a.simulated && comparison.b.simulated,
        headline: format!(
            "B is worse in {} rows, better in {}, the same in {}; {} cannot tell.",
            count(ComparedVerdict::Worse),
            count(ComparedVerdict::Better),
            count(ComparedVerdict::Same),
            count(ComparedVerdict::CannotTell)
        ),
        left_out: comparison.notes.clone(),
        ..Story::default()
    };
    for differs in &comparison.conditions {
        let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "not known".to_owned());
        story.condition(&differs.what, format!("A {}; B {}", word(&differs.a), word(&differs.b)));
    }
    let metrics = [
        ComparedMetric::RatePerS,
        ComparedMetric::ResponseMeanNs,
        ComparedMetric::ResponseP99Ns,
        ComparedMetric::CpuUsPerIo,
        ComparedMetric::CpuClocksPerIo,
    ];
    story.charts.extend(metrics.into_iter().filter_map(|which| ratios(comparison, which)));
    story.sheets.push(rows(comparison));
    story.condition("version", format!("halfpower {}", comparison.halfpower_version));
    story.condition("id", comparison.id.clone());
    story
}

fn ratios(comparison: &Comparison, which: ComparedMetric) -> Option<Chart> {
    let of_cells = comparison
        .cells
        .iter()
        .flat_map(|cell| cell.rows.iter().map(move |row| (cell.label.as_str(), row)));
    let all = comparison.overall.iter().map(|row| ("all cells together", row));
    let found: Vec<(&str, Point)> = all
        .chain(of_cells)
        .filter(|(_, row)| row.metric == which)
        .filter_map(|(label, row)| {
            let point =
                Point { low: row.ratio_low, high: row.ratio_high, ..Point::bare(row.ratio?, 0.0) };
            Some((label, point.remark(verdict(row.verdict))))
        })
        .take(ROWS)
        .collect();
    let farthest = found.iter().max_by(|a, b| a.1.x.ln().abs().total_cmp(&b.1.x.ln().abs()))?;
    let finding = format!(
        "The largest change of the {} is to {} of it: {} ({}).",
        metric(which),
        number::percent_text(farthest.1.x),
        farthest.0,
        farthest.1.remark
    );
    let names = found.iter().map(|(label, _)| (*label).to_owned()).collect();
    let ends: Vec<f64> =
        found.iter().flat_map(|(_, p)| [Some(p.x), p.low, p.high, Some(1.0)]).flatten().collect();
    let points = found.iter().enumerate().map(|(row, (_, p))| Point { y: row as f64, ..p.clone() });
    Some(Chart {
        title: format!("B over A: {}", metric(which)),
        finding,
        errors:
            "Error bars hold for all rows of the comparison together in 95 % of comparisons; rows \
                 without one cannot tell."
                .to_owned(),
        x: Axis::over("B over A", None, ends.into_iter()),
        y: Axis::named(names),
        rules: vec![Rule::upright(1.0, "no change"), Rule::upright(0.5, "half")]
            .into_iter()
            .filter(|rule| rule.at >= 1.0 || found.iter().any(|(_, p)| p.x < 0.6))
            .collect(),
        series: vec![Series::new("", Form::Marks, points.collect())],
    })
}

fn rows(comparison: &Comparison) -> Sheet {
    let columns = ["cell", "of", "A", "B", "B over A", "interval", "verdict"];
    let write = |which: ComparedMetric, value: Option<f64>| {
        let text = |value| match which {
            ComparedMetric::RatePerS => number::per_second(value),
            ComparedMetric::ResponseMeanNs | ComparedMetric::ResponseP99Ns => number::time(value),
            ComparedMetric::CpuUsPerIo => number::time(value * 1e3),
            ComparedMetric::CpuClocksPerIo => number::count(value),
        };
        value.map_or(number::NONE.to_owned(), text)
    };
    let rows = comparison.cells.iter().flat_map(|cell| {
        cell.rows.iter().map(|row| {
            let ends = row.ratio_low.zip(row.ratio_high);
            let reason = row.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            vec![
                cell.label.clone(),
                metric(row.metric).to_owned(),
                write(row.metric, row.a),
                write(row.metric, row.b),
                row.ratio.map_or(number::NONE.into(), number::digits),
                ends.map_or(number::NONE.into(), |(low, high)| {
                    format!("{} to {}", number::digits(low), number::digits(high))
                }),
                format!("{}{reason}", verdict(row.verdict)),
            ]
        })
    });
    Sheet {
        title: "All rows".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

/// The story of a diagnosis.
pub(super) fn of_diagnosis(diagnosis: &Diagnosis) -> Story {
    let mut story = Story {
        kind: "Diagnosis".to_owned(),
        subject: match &diagnosis.host {
            Some(host) => format!("{} of {host}", diagnosis.source),
            None => diagnosis.source.clone(),
        },
        id: diagnosis.id.clone(),
        findings: diagnosis.findings.clone(),
        left_out: diagnosis.left_out.clone(),
        ..Story::default()
    };
    let worst = diagnosis.devices.iter().filter_map(|device| {
        let episode = device.episodes.get(device.worst? as usize)?;
        Some(format!("{}: {}", device.device, episode.claim.trim()))
    });
    let worst: Vec<String> = worst.collect();
    story.headline = match worst.is_empty() {
        true => "Nothing is found to be wrong.".to_owned(),
        false => worst.join(" "),
    };
    for device in &diagnosis.devices {
        for remedy in &device.advice {
            let why = [
                format!("price: {}", remedy.price),
                format!("assumes: {}", remedy.assumes),
                format!("refuted by: {}", remedy.refuted_by),
            ];
            let effect = match &remedy.effect {
                Measured::Value(effect) => format!(
                    "response {} to {}. ",
                    number::time(effect.latency_before_ns),
                    number::with_interval(&effect.latency_after_ns, number::time)
                ),
                Measured::NotMeasured { not_measured } => {
                    format!("gain not predicted: {not_measured}. ")
                }
            };
            story.actions.push(Action {
                subject: device.device.clone(),
                what: remedy.action.clone(),
                why: effect + &why.join("; "),
            });
        }
        for note in &device.notes {
            story.left_out.push(format!("{}: {}", device.device, note.claim.trim()));
        }
        story.charts.extend(over_time(device));
    }
    story.sheets.push(episodes(diagnosis));
    story.condition("observation", diagnosis.observation_id.clone());
    for device in &diagnosis.devices {
        let held = match &device.profile {
            Measured::Value(profile) => {
                format!("profile {} of {}", profile.profile_id, profile.target)
            }
            Measured::NotMeasured { not_measured } => format!("no profile: {not_measured}"),
        };
        story.condition("held against", format!("{}: {held}", device.device));
    }
    story.condition("version", format!("halfpower {}", diagnosis.halfpower_version));
    story.condition("id", diagnosis.id.clone());
    story
}

/// Response times as seen and as expected.
fn over_time(device: &DeviceDiagnosis) -> Option<Chart> {
    let begin = device.series.first()?.begin_ns;
    let at = |moment: &record::Moment| {
        (moment.begin_ns - begin) as f64 + moment.duration_ns as f64 / 2.0
    };
    let seen: Vec<Point> = device
        .series
        .iter()
        .filter_map(|moment| Some(Point::bare(at(moment), moment.numbers.latency_ns?)))
        .collect();
    let expected: Vec<Point> = device
        .series
        .iter()
        .filter_map(|m| Some(Point::estimate(at(m), &m.calibrated.as_ref()?.expected_ns)))
        .collect();
    if seen.len() < 2 {
        return None;
    }
    let over: Vec<f64> = device
        .series
        .iter()
        .filter_map(|moment| Some(moment.calibrated.as_ref()?.latency_ratio))
        .collect();
    let finding = match over.is_empty() {
        true => format!("{}: what to expect is not known.", device.device),
        false => format!(
            "{}: the response time was {} times the expected one in half of the intervals or more.",
            device.device,
            number::digits(stats::median(over))
        ),
    };
    let ends: Vec<f64> =
        seen.iter().chain(&expected).flat_map(|p| [Some(p.y), p.low, p.high]).flatten().collect();
    let times: Vec<f64> = seen.iter().chain(&expected).map(|point| point.x).chain([0.0]).collect();
    Some(Chart {
        title: format!("{}: response time as seen and as expected", device.device),
        finding,
        errors: "Band: 95 % interval of what the profile expects. What is seen is counted."
            .to_owned(),
        x: Axis::over("time", Some(Unit::Nanos), times.into_iter()),
        y: Axis::decades("mean response time", Some(Unit::Nanos), ends.into_iter()),
        rules: Vec::new(),
        series: vec![
            Series::new("seen", Form::Trace, seen),
            Series::new("expected at this load", Form::Trace, expected),
        ],
    })
}

fn episodes(diagnosis: &Diagnosis) -> Sheet {
    let columns = ["device", "verdict", "share of time", "rate", "response", "why", "alternatives"];
    let rows = diagnosis.devices.iter().flat_map(|device| {
        device.episodes.iter().map(|episode| {
            let alternatives: Vec<String> = episode
                .alternatives
                .iter()
                .map(|alternative| alternative.verdict.name().replace('_', " "))
                .collect();
            vec![
                device.device.clone(),
                episode.verdict.name().replace('_', " "),
                number::percent_text(episode.share_of_time),
                number::per_second(episode.numbers.iops),
                episode.numbers.latency_ns.map_or(number::NONE.into(), number::time),
                episode.claim.clone(),
                alternatives.join(", "),
            ]
        })
    });
    Sheet {
        title: "Episodes".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}
