//! Checks whether the load was as requested: its depth, arrivals, length and steadiness.

use super::FEW_REQUESTS;
use crate::control::byte_limit;
use record::{
    Arrival, Confidence, Discipline, EndedBy, EngineName, Finding, FindingCode, Severity, Trial,
    format_count, format_interval, format_iops, format_nanos, format_share,
};

/// Minimum mean depth, as a share of the requested depth.
const HELD_SHARE: f64 = 0.75;
/// Minimum requests per unit of depth for this check.
const ROUNDS_MIN: f64 = 20.0;
/// Maximum share of the arrivals that may wait when the window ends; more means that the queue was growing.
const BACKLOG_SHARE: f64 = 0.02;
/// Arrivals that may always wait at the end of a window, as a burst of a Poisson process leaves them.
const BACKLOG_MIN: f64 = 10.0;
/// Maximum share of the mean latency that the pacer itself may add.
const PACER_SHARE: f64 = 0.1;

/// The engine cannot reach the requested depth, or the program did not sustain it.
pub(super) fn depth(trial: &Trial) -> Option<Finding> {
    let workload = &trial.workload;
    let one_per_job = matches!(workload.engine, EngineName::Sync | EngineName::Mmap);
    // The depth of an open loop is a default, not a request: it has as many slots as it needs. A lost
    // client explains a lower depth.
    let is_lost = |clients: &record::Clients| clients.each.iter().any(|it| it.lost.is_some());
    if workload.arrival != Arrival::Closed || trial.clients.as_deref().is_some_and(is_lost) {
        return None;
    }
    if !one_per_job || workload.iodepth == 1 {
        return held_up(trial);
    }
    Some(
        Finding::warning(
            FindingCode::DepthNotReached,
            format!(
                "The {} engine has one request in flight per job: the queue depth was {}, not {}.",
                workload.engine.name(),
                workload.numjobs,
                workload.depth
            ),
            format!("Use --numjobs {} or --ioengine io_uring (on Windows, iocp).", workload.depth),
        )
        .with("requested queue depth", f64::from(workload.depth), "")
        .with("requests in flight", trial.result.concurrency, ""),
    )
}

/// A closed loop sustains its depth, except for the time between a completion and the next hand-over.
fn held_up(trial: &Trial) -> Option<Finding> {
    let workload = &trial.workload;
    let (asked, held) = (f64::from(workload.depth), trial.result.concurrency);
    // With few requests per slot, those cut off by the end of the window are too large a share.
    let rounds = trial.completed() as f64 / asked;
    // Failed requests were in flight too, for a time that was not recorded.
    let failed = trial.failed() > 0;
    let idle = workload.engine == EngineName::Null
        || failed
        || workload.think_ns.0 > 0
        || workload.flush.is_some()
        || trial.result.ended_by == Some(EndedBy::Silence)
        || super::harness::ceiling(trial).is_some()
        || rounds < ROUNDS_MIN;
    let (why, remedy) = match workload.discipline {
        Discipline::OldestFirst => (
            "completed requests waited for an older one",
            "This is due to --completion oldest-first; with --completion any, each completion \
             starts the next request.",
        ),
        _ => (
            "halfpower was busy between requests",
            "Look for a busy CPU, or increase --numjobs and reduce --iodepth.",
        ),
    };
    (!idle && held < HELD_SHARE * asked).then(|| {
        Finding::warning(
            FindingCode::DepthNotReached,
            format!("Only {held:.2} of {asked} requests were in flight on average: {why}."),
            remedy,
        )
        .with("requests in flight", held, "")
        .confidence(Confidence::Likely)
    })
}

/// Open loop: arrivals queued up, or this program handed them over late.
pub(super) fn fell_behind(trial: &Trial) -> Option<Finding> {
    let open = trial.result.open_loop.as_ref()?;
    let arrivals = open.offered_iops * trial.result.duration_ns.as_secs_f64();
    let waiting = open.backlog_end as f64;
    let done = trial.iops();
    if waiting > (BACKLOG_SHARE * arrivals).max(BACKLOG_MIN) {
        return Some(
            Finding::warning(
                FindingCode::FellBehind,
                format!(
                    "Requests arrived at {} and completed at {}: {} were still waiting at the \
                     end, so latency grows with the length of the run.",
                    format_iops(open.offered_iops),
                    format_iops(done),
                    format_count(waiting)
                ),
                "Offer less than the target can sustain (--rate-iops), or raise the maximum queue \
                 depth (--iodepth, --numjobs).",
            )
            .with("arrivals waiting at the end", waiting, "")
            .with("longest wait before submission", open.late_max_ns as f64, "ns"),
        );
    }
    let (late, latency) = (open.pacer_late_mean_ns?, trial.latency_ns()?);
    (late > PACER_SHARE * latency).then(|| {
        Finding::warning(
            FindingCode::FellBehind,
            format!(
                "halfpower submitted requests {} late on average, although a slot was free: {} of \
                 the mean latency is due to this delay.",
                format_nanos(late),
                format_share(late / latency)
            ),
            "Increase --numjobs, or use a machine with idle CPUs. Completion times exclude this \
             delay.",
        )
        .with("pacer late by", late, "ns")
        .confidence(Confidence::Likely)
    })
}

