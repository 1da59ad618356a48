//! The request size at which the page cache stops paying on striped disks. More disks speed up
//! requests past the page cache, not the copy through it, so the size depends on the disks (Riedel
//! 1997, Figure 10: 64 KB for three). Stated as the two measured sizes between which it lies, where
//! all effects that can be told agree on an order. Rejected: interpolation, a number that nobody
//! measured.

use super::effects::{Sign, WRONG, change, tell};
use record::{Advice, EffectMeasure, Experiment, ExperimentEffect, format_bytes};
use std::collections::BTreeMap;

/// Where the sizes cross by the rule of thumb (Riedel 1997, Figure 10).
const RULE_BYTES: u64 = 64 << 10;
/// The axes of disks and of request sizes.
const DISKS: &str = "disks";
const SIZE: &str = "bs";

/// One crossing: through the page cache up to a size, past it from another on.
struct Crossing<'a> {
    below: &'a ExperimentEffect,
    above: &'a ExperimentEffect,
}

impl Crossing<'_> {
    fn sizes(&self) -> (u64, u64) {
        (size(self.below).unwrap_or(0), size(self.above).unwrap_or(0))
    }
}

/// The crossing of reads and of writes, on the largest number of disks that shows one.
pub(super) fn of_stripes(experiment: &Experiment) -> Vec<Advice> {
    ["read", "write"].iter().filter_map(|op| of_operation(experiment, op)).collect()
}

fn size(effect: &ExperimentEffect) -> Option<u64> {
    let text = effect.within.get(SIZE)?;
    let (number, factor) = match text.strip_suffix('k') {
        Some(number) => (number, 1 << 10),
        None => text.strip_suffix('m').map_or((text.as_str(), 1), |number| (number, 1 << 20)),
    };
    Some(number.parse::<u64>().ok()? * factor)
}

fn disks(effect: &ExperimentEffect) -> Option<u64> {
    effect.within.get(DISKS)?.parse().ok()
}

fn of_operation(experiment: &Experiment, op: &str) -> Option<Advice> {
    let asked = |effect: &&ExperimentEffect| {
        (effect.axis.as_str(), effect.level.as_str(), effect.base.as_str())
            == ("cache", "buffered", "direct")
            && effect.measure == EffectMeasure::Throughput
            && effect.within.get("rw").is_some_and(|rw| rw == op)
    };
    let mut groups: BTreeMap<u64, Vec<&ExperimentEffect>> = BTreeMap::new();
    for effect in experiment.effects.iter().filter(asked) {
        if let (Some(disks), Some(_)) = (disks(effect), size(effect)) {
            groups.entry(disks).or_default().push(effect);
        }
    }
    let miss = WRONG / groups.values().map(Vec::len).sum::<usize>().max(1) as f64;
    let found: Vec<(u64, Crossing<'_>)> = groups
        .into_iter()
        .filter_map(|(disks, effects)| Some((disks, crossing(effects, miss)?)))
        .collect();
    let (disks, last) = found.last()?;
    let (below, above) = last.sizes();
    let others: Vec<String> = found
        .iter()
        .filter(|(other, _)| other != disks)
        .map(|(disks, crossing)| {
            let (below, above) = crossing.sizes();
            format!("{} between {} and {}", count(*disks), format_bytes(below), format_bytes(above))
        })
        .collect();
    let plural = if *disks == 1 { "" } else { " striped" };
    Some(Advice {
        subject: format!("page cache for {op}s of {disks}{plural} disk{}", ending(*disks)),
        recommendation: format!(
            "through it up to {}, past it from {} on",
            format_bytes(below),
            format_bytes(above)
        ),
        because: format!(
            "buffered against direct: {} {}, {} {}",
            format_bytes(below),
            change(last.below.ratio.value),
            format_bytes(above),
            change(last.above.ratio.value)
        ),
        next_best: match others.is_empty() {
            true => String::new(),
            false => format!("{} cross", others.join(", ")),
        },
        against_rule: (!(below..=above).contains(&RULE_BYTES)).then(|| {
            let side = if above < RULE_BYTES { "below that" } else { "above that" };
            format!("rule of thumb: they cross at 64 KiB (Riedel, Figure 10); here {side}")
        }),
        ..Advice::default()
    })
}

fn ending(disks: u64) -> &'static str {
    if disks == 1 { "" } else { "s" }
}

fn count(disks: u64) -> String {
    format!("{disks} disk{}", ending(disks))
}

/// The largest size at which buffered is faster and the smallest at which it is slower, if the first
/// lies below the second at all sizes that can be told.
fn crossing(mut effects: Vec<&ExperimentEffect>, miss: f64) -> Option<Crossing<'_>> {
    effects.sort_by_key(|effect| size(effect));
    let sign = |effect: &ExperimentEffect| tell(effect, miss).map(|told| told.sign);
    let below = effects.iter().rposition(|effect| sign(effect) == Some(Sign::More))?;
    let above = effects.iter().position(|effect| sign(effect) == Some(Sign::Less))?;
    (below < above).then(|| Crossing { below: effects[below], above: effects[above] })
}
