//! What a reader must know about a device or about its measurement before the numbers are used.
//!
//! Each rule is a function from the profile to a finding or to nothing. A rule fires on evidence
//! that it names in the finding, and is silent where its evidence was not measured or cannot
//! decide: an undecided comparison of hits and random reads, for example, is neither a cache nor
//! the absence of one.

use crate::drift::drift;
use crate::words::{NORMAL_95, percent, times};
use model::DEFAULT_KNEE_GAIN;
use record::{
    CacheMode, Cell, Confidence, DepthCurve, Finding, FindingCode, OpKind, Pattern, Profile,
    ServiceTimeFit, Severity, TargetKind, Trial, Workload, format_bytes,
};

/// How much faster re-reads must be before they are called cached: a cache in front of any device
/// gains far more, and less may be locality (shorter seeks, an address table in the drive).
const CACHE_GAIN: f64 = 1.25;

/// An area below this share of the device is called small.
const SMALL_AREA_SHARE: f64 = 0.1;

/// What a characterisation left out; the trials themselves cannot tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// The user asked for no writes.
    pub writes: bool,
    /// Points of the curves that the budget did not allow.
    pub points: u32,
    /// The run was interrupted before its end.
    pub interrupted: bool,
}

/// All findings on a profile, gravest first. `trials` are those that the profile was made of, in
/// the order in which they were run.
#[must_use]
pub fn profile_findings(profile: &Profile, trials: &[Trial], omitted: Omitted) -> Vec<Finding> {
    let mut findings: Vec<Finding> = [
        no_device(profile),
        drifted(profile, trials),
        precision(profile),
        cache(profile),
        rotational(profile),
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
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

/// The trials' own findings, one for each code: the gravest of its kind and in how many trials it
/// occurs. Gravest first.
#[must_use]
pub fn trial_findings(trials: &[Trial]) -> Vec<Finding> {
    let mut kinds: Vec<(Finding, usize)> = Vec::new();
    for trial in trials {
        let mut seen: Vec<FindingCode> = Vec::new();
        for finding in &trial.findings {
            let first_here = !seen.contains(&finding.code);
            seen.push(finding.code);
            match kinds.iter_mut().find(|(kind, _)| kind.code == finding.code) {
                Some((worst, count)) => {
                    *count += usize::from(first_here);
                    if finding.severity > worst.severity {
                        *worst = finding.clone();
                    }
                }
                None => kinds.push((finding.clone(), 1)),
            }
        }
    }
    let mut findings: Vec<Finding> = kinds
        .into_iter()
        .map(|(mut finding, count)| {
            finding.claim = format!("In {count} of {} trials: {}", trials.len(), finding.claim);
            finding
        })
        .collect();
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.code));
    findings
}

/// A warning for tables of S = U/X: on a device that works on several requests at once it is the
/// spacing of completions. `None` where no depth curve shows that requests overlap.
#[must_use]
pub fn overlap_note(profile: &Profile) -> Option<String> {
    let overlap = |curve: &DepthCurve| {
        let first = curve.points.first().filter(|point| point.depth == 1)?;
        let ratio = curve.max_iops.value / first.iops.value;
        let certain = curve.max_iops.low > first.iops.high;
        (certain && ratio > 1.0 + DEFAULT_KNEE_GAIN).then_some((ratio, curve.op, curve.max_depth))
    };
    let (ratio, op, depth) =
        profile.depth_curves.iter().filter_map(overlap).max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "S = U/X is the mean spacing of completions, not the time of one request: random {}s reach \
         {} the rate of depth 1 at depth {depth}, so requests overlap or are reordered.",
        op.name(),
        times(ratio),
    ))
}

fn no_device(profile: &Profile) -> Option<Finding> {
    let target = &profile.target;
    let in_memory = target.filesystem.as_ref().is_some_and(|filesystem| filesystem.in_memory);
    let real = target.kind != TargetKind::Simulated;
    (real && (in_memory || target.device.is_none())).then(|| {
        let what = match &target.filesystem {
            Some(filesystem) if in_memory => format!("a {} in memory", filesystem.kind),
            Some(filesystem) => format!("a {} without a block device below", filesystem.kind),
            None => "something without a block device below".to_owned(),
        };
        Finding::new(
            FindingCode::NoDevice,
            Severity::Warning,
            format!("{} is on {what}: these numbers describe no disk.", target.path),
            "Name a directory on the disk that you want to know.",
        )
    })
}

