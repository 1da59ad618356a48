//! What a report says of a profile.

use super::{OPERATIONS, charts, fastest, latency_alone, of, smallest_random};
use crate::story::{Sheet, Story, quoted};
use crate::{number, target};
use record::{Profile, Trial, format_bytes, format_nanos};

/// The story of a profile and of the trials that it rests on, as far as they are at hand.
pub(crate) fn story(profile: &Profile, trials: &[Trial]) -> Story {
    let mut story = Story {
        kind: "Profile".to_owned(),
        subject: target::summary(&profile.target),
        id: profile.id.clone(),
        simulated: profile.simulated,
        headline: headline(profile),
        findings: profile.findings.clone(),
        charts: charts::charts(profile, trials),
        sheets: vec![cells(profile)],
        ..Story::default()
    };
    facts(&mut story, profile);
    story.advise(&profile.advice);
    if trials.is_empty() && !profile.cells.is_empty() {
        story.left_out.push(
            "The course of the visits is not drawn: the trials of this profile are not at hand."
                .to_owned(),
        );
    }
    let environment = profile.environment.as_ref();
    let targets = std::slice::from_ref(&profile.target);
    let about = (profile.halfpower_version.as_str(), profile.time.as_deref(), profile.seed);
    story.usual_conditions(targets, environment, about);
    let used = number::time(profile.measured_ns.0 as f64);
    story.condition(
        "measured for",
        format!("{used} of {}", format_nanos(profile.budget_ns.0 as f64)),
    );
    story.commands.push(format!(
        "halfpower check {} --budget {}s --seed {}",
        quoted(&profile.target.path),
        (profile.budget_ns.0 as f64 / 1e9).ceil(),
        profile.seed
    ));
    story
}

/// The largest rates, and one request by itself.
fn facts(story: &mut Story, profile: &Profile) {
    let size =
        smallest_random(profile).map_or(String::new(), |bytes| format!(" {}", format_bytes(bytes)));
    let limits = &profile.limits;
    for op in OPERATIONS {
        let name = op.name();
        if let Some(most) = of(op, limits.read_iops, limits.write_iops) {
            let value = number::with_interval(&most, number::per_second);
            story.fact(format!("random{size} {name}s, most"), value);
        }
        if let Some(most) = of(op, limits.read_bytes_per_s, limits.write_bytes_per_s) {
            let at = fastest(profile, op).map(|cell| format_bytes(cell.workload.max_bs().0));
            let at = at.map_or(String::new(), |size| format!(" at {size}"));
            let value = number::with_interval(&most, number::rate);
            story.fact(format!("{name} throughput, most{at}"), value);
        }
        if let Some(alone) = latency_alone(profile, op) {
            let value = number::with_interval(&alone, number::time);
            story.fact(format!("one random{size} {name}, alone"), value);
        }
    }
}

fn headline(profile: &Profile) -> String {
    let said = OPERATIONS.into_iter().filter_map(|op| {
        let limits = &profile.limits;
        let rate = of(op, limits.read_iops, limits.write_iops)?;
        let throughput = of(op, limits.read_bytes_per_s, limits.write_bytes_per_s)?;
        Some(format!(
            "{}s up to {} and {}",
            op.name(),
            number::per_second(rate.value),
            number::rate(throughput.value)
        ))
    });
    let said: Vec<String> = said.collect();
    match said.is_empty() {
        true => "No valid trial: nothing is known of this device.".to_owned(),
        false => charts::sentence(&said),
    }
}

/// Every cell with its numbers.
fn cells(profile: &Profile) -> Sheet {
    let columns = ["cell", "rate", "±", "throughput", "mean response", "±", "p99", "CPU", "visits"];
    let rows = profile.cells.iter().map(|cell| {
        let workload = &cell.workload;
        let op = workload.only_op().map_or("mixed", record::OpKind::name);
        vec![
            format!(
                "{} {op} {}, depth {}, cache {}",
                workload.pattern.name(),
                format_bytes(workload.max_bs().0),
                workload.depth,
                workload.cache.name()
            ),
            number::per_second(cell.iops.value),
            number::interval(number::relative(&cell.iops)),
            number::rate(cell.bytes_per_s.value),
            number::time(cell.latency_ns.value),
            number::interval(number::relative(&cell.latency_ns)),
            cell.histogram.percentile(0.99).map_or(number::NONE.into(), number::time),
            cell.cpu_us_per_io
                .value()
                .map_or(number::NONE.into(), |cost| number::time(cost.value * 1e3)),
            cell.trial_ids.len().to_string(),
        ]
    });
    Sheet {
        title: "Cells".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}
