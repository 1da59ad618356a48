//! Finds the request size at which the page cache stops paying off on striped disks. More disks
//! speed up direct I/O but not the copy through the page cache, so the size depends on the number
//! of disks (Riedel 1997, Figure 10: 64 KB for three). The result is the two measured sizes between
//! which it lies, if all conclusive effects agree on an order. Rejected: interpolation, because it
//! yields a number that was never measured.

use super::effects::{BUFFERED, Sign, WRONG, change, tell};
use record::{Advice, Bytes, Experiment, ExperimentEffect, counted, format_bytes};
use std::collections::BTreeMap;

/// The crossing size by the rule of thumb (Riedel 1997, Figure 10).
const RULE_BYTES: u64 = 64 << 10;
/// The axes of disks and of request sizes.
const DISKS: &str = "disks";
const SIZE: &str = "bs";

/// The effect at a request size.
type AtSize<'a> = (u64, &'a ExperimentEffect);

fn size(effect: &ExperimentEffect) -> Option<u64> {
    Some(effect.within.get(SIZE)?.parse::<Bytes>().ok()?.0)
}

fn disks(effect: &ExperimentEffect) -> Option<u64> {
    effect.within.get(DISKS)?.parse().ok()
}

/// The crossing for an operation, on the largest number of disks that shows one.
pub(super) fn of_stripes(experiment: &Experiment, op: &str) -> Option<Advice> {
    let asked = |effect: &&ExperimentEffect| {
        BUFFERED.is_of(effect) && effect.within.get("rw").is_some_and(|rw| rw == op)
    };
    let mut groups: BTreeMap<u64, Vec<AtSize<'_>>> = BTreeMap::new();
    for effect in experiment.effects.iter().filter(asked) {
        if let (Some(disks), Some(size)) = (disks(effect), size(effect)) {
            groups.entry(disks).or_default().push((size, effect));
        }
    }
    let miss = WRONG / groups.values().map(Vec::len).sum::<usize>().max(1) as f64;
    let found: Vec<(u64, [AtSize<'_>; 2])> = groups
        .into_iter()
        .filter_map(|(disks, effects)| Some((disks, crossing(effects, miss)?)))
        .collect();
    let ((disks, [(below, gains), (above, loses)]), others) = found.split_last()?;
    let (disks, below, above) = (*disks, *below, *above);
    let others: Vec<String> = others
        .iter()
        .map(|&(disks, [(below, _), (above, _)])| {
            let (below, above) = (format_bytes(below), format_bytes(above));
            format!("{} between {below} and {above}", counted(disks as f64, "disk"))
        })
        .collect();
    let striped = counted(disks as f64, if disks == 1 { "disk" } else { "striped disk" });
    Some(Advice {
        subject: format!("page cache for {op}s of {striped}"),
        recommendation: format!(
            "buffered up to {}, direct from {}",
            format_bytes(below),
            format_bytes(above)
        ),
        because: format!(
            "buffered compared with direct: {} {}, {} {}",
            format_bytes(below),
            change(gains.ratio.value),
            format_bytes(above),
            change(loses.ratio.value)
        ),
        next_best: match others.is_empty() {
            true => String::new(),
            false => format!("crossover elsewhere: {}", others.join(", ")),
        },
        against_rule: (!(below..=above).contains(&RULE_BYTES)).then(|| {
            let side = if above < RULE_BYTES { "smaller" } else { "larger" };
            format!(
                "rule of thumb: the crossover is at 64 KiB (Riedel, Figure 10); here it is {side}"
            )
        }),
        ..Advice::default()
    })
}

/// The largest size at which buffered I/O is faster and the smallest at which it is slower, if the
/// first is below the second among all conclusive sizes.
fn crossing(mut effects: Vec<AtSize<'_>>, miss: f64) -> Option<[AtSize<'_>; 2]> {
    effects.sort_by_cached_key(|(size, _)| *size);
    let is = |effect, sign| tell(effect, miss).is_some_and(|told| told.sign == sign);
    let below = effects.iter().rposition(|(_, effect)| is(effect, Sign::More))?;
    let above = effects.iter().position(|(_, effect)| is(effect, Sign::Less))?;
    (below < above).then(|| [effects[below], effects[above]])
}
