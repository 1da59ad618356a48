//! What is said of a run of `limits`: the path to a disk and what binds it.
//!
//! The answer is which part binds; the papers' table of advertised and real peaks follows (Chung,
//! Gray, Worthington, Horst 2000, figure 1), and under it who says the one and how the other was
//! measured, because a ratio without both is hearsay. Then the tests behind it: bus, hits, memory.
//! In the plot rates of memory and disk lie decades apart, so that the scale is logarithmic and bars
//! have no meaning; marks are used. A part without a number keeps its row.

mod tests_behind;

use crate::chart::{Axis, Chart, Form, Point, Rule, Series};
use crate::number;
use crate::story::{Alternative, Badge, Cell, Column, Story, Table, Tone, quoted};
use crate::target;
use record::{HalfPower, LimitsRun, Measured, PathComponent, Sizing, Unit};

/// The story of a run of limits.
#[must_use]
pub fn limits(run: &LimitsRun) -> Story {
    let names: Vec<String> = run.targets.iter().map(target::summary).collect();
    let mut story = Story {
        kind: "Limits".to_owned(),
        subject: names.join(" and "),
        id: run.id.clone(),
        simulated: run.simulated,
        badges: vec![binding(run)],
        findings: run.findings.clone(),
        ..Story::default()
    };
    path(&mut story, &run.components);
    sources(&mut story, &run.components);
    tests_behind::bus(&mut story, &run.bus);
    tests_behind::hits(&mut story, &run.hits);
    tests_behind::memory(&mut story, &run.memory);
    story.charts.extend(ladder(run));
    story.charts.extend(bus(run));
    let about = (run.halfpower_version.as_str(), run.time.as_deref(), run.seed);
    target::conditions(&mut story, &run.targets, run.environment.as_ref(), about);
    story.condition("trials", run.trial_ids.len().to_string());
    story.condition("device from profile", run.profile_id.clone().unwrap_or_default());
    let paths: Vec<String> = run.targets.iter().map(|target| quoted(&target.path)).collect();
    story.commands.push(format!("halfpower limits {} --seed {}", paths.join(" "), run.seed));
    story
}

/// What binds.
fn binding(run: &LimitsRun) -> Badge {
    let binding = match &run.binding {
        Measured::NotMeasured { not_measured } => {
            return Badge {
                words: "What binds is unknown".to_owned(),
                tone: Tone::Faint,
                because: not_measured.clone(),
                ..Badge::default()
            };
        }
        Measured::Value(binding) => binding,
    };
    let rate = number::with_interval(&binding.bytes_per_s, number::rate);
    let alternative = |text: &String| Alternative {
        what: "not excluded".to_owned(),
        because: text.clone(),
        how_to_check: String::new(),
    };
    Badge {
        words: match binding.names.as_slice() {
            [one] => format!("The {one} binds, at {rate}"),
            many => format!("{}, not distinguishable, binds at {rate}", many.join(" or ")),
        },
        tone: Tone::Strong,
        because: binding.because.clone(),
        alternatives: binding.alternatives.iter().map(alternative).collect(),
        ..Badge::default()
    }
}

/// The table of advertised and real peaks.
fn path(story: &mut Story, components: &[PathComponent]) {
    let section = story.section(
        "The path",
        "advertised peak (PAP) and measured rate (RAP); ½: half of PAP reached; disks: how many \
         such disks fill it by sequential reads",
    );
    let mut table = Table::new(vec![
        Column::left(""),
        Column::right("PAP"),
        Column::right("RAP"),
        Column::interval(),
        Column::right("RAP/PAP"),
        Column::left("½"),
        Column::right("disks"),
    ]);
    for component in components {
        let rap = component.rap_bytes_per_s.value();
        let bound = if component.rap_is_lower_bound { "≥ " } else { "" };
        let rate = rap.map_or_else(
            || Cell::toned("not measured", Tone::Faint),
            |rap| Cell::toned(format!("{bound}{}", number::rate(rap.value)), Tone::Strong),
        );
        let pap = component.pap.value().map(|pap| number::rate(pap.bytes_per_s));
        table.row(vec![
            component.name.as_str().into(),
            pap.unwrap_or_else(|| "unknown".to_owned()).into(),
            rate,
            rap.map(Cell::interval).unwrap_or_default(),
            component.ratio.map(|ratio| number::percent(ratio).into()).unwrap_or_default(),
            half_power(component.half_power),
            component.disks.as_ref().map(|disks| sizing(disks).into()).unwrap_or_default(),
        ]);
    }
    section.table(table);
}

fn half_power(half_power: HalfPower) -> Cell {
    match half_power {
        HalfPower::Reached => Cell::toned("yes", Tone::Good),
        HalfPower::Missed => Cell::toned("NO", Tone::Warn),
        HalfPower::CannotTell => Cell::from("inconclusive"),
        HalfPower::NotKnown => Cell::from(number::NONE),
    }
}

