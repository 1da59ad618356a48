//! Builds the report on a profile.
//!
//! The order is that of a reader's questions: how fast is it, what should I set, what will I see under load,
//! why, what is wrong, what is it. Reads are to the left of writes in every table with both. A section
//! without numbers keeps its heading and gives the reason. The short page names the supporting parts and the
//! flag that shows them, because an engineer who needs the reason for a number may not know the flag.

pub(crate) mod advice;
mod areas;
mod charts;
mod commits;
mod curve;
mod line;
mod lone;
mod service;
mod sustained;
mod unsettled;

use crate::page::Tone;
use crate::story::{Cell, Fact, Section, Story, joined, sentence};
use crate::{number, target};
use record::{
    CacheMode, Cap, Cell as Measurement, DepthCurve, Estimate, FindingCode, OpKind, Pattern,
    Profile, TargetKind, Trial, format_bytes, shell_word,
};

/// A time budget from which on it counts as unlimited: a week.
const UNLIMITED_NS: u64 = 7 * 86_400 * 1_000_000_000;

/// Name of a throughput in the units that fio prints.
const BINARY: &str = "in binary units";

/// The story of a profile and of its trials, as far as they are available.
pub fn profile(profile: &Profile, trials: &[Trial]) -> Story {
    let mut story = Story::new("Profile", target::summary(&profile.target), profile.simulated)
        .saved(&profile.id, &profile.findings);
    let (open, narrows) = unsettled::unsettled(profile).unzip();
    let is_open = open.is_some();
    story.headline = headline(profile, open);
    // An uncertain speed is not called valid. Without a line of its own, the headline is the line.
    if !is_open {
        let answer = story.headline.clone();
        story.measured_line(&answer);
    }
    story.actions.extend(narrows);
    story.again = format!("halfpower show {} --verbose", profile.id);
    story.charts = charts::charts(profile, trials);
    facts(&mut story, profile);
    story.actions.extend(advice::actions(&profile.advice));
    if profile.advice.is_empty() {
        story.section("What to do", &not_measured(profile, None));
    }
    curve::depth(&mut story, profile);
    advice::expectations(&mut story, profile);
    sustained::sustained(&mut story, profile);
    lone::lone_reads(&mut story, profile);
    commits::commits(&mut story, profile);
    service::service(&mut story, profile);
    curve::size(&mut story, profile);
    areas::areas(&mut story, profile);
    line::fits(&mut story, profile);
    if !profile.cells.is_empty() {
        cells(story.fold("All cells"), profile);
    }
    if trials.is_empty() && !profile.cells.is_empty() {
        let text = "The visits are not plotted: the trials of this profile are missing.";
        story.left_out.push(text.to_owned());
    }
    let targets = std::slice::from_ref(&profile.target);
    let about = (profile.halfpower_version.as_str(), profile.time.as_deref(), profile.seed);
    target::conditions(&mut story, targets, profile.environment.as_ref(), about);
    target::clients(&mut story, &profile.clients);
    let used = number::duration(profile.measured_ns.0);
    let budget = Some(profile.budget_ns.0).filter(|&budget| budget < UNLIMITED_NS);
    let budget = budget.map(|budget| format!(" of {}", number::duration(budget)));
    story.condition("measured for", used + &budget.unwrap_or_default());
    let (path, seed) = (shell_word(&profile.target.path), profile.seed);
    let seconds = profile.budget_ns.as_secs_f64().ceil();
    story.commands.push(format!("halfpower check {path} --budget {seconds}s --seed {seed}"));
    story
}

/// Maximum IOPS and maximum throughput of a direction.
pub(crate) fn largest(profile: &Profile, op: OpKind) -> (Option<Estimate>, Option<Estimate>) {
    let limits = &profile.limits;
    match op {
        OpKind::Read => (limits.read_iops, limits.read_bytes_per_s),
        OpKind::Write => (limits.write_iops, limits.write_bytes_per_s),
    }
}

