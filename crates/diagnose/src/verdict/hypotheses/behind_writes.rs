//! Tests whether reads wait behind writes. No expectation is needed if the same reads are fast
//! without concurrent writes.

use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::facts::{READS_MIN, WAITS_FROM, WRITES_IN_FLIGHT};
use crate::verdict::interval_totals::IntervalTotals;
use crate::words::times;
use record::{Doubt, Verdict, format_nanos};

/// Fewest intervals on each side.
const SIDE_MIN: usize = 3;
/// During light writes, the largest share of the heavy writes' bytes.
const HARDLY_ANY: f64 = 0.2;

pub(super) fn wait(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let waits = |(behind_ns, alone_ns): &(f64, f64)| *behind_ns >= WAITS_FROM * alone_ns;
    let by_intervals = behind_and_alone(segment.series).filter(waits);
    let (behind_ns, alone_ns) = by_intervals.or_else(|| segment.reads_behind_writes(WAITS_FROM))?;
    let ratio = behind_ns / alone_ns.max(1.0);
    let claim = format!(
        "Reads take {} during heavy writes and {} without them ({}): they queue behind the writes at \
         the device.",
        format_nanos(behind_ns),
        format_nanos(alone_ns),
        times(ratio)
    );
    let rival = (
        "The program may use another read pattern at those times.",
        "Observe again while the writing program is stopped or limited (on Linux, io.max).",
    );
    let fine = facts.states.fine();
    let numbers =
        [("reads during heavy writes", behind_ns, "ns"), ("reads without them", alone_ns, "ns")];
    let found = Explanation::instead(Verdict::Overloaded, Doubt::BehindWrites, fine, claim, rival);
    Some(found.with(&numbers))
}

/// Median read latencies in the intervals with most bytes written, and in those with hardly any.
/// (The intervals are not chosen by writes in flight: if all requests are slow for another reason,
/// more writes are in flight.)
fn behind_and_alone(series: &[IntervalTotals]) -> Option<(f64, f64)> {
    let read = series.iter().filter(|one| one.read.count() >= READS_MIN);
    let mut each: Vec<[f64; 3]> = read
        .filter_map(|one| {
            let per_s = |sum: Option<f64>| Some(sum? / one.seconds.max(1e-9));
            let under_way = per_s(one.write.time_ns)? / 1e9;
            Some([per_s(one.write.bytes)?, under_way, one.read.latency_ns()?])
        })
        .collect();
    each.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let side = (each.len() / 3).max(SIDE_MIN);
    if each.len() < 2 * side {
        return None;
    }
    let (few, many) = (&each[..side], &each[each.len() - side..]);
    let middle =
        |of: &[[f64; 3]], which: usize| stats::median(of.iter().map(|one| one[which]).collect());
    let written = middle(few, 0) <= HARDLY_ANY * middle(many, 0);
    (written && middle(many, 1) >= WRITES_IN_FLIGHT).then(|| (middle(many, 2), middle(few, 2)))
}