/// How many disks, with the sign of a part that may carry more.
fn sizing(sizing: &Sizing) -> String {
    let at_least = if sizing.at_least { "≥ " } else { "" };
    if sizing.quotient >= 99.95 {
        return format!("{at_least}{}", number::count(sizing.saturating as f64));
    }
    format!("{at_least}{:.1}", sizing.quotient)
}

/// Who says the one number and how the other was found.
fn sources(story: &mut Story, components: &[PathComponent]) {
    let section = story.section("Where the numbers come from", "");
    for component in components {
        let mut parts = vec![
            match &component.pap {
                Measured::Value(pap) => format!("PAP: {}", pap.source),
                Measured::NotMeasured { not_measured } => format!("PAP unknown: {not_measured}"),
            },
            match &component.rap_bytes_per_s {
                Measured::Value(_) => format!("RAP: {}", component.rap_method),
                Measured::NotMeasured { not_measured } => {
                    format!("RAP not measured: {not_measured}")
                }
            },
        ];
        parts.extend(component.others.iter().map(|other| {
            format!("{} {}", other.name, number::with_interval(&other.bytes_per_s, number::rate))
        }));
        section.row(&component.name, parts.join("; "));
    }
}

fn ladder(run: &LimitsRun) -> Option<Chart> {
    let (mut measured, mut advertised, mut half) = (Vec::new(), Vec::new(), Vec::new());
    for (row, component) in run.components.iter().enumerate() {
        let row = row as f64;
        if let Some(rap) = component.rap_bytes_per_s.value() {
            let remark = if component.rap_is_lower_bound { "or more" } else { "" };
            measured.push(Point {
                low: Some(rap.low),
                high: Some(rap.high),
                ..Point::bare(rap.value, row).remark(remark)
            });
        }
        if let Some(pap) = component.pap.value() {
            advertised.push(Point::bare(pap.bytes_per_s, row).remark(&pap.source));
            half.push(Point::bare(pap.bytes_per_s / 2.0, row));
        }
    }
    let reached = run.components.iter().filter(|c| c.half_power == HalfPower::Reached).count();
    let missed: Vec<&str> = run
        .components
        .iter()
        .filter(|component| component.half_power == HalfPower::Missed)
        .map(|component| component.name.as_str())
        .collect();
    let known = run.components.iter().filter(|c| c.half_power != HalfPower::NotKnown).count();
    let missed = match missed.is_empty() {
        true => String::new(),
        false => format!("; {} gives less", missed.join(", ")),
    };
    let finding = format!(
        "{reached} of the {known} parts whose two peaks are known give at least half of what is \
         advertised{missed}."
    );
    let all = measured.iter().chain(&advertised).chain(&half).map(|point| point.x);
    let x = Axis::decades(
        "bytes per second",
        Some(Unit::BytesPerSecond),
        all.collect::<Vec<_>>().into_iter(),
    );
    let chart = Chart {
        title: "The path: advertised and real peak of each part".to_owned(),
        finding,
        errors: "Error bars: 95 % confidence interval of the measured peak. What is advertised has none."
            .to_owned(),
        x,
        y: Axis::named(run.components.iter().map(|component| component.name.clone()).collect()),
        series: vec![
            Series::new("measured (RAP)", Form::Marks, measured),
            Series::new("advertised (PAP)", Form::Marks, advertised),
            Series::new("half-power line: half of the advertised", Form::Marks, half),
        ],
        rules: Vec::new(),
    };
    (!chart.is_empty()).then_some(chart)
}

/// Re-reads over the number of targets.
fn bus(run: &LimitsRun) -> Option<Chart> {
    let bus = run.bus.value()?;
    if bus.points.len() < 2 {
        return None;
    }
    let points: Vec<Point> = bus
        .points
        .iter()
        .map(|point| Point::estimate(f64::from(point.targets), &point.again_bytes_per_s))
        .collect();
    let most = points.iter().map(|point| point.y).fold(0.0, f64::max);
    let first = bus.points.first()?.again_bytes_per_s.value;
    let finding = match bus.limit_bytes_per_s.value() {
        Some(limit) => {
            format!("The sum stops growing at {}.", number::with_interval(limit, number::rate))
        }
        None => format!(
            "{} targets together read {} times what one does; that is no limit of a bus.",
            bus.points.len(),
            number::digits(most / first)
        ),
    };
    let values: Vec<f64> = points.iter().map(|point| point.x).collect();
    let highs = points.iter().filter_map(|point| point.high).collect::<Vec<f64>>();
    Some(Chart {
        title: "Re-reads of a small area on one target and on more".to_owned(),
        finding,
        errors: "Error bars: 95 % confidence interval.".to_owned(),
        x: Axis::at_values("targets at work", None, false, &values),
        y: Axis::from_zero("throughput of all", Some(Unit::BytesPerSecond), highs.into_iter()),
        rules: vec![Rule::level(most / 2.0, "half of the most")],
        series: vec![Series::new("", Form::Curve, points)],
    })
}
