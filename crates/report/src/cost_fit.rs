//! What `halfpower run --cost-fit` prints: fixed and marginal processor cost, and the break-even.
//!
//! The two lines come first, because they are what is taken away; then the size at which they
//! cross; then the points, side by side in both cache modes, so that a reader sees where a line
//! is only a line.

use crate::page::{Page, Span, Tone};
use crate::table::{Column, Entry, Table};
use crate::{Style, finding, number, profile, target};
use record::{Bytes, CostFit, CostLine, CostPoint, Estimate, Measured, format_bytes};
use std::collections::BTreeSet;

/// Column at which the values of labelled lines begin.
const VALUES: usize = 19;

/// One cost fit, answer first.
#[must_use]
pub fn cost_fit_text(fit: &CostFit, style: &Style) -> String {
    let mut page = Page::new(style);
    let text = format!(
        "{} {}s, depth {}, over {} kept in the page cache for buffered ones",
        fit.pattern.name(),
        fit.op.name(),
        fit.depth,
        format_bytes(fit.area_bytes.0)
    );
    page.hanging(vec![Span::new("Cost fit: ", Tone::Strong)], &text, Tone::Plain);
    for target in &fit.targets {
        page.paragraph(10, &target::summary(target), Tone::Plain);
    }
    finding::print_verdict(&mut page, &fit.findings);
    page.heading(
        "Processor time per request",
        "charged to this program, a lower bound; fixed part and part per KiB with 95 % intervals",
    );
    for line in &fit.modes {
        page.labelled(&format!("cache {}", line.cache.name()), VALUES, &line_text(line));
    }
    let break_even = match &fit.break_even_bytes {
        Measured::Value(size) => format!(
            "buffered and direct requests cost the same at {}, between {} and {}",
            size_text(size.value),
            size_text(size.low),
            size_text(size.high)
        ),
        Measured::NotMeasured { not_measured } => not_measured.clone(),
    };
    page.labelled("break-even", VALUES, &break_even);
    page.blank();
    points(&mut page, fit);
    finding::print(&mut page, &fit.findings);
    page.blank();
    let mut parts = profile::environment_parts(fit.environment.as_ref());
    parts.push(format!("seed {}", fit.seed));
    parts.extend(fit.time.as_deref().map(number::when));
    parts.push(format!("halfpower {}", fit.halfpower_version));
    page.labelled("conditions", VALUES, &parts.join("; "));
    page.labelled("cost fit", VALUES, &fit.id);
    page.finish()
}

fn size_text(bytes: f64) -> String {
    number::in_unit(record::Unit::Bytes, bytes)
}

fn micros(estimate: &Estimate) -> String {
    let time = number::time(estimate.value * 1e3);
    let half_width = number::time(estimate.half_width() * 1e3);
    format!("{time} ± {half_width}")
}

fn line_text(line: &CostLine) -> String {
    match &line.line {
        Measured::NotMeasured { not_measured } => format!("not measured: {not_measured}"),
        Measured::Value(model) => {
            format!("{} + {} per KiB", micros(&model.fixed_us), micros(&model.us_per_kib))
        }
    }
}

/// The points of all modes by size.
fn points(page: &mut Page, fit: &CostFit) {
    let sizes: BTreeSet<Bytes> =
        fit.modes.iter().flat_map(|line| &line.points).map(|point| point.bytes).collect();
    if sizes.is_empty() {
        return;
    }
    let mut columns = vec![Column::right(2)];
    columns.extend(fit.modes.iter().flat_map(|_| [Column::right(4), Column::right(2)]));
    let mut table = Table::new(columns);
    let mut titles = vec!["size".to_owned()];
    for line in &fit.modes {
        titles.extend([format!("cache {}", line.cache.name()), "off line".to_owned()]);
    }
    table.titles(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    for size in sizes {
        let mut row = vec![Entry::text(format_bytes(size.0))];
        for line in &fit.modes {
            let point = line.points.iter().find(|point| point.bytes == size);
            row.extend(point_entries(point));
        }
        table.row(row);
    }
    table.print(page);
}

fn point_entries(point: Option<&CostPoint>) -> [Entry; 2] {
    let Some(point) = point else { return [Entry::Empty, Entry::Empty] };
    let off = point.residual_us.filter(|_| point.us_per_io.value > 0.0).map_or(
        Entry::Empty,
        |residual| {
            let share = (residual / point.us_per_io.value).clamp(-9.99, 9.99);
            Entry::text(format!("{:+.0} %", share * 100.0))
        },
    );
    [Entry::text(micros(&point.us_per_io)), off]
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{CacheMode, CostModel, OpKind, Pattern};

    fn fit(break_even_bytes: Measured<Estimate>) -> CostFit {
        let line = |cache, fixed: f64, per_kib: f64| CostLine {
            cache,
            points: [4_096_u64, 65_536]
                .map(|bytes| CostPoint {
                    bytes: Bytes(bytes),
                    us_per_io: Estimate::symmetric(fixed + per_kib * bytes as f64 / 1024.0, 0.5, 3),
                    residual_us: Some(0.3),
                })
                .to_vec(),
            line: Measured::Value(CostModel {
                fixed_us: Estimate::symmetric(fixed, 1.0, 9),
                us_per_kib: Estimate::symmetric(per_kib, 0.01, 9),
                reduced_chi_square: 1.0,
            }),
        };
        CostFit {
            schema: record::COST_FIT_SCHEMA.to_owned(),
            halfpower_version: "0".to_owned(),
            id: "id".to_owned(),
            time: None,
            seed: 1,
            targets: Vec::new(),
            op: OpKind::Read,
            pattern: Pattern::Random,
            depth: 1,
            area_bytes: Bytes(64 << 20),
            modes: vec![line(CacheMode::All, 12.0, 6.0), line(CacheMode::Device, 50.0, 0.5)],
            break_even_bytes,
            findings: Vec::new(),
            environment: None,
        }
    }

    #[test]
    fn the_page_gives_both_lines_their_points_and_where_they_cross() {
        let crossing =
            Estimate { low: 6_000.0, high: 8_000.0, ..Estimate::symmetric(7_065.0, 1.0, 9) };
        let text = cost_fit_text(&fit(Measured::Value(crossing)), &Style::default());
        assert!(text.contains("12.0 µs ± 1.00 µs + 6.00 µs ± 10.0 ns per KiB"), "{text}");
        assert!(text.contains("cost the same at 6.90 KiB"), "{text}");
        assert!(text.contains("64 KiB"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_page_without_a_crossing_says_why() {
        let reason = "no break-even in this range: requests buffered cost more at every size";
        let text = cost_fit_text(&fit(Measured::not(reason)), &Style::default());
        assert!(text.contains("no break-even in this range"), "{text}");
    }
}
