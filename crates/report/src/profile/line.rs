//! The straight lines through response time at depth 1 against request size.
//!
//! The slope is a time per size. Friedman calls m "the data transfer rate", which it is the
//! inverse of; both are printed. Intervals of a line are absolute, because an intercept near zero
//! has no useful relative one. Points that were left out keep the sign of their distance: a point
//! below the line is faster than predicted, and so is no sign of saturation. A line takes five
//! sizes; which rows of the service times have none for want of sizes is said.

use super::OPERATIONS;
use crate::number;
use crate::page::{Page, Tone};
use crate::table::{Column, Entry, Table};
use record::{CacheMode, OpKind, Pattern, Profile, ServiceTimeFit, format_bytes};

/// The fits.
pub(crate) fn print_fits(page: &mut Page, profile: &Profile) {
    let fits = &profile.service_time_fits;
    let without = without_line(profile);
    if fits.is_empty() {
        let reason = format!("no line, which takes five request sizes at depth 1: {without}");
        return page.heading("Fits", reason.trim_end_matches([':', ' ']));
    }
    page.heading(
        "Fits",
        "R = b + m x at depth 1 for a size of x; worst: largest residual against R",
    );
    let mut table = Table::new(vec![
        Column::left(2),
        Column::right(3),
        Column::left(1),
        Column::right(3),
        Column::left(1),
        Column::right(3),
        Column::right(2).expendable(3),
        Column::right(2).expendable(1),
        Column::right(2).expendable(2),
    ]);
    table.titles(&["", "b, µs", "", "m, µs/KiB", "", "1/m", "sizes", "worst", "chi²/df"]);
    for fit in fits {
        table.row(fit_row(fit));
    }
    table.print(page);
    let left_out: Vec<String> = fits.iter().flat_map(left_out).collect();
    if !left_out.is_empty() {
        page.paragraph(2, &format!("Not on the line: {}.", left_out.join("; ")), Tone::Plain);
    }
    if !without.is_empty() {
        let note = format!("No line (takes five sizes): {without}.");
        page.paragraph(2, &note, Tone::Faint);
    }
}

/// What was measured at depth 1 past the file-system cache and has no line; a pattern stands for
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

fn fit_row(fit: &ServiceTimeFit) -> Vec<Entry> {
    let (fixed, fixed_interval) = number::value_and_half_width(&fit.intercept_ns, 1e3);
    // Nanoseconds per byte to microseconds per KiB.
    let (slope, slope_interval) =
        number::value_and_half_width(&fit.slope_ns_per_byte, 1e3 / 1024.0);
    vec![
        Entry::text(format!("{} {}", fit.pattern.name(), fit.op.name())),
        Entry::text(fixed),
        Entry::text(fixed_interval),
        Entry::text(slope),
        Entry::text(slope_interval),
        Entry::text(inverse_rate(fit)),
        Entry::text(fit.sizes_bytes.len().to_string()),
        Entry::text(number::percent(fit.max_residual_rel)),
        Entry::text(number::digits(fit.reduced_chi_square)),
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
