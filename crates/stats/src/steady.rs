//! Whether a series holds its level over its window.
//!
//! Two questions, because devices leave their level in two ways: a slope through the window
//! (garbage collection that sets in slowly), and a step somewhere in it (a burst credit that runs
//! out). Each is a t test on batch means, with variance and degrees of freedom corrected by (1 + r)
//! / (1 - r) for the correlation r of the residuals. A step is tried at each eighth of the window:
//! tried in the middle alone, one at 60 % was found in 15 % of series of independent noise, as
//! the misfit looks like correlation. Many tests raise more false alarms, so the smallest p-value
//! counts as many times as there are tests (Bonferroni). A long window makes any trifle
//! significant, so a series is called unsteady only where the change is also larger than 5 % of the
//! mean: a reader loses nothing to less.
//!
//! Rejected: an augmented Dickey-Fuller test (its null hypothesis is the wandering series, so short
//! windows are always unsteady), and the SNIA window rule on five rounds (range within 20 %, slope
//! within 10 %): it counts no noise, so a noisy steady device fails it. That rule is for
//! preconditioning, where the standard prescribes it.

use crate::batch::{CORRELATION_MAX, batches_of, lag_one};
use crate::quantile::student_t_two_sided;
use crate::{all_finite, mean, squares};
use libm::{fabs, sqrt};

/// Fewest values with an answer.
const VALUES_MIN: usize = 16;
/// Batches of a long series, up to twice as many of a short one. On a window of only ten
/// correlation times false alarms come to 3 % with 24 batches and to less than 2 % with 50.
const BATCHES: usize = 50;
/// Where steps are looked for, in eighths of the window. An earlier one is a warm-up.
const STEPS_EIGHTHS: std::ops::Range<usize> = 2..8;
/// Above this p-value a change is put down to chance.
const P_SIGNIFICANT: f64 = 0.01;
/// Changes below this share of the mean do not matter.
const CHANGE_REL_MIN: f64 = 0.05;

/// What the tests of trend and level say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steadiness {
    /// False where a change is significant at 1 % and larger than 5 % of the mean.
    pub steady: bool,
    /// Fitted change over the whole window as a share of the mean; positive is rising.
    pub trend_rel: f64,
    /// Size of the clearest step, after the window's first quarter, as a share of the mean; not
    /// negative.
    pub level_rel: f64,
    /// Probability of changes at least as large in a steady series of the same noise.
    pub p_value: f64,
}

/// What one fitted shape says.
struct Fitted {
    /// Coefficient of the shape: the change that it stands for, in the unit of the values.
    change: f64,
    /// Two-sided p-value of "the change is zero".
    p_value: f64,
}

/// Fits `values = mean + change x shape` (a shape that sums to zero) and tests the change, with
/// allowance for the lag-1 correlation of the residuals.
fn fit(values: &[f64], shape: &[f64]) -> Fitted {
    let centre = mean(values);
    let norm = squares(shape, 0.0);
    let change = values.iter().zip(shape).map(|(v, s)| (v - centre) * s).sum::<f64>() / norm;
    let residuals: Vec<f64> =
        values.iter().zip(shape).map(|(v, s)| v - centre - change * s).collect();
    let count = values.len() as f64;
    let raw = lag_one(&residuals, 0.0);
    // Two fitted parameters bias r by about -(2 + 4 r) / k.
    let correlation = (raw + (2.0 + 4.0 * raw.max(0.0)) / count).clamp(0.0, CORRELATION_MAX);
    let inflation = (1.0 + correlation) / (1.0 - correlation);
    // Correlated batches also know less about their own variance: as many as are independent.
    let freedom = (count / inflation - 2.0).max(1.0);
    let variance = squares(&residuals, 0.0) / (count - 2.0) / norm * inflation;
    let p_value = if variance > 0.0 {
        student_t_two_sided(change / sqrt(variance), freedom)
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

/// Tests a series for trend and for a step, allowing for autocorrelation. `None` with fewer than 16
/// values or a mean of zero.
#[must_use]
pub fn steadiness(series: &[f64]) -> Option<Steadiness> {
    let level = mean(series);
    if series.len() < VALUES_MIN || !all_finite(series) || level == 0.0 {
        return None;
    }
    let batches = batches_of(series, series.len() / BATCHES);
    let count = batches.len();
    let trend = fit(&batches, &slope_shape(count));
    let mut step = Fitted { change: 0.0, p_value: f64::INFINITY };
    for eighth in STEPS_EIGHTHS {
        let fitted = fit(&batches, &step_shape(count, count * eighth / 8));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_series_is_steady() {
        let verdict = steadiness(&[7.0; 50]).unwrap();
        assert_eq!(
            verdict,
            Steadiness { steady: true, trend_rel: 0.0, level_rel: 0.0, p_value: 1.0 }
        );
    }

    #[test]
    fn a_clean_slope_is_measured_from_end_to_end() {
        let series: Vec<f64> =
            (0..160).map(|i| 90.0 + 20.0 * (f64::from(i) + 0.5) / 160.0).collect();
        let verdict = steadiness(&series).unwrap();
        assert!((verdict.trend_rel - 0.2).abs() < 0.003, "{verdict:?}");
        assert!((verdict.level_rel - 0.1).abs() < 0.003, "{verdict:?}");
        assert!(!verdict.steady && verdict.p_value < 1e-6);
    }

    #[test]
    fn a_significant_trifle_is_steady() {
        let series: Vec<f64> = (0..160).map(|i| 1000.0 + 0.1 * f64::from(i)).collect();
        let verdict = steadiness(&series).unwrap();
        assert!(verdict.steady && verdict.p_value < 0.01, "{verdict:?}");
    }

    #[test]
    fn a_step_between_the_halves_is_found() {
        let series: Vec<f64> =
            (0..64).map(|i| (if i < 32 { 100.0 } else { 80.0 }) + f64::from(i * 7 % 5)).collect();
        let verdict = steadiness(&series).unwrap();
        assert!(!verdict.steady && (verdict.level_rel - 0.22).abs() < 0.02, "{verdict:?}");
    }

    #[test]
    fn short_broken_or_empty_series_have_no_verdict() {
        assert!(steadiness(&[1.0; 15]).is_none());
        assert!(steadiness(&[0.0; 50]).is_none());
        let mut broken = [1.0; 50];
        broken[9] = f64::NAN;
        assert!(steadiness(&broken).is_none());
    }
}
