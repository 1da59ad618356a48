//! Compares our bytes with those that the device counted.
//!
//! If the device counted fewer bytes, a layer above it served the rest. Which layer it was depends on how
//! the target was opened and on the file system. If the device counted more, another process was active, or
//! the file system wrote more for our requests than they contain.

use super::area::left_cached;
use super::{Traffic, bytes, extents, filesystems, mean_bytes, traffic};
use record::{
    CacheMode, Confidence, EngineName, Finding, FindingCode, Trial, format_bytes, format_share,
};

/// Minimum factor of unmerged device requests over ours for them to be the page cache's read-ahead.
const READ_AHEAD_FACTOR: f64 = 1.5;
/// Maximum share of merged requests on the device for that conclusion.
const MERGED_SHARE: f64 = 0.01;
/// Bytes in the unused direction that any system transfers now and then, for its journal or logs.
const HOUSEKEEPING_BYTES: f64 = 1_048_576.0;
/// What to do about other programs on the device.
const QUIET: &str = "Run again when the device is quiet; iotop and pidstat -d (on Windows, \
                     Resource Monitor) show the programs.";
/// File systems that write overwritten data to a new place, with all the metadata above it.
const COPYING: [&str; 4] = ["btrfs", "bcachefs", "zfs", "f2fs"];

/// Buffered reads that the page cache served.
pub(super) fn page_cache(trial: &Trial) -> Option<Finding> {
    let workload = &trial.workload;
    let traffic = traffic(trial)?;
    let Traffic { counters, ratio, .. } = traffic;
    // Pages that could not be dropped have a finding of their own, which names the process that holds them.
    let left = left_cached(trial).is_some_and(|share| 1.0 - ratio <= share + traffic.tolerance);
    let unexplained = !stored_compressed(trial) && !left;
    let buffered = !workload.cache.direct() && workload.read_percent == 100;
    (buffered && traffic.less() && unexplained).then(|| {
        let remedy = match trial.cache_dropped {
            Some(_) => {
                "Use --cache device to measure the device, or --passes 1 to read each block only \
                 once."
            }
            None => {
                "Use --cache device to measure the device, or --drop-cache dontneed for a cold start."
            }
        };
        Finding::warning(
            FindingCode::PageCacheServed,
            format!(
                "The page cache served {:.0} % of the bytes: this run measured memory, not {}.",
                (1.0 - ratio) * 100.0,
                counters.device
            ),
            remedy,
        )
        .with("device bytes over this run's", ratio, "")
    })
}

/// Whether the extents show that the data read are stored compressed.
fn stored_compressed(trial: &Trial) -> bool {
    extents(trial).any(|extents| extents.compressed_bytes.0 > 0)
}

/// Writes that the file system compressed.
pub(super) fn compressed(trial: &Trial) -> Option<Finding> {
    let workload = &trial.workload;
    let traffic = traffic(trial)?;
    let Traffic { counters, ratio, .. } = traffic;
    // Plain buffered writes reach the device whenever the kernel decides.
    let timely = workload.cache.direct() || workload.cache.synchronous();
    let compresses = filesystems(trial).any(|filesystem| filesystem.compresses);
    let ours = compresses && workload.writes() && timely && traffic.less();
    (ours && direct_ignored(trial).is_none()).then(|| {
        Finding::warning(
            FindingCode::DataCompressed,
            format!(
                "The file system compressed the data: {} counted {:.0} % of the bytes that this \
                 run wrote.",
                counters.device,
                ratio * 100.0
            ),
            "Write incompressible data (the default, without --zeros and --compressible), or \
             measure a directory that is not compressed.",
        )
        .with("device bytes over this run's", ratio, "")
        .confidence(Confidence::Likely)
    })
}

/// Direct requests that went through the page cache.
pub(super) fn direct_ignored(trial: &Trial) -> Option<Finding> {
    no_direct(trial).or_else(|| read_ahead(trial))
}

/// The kernel accepts O_DIRECT for the file, reports that it does not support it, and uses the page cache.
fn no_direct(trial: &Trial) -> Option<Finding> {
    let filesystem = filesystems(trial).find(|it| it.direct_alignment_bytes == Some(0))?;
    let real = trial.workload.engine != EngineName::Null;
    let finding = Finding::invalid(
        FindingCode::DirectIgnored,
        format!(
            "According to the kernel, {} accepts O_DIRECT but ignores it for this file: every \
             request went through the page cache.",
            filesystem.kind
        ),
        "Look for the reason: data=journal, encryption, verity or inline data. Or use --cache all, \
         whose numbers include the page cache.",
    )
    .with("alignment of direct requests, 0 for none", 0.0, "");
    (trial.workload.cache.direct() && !filesystem.in_memory && real).then_some(finding)
}

