//! Computes the CPU cost of a trial, and compares its two bounds.
//!
//! The lower bound is the time that the scheduler charged to this process, including its io_uring workers
//! (`iou-wrk`, `iou-sqp`). It excludes interrupts, kernel workers of a loop device or a file system, and
//! the hypervisor. The upper bound comes from a run next to a soaker; the true cost lies between the two.
//! Time that the pacer of an open loop spent polling is subtracted, from user time first.

use engine::{CpuSample, MachineTimes, Processors};
use record::{Confidence, CpuCost, CpuSplit, CpuUpper, Estimate, Finding, FindingCode, Measured};

const MIB: f64 = (1 << 20) as f64;
/// Minimum difference between the bounds for a finding, as a share of the upper one.
const ELSEWHERE_SHARE_MIN: f64 = 0.1;
/// Minimum difference for a finding, in µs per request: less is within the error of a soaker.
const ELSEWHERE_US_MIN: f64 = 0.1;

/// The cost of `ios` requests with `bytes` bytes between two samples, less the `spin_ns` of polling.
#[must_use]
pub fn cpu_cost(
    before: &CpuSample,
    after: &CpuSample,
    ios: u64,
    bytes: u64,
    spin_ns: u64,
    split: CpuSplit,
    processors: &Processors,
) -> CpuCost {
    let delta = |field: fn(&CpuSample) -> u64| field(after).saturating_sub(field(before));
    let (user_ns, system_ns) = (delta(|sample| sample.user_ns), delta(|sample| sample.system_ns));
    let spin_in_user = spin_ns.min(user_ns);
    let user_ns = user_ns - spin_in_user;
    let system_ns = system_ns.saturating_sub(spin_ns - spin_in_user);
    let total_ns = (user_ns + system_ns) as f64;
    let per = |amount: u64, value: f64| (amount > 0).then(|| value / amount as f64);
    // Rate with all processors busy: their number divided by the time that one request, or one byte, takes.
    let saturation = |amount: u64| {
        let ns_each = per(amount, total_ns).filter(|&ns| ns > 0.0 && processors.usable > 0.0)?;
        Some(processors.usable * 1e9 / ns_each)
    };
    let instructions = before.instructions.zip(after.instructions);
    let machine = |field: fn(MachineTimes) -> Option<u64>| {
        let (before, after) = (before.machine.and_then(field)?, after.machine.and_then(field)?);
        Some(after.saturating_sub(before) as f64 / 1e6)
    };
    CpuCost {
        user_ms: user_ns as f64 / 1e6,
        system_ms: system_ns as f64 / 1e6,
        workers_ms: delta(|sample| sample.workers_ns) as f64 / 1e6,
        lower_us_per_io: per(ios, total_ns / 1e3),
        upper_us_per_io: None,
        upper_method: None,
        upper: None,
        clocks_per_byte: processors
            .clock
            .as_ref()
            .and_then(|clock| per(bytes, total_ns / 1e9 * clock.hz)),
        clock: processors.clock.clone(),
        instructions_per_io: match instructions {
            Some(_) if ios == 0 => Measured::not("no request completed"),
            Some((before, after)) => {
                Measured::Value(after.saturating_sub(before) as f64 / ios as f64)
            }
            None => Measured::not(processors.no_instructions_reason.clone()),
        },
        saturation_iops: saturation(ios),
        saturation_bytes_per_s: saturation(bytes),
        ms_per_mib: per(bytes, total_ns / 1e6 * MIB),
        steal_ms: machine(|times| times.steal_ns),
        all_cpus_ms: machine(|times| Some(times.all_ns)),
        others_user_ms: machine(|times| Some(times.user_ns))
            .map(|all_ms| (all_ms - user_ns as f64 / 1e6).max(0.0)),
        idle_ms: machine(|times| Some(times.idle_ns)),
        split,
    }
}

/// Findings from the two bounds, once both are known: whether other processes or the kernel do work for
/// this load, and whether the upper bound can be trusted.
#[must_use]
pub fn cpu_findings(cost: &CpuCost) -> Vec<Finding> {
    let Some(upper) = &cost.upper else { return Vec::new() };
    let mut found = Vec::new();
    found.extend(cost.lower_us_per_io.and_then(|lower| order(lower, upper)));
    found.extend(doubts(upper));
    found.extend(elsewhere(upper));
    found
}

/// The upper bound must not be below the lower one by more than its interval.
fn order(lower_us: f64, upper: &CpuUpper) -> Option<Finding> {
    if lower_us <= upper.us_per_io.high {
        return None;
    }
    let same_pass = upper.lower_us_per_io.map(|estimate| estimate.value);
    let why = match same_pass {
        Some(charged) if charged <= upper.us_per_io.high => {
            "the load costs less CPU time when the CPUs do not sleep between requests, so the \
             upper bound is valid only for machines whose CPUs stay awake"
        }
        _ if !upper.doubts.is_empty() => "the doubts listed with the upper bound explain this",
        _ => {
            "the calibration of the background threads was too low, or they got more CPU time \
              than expected"
        }
    };
    let mut finding = Finding::warning(
        FindingCode::CpuBoundUnsure,
        format!("The upper bound of the CPU cost is below the lower bound: {why}."),
        "Use the lower bound, or repeat --cpu-upper on a quiet machine with a longer --runtime.",
    )
    .with("lower bound", lower_us, "µs/request")
    .with("upper bound", upper.us_per_io.value, "µs/request")
    .with("upper end of its interval", upper.us_per_io.high, "µs/request");
    if let Some(charged) = same_pass {
        finding = finding.with("lower bound in the same pass", charged, "µs/request");
    }
    Some(finding.confidence(Confidence::Likely))
}

fn doubts(upper: &CpuUpper) -> Option<Finding> {
    if upper.doubts.is_empty() {
        return None;
    }
    let list = upper.doubts.join("; ");
    Some(
        Finding::warning(
            FindingCode::CpuBoundUnsure,
            format!("The upper bound of the CPU cost is unreliable: {list}."),
            "Use the bound only as a rough figure, or remove the cause and repeat --cpu-upper.",
        )
        .with("upper bound", upper.us_per_io.value, "µs/request")
        .with("change of the calibration", upper.calibration_change_rel * 100.0, "%")
        .with("busy without the load", upper.baseline_share * 100.0, "%")
        .confidence(Confidence::Possible),
    )
}

/// CPU time beyond what the load's own processes were charged, outside the interval and the margin.
fn elsewhere(upper: &CpuUpper) -> Option<Finding> {
    let Estimate { value, low, .. } = upper.elsewhere_us_per_io?;
    let margin = (ELSEWHERE_SHARE_MIN * upper.us_per_io.value).max(ELSEWHERE_US_MIN);
    if low <= 0.0 || value <= margin {
        return None;
    }
    let charged = upper.us_per_io.value - value;
    let confidence =
        if upper.doubts.is_empty() { Confidence::Likely } else { Confidence::Possible };
    Some(
        Finding::warning(
            FindingCode::CpuChargedElsewhere,
            "Part of the CPU time is not charged to this program: kernel workers, interrupts or \
             another busy program used it.",
            "To size a machine for this load, use the upper bound.",
        )
        .with("charged to this program", charged, "µs/request")
        .with("charged elsewhere", value, "µs/request")
        .with("upper bound", upper.us_per_io.value, "µs/request")
        .confidence(confidence),
    )
}
