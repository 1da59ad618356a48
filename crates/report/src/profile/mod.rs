//! What is said of a profile.
//!
//! The order is that of a reader's questions: how fast is it, what should I set, what will I see
//! under load, why do you say so, what is wrong, what is it. Reads stand left of writes in every table
//! that has both. A section without numbers keeps its heading and says why. Rejected: sections behind
//! flags, because the engineer who needs the reason for a number rarely knows the flag for it.

pub(crate) mod advice;
mod charts;
mod curve;
mod line;
mod service;

use crate::story::{Cell, Column, Fact, Story, Table, Tone, quoted, sentence};
use crate::{number, target};
use record::{
    CacheMode, Cell as Measurement, DepthCurve, Estimate, FindingCode, OpKind, Pattern, Profile,
    TargetKind, Trial, format_bytes,
};

/// Reads stand left.
const OPERATIONS: [OpKind; 2] = [OpKind::Read, OpKind::Write];

/// A budget from which on there is none: a week.
const UNLIMITED_NS: u64 = 7 * 86_400 * 1_000_000_000;

/// The story of a profile and of the trials that it rests on, as far as they are at hand.
#[must_use]
pub fn profile(profile: &Profile, trials: &[Trial]) -> Story {
    let mut story = Story {
        kind: "Profile".to_owned(),
        subject: target::summary(&profile.target),
        id: profile.id.clone(),
        simulated: profile.simulated,
        headline: headline(profile),
        findings: profile.findings.clone(),
        charts: charts::charts(profile, trials),
        ..Story::default()
    };
    facts(&mut story, profile);
    story.actions.extend(advice::actions(&profile.advice));
    if profile.advice.is_empty() {
        story.section("What to do", &not_measured(profile, None));
    }
    advice::expectations(&mut story, profile);
    service::service(&mut story, profile);
    curve::depth(&mut story, profile);
    curve::size(&mut story, profile);
    line::fits(&mut story, profile);
    story.fold("All cells").table(cells(profile));
    if trials.is_empty() && !profile.cells.is_empty() {
        let text = "The course of the visits is not drawn: the trials of this profile are missing.";
        story.left_out.push(text.to_owned());
    }
    let targets = std::slice::from_ref(&profile.target);
    let about = (profile.halfpower_version.as_str(), profile.time.as_deref(), profile.seed);
    target::conditions(&mut story, targets, profile.environment.as_ref(), about);
    let used = number::duration(profile.measured_ns.0);
    // A budget of weeks stands for none.
    let budget = Some(profile.budget_ns.0).filter(|&budget| budget < UNLIMITED_NS);
    let budget = budget.map(|budget| format!(" of {}", number::duration(budget)));
    story.condition("measured for", used + &budget.unwrap_or_default());
    story.commands.push(format!(
        "halfpower check {} --budget {}s --seed {}",
        quoted(&profile.target.path),
        (profile.budget_ns.0 as f64 / 1e9).ceil(),
        profile.seed
    ));
    story
}

fn headline(profile: &Profile) -> String {
    let said = OPERATIONS.into_iter().filter_map(|op| {
        let limits = &profile.limits;
        let rate = of(op, limits.read_iops, limits.write_iops)?;
        let throughput = of(op, limits.read_bytes_per_s, limits.write_bytes_per_s)?;
        let (rate, throughput) = (number::per_second(rate.value), number::rate(throughput.value));
        Some(format!("{}s up to {rate} and {throughput}", op.name()))
    });
    let said: Vec<String> = said.collect();
    match said.is_empty() {
        true => "No valid trial: nothing is known of this device.".to_owned(),
        false => sentence(&said),
    }
}

/// The largest rates, and how long one request takes by itself.
fn facts(story: &mut Story, profile: &Profile) {
    let smallest = smallest_random(profile);
    let size = smallest.map_or("random".into(), |bytes| format!("{} random", format_bytes(bytes)));
    let limits = &profile.limits;
    for op in OPERATIONS {
        let most = of(op, limits.read_iops, limits.write_iops).map(|most| {
            let curve = depth_curve(profile, op).filter(|curve| Some(curve.bs_bytes) == smallest);
            let depth = curve.map(|curve| format!(" at QD {}", curve.max_depth));
            number::with_interval(&most, number::per_second) + &depth.unwrap_or_default()
        });
        let throughput = of(op, limits.read_bytes_per_s, limits.write_bytes_per_s).map(|most| {
            let size = fastest(profile, op).map(|cell| cell.workload.max_bs().0);
            let size = size.map(|bytes| format!(" at {}", format_bytes(bytes)));
            number::with_interval(&most, number::rate) + &size.unwrap_or_default()
        });
        let alone =
            latency_alone(profile, op).map(|time| number::with_interval(&time, number::time));
        let answers = [
            (format!("max {size} IOPS"), most),
            ("max throughput".to_owned(), throughput),
            ("latency at QD 1".to_owned(), alone),
        ];
        for (name, value) in answers {
            let of = format!("{}s", op.name());
            let (value, tone) = match value {
                Some(value) => (value, Tone::Strong),
                None => (not_measured(profile, Some(op)), Tone::Faint),
            };
            story.facts.push(Fact { name, of, value, tone });
        }
    }
}

