//! Checks whether the area itself distorts the numbers: unwritten, small enough for a cache, stored
//! compressed, or still in the page cache after it was dropped.
//!
//! The size of a device's cache is seldom known, so "cache-sized" is an assumption, and the finding says
//! so. Below [`CACHE_BYTES`] nearly every drive can hold the whole area. An area of less than a hundredth
//! of the device is noted: a controller's or a host's cache may hold it, and its positions are close
//! together.

use super::{bytes, devices, extents, in_memory};
use crate::control::area_bytes;
use record::{
    Bytes, CacheMode, Confidence, EngineName, Extents, Finding, FindingCode, Pattern, Severity,
    TargetKind, Trial, format_bytes, format_share,
};

/// Cache size of an ordinary drive (data sheets of the last fifteen years give 16 to 512 MiB).
const CACHE_BYTES: u64 = 64 << 20;
/// Share of the device below which an area does not represent the whole.
const AREA_SHARE: f64 = 0.01;
/// Share of the area that may be unwritten without a visible effect on any number.
const UNWRITTEN_SHARE: f64 = 0.01;
/// Share of the area that may stay in the page cache after its pages were dropped.
const RESIDENT_SHARE: f64 = 0.01;

/// Holes and unwritten extents of the area, which read as zeros without device access.
pub(super) fn unwritten(trial: &Trial) -> Option<Finding> {
    // A test file that is read was fully written before; one that is written is allocated then.
    let judged = |target: &&record::Target| target.kind == TargetKind::File;
    let found = trial.targets.iter().filter(judged).filter_map(|target| target.extents.as_ref());
    let (holes, unwritten) = found.fold((0, 0), |sum, extents| {
        (sum.0 + extents.hole_bytes.0, sum.1 + extents.unwritten_bytes.0)
    });
    let absent = holes + unwritten;
    // For an array, count the holes of all legs, including those of copies and parity.
    let workload = &trial.workload;
    let legs = |array: &record::Redundancy| array.leg_bytes.0 * u64::from(workload.targets);
    let area = workload.array.as_ref().map_or_else(|| area_bytes(workload), legs);
    let reads = trial.workload.read_percent > 0;
    (absent > 0 && trial.workload.engine != EngineName::Null).then(|| {
        // Reading unwritten areas measures memory; writing them also measures allocation.
        let (severity, what) = if reads {
            (Severity::Invalid, "it reads as zeros, without access to the device")
        } else {
            (Severity::Warning, "the first write to it also allocates blocks")
        };
        let few = (absent as f64) < UNWRITTEN_SHARE * area as f64;
        let severity = if few { Severity::Info } else { severity };
        Finding::new(
            FindingCode::UnwrittenExtents,
            severity,
            format!(
                "{} of the area ({}) was never written: {what}.",
                format_bytes(absent),
                format_bytes(area)
            ),
            Extents::FILL,
        )
        .with("never written", absent as f64, "bytes")
        .with("of that, holes", holes as f64, "bytes")
    })
}

/// More was trimmed than the area holds: the rest was already trimmed.
pub(super) fn trimmed_again(trial: &Trial) -> Option<Finding> {
    let trimmed = trial.result.trim.as_ref()?.bytes as f64;
    let area = area_bytes(&trial.workload) as f64;
    (trimmed > area && trial.workload.engine != EngineName::Null).then(|| {
        Finding::warning(
            FindingCode::TrimmedAgain,
            format!(
                "{} was trimmed in an area of {}: some blocks were trimmed twice, and the second \
                 time is faster.",
                format_bytes(trimmed as u64),
                format_bytes(area as u64)
            ),
            "Trim each block once: use --rw trim --passes 1 on a fully written area.",
        )
        .with("trimmed over the area", trimmed / area, "")
    })
}

