//! How far a reproduction may be from what was published.
//!
//! A formula has no excuse: it must give the printed digits. A simulated value may be 15 % off. A
//! simulated curve may be 15 % off in the median and 40 % at a point, but must also tell the same
//! story: order the same against the other curves of its chart wherever the paper shows a
//! difference (10 %), reach half of the peak at the same request size or the next, and rise or fall
//! where the published one does: a level line of the right height is no reproduction of a slope.
//! Rejected: a correlation coefficient, which a curve of the wrong height passes; the mean of the
//! deviations, in which one bad point hides; an allowance for curves that cross by little, which
//! the paper does not have.

use crate::papers::quote::{Printed, Quote};
use crate::papers::row::Point;
use std::fmt;

/// Allowed for a simulated single value.
pub const SINGLE: f64 = 0.15;
/// Allowed for the median of a simulated curve's deviations.
pub const CURVE_MEDIAN: f64 = 0.15;
/// Allowed for any point of one.
pub const CURVE_MAX: f64 = 0.40;
/// Published curves that are closer than this at a point have no order there.
pub const RANK_GAP: f64 = 0.10;
/// A published curve whose largest value is beyond its smallest by more than this share has a slope
/// that must come out.
pub const SLOPE: f64 = 0.20;
/// The most and the inverse of the least that a reproduced curve may rise or fall, in logarithms of
/// what the published one does.
pub const SLOPE_RATIO: f64 = 2.0;

/// Half a unit of the last digit, below which a number is printed with decimals.
const DECIMALS: f64 = 0.1;

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// The printed digits.
    Rounding,
    /// A deviation of at most this share at every point, or what the printed digits leave open.
    Share(f64),
    /// A request size: the same one or the next of the paper's own axis.
    Size(&'static [f64]),
    /// A curve: median, largest, order and half-power point.
    Curve,
}

impl Tolerance {
    /// Reads `rounding`, `15%`, `size` or `curve`; `sizes` are those of the paper's axis.
    #[must_use]
    pub fn parse(text: &str, sizes: &'static [f64]) -> Option<Self> {
        match text {
            "rounding" => Some(Self::Rounding),
            "size" => Some(Self::Size(sizes)),
            "curve" => Some(Self::Curve),
            _ => {
                let percent: f64 = text.strip_suffix('%')?.parse().ok()?;
                Some(Self::Share(percent / 100.0))
            }
        }
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rounding => write!(f, "printed digits"),
            Self::Share(share) => write!(f, "{}%", share * 100.0),
            Self::Size(_) => write!(f, "same or next size on the axis"),
            Self::Curve => {
                write!(f, "median {:.0}%, max {:.0}%", CURVE_MEDIAN * 100.0, CURVE_MAX * 100.0)
            }
        }
    }
}

/// Whether values are what a claim says. Of a claim in words nothing can be said.
#[must_use]
pub fn claim_holds(quote: &Quote, values: &[f64], tolerance: Tolerance) -> Option<bool> {
    let near = |printed: &Printed, value: f64| is_near(*printed, value, tolerance);
    let not_below = |printed: &Printed, value: f64| value >= printed.value || near(printed, value);
    let not_above = |printed: &Printed, value: f64| value <= printed.value || near(printed, value);
    let all = |holds: &dyn Fn(f64) -> bool| values.iter().all(|&value| holds(value));
    match quote {
        Quote::Values(printed) => Some(
            printed.len() == values.len()
                && printed.iter().zip(values).all(|(printed, &value)| near(printed, value)),
        ),
        // A bound is as exact as it is printed: a value beyond it holds, one short of it does not.
        Quote::MoreThan(bound) => Some(all(&|value| value >= bound.value)),
        Quote::AtMost(bound) => Some(all(&|value| not_above(bound, value))),
        Quote::Between(low, high) => {
            Some(all(&|value| not_below(low, value) && not_above(high, value)))
        }
        Quote::Text => None,
    }
}

