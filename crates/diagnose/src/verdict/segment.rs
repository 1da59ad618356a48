//! Quiet and busy segments: where the use of a device changes.
//!
//! The series is cut by [`stats::segments`] on the logarithms of rate, latency and size and on the
//! share of reads: a doubling counts the same at any level.

use super::interval_totals::IntervalTotals;
use stats::weighted_mean;

/// Series longer than this are cut on means of neighbours: the time is quadratic at worst.
const POINTS_MAX: usize = 2_048;
/// Noise below this is taken to be this: a change of one part in twenty is no other use.
const NOISE_MIN: f64 = 0.05;
/// Fewest requests of a point whose latency and size count.
const REQUESTS_MIN: f64 = 5.0;
/// What is looked at: rate, latency, request size, share of reads.
const CHANNELS: usize = 4;
/// A share of reads counts like this many powers of e.
const SHARE_SCALE: f64 = 2.0;

/// Beginnings of the segments of a series, the first of them 0; none for an empty one.
pub(crate) fn segments(series: &[IntervalTotals]) -> Vec<usize> {
    if series.is_empty() {
        return Vec::new();
    }
    let together = series.len().div_ceil(POINTS_MAX);
    let points: Vec<[Option<f64>; CHANNELS]> = series.chunks(together).map(point).collect();
    let mut begins: Vec<usize> =
        stats::segments(&points, NOISE_MIN).into_iter().map(|cut| cut * together).collect();
    begins.retain(|&begin| begin < series.len());
    begins
}

/// What is looked at of a few neighbours.
fn point(tallies: &[IntervalTotals]) -> [Option<f64>; CHANNELS] {
    let seconds: f64 = tallies.iter().map(|tally| tally.seconds).sum();
    let requests: f64 = tallies.iter().map(|tally| tally.all.count()).sum();
    let over = |value: fn(&IntervalTotals) -> Option<f64>| {
        let known = tallies.iter().filter_map(|tally| Some((value(tally)?, tally.all.count())));
        let enough = known.clone().map(|(_, count)| count).sum::<f64>() >= REQUESTS_MIN;
        weighted_mean(known).filter(|_| enough)
    };
    // One request more, so that rest has a logarithm.
    let rate = libm::log((requests + 1.0) / seconds.max(1e-9));
    let log = |value: Option<f64>| value.filter(|value| *value > 0.0).map(libm::log);
    [
        Some(rate),
        log(over(IntervalTotals::latency_ns)),
        log(over(|tally| tally.all.request_bytes())),
        over(IntervalTotals::read_share).map(|share| share * SHARE_SCALE),
    ]
}
