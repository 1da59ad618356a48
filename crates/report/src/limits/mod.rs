//! Builds the report on a run of `limits`: the path to a disk and its bottleneck.
//!
//! The answer is the bottleneck. The papers' table of advertised and real peaks follows (Chung, Gray,
//! Worthington, Horst 2000, figure 1), with the source of the first and the measurement of the second below
//! it, because a ratio is not credible without both. Then come the supporting tests: bus and hits. In
//! the plot, the rates of memory and disk are decades apart. The scale is therefore logarithmic, on which
//! bars have no meaning, so marks are used. A part without a number keeps its row.

mod tests_behind;

use crate::chart::{Axis, Chart, Form, Point, Rule, Series, ends, xs, ys};
use crate::story::{Alternative, Badge, Cell, Story, Tone, joined, number, or_why};
use crate::target;
use record::{BusPoint, HalfPower, LimitsRun, PathComponent, Sizing, Unit, shell_word};

/// The story of a run of limits.
pub fn limits(run: &LimitsRun) -> Story {
    let mut story = Story::new("Limits", target::summaries(&run.targets), run.simulated)
        .saved(&run.id, &run.findings);
    story.badges.push(binding(run));
    story.takeaway("headroom", headroom(run));
    path(&mut story, &run.components);
    sources(&mut story, &run.components);
    tests_behind::bus(&mut story, &run.bus);
    tests_behind::hits(&mut story, &run.hits);
    story.charts.extend(ladder(run));
    story.charts.extend(bus(run));
    let about = (run.halfpower_version.as_str(), run.time.as_deref(), run.seed);
    target::conditions(&mut story, &run.targets, run.environment.as_ref(), about);
    story.condition("trials", run.trial_ids.len().to_string());
    story.condition("device from profile", run.profile_id.clone().unwrap_or_default());
    let paths = joined(&run.targets, " ", |target| shell_word(&target.path));
    story.commands.push(format!("halfpower limits {paths} --seed {}", run.seed));
    story
}

fn binding(run: &LimitsRun) -> Badge {
    let binding = match run.binding.known() {
        Ok(binding) => binding,
        Err(reason) => return Badge::new("The bottleneck is unknown", Tone::Faint, reason),
    };
    let rate = number::rate_with_interval(&binding.bytes_per_s);
    let words = match binding.names.as_slice() {
        [one] => format!("The {one} is the bottleneck, at {rate}"),
        many => format!("The bottleneck is {} (not distinguishable), at {rate}", many.join(" or ")),
    };
    let alternatives = binding.alternatives.iter().map(|text| Alternative {
        what: "not excluded".to_owned(),
        because: text.clone(),
        how_to_check: String::new(),
    });
    Badge {
        alternatives: alternatives.collect(),
        ..Badge::new(words, Tone::Strong, &binding.because)
    }
}

fn path(story: &mut Story, components: &[PathComponent]) {
    let section = story.section(
        "The path",
        "advertised peak (PAP) and measured rate (RAP); ½: half of PAP reached; disks: how many of \
         these disks saturate the part with sequential reads",
    );
    section.table(components, |t| {
        t.left("", |part| part.name.clone());
        t.right("PAP", |part| match part.pap.value() {
            Some(pap) => number::rate(pap.bytes_per_s),
            None => "unknown".to_owned(),
        });
        t.right("RAP", |part| {
            let bound = if part.rap_is_lower_bound { "≥ " } else { "" };
            match part.rap_bytes_per_s.value().map(|rap| number::rate(rap.value)) {
                None => Cell::toned("not measured", Tone::Faint),
                Some(rate) => Cell::toned(format!("{bound}{rate}"), Tone::Strong),
            }
        });
        t.interval(|part| part.rap_bytes_per_s.value().copied());
        t.right("RAP/PAP", |part| Cell::or_empty(part.ratio, number::percent));
        t.left("½", |part| match part.half_power {
            HalfPower::Reached => Cell::toned("yes", Tone::Good),
            HalfPower::Missed => Cell::toned("NO", Tone::Warn),
            HalfPower::CannotTell => Cell::from("inconclusive"),
            HalfPower::NotKnown => Cell::from(number::NONE),
        });
        t.right("disks", |part| Cell::or_empty(part.disks.as_ref(), sizing));
    });
}

fn sizing(sizing: &Sizing) -> String {
    let at_least = if sizing.at_least { "≥ " } else { "" };
    if sizing.quotient >= 99.95 {
        return format!("{at_least}{}", number::count(sizing.saturating as f64));
    }
    format!("{at_least}{:.1}", sizing.quotient)
}

