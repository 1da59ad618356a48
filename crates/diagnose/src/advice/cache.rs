//! Which caches to use, from pairs of cells that differ in nothing but the cache mode: one piece of
//! advice for reads, one for writes. A difference counts if the intervals separate it and it is 5 %
//! or more.
//!
//! *Reads*: buffered on a cold page cache against direct. Where there is no measurable difference,
//! the mode that costs less CPU time, else the direct one, which leaves the page cache to
//! others. The rule: the file-system cache below 8 KB, bypassed above 64 KB (Riedel, van Ingen,
//! Gray 1997).
//!
//! *Writes*: the device's cache against writing through it. What completed into that cache is lost
//! when the power fails, so the advice names the risk and the price of durability, and advises
//! durability where it has no measurable price. A size whose interval cannot exclude a price of a
//! quarter follows the sizes that were decided.

use super::sizes::{Choice, by_size};
use crate::words::{change, exceeds, rate, throughput, times};
use record::{Advice, CacheMode, Cell, DropCache, OpKind, Workload, format_bytes, format_iops};

/// Requests above this size should bypass the file-system cache, by the rule of thumb.
const RULE_BYPASS_ABOVE_BYTES: u64 = 64 << 10;
/// Requests below this size should use it.
const RULE_BUFFER_BELOW_BYTES: u64 = 8 << 10;
/// A price of durability below this share of the rate is small enough to be called none, if the
/// interval excludes more.
const PRICE_EXCLUDED_REL: f64 = 0.25;

/// Two cells that ask the same of the device in two cache modes.
struct Pair<'a> {
    /// The one with the other cache mode.
    cached: &'a Cell,
    /// The one with `--cache device`.
    device: &'a Cell,
    /// Whether `device` is advised.
    use_device: bool,
    /// Whether the rates differ measurably.
    decided: bool,
}

impl<'a> Pair<'a> {
    fn bytes(&self) -> u64 {
        self.device.workload.max_bs().0
    }

    fn chosen(&self) -> (&'a Cell, &'a Cell) {
        if self.use_device { (self.device, self.cached) } else { (self.cached, self.device) }
    }

    fn choice(&self) -> Choice {
        let mode = self.chosen().0.workload.cache.name();
        (self.bytes(), format!("--cache {mode}"))
    }
}

/// Cells of one cache mode, each with the cell of mode `device` that asks the same of the device,
/// by rising request size.
fn pairs<'a>(
    cells: &'a [Cell],
    op: OpKind,
    cache: CacheMode,
    choose: impl Fn(&Cell, &Cell) -> (bool, bool),
) -> Vec<Pair<'a>> {
    let of_mode = cells.iter().filter(|cell| {
        cell.workload.cache == cache
            && cell.workload.only_op() == Some(op)
            && (cache.direct() || cell.workload.drop_cache == DropCache::Dontneed)
    });
    let mut pairs: Vec<Pair> = of_mode
        .filter_map(|cached| {
            let device = cells.iter().find(|other| {
                other.workload.cache == CacheMode::Device
                    && without_cache(&other.workload) == without_cache(&cached.workload)
            })?;
            let (use_device, decided) = choose(cached, device);
            Some(Pair { cached, device, use_device, decided })
        })
        .collect();
    pairs.sort_by_cached_key(Pair::bytes);
    pairs
}

/// What a workload asks, the cache mode and what goes with it set aside. The engine is set aside
/// too: a buffered cell may need another one, and the cost of an engine is small beside a cache.
fn without_cache(workload: &Workload) -> (u8, record::Pattern, Vec<record::SizeShare>, u32) {
    (workload.read_percent, workload.pattern, workload.bs.clone(), workload.depth)
}

/// The advice for reads; `None` without a buffered cold cell that has a direct twin.
pub(super) fn read_advice(cells: &[Cell]) -> Option<Advice> {
    let pairs = pairs(cells, OpKind::Read, CacheMode::All, |buffered, direct| {
        let buffered_faster = exceeds(&buffered.bytes_per_s, &direct.bytes_per_s);
        let direct_faster = exceeds(&direct.bytes_per_s, &buffered.bytes_per_s);
        let use_buffered = buffered_faster || (!direct_faster && costs_less(buffered, direct));
        (!use_buffered, buffered_faster || direct_faster)
    });
    // All pairs of a design share these.
    let Workload { pattern, depth, .. } = &pairs.first()?.device.workload;
    let against: Vec<String> = pairs.iter().filter_map(against_read_rule).collect();
    Some(Advice {
        subject: "read cache mode".to_owned(),
        recommendation: by_size(&pairs.iter().map(Pair::choice).collect::<Vec<_>>()),
        because: format!("{}, QD {depth}: {}", pattern.name(), list(&pairs, read_reason)),
        next_best: alternatives(&pairs, read_alternative),
        against_rule: (!against.is_empty())
            .then(|| format!("rule of thumb: {}", against.join("; "))),
        ..Advice::default()
    })
}

fn read_reason(pair: &Pair) -> String {
    let size = format_bytes(pair.bytes());
    format!("{size} {}", throughput(&pair.chosen().0.bytes_per_s))
}

