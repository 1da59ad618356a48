//! Divides a recording into segments, at the points where the load on a device changes.
//!
//! Optimal partitioning finds the cuts with the smallest sum of squares around the means of the pieces, plus
//! a penalty per cut of twice Schwarz's (1978) (Jackson and others 2005; pruned as in PELT, Killick,
//! Fearnhead and Eckley 2012). It is exact and needs no number of pieces. A cut must explain more than noise,
//! and the noise is measured from the series: from the medians of the absolute differences between
//! neighbours, and between values two and four apart. These give the autocorrelation and the variance of a
//! long mean. A value that differs from the median of its neighbourhood counts only as far as its noise
//! explains. A disk that freezes for half a second every three seconds is therefore one segment, not forty.
//!
//! Rejected: thresholds on the rate (no value fits all disks), a moving average (it blurs the edges), binary
//! segmentation (a wrong first cut stays), hidden Markov models (the same result with many parameters).

use super::PartialSums;

/// Minimum number of points in a segment.
const SEGMENT_MIN: usize = 3;
/// Maximum autocorrelation that is used. Beyond it, a lasting deviation counts as a level.
const CORRELATION_MAX: f64 = 0.85;
/// With this many points, half of the maximum is used: in a short series, a few changes of level look like a
/// long memory.
const CORRELATION_POINTS: f64 = 20.0;
/// Points on each side that form a neighbourhood, and the maximum deviation from it in units of noise.
const AROUND: usize = SEGMENT_MIN - 1;
const STANDS_OUT: f64 = 3.0;
/// Penalty for a cut, in units of Schwarz's.
const PENALTY: f64 = 2.0;
/// Median of the absolute value of a standard normal variable.
const NORMAL_MEDIAN_DEVIATION: f64 = 0.674_489_75;

/// First points of the segments of a series with several channels. The first one is 0; an empty series has
/// none. Channels may lack values. Noise below `noise_min` counts as `noise_min`.
#[must_use]
pub fn segments<const CHANNELS: usize>(
    points: &[[Option<f64>; CHANNELS]],
    noise_min: f64,
) -> Vec<usize> {
    let count = points.len();
    let channels: [PartialSums; CHANNELS] = std::array::from_fn(|channel| {
        let values: Vec<Option<f64>> = points.iter().map(|point| point[channel]).collect();
        let noise = noise(&values).max(noise_min);
        let values = without_spikes(&without_edges(&values, noise), noise);
        PartialSums::new(values.into_iter().map(|value| Some(value? / noise)))
    });
    let cost = |from: usize, to: usize| -> f64 {
        channels.iter().map(|channel| channel.cost(from, to)).sum()
    };
    let penalty = PENALTY * (CHANNELS as f64 + 1.0) * libm::log(count.max(2) as f64);
    // least[t]: the least cost of the first t points; before[t]: the start of its last piece.
    let mut least = vec![f64::INFINITY; count + 1];
    let mut before = vec![0; count + 1];
    least[0] = -penalty;
    let mut candidates: Vec<usize> = vec![0];
    for to in 1..=count {
        for &from in &candidates {
            if to - from < SEGMENT_MIN && to - from < count {
                continue;
            }
            let total = least[from] + cost(from, to) + penalty;
            if total < least[to] {
                (least[to], before[to]) = (total, from);
            }
        }
        // A start that already costs more than the best path cannot win later.
        candidates
            .retain(|&from| to - from < SEGMENT_MIN || least[from] + cost(from, to) <= least[to]);
        if least[to].is_finite() {
            candidates.push(to);
        }
    }
    let mut begins = Vec::new();
    let mut at = count;
    while at > 0 {
        at = before[at];
        begins.push(at);
    }
    begins.reverse();
    begins
}

/// Removes the values of intervals in which one load ended and another began. A value that is between its
/// neighbours and far from both is replaced by the nearer one.
fn without_edges(values: &[Option<f64>], noise: f64) -> Vec<Option<f64>> {
    let of = |at: usize| values.get(at).copied().flatten();
    let settled = |at: usize| {
        let value = of(at)?;
        let (Some(before), Some(after)) = (at.checked_sub(1).and_then(of), of(at + 1)) else {
            return Some(value);
        };
        let (down, up) = (value - before, after - value);
        let far = down.abs().min(up.abs()) > STANDS_OUT * noise;
        match (far && down * up > 0.0, down.abs() < up.abs()) {
            (false, _) => Some(value),
            (true, true) => Some(before),
            (true, false) => Some(after),
        }
    };
    (0..values.len()).map(settled).collect()
}

/// Limits each value's distance from the median of its neighbourhood to what noise explains.
fn without_spikes(values: &[Option<f64>], noise: f64) -> Vec<Option<f64>> {
    let around = |at: usize| -> Vec<f64> {
        let (from, to) = (at.saturating_sub(AROUND), (at + AROUND + 1).min(values.len()));
        values[from..to].iter().flatten().copied().collect()
    };
    let clamped = |(at, value): (usize, &Option<f64>)| {
        let near = around(at);
        let value = (*value)?;
        if near.len() < SEGMENT_MIN {
            return Some(value);
        }
        let middle = crate::median(near);
        Some(value.clamp(middle - STANDS_OUT * noise, middle + STANDS_OUT * noise))
    };
    values.iter().enumerate().map(clamped).collect()
}

/// Standard deviation of a channel, without its changes of level.
fn noise(values: &[Option<f64>]) -> f64 {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let fast = spread_of_differences(&known, 1);
    // Var(x[t+d] - x[t]) = 2 v (1 - r^d). Divided by that of neighbours, this is 1 + r for d = 2 and (1 +
    // r)(1 + r^2) for d = 4. A mean of n values has the variance v (1 + r) / (1 - r) / n.
    let ratio = |distance| (spread_of_differences(&known, distance) / fast).powi(2);
    let of_two = correlation(|r| 1.0 + r, ratio(2));
    let of_four = correlation(|r| (1.0 + r) * (1.0 + r * r), ratio(4));
    let count = known.len() as f64;
    let believed = CORRELATION_MAX * count / (count + CORRELATION_POINTS);
    let r = f64::midpoint(of_two, of_four).min(believed);
    fast * (1.0 + r).sqrt() / (1.0 - r)
}

/// The autocorrelation from 0 to [`CORRELATION_MAX`] at which a rising function reaches a value; 0 if there
/// is none.
fn correlation(of: impl Fn(f64) -> f64, value: f64) -> f64 {
    let (mut low, mut high) = (0.0, CORRELATION_MAX);
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        if of(middle) < value { low = middle } else { high = middle }
    }
    low
}

/// Standard deviation of independent values with the same differences at this distance.
fn spread_of_differences(values: &[f64], distance: usize) -> f64 {
    let differences: Vec<f64> =
        values.windows(distance + 1).map(|window| (window[distance] - window[0]).abs()).collect();
    if differences.len() < 2 {
        return 0.0;
    }
    crate::median(differences) / NORMAL_MEDIAN_DEVIATION / std::f64::consts::SQRT_2
}
