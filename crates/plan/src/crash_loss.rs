//! What a crash could lose in each cache mode of an experiment that writes.
//!
//! A rate of writes that may be lost and a rate of writes that may not stand in one table, and the
//! first is nearly always the better one: so the table says beside it what it was had for. The page
//! cache's share is counted by the kernel when a trial ends. What a drive's own cache holds cannot be
//! counted from outside, only whether it has one; it is stated as unknown and not as none. Rejected:
//! to say it of every experiment with buffered writes, where no durable mode was measured and there is
//! nothing to choose.

use record::{CacheMode, Experiment, Finding, FindingCode, format_bytes};
use std::collections::BTreeMap;

/// The extra that counts what was only in the page cache when a trial ended.
const UNWRITTEN: &str = "unwritten_bytes";
/// sysfs' word for a drive that has no volatile cache, or says so.
const WRITE_THROUGH: &str = "write through";

/// The finding; `None` where a choice of modes was not measured.
pub(crate) fn crash_loss(experiment: &Experiment) -> Option<Finding> {
    // The most that was unwritten, where it was counted, of each mode.
    let mut modes: BTreeMap<CacheMode, Option<f64>> = BTreeMap::new();
    for done in &experiment.done {
        let planned = experiment.plan.get(done.position as usize)?;
        if planned.workload.writes() {
            let most = modes.entry(planned.workload.cache).or_default();
            if let Some(bytes) = done.extras.get(UNWRITTEN) {
                *most = Some(most.map_or(*bytes, |most| most.max(*bytes)));
            }
        }
    }
    let durable = modes.keys().filter(|mode| mode.synchronous()).count();
    if durable == 0 || durable == modes.len() {
        return None;
    }
    let drive = drive_cache(experiment);
    let parts: Vec<String> = modes
        .iter()
        .map(|(mode, most)| format!("{}: {}", mode.name(), loss(*mode, *most, drive)))
        .collect();
    let most = modes.values().flatten().copied().fold(0.0, f64::max);
    Some(
        Finding::note(
            FindingCode::CrashLoss,
            format!(
                "Completed writes that a crash could lose, by cache mode: {}.",
                parts.join("; ")
            ),
            "For durable writes, use --cache none or fs, or flushes; the effects on this page \
             show the cost.",
        )
        .with("only in the page cache", most, "bytes")
        .with("modes", modes.len() as f64, ""),
    )
}

fn loss(mode: CacheMode, most: Option<f64>, drive: &str) -> String {
    match (mode, most) {
        (CacheMode::Fs | CacheMode::None, _) => "nothing".to_owned(),
        (CacheMode::Device, _) => format!("until a flush, {drive}"),
        (CacheMode::All, Some(bytes)) => {
            let held = format_bytes(bytes as u64);
            format!(
                "the contents of the page cache (at most {held} when a trial ended), and {drive}"
            )
        }
        (CacheMode::All, None) => format!("the contents of the page cache, and {drive}"),
    }
}

/// What the caches of the drives hold, as far as they tell.
fn drive_cache(experiment: &Experiment) -> &'static str {
    let drives = || experiment.targets.iter().map(|target| target.device.as_ref());
    let through = |drive: Option<&record::DeviceFacts>| {
        drive.and_then(|drive| drive.write_cache.as_deref()) == Some(WRITE_THROUGH)
    };
    match !experiment.targets.is_empty() && drives().all(through) {
        true => "nothing more, because the drive reports that it does not cache writes",
        false => "the contents of the drive's cache",
    }
}
