//! What is said of a cost fit: fixed and marginal processor cost, and the break-even.
//!
//! The two lines come first, because they are what is taken away; then the size at which they
//! cross; then the points, side by side in both cache modes, so that a reader sees where a line
//! is only a line.

use crate::story::{Cell, Column, Story, Table};
use crate::{number, target};
use record::{Bytes, CostFit, CostLine, CostPoint, Estimate, Measured, Unit, format_bytes};
use std::collections::BTreeSet;

/// The story of a cost fit.
#[must_use]
pub fn cost_fit(fit: &CostFit) -> Story {
    let names: Vec<String> = fit.targets.iter().map(target::summary).collect();
    let mut story = Story {
        kind: "Cost fit".to_owned(),
        subject: format!(
            "{} {}s at QD {} on {}, over {} kept in the page cache for buffered ones",
            fit.pattern.name(),
            fit.op.name(),
            fit.depth,
            names.join(" and "),
            format_bytes(fit.area_bytes.0)
        ),
        id: fit.id.clone(),
        headline: match &fit.break_even_bytes {
            Measured::Value(size) => format!(
                "Buffered and direct requests cost the same at {}.",
                number::with_range(size, |bytes| number::in_unit(Unit::Bytes, bytes))
            ),
            Measured::NotMeasured { not_measured } => not_measured.clone(),
        },
        findings: fit.findings.clone(),
        ..Story::default()
    };
    for line in &fit.modes {
        story.fact(format!("CPU time, cache {}", line.cache.name()), line_text(line));
    }
    points(&mut story, fit);
    let about = (fit.halfpower_version.as_str(), fit.time.as_deref(), fit.seed);
    target::conditions(&mut story, &fit.targets, fit.environment.as_ref(), about);
    story
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
fn points(story: &mut Story, fit: &CostFit) {
    let sizes: BTreeSet<Bytes> =
        fit.modes.iter().flat_map(|line| &line.points).map(|point| point.bytes).collect();
    let mut columns = vec![Column::right("size")];
    columns.extend(fit.modes.iter().flat_map(|line| {
        [Column::right(format!("cache {}", line.cache.name())).gap(4), Column::right("off line")]
    }));
    let mut table = Table::new(columns);
    for size in sizes {
        let mut row = vec![Cell::from(format_bytes(size.0))];
        for line in &fit.modes {
            let point = line.points.iter().find(|point| point.bytes == size);
            row.extend(cells(point));
        }
        table.row(row);
    }
    let remark =
        "charged to this program, a lower bound; fixed part and part per KiB with 95 % intervals";
    story.section("CPU time per request", remark).table(table);
}

fn cells(point: Option<&CostPoint>) -> [Cell; 2] {
    let Some(point) = point else { return [Cell::default(), Cell::default()] };
    let cost = point.us_per_io.value;
    let off = point.residual_us.filter(|_| cost > 0.0);
    let off = off.map(|residual| number::change(1.0 + residual / cost).into());
    [micros(&point.us_per_io).into(), off.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Style, terminal};
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
        let text = terminal(&cost_fit(&fit(Measured::Value(crossing))), &Style::default());
        assert!(text.contains("12.0 µs ± 1.00 µs + 6.00 µs ± 10.0 ns per KiB"), "{text}");
        assert!(text.contains("cost the same at 6.90 KiB"), "{text}");
        assert!(text.contains("64 KiB"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_page_without_a_crossing_says_why() {
        let reason = "no break-even in this range: requests buffered cost more at every size";
        let text = terminal(&cost_fit(&fit(Measured::not(reason))), &Style::default());
        assert!(text.contains("no break-even in this range"), "{text}");
    }
}
