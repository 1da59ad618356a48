//! The straight lines through latency at QD 1 against request size.
//!
//! The slope is a time per size. Friedman calls m "the data transfer rate", which it is the
//! inverse of; both are printed. Intervals of a line are absolute, because an intercept near zero
//! has no useful relative one. Points that were left out keep the sign of their distance: a point
//! below the line is faster than predicted, and so is no sign of saturation. A line takes five
//! sizes; which rows of the service times have none for want of sizes is said.

use super::OPERATIONS;
use crate::number;
use crate::story::{Cell, Column, Story, Table};
use record::{CacheMode, OpKind, Pattern, Profile, ServiceTimeFit, format_bytes};

/// The lines, or why there is none.
pub(super) fn fits(story: &mut Story, profile: &Profile) {
    let fits = &profile.service_time_fits;
    let without = without_line(profile);
    if fits.is_empty() {
        let reason = format!("no line, which takes five request sizes at QD 1: {without}");
        story.section("Fits", reason.trim_end_matches([':', ' ']));
        return;
    }
    let remark = "latency = b + m x at QD 1 for a size of x; worst: largest residual";
    let section = story.section("Fits", remark);
    let mut table = Table::new(vec![
        Column::left(""),
        Column::right("b, µs").gap(3),
        Column::interval(),
        Column::right("m, µs/KiB").gap(3),
        Column::interval(),
        Column::right("1/m").gap(3),
        Column::right("sizes").expendable(3),
        Column::right("worst").expendable(1),
        Column::right("chi²/df").expendable(2),
    ]);
    fits.iter().for_each(|fit| table.row(fit_row(fit)));
    section.table(table);
    let left_out: Vec<String> = fits.iter().flat_map(left_out).collect();
    if !left_out.is_empty() {
        section.text(format!("Not on the line: {}.", left_out.join("; ")));
    }
    if !without.is_empty() {
        section.note(format!("No line (takes five sizes): {without}."));
    }
}

/// What was measured at QD 1 past the file-system cache and has no line; a pattern stands for
/// both directions where neither has one.
fn without_line(profile: &Profile) -> String {
    let fitted = |op, pattern| {
        profile.service_time_fits.iter().any(|fit| fit.op == op && fit.pattern == pattern)
    };
    let measured = |op, pattern| {
        profile.cells.iter().map(|cell| &cell.workload).any(|workload| {
            workload.only_op() == Some(op)
                && workload.pattern == pattern
                && workload.depth == 1
                && workload.cache == CacheMode::Device
        })
    };
    let name = |pattern: Pattern| {
        let lacks = |op: &OpKind| measured(*op, pattern) && !fitted(*op, pattern);
        match OPERATIONS.into_iter().filter(lacks).collect::<Vec<_>>().as_slice() {
            [] => None,
            [op] if OPERATIONS.into_iter().any(|op| fitted(op, pattern)) => {
                Some(format!("{} {}s", pattern.name(), op.name()))
            }
            _ => Some(pattern.name().to_owned()),
        }
    };
    let patterns = [Pattern::Sequential, Pattern::Random, Pattern::Hit];
    patterns.into_iter().filter_map(name).collect::<Vec<_>>().join(", ")
}

fn fit_row(fit: &ServiceTimeFit) -> Vec<Cell> {
    let (fixed, fixed_interval) = number::value_and_half_width(&fit.intercept_ns, 1e3);
    // Nanoseconds per byte to microseconds per KiB.
    let (slope, slope_interval) =
        number::value_and_half_width(&fit.slope_ns_per_byte, 1e3 / 1024.0);
    vec![
        format!("{} {}", fit.pattern.name(), fit.op.name()).into(),
        fixed.into(),
        fixed_interval.into(),
        slope.into(),
        slope_interval.into(),
        inverse_rate(fit).into(),
        fit.sizes_bytes.len().to_string().into(),
        number::percent(fit.max_residual_rel).into(),
        number::digits(fit.reduced_chi_square).into(),
    ]
}

/// 1/m as a rate. Where m may be zero the rate has no upper end, and only the lower is printed.
fn inverse_rate(fit: &ServiceTimeFit) -> String {
    let slope = &fit.slope_ns_per_byte;
    if slope.low > 0.0 {
        number::rate(1e9 / slope.value)
    } else if slope.high > 0.0 {
        format!("> {}", number::rate(1e9 / slope.high))
    } else {
        number::NONE.to_owned()
    }
}

/// The points that a line leaves out, each with the sign of its distance.
fn left_out(fit: &ServiceTimeFit) -> impl Iterator<Item = String> {
    fit.left_out.iter().map(|point| {
        let side = if point.residual_ns < 0.0 { "faster" } else { "slower" };
        format!(
            "{} {} of {} took {}, {} {side}",
            fit.pattern.name(),
            fit.op.name(),
            format_bytes(point.bytes),
            number::time(point.measured_ns),
            number::time(point.residual_ns.abs())
        )
    })
}
