//! Fits depth curves, whose rates never fall as the queue depth grows, and interpolates between measured
//! points.
//!
//! A depth beyond the best one is left out if its rate is lower by more than three standard errors: this is
//! a real loss, and a user can limit the queue depth to the best. The other depths are fitted by isotonic
//! regression (pooling adjacent violators; Barlow and others 1972). It gives the mean of a plateau, whereas
//! a running maximum would climb from one lucky point to the next.
//!
//! Standard errors from three visits are very uncertain, so the points of a curve share their relative
//! variances (a moderated variance; Smyth 2004). That is right here and wrong for cells in general
//! (`stats::visits`): the points are the same requests to the same device. Rejected: reduced isotonic
//! regression (Schell and Singh 1997), which flattens a slow rise; concave regression, which cannot
//! describe devices that gain by batching.

use libm::sqrt;
use record::{DepthPoint, Estimate};

/// A rate is a loss if it is below the best by more than this many standard errors of the difference.
const LOSS_LIMIT: f64 = 3.0;
/// Weight of the pooled variance at each point, in degrees of freedom.
const POOLED_FREEDOM: f64 = 4.0;

/// The measured rate at one queue depth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    pub(crate) depth: u32,
    /// Requests per second.
    pub(crate) rate: f64,
    /// Standard error of the rate.
    pub(crate) se: f64,
}

/// The rates of a curve's points.
pub(crate) fn rates(points: &[DepthPoint]) -> Vec<Rate> {
    let rate =
        |point: &DepthPoint| Rate { depth: point.depth, rate: point.iops.value, se: point.iops.se };
    points.iter().map(rate).collect()
}

/// The rates of a curve with moderated standard errors, scaled so that a normal quantile gives their
/// intervals: the points of a curve share their variances, because three visits alone give a poor estimate.
#[must_use]
pub fn moderated(rates: &[Estimate]) -> Vec<Estimate> {
    let known: Vec<(f64, f64)> = rates.iter().map(relative_variance).collect();
    let freedom: f64 = known.iter().map(|(_, freedom)| freedom).sum();
    let pooled: f64 =
        known.iter().map(|(variance, freedom)| variance * freedom).sum::<f64>() / freedom.max(1.0);
    let widening = if freedom > 0.0 {
        stats::student_t_quantile(0.975, freedom) / record::NORMAL_95
    } else {
        1.0
    };
    let rate = |(rate, (variance, own)): (&Estimate, &(f64, f64))| {
        let se = if *own > 0.0 {
            let shared = (POOLED_FREEDOM * pooled + own * variance) / (POOLED_FREEDOM + own);
            widening * sqrt(shared) * rate.value
        } else {
            rate.se
        };
        Estimate::from_se(rate.value, se, rate.n).positive()
    };
    rates.iter().zip(&known).map(rate).collect()
}

/// Variance of a rate as a share of its square, and its degrees of freedom. A single visit has zero
/// degrees, because its interval comes from within the visit.
fn relative_variance(estimate: &Estimate) -> (f64, f64) {
    let se = stats::visits_se(estimate);
    let variance = (se / estimate.value).powi(2);
    let freedom = if variance.is_finite() { f64::from(estimate.n.max(1)) - 1.0 } else { 0.0 };
    (variance, freedom)
}

/// Removes the depths at which the device loses rate (see the module). Depths rise.
pub(crate) fn up_to_the_best(mut points: Vec<Rate>) -> Vec<Rate> {
    let Some(best) = points.iter().copied().max_by(|a, b| a.rate.total_cmp(&b.rate)) else {
        return points;
    };
    let lost = |point: &Rate| {
        let limit = LOSS_LIMIT * sqrt(point.se * point.se + best.se * best.se);
        point.depth > best.depth && best.rate - point.rate > limit
    };
    points.retain(|point| !lost(point));
    points
}

/// The non-decreasing rates nearest to `values`, one per point. The standard errors of the points give the
/// weights. The error of an exact point counts as a millionth of its rate.
pub(crate) fn isotonic(points: &[Rate], values: &[f64]) -> Vec<f64> {
    /// Merged neighbouring points: mean, weight, number.
    struct Block {
        mean: f64,
        weight: f64,
        count: usize,
    }
    let mut blocks: Vec<Block> = Vec::with_capacity(points.len());
    for (point, &value) in points.iter().zip(values) {
        let se = point.se.max(1e-6 * point.rate);
        let mut last = Block { mean: value, weight: 1.0 / (se * se), count: 1 };
        while let Some(before) = blocks.pop_if(|before| before.mean >= last.mean) {
            let weight = before.weight + last.weight;
            let sum = before.weight * before.mean + last.weight * last.mean;
            last = Block { mean: sum / weight, weight, count: before.count + last.count };
        }
        blocks.push(last);
    }
    blocks.iter().flat_map(|block| std::iter::repeat_n(block.mean, block.count)).collect()
}

/// Rates at depths 1, 2, …, from the times per request in nanoseconds. A greater depth never lowers the rate.
/// `None` if a time is unknown or the list is empty.
pub(crate) fn rising(times_ns: impl Iterator<Item = Option<f64>>) -> Option<Vec<f64>> {
    let mut least = f64::INFINITY;
    let rate = |time: Option<f64>| {
        least = least.min(time?);
        Some(1e9 / least)
    };
    times_ns.map(rate).collect::<Option<Vec<f64>>>().filter(|rates| !rates.is_empty())
}

