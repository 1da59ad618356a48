//! Recommends cache modes from pairs of cells that differ only in the cache mode: one recommendation for
//! reads, one for writes. A difference counts if the intervals separate it and it is 5 % or more.
//!
//! *Reads*: buffered with a cold page cache versus direct. If there is no measurable difference, the mode
//! with less CPU time wins, and otherwise direct I/O, which leaves the page cache to other programs. If a rate
//! is too uncertain to exclude a large difference (`model::is_uncertain`), the size is undecided. The rule of
//! thumb: use the file-system cache below 8 KB, bypass it above 64 KB (Riedel, van Ingen, Gray 1997).
//!
//! *Writes*: the device's cache versus writing through it. Data in that cache is lost on power failure. The
//! recommendation therefore names the risk and the cost of durability, and prefers durability if its cost is
//! not measurable. A size whose interval does not exclude a cost of a quarter follows the sizes that were
//! decided.

use super::UNDECIDED;
use super::sizes::{Choice, by_size};
use crate::words::{change, exceeds, times};
use record::{
    Advice, CacheMode, Cell, DropCache, OpKind, Workload, format_bytes, format_iops, format_rate,
};

/// Requests above this size should bypass the file-system cache, by the rule of thumb.
const RULE_BYPASS_ABOVE_BYTES: u64 = 64 << 10;
/// Requests below this size should use it, by the same rule.
const RULE_BUFFER_BELOW_BYTES: u64 = 8 << 10;
/// A cost of durability below this share of the rate counts as none, if the interval excludes more.
const PRICE_EXCLUDED_REL: f64 = 0.25;

/// Two cells with the same load on the device in two cache modes.
struct Pair<'a> {
    /// The cell with the other cache mode.
    cached: &'a Cell,
    /// The cell with `--cache device`.
    device: &'a Cell,
    /// Whether `device` is recommended.
    use_device: bool,
    /// Whether the difference is decided.
    decided: bool,
}

impl<'a> Pair<'a> {
    fn bytes(&self) -> u64 {
        self.device.workload.max_bs().0
    }

    fn chosen(&self) -> (&'a Cell, &'a Cell) {
        if self.use_device { (self.device, self.cached) } else { (self.cached, self.device) }
    }

    /// Whether the rates are too uncertain to show or exclude a difference.
    fn is_open(&self) -> bool {
        let uncertain = |cell: &Cell| model::is_uncertain(&cell.bytes_per_s);
        !self.decided && (uncertain(self.cached) || uncertain(self.device))
    }

    fn choice(&self) -> Choice {
        let mode = self.chosen().0.workload.cache.name();
        (self.bytes(), format!("--cache {mode}"))
    }
}

/// Cells of one cache mode, each paired with the cell of mode `device` that puts the same load on
/// the device, in order of request size.
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

/// The load of a workload without its cache mode and related settings. The engine is ignored too: a
/// buffered cell may need another one, and the cost of an engine is small compared with a cache.
fn without_cache(workload: &Workload) -> (u8, record::Pattern, Vec<record::SizeShare>, u32) {
    (workload.read_percent, workload.pattern, workload.bs.clone(), workload.depth)
}

/// The recommendation for reads; `None` if no buffered cold cell has a direct counterpart.
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
        recommendation: by_size(&pairs.iter().map(read_choice).collect::<Vec<_>>()),
        because: format!("{}, QD {depth}: {}", pattern.name(), list(&pairs, read_reason)),
        next_best: alternatives(&pairs, read_alternative),
        against_rule: (!against.is_empty())
            .then(|| format!("rule of thumb: {}", against.join("; "))),
        ..Advice::default()
    })
}

fn read_choice(pair: &Pair) -> Choice {
    if pair.is_open() { (pair.bytes(), UNDECIDED.to_owned()) } else { pair.choice() }
}

fn read_reason(pair: &Pair) -> String {
    let size = format_bytes(pair.bytes());
    format!("{size} {}", format_rate(pair.chosen().0.bytes_per_s.value))
}

fn read_alternative(pair: &Pair) -> String {
    let (chosen, other) = pair.chosen();
    let effect = if pair.decided {
        change(chosen.bytes_per_s.value, other.bytes_per_s.value) + " throughput"
    } else if pair.is_open() {
        return format!("{UNDECIDED} ({})", format_rate(other.bytes_per_s.value));
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

/// The recommendation for writes; `None` if no write-through cell has a cached counterpart.
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
        format!(
            "{} ({})",
            change(chosen.iops.value, other.iops.value),
            format_iops(other.iops.value)
        )
    } else if pair.decided {
        "no measurable difference".to_owned()
    } else {
        format!("undecided ({})", format_iops(other.iops.value))
    };
    let risk = if pair.use_device { "" } else { ", unflushed writes at risk" };
    format!("{effect}{risk}")
}

/// The effect of the other mode at each size. An effect common to all sizes is stated once.
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

/// Ratio of the CPU times per request, if both were measured.
fn cpu_ratio(cell: &Cell, other: &Cell) -> Option<f64> {
    let (cost, of) = (cell.cpu_us_per_io.value()?, other.cpu_us_per_io.value()?);
    (of.value > 0.0).then(|| cost.value / of.value)
}

fn costs_less(cell: &Cell, other: &Cell) -> bool {
    let costs = cell.cpu_us_per_io.value().zip(other.cpu_us_per_io.value());
    costs.is_some_and(|(cost, of)| exceeds(of, cost))
}
