//! What a report says of a run of `limits` and of a zone map.
//!
//! The path is drawn as the papers drew it (Chung, Gray, Worthington, Horst 2000, figure 1): each
//! component with its advertised and its measured peak, and half of what is advertised. Rates of
//! memory and disk lie decades apart, so that the scale is logarithmic and bars have no meaning;
//! marks are used. A component without a number keeps its row.

use super::{Action, Sheet, Story, quoted};
use crate::chart::{Axis, Chart, Form, Point, Rule, Series};
use crate::{number, target};
use record::{HalfPower, LimitsRun, Measured, Severity, Unit, ZoneMap, format_bytes};

/// The story of a run of `limits`.
pub(super) fn of_limits(run: &LimitsRun) -> Story {
    let names: Vec<String> = run.targets.iter().map(target::summary).collect();
    let mut story = Story {
        kind: "Limits".to_owned(),
        subject: names.join(" and "),
        id: run.id.clone(),
        simulated: run.simulated,
        findings: run.findings.clone(),
        ..Story::default()
    };
    match &run.binding {
        Measured::Value(binding) => {
            let rate = number::with_interval(&binding.bytes_per_s, number::rate);
            story.headline =
                format!("{} binds, at {rate}: {}", binding.names.join(" or "), binding.because);
            for alternative in &binding.alternatives {
                story.left_out.push(format!("Not excluded: {alternative}"));
            }
        }
        Measured::NotMeasured { not_measured } => {
            story.headline = format!("What binds is not known: {not_measured}.");
        }
    }
    story.charts.extend(ladder(run));
    story.charts.extend(bus(run));
    story.sheets.push(components(run));
    actions(&mut story);
    let about = (run.halfpower_version.as_str(), run.time.as_deref(), run.seed);
    story.usual_conditions(&run.targets, run.environment.as_ref(), about);
    let paths: Vec<String> = run.targets.iter().map(|target| quoted(&target.path)).collect();
    story.commands.push(format!("halfpower limits {} --seed {}", paths.join(" "), run.seed));
    story
}

/// What warnings say is to be done.
fn actions(story: &mut Story) {
    let warnings = story
        .findings
        .iter()
        .filter(|finding| finding.severity > Severity::Info && !finding.remedy.trim().is_empty());
    let actions = warnings.map(|finding| Action {
        subject: String::new(),
        what: finding.remedy.trim().to_owned(),
        why: finding.claim.trim().to_owned(),
    });
    story.actions = actions.collect();
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

fn components(run: &LimitsRun) -> Sheet {
    let columns = ["part", "advertised", "measured", "ratio", "half-power", "disks that fill it"];
    let rows = run.components.iter().map(|component| {
        let missing = |reason: Option<&str>| reason.unwrap_or_default().to_owned();
        let half = match component.half_power {
            HalfPower::Reached => "reached",
            HalfPower::Missed => "missed",
            HalfPower::CannotTell => "cannot tell",
            HalfPower::NotKnown => "not known",
        };
        vec![
            component.name.clone(),
            component.pap.value().map_or_else(
                || missing(component.pap.reason()),
                |pap| number::rate(pap.bytes_per_s),
            ),
            component.rap_bytes_per_s.value().map_or_else(
                || missing(component.rap_bytes_per_s.reason()),
                |rap| number::with_interval(rap, number::rate),
            ),
            component.ratio.map_or(number::NONE.into(), number::digits),
            half.to_owned(),
            component.disks.as_ref().map_or(number::NONE.into(), |disks| {
                let more = if disks.at_least { " or more" } else { "" };
                format!("{}{more}", disks.saturating)
            }),
        ]
    });
    Sheet {
        title: "Parts of the path".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

/// The story of a zone map.
pub(super) fn of_zones(map: &ZoneMap) -> Story {
    let mut story = Story {
        kind: "Zones".to_owned(),
        subject: target::summary(&map.target),
        id: map.id.clone(),
        simulated: map.simulated,
        findings: map.findings.clone(),
        ..Story::default()
    };
    let mean = number::with_interval(&map.mean_bytes_per_s, number::rate);
    story.headline = match map.bands.len() {
        0 | 1 => format!("No zones: {mean} everywhere, as far as the noise allows to tell."),
        bands => format!(
            "{bands} zones; the innermost is {} slower than the outermost.",
            match &map.inner_loss {
                Measured::Value(loss) => number::percent_text(loss.value),
                Measured::NotMeasured { not_measured } => format!("(not measured: {not_measured})"),
            }
        ),
    };
    story.fact("mean", mean);
    if let Measured::Value(lowest) = &map.lowest {
        let rate = number::with_interval(&lowest.bytes_per_s, number::rate);
        story.fact(format!("slowest, at {}", format_bytes(lowest.offset_bytes.0)), rate);
    }
    story.charts.extend(zone_map(map));
    actions(&mut story);
    let about = (map.halfpower_version.as_str(), map.time.as_deref(), map.seed);
    story.usual_conditions(std::slice::from_ref(&map.target), map.environment.as_ref(), about);
    let asked = format!("{} requests, depth {}", format_bytes(map.request_bytes.0), map.depth);
    story.condition("read with", asked);
    let path = quoted(&map.target.path);
    story.commands.push(format!("halfpower zones {path} --seed {}", map.seed));
    story
}

fn zone_map(map: &ZoneMap) -> Option<Chart> {
    let offset = |bytes: record::Bytes| bytes.0 as f64;
    let points: Vec<Point> = map
        .positions
        .iter()
        .map(|position| Point::estimate(offset(position.offset_bytes), &position.bytes_per_s))
        .collect();
    let most = points.iter().map(|point| point.y).fold(0.0, f64::max);
    let step =
        offset(map.positions.get(1)?.offset_bytes) - offset(map.positions.first()?.offset_bytes);
    let bands = map.bands.iter().flat_map(|band| {
        let end =
            map.positions.get(band.last as usize).map_or(0.0, |p| offset(p.offset_bytes)) + step;
        let at = |x: f64| Point::estimate(x, &band.bytes_per_s);
        [at(offset(band.offset_bytes)), at(end)]
    });
    let finding = match map.bands.as_slice() {
        [] | [_] => format!(
            "No step is found: by chance one would be seen in {} of maps without any.",
            number::percent_text(map.false_alarm_share)
        ),
        [first, .., last] => format!(
            "{} zones, from {} at the beginning to {} at the end (chance: {}).",
            map.bands.len(),
            number::rate(first.bytes_per_s.value),
            number::rate(last.bytes_per_s.value),
            number::digits(map.p_value)
        ),
    };
    let highs: Vec<f64> = points.iter().filter_map(|point| point.high).collect();
    let bands = Series::new("zones", Form::Trace, bands.collect());
    let x =
        Axis::over("position", Some(Unit::Bytes), points.iter().chain(&bands.points).map(|p| p.x));
    Some(Chart {
        title: "Throughput against position".to_owned(),
        finding,
        errors: "Error bars and bands: 95 % confidence interval over the passes.".to_owned(),
        x,
        y: Axis::from_zero("throughput", Some(Unit::BytesPerSecond), highs.into_iter()),
        rules: vec![Rule::level(most / 2.0, "half of the most measured")],
        series: vec![Series::new("positions", Form::Marks, points), bands],
    })
}