fn drifted(profile: &Profile, trials: &[Trial]) -> Option<Finding> {
    let drift = drift(trials)?;
    let lone =
        drift.cell.as_ref().and_then(|id| profile.cells.iter().find(|cell| cell.cell == *id));
    let what = lone.map_or("The device".to_owned(), |cell| {
        format!("At {} the device", described(&cell.workload))
    });
    let direction = if drift.change_rel < 0.0 { "slower" } else { "faster" };
    let finding = Finding::new(
        FindingCode::Drift,
        Severity::Warning,
        format!(
            "{what} became {} {direction} while it was measured; the intervals include that.",
            percent(drift.change_rel.abs())
        ),
        "Run check again later, and on a quiet machine, before you compare with these numbers.",
    );
    Some(
        finding
            .with("change of the rate over the measurement", drift.change_rel, "")
            .with("p-value", drift.p_value, "")
            .with("visits", drift.visits as f64, "")
            .confidence(Confidence::Likely),
    )
}

fn precision(profile: &Profile) -> Option<Finding> {
    let wide: Vec<&Cell> = profile.cells.iter().filter(|cell| !cell.precise).collect();
    let width = |cell: &Cell| cell.iops.relative_half_width();
    let widest = wide.iter().max_by(|a, b| width(a).total_cmp(&width(b)))?;
    let finding = Finding::new(
        FindingCode::PrecisionNotReached,
        Severity::Warning,
        format!(
            "{} of {} cells did not reach the asked precision; the widest is {} with ±{}.",
            wide.len(),
            profile.cells.len(),
            described(&widest.workload),
            percent(width(widest)),
        ),
        "Allow more time with --budget; on a shared disk some variation stays.",
    );
    Some(
        finding
            .with("cells that are not precise", wide.len() as f64, "")
            .with("cells", profile.cells.len() as f64, "")
            .with("widest half-width, as a share of its rate", width(widest), ""),
    )
}

/// Re-reads of a small area against random reads of the whole, one request at a time.
fn cache(profile: &Profile) -> Option<Finding> {
    let (hit, random) = profile.cells.iter().find_map(|hit| {
        let of = &hit.workload;
        let reads_one_by_one = |workload: &Workload| {
            workload.depth == 1
                && workload.cache == CacheMode::Device
                && workload.only_op() == Some(OpKind::Read)
        };
        if of.pattern != Pattern::Hit || !reads_one_by_one(of) {
            return None;
        }
        let random = profile.cells.iter().find(|cell| {
            let workload = &cell.workload;
            workload.pattern == Pattern::Random
                && reads_one_by_one(workload)
                && workload.bs == of.bs
        })?;
        Some((hit, random))
    })?;
    let ratio = hit.iops.value / random.iops.value;
    let (hit_rel, random_rel) = (hit.iops.se / hit.iops.value, random.iops.se / random.iops.value);
    // The variance of a ratio to first order: relative variances add.
    let half_width = NORMAL_95 * ratio * (hit_rel * hit_rel + random_rel * random_rel).sqrt();
    let size = format_bytes(hit.workload.max_bs().0);
    let (code, claim, remedy) = if ratio >= CACHE_GAIN && ratio - half_width > 1.0 {
        (
            FindingCode::CacheSeen,
            format!(
                "Re-reads of a small area are {} as fast as random reads ({size}, depth 1): a \
                 cache below the file system serves them.",
                times(ratio)
            ),
            "Expect the random numbers for data that was not read lately.",
        )
    } else if ratio + half_width < CACHE_GAIN {
        (
            FindingCode::NoCacheSeen,
            format!(
                "Re-reads of a small area are no faster than random reads ({size}, depth 1: {} \
                 ±{} of their rate): no cache seen.",
                percent(ratio),
                percent(half_width),
            ),
            "",
        )
    } else {
        return None;
    };
    Some(
        Finding::new(code, Severity::Info, claim, remedy)
            .with("rate of re-reads over rate of random reads", ratio, "")
            .with("lower end of its 95 % interval", ratio - half_width, "")
            .with("upper end of its 95 % interval", ratio + half_width, "")
            .confidence(Confidence::Likely),
    )
}

