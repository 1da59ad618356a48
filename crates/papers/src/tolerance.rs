//! How far a reproduction may be from what was published.
//!
//! A formula has no excuse: it must give the printed digits. A simulated value may be 15 % off. A
//! simulated curve may be 15 % off in the median and 40 % at a point, but must also tell the same
//! story: order the same against the other curves of its chart wherever the paper shows a
//! difference (10 %), and reach half of the peak at the same request size or the next. Rejected: a
//! correlation coefficient, which a curve of the wrong height passes; the mean of the deviations,
//! in which one bad point hides.

use crate::quote::{Printed, Quote};
use crate::row::Point;
use std::fmt;

/// Allowed for a simulated single value.
pub const SINGLE: f64 = 0.15;
/// Allowed for the median of a simulated curve's deviations.
pub const CURVE_MEDIAN: f64 = 0.15;
/// Allowed for any point of one.
pub const CURVE_MAX: f64 = 0.40;
/// Published curves that are closer than this at a point have no order there.
pub const RANK_GAP: f64 = 0.10;
/// Reproduced curves that are closer than this at a point contradict no order: the first paper's
/// own repeatability.
pub const TIE: f64 = 0.03;

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// The printed digits.
    Rounding,
    /// A deviation of at most this share, at every point.
    Share(f64),
    /// A request size: the same one or the next.
    Size,
    /// A curve: median, largest, order and half-power point.
    Curve,
}

impl Tolerance {
    /// Reads `rounding`, `15%`, `size` or `curve`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "rounding" => Some(Self::Rounding),
            "size" => Some(Self::Size),
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
            Self::Size => write!(f, "same or next size"),
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
        Tolerance::Share(share) => off <= share * libm::fabs(printed.value) + slack,
        Tolerance::Curve => off <= SINGLE * libm::fabs(printed.value) + slack,
        Tolerance::Size => {
            let ratio = value / printed.value;
            (0.5..=2.0).contains(&ratio)
        }
    }
}

/// Median and largest size of the deviations; `None` unless every point has one.
#[must_use]
pub fn deviations(points: &[Point]) -> Option<(f64, f64)> {
    let sizes: Vec<f64> =
        points.iter().map(|point| point.deviation().map(libm::fabs)).collect::<Option<_>>()?;
    let max = sizes.iter().copied().max_by(f64::total_cmp)?;
    Some((stats::median(sizes), max))
}

/// Where two curves of a chart change places: the abscissas at which the published values differ by
/// more than [`RANK_GAP`] of the smaller, and the reproduced ones by more than `tie` the other
/// way.
#[must_use]
pub fn out_of_order(one: &[Point], other: &[Point], tie: f64) -> Vec<f64> {
    let at = |x: f64| other.iter().find(|point| point.x == Some(x));
    one.iter()
        .filter_map(|point| {
            let x = point.x?;
            let alternative = at(x)?;
            let published = (point.published?, alternative.published?);
            let reproduced = (point.reproduced?, alternative.reproduced?);
            let small = published.0.min(published.1);
            let apart = libm::fabs(published.0 - published.1) > RANK_GAP * small;
            let (above, below) =
                if published.0 > published.1 { reproduced } else { (reproduced.1, reproduced.0) };
            (apart && above < below * (1.0 - tie)).then_some(x)
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
