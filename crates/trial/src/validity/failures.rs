//! Reports requests that went wrong: failed, short, never completed, or returned other data than was
//! written. Each makes a trial invalid, because the result covers only the requests that worked.

use crate::verify::fault_name;
use record::{BlockFault, EndedBy, Finding, FindingCode, Trial, format_nanos};

/// Maximum number of bad blocks that a finding names.
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
            "Check the system log (dmesg, or the event log). The times above exclude the failed \
             requests.",
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
                "{} transferred less than requested; they are not counted.",
                record::counted(count as f64, "request")
            ),
            "The file may have been truncated during the run; use a target whose size does not change.",
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
                "No request completed for {}, so the run ended; its numbers cover the requests \
                 completed before.",
                format_nanos(allowed_ns)
            ),
            "Check the system log (dmesg, or the event log), the path to the device, and whether a \
             file system on it is frozen. --io-timeout sets the maximum time without a completion.",
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
                "The run was interrupted: the numbers cover {} of {}.",
                format_nanos(measured.0 as f64),
                format_nanos(asked.0 as f64)
            ),
            "Run it again to get the complete result.",
        )
        .with("measured", measured.0 as f64, "ns")
        .with("requested", asked.0 as f64, "ns")
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
                "{bad} of {} blocks differ from the data that was written: {}. First: {}.",
                bad + verify.good,
                kinds.join(", "),
                named.join("; ")
            ),
            "Do not trust this path with data. Check cables, memory, firmware and the layers in \
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
                "In {bad} of {} rows the legs of the array are inconsistent: {}.",
                bad + check.good,
                named.join("; ")
            ),
            "No target can be recomputed from the others. Run with --verify and a write load \
             (which first makes the legs consistent), or rebuild the leg that you know to be \
             wrong.",
        )
        .with("inconsistent rows", bad as f64, "")
        .with("consistent rows", check.good as f64, "")
    })
}
