//! Estimates the size of a cache below the target, from re-reads of areas of growing size.
//!
//! Random reads within an area that fits the cache take the latency of a hit. Of a larger area the cache
//! holds a part, and the mean latency is between hit and miss in proportion to that share, whichever blocks
//! are cached: share times area is the cache size. Reads of the whole target give the latency of a miss,
//! the smallest area that of a hit. Rejected: the area at which latency "jumps" (a step of the axis wide,
//! and none where it falls slowly).

use record::{
    Estimate, Experiment, ExperimentCell, Finding, FindingCode, Pattern, Workload, format_bytes,
    format_nanos,
};

/// Minimum ratio of miss latency to hit latency for a cache to be detected.
const TOLD_APART: f64 = 1.5;
/// From this share of hits on, an area counts as cached; below `TELLS` it does not indicate the size.
const HELD: f64 = 0.9;
const TELLS: f64 = 0.1;
/// An area must be read this many times before it is measured. Otherwise the cache may not be full yet.
const READ_BEFORE: f64 = 2.0;
/// Minimum number of areas for a curve.
const AREAS_MIN: usize = 3;

/// The finding; `None` for an experiment that does not vary the area of re-reads.
pub(crate) fn cache_size(experiment: &Experiment, cells: &[ExperimentCell]) -> Option<Finding> {
    let workload = |cell: &ExperimentCell| {
        let planned = experiment.plan.iter().find(|planned| planned.levels == cell.levels);
        planned.map(|planned| &planned.workload)
    };
    // Areas with the latency of a read, and whether they were read twice before.
    let mut areas: Vec<(u64, Estimate, bool)> = Vec::new();
    let mut whole = None;
    let alike = cells.first().and_then(workload);
    for cell in cells {
        let Some(workload) = workload(cell) else { continue };
        let latency = cell.latency_ns;
        if workload.read_percent < 100 || !workload.cache.direct() {
            return None;
        }
        // Cells that differ in other properties do not form a curve.
        let same = |of: &Workload| (of.bs.clone(), of.depth, of.targets, of.size_bytes);
        if alike.is_none_or(|first| same(first) != same(workload)) {
            return None;
        }
        let before = cell.bytes_per_s.value * workload.ramp_ns.as_secs_f64();
        match (workload.pattern, workload.hit_bytes) {
            (Pattern::Hit, Some(bytes)) => {
                areas.push((bytes.0, latency, before >= READ_BEFORE * bytes.0 as f64));
            }
            (Pattern::Random, _) => whole = Some((latency, workload.size_bytes.0, before)),
            _ => return None,
        }
    }
    areas.sort_by_key(|(bytes, ..)| *bytes);
    let ((_, hit, _), (miss, size, read)) = (*areas.first()?, whole?);
    if areas.len() < AREAS_MIN {
        return None;
    }
    let spread = miss.value - hit.value;
    if miss.value < TOLD_APART * hit.value {
        return Some(told(
            format!(
                "No cache below the file system is visible{}: re-reads of {} take {}, and random \
                 reads of the whole area take {}.",
                // A cache may hold all of an area that was read this often before.
                match read >= size as f64 / READ_BEFORE {
                    true => format!(", or a cache holds all {}", format_bytes(size)),
                    false => String::new(),
                },
                format_bytes(areas[0].0),
                format_nanos(hit.value),
                format_nanos(miss.value)
            ),
            0.0,
            (hit, miss),
        ));
    }
    let share = |latency: &Estimate| (miss.value - latency.value) / spread;
    let held = areas.iter().rev().find(|(_, latency, _)| share(latency) >= HELD)?.0;
    // The smallest area that is partly cached. If it was not read often enough before, the cache may be
    // able to hold the rest too.
    let beyond = areas.iter().find(|(bytes, ..)| *bytes > held);
    let known = beyond.filter(|(.., read)| *read);
    let Some((beyond, latency, _)) = known else {
        let why = match beyond {
            None => String::new(),
            Some(_) => " (larger areas could not be read twice in the warm-up; use a longer \
                        --ramp-time)"
                .to_owned(),
        };
        let claim = format!(
            "A cache below the file system has {} or more: re-reads of an area of that size take \
             {}, and random reads of the whole area take {}{why}.",
            format_bytes(held),
            format_nanos(hit.value),
            format_nanos(miss.value)
        );
        return Some(told(claim, held as f64, (hit, miss)));
    };
    // If the cache drops all of a larger area, its size is between the two areas.
    let part = share(latency);
    let size = if part >= TELLS { part * *beyond as f64 } else { held as f64 };
    let size = size.max(held as f64);
    let claim = format!(
        "A cache below the file system has about {}: re-reads of {} take {}, and random reads of \
         the whole area take {}.",
        format_bytes(size as u64),
        format_bytes(held),
        format_nanos(hit.value),
        format_nanos(miss.value)
    );
    Some(told(claim, size, (hit, miss)))
}

fn told(claim: String, size: f64, (hit, miss): (Estimate, Estimate)) -> Finding {
    Finding::note(
        FindingCode::CacheSize,
        claim,
        "Use an area several times as large. Otherwise the numbers measure the cache.",
    )
    .with("size of the cache", size, "bytes")
    .with("a hit", hit.value, "ns")
    .with("a miss", miss.value, "ns")
}
