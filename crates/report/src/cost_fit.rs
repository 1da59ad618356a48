//! What is said of a cost fit: fixed and marginal processor cost, and the break-even.
//!
//! The two lines come first, because they are what is taken away; then the size at which they
//! cross; then the points, side by side in both cache modes, so that a reader sees where a line
//! is only a line.

use crate::story::{Cell, Story, told};
use crate::{number, target};
use record::{Bytes, CostFit, Estimate, format_bytes};
use std::collections::BTreeSet;

/// The story of a cost fit.
#[must_use]
pub fn cost_fit(fit: &CostFit) -> Story {
    let (pattern, ops, depth) = (fit.pattern.name(), fit.op.plural(), fit.depth);
    let (targets, area) = (target::summaries(&fit.targets), format_bytes(fit.area_bytes.0));
    let subject = format!(
        "{pattern} {ops} at QD {depth} on {targets}, over {area} kept in the page cache for buffered ones"
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
    let remark =
        "charged to this program, a lower bound; fixed part and part per KiB with 95 % intervals";
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
