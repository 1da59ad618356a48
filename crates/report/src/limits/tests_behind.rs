//! Reports the tests that support the path: rereads on one disk and on several, hits by size.

use crate::number::{self, rate_with_interval};
use crate::story::{Cell, Story, joined, or_why};
use record::{
    BusTest, CacheEvidence, Estimate, Growth, HitRow, HitTest, Measured, ServiceTimeFit,
    format_bytes,
};

pub(super) fn bus(story: &mut Story, bus: &Measured<BusTest>) {
    let Some(test) = story.part("Bus and controller", bus) else { return };
    let [area, request] = [test.area_bytes, test.request_bytes].map(|it| format_bytes(it.0));
    let remark = format!(
        "{area} read repeatedly in {request} requests, QD {} on each target; a limit is visible \
         only if a cache served the reads and the combined rate stopped growing",
        test.depth
    );
    let section = story.section("Bus and controller", &remark).supporting();
    section.row("first reads", rate_with_interval(&test.first_bytes_per_s));
    section.row("sequential", rate_with_interval(&test.medium_bytes_per_s));
    for point in &test.points {
        let label = format!("again on {}", point.targets);
        section.row(&label, rate_with_interval(&point.again_bytes_per_s));
    }
    let cache = match test.evidence {
        CacheEvidence::Served => {
            "a cache served the re-reads: they are faster than first and sequential reads"
        }
        CacheEvidence::NotServed => {
            "no cache seen: re-reads are no faster than first or sequential reads"
        }
        CacheEvidence::CannotTell => "whether a cache served the re-reads is unknown",
    };
    let growth = match test.growth {
        Growth::Stopped => "; the combined rate stopped growing",
        Growth::Grows => "; the combined rate was still growing with the last target",
        Growth::CannotTell => "; whether the combined rate stopped growing is unknown",
        Growth::OneTarget => "",
    };
    section.row("evidence", format!("{cache}{growth}"));
    section.row("limit", or_why(&test.limit_bytes_per_s, "not claimed", rate_with_interval));
}

/// A cached block compared with one that was read ahead.
pub(super) fn hits(story: &mut Story, hits: &Measured<HitTest>) {
    let Some(test) = story.part("One block at a time", hits) else { return };
    let delay = number::time(test.delay_ns.0 as f64);
    let remark = format!("again: the same block; ahead: the next block, {delay} after the last");
    let section = story.section("One block at a time", &remark).supporting();
    type TimeOf = fn(&HitRow) -> Option<&Estimate>;
    let times: [(&str, TimeOf); 2] =
        [("again", |row| row.again_ns.value()), ("ahead", |row| row.ahead_ns.value())];
    section.table(&test.rows, |t| {
        t.right("size", |row| format_bytes(row.bytes.0));
        for (name, time) in times {
            t.right(name, |row| Cell::or_none(time(row), |it| number::time(it.value))).gap(3);
            t.interval(|row| time(row).copied());
        }
    });
    section.row("again", or_why(&test.again_fit, "no line", fit));
    section.row("ahead", or_why(&test.ahead_fit, "no line", fit));
}

/// A fitted line in words: the fixed time, and the rate that corresponds to the slope.
fn fit(fit: &ServiceTimeFit) -> String {
    let fixed = number::with_interval(&fit.intercept_ns, number::time);
    let slope = &fit.slope_ns_per_byte;
    let per_byte = match slope.low > 0.0 {
        true => format!("size/{}", number::rate(1e9 / slope.value)),
        false => "nothing measurable per byte".to_owned(),
    };
    let left_out = joined(&fit.left_out, ", ", |point| {
        let sign = if point.residual_ns < 0.0 { "below" } else { "above" };
        format!("{} {sign}", format_bytes(point.bytes))
    });
    let not = if left_out.is_empty() { "" } else { "; not on the line: " };
    format!("{fixed} + {per_byte}{not}{left_out}")
}
