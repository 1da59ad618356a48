//! Holds rules that need more than an effect between two levels.

use crate::words::percent;
use record::{Advice, Estimate, Experiment, format_rate};
use std::collections::BTreeMap;

const ENOUGH: f64 = 0.9;

/// "N+1 outstanding requests of a chunk keep N disks busy" (Riedel 6): tests, for the largest
/// number of disks measured, whether that depth is within a tenth of the best.
pub(super) fn outstanding_per_disk(experiment: &Experiment, op: &str) -> Option<Advice> {
    // By number of disks: depths and their throughputs.
    let mut stripes: BTreeMap<u32, Vec<(u32, &Estimate)>> = BTreeMap::new();
    for cell in experiment.cells.iter().filter(|cell| cell.trials >= 3) {
        let level = |axis: &str| cell.levels.get(axis).map(String::as_str);
        let number = |axis: &str| level(axis)?.parse::<u32>().ok();
        let of_stripe = (level("rw"), level("bs")) == (Some(op), Some("64k"))
            && level("cache").is_none_or(|cache| cache == "direct");
        if let (true, Some(disks), Some(depth)) = (of_stripe, number("disks"), number("iodepth")) {
            stripes.entry(disks).or_default().push((depth, &cell.bytes_per_s));
        }
    }
    // The largest number of disks for which the rule's depth and a deeper one were measured.
    let (disks, mut points) = stripes.into_iter().rfind(|(disks, points)| {
        *disks > 1
            && points.iter().any(|(depth, _)| *depth == disks + 1)
            && points.iter().any(|(depth, _)| *depth > disks + 1)
    })?;
    points.sort_by_cached_key(|(depth, _)| *depth);
    let (_, best) = points.iter().max_by(|(_, a), (_, b)| a.value.total_cmp(&b.value))?;
    let (rule_depth, by_rule) = *points.iter().find(|(depth, _)| *depth == disks + 1)?;
    let (enough, chosen) = *points.iter().find(|(_, rate)| rate.value >= ENOUGH * best.value)?;
    let short = best.over(by_rule);
    let more_needed = short.low > 1.0 && by_rule.value < ENOUGH * best.value;
    let fewer = by_rule.over(chosen);
    let fewer_do = enough < rule_depth && fewer.high < 1.0 / ENOUGH;
    // In between, the intervals cannot decide.
    if !more_needed && short.high > 1.0 / ENOUGH / ENOUGH {
        return None;
    }
    let depth = if more_needed || fewer_do { enough } else { rule_depth };
    let (first, first_rate) = points.first()?;
    Some(Advice {
        subject: format!("{op} queue depth for {disks} striped disks"),
        recommendation: format!("QD {depth} with 64 KiB requests"),
        because: format!(
            "QD {enough}: {}, {} of the best; QD {rule_depth}: {}",
            format_rate(chosen.value),
            percent(chosen.value / best.value),
            percent(by_rule.value / best.value)
        ),
        next_best: format!("QD {first}: {} of the best", percent(first_rate.value / best.value)),
        against_rule: (more_needed || fewer_do).then(|| {
            let what = if more_needed { "needs to be higher" } else { "can be lower" };
            format!("rule of thumb: queue depth N+1 for N disks (Riedel 6); here it {what}")
        }),
        gain: points
            .iter()
            .find(|(other, _)| *other == depth)
            .map(|(_, rate)| rate.over(first_rate))
            .filter(|gain| gain.low > 1.0),
        price: None,
    })
}
