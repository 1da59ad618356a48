//! How many random requests to keep outstanding: the knee of the depth curve.
//!
//! The rule of thumb is two to four deep (Riedel, van Ingen, Gray 1997; Chung and others 2000: "no
//! gain beyond four"). It is contradicted where the knee lies deeper, and where even two requests
//! only wait for each other.

use crate::words::{change, percent, rate, times};
use record::{Advice, DepthCurve, DepthPoint, format_count, format_nanos};

/// Depths that the rule of thumb allows.
const RULE_DEPTHS: std::ops::RangeInclusive<u32> = 2..=4;

pub(super) fn advice(curve: &DepthCurve) -> Option<Advice> {
    let wanted = curve.knee.unwrap_or(curve.max_depth);
    let index = curve.points.iter().position(|point| point.depth == wanted)?;
    let chosen = &curve.points[index];
    let shallower = index.checked_sub(1).and_then(|index| curve.points.get(index));
    let deeper = curve.points.get(index + 1);
    Some(Advice {
        subject: format!("{} depth", curve.op.name()),
        use_this: use_this(curve, chosen),
        because: because(curve, chosen, deeper),
        next_best: next_best(chosen, shallower.or(deeper)?),
        against_rule: against_rule(curve, chosen),
    })
}

fn use_this(curve: &DepthCurve, chosen: &DepthPoint) -> String {
    match (curve.knee, chosen.depth) {
        (None, depth) => format!("{depth} requests outstanding or more; no deeper ones were tried"),
        (Some(_), 1) => "1 request outstanding".to_owned(),
        (Some(_), depth) => format!("{depth} requests outstanding"),
    }
}

fn because(curve: &DepthCurve, chosen: &DepthPoint, deeper: Option<&DepthPoint>) -> String {
    let mut text = format!(
        "{} deep gives {} at {}, {} of the largest rate",
        chosen.depth,
        rate(&chosen.iops),
        format_nanos(chosen.response_ns.value),
        percent(chosen.iops.value / curve.max_iops.value),
    );
    match deeper {
        Some(point) => text.push_str(&format!(
            "; {} deep changes the rate by {} and takes {} as long",
            point.depth,
            change(chosen.iops.value, point.iops.value),
            times(point.response_ns.value / chosen.response_ns.value),
        )),
        None => text.push_str("; it still grew there"),
    }
    text
}

fn next_best(chosen: &DepthPoint, other: &DepthPoint) -> String {
    format!(
        "{} deep: {} rate, {} response time ({}/s, {})",
        other.depth,
        change(chosen.iops.value, other.iops.value),
        change(chosen.response_ns.value, other.response_ns.value),
        format_count(other.iops.value),
        format_nanos(other.response_ns.value),
    )
}

fn against_rule(curve: &DepthCurve, chosen: &DepthPoint) -> Option<String> {
    let by_rule = curve.points.iter().rev().find(|point| RULE_DEPTHS.contains(&point.depth))?;
    if chosen.depth > *RULE_DEPTHS.end() {
        return Some(format!(
            "rule of thumb: 2 to 4 deep; here {} deep gives only {} of that rate",
            by_rule.depth,
            percent(by_rule.iops.value / chosen.iops.value),
        ));
    }
    (chosen.depth < *RULE_DEPTHS.start()).then(|| {
        format!(
            "rule of thumb: 2 to 4 deep; here {} deep changes the rate by {} only",
            by_rule.depth,
            change(chosen.iops.value, by_rule.iops.value),
        )
    })
}