/// The source of the advertised number and the method for the measured one.
fn sources(story: &mut Story, components: &[PathComponent]) {
    let section = story.section("Where the numbers come from", "").supporting();
    for component in components {
        let PathComponent { pap, rap_bytes_per_s: rap, rap_method, .. } = component;
        let pap = or_why(pap, "PAP unknown", |pap| format!("PAP: {}", pap.source));
        let rap = or_why(rap, "RAP not measured", |_| format!("RAP: {rap_method}"));
        let others = component.others.iter().map(|other| {
            format!("{} {}", other.name, number::rate_with_interval(&other.bytes_per_s))
        });
        let parts = [pap, rap].into_iter().chain(others);
        section.row(&component.name, joined(parts, "; ", |part| part));
    }
}

fn ladder(run: &LimitsRun) -> Option<Chart> {
    let (mut measured, mut advertised, mut half) = (Vec::new(), Vec::new(), Vec::new());
    for (row, component) in run.components.iter().enumerate() {
        let row = row as f64;
        if let Some(rap) = component.rap_bytes_per_s.value() {
            let remark = if component.rap_is_lower_bound { "or more" } else { "" };
            measured.push(Point::estimate(row, rap).across().remark(remark));
        }
        if let Some(pap) = component.pap.value() {
            advertised.push(Point::bare(pap.bytes_per_s, row).remark(&pap.source));
            half.push(Point::bare(pap.bytes_per_s / 2.0, row));
        }
    }
    let of = |wanted: fn(HalfPower) -> bool| {
        run.components.iter().filter(move |component| wanted(component.half_power))
    };
    let missed = joined(of(|it| it == HalfPower::Missed), ", ", |component| component.name.clone());
    let missed = if missed.is_empty() { missed } else { format!("; {missed} reaches less") };
    let reached = of(|it| it == HalfPower::Reached).count();
    let finding = match of(|it| it != HalfPower::NotKnown).count() {
        0 => "No part has both an advertised and a measured peak, so no half-power line is drawn."
            .to_owned(),
        known => format!(
            "{reached} of the {known} parts with both peaks known reach at least half of the advertised \
             peak{missed}."
        ),
    };
    let series = vec![
        Series::new("measured (RAP)", Form::Marks, measured),
        Series::new("advertised (PAP)", Form::Marks, advertised),
        Series::new("half-power line: half the advertised peak", Form::Marks, half),
    ];
    let x = Axis::decades("bytes per second", Some(Unit::BytesPerSecond), xs(&series));
    let y = Axis::named(run.components.iter().map(row_name).collect());
    Chart::new("The path: advertised and real peak of each part", finding, (x, y), series)
        .errors("Error bars: 95 % confidence interval of the measured peak. Advertised rates have none.")
        .unless_empty()
}

/// The limit of the next bottleneck, relative to the present one; empty if either is unknown.
fn headroom(run: &LimitsRun) -> String {
    let Some(binding) = run.binding.value() else { return String::new() };
    let others = run.components.iter().filter(|component| !binding.names.contains(&component.name));
    let others = others.filter_map(|it| Some((&it.name, it.rap_bytes_per_s.value()?.value)));
    let next = others.min_by(|(_, a), (_, b)| a.total_cmp(b));
    next.map_or_else(String::new, |(name, rate)| {
        let times = number::digits(rate / binding.bytes_per_s.value);
        let next = "would be the next bottleneck among the measured parts";
        format!("{name} {next}, at {times} times the rate")
    })
}

/// The name of a part, with a note if nothing about it was measured.
fn row_name(component: &PathComponent) -> String {
    let known = component.rap_bytes_per_s.value().is_some() || component.pap.value().is_some();
    let unknown = if known { "" } else { ": not measured" };
    format!("{}{unknown}", component.name)
}

fn bus(run: &LimitsRun) -> Option<Chart> {
    let bus = run.bus.value().filter(|bus| bus.points.len() > 1)?;
    let point = |it: &BusPoint| Point::estimate(f64::from(it.targets), &it.again_bytes_per_s);
    let series = vec![Series::new("", Form::Curve, bus.points.iter().map(point).collect())];
    let most = ys(&series).fold(0.0, f64::max);
    let first = bus.points.first()?.again_bytes_per_s.value;
    let (all, times) = (bus.points.len(), number::digits(most / first));
    let finding = match bus.limit_bytes_per_s.value().map(number::rate_with_interval) {
        Some(limit) => format!(
            "The combined rate of re-reads stops growing at {limit}, the limit of bus and controller."
        ),
        None => format!(
            "{all} targets together read {times} times as fast as one, so no bus limit is visible."
        ),
    };
    let x = Axis::at_values("targets at work", None, false, xs(&series));
    let y = Axis::from_zero("throughput of all", Some(Unit::BytesPerSecond), ends(&series));
    let title = "Re-reads of a small area on one and on several targets";
    let chart = Chart::new(title, finding, (x, y), series);
    let half = Rule::level(most / 2.0, "half of the maximum");
    Some(chart.errors("Error bars: 95 % confidence interval.").rules([half]))
}
