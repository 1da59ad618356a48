//! Checks for a limit above the disk: the throttle of a control group.
//!
//! A throttle holds a request before any counter of the disk starts, so a throttled device looks idle in
//! its counters. The finding therefore compares the rate with the limit. If they are close, the limit
//! decided the result. If the rate is far below, the limit is only noted.

use record::{
    CgroupLimit, Confidence, DirectionResult, Finding, FindingCode, OpKind, Severity, Trial,
    format_iops, format_rate, format_share,
};

/// Minimum share of a limit at which the limit decides the rate. A throttle lets small bursts through and
/// wakes up late, so rates are both slightly above and below it.
const AT_LIMIT: f64 = 0.85;

/// The limit that the rate is closest to.
pub(super) fn cgroup(trial: &Trial) -> Option<Finding> {
    let limits = &trial.environment.as_ref()?.cgroup_limits;
    let with_share = |limit| {
        let (_, rate) = limited(trial, limit)?;
        Some((limit, rate / (limit.limit_per_s as f64).max(1e-9)))
    };
    let nearest =
        limits.iter().filter_map(with_share).max_by(|one, other| one.1.total_cmp(&other.1));
    let (limit, share) = nearest?;
    let (what, rate) = limited(trial, limit)?;
    let bytes = limit.limited.is_bytes();
    let text = |value: f64| {
        if bytes { format_rate(value) } else { format_iops(value) }
    };
    let asked = text(limit.limit_per_s as f64);
    let unit = if bytes { "bytes/s" } else { "IOPS" };
    let place =
        format!("The control group {:?} limits {what} on {}", limit.group, limit.major_minor);
    let (severity, claim) = if share >= AT_LIMIT {
        let claim = format!(
            "{place} to {asked}, and this run reached {}: the result is the limit, not the device.",
            text(rate)
        );
        (Severity::Warning, claim)
    } else {
        let share = format_share(share);
        let claim = format!("{place} to {asked}; this run reached {share} of that limit.");
        (Severity::Info, claim)
    };
    Some(
        Finding::new(FindingCode::CgroupLimit, severity, claim, CgroupLimit::LIFT)
            .with("limit", limit.limit_per_s as f64, unit)
            .with("rate over limit", share, "")
            .confidence(if share >= AT_LIMIT { Confidence::Likely } else { Confidence::Certain }),
    )
}

/// What a limit restricts, and the rate of that; `None` if the load contains nothing of the kind.
fn limited(trial: &Trial, limit: &CgroupLimit) -> Option<(&'static str, f64)> {
    let result = &trial.result;
    let (what, direction): (&str, &DirectionResult) = match limit.limited.op() {
        OpKind::Read => ("reads", result.read.as_ref()?),
        OpKind::Write => ("writes", result.write.as_ref()?),
    };
    let rate = if limit.limited.is_bytes() { direction.bytes_per_s } else { direction.iops };
    Some((what, rate))
}