pub(super) fn few(trial: &Trial) -> Option<Finding> {
    let count = trial.completed();
    (count < FEW_REQUESTS).then(|| {
        let severity = if count == 0 { Severity::Invalid } else { Severity::Warning };
        Finding::new(
            FindingCode::TooFewRequests,
            severity,
            format!(
                "Only {} completed in the measured time.",
                record::counted(count as f64, "request")
            ),
            "Use a longer --runtime.",
        )
        .with("completed requests", count as f64, "")
    })
}

fn wide(trial: &Trial) -> Option<f64> {
    let widths = trial.directions().filter_map(|direction| direction.iops_ci95_rel);
    widths.reduce(f64::min).filter(|width| *width > stats::WIDE_REL)
}

pub(super) fn steady(trial: &Trial) -> Option<Finding> {
    let series = &trial.result.series.ios;
    let half = series.len() / 2;
    let mean = |part: &[u64]| part.iter().sum::<u64>() as f64 / part.len().max(1) as f64;
    // If the device failed or fell silent, another finding explains the variation.
    let told = matches!(
        trial.result.ended_by,
        Some(EndedBy::Silence | EndedBy::Failures | EndedBy::Interrupted)
    );
    (trial.result.steady == Some(false) && !told).then(|| {
        let (first, second) = (mean(&series[..half]), mean(&series[half..]));
        let change = second / first.max(1e-9) - 1.0;
        let claim = match wide(trial) {
            Some(width) => format!(
                "The rate drifted during the run, so its mean is known only to {}: the second \
                 half ran at {:+.0} % relative to the first.",
                format_interval(width),
                change * 100.0
            ),
            None => format!(
                "The rate changed during the run: the second half ran at {:+.0} % relative to the \
                 first.",
                change * 100.0
            ),
        };
        Finding::warning(
            FindingCode::NotSteady,
            claim,
            "Use --ramp-time to exclude the start, or a longer --runtime.",
        )
        .with("first half over second half", first / second.max(1e-9), "")
        .confidence(Confidence::Likely)
    })
}

/// The warm-up that was cut off.
pub(super) fn warm_up(trial: &Trial) -> Option<Finding> {
    let warm_up = trial.result.warm_up.as_ref()?;
    let rest = trial.iops();
    Some(
        Finding::note(
            FindingCode::WarmUpCut,
            format!(
                "The first {} ran at {}, the rest at {}: the numbers exclude the start.",
                format_nanos(warm_up.duration_ns.0 as f64),
                format_iops(warm_up.iops),
                format_iops(rest)
            ),
            "Use --keep-warm-up to include the start.",
        )
        .with("requests excluded", warm_up.ios as f64, "")
        .confidence(Confidence::Likely),
    )
}

/// The run time ended before the stop rule was met.
pub(super) fn stop_rule(trial: &Trial) -> Option<Finding> {
    let stop = &trial.workload.stop;
    if trial.result.ended_by.is_some() {
        return None;
    }
    if let Some(asked) = stop.precision_ppm {
        let asked = f64::from(asked) / 1e6;
        let widths = trial.directions().filter_map(|direction| direction.iops_ci95_rel);
        let reached = widths.fold(f64::NAN, f64::max);
        // Checks are few, and the whole run is one more.
        if reached <= asked {
            return None;
        }
        let reached_text = if reached.is_nan() {
            "has no error bar yet".to_owned()
        } else {
            format!("is known to {}", format_interval(reached))
        };
        let claim = format!(
            "The run ended before it reached the requested precision, {}: the rate {reached_text}.",
            format_interval(asked)
        );
        let remedy = "Allow a longer --runtime, or ask for less precision.";
        let finding = Finding::warning(FindingCode::StopRuleNotMet, claim, remedy);
        return Some(finding.with("requested precision", asked, "share"));
    }
    let passes = u64::from(stop.passes.unwrap_or(1));
    let recorded = trial.workload.replay.as_ref().map(|it| it.bytes.0.saturating_mul(passes));
    let asked = recorded.or_else(|| Some(byte_limit(&trial.workload)?.0))?;
    let done = super::bytes(trial);
    (done < asked).then(|| {
        Finding::warning(
            FindingCode::StopRuleNotMet,
            format!(
                "The run ended after {} of the requested bytes.",
                format_share(done as f64 / asked as f64)
            ),
            "Allow a longer --runtime.",
        )
        .with("requested bytes", asked as f64, "bytes")
        .with("bytes transferred", done as f64, "bytes")
    })
}

pub(super) fn not_preconditioned(trial: &Trial) -> Option<Finding> {
    let preconditioning = trial.preconditioning.as_ref().filter(|it| !it.steady)?;
    let rounds = &preconditioning.round_iops;
    let last = &rounds[rounds.len().saturating_sub(5)..];
    let last: Vec<String> = last.iter().map(|rate| format_count(*rate)).collect();
    Some(
        Finding::warning(
            FindingCode::NotPreconditioned,
            format!(
                "After {} rounds of writing, the last five still differed by more than 20 % \
                 ({}/s): the device was not in its steady state.",
                rounds.len(),
                last.join(", ")
            ),
            "Run it again: the rounds continue from the current state of the device.",
        )
        .with("rounds", rounds.len() as f64, ""),
    )
}
