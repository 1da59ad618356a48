//! Derives what a reader must know about a device or its measurement before using the numbers. Each rule maps
//! a profile to a finding or to nothing. A rule cites its evidence, and returns nothing if that was not
//! measured or cannot decide. Findings from the opening of the target are not repeated here.

use crate::caps::{direct, per_s};
use crate::drift::drift;
use crate::words::{described, percent, times};
use record::{
    AreaSpread, CacheMode, Cap, Cell, Confidence, DepthCurve, Finding, FindingCode, NORMAL_95,
    OpKind, Pattern, Profile, ServiceTimeFit, StepCause, Sustained, TargetKind, Trial,
    format_bytes, format_interval, format_iops, with_half_width,
};

/// How much faster rereads must be to count as cached. A cache in front of any device gains far
/// more. A smaller gain may be locality (shorter seeks, an address table in the drive).
const CACHE_GAIN: f64 = 1.25;
/// Relative standard error of the level from which a warning is issued: half of the precision that
/// cells must reach.
const LEVEL_SE_MAX: f64 = 0.025;
/// Ratio of the speeds of two areas from which a warning is issued.
const AREA_RATIO: f64 = 1.15;
/// An area below this share of the device counts as small.
const SMALL_AREA_SHARE: f64 = 0.1;

/// What a characterisation left out, which the trials alone do not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// The user excluded writes.
    pub writes: bool,
    /// Curve points that the time budget did not allow.
    pub points: u32,
    /// The run ended early: the user or the system stopped it, or the device stopped answering.
    pub interrupted: bool,
}

