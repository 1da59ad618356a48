//! Reports the tests that support the path: rereads on one disk and on several, hits by size, memory.

use crate::number::{self, rate_with_interval};
use crate::story::{Cell, Section, Story, joined};
use record::{
    BusTest, CacheEvidence, Estimate, Growth, HitRow, HitTest, Measured, MemoryRow, MemoryTest,
    MemoryTests, ServiceTimeFit, format_bytes,
};
use std::collections::BTreeSet;

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
    section.row("limit", or_why("not claimed", &test.limit_bytes_per_s, rate_with_interval));
}

fn or_why<T>(not: &str, part: &Measured<T>, text: fn(&T) -> String) -> String {
    part.known().map_or_else(|reason| format!("{not}: {reason}"), text)
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
    section.row("again", or_why("no line", &test.again_fit, fit));
    section.row("ahead", or_why("no line", &test.ahead_fit, fit));
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

/// Label of the rows with shifted buffers.
const SHIFTS: &str = "shifts";

pub(super) fn memory(story: &mut Story, memory: &Measured<MemoryTests>) {
    let Some(tests) = story.part("Memory", memory) else { return };
    let rows = || tests.rows.iter().filter(|row| row.place != SHIFTS);
    let widest = rows().map(|row| row.bytes_per_s.relative_half_width()).fold(0.0, f64::max);
    let remark = format!(
        "GB/s as timed, and net of a null loop; intervals at most {}",
        number::interval(widest)
    );
    let section = story.section("Memory", &remark).supporting();
    let places = places(tests);
    type RateOf = fn(&MemoryRow) -> &Estimate;
    let rates: [(usize, RateOf); 2] =
        [(2, |row| &row.bytes_per_s), (1, |row| &row.net_bytes_per_s)];
    let keys: BTreeSet<(u32, MemoryTest)> = rows().map(|row| (row.threads, row.test)).collect();
    section.table(keys, |t| {
        t.left("", |(threads, test)| match threads {
            1 => test.name().to_owned(),
            many => format!("{}, {many} threads", test.name()),
        });
        for (place, _) in &places {
            t.group(place);
            let at = |key: &(u32, MemoryTest)| {
                rows().find(|row| row.place == *place && (row.threads, row.test) == *key)
            };
            for (gap, rate) in rates {
                t.right("", |key| Cell::or_empty(at(key), |row| gigabytes(rate(row)))).gap(gap);
            }
        }
    });
    let sizes =
        joined(&places, ", ", |(place, bytes)| format!("{place}: {}", format_bytes(*bytes)));
    section.row("buffers", sizes);
    shifts(section, tests);
    let mut file = format!("in {}, in 64 KiB calls", tests.file_on);
    let read = tests.device_read_bytes.map(format_bytes);
    file.extend(read.map(|bytes| format!("; read from devices meanwhile: {bytes}")));
    section.row("file", file);
    section.row("huge pages", tests.huge_pages.clone().unwrap_or_default());
    tests.left_out.iter().for_each(|text| section.row("note", text));
}

/// The places of the matrix with the buffer size of one thread, in order of size.
fn places(tests: &MemoryTests) -> Vec<(String, u64)> {
    let mut places: Vec<(String, u64)> = tests
        .rows
        .iter()
        .filter(|row| row.place != SHIFTS && row.threads == 1)
        .map(|row| (row.place.clone(), row.buffer_bytes.0))
        .collect();
    places.sort_by_cached_key(|(_, bytes)| *bytes);
    places.dedup();
    places
}

fn gigabytes(rate: &Estimate) -> String {
    number::digits(rate.value / 1e9)
}

fn shifts(section: &mut Section, tests: &MemoryTests) {
    let rows = || tests.rows.iter().filter(|row| row.place == SHIFTS);
    let Some(first) = rows().next() else { return };
    let each = joined(rows(), ", ", |row| {
        let rate = gigabytes(&row.bytes_per_s);
        format!("{}/{} {rate}", row.source_shift_bytes, row.destination_shift_bytes)
    });
    let text = format!(
        "copy of {}, source/destination offset in bytes from a page boundary, GB/s: {each}",
        format_bytes(first.buffer_bytes.0)
    );
    section.row("alignment", text);
}