/// Every cell with its numbers.
fn cells(profile: &Profile) -> Table {
    let mut table = Table::new(vec![
        Column::left("cell"),
        Column::of("iops"),
        Column::interval(),
        Column::of("bytes_per_s"),
        Column::of("latency_mean_ns"),
        Column::interval(),
        Column::of("latency_p99_ns"),
        Column::of("cpu_lower_us_per_io"),
        Column::right("visits"),
    ]);
    for cell in &profile.cells {
        let workload = &cell.workload;
        let op = workload.only_op().map_or("mixed", OpKind::name);
        let name = format!(
            "{} {op} {}, QD {}, cache {}",
            workload.pattern.name(),
            format_bytes(workload.max_bs().0),
            workload.depth,
            workload.cache.name()
        );
        table.row(vec![
            name.into(),
            number::count(cell.iops.value).into(),
            Cell::interval(&cell.iops),
            number::rate(cell.bytes_per_s.value).into(),
            number::time(cell.latency_ns.value).into(),
            Cell::interval(&cell.latency_ns),
            Cell::or_none(cell.histogram.percentile(0.99), number::time),
            Cell::or_none(cell.cpu_us_per_io.value(), |cost| number::time(cost.value * 1e3)),
            cell.trial_ids.len().to_string().into(),
        ]);
    }
    table
}

/// The value of a direction.
fn of<T>(op: OpKind, read: T, write: T) -> T {
    match op {
        OpKind::Read => read,
        OpKind::Write => write,
    }
}

/// That something has no numbers, and why; `op` for one direction of it.
fn not_measured(profile: &Profile, op: Option<OpKind>) -> String {
    format!("not measured ({})", why_not(profile, op))
}

/// Why something has no numbers, in a few words.
fn why_not(profile: &Profile, op: Option<OpKind>) -> &'static str {
    let found = |code| profile.findings.iter().any(|finding| finding.code == code);
    let only_read = matches!(profile.target.kind, TargetKind::File | TargetKind::BlockDevice);
    if op == Some(OpKind::Write) && only_read {
        "only read"
    } else if op == Some(OpKind::Write) && found(FindingCode::WritesSkipped) {
        "--no-write"
    } else if found(FindingCode::Interrupted) {
        "interrupted"
    } else if found(FindingCode::PointsSkipped) {
        "short budget"
    } else {
        "no valid trial"
    }
}

/// Whether a cell describes the device: past the file-system cache, the device's own cache on.
fn of_the_device(cell: &Measurement) -> bool {
    cell.workload.cache == CacheMode::Device
}

fn depth_curve(profile: &Profile, op: OpKind) -> Option<&DepthCurve> {
    profile.depth_curves.iter().find(|curve| curve.op == op)
}

/// The request size of the random limits: that of the depth curves, else the smallest cell.
fn smallest_random(profile: &Profile) -> Option<u64> {
    let of_curves = profile.depth_curves.iter().map(|curve| curve.bs_bytes).min();
    let random =
        |cell: &&Measurement| cell.workload.pattern == Pattern::Random && of_the_device(cell);
    let sizes = profile.cells.iter().filter(random).map(|cell| cell.workload.max_bs().0);
    of_curves.or_else(|| sizes.min())
}

/// The cell of this direction with the largest throughput; a hit measures a cache and is none.
fn fastest(profile: &Profile, op: OpKind) -> Option<&Measurement> {
    let same = profile.cells.iter().filter(|cell| {
        let workload = &cell.workload;
        workload.only_op() == Some(op) && workload.pattern != Pattern::Hit && of_the_device(cell)
    });
    same.max_by(|a, b| a.bytes_per_s.value.total_cmp(&b.bytes_per_s.value))
}

/// Latency of a random request of the smallest size with nothing else going on.
fn latency_alone(profile: &Profile, op: OpKind) -> Option<Estimate> {
    let size = smallest_random(profile);
    let from_curve = depth_curve(profile, op)
        .filter(|curve| Some(curve.bs_bytes) == size)
        .and_then(|curve| curve.points.iter().find(|point| point.depth == 1))
        .map(|point| point.latency_ns);
    let cell = profile.cells.iter().find(|cell| {
        let workload = &cell.workload;
        workload.only_op() == Some(op)
            && of_the_device(cell)
            && workload.pattern == Pattern::Random
            && workload.depth == 1
            && Some(workload.max_bs().0) == size
    });
    from_curve.or_else(|| cell.map(|cell| cell.latency_ns))
}

/// How many times faster the device is at its best depth than at depth 1, over its curves.
fn parallelism(profile: &Profile) -> Option<(&DepthCurve, f64)> {
    let gains = profile.depth_curves.iter().filter_map(|curve| {
        let alone = curve.points.iter().find(|point| point.depth == 1)?;
        let gain = curve.max_iops.value / alone.iops.value;
        gain.is_finite().then_some((curve, gain))
    });
    gains.max_by(|a, b| a.1.total_cmp(&b.1))
}
