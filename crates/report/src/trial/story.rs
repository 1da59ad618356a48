//! What a report says of one trial.

use super::{command, directions, workload_text};
use crate::chart::{Axis, Chart, Form, Point, Rule, Series};
use crate::set::{distribution, latency_over_time, rate_over_time};
use crate::story::{Action, Story};
use crate::{number, target};
use record::{ComponentUse, Trial, Unit};

/// Share of time in use from which on a component is taken for the one that binds.
const BINDING: f64 = 0.9;

/// The story of a trial.
pub(crate) fn story(trial: &Trial) -> Story {
    let names: Vec<String> = trial.targets.iter().map(target::summary).collect();
    let mut story = Story {
        kind: "Trial".to_owned(),
        subject: format!("{} on {}", workload_text(&trial.workload), names.join(" and ")),
        id: trial.id.clone(),
        simulated: trial.simulated,
        headline: headline(trial),
        findings: trial.findings.clone(),
        ..Story::default()
    };
    facts(&mut story, trial);
    for finding in trial.findings.iter().filter(|f| f.severity > record::Severity::Info) {
        if !finding.remedy.trim().is_empty() {
            story.actions.push(Action {
                subject: String::new(),
                what: finding.remedy.trim().to_owned(),
                why: finding.claim.trim().to_owned(),
            });
        }
    }
    let named: Vec<(String, &record::HistogramSnapshot)> = directions(trial)
        .map(|(name, direction)| (format!("{name}s"), &direction.histogram))
        .collect();
    story.charts.extend(distribution(&named));
    let alone = [(String::new(), trial)];
    story.charts.extend(rate_over_time(&alone));
    story.charts.extend(latency_over_time(&alone));
    story.charts.extend(components(&trial.result.components));
    let about = (trial.halfpower_version.as_str(), trial.time.as_deref(), trial.seed);
    story.usual_conditions(&trial.targets, trial.environment.as_ref(), about);
    story.condition("cell", trial.cell.clone());
    story.commands.push(command(trial));
    story
}

fn headline(trial: &Trial) -> String {
    let said: Vec<String> = directions(trial)
        .map(|(name, direction)| {
            let rate = number::per_second(direction.iops);
            let interval = number::interval_text(direction.iops_ci95_rel);
            let latency = direction.latency_ns.as_ref().map_or(String::new(), |times| {
                format!(", mean response {}", number::time(times.mean))
            });
            format!("{name}s {rate}{interval} ({}){latency}", number::rate(direction.bytes_per_s))
        })
        .collect();
    match said.is_empty() {
        true => "Nothing was measured.".to_owned(),
        false => crate::profile::sentence(&said),
    }
}

fn facts(story: &mut Story, trial: &Trial) {
    for (name, direction) in directions(trial) {
        if let Some(times) = &direction.latency_ns {
            let known = [("median", times.p50), ("p99", times.p99), ("p99.9", times.p99_9)];
            for (what, time) in known {
                if let Some(time) = time {
                    story.fact(format!("{name} {what}"), number::time(time));
                }
            }
            story.fact(format!("longest {name}"), number::time(times.max as f64));
        }
        if direction.errors + direction.short > 0 {
            let bad = direction.errors + direction.short;
            story.fact(format!("failed or short {name}s"), number::count(bad as f64));
        }
    }
    story.fact("mean requests in progress", number::digits(trial.result.concurrency));
    match &trial.cpu {
        record::Measured::Value(cpu) => {
            if let Some(cost) = cpu.lower_us_per_io {
                story.fact("CPU per request, at least", number::time(cost * 1e3));
            }
        }
        record::Measured::NotMeasured { not_measured } => {
            story.left_out.push(format!("Processor time was not measured: {not_measured}."));
        }
    }
}

/// How busy the parts of a simulated machine were.
fn components(components: &[ComponentUse]) -> Option<Chart> {
    let busiest = components.iter().max_by(|a, b| a.busy_share.total_cmp(&b.busy_share))?;
    let verdict = if busiest.busy_share >= BINDING { "it binds" } else { "nothing binds alone" };
    let points = components
        .iter()
        .enumerate()
        .map(|(row, component)| {
            let phases: Vec<String> = component
                .phases
                .iter()
                .map(|phase| format!("{} {}", phase.name, number::percent_text(phase.share)))
                .collect();
            Point::bare(component.busy_share, row as f64).remark(phases.join(", "))
        })
        .collect();
    Some(Chart {
        title: "How busy the parts of the path were".to_owned(),
        finding: format!(
            "{} was busy {} of the time: {verdict}.",
            busiest.name,
            number::percent_text(busiest.busy_share)
        ),
        errors: "Counted by the simulator, without error.".to_owned(),
        x: Axis::from_zero("share of time in use", Some(Unit::Share), [1.0].into_iter()),
        y: Axis::named(components.iter().map(|component| component.name.clone()).collect()),
        series: vec![Series::new("", Form::Bars, points)],
        rules: vec![Rule::upright(0.5, "half of the time")],
    })
}
