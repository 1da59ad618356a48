//! Which caches to use, from pairs of cells that differ in nothing but the cache mode.
//!
//! *Reads*: buffered on a cold page cache against direct. Read-ahead and the copy out of the page
//! cache pull in opposite directions, so only the measurement can tell. Where both are equally
//! fast, the one that costs less processor time is advised. The papers' rule: the file-system cache
//! for small requests (below 8 KB in Riedel, van Ingen, Gray 1997), bypassed above 64 KB.
//!
//! *Writes*: the device's own cache against writing through it. That is not a question of speed
//! alone: what stands in the device's cache may be lost when the power fails. The advice therefore
//! states the price of durability, and advises durability itself where it costs nothing. How
//! durable a virtual disk's "written through" is, no measurement of speed can tell.

use crate::words::{MATTERS_REL, change, exceeds, plus_minus, rate, times};
use record::{
    Advice, CacheMode, Cell, OpKind, Scrub, Workload, format_bytes, format_nanos, format_rate,
};

/// Requests above this size should bypass the file-system cache, by the rule of thumb.
const RULE_BYPASS_ABOVE_BYTES: u64 = 64 << 10;

/// Requests below this size should use it.
const RULE_BUFFER_BELOW_BYTES: u64 = 8 << 10;

/// One piece of advice for each buffered cold read cell with a direct twin.
pub(super) fn read_advice(cells: &[Cell]) -> Vec<Advice> {
    pairs(cells, OpKind::Read, CacheMode::All)
        .filter(|(buffered, _)| buffered.workload.scrub == Scrub::Dontneed)
        .map(|(buffered, direct)| read_choice(buffered, direct))
        .collect()
}

/// One piece of advice for each written-through cell with a twin that uses the device's cache.
pub(super) fn write_advice(cells: &[Cell]) -> Vec<Advice> {
    pairs(cells, OpKind::Write, CacheMode::None)
        .map(|(durable, cached)| write_choice(durable, cached))
        .collect()
}

/// Cells of one cache mode, each with the cell of mode `device` that asks the same of the device.
fn pairs(cells: &[Cell], op: OpKind, cache: CacheMode) -> impl Iterator<Item = (&Cell, &Cell)> {
    cells
        .iter()
        .filter(move |cell| cell.workload.cache == cache && cell.workload.only_op() == Some(op))
        .filter_map(|cell| {
            let twin = cells.iter().find(|other| {
                other.workload.cache == CacheMode::Device
                    && without_cache(&other.workload) == without_cache(&cell.workload)
            })?;
            Some((cell, twin))
        })
}

/// What a workload asks, the cache mode and what goes with it set aside. The engine is set aside
/// too: a buffered cell may need another one, and the cost of an engine is small beside a cache.
fn without_cache(workload: &Workload) -> (u8, record::Pattern, Vec<record::SizeShare>, u32) {
    (workload.read_percent, workload.pattern, workload.bs.clone(), workload.depth)
}

fn read_choice(buffered: &Cell, direct: &Cell) -> Advice {
    let buffered_faster = exceeds(&buffered.bytes_per_s, &direct.bytes_per_s);
    let direct_faster = exceeds(&direct.bytes_per_s, &buffered.bytes_per_s);
    let use_buffered = buffered_faster || (!direct_faster && costs_less(buffered, direct));
    let (chosen, other) = if use_buffered { (buffered, direct) } else { (direct, buffered) };
    let bytes = direct.workload.max_bs().0;
    let against_rule = if buffered_faster && bytes > RULE_BYPASS_ABOVE_BYTES {
        Some("rule of thumb: bypass the file-system cache above 64 KiB; here that is slower")
    } else if direct_faster && bytes < RULE_BUFFER_BELOW_BYTES {
        Some("rule of thumb: use the file-system cache below 8 KiB; here that is slower")
    } else {
        None
    };
    let mut next_best = format!(
        "--cache {}: {} throughput",
        other.workload.cache.name(),
        change(chosen.bytes_per_s.value, other.bytes_per_s.value)
    );
    if let Some(cost) = cpu_ratio(other, chosen).filter(|cost| (cost - 1.0).abs() > MATTERS_REL) {
        next_best.push_str(&format!(", {} the CPU time per request", times(cost)));
    }
    Advice {
        subject: "read cache mode".to_owned(),
        use_this: format!("--cache {}", chosen.workload.cache.name()),
        because: format!(
            "{}: buffered, cold {} {}, direct {} {}",
            described(direct),
            format_rate(buffered.bytes_per_s.value),
            plus_minus(&buffered.bytes_per_s),
            format_rate(direct.bytes_per_s.value),
            plus_minus(&direct.bytes_per_s),
        ),
        next_best,
        against_rule: against_rule.map(str::to_owned),
    }
}

fn write_choice(durable: &Cell, cached: &Cell) -> Advice {
    let costs = exceeds(&cached.iops, &durable.iops);
    let use_this = if costs {
        "--cache device; --cache none where each write must survive a power failure"
    } else {
        "--cache none: written through to the medium, at no measurable cost"
    };
    let (chosen, other) = if costs { (cached, durable) } else { (durable, cached) };
    Advice {
        subject: "write cache mode".to_owned(),
        use_this: use_this.to_owned(),
        because: format!(
            "{}: {} with the device's cache, {} written through",
            described(cached),
            rate(&cached.iops),
            rate(&durable.iops),
        ),
        next_best: format!(
            "--cache {}: {} rate, {} instead of {} per write{}",
            other.workload.cache.name(),
            change(chosen.iops.value, other.iops.value),
            format_nanos(other.response_ns.value),
            format_nanos(chosen.response_ns.value),
            if costs { "" } else { "; the last writes may be lost" },
        ),
        against_rule: (!costs).then(|| {
            "rule of thumb: small writes need the device's write cache; here they do not".to_owned()
        }),
    }
}

/// `sequential 64 KiB reads, 1 deep`.
fn described(cell: &Cell) -> String {
    let workload = &cell.workload;
    format!(
        "{} {} {}s, {} deep",
        workload.pattern.name(),
        format_bytes(workload.max_bs().0),
        if workload.writes() { "write" } else { "read" },
        workload.depth,
    )
}

/// Processor time per request of one over that of the other, where both were measured.
fn cpu_ratio(cell: &Cell, other: &Cell) -> Option<f64> {
    let (cost, of) = (cell.cpu_us_per_io.value()?, other.cpu_us_per_io.value()?);
    (of.value > 0.0).then(|| cost.value / of.value)
}

fn costs_less(cell: &Cell, other: &Cell) -> bool {
    match (cell.cpu_us_per_io.value(), other.cpu_us_per_io.value()) {
        (Some(cost), Some(of)) => exceeds(of, cost),
        _ => false,
    }
}
