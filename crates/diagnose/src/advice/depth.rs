//! Recommends a queue depth for random requests: the smallest depth that gives 80 % of the maximum
//! rate (`model::deep_enough`, which a diagnosis also uses to call a queue too deep). The
//! recommendation includes the share of the rate and the depths that the errors of the curve allow.
//! Rejected: the depth of the maximum rate, which is noise on a plateau. The rule of thumb is a
//! depth of two to four (Riedel, van Ingen, Gray 1997; Chung and others 2000). It is contradicted
//! if the knee is deeper, or if two requests already only wait for each other.

use super::undecided;
use crate::words::{change, percent};
use model::DEFAULT_KNEE_GAIN;
use record::{Advice, DepthCurve, DepthPoint, format_iops, format_nanos};

/// Depths that the rule of thumb allows.
const RULE_DEPTHS: std::ops::RangeInclusive<u32> = 2..=4;

pub(super) fn advice(curve: &DepthCurve) -> Option<Advice> {
    let points = &curve.points;
    let rates = model::rates(points);
    let enough = model::deep_enough(&rates, DEFAULT_KNEE_GAIN)?;
    let chosen = &points[enough.at];
    if enough.is_undecided(&rates) {
        return Some(undecided(format!("{} depth", curve.op.name())));
    }
    let (least, most) = (points[enough.least].depth, points[enough.most].depth);
    let recommendation = if curve.knee.is_none() {
        format!("QD {} or more; no deeper queue was tried", chosen.depth)
    } else if least < most {
        format!("QD {}; QD {least} to {most} are within the error bars", chosen.depth)
    } else {
        format!("QD {}", chosen.depth)
    };
    Some(Advice {
        subject: format!("{} depth", curve.op.name()),
        recommendation,
        because: because(curve, chosen),
        next_best: next_best(points, enough.at)?,
        against_rule: against_rule(curve, chosen),
        ..Advice::default()
    })
}

fn because(curve: &DepthCurve, chosen: &DepthPoint) -> String {
    let latency = format_nanos(chosen.latency_ns.value);
    let at = format!("QD {}: {} at {latency}", chosen.depth, format_iops(chosen.iops.value));
    if curve.knee.is_none() {
        return format!(
            "{at}, the highest rate measured: no smaller QD reaches 80 % of it, or the rate was \
             still rising"
        );
    }
    let share = percent(chosen.iops.value / curve.max_iops.value);
    format!("{at}, {share} of the maximum rate")
}

/// The depths just below and above the recommended one, each compared with it. `None` if the curve
/// has a single point.
fn next_best(points: &[DepthPoint], at: usize) -> Option<String> {
    let from = &points[at];
    let shallower = at.checked_sub(1).map(|index| &points[index]);
    let neighbours = shallower.into_iter().chain(points.get(at + 1));
    let texts: Vec<String> = neighbours
        .enumerate()
        .map(|(position, to)| {
            let [rate, latency] = if position == 0 { [" rate", " latency"] } else { ["", ""] };
            let more = change(from.iops.value, to.iops.value);
            let longer = change(from.latency_ns.value, to.latency_ns.value);
            format!("QD {}: {more}{rate}, {longer}{latency}", to.depth)
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn against_rule(curve: &DepthCurve, chosen: &DepthPoint) -> Option<String> {
    let by_rule = curve.points.iter().rev().find(|point| RULE_DEPTHS.contains(&point.depth))?;
    if chosen.depth > *RULE_DEPTHS.end() {
        let share = percent(by_rule.iops.value / chosen.iops.value);
        let depth = chosen.depth;
        return Some(format!(
            "rule of thumb: QD 2 to 4; QD {} gives {share} of the rate at QD {depth}",
            by_rule.depth
        ));
    }
    (chosen.depth < *RULE_DEPTHS.start()).then(|| {
        format!(
            "rule of thumb: QD 2 to 4; here QD {} changes the rate by {}",
            by_rule.depth,
            change(chosen.iops.value, by_rule.iops.value),
        )
    })
}
