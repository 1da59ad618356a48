//! Tabulates the straight lines of latency at QD 1 against request size.
//!
//! The slope is a time per size. Friedman calls m "the data transfer rate", although it is the
//! inverse of that; both are printed. Intervals of a line are absolute, because an intercept near
//! zero has no useful relative one. Points that were left out keep the sign of their distance: a
//! point below the line is faster than predicted, and therefore no sign of saturation. A line needs
//! five sizes. Rows of the service times with too few sizes for a line are named.

use crate::number;
use crate::story::{Story, joined};
use record::{Estimate, OpKind, Pattern, Profile, ServiceTimeFit, format_bytes};

pub(super) fn fits(story: &mut Story, profile: &Profile) {
    let fits = &profile.service_time_fits;
    let without = without_line(profile);
    if fits.is_empty() {
        let reason = format!("no line, because it needs five request sizes at QD 1: {without}");
        story.section("Fits", reason.trim_end_matches([':', ' '])).supporting();
        return;
    }
    let remark = "latency = b + m x at QD 1 for a size of x; worst: largest residual";
    let section = story.section("Fits", remark).supporting();
    // Nanoseconds per byte to microseconds per KiB.
    let slope = |fit: &ServiceTimeFit| fit.slope_ns_per_byte.scaled(1.024);
    let fixed = |fit: &ServiceTimeFit| fit.intercept_ns.scaled(1e-3);
    section.table(fits, |t| {
        t.left("", |fit| format!("{} {}", fit.pattern.name(), fit.op.name()));
        t.right("b, µs", move |fit| number::digits(fixed(fit).value)).gap(3);
        t.left("", move |fit| half_width(&fixed(fit))).gap(1);
        t.right("m, µs/KiB", move |fit| number::digits(slope(fit).value)).gap(3);
        t.left("", move |fit| half_width(&slope(fit))).gap(1);
        t.right("1/m", |fit| inverse_rate(fit)).gap(3);
        t.right("sizes", |fit| fit.sizes_bytes.len().to_string()).expendable(3);
        t.right("worst", |fit| number::percent(fit.max_residual_rel)).expendable(1);
        t.right("chi²/df", |fit| number::digits(fit.reduced_chi_square)).expendable(2);
    });
    let left_out = joined(fits.iter().flat_map(left_out), "; ", |point| point);
    if !left_out.is_empty() {
        section.text(format!("Not on the line: {left_out}."));
    }
    let without = Some(without).filter(|without| !without.is_empty());
    section.notes(without.map(|without| format!("No line (needs five sizes): {without}.")));
}

/// What was measured at QD 1 with direct I/O and has no line. A pattern represents both directions
/// if neither has one.
fn without_line(profile: &Profile) -> String {
    let fitted = |op, pattern| {
        profile.service_time_fits.iter().any(|fit| fit.op == op && fit.pattern == pattern)
    };
    let name = |pattern: Pattern| {
        let lacks = |op: &OpKind| {
            super::cells_of(profile, (*op, pattern, 1)).next().is_some() && !fitted(*op, pattern)
        };
        let any_fitted = OpKind::ALL.into_iter().any(|op| fitted(op, pattern));
        match OpKind::ALL.into_iter().filter(lacks).collect::<Vec<_>>().as_slice() {
            [] => None,
            [op] if any_fitted => Some(format!("{} {}", pattern.name(), op.plural())),
            _ => Some(pattern.name().to_owned()),
        }
    };
    let patterns = [Pattern::Sequential, Pattern::Random, Pattern::Hit];
    joined(patterns.into_iter().filter_map(name), ", ", |name| name)
}

/// The absolute half-width, with no more decimals than the value has and than it is accurate to.
fn half_width(estimate: &Estimate) -> String {
    let half_width = match estimate.half_width().abs() {
        many if many >= 9.95 || many.is_nan() => number::digits(many.round()),
        some if some >= 0.995 => format!("{some:.1}"),
        few if few >= 0.0995 => format!("{few:.2}"),
        least => format!("{least:.3}"),
    };
    format!("±{half_width}")
}

/// 1/m as a rate. If m may be zero the rate has no upper end, and only the lower one is printed.
fn inverse_rate(fit: &ServiceTimeFit) -> String {
    match &fit.slope_ns_per_byte {
        slope if slope.low > 0.0 => number::rate(1e9 / slope.value),
        slope if slope.high > 0.0 => format!("> {}", number::rate(1e9 / slope.high)),
        _ => number::NONE.to_owned(),
    }
}

/// The points that a line leaves out, each with the direction of its distance.
fn left_out(fit: &ServiceTimeFit) -> impl Iterator<Item = String> {
    fit.left_out.iter().map(|point| {
        let side = if point.residual_ns < 0.0 { "faster" } else { "slower" };
        let [took, off] = [point.measured_ns, point.residual_ns.abs()].map(number::time);
        let (op, size) = (fit.op.name(), format_bytes(point.bytes));
        format!("{} {op} of {size} took {took}, {off} {side}", fit.pattern.name())
    })
}
