//! Reads that wait behind writes: no expectation is needed where the same reads are quick whenever no write is under
//! way.

use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::facts::WAITS_FROM;
use crate::verdict::interval_totals::IntervalTotals;
use crate::words::times;
use record::{Doubt, Verdict, format_nanos};

/// Intervals on either side, and reads in each of them.
const SIDE_MIN: usize = 3;
const READS_MIN: f64 = 20.0;
/// So many writes are under way at least where they count, and a smaller share of that where they do not.
const UNDER_WAY: f64 = 0.5;
const HARDLY_ANY: f64 = 0.2;

pub(super) fn wait(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let Some((behind_ns, alone_ns)) = behind_and_alone(facts.segment.series) else { return };
    let ratio = behind_ns / alone_ns.max(1.0);
    if ratio < WAITS_FROM {
        return;
    }
    let claim = format!(
        "Reads take {} while writes are under way and {} while hardly any are, {}: they wait for each other at the \
         device.",
        format_nanos(behind_ns),
        format_nanos(alone_ns),
        times(ratio)
    );
    let rival = (
        "The reads of those moments may be others.",
        "The same while the program that writes is stopped, or limited (io.max).",
    );
    let fine = facts.states.fine();
    found.push(
        Explanation::instead(Verdict::Overloaded, Doubt::BehindWrites, fine, claim, rival)
            .with(&[("reads beside writes", behind_ns, "ns"), ("reads alone", alone_ns, "ns")]),
    );
}

/// Median latencies of reads in the intervals with the most and with hardly any writes under way.
fn behind_and_alone(series: &[IntervalTotals]) -> Option<(f64, f64)> {
    let mut each: Vec<(f64, f64)> = series
        .iter()
        .filter(|one| one.read.count() >= READS_MIN)
        .filter_map(|one| {
            let writes = one.write.time_ns? / 1e9 / one.seconds.max(1e-9);
            Some((writes, one.read.latency_ns()?))
        })
        .collect();
    each.sort_by(|a, b| a.0.total_cmp(&b.0));
    let side = (each.len() / 3).max(SIDE_MIN);
    if each.len() < 2 * side {
        return None;
    }
    let (few, many) = (&each[..side], &each[each.len() - side..]);
    let middle = |of: &[(f64, f64)], which: fn(&(f64, f64)) -> f64| {
        stats::median(of.iter().map(which).collect())
    };
    let [under_way, hardly_any] = [many, few].map(|side| middle(side, |one| one.0));
    (under_way >= UNDER_WAY && hardly_any <= HARDLY_ANY * under_way)
        .then(|| (middle(many, |one| one.1), middle(few, |one| one.1)))
}
