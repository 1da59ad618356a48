//! One request size of the table: its rates by queue depth, with their errors.

use crate::curve::{isotonic, rates, up_to_the_best};
use crate::depth::depth_points;
use crate::queueing::service_rates;
use crate::size::only_size;
use record::{Cell, HistogramSnapshot, NORMAL_95, bucket_mid};
use std::f64::consts::LN_2;

/// The largest depth of a row.
pub(crate) const DEEPEST: usize = 256;
/// A request of a shallow loop that takes this many times the median may have met a stall: no queue there
/// delays a request that long.
const STALLED: f64 = 3.0;
/// Minimum half-width, as a logarithm, of the interval of the rate for each doubling of the depth beyond the
/// measured ones: another limit may begin there.
const LEAST_GAIN: f64 = 0.05;
/// Distance of a depth curve below that of servers with one queue, if requests choose one of many
/// exponential servers at random and collide.
const AT_RANDOM: f64 = 0.4;

/// One request size.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) bytes: u64,
    /// Requests per second at depths 1, 2, ….
    pub(crate) rates: Vec<f64>,
    /// Depths and smoothed measured rates.
    pub(super) pairs: Vec<(u32, f64)>,
    /// The largest measured depth; beyond it the row is extended.
    pub(crate) measured_depth: u32,
    /// Half-width of the interval of its largest rate, as a share.
    pub(super) rel: f64,
    /// The same for the increase of its rates beyond the measured depth: they may not increase.
    pub(super) prolonged_rel: f64,
    /// Squared coefficient of variation of the latency at depth 1, if measured.
    pub(crate) scv: Option<f64>,
    /// CPU time of this program per request, in nanoseconds; `None` if not measured, as on simulated
    /// devices.
    pub(super) cpu_ns: Option<f64>,
    /// Measured latencies by depth.
    pub(super) latencies: Vec<(u32, HistogramSnapshot)>,
}

impl Row {
    /// Nanoseconds per request at a depth.
    pub(super) fn time_ns(&self, depth: usize) -> f64 {
        1e9 / self.rates[depth.clamp(1, self.rates.len()) - 1]
    }

    /// The rate at depth `to` divided by that at depth `from`.
    pub(super) fn gain(&self, to: usize, from: usize) -> f64 {
        let at = |depth: usize| self.rates[depth.min(self.rates.len()) - 1];
        at(to) / at(from)
    }

    /// How much requests collide: from 0 (servers with one queue: the rate rises in proportion up to a
    /// sharp bend) to 1 (each request waits for one particular server: a gradual rise). Only measured
    /// depths count, because the values in between have the shape of another row.
    pub(super) fn collisions(&self) -> f64 {
        let (first, last) = (self.rates[0], self.rates[self.rates.len() - 1]);
        let below = self.pairs.iter().map(|(depth, rate)| {
            let one_queue = (f64::from(*depth) * first).min(last);
            1.0 - rate / one_queue
        });
        (below.fold(0.0, f64::max) / AT_RANDOM).clamp(0.0, 1.0)
    }

    /// The share of another row's gain, in logarithms, that this row had between its two deepest loops. It
    /// keeps this share beyond them. Large requests reach the limit of a link at depths where small ones
    /// still gain.
    pub(super) fn part_of(&self, shape: &Self) -> f64 {
        let [.., (from, low), (to, high)] = self.pairs[..] else { return 1.0 };
        let gain = libm::log(shape.gain(to as usize, from as usize));
        if gain > 0.0 { (libm::log(high / low) / gain).clamp(0.0, 1.0) } else { 1.0 }
    }

    /// Whether this depth was measured.
    pub(super) fn knows(&self, depth: f64) -> bool {
        self.pairs.iter().any(|it| f64::from(it.0).total_cmp(&depth).is_eq())
            || f64::from(self.measured_depth).total_cmp(&depth).is_eq()
    }

    /// The largest depth of this curve: the measured one, or that of the row whose shape extends it.
    pub(super) fn reach(&self) -> f64 {
        let extended = self.prolonged_rel > 0.0;
        if extended { self.rates.len() as f64 } else { f64::from(self.measured_depth) }
    }

    /// The measured depths on both sides of one that was not measured, with their rates.
    pub(super) fn around(&self, depth: f64) -> Option<[(u32, f64); 2]> {
        let above = self.pairs.iter().find(|it| f64::from(it.0) >= depth)?;
        let below = self.pairs.iter().rev().find(|it| f64::from(it.0) <= depth)?;
        (below.0 < above.0).then_some([*below, *above])
    }

