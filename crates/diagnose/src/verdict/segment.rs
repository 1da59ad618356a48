//! Divides a series into segments where the use of a device changes.
//!
//! [`stats::segments`] runs on the logarithms of rate, latency, size and flush time, and on the share of
//! reads: a doubling counts the same at any level. Flushes have a channel of their own because no latency of
//! a read or write includes them.

use super::interval_totals::IntervalTotals;
use stats::weighted_mean;

/// Longer series are averaged over neighbouring intervals first: the time is quadratic at worst.
const POINTS_MAX: usize = 2_048;
/// Least noise assumed: a change of 5 % is no different use.
const NOISE_MIN: f64 = 0.05;
/// Fewest requests of a point for its latency and size to count.
const REQUESTS_MIN: f64 = 5.0;
/// Number of channels: rate, latency, request size, share of reads, flush time. The last one is used only if the
/// source reports flushes, because each channel makes a cut less likely.
const CHANNELS: usize = 5;
/// Scale of the read share, compared with the natural logarithms of the other channels.
const SHARE_SCALE: f64 = 2.0;

/// First indices of a series' segments, beginning with 0; empty for an empty series.
pub(crate) fn segments(series: &[IntervalTotals]) -> Vec<usize> {
    if series.is_empty() {
        return Vec::new();
    }
    let together = series.len().div_ceil(POINTS_MAX);
    let points: Vec<[Option<f64>; CHANNELS]> = series.chunks(together).map(point).collect();
    let cuts = match points.iter().any(|point| point[CHANNELS - 1].is_some()) {
        true => stats::segments(&points, NOISE_MIN),
        false => {
            let requests = |point: &[Option<f64>; CHANNELS]| {
                std::array::from_fn::<_, { CHANNELS - 1 }, _>(|channel| point[channel])
            };
            stats::segments(&points.iter().map(requests).collect::<Vec<_>>(), NOISE_MIN)
        }
    };
    let mut begins: Vec<usize> = cuts.into_iter().map(|cut| cut * together).collect();
    begins.retain(|&begin| begin < series.len());
    begins
}

/// The channels of a few neighbouring intervals.
fn point(tallies: &[IntervalTotals]) -> [Option<f64>; CHANNELS] {
    let seconds: f64 = tallies.iter().map(|tally| tally.seconds).sum();
    let requests: f64 = tallies.iter().map(|tally| tally.all.count()).sum();
    let mean_of = |value: fn(&IntervalTotals) -> Option<f64>, count: fn(&IntervalTotals) -> f64| {
        let known = tallies.iter().filter_map(|tally| Some((value(tally)?, count(tally))));
        let enough = known.clone().map(|(_, count)| count).sum::<f64>() >= REQUESTS_MIN;
        weighted_mean(known).filter(|_| enough)
    };
    let over = |value| mean_of(value, |tally| tally.all.count());
    let flush_ns = mean_of(IntervalTotals::flush_latency_ns, |tally| tally.flushes.unwrap_or(0.0));
    // One request more, so that an idle interval has a logarithm.
    let rate = libm::log((requests + 1.0) / seconds.max(1e-9));
    let log = |value: Option<f64>| value.filter(|value| *value > 0.0).map(libm::log);
    [
        Some(rate),
        log(over(IntervalTotals::latency_ns)),
        log(over(|tally| tally.all.request_bytes())),
        over(IntervalTotals::read_share).map(|share| share * SHARE_SCALE),
        log(flush_ns),
    ]
}
