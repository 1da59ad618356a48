//! Tests whether a series holds its level over its window.
//!
//! Devices leave their level by a slope through the window or by a step in it. Each is a t test on batch
//! means. Steps are tested at the eighths of the window. The smallest p-value is multiplied by the number of
//! tests (Bonferroni). A series is unsteady only if the change is also larger than 5 % of the mean.
//!
//! The noise must not include the change itself: the residuals of a straight line through a curve look like
//! correlated noise and hide the curve. The noise is therefore the residuals of the better of two closer
//! fits: a cubic, or a step at the best position outside the outer eighths (a stall at an edge is noise). Its
//! variance is widened by (1 + r) / (1 - r) for the lag-1 correlation r.
//!
//! In simulation (10,000 steady series each), false alarms are 0.5 to 1.8 % on a window of more than ten
//! correlation times and 4.4 % on one of nine. A fall to between 1/1.5 and 1/10 along 1 / (1 + c t) is
//! detected in more than 99 %.
//!
//! Rejected: an augmented Dickey-Fuller test (short windows are always unsteady) and the SNIA window rule (it
//! ignores noise; it is for preconditioning). For the noise: polynomials of higher degree, and a cubic in
//! addition to each step (more than 2 % false alarms on ten correlation times).

use super::PartialSums;
use crate::batch::{CORRELATION_MAX, batches_of, lag_one};
use crate::quantile::student_t_two_sided;
use crate::{all_finite, batch_means, mean, squares};
use libm::{fabs, sqrt};

/// Minimum number of values for a result.
const VALUES_MIN: usize = 16;
/// Number of batches of a long series; up to twice as many for a short one. On a window of only ten
/// correlation times, false alarms are 3 % with 24 batches and less than 2 % with 50.
const BATCHES: usize = 50;
/// Where steps are tested, in eighths of the window. A large step before the first of these also shows there.
const STEPS_EIGHTHS: std::ops::Range<usize> = 2..8;
/// Parameters of the fit whose residuals are the noise. A cubic has four. A step has two, and the choice of
/// its position costs about two more.
const PARAMETERS: f64 = 4.0;
/// A change with a larger p-value counts as chance.
const P_SIGNIFICANT: f64 = 0.01;
/// Changes below this share of the mean do not matter.
const CHANGE_REL_MIN: f64 = 0.05;

/// Maximum ratio between the two halves of a window.
const HALVES_FACTOR: f64 = 2.0;
/// Minimum number of requests. Below it, chance alone can cause that ratio: of 100 requests, one half has 67
/// or more once in a thousand windows.
const HALVES_REQUESTS: f64 = 100.0;
/// Relative half-width of a rate's interval above which the mean says little about the rate.
pub const WIDE_REL: f64 = 0.3;
/// How many times wider than chance alone (2 / sqrt n for Poisson counts) the interval must be.
const WIDER_THAN_CHANCE: f64 = 3.0;

/// Result of the tests for trend and level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steadiness {
    /// False if a change is significant at 1 % and larger than 5 % of the mean.
    pub steady: bool,
    /// Fitted change over the whole window as a share of the mean; positive is rising.
    pub trend_rel: f64,
    /// Size of the clearest step after the first quarter of the window, as a share of the mean; not negative.
    pub level_rel: f64,
    /// Probability of changes at least as large in a steady series of the same noise.
    pub p_value: f64,
}

/// The noise that changes are compared with.
struct Noise {
    /// Variance of a batch, widened for correlation.
    variance: f64,
    /// Number of effectively independent batches minus the parameters of the fit; at least 1.
    freedom: f64,
}

/// Result for one fitted shape.
struct Fitted {
    /// Coefficient of the shape: the size of the change, in the unit of the values.
    change: f64,
    /// Two-sided p-value of "the change is zero".
    p_value: f64,
}

/// The coefficient of `shape` in a least squares fit to `values`.
fn coefficient(values: &[f64], shape: &[f64]) -> f64 {
    values.iter().zip(shape).map(|(v, s)| v * s).sum::<f64>() / squares(shape, 0.0)
}

/// Residuals of `values` after a fit of `shape`.
fn without(values: &[f64], shape: &[f64]) -> Vec<f64> {
    let share = coefficient(values, shape);
    values.iter().zip(shape).map(|(v, s)| v - share * s).collect()
}

/// Residuals of `values` that sum to zero, after a cubic fit. Its powers are made orthogonal by Gram and
/// Schmidt's method.
fn without_cubic(values: &[f64]) -> Vec<f64> {
    let slope = slope_shape(values.len());
    let mut power = vec![1.0; values.len()];
    let mut basis = vec![power.clone()];
    let mut left = values.to_vec();
    for _ in 0..3 {
        power.iter_mut().zip(&slope).for_each(|(p, s)| *p *= s);
        let orthogonal = basis.iter().fold(power.clone(), |rest, shape| without(&rest, shape));
        left = without(&left, &orthogonal);
        basis.push(orthogonal);
    }
    left
}