/// Whether one value is the printed one, within the tolerance.
fn is_near(printed: Printed, value: f64, tolerance: Tolerance) -> bool {
    // The last bits of a sum of decimals.
    let slack = 1e-9 * libm::fabs(printed.value).max(1e-9);
    let off = libm::fabs(value - printed.value);
    match tolerance {
        Tolerance::Rounding => off <= printed.half_unit + slack,
        Tolerance::Share(share) => {
            // Zeros at the end of a whole number say nothing of how exact it is.
            let digits = if printed.half_unit < DECIMALS { printed.half_unit } else { 0.0 };
            off <= (share * libm::fabs(printed.value)).max(digits) + slack
        }
        Tolerance::Curve => off <= SINGLE * libm::fabs(printed.value) + slack,
        Tolerance::Size(sizes) => {
            let step = |size: f64| sizes.iter().position(|&known| known == size);
            let steps = (step(value), step(printed.value));
            matches!(steps, (Some(one), Some(other)) if one.abs_diff(other) <= 1)
        }
    }
}

/// The points that no parameter was fitted on.
fn judged(points: &[Point]) -> impl Iterator<Item = &Point> {
    points.iter().filter(|point| !point.fitted)
}

/// Median and largest size of the deviations of the points that no parameter was fitted on; `None`
/// unless every one has one.
#[must_use]
pub fn deviations(points: &[Point]) -> Option<(f64, f64)> {
    let sizes: Vec<f64> =
        judged(points).map(|point| point.deviation().map(libm::fabs)).collect::<Option<_>>()?;
    let max = sizes.iter().copied().max_by(f64::total_cmp)?;
    Some((stats::median(sizes), max))
}

/// How much a reproduced curve rises from where the published one is least to where it is largest, in
/// logarithms and as a multiple of what the published one does; `None` where that hardly does.
#[must_use]
pub fn slope_ratio(points: &[Point]) -> Option<f64> {
    let both = |point: &Point| Some((point.published?, point.reproduced?));
    let values: Vec<(f64, f64)> = judged(points).map(both).collect::<Option<_>>()?;
    let most = values.iter().max_by(|one, other| one.0.total_cmp(&other.0))?;
    let least = values.iter().min_by(|one, other| one.0.total_cmp(&other.0))?;
    let positive = least.0 > 0.0 && least.1 > 0.0 && most.1 > 0.0;
    let published = libm::log(most.0 / least.0);
    let slopes = positive && published > libm::log(1.0 + SLOPE);
    slopes.then(|| libm::log(most.1 / least.1) / published)
}

/// Where two curves of a chart change places: the abscissas at which the published values differ by
/// more than [`RANK_GAP`] of the smaller, and the reproduced ones the other way. Points of `one` that
/// a parameter was fitted on are left out.
#[must_use]
pub fn out_of_order(one: &[Point], other: &[Point]) -> Vec<f64> {
    let at = |x: f64| other.iter().find(|point| point.x == Some(x));
    judged(one)
        .filter_map(|point| {
            let x = point.x?;
            let alternative = at(x)?;
            let published = (point.published?, alternative.published?);
            let reproduced = (point.reproduced?, alternative.reproduced?);
            let small = published.0.min(published.1);
            let apart = libm::fabs(published.0 - published.1) > RANK_GAP * small;
            let (above, below) =
                if published.0 > published.1 { reproduced } else { (reproduced.1, reproduced.0) };
            (apart && above < below).then_some(x)
        })
        .collect()
}

/// How many points apart a published and a reproduced curve reach `half`. A curve that never does
/// counts as doing so just behind its end.
#[must_use]
pub fn half_power_distance(points: &[Point], half: f64) -> usize {
    let reaches = |value: &dyn Fn(&Point) -> Option<f64>| {
        let found = points.iter().position(|point| value(point).is_some_and(|value| value >= half));
        found.unwrap_or(points.len())
    };
    reaches(&|point| point.published).abs_diff(reaches(&|point| point.reproduced))
}