/// The maximum rates, or their replacement text if they are too uncertain, and the caps.
fn headline(profile: &Profile, open: Option<String>) -> String {
    let said = OpKind::ALL.into_iter().filter_map(|op| {
        let (rate, throughput) = largest(profile, op);
        let rate = number::per_second(rate?.value);
        Some(format!("{} up to {rate} and {}", op.plural(), number::rate(throughput?.value)))
    });
    let rates = open
        .unwrap_or_else(|| sentence(said, "No valid trial: nothing is known about this device."));
    if profile.caps.is_empty() {
        return rates;
    }
    format!("{rates} Capped at {}.", joined(&profile.caps, " and ", Cap::text))
}

/// The maximum rates, and the latency of a single request.
fn facts(story: &mut Story, profile: &Profile) {
    let smallest = smallest_random(profile);
    let size = smallest.map_or("random".into(), |bytes| format!("{} random", format_bytes(bytes)));
    for op in OpKind::ALL {
        let (rate, throughput) = largest(profile, op);
        let most = rate.map(|most| {
            let curve = depth_curve(profile, op).filter(|curve| Some(curve.bs_bytes) == smallest);
            let depth = curve.map(|curve| format!(" at QD {}", curve.max_depth));
            number::with_interval(&most, number::per_second) + &depth.unwrap_or_default()
        });
        let binary = throughput.map(|most| number::binary_rate(most.value));
        let throughput = throughput.map(|most| {
            let size = fastest(profile, op).map(|cell| cell.workload.max_bs().0);
            let size = size.map(|bytes| format!(" at {}", format_bytes(bytes)));
            number::rate_with_interval(&most) + &size.unwrap_or_default()
        });
        let alone = latency_alone(profile, op);
        let alone = alone.map(|time| number::with_interval(&time, number::time));
        let answers = [
            (format!("max {size} IOPS"), most),
            ("max throughput".to_owned(), throughput),
            // A missing rate is reported in the line above.
            (BINARY.to_owned(), binary),
            ("latency at QD 1".to_owned(), alone),
        ];
        let told = answers.into_iter().filter(|(name, value)| value.is_some() || name != BINARY);
        for (name, value) in told {
            let (value, tone) = match value {
                Some(value) => (value, Tone::Strong),
                None => (not_measured(profile, Some(op)), Tone::Faint),
            };
            story.facts.push(Fact { name, of: op.plural().to_owned(), value, tone });
        }
    }
}

fn cells(section: &mut Section, profile: &Profile) {
    let name = |cell: &&Measurement| {
        let workload = &cell.workload;
        let op = workload.only_op().map_or("mixed", OpKind::name);
        let (size, depth) = (format_bytes(workload.max_bs().0), workload.depth);
        let (pattern, cache) = (workload.pattern.name(), workload.cache.name());
        format!("{pattern} {op} {size}, QD {depth}, cache {cache}")
    };
    section.table(&profile.cells, |t| {
        t.left("cell", name);
        t.of("iops", |cell| cell.iops.value);
        t.interval(|cell| cell.rerun_iops);
        let in_run = |cell: &&Measurement| number::interval(cell.iops.relative_half_width());
        t.right("in this run", in_run).expendable(4);
        t.of("bytes_per_s", |cell| cell.bytes_per_s.value);
        t.of("latency_mean_ns", |cell| cell.latency_ns.value);
        t.of("latency_p99_ns", |cell| cell.percentile(0.99)).expendable(1);
        let cost = |cell: &&Measurement| cell.cpu_us_per_io.value().map(|it| it.value);
        t.of("cpu_lower_us_per_io", cost).expendable(2);
        t.right("visits", |cell| Cell::from(cell.trial_ids.len().to_string())).expendable(3);
    });
    section.notes(curve::cpu_note(profile));
}

/// The size that all have in common, as a prefix; empty if they differ.
fn common_size(mut sizes: impl Iterator<Item = u64>) -> String {
    let first = sizes.next().filter(|first| sizes.all(|size| size == *first));
    first.map(|bytes| format!(" {}", format_bytes(bytes))).unwrap_or_default()
}

/// Why something was not measured. `op` restricts this to one direction.
fn not_measured(profile: &Profile, op: Option<OpKind>) -> String {
    let found = |code| profile.findings.iter().any(|finding| finding.code == code);
    let only_read = matches!(profile.target.kind, TargetKind::File | TargetKind::BlockDevice);
    let why = match op {
        Some(OpKind::Write) if only_read => "only read",
        Some(OpKind::Write) if found(FindingCode::WritesSkipped) => "--no-write",
        _ if found(FindingCode::Interrupted) => "interrupted",
        _ if found(FindingCode::PointsSkipped) => "short budget",
        _ => "no valid trial",
    };
    format!("not measured ({why})")
}