/// All findings on a profile, the most severe first. `trials` are the trials that the profile was
/// made from, in the order in which they ran.
#[must_use]
pub fn profile_findings(profile: &Profile, trials: &[Trial], omitted: Omitted) -> Vec<Finding> {
    let mut findings: Vec<Finding> = [
        drifted(profile, trials).or_else(|| wandered(profile)),
        areas_differ(profile),
        precision(profile),
        cache(profile),
        small_area(profile),
        interrupted(omitted),
        writes_omitted(profile, omitted),
        points_omitted(omitted),
    ]
    .into_iter()
    .flatten()
    .collect();
    findings.extend(profile.service_time_fits.iter().filter_map(fit_poor));
    findings.extend(profile.depth_curves.iter().filter_map(knee_not_reached));
    findings.extend(cap_met(profile));
    findings.extend(profile.sustained.iter().filter_map(stepped));
    findings.sort_by_cached_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

/// Files on one disk whose speeds differ, for the loads with the largest difference.
fn areas_differ(profile: &Profile) -> Option<Finding> {
    let ends = |spread: &AreaSpread| {
        let known = spread.rates.iter().enumerate().filter_map(|(at, rate)| Some((at, (*rate)?)));
        let slow = known.clone().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let fast = known.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((fast, slow, fast.1 / slow.1))
    };
    let differ = profile.area_spreads.iter().filter_map(|spread| Some((spread, ends(spread)?)));
    let (spread, (fast, slow, ratio)) = differ.max_by(|a, b| a.1.2.total_cmp(&b.1.2))?;
    let of = |at: usize| profile.areas.get(at).map(record::MeasuredArea::words);
    (ratio > AREA_RATIO).then(|| {
        let load = format!(
            "{} {}{}",
            spread.locality.name(),
            spread.op.plural(),
            if spread.alone { ", one at a time," } else { "" }
        );
        let claim = format!(
            "Files on this disk differ: {load} are {} as fast on a file {} as on a file {}. The ± \
             on this page includes this difference.",
            times(ratio),
            of(fast.0).unwrap_or_default(),
            of(slow.0).unwrap_or_default(),
        );
        let remedy = "Measure the file you care about with --file PATH, or check a directory whose \
                      files are written like yours. Rewriting a file in the faster way may speed \
                      it up.";
        Finding::warning(FindingCode::AreasDiffer, claim, remedy)
            .with("rate of the fastest area over the slowest", ratio, "")
            .with("standard error of another file's rate", spread.rate_se, "share")
            .confidence(Confidence::Likely)
    })
}

/// A speed that drifts without a trend.
fn wandered(profile: &Profile) -> Option<Finding> {
    let se = profile.level_se_rel.filter(|&se| se > LEVEL_SE_MAX)?;
    let claim = format!(
        "The speed of the device drifts for all loads alike: all rates of another run may be {} \
         higher or lower. The ± on this page includes this drift.",
        percent(NORMAL_95 * se)
    );
    if profile.simulated {
        // A simulated device has no neighbours. Its own state changes its speed, like a credit bucket.
        return Some(Finding::note(FindingCode::Drift, claim, "").confidence(Confidence::Likely));
    }
    let remedy = "Run the check again on a quiet machine. From the third check on, the ± \
                  includes the differences between checks.";
    Some(Finding::warning(FindingCode::Drift, claim, remedy).confidence(Confidence::Likely))
}

fn drifted(profile: &Profile, trials: &[Trial]) -> Option<Finding> {
    let drift = drift(trials)?;
    let lone =
        drift.cell.as_ref().and_then(|id| profile.cells.iter().find(|cell| cell.cell == *id));
    let what = lone.map_or("The device".to_owned(), |cell| {
        format!("At {}, the device", described(&cell.workload))
    });
    let direction = if drift.change_rel < 0.0 { "slower" } else { "faster" };
    // Another run may differ by as much as this one drifted.
    let margin = match (lone, profile.level_se_rel) {
        (None, Some(_)) => {
            "the numbers describe the middle of the check, and their ± allows for the drift \
             between runs"
        }
        _ => "the intervals include this change",
    };
    let change = percent(drift.change_rel.abs());
    let evidence = |finding: Finding| {
        finding
            .with("change of the rate over the measurement", drift.change_rel, "share")
            .with("p-value", drift.p_value, "")
            .with("visits", drift.visits as f64, "")
            .confidence(Confidence::Likely)
    };
    if profile.simulated {
        // A simulated device has no neighbours: its model changes its rates, as configured.
        let claim = format!(
            "{what} became {change} {direction} during the check: the state of a simulated device \
             changes with the load."
        );
        return Some(evidence(Finding::note(FindingCode::Drift, claim, "")));
    }
    let claim = format!("{what} became {change} {direction} during the check; {margin}.");
    let remedy = "Run the check again on a quiet machine before you compare anything with these \
                  numbers.";
    Some(evidence(Finding::warning(FindingCode::Drift, claim, remedy)))
}

fn precision(profile: &Profile) -> Option<Finding> {
    let wide: Vec<&Cell> = profile.cells.iter().filter(|cell| !cell.precise).collect();
    let width = |cell: &Cell| cell.iops.relative_half_width();
    let widest = wide.iter().max_by(|a, b| width(a).total_cmp(&width(b)))?;
    let cells = profile.cells.len();
    let name = described(&widest.workload);
    let most = format_interval(width(widest));
    let mut widths: Vec<f64> = profile.cells.iter().map(width).collect();
    widths.sort_by(f64::total_cmp);
    let median = widths[cells / 2];
    let few = wide.len();
    let widest_text = if few * 2 > cells {
        // One number cannot represent most of a page.
        format!(
            "the median within this run is {}, the widest {most} ({name})",
            format_interval(median)
        )
    } else {
        format!("widest within this run: {name}, {most}")
    };
    // The ± of the tables has further parts, and is therefore wider than this one.
    let most_errors = "The ± in the tables also covers other runs and other files.";
    // Simulated devices and memory have no neighbours.
    let shared = !profile.simulated && profile.target.device.is_some();
    let remedy = if shared {
        "Increase --budget; other users of a shared disk cause variation."
    } else {
        "Increase --budget."
    };
    let claim = format!(
        "{few} of {cells} cells did not reach the requested precision; {widest_text}. {most_errors}"
    );
    Some(
        Finding::warning(FindingCode::PrecisionNotReached, claim, remedy)
            .with("cells below the requested precision", few as f64, "")
            .with("cells", cells as f64, "")
            .with("widest half-width", width(widest), "share")
            .with("median half-width", median, "share"),
    )
}

/// Compares rereads of a small area with random reads of the whole, both at queue depth 1: the
/// smallest request size that decides.
fn cache(profile: &Profile) -> Option<Finding> {
    let mut reads: Vec<&Cell> = profile
        .cells
        .iter()
        .filter(|cell| {
            let workload = &cell.workload;
            workload.depth == 1
                && workload.cache == CacheMode::Device
                && workload.only_op() == Some(OpKind::Read)
        })
        .collect();
    reads.sort_by_cached_key(|cell| cell.workload.max_bs());
    let of = |pattern| reads.iter().filter(move |cell| cell.workload.pattern == pattern);
    of(Pattern::Hit).find_map(|hit| {
        let same_size = |random: &&&Cell| random.workload.bs == hit.workload.bs;
        compared(hit, of(Pattern::Random).find(same_size)?)
    })
}

/// A finding of a cache or of none; `None` if the intervals cannot decide.
fn compared(hit: &Cell, random: &Cell) -> Option<Finding> {
    let gain = hit.iops.over(&random.iops);
    let (ratio, half_width) = (gain.value, gain.half_width());
    let size = format_bytes(hit.workload.max_bs().0);
    let (finding, unit) = if ratio >= CACHE_GAIN && gain.low > 1.0 {
        let claim = format!(
            "Re-reads of a small area are {} as fast as random reads ({size}): a cache below the \
             file system serves them.",
            times(ratio)
        );
        let remedy = "For data that was not read recently, expect the random-read numbers.";
        (Finding::note(FindingCode::CacheSeen, claim, remedy), "")
    } else if gain.high < CACHE_GAIN {
        let claim = format!(
            "Re-reads of a small area are no faster than random reads ({size}: {} of the \
             random rate): no sign of a cache.",
            with_half_width(percent(ratio), Some(gain.relative_half_width())),
        );
        (Finding::note(FindingCode::NoCacheSeen, claim, ""), "share")
    } else {
        return None;
    };
    Some(
        finding
            .with("rate of re-reads over rate of random reads", ratio, unit)
            .with("half-width of its 95 % interval", half_width, unit)
            .confidence(Confidence::Likely),
    )
}

fn fit_poor(fit: &ServiceTimeFit) -> Option<Finding> {
    model::fit_is_poor(fit).then(|| {
        let claim = format!(
            "The time of {} {}s is not a linear function of their size: points are up to {} off \
             the line.",
            fit.pattern.name(),
            fit.op.name(),
            percent(fit.max_residual_rel),
        );
        let remedy = "Use the measured times at each size instead of the line.";
        Finding::warning(FindingCode::FitPoor, claim, remedy)
            .with("chi-square per degree of freedom", fit.reduced_chi_square, "")
            .with("largest distance from the line", fit.max_residual_rel, "share")
            .with("sizes", fit.sizes_bytes.len() as f64, "")
            .confidence(Confidence::Likely)
    })
}

fn knee_not_reached(curve: &DepthCurve) -> Option<Finding> {
    let deepest = curve.points.last()?.depth;
    let rates = model::rates(&curve.points);
    let undecided = model::deep_enough(&rates, curve.knee_gain)?.is_undecided(&rates);
    (curve.knee.is_none() && !undecided).then(|| {
        let claim = format!(
            "Random {}s were fastest at the largest queue depth tried, {deepest}. The rate was \
             still rising, or no smaller depth reached 80 % of it, so this may not be the device's \
             limit.",
            curve.op.name(),
        );
        let remedy = format!(
            "Try a higher queue depth: halfpower run TARGET --rw rand{} --iodepth {}.",
            curve.op.name(),
            deepest.saturating_mul(2),
        );
        Finding::warning(FindingCode::KneeNotReached, claim, remedy)
            .with("largest depth", f64::from(deepest), "")
            .with("largest rate", curve.max_iops.value, "IOPS")
            .confidence(Confidence::Likely)
    })
}

/// A ceiling that all loads share.
fn cap_met(profile: &Profile) -> Option<Finding> {
    // The rate after a load used up its credit is a separate finding.
    let met: Vec<&Cap> = profile.caps.iter().filter(|cap| cap.cells > 1).collect();
    let first = met.first()?;
    let levels: Vec<String> = met.iter().map(|cap| cap.text()).collect();
    let published = met.iter().find_map(|cap| cap.published.as_deref());
    let like =
        published.map_or(String::new(), |what| format!(" The same limit is published for {what}."));
    let claim = format!(
        "Something above the medium caps this device at {}: {}.{like}",
        levels.join(" and "),
        highest(profile, &met)
    );
    let remedy = "Raise the limit where it is set (volume type, machine size, control group).";
    let mut finding =
        Finding::warning(FindingCode::CapMet, claim, remedy).confidence(Confidence::Likely);
    for cap in &met {
        let (what, unit) = match cap.bytes {
            true => ("cap of bytes", "bytes/s"),
            false => ("cap of requests", "IOPS"),
        };
        finding = finding.with(what, cap.per_s.value, unit);
    }
    Some(finding.with("cells held at the first", f64::from(first.cells), ""))
}

/// By how much the measured rates exceed the caps: the noise of short visits, or a burst that a cap admits.
fn highest(profile: &Profile, caps: &[&Cap]) -> String {
    let over = caps.iter().flat_map(|cap| {
        let ops = OpKind::ALL.into_iter().filter(|&op| cap.op.is_none_or(|own| own == op));
        let cells = ops.flat_map(|op| direct(profile, op));
        cells.map(|cell| per_s(cell, cap.bytes) / cap.per_s.value - 1.0)
    });
    match over.fold(0.0, f64::max) {
        most if most > 0.001 => format!(
            "no request size or queue depth exceeds this cap by more than {}, the error of a visit",
            percent(most)
        ),
        _ => "no request size or queue depth exceeds this cap".to_owned(),
    }
}

/// A rate that fell while its load continued.
fn stepped(load: &Sustained) -> Option<Finding> {
    let step = load.step.as_ref()?;
    let back = match step.back_after_ns.known() {
        Ok(after) => {
            let after = record::with_interval(after, |ns| record::format_duration(ns as u64));
            format!("The full rate returns after {after} of idle time.")
        }
        Err(why) => format!("The recovery time is unknown: {why}."),
    };
    let size = load.workload.max_bs().0 as f64;
    let [before, after] = [&load.iops, &step.iops];
    let (cause, remedy, code) = match step.cause {
        StepCause::Credit => (
            "the burst credit above a cap was used up",
            "Plan with the rate after the drop: a load that outlasts the credit gets no more.",
            FindingCode::BurstEnded,
        ),
        StepCause::WriteCache => (
            "the fast write cache of the drive was full",
            "For longer writes, plan with the rate after the drop, or leave idle time between \
             bursts so that the drive can recover.",
            FindingCode::WriteCacheFull,
        ),
    };
    let claim = format!(
        "Under {} the rate was {} for {} ({} transferred), then fell to {}: {cause}. {back}",
        described(&load.workload),
        record::with_interval(before, format_iops),
        record::format_duration(load.ran_ns.0),
        format_bytes(load.bytes.0),
        record::with_interval(after, format_iops)
    );
    Some(
        Finding::warning(code, claim, remedy)
            .with("throughput before", before.value * size, "bytes/s")
            .with("throughput after", after.value * size, "bytes/s")
            .with("moved before the step", load.bytes.0 as f64, "bytes")
            .confidence(Confidence::Likely),
    )
}

fn small_area(profile: &Profile) -> Option<Finding> {
    let device_bytes = profile.target.device.as_ref()?.size_bytes.0;
    let area_bytes = profile.cells.iter().map(|cell| cell.workload.size_bytes.0).max()?;
    let share = area_bytes as f64 / device_bytes as f64;
    (device_bytes > 0 && share < SMALL_AREA_SHARE).then(|| {
        let claim = format!(
            "The check measured only {}, which is {} of the device. So seeks are shorter than on \
             the whole device, and a cache may hold much of the area.",
            format_bytes(area_bytes),
            percent(share),
        );
        let remedy = "Measure a larger area with --size.";
        Finding::note(FindingCode::SmallArea, claim, remedy)
            .with("measured area", area_bytes as f64, "bytes")
            .with("device", device_bytes as f64, "bytes")
    })
}

fn interrupted(omitted: Omitted) -> Option<Finding> {
    omitted.interrupted.then(|| {
        let claim = "The profile is partial: the check ended before all loads were measured, so its \
                     ± may leave out how runs differ. Other commands use this profile only if you \
                     name its id.";
        let remedy = "Run check again for the complete profile.";
        Finding::warning(FindingCode::Interrupted, claim, remedy)
    })
}

/// Writes that were not measured: at the user's request, or because an existing file or device is only read.
fn writes_omitted(profile: &Profile, omitted: Omitted) -> Option<Finding> {
    let kind = profile.target.kind;
    let only_read = matches!(kind, TargetKind::File | TargetKind::BlockDevice)
        && !profile.cells.iter().any(|cell| cell.workload.writes());
    let (claim, remedy) = if omitted.writes {
        let claim = if kind == TargetKind::Directory {
            "Writes were not measured, as requested; only the test file itself was written."
        } else {
            "Writes were not measured, as requested."
        };
        (claim, "Omit --no-write to measure them.")
    } else if only_read {
        let claim = "Writes were not measured, because check never writes to an existing file or \
                     device.";
        (claim, "Name a directory on this device: check then writes to a test file in it.")
    } else {
        return None;
    };
    Some(Finding::note(FindingCode::WritesSkipped, claim, remedy))
}

fn points_omitted(omitted: Omitted) -> Option<Finding> {
    (omitted.points > 0).then(|| {
        let points = omitted.points;
        let claim = format!("{points} points of the curves did not fit the budget on this device.");
        Finding::note(FindingCode::PointsSkipped, claim, "Allow more time with --budget.").with(
            "points left out",
            f64::from(points),
            "",
        )
    })
}
