//! Tests whether a rate is constant from interval to interval, as behind a token bucket, a pacer,
//! or a device without variance. The rate alone does not show which of these it is. It counts as
//! constant if its counts vary less than half as much as those of a Poisson process, less than
//! those of one Poisson process in two hundred over so few intervals, and by less than 2 %. The
//! first and last intervals are left out, because a segment begins and ends within one.

use super::interval_totals::IntervalTotals;
use record::{format_iops, format_rate};

const INTERVALS_MIN: usize = 6;
const REQUESTS_MIN: f64 = 20.0;
pub(crate) const VARIATION_MAX: f64 = 0.02;
const POISSON_SHARE_MAX: f64 = 0.5;
const BY_CHANCE: f64 = 0.005;

/// A constant rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ConstantRate {
    pub(crate) per_s: f64,
    /// Whether it is bytes per second rather than requests per second.
    pub(crate) bytes: bool,
}

impl ConstantRate {
    fn what(&self) -> &'static str {
        if self.bytes { "throughput" } else { "rate" }
    }

    pub(crate) fn unit(&self) -> &'static str {
        if self.bytes { "bytes/s" } else { "IOPS" }
    }

    pub(crate) fn text(&self) -> String {
        if self.bytes { format_rate(self.per_s) } else { format_iops(self.per_s) }
    }

    /// `The rate stays at 3.00k IOPS`.
    pub(crate) fn stays(&self) -> String {
        format!("The {} stays at {}", self.what(), self.text())
    }

    /// `The rate is the same in every interval (3.00k IOPS)`.
    pub(crate) fn same(&self) -> String {
        format!("The {} is the same in every interval ({})", self.what(), self.text())
    }
}

/// Standard deviation over mean; `None` for fewer than two values or a mean of zero.
pub(crate) fn moves(values: &[f64]) -> Option<f64> {
    let (count, mean) = (values.len() as f64, stats::mean(values));
    if values.len() < 2 || mean <= 0.0 {
        return None;
    }
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some((squares / (count - 1.0)).sqrt() / mean)
}

/// All intervals but the first and last, and the mean of their counts, if there are enough to
/// detect a constant rate.
fn inner(series: &[IntervalTotals]) -> Option<(&[IntervalTotals], f64)> {
    let inner = series.get(1..series.len().checked_sub(1)?)?;
    let counts: f64 = inner.iter().map(|one| one.all.count()).sum();
    let mean_count = counts / inner.len().max(1) as f64;
    (inner.len() >= INTERVALS_MIN && mean_count >= REQUESTS_MIN).then_some((inner, mean_count))
}

/// The rate or throughput of each interval.
fn per_s(series: &[IntervalTotals], bytes: bool) -> Option<Vec<f64>> {
    series.iter().map(|one| one.per_s(None, bytes)).collect()
}

/// Coefficient of variation of the rate between intervals; `None` for too few.
pub(crate) fn variation(series: &[IntervalTotals]) -> Option<f64> {
    moves(&per_s(inner(series)?.0, false)?)
}

/// Variation of the rate or throughput over the variation that chance would cause; `None` for too
/// few intervals.
pub(crate) fn regularity(series: &[IntervalTotals], bytes: bool) -> Option<f64> {
    let (inner, mean_count) = inner(series)?;
    Some(moves(&per_s(inner, bytes)?)? * mean_count.sqrt())
}

/// The constant rate or throughput of these intervals, if any.
pub(crate) fn pinned(series: &[IntervalTotals]) -> Option<ConstantRate> {
    let (inner, mean_count) = inner(series)?;
    let seconds: f64 = inner.iter().map(|one| one.seconds).sum();
    let by_chance = stats::chi_square_per_degree(BY_CHANCE, inner.len() - 1).sqrt();
    let most = (POISSON_SHARE_MAX.min(by_chance) / mean_count.sqrt()).min(VARIATION_MAX);
    let still = |values: &Vec<f64>| moves(values).is_some_and(|cv| cv < most);
    if per_s(inner, false).as_ref().is_some_and(still) {
        let per_s = mean_count * inner.len() as f64 / seconds;
        return Some(ConstantRate { per_s, bytes: false });
    }
    let throughputs = per_s(inner, true).filter(still)?;
    Some(ConstantRate { per_s: stats::mean(&throughputs), bytes: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(counts: &[f64], bytes: impl Fn(usize, f64) -> f64) -> Vec<IntervalTotals> {
        let one = |(index, &count): (usize, &f64)| {
            IntervalTotals::second(count, bytes(index, count), count * 1e6)
        };
        counts.iter().enumerate().map(one).collect()
    }

    #[test]
    fn a_constant_rate_is_pinned_and_one_that_varies_by_chance_is_not() {
        let constant = [7.0, 500.0, 501.0, 499.0, 500.0, 500.0, 500.0, 501.0, 300.0];
        let pin = pinned(&series(&constant, |_, count| count * 4096.0)).unwrap();
        assert!(!pin.bytes && (pin.per_s - 500.0).abs() < 1.0);
        let chance = [500.0, 478.0, 521.0, 499.0, 530.0, 481.0, 507.0, 516.0, 490.0];
        assert_eq!(pinned(&series(&chance, |_, count| count * 4096.0)), None);
    }

    #[test]
    fn what_chance_makes_of_few_intervals_is_not_pinned_though_it_would_be_of_many() {
        // They vary by 0.45 of a Poisson process's variation.
        let around = [490.0, 512.0, 505.0, 488.0, 508.0, 493.0, 504.0];
        let of = |count: usize| -> Vec<f64> { around.into_iter().cycle().take(count).collect() };
        assert_eq!(pinned(&series(&of(9), |_, count| count * 4096.0)), None);
        assert!(pinned(&series(&of(60), |_, count| count * 4096.0)).is_some());
    }

    #[test]
    fn throughput_can_be_pinned_while_the_rate_moves() {
        let counts = [500.0, 400.0, 550.0, 480.0, 620.0, 390.0, 510.0, 505.0, 450.0];
        let pin = pinned(&series(&counts, |index, _| 1e8 + index as f64 * 1e4)).unwrap();
        assert!(pin.bytes && (pin.per_s / 1e8 - 1.0).abs() < 0.01);
    }

    #[test]
    fn few_intervals_or_few_requests_pin_nothing() {
        assert_eq!(pinned(&series(&[500.0; 7], |_, count| count)), None);
        assert_eq!(pinned(&series(&[5.0; 20], |_, count| count)), None);
        assert_eq!(pinned(&[]), None);
    }
}
