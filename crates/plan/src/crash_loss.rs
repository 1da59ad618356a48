//! Reports what a crash could lose in each cache mode of an experiment that writes.
//!
//! A table may contain write rates with and without durability, and those without are nearly always better.
//! So this finding states the risk next to the table. The kernel counts the unwritten bytes in the page
//! cache when a trial ends. The content of a drive's own cache cannot be counted from outside. Only its
//! existence is known, so the loss is reported as unknown, not as zero. Rejected: this finding for every
//! experiment with buffered writes, if no durable mode was measured and no choice exists.

use record::{CacheMode, Experiment, Finding, FindingCode, format_bytes};
use std::collections::BTreeMap;

/// The extra that counts bytes only in the page cache when a trial ended.
const UNWRITTEN: &str = "unwritten_bytes";
/// sysfs value for a drive without a volatile cache, or that claims so.
const WRITE_THROUGH: &str = "write through";

/// The finding; `None` if the experiment measured no choice of modes.
pub(crate) fn crash_loss(experiment: &Experiment) -> Option<Finding> {
    // The maximum of unwritten bytes per mode, if counted.
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

/// What the drives' own caches may lose, as far as known.
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
