//! Decides how far a reproduction may deviate from the published value.
//!
//! A formula must give the printed digits exactly. A simulated value may be 15 % off. A simulated curve may
//! be 15 % off in the median and 40 % at a point. It must also have the same shape: the same order among
//! the curves of its chart wherever the paper shows a difference (10 %), half of the peak at the same or
//! the next request size, and rise or fall where the published one does: a level line of the right height
//! does not reproduce a slope. Rejected: a correlation coefficient, which a curve of the wrong height
//! passes; the mean of the deviations, in which one bad point hides; an allowance for curves that cross by
//! little, which the paper does not have.

use crate::papers::quote::{Printed, Quote};
use crate::papers::row::Point;
use std::fmt;

/// Allowed deviation of a single simulated value.
pub const SINGLE: f64 = 0.15;
/// Allowed median deviation of a simulated curve.
pub const CURVE_MEDIAN: f64 = 0.15;
/// Allowed deviation of any point of a simulated curve.
pub const CURVE_MAX: f64 = 0.40;
/// The order of two curves is compared only where the published values differ by more than this share.
pub const RANK_GAP: f64 = 0.10;
/// If the largest value of a published curve exceeds its smallest by more than this share, the reproduced
/// curve must show the slope.
pub const SLOPE: f64 = 0.20;
/// Allowed factor between the rise of a reproduced curve and that of the published one, up or down, in
/// logarithms.
pub const SLOPE_RATIO: f64 = 2.0;

/// If half a unit of the last digit is below this, the number is printed with decimals.
const DECIMALS: f64 = 0.1;

/// The rule for the allowed deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Equal to the printed digits.
    Rounding,
    /// A deviation of at most this share at every point, or within the rounding of the printed digits.
    Share(f64),
    /// A request size: the same one or a neighbour on the paper's axis.
    Size(&'static [f64]),
    /// A curve: median, largest deviation, order and half-power point.
    Curve,
}

impl Tolerance {
    /// Parses `rounding`, `15%`, `size` or `curve`; `sizes` are those of the paper's axis.
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

/// Whether values agree with a claim; `None` for a claim in words.
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
        // A bound is as exact as it is printed: a value beyond it passes, one short of it fails.
        Quote::MoreThan(bound) => Some(all(&|value| value >= bound.value)),
        Quote::AtMost(bound) => Some(all(&|value| not_above(bound, value))),
        Quote::Between(low, high) => {
            Some(all(&|value| not_below(low, value) && not_above(high, value)))
        }
        Quote::Text => None,
    }
}

/// Whether a value equals the printed one within the tolerance.
fn is_near(printed: Printed, value: f64, tolerance: Tolerance) -> bool {
    // Rounding error of sums of decimals.
    let slack = 1e-9 * libm::fabs(printed.value).max(1e-9);
    let off = libm::fabs(value - printed.value);
    match tolerance {
        Tolerance::Rounding => off <= printed.half_unit + slack,
        Tolerance::Share(share) => {
            // Trailing zeros of a whole number do not indicate its precision.
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

/// Median and largest absolute deviation of the points that no parameter was fitted on; `None` if a point
/// has no deviation.
#[must_use]
pub fn deviations(points: &[Point]) -> Option<(f64, f64)> {
    let sizes: Vec<f64> =
        judged(points).map(|point| point.deviation().map(libm::fabs)).collect::<Option<_>>()?;
    let max = sizes.iter().copied().max_by(f64::total_cmp)?;
    Some((stats::median(sizes), max))
}

/// The rise of a reproduced curve between the published minimum and maximum, as a multiple of the published
/// rise, in logarithms; `None` if the published curve is nearly level.
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

/// The x values at which two curves of a chart change order: the published values differ by more than
/// [`RANK_GAP`] of the smaller, and the reproduced ones have the opposite order. Points of `one` that a
/// parameter was fitted on are left out.
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

/// How many points apart the published and the reproduced curve reach `half`. A curve that never reaches it
/// counts as reaching it just after its end.
#[must_use]
pub fn half_power_distance(points: &[Point], half: f64) -> usize {
    let reaches = |value: &dyn Fn(&Point) -> Option<f64>| {
        let found = points.iter().position(|point| value(point).is_some_and(|value| value >= half));
        found.unwrap_or(points.len())
    };
    reaches(&|point| point.published).abs_diff(reaches(&|point| point.reproduced))
}
