//! The tests behind the path: re-reads on one disk and on more, hits by size, memory.

use crate::number;
use crate::story::{Cell, Column, Section, Story, Table};
use record::{
    BusTest, CacheEvidence, Estimate, Growth, HitTest, Measured, MemoryRow, MemoryTest,
    MemoryTests, ServiceTimeFit, format_bytes, format_nanos,
};

/// Re-reads of a small area.
pub(super) fn bus(story: &mut Story, bus: &Measured<BusTest>) {
    let test = match bus {
        Measured::Value(test) => test,
        Measured::NotMeasured { not_measured } => {
            return story
                .section("Bus and controller", "")
                .text(format!("not measured: {not_measured}"));
        }
    };
    let remark = format!(
        "{} again and again in requests of {}, QD {} on each target; a limit only where a cache \
         served it and the sum stopped growing",
        format_bytes(test.area_bytes.0),
        format_bytes(test.request_bytes.0),
        test.depth
    );
    let section = story.section("Bus and controller", &remark);
    section.row("first reads", rate(&test.first_bytes_per_s));
    section.row("sequential", rate(&test.medium_bytes_per_s));
    for point in &test.points {
        let label = format!("again on {}", point.targets);
        section.row(&label, rate(&point.again_bytes_per_s));
    }
    let cache = match test.evidence {
        CacheEvidence::Served => {
            "a cache served the re-reads: they are faster than first and sequential reads"
        }
        CacheEvidence::NotServed => {
            "no cache is seen: re-reads are no faster than first or sequential reads"
        }
        CacheEvidence::CannotTell => "inconclusive: whether a cache served them",
    };
    let growth = match test.growth {
        Growth::Stopped => "; the sum stopped growing",
        Growth::Grows => "; the sum still grew with the last target",
        Growth::CannotTell => "; inconclusive: whether the sum stopped growing",
        Growth::OneTarget => "",
    };
    section.row("evidence", format!("{cache}{growth}"));
    let limit = match &test.limit_bytes_per_s {
        Measured::Value(limit) => rate(limit),
        Measured::NotMeasured { not_measured } => format!("not claimed: {not_measured}"),
    };
    section.row("limit", limit);
}

/// A cached block against one that was read ahead.
pub(super) fn hits(story: &mut Story, hits: &Measured<HitTest>) {
    let test = match hits {
        Measured::Value(test) => test,
        Measured::NotMeasured { not_measured } => {
            return story
                .section("One block at a time", "")
                .text(format!("not measured: {not_measured}"));
        }
    };
    let remark = format!(
        "again: the same block; ahead: the next block, {} after the last",
        format_nanos(test.delay_ns.0 as f64)
    );
    let section = story.section("One block at a time", &remark);
    let mut table = Table::new(vec![
        Column::right("size"),
        Column::right("again").gap(3),
        Column::interval(),
        Column::right("ahead").gap(3),
        Column::interval(),
    ]);
    for row in &test.rows {
        let mut entries = vec![Cell::from(format_bytes(row.bytes.0))];
        for time in [&row.again_ns, &row.ahead_ns] {
            entries.extend(match time {
                Measured::Value(time) => {
                    [Cell::from(number::time(time.value)), Cell::interval(time)]
                }
                Measured::NotMeasured { .. } => [Cell::from(number::NONE), Cell::default()],
            });
        }
        table.row(entries);
    }
    section.table(table);
    section.row("again", fit(&test.again_fit));
    section.row("ahead", fit(&test.ahead_fit));
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
        "nothing measurable per byte".to_owned()
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
pub(super) fn memory(story: &mut Story, memory: &Measured<MemoryTests>) {
    let tests = match memory {
        Measured::Value(tests) => tests,
        Measured::NotMeasured { not_measured } => {
            return story.section("Memory", "").text(format!("not measured: {not_measured}"));
        }
    };
    let rows = || tests.rows.iter().filter(|row| row.place != SHIFTS);
    let widest = rows().map(|row| number::relative(&row.bytes_per_s)).fold(0.0, f64::max);
    let remark = format!(
        "GB/s as timed, and net of a null loop; intervals {} at most",
        number::interval(widest)
    );
    let section = story.section("Memory", &remark);
    let places = places(tests);
    let mut columns = vec![Column::left("")];
    columns.extend(places.iter().flat_map(|(place, _)| {
        [Column::right("").group(place), Column::right("").gap(1).group(place)]
    }));
    let mut table = Table::new(columns);
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
            let mut entries = vec![Cell::from(name)];
            for (place, _) in &places {
                let row = rows().filter(of_test).find(|row| row.place == *place);
                entries.extend(match row {
                    Some(row) => [&row.bytes_per_s, &row.net_bytes_per_s].map(gigabytes),
                    None => [Cell::default(), Cell::default()],
                });
            }
            table.row(entries);
        }
    }
    section.table(table);
    let sizes: Vec<String> =
        places.iter().map(|(place, bytes)| format!("{place}: {}", format_bytes(*bytes))).collect();
    section.row("buffers", sizes.join(", "));
    shifts(section, tests);
    let mut file = format!("in {}, in calls of 64 KiB", tests.file_on);
    if let Some(bytes) = tests.device_read_bytes {
        file.push_str(&format!("; read from devices meanwhile: {}", format_bytes(bytes)));
    }
    section.row("file", file);
    if let Some(huge) = &tests.huge_pages {
        section.row("huge pages", huge);
    }
    for text in &tests.left_out {
        section.row("note", text);
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

fn gigabytes(rate: &Estimate) -> Cell {
    Cell::from(number::digits(rate.value / 1e9))
}

/// Copies between shifted buffers.
fn shifts(section: &mut Section, tests: &MemoryTests) {
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
    section.row("alignment", text);
}

/// A rate with its interval.
fn rate(estimate: &Estimate) -> String {
    number::with_interval(estimate, number::rate)
}