/// The value at `x` of the curve through these points (x rising). Normally the curve is a straight line
/// between neighbours. If the lines of the neighbours on both sides meet below it, one limit takes over
/// from another there (a cap on throughput, a link), and the larger of the two lines is used. A plain line
/// would be 18 % off at the kink of a capped volume. Beyond the points, the line of the last two is
/// extended.
pub(crate) fn between(points: &[(f64, f64)], x: f64) -> Option<f64> {
    let (first, last) = (points.first()?, points.last()?);
    if points.len() == 1 {
        return Some(first.1);
    }
    let line = |a: (f64, f64), b: (f64, f64)| a.1 + (b.1 - a.1) / (b.0 - a.0) * (x - a.0);
    let right = points.partition_point(|point| point.0 < x);
    if right == 0 {
        // At least half of the smallest measured value, because every request has a fixed cost.
        return Some(line(points[0], points[1]).clamp(first.1 / 2.0, first.1));
    }
    if right == points.len() {
        return Some(line(points[right - 2], points[right - 1]).max(last.1));
    }
    let (low, high) = (points[right - 1], points[right]);
    if high.0 == x {
        return Some(high.1);
    }
    let straight = line(low, high);
    let from_left = (right >= 2).then(|| line(points[right - 2], low));
    let from_right = points.get(right + 1).map(|next| line(high, *next));
    let bent = match (from_left, from_right) {
        (Some(left), Some(right)) => left.max(right),
        _ => straight,
    };
    let floor = low.1.min(high.1);
    Some(bent.max(floor).min(straight.max(floor)))
}

/// Linear interpolation at `x` between points in rising order. Beyond them, the value of the nearest;
/// `None` without points.
pub(crate) fn straight<T>(
    points: &[T],
    x: f64,
    place: impl Fn(&T) -> f64,
    value: impl Fn(&T) -> f64,
) -> Option<f64> {
    let after = points.partition_point(|point| place(point) < x);
    Some(match (points.get(after.wrapping_sub(1)), points.get(after)) {
        (Some(low), Some(high)) => {
            let share = (x - place(low)) / (place(high) - place(low));
            value(low) + share * (value(high) - value(low))
        }
        (Some(one), None) | (None, Some(one)) => value(one),
        (None, None) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(rates: &[f64], se: f64) -> Vec<Rate> {
        let depth = |index: usize| 1 << index;
        let point = |(index, &rate)| Rate { depth: depth(index), rate, se };
        rates.iter().enumerate().map(point).collect()
    }

    fn fitted(rates: &[f64]) -> Vec<f64> {
        isotonic(&points(rates, 1.0), rates)
    }

    #[test]
    fn what_rises_stays_and_what_falls_becomes_its_mean() {
        assert_eq!(fitted(&[1.0, 2.0, 4.0]), [1.0, 2.0, 4.0]);
        assert_eq!(fitted(&[1.0, 5.0, 3.0, 6.0]), [1.0, 4.0, 4.0, 6.0]);
        assert_eq!(fitted(&[9.0, 6.0, 3.0]), [6.0, 6.0, 6.0]);
        // The mean of the last two is below the one before them, which is therefore merged too.
        assert_eq!(fitted(&[4.0, 7.0, 1.0]), [4.0, 4.0, 4.0]);
        assert_eq!(fitted(&[]), [0.0; 0]);
    }

    #[test]
    fn a_point_that_is_known_better_weighs_more() {
        let mut uneven = points(&[30.0, 20.0], 1.0);
        uneven[1].se = 2.0;
        assert_eq!(isotonic(&uneven, &[30.0, 20.0]), [28.0, 28.0]);
    }

    #[test]
    fn a_true_loss_at_great_depth_is_left_out_and_noise_is_not() {
        let depths = |rates: &[f64], se: f64| -> Vec<u32> {
            up_to_the_best(points(rates, se)).iter().map(|point| point.depth).collect()
        };
        assert_eq!(depths(&[10.0, 20.0, 19.0, 15.0], 1.0), [1, 2, 4, 8][..3]);
        assert_eq!(depths(&[10.0, 20.0, 19.0, 15.0], 2.0), [1, 2, 4, 8]);
        assert_eq!(depths(&[10.0, 20.0, 19.9], 0.0), [1, 2]);
        // A dip before the best depth is no loss: a deeper queue passes it.
        assert_eq!(depths(&[10.0, 5.0, 20.0], 0.0), [1, 2, 4]);
    }

    #[test]
    fn between_sizes_lines_and_kinks_are_exact() {
        let sizes = [4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
        let line = |x: f64| 100.0 + 3.0 * x;
        let points: Vec<(f64, f64)> = sizes.iter().map(|&x| (x, line(x))).collect();
        for x in [4.0, 5.0, 24.0, 100.0, 200.0] {
            let found = between(&points, x).unwrap();
            assert!((found - line(x)).abs() < 1e-9, "{x}: {found}");
        }
        // A cap on requests up to 43.7, on bytes above.
        let capped = |x: f64| f64::max(333.0, 7.62 * x);
        let points: Vec<(f64, f64)> = sizes.iter().map(|&x| (x, capped(x))).collect();
        for x in [6.0, 24.0, 40.0, 43.7, 50.0, 60.0, 96.0] {
            let found = between(&points, x).unwrap();
            assert!((found / capped(x) - 1.0).abs() < 1e-9, "{x}: {found}");
        }
        assert_eq!(between(&[(4.0, 7.0)], 9.0), Some(7.0));
        assert_eq!(between(&[], 9.0), None);
    }
}