fn read_alternative(pair: &Pair) -> String {
    let (chosen, other) = pair.chosen();
    let effect = if pair.decided {
        change(chosen.bytes_per_s.value, other.bytes_per_s.value) + " throughput"
    } else {
        "no measurable difference".to_owned()
    };
    let separable = costs_less(chosen, other) || costs_less(other, chosen);
    let cost = cpu_ratio(other, chosen).filter(|_| separable);
    let cost = cost.map_or(String::new(), |cost| format!(", {} the CPU", times(cost)));
    format!("{effect}{cost}")
}

fn against_read_rule(pair: &Pair) -> Option<String> {
    let (bytes, direct) = (pair.bytes(), pair.use_device);
    if pair.decided && !direct && bytes > RULE_BYPASS_ABOVE_BYTES {
        Some("no file-system cache above 64 KiB; here that is slower".to_owned())
    } else if pair.decided && direct && bytes < RULE_BUFFER_BELOW_BYTES {
        Some("the file-system cache below 8 KiB; here that is slower".to_owned())
    } else {
        None
    }
}

/// The advice for writes; `None` without a written-through cell that has a cached twin.
pub(super) fn write_advice(cells: &[Cell]) -> Option<Advice> {
    let mut pairs = pairs(cells, OpKind::Write, CacheMode::None, |durable, cached| {
        let costs = exceeds(&cached.iops, &durable.iops);
        let highest = cached.iops.largest_difference(&durable.iops);
        (costs, costs || highest < PRICE_EXCLUDED_REL * durable.iops.value)
    });
    if pairs.iter().any(|pair| pair.use_device) {
        pairs.iter_mut().filter(|pair| !pair.decided).for_each(|pair| pair.use_device = true);
    }
    if pairs.is_empty() {
        return None;
    }
    let risky = pairs.iter().any(|pair| pair.use_device);
    let modes = by_size(&pairs.iter().map(Pair::choice).collect::<Vec<_>>());
    let decided = pairs.iter().all(|pair| pair.decided);
    let gains = pairs
        .iter()
        .filter(|pair| pair.use_device && pair.decided)
        .map(|pair| pair.device.iops.over(&pair.cached.iops));
    let recommendation = if risky {
        format!("{modes}; a power failure may lose unflushed writes")
    } else if decided {
        format!("{modes}: write-through, at no measurable cost")
    } else {
        format!("undecided; {modes} is the safe choice, and a larger --budget would show its cost")
    };
    Some(Advice {
        subject: "write cache mode".to_owned(),
        recommendation,
        because: format!("1 write at a time: {}", list(&pairs, write_reason)),
        next_best: alternatives(&pairs, write_alternative),
        against_rule: (!risky && decided).then(|| {
            "rule of thumb: small writes need the device's cache; here they do not".to_owned()
        }),
        gain: gains.max_by(|one, other| one.value.total_cmp(&other.value)),
        price: risky.then(|| {
            "a power failure loses completed writes that were not flushed: not for logs and \
             metadata, unless the cache is protected"
                .to_owned()
        }),
    })
}

fn write_reason(pair: &Pair) -> String {
    let iops = &pair.chosen().0.iops;
    let pattern = pair.device.workload.pattern.name();
    format!("{} {pattern} {}", format_bytes(pair.bytes()), format_iops(iops.value))
}

fn write_alternative(pair: &Pair) -> String {
    let (chosen, other) = pair.chosen();
    let effect = if exceeds(&chosen.iops, &other.iops) || exceeds(&other.iops, &chosen.iops) {
        format!("{} ({})", change(chosen.iops.value, other.iops.value), rate(&other.iops))
    } else if pair.decided {
        "no measurable difference".to_owned()
    } else {
        format!("undecided ({})", rate(&other.iops))
    };
    let risk = if pair.use_device { "" } else { ", unflushed writes at risk" };
    format!("{effect}{risk}")
}

/// What the other mode would change at each size; what is the same for all sizes is said once.
fn alternatives(pairs: &[Pair], effect: fn(&Pair) -> String) -> String {
    let mode = |pair: &Pair| pair.chosen().1.workload.cache.name();
    let size = |pair: &Pair| format_bytes(pair.bytes());
    match pairs {
        [first, rest @ ..] if rest.iter().all(|pair| mode(pair) == mode(first)) => {
            let effects = if rest.iter().all(|pair| effect(pair) == effect(first)) {
                effect(first)
            } else {
                list(pairs, |pair| format!("{} {}", size(pair), effect(pair)))
            };
            format!("--cache {}: {effects}", mode(first))
        }
        _ => list(pairs, |pair| format!("{} --cache {}: {}", size(pair), mode(pair), effect(pair))),
    }
}

fn list(pairs: &[Pair], text: impl Fn(&Pair) -> String) -> String {
    pairs.iter().map(text).collect::<Vec<_>>().join("; ")
}

/// CPU time per request of one over that of the other, where both were measured.
fn cpu_ratio(cell: &Cell, other: &Cell) -> Option<f64> {
    let (cost, of) = (cell.cpu_us_per_io.value()?, other.cpu_us_per_io.value()?);
    (of.value > 0.0).then(|| cost.value / of.value)
}

fn costs_less(cell: &Cell, other: &Cell) -> bool {
    let costs = cell.cpu_us_per_io.value().zip(other.cpu_us_per_io.value());
    costs.is_some_and(|(cost, of)| exceeds(of, cost))
}