/// Direct reads that reached the device as read-ahead requests of the page cache.
fn read_ahead(trial: &Trial) -> Option<Finding> {
    let workload = &trial.workload;
    let traffic = traffic(trial)?;
    let counters = traffic.counters;
    let theirs = counters.mean_request_bytes?;
    let ours = mean_bytes(trial);
    let larger = theirs > READ_AHEAD_FACTOR * ours;
    let merged = counters.merges as f64 > MERGED_SHARE * counters.ios as f64;
    let eligible = workload.cache.direct() && workload.read_percent == 100 && !traffic.more();
    (eligible && larger && !merged).then(|| {
        Finding::warning(
            FindingCode::DirectIgnored,
            format!(
                "Requests of {} reached {} as {}, without merges: O_DIRECT was accepted but \
                 ignored, and the page cache read ahead.",
                format_bytes(ours as u64),
                counters.device,
                format_bytes(theirs as u64)
            ),
            "Use --cache all, whose numbers include the page cache, or a file system that supports \
             O_DIRECT.",
        )
        .with("size at the device", theirs, "bytes")
        .with("device bytes over this run's", traffic.ratio, "")
        .confidence(Confidence::Likely)
    })
}

/// Direct requests that the device did not see, for an unknown reason.
pub(super) fn device_saw_less(trial: &Trial) -> Option<Finding> {
    let workload = &trial.workload;
    let traffic = traffic(trial)?;
    let Traffic { counters, ratio, .. } = traffic;
    let holes = extents(trial).any(|extents| extents.hole_bytes.0 + extents.unwritten_bytes.0 > 0);
    let explained = direct_ignored(trial).is_some()
        || compressed(trial).is_some()
        || stored_compressed(trial)
        || (holes && workload.read_percent > 0);
    (workload.cache.direct() && traffic.less() && !explained).then(|| {
        Finding::warning(
            FindingCode::DeviceSawLess,
            format!(
                "{} counted only {:.0} % of the bytes of this run although the page cache was \
                 bypassed.",
                counters.device,
                ratio * 100.0
            ),
            "Something above that device serves requests: a cache layer, holes, or a file system \
             that ignores O_DIRECT.",
        )
        .with("device bytes over this run's", ratio, "")
    })
}

/// Device traffic that was not ours.
pub(super) fn foreign(trial: &Trial) -> Option<Finding> {
    same_direction(trial).or_else(|| other_direction(trial))
}

fn same_direction(trial: &Trial) -> Option<Finding> {
    let traffic = traffic(trial)?;
    let Traffic { counters, ratio, .. } = traffic;
    // Synchronous writes and flushes make the file system write its journal, buffered loads read ahead, and
    // a copy-on-write file system writes its trees. In these cases the load itself causes the surplus.
    let copying = trial.workload.writes()
        && filesystems(trial).any(|filesystem| COPYING.contains(&filesystem.kind.as_str()));
    let plain = trial.workload.cache == CacheMode::Device && trial.workload.flush.is_none();
    let countable = plain && !copying && direct_ignored(trial).is_none();
    (countable && traffic.more()).then(|| {
        let surplus = counters.bytes as f64 * (1.0 - 1.0 / ratio);
        Finding::warning(
            FindingCode::ForeignIo,
            format!(
                "Other programs transferred {} on {} during the run, {:.0} % of this run's bytes.",
                format_bytes(surplus as u64),
                counters.device,
                (ratio - 1.0) * 100.0
            ),
            QUIET,
        )
        .with("device bytes over this run's", ratio, "")
        .confidence(Confidence::Likely)
    })
}

/// The load only read and the device wrote as well, or the other way round.
fn other_direction(trial: &Trial) -> Option<Finding> {
    let traffic = traffic(trial)?;
    let other = traffic.counters.other_bytes? as f64;
    let share = other / bytes(trial).max(1) as f64;
    // Buffered writes make the file system read blocks that they cover only partly.
    let ours = !trial.workload.cache.direct() && trial.workload.writes();
    (!ours && share > traffic.tolerance && other > HOUSEKEEPING_BYTES).then(|| {
        let (others, own) =
            if trial.workload.writes() { ("read", "wrote") } else { ("wrote", "read") };
        Finding::warning(
            FindingCode::ForeignIo,
            format!(
                "Other programs {others} {} on {} ({} of this run's bytes), but this run only \
                 {own}.",
                format_bytes(other as u64),
                traffic.counters.device,
                format_share(share)
            ),
            QUIET,
        )
        .with("their bytes over this run's", share, "")
        .confidence(Confidence::Likely)
    })
}
