//! A depth curve without its noise: rates that do not fall while more requests are in progress.
//!
//! More requests never make a device slower but for two reasons: noise, and a device that truly
//! loses rate at great depth. They are told apart first. Depths beyond the best one whose rate
//! lies below it by more than three standard errors of the difference are left out, since whoever
//! runs the device can stop at the best depth. The others are fitted by the non-decreasing curve
//! with the least weighted squares (isotonic regression; Barlow, Bartholomew, Bremner, Brunk
//! 1972), by pooling adjacent violators: neighbours that are out of order become their weighted
//! mean. On a plateau that takes the mean of what was measured there, where a running maximum would
//! climb from one lucky point to the next, the higher the noisier, and put the end of the climb at
//! the depth that happened to be luckiest.
//!
//! Weights come from the standard errors, and those from three visits are hardly known: the
//! quietest point by luck would outvote all others. So the relative variances of the curve's points
//! share what they know, each weighing with its own degrees of freedom and the pooled one with
//! four (a moderated variance; Smyth 2004). That is right here and wrong for cells at large (see
//! `stats::visits`): the points of one curve are the same requests to the same device.
//!
//! Rejected: joining neighbours that do not differ significantly (reduced isotonic regression;
//! Schell and Singh 1997), which reads a curve that rises slowly as flat; concave regression, which
//! denies devices that gain by batching.

use libm::sqrt;
use record::DepthPoint;

/// Standard errors of the difference beyond which a rate below the best one is a loss.
const LOSS_LIMIT: f64 = 3.0;
/// Degrees of freedom with which the pooled variance counts at each point.
const POOLED_FREEDOM: f64 = 4.0;

/// What is known of one depth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    pub(crate) depth: u32,
    /// Requests per second.
    pub(crate) rate: f64,
    /// Its standard error.
    pub(crate) se: f64,
}

/// The points with moderated standard errors, which let a normal quantile give their intervals
/// together.
pub(crate) fn rates(points: &[DepthPoint]) -> Vec<Rate> {
    let known: Vec<(f64, f64)> = points.iter().map(relative_variance).collect();
    let freedom: f64 = known.iter().map(|(_, freedom)| freedom).sum();
    let pooled: f64 =
        known.iter().map(|(variance, freedom)| variance * freedom).sum::<f64>() / freedom.max(1.0);
    let widening = if freedom > 0.0 {
        stats::student_t_quantile(0.975, freedom) / record::NORMAL_95
    } else {
        1.0
    };
    let rate = |(point, (variance, own)): (&DepthPoint, &(f64, f64))| {
        let value = point.iops.value;
        let se = if *own > 0.0 {
            let shared = (POOLED_FREEDOM * pooled + own * variance) / (POOLED_FREEDOM + own);
            widening * sqrt(shared) * value
        } else {
            point.iops.se
        };
        Rate { depth: point.depth, rate: value, se }
    };
    points.iter().zip(&known).map(rate).collect()
}

/// Variance of a point's rate as a share of its square, and the degrees of freedom behind it: none
/// for a single visit, whose interval is from within it.
fn relative_variance(point: &DepthPoint) -> (f64, f64) {
    let estimate = &point.iops;
    let se = stats::visits_se(estimate);
    let variance = (se / estimate.value).powi(2);
    let freedom = if variance.is_finite() { f64::from(estimate.n.max(1)) - 1.0 } else { 0.0 };
    (variance, freedom)
}

/// Without the depths at which the device loses rate; see the module. Rising depths.
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

/// The non-decreasing rates nearest to `values`, one for each of the points, whose standard errors
/// give the weights. Points that are exact count as a millionth of their rate.
pub(crate) fn isotonic(points: &[Rate], values: &[f64]) -> Vec<f64> {
    /// Neighbours in one: their mean, their weight, their number.
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
        // The mean of the last two falls below the one before them, and takes it in.
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
        // A dent before the best depth is no loss: who goes deeper gets over it.
        assert_eq!(depths(&[10.0, 5.0, 20.0], 0.0), [1, 2, 4]);
    }
}
