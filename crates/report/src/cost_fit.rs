//! Builds the report on a cost fit: fixed and marginal CPU cost, and the break-even.
//!
//! The two lines come first, because they are the result. Then come the size at which they cross, and the
//! points of both cache modes next to each other, so that a reader sees how well a line describes them.

use crate::chart::{Axis, Chart, Form, Point, Rule, Series, ends, extremes, xs};
use crate::story::{Cell, Story, joined, told};
use crate::{number, target};
use record::{Bytes, CacheMode, CostFit, CostLine, Estimate, Unit, format_bytes};
use std::collections::BTreeSet;

/// The story of a cost fit.
pub fn cost_fit(fit: &CostFit) -> Story {
    let (pattern, ops, depth) = (fit.pattern.name(), fit.op.plural(), fit.depth);
    let (targets, area) = (target::summaries(&fit.targets), format_bytes(fit.area_bytes.0));
    let subject = format!(
        "{pattern} {ops} at QD {depth} on {targets}, over {area}, which stays in the page cache \
         for buffered requests"
    );
    let mut story = Story::new("Cost fit", subject, false).saved(&fit.id, &fit.findings);
    story.headline = match fit.break_even_bytes.known() {
        Ok(size) => {
            let size = number::with_range(size, number::size);
            format!("Buffered and direct requests cost the same at {size}.")
        }
        Err(reason) => reason.to_owned(),
    };
    for line in &fit.modes {
        let text = told(&line.line, |model| {
            format!("{} + {} per KiB", micros(&model.fixed_us), micros(&model.us_per_kib))
        });
        story.fact(format!("CPU time, cache {}", line.cache.name()), text);
    }
    story.charts.extend(lines(fit));
    points(&mut story, fit);
    let about = (fit.halfpower_version.as_str(), fit.time.as_deref(), fit.seed);
    target::conditions(&mut story, &fit.targets, fit.environment.as_ref(), about);
    story
}

fn micros(estimate: &Estimate) -> String {
    let [time, half_width] =
        [estimate.value, estimate.half_width()].map(|us| number::time(us * 1e3));
    format!("{time} ± {half_width}")
}

fn points(story: &mut Story, fit: &CostFit) {
    let points = fit.modes.iter().flat_map(|line| &line.points);
    let sizes: BTreeSet<Bytes> = points.map(|point| point.bytes).collect();
    let remark = "charged to halfpower (a lower bound), ± at 95 %; off line: difference from the \
                  fitted line";
    story.section("CPU time per request", remark).table(sizes, |t| {
        t.right("size", |size| format_bytes(size.0));
        for line in &fit.modes {
            let at = |size: &Bytes| line.points.iter().find(|point| point.bytes == *size);
            let off = |size: &Bytes| {
                let point = at(size).filter(|point| point.us_per_io.value > 0.0)?;
                Some(1.0 + point.residual_us? / point.us_per_io.value)
            };
            let title = format!("cache {}", line.cache.name());
            t.right(title, |size| Cell::or_empty(at(size), |it| micros(&it.us_per_io))).gap(4);
            t.right("off line", |size| Cell::or_empty(off(size), number::change));
        }
    });
}

/// Measured costs and the lines through them, against size.
fn lines(fit: &CostFit) -> Option<Chart> {
    let ns = |us: f64| us * 1e3;
    let mode = |cache: CacheMode| format!("cache {}", cache.name());
    let measured = fit.modes.iter().map(|one| {
        let points = one
            .points
            .iter()
            .map(|point| Point::known(point.bytes.0 as f64, &point.us_per_io.scaled(1e3)));
        Series::new(mode(one.cache), Form::Marks, points.collect())
    });
    let fitted = fit.modes.iter().filter_map(|one| {
        let model = one.line.value()?;
        let at = |bytes: f64| ns(model.fixed_us.value + model.us_per_kib.value * bytes / 1024.0);
        let sizes = one.points.iter().map(|point| point.bytes.0 as f64);
        let points = sizes.map(|bytes| Point::bare(bytes, at(bytes)));
        Some(Series::new(format!("line of {}", mode(one.cache)), Form::Trace, points.collect()))
    });
    let series: Vec<Series> = measured.chain(fitted).collect();
    let known = |one: &&CostLine| one.line.value().is_some();
    let slopes = joined(fit.modes.iter().filter(known), ", ", |one| {
        let slope = one.line.value().map_or(f64::NAN, |model| ns(model.us_per_kib.value));
        format!("{} with {}", number::time(slope), mode(one.cache))
    });
    let finding = match slopes.as_str() {
        "" => slopes,
        _ => format!("Each additional KiB takes {slopes}."),
    };
    let x = Axis::at_values("request size", Some(Unit::Bytes), true, xs(&series));
    let y = Axis::decades("CPU time per request", Some(Unit::Nanos), ends(&series));
    let (low, high) = extremes(xs(&series));
    let even = fit.break_even_bytes.value().filter(|size| (low..=high).contains(&size.value));
    let errors = "Error bars: 95 % intervals over visits; lines: weighted least squares. CPU time \
                  charged to halfpower: a lower bound.";
    Chart::new("CPU time of a request", finding, (x, y), series)
        .errors(errors)
        .rules(even.map(|size| Rule::upright(size.value, "break-even")))
        .unless_empty()
}