    /// Least and largest half-width, as logarithms, of the interval of the rate between two measured depths. The
    /// curve may bend anywhere there, upwards to a rate in proportion to the depth. It never falls.
    pub(super) fn gap(&self, depth: f64) -> Option<(f64, f64)> {
        let [(from, low), (to, high)] = self.around(depth)?;
        let [from, to] = [from, to].map(f64::from);
        let line = low + (high - low) * (depth - from) / (to - from);
        let upwards = libm::log(high.min(low * depth / from) / line).max(0.0);
        Some((upwards, upwards.max(libm::log(line / low))))
    }

    /// Half-width, as a logarithm, of the interval of the rate at a depth beyond [`Row::reach`], for which
    /// the curve has only its last rate. A rate that still rises gains less with each doubling, so each can
    /// gain as much as the last measured one. A rate in proportion to the depth is the most that is possible.
    pub(super) fn beyond_reach(&self, depth: f64) -> f64 {
        let doublings = libm::log2(depth / self.reach()).max(0.0);
        let gain = match self.pairs[..] {
            [.., (from, low), (to, high)] => {
                libm::log(high / low) / libm::log2(f64::from(to) / f64::from(from))
            }
            _ => LN_2,
        };
        doublings * gain.clamp(LEAST_GAIN, LN_2)
    }
}

/// The row of a size; `None` without cells.
pub(super) fn row(cells: &[&Cell], bytes: u64) -> Option<Row> {
    let points = depth_points(cells, bytes);
    let measured_depth = points.last()?.depth;
    let best = up_to_the_best(rates(&points));
    let values: Vec<f64> = best.iter().map(|point| point.rate).collect();
    let fitted = isotonic(&best, &values);
    let pairs: Vec<(u32, f64)> =
        best.iter().zip(&fitted).map(|(point, &rate)| (point.depth, rate)).collect();
    let mut rates = service_rates(&pairs);
    rates.truncate(DEEPEST);
    // A device that loses rate at depth keeps its best rate: a user can limit the queue depth.
    let last = *rates.last()?;
    rates.resize((measured_depth as usize).clamp(rates.len(), DEEPEST), last);
    let of_size = cells.iter().filter(|cell| only_size(cell) == Some(bytes));
    let alone = of_size.clone().find(|cell| cell.workload.depth == 1);
    Some(Row {
        bytes,
        rates,
        pairs,
        measured_depth,
        rel: best
            .last()
            .map_or(1.0, |point| NORMAL_95 * point.se / point.rate.max(f64::MIN_POSITIVE)),
        prolonged_rel: 0.0,
        scv: alone.and_then(|cell| variation(&cell.histogram)),
        cpu_ns: processor_time_ns(of_size.clone()),
        latencies: of_size
            .filter(|cell| cell.is_filled())
            .map(|cell| (cell.workload.depth, cell.histogram.clone()))
            .collect(),
    })
}

/// Median over cells.
fn processor_time_ns<'a>(cells: impl Iterator<Item = &'a &'a Cell>) -> Option<f64> {
    let known = cells.filter_map(|cell| Some(1e3 * cell.cpu_us_per_io.value()?.value));
    let known: Vec<f64> = known.collect();
    (!known.is_empty()).then(|| stats::median(known))
}

/// For requests beyond [`STALLED`] times the median: the squares of their excess over the median. Also the
/// total time of all requests. In nanoseconds.
pub(super) fn stalls(histogram: &HistogramSnapshot) -> (f64, f64) {
    let median = histogram.percentile(0.5).unwrap_or(0.0);
    let all = histogram.buckets.iter().map(|&(at, count)| (bucket_mid(at as usize), count as f64));
    all.fold((0.0, 0.0), |(squares, time), (latency, count)| {
        let longer = if latency > STALLED * median { latency - median } else { 0.0 };
        (squares + count * longer * longer, time + count * latency)
    })
}

/// Squared coefficient of variation of the values of a histogram.
fn variation(histogram: &HistogramSnapshot) -> Option<f64> {
    let count = histogram.count() as f64;
    let sum = |power: fn(f64) -> f64| -> f64 {
        let of = |&(index, count): &(u32, u64)| count as f64 * power(bucket_mid(index as usize));
        histogram.buckets.iter().map(of).sum()
    };
    let mean = sum(|value| value) / count;
    let square = sum(|value| value * value) / count;
    // Values within a bucket are at most uniformly spread: 1/128² / 3, which is negligible.
    (count > 1.0 && mean > 0.0).then(|| (square / (mean * mean) - 1.0).max(0.0))
}