/// The area is so small that a device cache may serve it.
pub(super) fn cache_sized(trial: &Trial) -> Option<Finding> {
    let workload = &trial.workload;
    let through = workload.cache == CacheMode::None && workload.read_percent == 0;
    let through = through || workload.instead.is_some();
    let asked = workload.pattern == Pattern::Hit || workload.engine == EngineName::Null;
    // Direct I/O only: the effect of the page cache is counted, not assumed.
    if !workload.cache.direct() || through || asked || in_memory(trial) {
        return None;
    }
    let device = devices(trial).max_by_key(|device| device.size_bytes)?;
    let (area, whole) = (area_bytes(&trial.workload), device.size_bytes.0);
    let share = area as f64 / whole.max(1) as f64;
    let times = bytes(trial) as f64 / area.max(1) as f64;
    let told = devices(trial).filter_map(|device| device.cache_bytes).max();
    let cache = told.map_or(CACHE_BYTES, |told| told.0.max(CACHE_BYTES));
    let small = area < cache && 2 * area <= whole;
    // A RAM disk is equally fast everywhere.
    let ram = device.driver.as_deref() == Some("zram");
    if ram || !(small || share < AREA_SHARE) {
        return None;
    }
    let severity = if small { Severity::Warning } else { Severity::Info };
    let claim = if small {
        format!(
            "The area of {} fits in the cache of {} ({} or more): the latencies may be those of \
             the cache.",
            format_bytes(area),
            if told.is_some_and(|told| told.0 > area) { "this drive" } else { "an ordinary drive" },
            format_bytes(cache)
        )
    } else {
        format!(
            "The area of {} is {} of {}: seeks are short, and a large cache in a controller or \
             host may hold the area.",
            format_bytes(area),
            format_share(share),
            device.disk
        )
    };
    Some(
        Finding::new(
            FindingCode::CacheSizedArea,
            severity,
            claim,
            "Use a larger --size: if the rate is then lower, a cache served this area.",
        )
        .with("times that the area was transferred", times, "")
        .with("device", whole as f64, "bytes")
        .confidence(Confidence::Possible),
    )
}

/// Reads of extents that the file system stores compressed.
pub(super) fn compressed_extents(trial: &Trial) -> Option<Finding> {
    let compressed: u64 = extents(trial).map(|extents| extents.compressed_bytes.0).sum();
    let share = compressed as f64 / area_bytes(&trial.workload).max(1) as f64;
    (compressed > 0 && trial.workload.read_percent > 0).then(|| {
        Finding::warning(
            FindingCode::DataCompressed,
            format!(
                "{} of the area ({}) is compressed: the device transfers less than halfpower \
                 reads, and the CPU decompresses the data.",
                format_bytes(compressed),
                format_share(share)
            ),
            "Name a directory to get a test file of random data, or measure a file that does not \
             compress.",
        )
        .with("compressed", compressed as f64, "bytes")
    })
}

/// Share of the area that stayed in the page cache after the drop; `None` if that is below the threshold,
/// unknown, or the whole area.
pub(super) fn left_cached(trial: &Trial) -> Option<f64> {
    let Bytes(after) = trial.cache_dropped.as_ref()?.resident_after_bytes?;
    let share = after as f64 / area_bytes(&trial.workload).max(1) as f64;
    (share > RESIDENT_SHARE && !in_memory(trial)).then_some(share)
}

pub(super) fn drop_cache(trial: &Trial) -> Option<Finding> {
    let share = left_cached(trial)?;
    let cache_dropped = trial.cache_dropped.as_ref()?;
    let Bytes(after) = cache_dropped.resident_after_bytes?;
    let buffered = !trial.workload.cache.direct();
    let (severity, meaning) = if buffered {
        (Severity::Warning, ": reads of that part measure memory")
    } else {
        (Severity::Info, "")
    };
    Some(
        Finding::new(
            FindingCode::CachedPagesLeft,
            severity,
            format!(
                "{} of the area ({}) stayed in the page cache when {} dropped the rest{meaning}.",
                format_bytes(after),
                format_share(share),
                cache_dropped.method.name()
            ),
            "Dirty, locked and mapped pages stay cached. Stop the programs that use the file, run \
             sync, or use --drop-cache drop-caches as root.",
        )
        .with("still in the page cache", after as f64, "bytes"),
    )
}