/// The noise of at least 16 `values` that sum to zero.
fn noise_of(values: &[f64]) -> Noise {
    let mut residuals = without_cubic(values);
    let sums = PartialSums::new(values.iter().copied().map(Some));
    let left = |before: &usize| sums.cost(0, *before) + sums.cost(*before, values.len());
    let places = values.len() / 8..=values.len() * 7 / 8;
    if let Some(before) = places.min_by(|a, b| left(a).total_cmp(&left(b)))
        && left(&before) < squares(&residuals, 0.0)
    {
        residuals = without(values, &step_shape(values.len(), before));
    }
    let count = values.len() as f64;
    // The fit biases r by about -(q + (q + 2) r) / k with q parameters and k batches (Marriott and Pope 1954
    // for q = 1). This is solved for r.
    let unbiased =
        (lag_one(&residuals, 0.0) + PARAMETERS / count) / (1.0 - (PARAMETERS + 2.0) / count);
    let correlation = unbiased.clamp(0.0, CORRELATION_MAX);
    let inflation = (1.0 + correlation) / (1.0 - correlation);
    let variance = squares(&residuals, 0.0) / (count - PARAMETERS) * inflation;
    // The variance of correlated batches is also less certain.
    Noise { variance, freedom: ((count - PARAMETERS) / inflation).max(1.0) }
}

/// Fits `change x shape` to values that sum to zero, and tests the change.
fn fit(values: &[f64], shape: &[f64], noise: &Noise) -> Fitted {
    let change = coefficient(values, shape);
    let variance = noise.variance / squares(shape, 0.0);
    let p_value = if variance > 0.0 {
        student_t_two_sided(change / sqrt(variance), noise.freedom)
    } else if change == 0.0 {
        1.0
    } else {
        0.0
    };
    Fitted { change, p_value }
}

/// The slope from end to end of `count` batches: -1/2 to 1/2.
fn slope_shape(count: usize) -> Vec<f64> {
    (0..count).map(|i| (i as f64 + 0.5) / count as f64 - 0.5).collect()
}

/// A step of 1 after the first `before` of `count` batches, shifted so that it sums to zero.
fn step_shape(count: usize, before: usize) -> Vec<f64> {
    let after = (count - before) as f64 / count as f64;
    (0..count).map(|i| if i < before { -after } else { 1.0 - after }).collect()
}

/// Tests a series for a trend and for a step, allowing for autocorrelation. `None` with fewer than 16 values
/// or a mean of zero.
#[must_use]
pub fn steadiness(series: &[f64]) -> Option<Steadiness> {
    let level = mean(series);
    if series.len() < VALUES_MIN || !all_finite(series) || level == 0.0 {
        return None;
    }
    let batches = batches_of(series, (series.len() / BATCHES).max(1));
    let count = batches.len();
    let changes = without(&batches, &vec![1.0; count]);
    let noise = noise_of(&changes);
    let trend = fit(&changes, &slope_shape(count), &noise);
    let mut step = Fitted { change: 0.0, p_value: f64::INFINITY };
    for eighth in STEPS_EIGHTHS {
        let fitted = fit(&changes, &step_shape(count, count * eighth / 8), &noise);
        if fitted.p_value < step.p_value {
            step = fitted;
        }
    }
    let (trend_rel, level_rel) = (trend.change / fabs(level), fabs(step.change / level));
    let tests = 1.0 + STEPS_EIGHTHS.count() as f64;
    let p_value = (tests * trend.p_value.min(step.p_value)).min(1.0);
    let alarm = |share: f64, p: f64| fabs(share) > CHANGE_REL_MIN && tests * p < P_SIGNIFICANT;
    let steady = !alarm(trend_rel, trend.p_value) && !alarm(level_rel, step.p_value);
    Some(Steadiness { steady, trend_rel, level_rel, p_value })
}

/// Whether one half of a series of request counts is more than twice the other. [`steadiness`] compares a
/// change with the noise, but a change in several steps and curves looks like noise. A rate that dropped to a
/// sixtieth in the middle, after a restless first half, passed that test.
#[must_use]
pub fn halves_differ(counts: &[f64]) -> bool {
    let (first, second) = counts.split_at(counts.len() / 2);
    let (first, second) = (first.iter().sum::<f64>(), second.iter().sum::<f64>());
    let (less, more) = (first.min(second), first.max(second));
    less + more >= HALVES_REQUESTS && more > HALVES_FACTOR * less
}

/// Whether a rate varied so much that its mean is uncertain, by more than a small number of requests
/// explains. A rate that rises and falls again has equal halves and passes [`steadiness`]; the width of its
/// interval reveals it.
#[must_use]
pub fn wanders(counts: &[f64]) -> bool {
    let requests: f64 = counts.iter().sum();
    let chance = WIDER_THAN_CHANCE * 2.0 / requests.sqrt();
    requests >= HALVES_REQUESTS
        && batch_means(counts).is_some_and(|mean| mean.relative_half_width() > WIDE_REL.max(chance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cubic_is_taken_out_whole_and_nothing_else() {
        let cubic = |i: i32| f64::from(i * i * i - 31 * i * i + 7 * i - 90);
        let wiggle = |i: i32| if i % 2 == 0 { 1.0 } else { -1.0 };
        let values: Vec<f64> = (0..60).map(cubic).collect();
        let centred = without(&values, &[1.0; 60]);
        assert!(squares(&without_cubic(&centred), 0.0) < 1e-12 * squares(&centred, 0.0));
        let wiggles: Vec<f64> = (0..60).map(wiggle).collect();
        assert!(squares(&without_cubic(&wiggles), 0.0) > 0.99 * 60.0);
    }
}