fn fit_poor(fit: &ServiceTimeFit) -> Option<Finding> {
    model::fit_is_poor(fit).then(|| {
        let claim = format!(
            "A straight line does not describe the time of {} {}s against their size: points lie \
             up to {} off.",
            fit.pattern.name(),
            fit.op.name(),
            percent(fit.max_residual_rel),
        );
        let remedy = "Use the measured times at each size instead of the line.";
        Finding::new(FindingCode::FitPoor, Severity::Warning, claim, remedy)
            .with("chi-square per degree of freedom", fit.reduced_chi_square, "")
            .with("largest distance from the line", fit.max_residual_rel, "")
            .with("sizes", fit.sizes_bytes.len() as f64, "")
            .confidence(Confidence::Likely)
    })
}

fn knee_not_reached(curve: &DepthCurve) -> Option<Finding> {
    let deepest = curve.points.last()?.depth;
    curve.knee.is_none().then(|| {
        let claim = format!(
            "The rate of random {}s still grew at the largest depth tried, {deepest}: the largest \
             rate seen is not the device's limit.",
            curve.op.name(),
        );
        let remedy = format!(
            "Try more: halfpower run TARGET --rw rand{} --iodepth {}.",
            curve.op.name(),
            deepest.saturating_mul(2),
        );
        Finding::new(FindingCode::KneeNotReached, Severity::Warning, claim, remedy)
            .with("largest depth", f64::from(deepest), "")
            .with("largest rate", curve.max_iops.value, "1/s")
            .confidence(Confidence::Likely)
    })
}

fn rotational(profile: &Profile) -> Option<Finding> {
    let device = profile.target.device.as_ref()?;
    let rotational = device.rotational.filter(|_| !device.rotational_trusted)?;
    let kind = if rotational { "rotational" } else { "not rotational" };
    Some(Finding::new(
        FindingCode::RotationalUntrusted,
        Severity::Info,
        format!(
            "The kernel calls {} {kind}, but that cannot be trusted: the disk is virtual, or \
             hidden behind a controller.",
            device.disk
        ),
        "Go by the measured times, not by the flag.",
    ))
}

fn small_area(profile: &Profile) -> Option<Finding> {
    let device_bytes = profile.target.device.as_ref()?.size_bytes.0;
    let area_bytes = profile.cells.iter().map(|cell| cell.workload.size_bytes.0).max()?;
    let share = area_bytes as f64 / device_bytes as f64;
    (device_bytes > 0 && share < SMALL_AREA_SHARE).then(|| {
        let claim = format!(
            "The measured area of {} is {} of the device: seeks are short and a cache may hold a \
             good part of it.",
            format_bytes(area_bytes),
            percent(share),
        );
        let remedy = "Measure a larger area with --size.";
        Finding::new(FindingCode::SmallArea, Severity::Info, claim, remedy)
            .with("measured area", area_bytes as f64, "bytes")
            .with("device", device_bytes as f64, "bytes")
    })
}

fn interrupted(omitted: Omitted) -> Option<Finding> {
    omitted.interrupted.then(|| {
        Finding::new(
            FindingCode::Interrupted,
            Severity::Warning,
            "The run was interrupted: this is what had finished.",
            "Run check again for the whole profile.",
        )
    })
}

fn writes_omitted(profile: &Profile, omitted: Omitted) -> Option<Finding> {
    omitted.writes.then(|| {
        let claim = if profile.target.kind == TargetKind::Directory {
            "Writes were not measured, as asked; the test file itself was written."
        } else {
            "Writes were not measured, as asked."
        };
        let remedy = "Leave out --no-write to measure them.";
        Finding::new(FindingCode::WritesSkipped, Severity::Info, claim, remedy)
    })
}

fn points_omitted(omitted: Omitted) -> Option<Finding> {
    (omitted.points > 0).then(|| {
        Finding::new(
            FindingCode::PointsSkipped,
            Severity::Info,
            format!(
                "{} points of the curves were left out: the device is slow for the budget.",
                omitted.points
            ),
            "Allow more time with --budget.",
        )
        .with("points left out", f64::from(omitted.points), "")
    })
}

/// `random 4 KiB reads at depth 8`.
fn described(workload: &Workload) -> String {
    let op = match workload.only_op() {
        Some(op) => format!("{}s", op.name()),
        None => "mixed requests".to_owned(),
    };
    format!(
        "{} {} {op} at depth {}",
        workload.pattern.name(),
        format_bytes(workload.max_bs().0),
        workload.depth
    )
}
