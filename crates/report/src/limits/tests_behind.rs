//! The tests behind the path: re-reads on one disk and on more, hits by size, memory.

use super::{VALUES, rate};
use crate::number;
use crate::page::{Page, Tone};
use crate::table::{Column, Entry, Table};
use record::{
    BusTest, CacheEvidence, Estimate, Growth, HitTest, Measured, MemoryRow, MemoryTest,
    MemoryTests, ServiceTimeFit, format_bytes, format_nanos,
};

/// Re-reads of a small area.
pub(super) fn bus(page: &mut Page, bus: &Measured<BusTest>) {
    let test = match bus {
        Measured::Value(test) => test,
        Measured::NotMeasured { not_measured } => {
            page.heading("Bus and controller", "");
            return page.paragraph(2, &format!("not measured: {not_measured}"), Tone::Plain);
        }
    };
    let remark = format!(
        "{} again and again in requests of {}, {} deep on each target; a limit only where a cache \
         served it and the sum stopped growing",
        format_bytes(test.area_bytes.0),
        format_bytes(test.request_bytes.0),
        test.depth
    );
    page.heading("Bus and controller", &remark);
    page.labelled("first reads", VALUES, &rate(&test.first_bytes_per_s));
    page.labelled("sequential", VALUES, &rate(&test.medium_bytes_per_s));
    for point in &test.points {
        let label = format!("again on {}", point.targets);
        page.labelled(&label, VALUES, &rate(&point.again_bytes_per_s));
    }
    let cache = match test.evidence {
        CacheEvidence::Served => {
            "a cache served the re-reads: they are faster than first and sequential reads"
        }
        CacheEvidence::NotServed => {
            "no cache is seen: re-reads are no faster than first or sequential reads"
        }
        CacheEvidence::CannotTell => "whether a cache served them cannot be told",
    };
    let growth = match test.growth {
        Growth::Stopped => "; the sum stopped growing",
        Growth::Grows => "; the sum still grew with the last target",
        Growth::CannotTell => "; whether the sum stopped growing cannot be told",
        Growth::OneTarget => "",
    };
    page.labelled("evidence", VALUES, &format!("{cache}{growth}"));
    let limit = match &test.limit_bytes_per_s {
        Measured::Value(limit) => rate(limit),
        Measured::NotMeasured { not_measured } => format!("not claimed: {not_measured}"),
    };
    page.labelled("limit", VALUES, &limit);
}

/// A cached block against one that was read ahead.
pub(super) fn hits(page: &mut Page, hits: &Measured<HitTest>) {
    let test = match hits {
        Measured::Value(test) => test,
        Measured::NotMeasured { not_measured } => {
            page.heading("One block at a time", "");
            return page.paragraph(2, &format!("not measured: {not_measured}"), Tone::Plain);
        }
    };
    let remark = format!(
        "again: the same block; ahead: the next block, {} after the last",
        format_nanos(test.delay_ns.0 as f64)
    );
    page.heading("One block at a time", &remark);
    let mut table = Table::new(vec![
        Column::right(2),
        Column::right(3),
        Column::left(1),
        Column::right(3),
        Column::left(1),
    ]);
    table.titles(&["size", "again", "", "ahead", ""]);
    for row in &test.rows {
        let mut entries = vec![Entry::text(format_bytes(row.bytes.0))];
        for time in [&row.again_ns, &row.ahead_ns] {
            entries.extend(match time {
                Measured::Value(time) => [
                    Entry::text(number::time(time.value)),
                    Entry::text(number::interval(number::relative(time))),
                ],
                Measured::NotMeasured { .. } => [Entry::text(number::NONE), Entry::Empty],
            });
        }
        table.row(entries);
    }
    table.print(page);
    page.labelled("again", VALUES, &fit(&test.again_fit));
    page.labelled("ahead", VALUES, &fit(&test.ahead_fit));
}

/// A line in words: fixed time, and the rate that the slope is.
fn fit(fit: &Measured<ServiceTimeFit>) -> String {
    let fit = match fit {
        Measured::Value(fit) => fit,
        Measured::NotMeasured { not_measured } => return format!("no line: {not_measured}"),
    };
    let fixed = number::with_interval(&fit.intercept_ns, number::time);
    let slope = &fit.slope_ns_per_byte;
    let per_byte = if slope.low > 0.0 {
        format!("size/{}", number::rate(1e9 / slope.value))
    } else {
        "nothing that can be told per byte".to_owned()
    };
    let left_out: Vec<String> = fit
        .left_out
        .iter()
        .map(|point| {
            let sign = if point.residual_ns < 0.0 { "below" } else { "above" };
            format!("{} {sign}", format_bytes(point.bytes))
        })
        .collect();
    let left_out = if left_out.is_empty() {
        String::new()
    } else {
        format!("; not on the line: {}", left_out.join(", "))
    };
    format!("{fixed} + {per_byte}{left_out}")
}

