//! Tests whether two segments have the same load and similar latency.

use super::facts::{REQUESTS_MIN, Segment};
use super::flush_times::{FLUSHES_MIN, MATTERS};
use super::interval_totals::IntervalTotals;

/// Neighbouring segments with the same verdict are one episode if their rates, latencies and sizes
/// are within this factor.
const ALIKE: f64 = 1.4;
/// A lower rate counts as idle, in requests per second.
pub(crate) const IDLE_IOPS: f64 = 1.0;

/// Largest ratio between the means of two segments: with few requests, they differ by chance.
fn apart(one: &IntervalTotals, other: &IntervalTotals) -> f64 {
    let fewest = one.all.count().min(other.all.count());
    if fewest < REQUESTS_MIN { ALIKE * (1.0 + 2.0 / fewest.max(1.0).sqrt()) } else { ALIKE }
}

/// Whether two figures are within this factor; unknown ones are near unknown ones only.
pub(super) fn near(one: Option<f64>, other: Option<f64>, factor: f64) -> bool {
    match (one, other) {
        (Some(a), Some(b)) if a > 0.0 && b > 0.0 => (a / b).max(b / a) <= factor,
        (a, b) => a == b,
    }
}

/// Whether two segments have the same load: rate, sizes, read share.
pub(crate) fn same_load(one: &IntervalTotals, other: &IntervalTotals) -> bool {
    near(Some(one.iops()), Some(other.iops()), apart(one, other)) && same_kind(one, other)
}

/// Whether two segments have the same request sizes and read share, at any rate.
pub(crate) fn same_kind(one: &IntervalTotals, other: &IntervalTotals) -> bool {
    near(one.all.request_bytes(), other.all.request_bytes(), apart(one, other))
        && same_mix(one, other)
}

/// Whether two segments have the same share of reads.
pub(super) fn same_mix(one: &IntervalTotals, other: &IntervalTotals) -> bool {
    let shares = one.read_share().zip(other.read_share());
    shares.is_none_or(|(a, b)| (a - b).abs() < 0.2 * apart(one, other))
}

pub(crate) fn alike_in_time(one: &Segment<'_>, other: &Segment<'_>) -> bool {
    let (a, b) = (&one.tally, &other.tally);
    same_load(a, b)
        && near(a.latency_ns(), b.latency_ns(), apart(a, b))
        && alike_in_flush(one, other)
}

/// Whether flushes take about as long, or take up hardly any of the time.
fn alike_in_flush(one: &Segment<'_>, other: &Segment<'_>) -> bool {
    let [a, b] = [one, other].map(|it| it.in_flush().unwrap_or(0.0));
    let times = [one, other].map(|it| it.tally.flush_latency_ns());
    let few = |it: &Segment<'_>| it.tally.flushes.is_none_or(|count| count < FLUSHES_MIN);
    a.max(b) < MATTERS || few(one) || few(other) || near(times[0], times[1], ALIKE)
}
