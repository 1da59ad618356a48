//! Requests that did not do what was asked: failed, short, never answered, answered with other
//! data than was written. All of them make a trial invalid, because what is left of it is the part
//! that worked.

use crate::verify::fault_name;
use record::{BlockFault, EndedBy, Finding, FindingCode, Trial, format_nanos};

/// Bad blocks that are named in a claim.
const BLOCKS_NAMED: usize = 2;

pub(super) fn errors(trial: &Trial) -> Option<Finding> {
    let count: u64 = trial.kinds().map(|(.., kind)| kind.errors).sum();
    let kinds: Vec<String> = trial
        .kinds()
        .flat_map(|(.., kind)| &kind.error_kinds)
        .map(|kind| format!("{} x {}", kind.count, kind.message))
        .collect();
    (count > 0).then(|| {
        Finding::invalid(
            FindingCode::IoErrors,
            format!("{} failed: {}.", record::counted(count as f64, "request"), kinds.join(", ")),
            "Look at the system's log (dmesg, or the event log); the times above are of the others only.",
        )
        .with("failed requests", count as f64, "")
        .with("completed requests", trial.completed() as f64, "")
    })
}

pub(super) fn short(trial: &Trial) -> Option<Finding> {
    let count: u64 = trial.directions().map(|direction| direction.short).sum();
    (count > 0).then(|| {
        Finding::invalid(
            FindingCode::ShortTransfers,
            format!(
                "{} transferred less than asked; they are not counted.",
                record::counted(count as f64, "request")
            ),
            "The file may have been truncated during the run; use a target that keeps its size.",
        )
        .with("short requests", count as f64, "")
    })
}

pub(super) fn silent(trial: &Trial) -> Option<Finding> {
    let allowed_ns = trial.workload.stop.io_timeout_ns.0 as f64;
    (trial.result.ended_by == Some(EndedBy::Silence)).then(|| {
        Finding::invalid(
            FindingCode::DeviceSilent,
            format!(
                "No request was answered for {}: the run ended with the requests that had completed by \
                then.",
                format_nanos(allowed_ns)
            ),
            "Look at the system's log (dmesg, or the event log) and the path to the device, and whether a file system \
             on it is frozen; --io-timeout sets how long it may be silent.",
        )
        .with("time allowed", allowed_ns, "ns")
        .with("completed requests", trial.completed() as f64, "")
    })
}

pub(super) fn interrupted(trial: &Trial) -> Option<Finding> {
    let (measured, asked) = (trial.result.duration_ns, trial.workload.runtime_ns);
    (trial.result.ended_by == Some(EndedBy::Interrupted)).then(|| {
        Finding::warning(
            FindingCode::Interrupted,
            format!(
                "The run was interrupted: the numbers are of {} of {}.",
                format_nanos(measured.0 as f64),
                format_nanos(asked.0 as f64)
            ),
            "Run it again for the whole of it.",
        )
        .with("measured", measured.0 as f64, "ns")
        .with("asked", asked.0 as f64, "ns")
    })
}

pub(super) fn corrupt(trial: &Trial) -> Option<Finding> {
    let verify = trial.result.verify.as_ref()?;
    let counts = [
        (BlockFault::Lost, verify.lost),
        (BlockFault::Misplaced, verify.misplaced),
        (BlockFault::Torn, verify.torn),
        (BlockFault::Stale, verify.stale),
    ];
    let bad: u64 = counts.iter().map(|(_, count)| count).sum();
    let kinds: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(fault, count)| format!("{count} {}", fault_name(*fault)))
        .collect();
    let named: Vec<&str> =
        verify.bad.iter().take(BLOCKS_NAMED).map(|block| block.detail.as_str()).collect();
    (bad > 0).then(|| {
        Finding::invalid(
            FindingCode::DataCorrupt,
            format!(
                "{bad} of {} blocks read back are not what was written: {}. First: {}.",
                bad + verify.good,
                kinds.join(", "),
                named.join("; ")
            ),
            "Do not trust this path with data: check cables, memory, firmware and the layers \
             between; result.verify.bad lists the blocks.",
        )
        .with("bad blocks", bad as f64, "")
        .with("good blocks", verify.good as f64, "")
    })
}

pub(super) fn array(trial: &Trial) -> Option<Finding> {
    let check = trial.result.array.as_ref()?.check.as_ref()?;
    let (bad, named) = (check.bad, check.first_bad.iter().take(BLOCKS_NAMED));
    let named: Vec<&str> = named.map(String::as_str).collect();
    (bad > 0).then(|| {
        Finding::invalid(
            FindingCode::ArrayInconsistent,
            format!(
                "In {bad} of {} rows the legs of the array do not agree: {}.",
                bad + check.good,
                named.join("; ")
            ),
            "One target cannot be recomputed from the others: run with --verify and a write              load, which makes them agree first, or rebuild the leg that is known to be wrong.",
        )
        .with("rows that do not agree", bad as f64, "")
        .with("rows that agree", check.good as f64, "")
    })
}