/// Tests of the matrix, in order.
const TESTS: [MemoryTest; 7] = [
    MemoryTest::Read,
    MemoryTest::Write,
    MemoryTest::Copy,
    MemoryTest::FileRead,
    MemoryTest::FileWrite,
    MemoryTest::LineRead,
    MemoryTest::LineWrite,
];
/// Place of the rows with shifted buffers.
const SHIFTS: &str = "shifts";

/// The memory tests.
pub(super) fn memory(page: &mut Page, memory: &Measured<MemoryTests>) {
    let tests = match memory {
        Measured::Value(tests) => tests,
        Measured::NotMeasured { not_measured } => {
            page.heading("Memory", "");
            return page.paragraph(2, &format!("not measured: {not_measured}"), Tone::Plain);
        }
    };
    let rows = || tests.rows.iter().filter(|row| row.place != SHIFTS);
    let widest = rows().map(|row| number::relative(&row.bytes_per_s)).fold(0.0, f64::max);
    let remark = format!(
        "GB/s as timed, and net of a null loop; intervals {} at most",
        number::interval(widest)
    );
    page.heading("Memory", &remark);
    let places = places(tests);
    let mut columns = vec![Column::left(2)];
    columns.extend(places.iter().flat_map(|_| [Column::right(2), Column::right(1)]));
    let mut table = Table::new(columns);
    let group =
        |(index, place): (usize, &(String, u64))| (place.0.clone(), 2 * index + 1, 2 * index + 2);
    table.groups(places.iter().enumerate().map(group).collect());
    let mut threads: Vec<u32> = rows().map(|row| row.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    for &number in &threads {
        for test in TESTS {
            let of_test = |row: &&MemoryRow| row.test == test && row.threads == number;
            if rows().filter(of_test).count() == 0 {
                continue;
            }
            let name = match number {
                1 => test.name().to_owned(),
                many => format!("{}, {many} threads", test.name()),
            };
            let mut entries = vec![Entry::text(name)];
            for (place, _) in &places {
                let row = rows().filter(of_test).find(|row| row.place == *place);
                entries.extend(match row {
                    Some(row) => [&row.bytes_per_s, &row.net_bytes_per_s].map(gigabytes),
                    None => [Entry::Empty, Entry::Empty],
                });
            }
            table.row(entries);
        }
    }
    table.print(page);
    let sizes: Vec<String> =
        places.iter().map(|(place, bytes)| format!("{place}: {}", format_bytes(*bytes))).collect();
    page.labelled("buffers", VALUES, &sizes.join(", "));
    shifts(page, tests);
    let mut file = format!("in {}, in calls of 64 KiB", tests.file_on);
    if let Some(bytes) = tests.device_read_bytes {
        file.push_str(&format!("; read from devices meanwhile: {}", format_bytes(bytes)));
    }
    page.labelled("file", VALUES, &file);
    if let Some(huge) = &tests.huge_pages {
        page.labelled("huge pages", VALUES, huge);
    }
    for text in &tests.left_out {
        page.labelled("note", VALUES, text);
    }
}

/// The places of the matrix with the buffer of one thread, by rising size.
fn places(tests: &MemoryTests) -> Vec<(String, u64)> {
    let mut places: Vec<(String, u64)> = tests
        .rows
        .iter()
        .filter(|row| row.place != SHIFTS && row.threads == 1)
        .map(|row| (row.place.clone(), row.buffer_bytes.0))
        .collect();
    places.sort_by_key(|(_, bytes)| *bytes);
    places.dedup();
    places
}

fn gigabytes(rate: &Estimate) -> Entry {
    Entry::text(number::digits(rate.value / 1e9))
}

/// Copies between shifted buffers.
fn shifts(page: &mut Page, tests: &MemoryTests) {
    let rows: Vec<&MemoryRow> = tests.rows.iter().filter(|row| row.place == SHIFTS).collect();
    let Some(first) = rows.first() else { return };
    let each: Vec<String> = rows
        .iter()
        .map(|row| {
            let rate = number::digits(row.bytes_per_s.value / 1e9);
            format!("{}/{} {rate}", row.source_shift_bytes, row.destination_shift_bytes)
        })
        .collect();
    let text = format!(
        "copy of {}, source/destination so many bytes behind a page, GB/s: {}",
        format_bytes(first.buffer_bytes.0),
        each.join(", ")
    );
    page.labelled("alignment", VALUES, &text);
}
