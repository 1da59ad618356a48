//! Recommends a size for sequential requests: the smallest size with 90 % of the maximum throughput. It is
//! chosen at the shallowest depth whose best throughput is within 90 % of the best of all depths, because
//! most programs issue one request after another. As for depths, the recommendation names the sizes that
//! the errors of the curve allow, and is undecided if these are too many (`model::SufficientIndex`). The
//! rule of thumb is 64 KiB (Riedel, van Ingen, Gray 1997).

use super::undecided;
use crate::words::{change, exceeds, percent};
use model::SufficientIndex;
use record::{
    Advice, Arrival, CacheMode, Cell, Estimate, OpKind, Pattern, Profile, SizeCurve, SizePoint,
    format_bytes, format_rate,
};

const ENOUGH: f64 = 0.9;

const RULE_BYTES: u64 = 64 << 10;

pub(super) fn advice(profile: &Profile) -> Vec<Advice> {
    [OpKind::Read, OpKind::Write].into_iter().filter_map(|op| advice_for(profile, op)).collect()
}

fn advice_for(profile: &Profile, op: OpKind) -> Option<Advice> {
    let sequential: Vec<&SizeCurve> = profile
        .size_curves
        .iter()
        .filter(|curve| curve.op == op && curve.pattern == Pattern::Sequential)
        .collect();
    let best = sequential.iter().map(|curve| largest(curve)).fold(0.0, f64::max);
    let curve = sequential.iter().find(|curve| largest(curve) >= ENOUGH * best)?;
    let rates = model::moderated(&throughputs(curve));
    let found = model::enough(&rates, ENOUGH)?;
    let sizes = curve.points.iter().map(|point| point.bytes as f64);
    if found.is_undecided(&sizes.zip(rates).collect::<Vec<_>>()) {
        return Some(undecided(format!("sequential {} size", op.name())));
    }
    let chosen = &curve.points[found.at];
    if let Some(more) = more(profile, op, best) {
        return Some(beyond(more, op, curve, chosen));
    }
    Some(Advice {
        subject: format!("sequential {} size", op.name()),
        recommendation: recommendation(curve, found),
        because: because(curve, chosen, best),
        next_best: next_best(&sequential, curve, chosen)?,
        against_rule: against_rule(curve, chosen),
        ..Advice::default()
    })
}

/// The shallowest and smallest load of a single size whose throughput is nearly the profile's
/// maximum, if that clearly exceeds `best`.
fn more(profile: &Profile, op: OpKind, best: f64) -> Option<&Cell> {
    let cells = || {
        profile.cells.iter().filter(|cell| {
            let workload = &cell.workload;
            workload.only_op() == Some(op)
                && workload.bs.len() == 1
                && workload.pattern != Pattern::Hit
                && workload.cache == CacheMode::Device
                && workload.arrival == Arrival::Closed
        })
    };
    let most = cells().map(|cell| cell.bytes_per_s.value).fold(0.0, f64::max);
    let nearly = cells().filter(|cell| cell.bytes_per_s.value >= ENOUGH * most);
    let first = nearly.min_by_key(|cell| (cell.workload.depth, cell.workload.max_bs()))?;
    (best < ENOUGH * most).then_some(first)
}

fn beyond(cell: &Cell, op: OpKind, curve: &SizeCurve, chosen: &SizePoint) -> Advice {
    let (workload, found) = (&cell.workload, &cell.bytes_per_s);
    Advice {
        subject: format!("sequential {} size", op.name()),
        recommendation: format!(
            "{} requests at QD {}",
            format_bytes(workload.max_bs().0),
            workload.depth
        ),
        because: format!(
            "{} at that queue depth ({} {}s); other sequential sizes were tried only up to QD {}",
            format_rate(found.value),
            workload.pattern.name(),
            op.name(),
            curve.depth,
        ),
        next_best: instead(found.value, curve.depth, chosen),
        ..Advice::default()
    }
}

/// The throughput of another size at a depth, in words.
fn instead(bytes_per_s: f64, depth: u32, other: &SizePoint) -> String {
    format!(
        "{}, QD {depth}: {} throughput ({})",
        format_bytes(other.bytes),
        change(bytes_per_s, other.bytes_per_s.value),
        format_rate(other.bytes_per_s.value),
    )
}

fn recommendation(curve: &SizeCurve, found: SufficientIndex) -> String {
    let [chosen, least, most] =
        [found.at, found.least, found.most].map(|index| format_bytes(curve.points[index].bytes));
    let tried = if found.at + 1 == curve.points.len() { " (the largest tried)" } else { "" };
    let open = match least == most {
        true => String::new(),
        false => format!("; {least} to {most} are within the error bars"),
    };
    format!("{chosen} requests{tried} at QD {}{open}", curve.depth)
}

fn because(curve: &SizeCurve, chosen: &SizePoint, best: f64) -> String {
    let half_power = curve
        .half_power_bytes
        .filter(|bytes| *bytes < chosen.bytes)
        .map_or(String::new(), |bytes| {
            format!("; half of the maximum with {}", format_bytes(bytes))
        });
    format!(
        "{}, {} of the maximum throughput{half_power}",
        format_rate(chosen.bytes_per_s.value),
        percent(chosen.bytes_per_s.value / best),
    )
}

/// The best alternative: another size at this depth (the next smaller one, which tempts most
/// readers, or else the next larger), or another depth.
fn next_best(curves: &[&SizeCurve], curve: &SizeCurve, chosen: &SizePoint) -> Option<String> {
    let index = curve.points.iter().position(|point| point.bytes == chosen.bytes)?;
    let beside = if index > 0 { index - 1 } else { 1 };
    let same_depth = curve.points.get(beside).map(|point| (curve.depth, point));
    let other_depths =
        curves.iter().filter(|other| other.depth != curve.depth).filter_map(|other| {
            let found = model::enough(&throughputs(other), ENOUGH)?;
            Some((other.depth, &other.points[found.at]))
        });
    let (depth, other) = other_depths
        .chain(same_depth)
        .max_by(|(_, a), (_, b)| a.bytes_per_s.value.total_cmp(&b.bytes_per_s.value))?;
    Some(instead(chosen.bytes_per_s.value, depth, other))
}

fn against_rule(curve: &SizeCurve, chosen: &SizePoint) -> Option<String> {
    let by_rule = curve.points.iter().find(|point| point.bytes == RULE_BYTES)?;
    exceeds(&chosen.bytes_per_s, &by_rule.bytes_per_s).then(|| {
        format!(
            "rule of thumb: 64 KiB requests; here they give {} of the throughput at the \
             recommended size",
            percent(by_rule.bytes_per_s.value / chosen.bytes_per_s.value),
        )
    })
}

fn throughputs(curve: &SizeCurve) -> Vec<Estimate> {
    curve.points.iter().map(|point| point.bytes_per_s).collect()
}

fn largest(curve: &SizeCurve) -> f64 {
    curve.points.iter().map(|point| point.bytes_per_s.value).fold(0.0, f64::max)
}