fn missing_directions(section: &mut Section, profile: &Profile, present: impl Fn(OpKind) -> bool) {
    for op in OpKind::ALL.into_iter().filter(|op| !present(*op)) {
        section.text(format!("{} {}.", op.plural(), not_measured(profile, Some(op))));
    }
}

/// Whether a cell describes the device: direct I/O with the device's own cache enabled.
fn of_the_device(cell: &Measurement) -> bool {
    cell.workload.cache == CacheMode::Device
}

/// One kind of load: operation, pattern, queue depth.
type Load = (OpKind, Pattern, u32);

/// The cells that describe the device under one kind of load.
fn cells_of(profile: &Profile, (op, pattern, depth): Load) -> impl Iterator<Item = &Measurement> {
    profile.cells.iter().filter(move |cell| {
        let workload = &cell.workload;
        of_the_device(cell)
            && workload.only_op() == Some(op)
            && workload.pattern == pattern
            && workload.depth == depth
    })
}

/// The one of these cells with a given request size.
pub(crate) fn cell_of(profile: &Profile, load: Load, bytes: u64) -> Option<&Measurement> {
    cells_of(profile, load).find(|cell| cell.workload.max_bs().0 == bytes)
}

fn depth_curve(profile: &Profile, op: OpKind) -> Option<&DepthCurve> {
    profile.depth_curves.iter().find(|curve| curve.op == op)
}

/// Request size of the random limits: that of the depth curves, otherwise of the smallest cell.
fn smallest_random(profile: &Profile) -> Option<u64> {
    let of_curves = profile.depth_curves.iter().map(|curve| curve.bs_bytes).min();
    let random =
        |cell: &&Measurement| cell.workload.pattern == Pattern::Random && of_the_device(cell);
    let sizes = profile.cells.iter().filter(random).map(|cell| cell.workload.max_bs().0);
    of_curves.or_else(|| sizes.min())
}

/// The cell of a direction with the largest throughput, except hits, which measure a cache.
fn fastest(profile: &Profile, op: OpKind) -> Option<&Measurement> {
    let same = profile.cells.iter().filter(|cell| {
        let workload = &cell.workload;
        workload.only_op() == Some(op) && workload.pattern != Pattern::Hit && of_the_device(cell)
    });
    same.max_by(|a, b| a.bytes_per_s.value.total_cmp(&b.bytes_per_s.value))
}

/// Latency of a random request of the smallest size on an otherwise idle device.
fn latency_alone(profile: &Profile, op: OpKind) -> Option<Estimate> {
    let size = smallest_random(profile)?;
    let curve = depth_curve(profile, op).filter(|curve| curve.bs_bytes == size);
    let point = curve.and_then(|curve| curve.points.iter().find(|point| point.depth == 1));
    let load = (op, Pattern::Random, 1);
    let cell = || cell_of(profile, load, size);
    let alone = point.map(|point| point.latency_ns).or_else(|| Some(cell()?.latency_ns))?;
    Some(rerun(profile, &alone, load))
}

/// An estimate with the interval for another run of its load. Every part of the page prints this interval
/// beside a rate or latency of requests, so that none has two.
fn rerun(profile: &Profile, estimate: &Estimate, (op, pattern, depth): Load) -> Estimate {
    match pattern.locality() {
        Some(locality) => profile.rerun(estimate, (op, locality, depth == 1)),
        None => estimate.with_ratio_error(profile.common_se()),
    }
}

/// Ratio of the rate at the best depth to that at depth 1, over all curves.
fn parallelism(profile: &Profile) -> Option<(&DepthCurve, f64)> {
    let gains = profile.depth_curves.iter().filter_map(|curve| {
        let alone = curve.points.iter().find(|point| point.depth == 1)?;
        let gain = curve.max_iops.value / alone.iops.value;
        gain.is_finite().then_some((curve, gain))
    });
    gains.max_by(|a, b| a.1.total_cmp(&b.1))
}
