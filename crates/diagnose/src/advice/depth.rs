//! How many random requests to keep outstanding: the knee for whoever waits for each request, and,
//! where that gives less than 80 % of the largest rate, the smallest depth that does for whoever
//! wants work done (`model::enough`, by which a diagnosis calls a queue too deep as well).
//! Rejected: the depth of the largest rate, which on a plateau is noise, and one compromise for
//! both. The rule of thumb is two to four deep (Riedel, van Ingen, Gray 1997; Chung and others
//! 2000); it is contradicted where the knee lies deeper, and where even two only wait for each
//! other.

use crate::words::{change, percent, rate};
use record::{Advice, DepthCurve, DepthPoint, format_nanos};

/// Depths that the rule of thumb allows.
const RULE_DEPTHS: std::ops::RangeInclusive<u32> = 2..=4;

pub(super) fn advice(curve: &DepthCurve) -> Option<Advice> {
    let at = |depth| curve.points.iter().position(|point| point.depth == depth);
    let quick = at(curve.knee.unwrap_or(curve.points.last()?.depth))?;
    let busy = model::enough(&model::rates(&curve.points), quick);
    let (first, last) = (&curve.points[quick], &curve.points[busy]);
    Some(Advice {
        subject: format!("{} depth", curve.op.name()),
        recommendation: recommendation(curve, first.depth, last.depth),
        because: because(curve, first, last),
        next_best: next_best(&curve.points, quick, busy)?,
        against_rule: against_rule(curve, first),
        ..Advice::default()
    })
}

fn recommendation(curve: &DepthCurve, quick: u32, busy: u32) -> String {
    if curve.knee.is_none() {
        format!("QD {quick} or more; no deeper queue was tried")
    } else if quick < busy {
        format!("QD {quick}; QD {busy} where only throughput counts")
    } else {
        format!("QD {quick}")
    }
}

fn because(curve: &DepthCurve, quick: &DepthPoint, busy: &DepthPoint) -> String {
    let at = |point: &DepthPoint| {
        let latency = format_nanos(point.latency_ns.value);
        format!("QD {}: {} at {latency}", point.depth, rate(&point.iops))
    };
    if quick.depth < busy.depth {
        return format!("{}; {}", at(quick), at(busy));
    }
    let growing = if curve.knee.is_none() { ", and it still grew" } else { "" };
    let share = percent(quick.iops.value / curve.max_iops.value);
    format!("{}, {share} of the largest rate{growing}", at(quick))
}

/// The depth before the first of the advised points and the one behind the last, each against the
/// advised point beside it. `None` for a lone point.
fn next_best(points: &[DepthPoint], quick: usize, busy: usize) -> Option<String> {
    let shallower = quick.checked_sub(1).map(|index| (&points[quick], &points[index]));
    let deeper = points.get(busy + 1).map(|point| (&points[busy], point));
    let neighbours = shallower.into_iter().chain(deeper);
    let texts: Vec<String> = neighbours
        .enumerate()
        .map(|(position, (from, to))| {
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
